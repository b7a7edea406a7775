//! Reads Tyrion's event logs: whole, cut, damaged, or still growing.
//!
//! [`Log::open`] maps a file, walks its chunks and reads its definitions; the
//! waits are decoded on demand, chunk by chunk, by as many threads as one
//! likes ([`Log::events`]). Bytes are never trusted: what is damaged is told
//! as [`Damage`] with its offset in the file and left out, and what is whole
//! is read. Sizes that bytes can claim have caps, all in [`limits`].
//!
//! The format is specified in `docs/event-log.md`; its constants and codecs
//! are in [`tyrion_wire`]. [`mod@write`] makes logs for tests and benchmarks.
#![deny(unsafe_code)]

mod damage;
mod definitions;
mod error;
mod events;
mod fast;
mod follow;
pub mod fuzz;
mod input;
pub mod limits;
mod load;
mod log;
#[allow(unsafe_code)] // the only module that has any: a file mapped into memory
mod map;
mod parse;
mod sampled;
mod scan;
mod seems;
mod source;
mod stacks;
mod state;
mod table;
mod trace;
pub mod write;

#[doc = include_str!("../../docs/event-log.md")]
pub mod event_log {}

pub use damage::{Damage, Fault};
pub use definitions::{Class, Definitions, Method, Pause, Place, Site, Text, Thread, ThreadSpan};
pub use error::Error;
pub use events::{Entry, Event, Events, Records, Traced, What};
pub use follow::{AcquisitionChange, Begin, CellChange, Changes, Follower};
pub use input::{open_input, open_regular};
pub use load::Defined;
pub use log::{Log, UNKNOWN};
pub use sampled::Sampled;
pub use scan::ChunkRef;
pub use seems::Seems;
pub use stacks::{Stack, Stacks};
pub use table::{Sparse, Table};
pub use trace::HoldMode;
pub use tyrion_wire as wire;
