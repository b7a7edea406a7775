//! Writing the log: a file that is allocated ahead and mapped, so that what
//! was written survives `kill -9` with no write call on the application's path.

pub mod chunk;
pub mod file;
pub mod region;

pub use chunk::{Chunk, Place};
pub use file::{LogFile, Writer};
