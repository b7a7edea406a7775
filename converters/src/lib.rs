//! From what recordings say to what existing visualizers read.
#![forbid(unsafe_code)]
// A page in a browser writes no files, and less of what they need.
#![cfg_attr(target_family = "wasm", allow(dead_code))]

pub mod outputs;
