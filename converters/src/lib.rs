//! From the event log to a profile, and from the profile to what existing
//! visualizers read.
#![forbid(unsafe_code)]

pub mod aggregate;
pub mod describe;
pub mod filter;
mod names;
pub mod outputs;
pub mod profile;
