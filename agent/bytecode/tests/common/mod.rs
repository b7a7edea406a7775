//! What the tests share: an assembler to make classes, and a model to check them against.
//!
//! Neither uses the crate's own reader, so that a mistake there does not hide itself. They panic
//! on anything unexpected, as tests do.

// Every test file compiles all of this and uses part of it.
#![allow(dead_code)]

pub mod annotations;
pub mod assembler;
pub mod everywhere;
pub mod frames;
pub mod isomorphism;
pub mod model;
