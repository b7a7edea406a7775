//! What the tests share: an assembler to make classes, and a model to check them against.
//!
//! Neither uses the crate's own reader, so that a mistake there does not hide itself. They panic
//! on anything unexpected, as tests do.

pub mod annotations;
pub mod assembler;
pub mod everywhere;
pub mod frames;
pub mod isomorphism;
pub mod model;
