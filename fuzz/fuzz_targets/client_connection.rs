#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| farside_core::fuzz::client_connection(bytes));
