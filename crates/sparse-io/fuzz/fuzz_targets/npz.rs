#![no_main]

#[allow(dead_code)] // each target has one of the bodies
#[path = "../../tests/files/fuzz_bodies/mod.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_bodies::npz(data));
