//! Reads recordings of locks: Tyrion's event logs, whole, cut, damaged, or still
//! growing, and those of Flight Recorder.
//!
//! [`Recording::open`] finds out what a file is ([`INPUTS`]), maps it and reads
//! its definitions; the waits are decoded on demand, chunk by chunk, by as many
//! threads as one likes ([`Recording::events`]). Bytes are never trusted: what
//! is damaged is told as [`Damage`] with its offset in the file and left out,
//! and what is whole is read. Sizes that bytes can claim have caps, all in
//! [`limits`].
//!
//! Everything that reads records asks a [`Recording`] and knows no format. The
//! event log is specified in `docs/event-log.md` of Tyrion's repository; its
//! constants and codecs are in [`tyrion_wire`]. [`mod@write`] makes logs for
//! tests and benchmarks.
#![deny(unsafe_code)]

mod bytes;
mod collapsed;
mod damage;
mod error;
pub mod event_log;
mod fact;
#[cfg_attr(target_family = "wasm", path = "file/none.rs")]
#[cfg_attr(windows, path = "file/windows.rs")]
mod file;
pub mod fuzz;
mod gzip;
mod hints;
pub mod import;
mod input;
mod inputs;
mod jfr;
pub mod limits;
#[allow(unsafe_code)] // the only module that has any: a file mapped into memory
#[cfg_attr(target_family = "wasm", path = "map/none.rs")]
mod map;
mod open;
mod original;
mod otlp;
mod parse;
mod pprof;
pub mod recording;
mod sniff;
mod summed;
mod thread_dump;

pub use bytes::Bytes;
pub use damage::{Damage, Fault};
pub use error::Error;
pub use event_log::{AcquisitionChange, Begin, CellChange, Changes, Follower, write};
pub use fact::Fact;
pub use file::{identity, open_input, open_regular, read_start};
pub use hints::{Hints, Unit};
pub use input::Input;
pub use inputs::{INPUTS, read_with};
pub use open::recognise;
pub use original::SOMEWHERE;
pub use recording::{
    Aim, Capabilities, ChunkRef, ClassDef, Collection, Defined, Definitions, DenseTable,
    DumpedThread, Entry, Event, Events, Facts, HoldMode, HolderSource, Lacks, LockSite, MethodDef,
    ModeChange, ModeSpan, Noted, OptionChange, Owners, Pause, Recording, Records, ShortWaits,
    SparseTable, StackDef, Stacks, TakeRecords, Text, ThreadDef, ThreadDump, ThreadSpan, UNKNOWN,
    WaitSite, decoded_bytes, visit_two,
};
pub use sniff::FileKind;
pub use tyrion_harmless as harmless;
pub use tyrion_wire as wire;
pub use wire::event::Note;

/// The example of the crate's README is compiled with its tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
