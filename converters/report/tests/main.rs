//! What draws reports, and what documents them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod documented;
mod drawing;
mod dumps;
mod fields;
mod golden;
#[path = "../../../tests/support/golden.rs"]
mod golden_files;
mod input;
mod made;
mod series;
mod support;
