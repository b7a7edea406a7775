//! Finds the chunks of a log, past damage too.

use crate::{
    bytes::Bytes,
    damage::{DamageList, Fault},
    parse,
    recording::{ChunkRef, Chunks},
};
use std::collections::HashMap;
use tyrion_wire::{
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN},
    header::BLOCK,
};

/// Finds all chunks from `start` on. `used` is the length that the header
/// vouches for; beyond it, what is no chunk is just the end.
pub(crate) fn chunks(source: &Bytes, start: usize, used: usize, damage: &mut DamageList) -> Chunks {
    let len = source.len();
    if used > len {
        damage.add(len as u64, Fault::Cut, (used - len) as u64);
    }
    let mut chunks = Chunks::default();
    let mut at = start;
    loop {
        if let Some(header) = header_at(source, at) {
            chunks.push(header.kind, ChunkRef::new(at, &header, len));
            let next = end_of(source, at, &header, damage);
            // The kernel maps what is near a header, too: in the end all of the file.
            source.read_now(at, next.min(len).saturating_sub(at));
            at = next;
        } else if at >= used || at + HEADER_LEN > len {
            break;
        } else {
            // Before the watermark a chunk must stand here.
            let next = find_chunk(source, at + BLOCK, len).unwrap_or(used.min(len));
            damage.add(at as u64, Fault::NoChunk, (next - at) as u64);
            at = next;
        }
    }
    chunks.end = at;
    if damage.is_empty() {
        check_sequences(&chunks.definitions, ChunkKind::Definitions, damage);
        check_sequences(&chunks.events, ChunkKind::Events, damage);
    }
    chunks
}

/// Looks at the definitions chunks once more, after all others: a log that is
/// being written has by now defined all that those others name.
pub(crate) fn refresh_definitions(source: &Bytes, chunks: &mut Chunks) {
    let len = source.len();
    for chunk in &mut chunks.definitions {
        let at = chunk.offset as usize;
        if let Some(header) = header_at(source, at) {
            *chunk = ChunkRef::new(at, &header, len);
        }
    }
    let mut at = chunks.end;
    while let Some(header) = header_at(source, at) {
        if header.kind == ChunkKind::Definitions as u8 {
            chunks.definitions.push(ChunkRef::new(at, &header, len));
        }
        at += header.len as usize;
    }
}

pub(crate) fn header_at(source: &Bytes, at: usize) -> Option<ChunkHeader> {
    let mut bytes = [0; HEADER_LEN];
    source.copy(at, &mut bytes)?;
    let (_, header) = parse::chunk_header(&bytes).ok()?;
    Some(header)
}

pub(crate) fn find_chunk(source: &Bytes, from: usize, to: usize) -> Option<usize> {
    let mut places = (from..to).step_by(BLOCK).take_while(|_| source.may_search(BLOCK));
    places.find(|&at| header_at(source, at).is_some())
}

/// Where a chunk ends: where it says, or where another one begins in what it
/// has not used. That is where its length is wrong.
pub(crate) fn end_of(
    source: &Bytes,
    at: usize,
    header: &ChunkHeader,
    damage: &mut DamageList,
) -> usize {
    let end = at + header.len as usize;
    let used = (HEADER_LEN + header.committed as usize).next_multiple_of(BLOCK);
    match find_chunk(source, at + used, end.min(source.len())) {
        Some(next) => {
            damage.add(at as u64, Fault::ChunkLength, 0);
            next
        }
        None => end,
    }
}

fn check_sequences(chunks: &[ChunkRef], kind: ChunkKind, damage: &mut DamageList) {
    let mut expected: HashMap<u32, u32> = HashMap::new();
    for chunk in chunks {
        let next = expected.entry(chunk.lane).or_default();
        if chunk.sequence > *next {
            let count = chunk.sequence - *next;
            damage.add(chunk.offset, Fault::MissingChunks { kind: kind.name(), count }, 0);
        }
        *next = chunk.sequence.saturating_add(1);
    }
}
