//! Any bytes as collapsed stacks.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::collapsed(bytes);
});
