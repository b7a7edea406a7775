//! Packs what is sent over HTTP.

use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};

/// The bytes as gzip, quickly.
///
/// # Errors
/// When the compressor fails.
pub fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes)?;
    packer.finish()
}
