//! Writing the log: files that are allocated ahead and mapped, so that what
//! was written survives `kill -9` with no write call on the application's path.

pub mod chunk;
pub mod file;
pub mod kept;
pub mod names;
pub mod region;
mod seal;

pub use chunk::{Chunk, MappedCell};
pub use file::{LogFile, Writer};
pub use region::ask_before_reuse;

#[cfg(test)]
pub mod testing {
    use tyrion_wire::header::{Header, State, VERSION};

    /// The header of a log that is being written.
    pub fn header() -> Header {
        Header {
            version: VERSION,
            header_len: 0,
            wall_ns: 1,
            mono_ns: 1,
            end_ns: 0,
            used_len: 0,
            state: State::Recording,
            pid: 1,
            threshold_ns: 0,
            depth: 1,
            dropped_contention: 0,
            dropped_other: 0,
            metadata: Vec::new(),
        }
    }
}
