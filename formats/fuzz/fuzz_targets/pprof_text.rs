//! Any bytes as a profile of pprof as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::pprof_text(bytes);
});
