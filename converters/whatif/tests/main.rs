//! Predictions from logs that are made up.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod golden;
#[path = "../../../tests/support/golden.rs"]
mod golden_files;
mod hostile;
mod predictions;
mod program;
