//! Any bytes as the events of a recording of Flight Recorder.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::jfr(bytes);
});
