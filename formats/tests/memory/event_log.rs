//! Tyrion's own logs.

use super::{MemoryCase, check};
use std::io::Cursor;
use tyrion_formats::{
    limits,
    wire::{
        chunk::{ChunkHeader, ChunkKind},
        def::Definition,
        header::BLOCK,
    },
    write::{LogOptions, LogWriter},
};

/// A log of definitions.
fn log<'d>(definitions: impl IntoIterator<Item = Definition<'d>>) -> Vec<u8> {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    definitions.into_iter().for_each(|definition| log.define(&definition).unwrap());
    log.finish().unwrap().into_inner()
}

/// A log without anything.
pub fn empty() -> Vec<u8> {
    log([])
}

/// A log of nothing but the headers of chunks.
fn chunks(kind: ChunkKind, count: u32) -> Vec<u8> {
    let mut file = log([]);
    for sequence in 0..count {
        let header = ChunkHeader {
            kind: kind as u8,
            flags: 0,
            len: BLOCK as u32,
            committed: 1,
            sequence: 2 * sequence,
            lane: sequence,
            thread: 0,
            checksum: 0,
            first_ns: 0,
        };
        file.extend(header.encode());
        file.resize(file.len() + BLOCK - 64, 0xff);
    }
    file
}

/// A class whose id is as far from the others as a file of its length can have it.
fn far() -> Vec<u8> {
    let mut file = log([Definition::Class { id: 300_000, name: 1, source: 1 }]);
    file.resize(1_000_000, 0);
    file
}

/// A log of a definition for each of many numbers.
fn many<'d>(definition: impl Fn(u32) -> Definition<'d>) -> Vec<u8> {
    log((1..60_000).map(definition))
}

/// Tables whose ids have to follow one another, as close as they can be.
fn dense() -> Vec<MemoryCase> {
    vec![
        MemoryCase::new("texts", many(|id| Definition::String { id, text: b"" })),
        MemoryCase::new("classes", many(|id| Definition::Class { id, name: 0, source: 0 })),
        MemoryCase::new(
            "threads",
            many(|id| Definition::Thread { id, java_id: 0, flags: 0, name: 0, group: 0 }),
        ),
        MemoryCase::new(
            "stacks",
            many(|id| Definition::Stack { id: id + 1, parent: 0, method: 0, line: 0 }),
        ),
        MemoryCase::new(
            "sites",
            many(|id| Definition::Site { id, kind: 1, stack: 0, lock: 0, place: 0 }),
        ),
        MemoryCase::new("an id that is far away", far()),
        MemoryCase::new(
            "an id that is too far away",
            log([Definition::Class { id: limits::MAX_MISSING_IDS as u32, name: 1, source: 1 }]),
        )
        .told("too large"),
    ]
}

/// Those whose ids may be any.
fn sparse() -> Vec<MemoryCase> {
    let scattered = |nth: u32| nth.wrapping_mul(0x9e37_79b1);
    let place = |nth| Definition::Place {
        id: scattered(nth),
        method: 0,
        line: 0,
        kind: 1,
        flags: 0,
        name: 0,
        bytecode: 0,
    };
    vec![
        MemoryCase::new("locks", many(|nth| Definition::Lock { id: scattered(nth), class: 0 })),
        MemoryCase::new("places", many(place)),
        MemoryCase::new(
            "instances of places",
            many(|nth| Definition::PlaceInstance { place: scattered(nth), hash: 1 }),
        ),
        MemoryCase::new(
            "names",
            many(|nth| Definition::LockName { lock: scattered(nth), name: 1 }),
        ),
    ]
}

/// What is no table.
fn lists() -> Vec<MemoryCase> {
    let pause = |nth: u32| Definition::Pause { from_ns: nth.into(), to_ns: u64::from(nth) + 1 };
    vec![
        MemoryCase::new("collections", many(|_| Definition::Collection { start_ns: 1, end_ns: 1 })),
        MemoryCase::new("pauses", many(pause)),
        MemoryCase::new("options", many(|_| Definition::Option { from_ns: 1, key: 1, value: 1 })),
        MemoryCase::new("statistics", many(|key| Definition::Statistic { key, value: 1 }))
            .told("more places"),
        MemoryCase::new("chunks of events", chunks(ChunkKind::Events, 250)),
        MemoryCase::new("chunks of definitions", chunks(ChunkKind::Definitions, 1_100))
            .told("more places"),
        MemoryCase::new("chunks of slots", chunks(ChunkKind::Slots, 250)),
    ]
}

#[test]
fn logs_of_tyrion() {
    check("event-log", || [dense(), sparse(), lists()].concat());
}
