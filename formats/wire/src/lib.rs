//! Tyrion's event log, to the byte.
//!
//! This crate is the one place where the format's constants and codecs stand,
//! encoder beside decoder, without dependencies: the agent writes with it and
//! `tyrion-formats` reads with it. What a log is made of, and why, with a
//! worked example, is said in `docs/event-log.md`. Beside it stands how names are
//! matched ([`pattern`]), which several crates need.
#![forbid(unsafe_code)]

pub mod cell;
pub mod chunk;
pub mod cost;
pub mod def;
pub mod event;
pub mod exchange;
mod fields;
pub mod header;
pub mod holder;
pub mod kind;
pub mod le;
pub mod lock_flavor;
mod named;
pub mod pattern;
pub mod sample;
pub mod slot;
pub mod slow_path;
pub mod span;
pub mod trace;
pub mod varint;
pub mod wake;
pub mod walks;

pub use kind::{Family, Outcome, WaitKind};
