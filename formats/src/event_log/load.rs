//! Reads a log's header block and its definitions.

use crate::{
    bytes::Bytes,
    damage::{DamageList, Fault},
    error::Error,
    limits, parse,
    recording::{ChunkRef, Defined, Definitions},
    sniff::FileKind,
};
use tyrion_wire::{
    chunk::ChunkKind,
    def,
    header::{Header, HeaderError, MAGIC, METADATA_AT, VERSION},
    le,
};

/// `u32` in the header: length of the metadata in bytes.
const METADATA_LEN: usize = 68;
/// `u32` in the header: CRC-32 of the metadata.
const METADATA_CHECKSUM: usize = 72;

/// Whether this is the beginning of an event log, or all of one that was cut
/// within its first bytes.
pub(crate) fn is_log(start: &[u8]) -> bool {
    let known = &start[..start.len().min(MAGIC.len())];
    !known.is_empty() && MAGIC.starts_with(known)
}

/// Refuses what the first bytes show to be no log that can be read; what else
/// may be wrong is told when all of it is there.
pub(crate) fn check_start(log: &str, start: &[u8]) -> Result<(), Error> {
    match Header::decode(start) {
        Err(HeaderError::Newer(version)) => {
            Err(Error::Newer { log: log.to_owned(), version, known: VERSION })
        }
        _ => Ok(()),
    }
}

/// Reads the header block.
pub(crate) fn header(source: &Bytes, log: &str, damage: &mut DamageList) -> Result<Header, Error> {
    let name = || log.to_owned();
    let len = source.len();
    if len == 0 {
        return Err(Error::Empty { log: name() });
    }
    let block = header_block(source);
    let header = Header::decode(&block).map_err(|error| match error {
        HeaderError::NotALog => Error::NotALog { log: name(), seems: FileKind::sniff(&block) },
        HeaderError::Newer(version) => Error::Newer { log: name(), version, known: VERSION },
        HeaderError::Short(needed) if needed > len => {
            Error::CutHeader { log: name(), len: len as u64, needed }
        }
        HeaderError::Short(_) => {
            Error::Header { log: name(), offset: 12, what: "it is too long to be right" }
        }
        HeaderError::Length(offset) => {
            Error::Header { log: name(), offset: offset as u64, what: "a length is impossible" }
        }
        HeaderError::Metadata(offset) => {
            Error::Header { log: name(), offset: offset as u64, what: "its texts are torn" }
        }
    })?;
    if header.header_len as usize > limits::MAX_HEADER_LEN {
        let what = "it is too long to be right";
        return Err(Error::Header { log: name(), offset: 12, what });
    }
    check_metadata(&block, damage);
    Ok(header)
}

/// As much of the header block as there is: the fields, which may change, are
/// copied; the metadata, which do not, follow.
fn header_block(source: &Bytes) -> Vec<u8> {
    let mut block = source.start(METADATA_AT);
    if block.len() < METADATA_AT {
        return block;
    }
    let wanted = le::u32_at(&block, 12).unwrap_or(0) as usize;
    let end = wanted.min(limits::MAX_HEADER_LEN).min(source.len());
    let rest = source.settled(METADATA_AT, end.saturating_sub(METADATA_AT));
    block.extend_from_slice(rest.unwrap_or_default());
    block
}

fn check_metadata(block: &[u8], damage: &mut DamageList) {
    let len = le::u32_at(block, METADATA_LEN).unwrap_or(0) as usize;
    let stored = le::u32_at(block, METADATA_CHECKSUM);
    let metadata = block.get(METADATA_AT..METADATA_AT.saturating_add(len));
    if metadata.map(crc32fast::hash) != stored {
        damage.add(METADATA_AT as u64, Fault::Metadata, 0);
    }
}

/// Reads all definitions.
pub(crate) fn definitions(
    source: &Bytes,
    chunks: &[ChunkRef],
    damage: &mut DamageList,
) -> Definitions {
    let mut definitions = Definitions::of_file(source.len());
    for_each_definition(source, chunks, damage, |found| definitions.add(&found));
    definitions
}

/// Reads all definitions in the order of the log. `take` says whether it has
/// room for one.
pub(crate) fn for_each_definition<'a>(
    source: &'a Bytes,
    chunks: &[ChunkRef],
    damage: &mut DamageList,
    mut take: impl FnMut(Defined<'a>) -> Option<()>,
) {
    for chunk in chunks {
        let Some(payload) = source.settled(chunk.payload_at() as usize, chunk.committed as usize)
        else {
            continue;
        };
        if chunk.sealed && chunk.whole && crc32fast::hash(payload) != chunk.checksum {
            let fault = Fault::Checksum { kind: ChunkKind::Definitions.name() };
            damage.add(chunk.offset, fault, payload.len() as u64);
            continue;
        }
        read_chunk(chunk, payload, damage, &mut take);
    }
}

/// Reads the definitions of a chunk: up to which byte of the file they could be
/// read.
pub(crate) fn read_chunk<'a>(
    chunk: &ChunkRef,
    payload: &'a [u8],
    damage: &mut DamageList,
    mut take: impl FnMut(Defined<'a>) -> Option<()>,
) -> u64 {
    let mut rest = payload;
    while !rest.is_empty() {
        let offset = chunk.payload_at() + (payload.len() - rest.len()) as u64;
        let Ok((after, (tag, fields))) = parse::framed(rest) else {
            // The torn end of a file that was cut is told already.
            if chunk.whole {
                damage.add(offset, Fault::Definition, rest.len() as u64);
            }
            return offset;
        };
        let len = (rest.len() - after.len()) as u64;
        rest = after;
        match def::decode_payload(tag, fields) {
            Some(definition) => {
                if take(Defined { offset, len, definition }).is_none() {
                    damage.add(offset, Fault::DefinitionId, len);
                }
            }
            None => damage.add(offset, Fault::DefinitionFields, len),
        }
    }
    chunk.payload_at() + payload.len() as u64
}
