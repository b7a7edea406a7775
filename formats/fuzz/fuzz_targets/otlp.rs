//! Any bytes as profiles of OpenTelemetry.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tyrion_formats::fuzz::otlp(bytes);
});
