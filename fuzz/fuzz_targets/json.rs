#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| farside_wire::fuzz::values::json(bytes));
