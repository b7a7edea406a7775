//! Entry points for fuzzing: each takes any bytes, and must neither panic nor
//! take memory beyond what [`limits`](crate::limits) says.
//!
//! `formats/fuzz` hands them to libFuzzer; `formats/tests/fuzz.rs` runs them
//! on made-up bytes with plain `cargo test`.

use crate::{Bytes, Entry, Input, Note, Recording};
use tyrion_wire::{
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN},
    header::{BLOCK, Header, RecordingState, VERSION},
    sample::ThreadState,
};

/// Reads everything in a log that consists of these bytes. Returns how many
/// things of any sort it found.
pub fn log(bytes: &[u8]) -> usize {
    Recording::from_bytes("fuzz.log", bytes.to_vec()).map_or(0, |log| read_all(&log))
}

/// Reads everything in a file of collapsed stacks that consists of these bytes.
pub fn collapsed(bytes: &[u8]) -> usize {
    as_input(&crate::collapsed::INPUT, bytes)
}

/// The same of a profile of pprof.
pub fn pprof(bytes: &[u8]) -> usize {
    as_input(&crate::pprof::INPUT, bytes)
}

/// The same of a profile of pprof as text.
pub fn pprof_text(bytes: &[u8]) -> usize {
    as_input(&crate::pprof::text::INPUT, bytes)
}

/// The same of profiles of OpenTelemetry.
pub fn otlp(bytes: &[u8]) -> usize {
    as_input(&crate::otlp::INPUT, bytes)
}

/// The same of thread dumps.
pub fn thread_dump(bytes: &[u8]) -> usize {
    as_input(&crate::thread_dump::INPUT, bytes)
}

/// The same of a log of the original Tyrion.
pub fn original(bytes: &[u8]) -> usize {
    as_input(&crate::original::INPUT, bytes)
}

/// Has an input read bytes, whatever they begin with.
fn as_input(input: &Input, bytes: &[u8]) -> usize {
    (input.read)("fuzz.log", Bytes::from(bytes.to_vec())).map_or(0, |log| read_all(&log))
}

/// Reads a log with a sound header and one sound chunk of each kind, whose
/// payload these bytes are.
pub fn payload(bytes: &[u8]) -> usize {
    let len = (HEADER_LEN + bytes.len()).next_multiple_of(BLOCK);
    let mut file = header((BLOCK + ChunkKind::ALL.len() * len) as u64).encode(crc32fast::hash);
    for kind in ChunkKind::ALL {
        let chunk = ChunkHeader {
            kind: kind as u8,
            flags: 0,
            len: len as u32,
            committed: bytes.len() as u32,
            sequence: 0,
            lane: 1,
            thread: 1,
            checksum: 0,
            first_ns: 0,
        };
        let end = file.len() + len;
        file.extend_from_slice(&chunk.encode());
        file.extend_from_slice(bytes);
        file.resize(end, 0);
    }
    log(&file)
}

/// Reads a recording of Flight Recorder that is one chunk with a sound header: its
/// metadata are at the front of these bytes, its constants at the end of the first
/// event if that is short, and its events are all of them.
pub fn jfr(bytes: &[u8]) -> usize {
    const HEADER_LEN: usize = 68;
    let len = (HEADER_LEN + bytes.len()) as u64;
    let at = HEADER_LEN as u64;
    let first = bytes.first().map_or(0, |&byte| u64::from(byte));
    let mut file = b"FLR\0\0\x02\0\x01".to_vec();
    // Length, constants, metadata; start and duration; ticks and their number in a second.
    for number in [len, at + first, at, 1 << 60, 1 << 30, 1 << 20, 1_000_000_000] {
        file.extend_from_slice(&u64::to_be_bytes(number));
    }
    file.extend_from_slice(&1u32.to_be_bytes());
    file.extend_from_slice(bytes);
    log(&file)
}

fn header(used_len: u64) -> Header {
    Header {
        version: VERSION,
        header_len: 0,
        wall_ns: 0,
        mono_ns: 0,
        end_ns: 0,
        used_len,
        state: RecordingState::Recording,
        pid: 0,
        threshold_ns: 0,
        depth: 0,
        dropped_contention: 0,
        dropped_other: 0,
        continued: false,
        metadata: Vec::new(),
    }
}

fn read_all(log: &Recording) -> usize {
    let mut found = log.pending().len() + log.counters().len();
    found += log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)).count();
    let hold_mode = log.hold_mode();
    for cell in log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk)) {
        found += 1 + usize::from(hold_mode.estimate_ns(&cell) != 0);
    }
    let mut messages: Vec<String> = log.damage().iter().map(ToString::to_string).collect();
    for chunk in log.event_chunks() {
        match log.events(chunk) {
            Ok(mut events) => {
                found += events.records().map(|entry| places_of(log, &entry)).sum::<usize>();
                messages.extend(events.damage().map(|damage| damage.to_string()));
            }
            Err(damage) => messages.push(damage.to_string()),
        }
    }
    let texts = log.definitions().strings().iter();
    found += texts.map(|(id, _)| log.text(id).len()).sum::<usize>();
    let definitions = log.definitions();
    found += definitions.locks().iter().count() + definitions.places().iter().count();
    found += definitions.stacks().groups().map(|(_, name)| log.text(name).len()).sum::<usize>();
    let _ = (log.end_ns(), log.tallies(), log.is_trace(), log.has_sampling(), log.period_ns());
    found += log.statistics().len() + log.collections().len();
    found + messages.iter().map(String::len).sum::<usize>()
}

/// One for the record, and one for each of its places that is defined, or for
/// its stack and what else it tells.
fn places_of(log: &Recording, entry: &Entry<'_>) -> usize {
    let places = log.definitions().places();
    let known = |place: u32| usize::from(places.get(place).is_some());
    let Entry::Note(noted) = entry else { return 1 };
    let stack = |stack: u32| usize::from(log.definitions().stacks().get(stack).is_some());
    1 + match noted.record {
        Note::Sample(sample) => {
            let sampled = noted.with(sample);
            let told = sampled.start_ns() != 0 || sampled.kind().is_some();
            let is_other = sampled.state() == ThreadState::Other;
            stack(sample.stack) + usize::from(told || is_other)
        }
        Note::Snapshot(snapshot) => stack(snapshot.stack),
        Note::Wake(wake) => stack(wake.stack) + usize::from(noted.with(wake).woken_ns() != 0),
        Note::Operation(operation) => {
            usize::from(log.definitions().stacks().group(operation.stack).is_some())
        }
        Note::Span(span) => usize::from(span.is_some()),
        Note::Hold(hold) => known(hold.place),
        Note::Instance(instance) => known(instance.place),
        Note::Blame(blame) => known(blame.place),
        Note::Nest(nest) => {
            known(nest.inner.place) + nest.outer.iter().map(|held| known(held.place)).sum::<usize>()
        }
        _ => 0,
    }
}
