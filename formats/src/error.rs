//! Why a file cannot be read at all.

use crate::sniff::FileKind;
use std::io;
use thiserror::Error;

/// Why a file cannot be read at all. Every message is one line that
/// names the file and, where bytes are to blame, their offset in it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, mapped or read.
    #[error("{log}: {source}")]
    Io {
        /// The file's name as it was given.
        log: String,
        /// What the system says.
        source: io::Error,
    },
    /// It can hold no log.
    #[error("{log}: is {what}")]
    NoInput {
        /// Its name as it was given.
        log: String,
        /// What it is, and what to do.
        what: &'static str,
    },
    /// More came than is read of what is no regular file.
    #[error(
        "{log}: no end after {limit} bytes, and no more is read of what is not a regular file; \
         write it to a file, and name that"
    )]
    Endless {
        /// Its name as it was given.
        log: String,
        /// How many bytes are read at most.
        limit: u64,
    },
    /// What is compressed is longer than what is unpacked.
    #[error(
        "{log}: offset {limit:#x}: it is longer when unpacked, and no more is unpacked by tyrion; \
         unpack it into a file with gunzip, and name that"
    )]
    Unpacked {
        /// Its name as it was given.
        log: String,
        /// How many bytes are unpacked at most.
        limit: u64,
    },
    /// There are no bytes.
    #[error(
        "{log}: offset 0x0: the file is empty; a log has at least its header, \
         so the agent could not write it or did not start"
    )]
    Empty {
        /// The file's name as it was given.
        log: String,
    },
    /// The first bytes are of no format that is read.
    #[error("{log}: offset 0x0: not a recording that Tyrion reads: {seems}")]
    NotALog {
        /// The file's name as it was given.
        log: String,
        /// What the file seems to be.
        seems: FileKind,
    },
    /// The log was written by a newer Tyrion.
    #[error(
        "{log}: offset 0x8: format version {version} is newer than {known}, \
         the newest that this tyrion reads; use the tyrion that recorded it"
    )]
    Newer {
        /// The file's name as it was given.
        log: String,
        /// The log's format version.
        version: u16,
        /// The newest version that this code reads.
        known: u16,
    },
    /// It does not say enough, or not what is asked for: another option is needed.
    #[error("{log}: {what}")]
    Unclear {
        /// The file's name as it was given.
        log: String,
        /// What is not clear, and what to do.
        what: String,
    },
    /// The bytes are not of the format that their beginning promises.
    #[error("{log}: offset {offset:#x}: {what}; nothing of it can be read")]
    Malformed {
        /// The file's name as it was given.
        log: String,
        /// Where, in bytes from the file's start.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The file ends within the header block.
    #[error(
        "{log}: offset {len:#x}: the file ends within its header, which needs {needed} bytes; \
         nothing of it can be read"
    )]
    CutHeader {
        /// The file's name as it was given.
        log: String,
        /// The file's length in bytes.
        len: u64,
        /// How many bytes the header needs.
        needed: usize,
    },
    /// A field of the header block is impossible.
    #[error("{log}: offset {offset:#x}: the header is damaged: {what}; nothing of it can be read")]
    Header {
        /// The file's name as it was given.
        log: String,
        /// Where the field stands.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}
