//! From recordings to a profile, and from the profile to what existing
//! visualizers read.
#![forbid(unsafe_code)]

pub mod aggregate;
pub mod describe;
pub mod filter;
pub mod grouping;
pub mod identity;
mod java;
pub mod lives;
mod merge;
pub mod names;
pub mod outputs;
pub mod packages;
pub mod profile;
mod state;
pub mod states;
pub mod timeline;
pub mod totals;
pub mod withheld;

pub use tyrion_wire::harmless;
