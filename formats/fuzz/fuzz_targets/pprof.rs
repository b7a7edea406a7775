//! Any bytes as a profile of pprof.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::pprof(bytes);
});
