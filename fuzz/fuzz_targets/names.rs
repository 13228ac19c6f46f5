//! `couplet_fuzz_bodies::names` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| couplet_fuzz_bodies::names(data));
