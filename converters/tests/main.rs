//! From logs and profiles to files, as others use them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod files;
mod flight_recorder;
mod formats;
mod golden;
#[path = "../../tests/support/golden.rs"]
mod golden_files;
mod otlp;
mod parquet;
mod readers;
mod sums;
mod support;
mod times;
mod transform;
