//! Any bytes as a log.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::log(bytes);
});
