//! Writing the log: files that are allocated ahead and mapped, so that what
//! was written survives `kill -9` with no write call on the application's path.
//!
//! - [`rotation`]: the log, one file after another
//! - [`generation`]: one file, with the ids that count in it
//! - [`lane`]: who writes records, one OS thread at a time
//! - [`dictionary`]: what ids stand for
//! - [`mod@file`], [`chunk`], [`region`], [`seal`]: the mapped file, and its pieces
//! - [`names`]: what the files are called

pub mod chunk;
pub mod dictionary;
pub mod file;
pub mod generation;
pub mod lane;
pub mod names;
pub mod region;
pub mod rotation;
mod seal;

pub use chunk::{Chunk, MappedCell};
pub use file::{LogFile, Trouble, Writer};
pub use generation::Generation;
pub use region::ask_before_reuse;
pub use rotation::Log;

#[cfg(test)]
pub mod testing {
    use tyrion_wire::header::{Header, RecordingState, VERSION};

    /// The header of a log that is being written.
    pub fn header() -> Header {
        Header {
            version: VERSION,
            header_len: 0,
            wall_ns: 1,
            mono_ns: 1,
            end_ns: 0,
            used_len: 0,
            state: RecordingState::Recording,
            pid: 1,
            threshold_ns: 0,
            depth: 1,
            dropped_contention: 0,
            dropped_other: 0,
            continued: false,
            metadata: Vec::new(),
        }
    }
}
