//! The reader and the writer of logs, as others use them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod common;
mod document;
mod follow;
mod frozen;
mod fuzz;
#[path = "../../tests/support/golden.rs"]
mod golden_files;
mod hostile;
mod jfr;
mod limits;
mod live;
mod other_tools;
mod roundtrip;
mod samples;
mod thread_dumps;
mod trace;
