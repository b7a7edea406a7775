//! From what recordings say to what existing visualizers read.
#![forbid(unsafe_code)]

pub mod outputs;
