#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| farside_core::fuzz::server_connection(bytes));
