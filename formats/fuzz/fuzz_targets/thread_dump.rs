//! Any bytes as thread dumps.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::thread_dump(bytes);
});
