//! Writing the log: files that are allocated ahead and mapped, so that what
//! was written survives `kill -9` with no write call on the application's path.

pub mod chunk;
pub mod file;
pub mod names;
pub mod region;
mod seal;

pub use chunk::{Chunk, Place};
pub use file::{LogFile, Writer};
pub use region::ask_before_reuse;
