//! Any bytes as the payload of each kind of chunk.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::payload(bytes);
});
