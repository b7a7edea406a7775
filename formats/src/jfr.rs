//! Recordings of Java Flight Recorder, from JDK 11 on, and of async-profiler, which
//! writes the same format.
//!
//! A file is a row of chunks, each with all that is needed to read it: what fields
//! its events have ([`metadata`]), and what the keys in them stand for
//! ([`constants`]). The fields are gone by, never a layout known beforehand
//! ([`layout`]). `docs/jfr.md` says what becomes of which event.
//!
//! Chunks are read by several threads ([`block`]) while those before them are written,
//! in their order, into a log as the agent would have made it ([`mod@write`]).

mod block;
mod chunk;
mod constants;
mod facts;
mod layout;
mod load;
mod metadata;
mod names;
pub(crate) mod park;
mod quick;
mod scan;
mod state;
#[cfg(test)]
mod tests;
mod write;

use crate::{
    bytes::Bytes,
    error::Error,
    event_log::write::LogOptions,
    fact::Fact,
    import::Importer,
    input::Input,
    limits::jfr::{AT_ONCE, MAX_AT_ONCE, MAX_CHUNKS, WHOLE},
    recording::{Recording, ShortWaits},
};
use block::{EventBlock, EventBlocks};
use chunk::{HEADER_LEN, JfrChunk, MAGIC};
use constants::{Constants, METADATA};
use layout::{Layouts, Tells};
use metadata::{FieldValues, TypeTable};
use names::ChunkNames;
use rayon::prelude::*;
use std::{io, sync::Arc};
use tyrion_wire::header::{Header, RecordingState};
use write::{LogBuilder, OfChunk};

/// Java Flight Recorder.
pub const INPUT: Input = Input {
    name: "jfr",
    what: "a recording of Java Flight Recorder or async-profiler",
    tells: &[
        Fact::Waits,
        Fact::Moments,
        Fact::Outcomes,
        Fact::Threads,
        Fact::Stacks,
        Fact::Lines,
        Fact::Kinds,
        Fact::LockClasses,
        Fact::LockIdentities,
        Fact::Owners,
        Fact::Wakers,
        Fact::Samples,
        Fact::Collections,
    ],
    start_len: HEADER_LEN,
    is_it: |start| start.starts_with(MAGIC),
    check: check_start,
    read,
};

/// The newest major version that is known. Minor ones add fields.
const VERSION: u16 = 2;

fn check_start(name: &str, start: &[u8]) -> Result<(), Error> {
    let Ok((_, header)) = chunk::header(start) else { return Ok(()) };
    let malformed = |offset, what: String| Error::Malformed { log: name.to_owned(), offset, what };
    if header.major == 0 {
        let what = "version 0 of Flight Recorder's format, of Oracle's JDK 7 and 8, is not read; \
                    JDK Mission Control opens it, and OpenJDK 8 from update 262 on writes version 2";
        return Err(malformed(4, what.to_owned()));
    }
    if header.major > VERSION {
        let what = format!("version {} of Flight Recorder's format is not known", header.major);
        return Err(malformed(4, what));
    }
    if !header.is_compressed {
        let what = "its numbers are not compressed; record with compressed integers, as is usual";
        return Err(malformed(64, what.to_owned()));
    }
    Ok(())
}

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let len = bytes.len();
    let all = bytes.settled(0, len).unwrap_or_default();
    if chunk::header(all).is_err() {
        let needed = HEADER_LEN;
        return Err(Error::CutHeader { log: name.to_owned(), len: len as u64, needed });
    }
    let found = FileParts::of(all);
    // Of chunks put together by hand a later one may be older.
    let starts = found.chunks.iter().map(|chunk| chunk.header.start_wall_ns);
    let start_ns = starts.min().unwrap_or(0);
    let header = Header {
        wall_ns: start_ns,
        mono_ns: start_ns,
        // It does not say.
        depth: 0,
        state: found.state(),
        ..LogOptions::default().header
    };
    let mut importer = Importer::new(INPUT, name, header).map_err(io)?;
    importer.set_short_waits(ShortWaits::Unknown);
    found.tell_damage(all, &mut importer);
    let mut writer = LogBuilder::new(importer);
    read_chunks(&found.chunks, &mut writer).map_err(io)?;
    let ends = found.chunks.iter().map(|chunk| {
        let header = &chunk.header;
        header.start_wall_ns.saturating_add(header.duration_ns)
    });
    writer.finish(ends.max().unwrap_or(0)).map_err(io)?.finish()
}

/// What a file consists of.
struct FileParts<'a> {
    /// Those that are read.
    chunks: Vec<JfrChunk<'a>>,
    /// Where a chunk stands whose numbers are not compressed, and its length.
    plain: Vec<(u64, u64)>,
    /// Where what is no chunk begins.
    end: usize,
}

impl<'a> FileParts<'a> {
    /// The chunks of a file, as far as they follow one another.
    fn of(bytes: &'a [u8]) -> FileParts<'a> {
        let mut found = FileParts { chunks: Vec::new(), plain: Vec::new(), end: 0 };
        while let Some(rest) = bytes.get(found.end..).filter(|rest| !rest.is_empty()) {
            let offset = found.end as u64;
            let Ok((_, header)) = chunk::header(rest) else { break };
            if found.chunks.len() + found.plain.len() == MAX_CHUNKS {
                break;
            }
            let len = usize::try_from(header.len).unwrap_or(usize::MAX);
            let own = rest.get(..len).filter(|own| own.len() >= HEADER_LEN);
            let is_whole = own.is_some();
            let own = own.unwrap_or(rest);
            match header.is_compressed {
                true => found.chunks.push(JfrChunk { offset, header, bytes: own, is_whole }),
                false => found.plain.push((offset, own.len() as u64)),
            }
            found.end += own.len();
        }
        found
    }

    /// Whether all was written.
    fn state(&self) -> RecordingState {
        let is_whole = |chunk: &JfrChunk<'_>| chunk.is_whole && chunk.header.is_finished;
        match self.chunks.iter().all(is_whole) {
            true => RecordingState::Closed,
            false => RecordingState::Recording,
        }
    }

    fn tell_damage(&self, bytes: &[u8], importer: &mut Importer) {
        for &(offset, len) in &self.plain {
            let what = "a chunk whose numbers are not compressed was left out";
            importer.add_damage(offset, what, len);
        }
        for chunk in self.chunks.iter().filter(|chunk| !chunk.is_whole) {
            let missing = chunk.header.len.saturating_sub(chunk.bytes.len() as u64);
            if chunk.header.constants_at != 0 {
                importer.add_cut(bytes.len() as u64, missing);
            } else {
                let what = "this chunk was never finished, as when the JVM is killed; its events \
                            were read as far as possible, and names may be missing";
                importer.add_damage(chunk.offset, what, 0);
            }
        }
        let rest = bytes.len().saturating_sub(self.end) as u64;
        if rest != 0 {
            let is_open = self.chunks.last().is_some_and(|chunk| !chunk.header.is_finished);
            let what = match is_open {
                true => {
                    "the recording was not finished; what was written since its last flush was \
                     left out"
                }
                false if self.chunks.len() + self.plain.len() == MAX_CHUNKS => {
                    "there are more chunks than are read; the rest of the file was left out"
                }
                false => "no chunk begins here; the rest of the file was left out",
            };
            importer.add_damage(self.end as u64, what, rest);
        }
    }
}

/// Chunks that are read together: several short ones, or a long one.
fn batches<'c, 'a>(chunks: &'c [JfrChunk<'a>]) -> impl Iterator<Item = &'c [JfrChunk<'a>]> {
    let mut rest = chunks;
    std::iter::from_fn(move || {
        let mut len = rest.first()?.bytes.len();
        let mut count = 1;
        let fits = |len: usize, next: &JfrChunk<'_>| len + next.bytes.len() <= AT_ONCE;
        while let Some(next) = rest.get(count).filter(|next| fits(len, next))
            && count < MAX_AT_ONCE
        {
            len += next.bytes.len();
            count += 1;
        }
        let (batch, after) = rest.split_at(count);
        rest = after;
        Some(batch)
    })
}

/// Reads chunks while those before them are written.
fn read_chunks(chunks: &[JfrChunk<'_>], writer: &mut LogBuilder) -> io::Result<()> {
    let mut parsed: Vec<ChunkParts<'_, '_>> = Vec::new();
    for batch in batches(chunks) {
        let before = std::mem::take(&mut parsed);
        match batch {
            [chunk] if chunk.bytes.len() > WHOLE => {
                write_parsed(before, writer)?;
                read_long(chunk, writer)?;
            }
            _ => {
                let (written, next) = rayon::join(
                    || write_parsed(before, writer),
                    || batch.par_iter().map(parse).collect::<Vec<_>>(),
                );
                written?;
                parsed = next;
            }
        }
    }
    write_parsed(parsed, writer)
}

/// What a chunk's events are read with.
struct Keys<'a> {
    types: Arc<TypeTable>,
    layouts: Layouts,
    constants: Constants<'a>,
    /// What is damaged: where, in bytes from the chunk's start, and what.
    damaged: Vec<(usize, &'static str)>,
}

impl<'a> Keys<'a> {
    fn of(chunk: &JfrChunk<'a>) -> Keys<'a> {
        let mut damaged = Vec::new();
        let types = types(chunk).unwrap_or_else(|| {
            damaged.push((0, "a chunk without readable metadata; its events were left out"));
            TypeTable::default()
        });
        let types = Arc::new(types);
        let layouts = Layouts::of(&types);
        let (constants, bad) = Constants::read(chunk, &types);
        // Without metadata that is no news.
        let bad = bad.filter(|_| damaged.is_empty());
        let what = "constants cannot be read; names that stand there are missing";
        damaged.extend(bad.map(|at| (at, what)));
        Keys { types, layouts, constants, damaged }
    }
}

/// A chunk's metadata; where its header does not lead to them, they are looked for.
fn types(chunk: &JfrChunk<'_>) -> Option<TypeTable> {
    let told = chunk.event_at(chunk.header.metadata_at, METADATA).and_then(TypeTable::read);
    told.or_else(|| {
        let found = chunk.events(HEADER_LEN).filter(|event| event.kind == METADATA);
        found.filter_map(|event| TypeTable::read(event.fields)).last()
    })
}

/// A chunk that was read whole.
struct ChunkParts<'c, 'a> {
    chunk: &'c JfrChunk<'a>,
    keys: Keys<'a>,
    blocks: Vec<EventBlock>,
    rare: Vec<(Tells, FieldValues<'a>)>,
}

fn parse<'c, 'a>(chunk: &'c JfrChunk<'a>) -> ChunkParts<'c, 'a> {
    let mut keys = Keys::of(chunk);
    let mut events = EventBlocks::new(chunk, &keys.types, &keys.layouts);
    let mut blocks = Vec::new();
    while let Some(block) = events.next() {
        blocks.push(block);
    }
    let damaged = damage_of(&events, chunk);
    let rare = events.rare;
    keys.damaged.extend(damaged);
    ChunkParts { chunk, keys, blocks, rare }
}

fn write_parsed(parsed: Vec<ChunkParts<'_, '_>>, writer: &mut LogBuilder) -> io::Result<()> {
    for ChunkParts { chunk, keys, blocks, rare } in parsed {
        tell_damage(chunk, &keys.damaged, writer);
        let mut of = of_chunk(chunk, &keys);
        writer.take_facts(&of, &rare);
        blocks.iter().try_for_each(|block| writer.write(&mut of, block))?;
        tell_exhausted(chunk, &keys, writer);
    }
    Ok(())
}

fn of_chunk<'c, 'a>(chunk: &JfrChunk<'a>, keys: &'c Keys<'a>) -> OfChunk<'c, 'a> {
    let (constants, types) = (&keys.constants, &keys.types);
    OfChunk { chunk: *chunk, constants, types, names: ChunkNames::new(chunk.bytes.len()) }
}

/// Writes a block of a long chunk while the next one is read.
fn read_long(chunk: &JfrChunk<'_>, writer: &mut LogBuilder) -> io::Result<()> {
    let keys = Keys::of(chunk);
    tell_damage(chunk, &keys.damaged, writer);
    let mut of = of_chunk(chunk, &keys);
    let mut events = EventBlocks::new(chunk, &keys.types, &keys.layouts);
    let mut last: Option<EventBlock> = None;
    loop {
        let rare = std::mem::take(&mut events.rare);
        writer.take_facts(&of, &rare);
        let (written, next) = rayon::join(
            || last.iter().try_for_each(|block| writer.write(&mut of, block)),
            || events.next(),
        );
        written?;
        match next {
            Some(block) => last = Some(block),
            None => break,
        }
    }
    tell_damage(chunk, &damage_of(&events, chunk), writer);
    tell_exhausted(chunk, &keys, writer);
    Ok(())
}

/// What was found damaged while events were read.
fn damage_of(events: &EventBlocks<'_, '_>, chunk: &JfrChunk<'_>) -> Vec<(usize, &'static str)> {
    let what = "an event cannot be read; it was left out";
    let mut damaged: Vec<_> = events.damaged.iter().map(|&at| (at, what)).collect();
    damaged.extend(&events.left_out);
    // The end of a chunk that was cut is told already.
    if let Some(at) = events.torn_at().filter(|_| chunk.is_whole) {
        damaged.push((at, "no event begins here; the rest of the chunk was left out"));
    }
    damaged
}

/// Tells that names are missing because they would have taken too long.
fn tell_exhausted(chunk: &JfrChunk<'_>, keys: &Keys<'_>, writer: &mut LogBuilder) {
    if keys.constants.is_exhausted() {
        let what = "constants that are too long for how often they are asked for; later names are \
                    missing";
        tell_damage(chunk, &[(0, what)], writer);
    }
}

fn tell_damage(chunk: &JfrChunk<'_>, damaged: &[(usize, &'static str)], writer: &mut LogBuilder) {
    for &(at, what) in damaged {
        let offset = chunk.offset.saturating_add(at as u64);
        writer.importer.add_damage(offset, what, 0);
    }
}
