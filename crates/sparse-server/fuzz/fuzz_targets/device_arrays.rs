#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sparse_server::fuzz::device_arrays(data));
