//! What recordings say: filters, names, units, states, sums as a [`profile`], single waits
//! as a [`timeline`], and which waits for no lock withhold work.
#![forbid(unsafe_code)]

pub mod aggregate;
pub mod describe;
pub mod filter;
pub mod grouping;
pub mod hash;
pub mod identity;
mod java;
pub mod lives;
mod merge;
pub mod names;
pub mod near;
pub mod packages;
pub mod pass;
pub mod profile;
mod state;
pub mod states;
pub mod timeline;
pub mod totals;
pub mod units;
pub mod withheld;

pub use tyrion_formats::harmless;
