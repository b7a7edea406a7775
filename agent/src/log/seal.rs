//! Seals the chunks of a file that nobody writes to any more.

use std::{fs::File, io, os::unix::fs::FileExt};
use tyrion_wire::chunk::{ChunkHeader, ChunkKind, HEADER_LEN, SEALED, field};

/// Seals the chunks from `first` to `used` that no writer has retired. Those
/// that are changed in place are never sealed.
///
/// # Errors
/// When the file cannot be read or written.
pub fn chunks(file: &File, first: u64, used: u64) -> io::Result<()> {
    let mut at = first;
    while at < used {
        let mut bytes = [0; HEADER_LEN];
        file.read_exact_at(&mut bytes, at)?;
        let Some(header) = ChunkHeader::decode(&bytes) else { return Ok(()) };
        let sealable = [ChunkKind::Definitions as u8, ChunkKind::Events as u8];
        if sealable.contains(&header.kind) && header.flags & SEALED == 0 {
            seal(file, at, header.committed as usize)?;
        }
        at += u64::from(header.len);
    }
    Ok(())
}

fn seal(file: &File, at: u64, committed: usize) -> io::Result<()> {
    let mut payload = vec![0; committed];
    file.read_exact_at(&mut payload, at + HEADER_LEN as u64)?;
    let checksum = crc32fast::hash(&payload).to_le_bytes();
    file.write_all_at(&checksum, at + field::CHECKSUM as u64)?;
    file.write_all_at(&[SEALED], at + field::FLAGS as u64)
}
