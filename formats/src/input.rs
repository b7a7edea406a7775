//! The formats that recordings are read from, and their registry.
//!
//! To add one: a folder beside [`event_log`](crate::event_log) with a `pub const INPUT`, and a
//! line in [`INPUTS`](crate::inputs::INPUTS). Its reader makes the recording with an
//! [`Importer`](crate::import::Importer).

use crate::{bytes::Bytes, error::Error, fact::Fact, recording::Recording};

/// A format that recordings are read from.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Its name, `event-log`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// What its recordings can tell.
    pub tells: &'static [Fact],
    /// How many of a file's first bytes [`Input::is_it`] and [`Input::check`]
    /// want to see, if the file has so many.
    pub start_len: usize,
    /// Whether a file that begins with these bytes is of this format.
    pub is_it: fn(start: &[u8]) -> bool,
    /// Refuses what its first bytes show to be unreadable, before a pipe is read
    /// to its end. The first argument is the file's name.
    pub check: fn(name: &str, start: &[u8]) -> Result<(), Error>,
    /// Reads a file; the first argument is its name.
    pub read: fn(name: &str, bytes: Bytes) -> Result<Recording, Error>,
}
