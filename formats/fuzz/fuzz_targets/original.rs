//! Any bytes as a log of the original Tyrion.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::original(bytes);
});
