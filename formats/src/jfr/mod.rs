//! Recordings of Java Flight Recorder, from JDK 11 on, and of async-profiler, which
//! writes the same format.
//!
//! A file is a row of chunks, each with all that is needed to read it: what fields
//! its events have ([`metadata`]), and what the keys in them stand for
//! ([`constants`]). The fields are gone by, never a layout known beforehand
//! ([`layout`]).
//!
//! Chunks are read by several threads ([`block`]), and written in their order into a
//! log as the agent would have made it ([`mod@write`]).

mod block;
mod chunk;
mod constants;
mod facts;
mod layout;
mod metadata;
mod names;
mod park;
mod scan;
#[cfg(test)]
mod tests;
mod write;

use crate::{
    bytes::Bytes,
    error::Error,
    event_log::write::LogOptions,
    import::Importer,
    input::Input,
    recording::{Recording, ShortWaits},
};
use block::{Block, Blocks};
use chunk::{Chunk, Clock, HEADER_LEN, MAGIC};
use constants::{Constants, METADATA};
use layout::{Layouts, Tells};
use metadata::{Types, Values};
use rayon::prelude::*;
use std::io;
use tyrion_wire::header::Header;
use write::{OfChunk, Writer};

/// Java Flight Recorder.
pub const INPUT: Input = Input {
    name: "jfr",
    what: "a recording of Java Flight Recorder or async-profiler",
    start_len: HEADER_LEN,
    is_it: |start| start.starts_with(MAGIC),
    check: check_start,
    read,
};

/// The newest major version that is known. Minor ones add fields.
const VERSION: u16 = 2;
/// Chunks up to this length are read whole, several at once; longer ones in blocks.
const WHOLE: usize = 16 << 20;

fn check_start(name: &str, start: &[u8]) -> Result<(), Error> {
    let Ok((_, header)) = chunk::header(start) else { return Ok(()) };
    let malformed = |offset, what: String| Error::Malformed { log: name.to_owned(), offset, what };
    if !(1..=VERSION).contains(&header.major) {
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
    let Ok((_, first)) = chunk::header(all) else {
        let needed = HEADER_LEN;
        return Err(Error::CutHeader { log: name.to_owned(), len: len as u64, needed });
    };
    let header = Header {
        wall_ns: first.start_wall_ns,
        mono_ns: first.start_wall_ns,
        depth: crate::limits::MAX_DEPTH,
        ..LogOptions::default().header
    };
    let mut importer = Importer::new(INPUT, name, header).map_err(io)?;
    importer.set_short_waits(ShortWaits::Unknown);
    let chunks = chunks(all, &mut importer);
    let mut writer = Writer::new(importer);
    let mut end_ns = first.start_wall_ns;
    for batch in batches(&chunks) {
        read_batch(batch, &mut writer).map_err(io)?;
        for chunk in batch {
            let header = &chunk.header;
            end_ns = end_ns.max(header.start_wall_ns.saturating_add(header.duration_ns));
        }
    }
    writer.finish(end_ns).map_err(io)?.finish()
}

/// The chunks of a file, as far as they follow one another.
fn chunks<'a>(bytes: &'a [u8], importer: &mut Importer) -> Vec<Chunk<'a>> {
    let mut chunks = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let offset = at as u64;
        let Ok((_, header)) = chunk::header(rest) else {
            let what = "no chunk begins here; the rest of the file was left out";
            importer.add_damage(offset, what, rest.len() as u64);
            break;
        };
        if !header.is_compressed {
            let what = "a chunk whose numbers are not compressed was left out";
            importer.add_damage(offset, what, header.len);
        }
        let len = usize::try_from(header.len).unwrap_or(usize::MAX);
        let is_whole = len >= HEADER_LEN && len <= rest.len();
        let own = if is_whole { rest.get(..len).unwrap_or(rest) } else { rest };
        if !is_whole {
            let missing = header.len.saturating_sub(rest.len() as u64);
            let what = "a chunk was cut or never finished; what is whole of it was read";
            importer.add_damage(offset, what, missing);
        }
        if header.is_compressed {
            chunks.push(Chunk { offset, header, bytes: own, is_whole });
        }
        at += own.len();
    }
    chunks
}

/// Chunks that are read together: several short ones, or a long one.
fn batches<'c, 'a>(chunks: &'c [Chunk<'a>]) -> impl Iterator<Item = &'c [Chunk<'a>]> {
    let most = rayon::current_num_threads().max(1);
    let mut rest = chunks;
    std::iter::from_fn(move || {
        let is_long = |chunk: &Chunk<'_>| chunk.bytes.len() > WHOLE;
        let first = rest.first()?;
        let count = match is_long(first) {
            true => 1,
            false => rest.iter().take(most).take_while(|chunk| !is_long(chunk)).count(),
        };
        let (batch, after) = rest.split_at(count);
        rest = after;
        Some(batch)
    })
}

/// What a chunk's events are read with.
struct Keys<'a> {
    types: Types,
    layouts: Layouts,
    constants: Constants<'a>,
    /// What is damaged: where, in bytes from the chunk's start, and what.
    damaged: Vec<(usize, &'static str)>,
}

impl<'a> Keys<'a> {
    fn of(chunk: &Chunk<'a>) -> Keys<'a> {
        let mut damaged = Vec::new();
        let types = types(chunk).unwrap_or_else(|| {
            damaged.push((0, "a chunk without readable metadata; its events were left out"));
            Types::default()
        });
        let layouts = Layouts::of(&types);
        let (constants, bad) = Constants::read(chunk, &types);
        let what = "constants cannot be read; names that stand there are missing";
        damaged.extend(bad.map(|at| (at, what)));
        Keys { types, layouts, constants, damaged }
    }
}

/// A chunk's metadata; where its header does not lead to them, they are looked for.
fn types(chunk: &Chunk<'_>) -> Option<Types> {
    let told = chunk.event_at(chunk.header.metadata_at, METADATA).and_then(Types::read);
    told.or_else(|| {
        let found = chunk.events(HEADER_LEN).filter(|event| event.kind == METADATA);
        found.filter_map(|event| Types::read(event.fields)).last()
    })
}

/// A chunk that was read whole.
struct Parsed<'a> {
    keys: Keys<'a>,
    blocks: Vec<Block>,
    rare: Vec<(Tells, Values<'a>)>,
}

fn read_batch(batch: &[Chunk<'_>], writer: &mut Writer) -> io::Result<()> {
    if let [chunk] = batch
        && chunk.bytes.len() > WHOLE
    {
        return read_long(chunk, writer);
    }
    let parsed: Vec<Parsed<'_>> = batch.par_iter().map(parse).collect();
    for (chunk, parsed) in batch.iter().zip(parsed) {
        let Parsed { keys, blocks, rare } = parsed;
        tell_damage(chunk, &keys.damaged, writer);
        let mut of = of_chunk(chunk, &keys);
        writer.take_facts(&of, &rare);
        blocks.iter().try_for_each(|block| writer.write(&mut of, block))?;
    }
    Ok(())
}

fn of_chunk<'c, 'a>(chunk: &Chunk<'a>, keys: &'c Keys<'a>) -> OfChunk<'c, 'a> {
    let (constants, types) = (&keys.constants, &keys.types);
    OfChunk { chunk: *chunk, constants, types, names: Default::default() }
}

fn parse<'a>(chunk: &Chunk<'a>) -> Parsed<'a> {
    let mut keys = Keys::of(chunk);
    let mut events = Blocks::new(chunk, &keys.types, &keys.layouts, Clock::new(&chunk.header));
    let mut blocks = Vec::new();
    while let Some(block) = events.next() {
        blocks.push(block);
    }
    let damaged = damage_of(&events, chunk);
    let rare = events.rare;
    keys.damaged.extend(damaged);
    Parsed { keys, blocks, rare }
}

/// Writes a block of a long chunk while the next one is read.
fn read_long(chunk: &Chunk<'_>, writer: &mut Writer) -> io::Result<()> {
    let keys = Keys::of(chunk);
    tell_damage(chunk, &keys.damaged, writer);
    let mut of = of_chunk(chunk, &keys);
    let mut events = Blocks::new(chunk, &keys.types, &keys.layouts, Clock::new(&chunk.header));
    let mut last: Option<Block> = None;
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
    Ok(())
}

/// What was found damaged while events were read.
fn damage_of(events: &Blocks<'_, '_>, chunk: &Chunk<'_>) -> Vec<(usize, &'static str)> {
    let what = "an event cannot be read; it was left out";
    let mut damaged: Vec<_> = events.damaged.iter().map(|&at| (at, what)).collect();
    // The end of a chunk that was cut is told already.
    if let Some(at) = events.torn_at().filter(|_| chunk.is_whole) {
        damaged.push((at, "no event begins here; the rest of the chunk was left out"));
    }
    damaged
}

fn tell_damage(chunk: &Chunk<'_>, damaged: &[(usize, &'static str)], writer: &mut Writer) {
    for &(at, what) in damaged {
        let offset = chunk.offset.saturating_add(at as u64);
        writer.importer.add_damage(offset, what, 0);
    }
}
