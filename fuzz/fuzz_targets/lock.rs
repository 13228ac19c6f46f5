//! `couplet_fuzz_bodies::lock` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| couplet_fuzz_bodies::lock(data));
