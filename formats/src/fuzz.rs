//! Entry points for fuzzing: each takes any bytes, and must neither panic nor
//! take memory beyond what [`limits`](crate::limits) says.
//!
//! `formats/fuzz` hands them to libFuzzer; `formats/tests/fuzz.rs` runs them
//! on made-up bytes with plain `cargo test`.

use crate::Log;
use tyrion_wire::{
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN},
    header::{BLOCK, Header, State, VERSION},
};

/// Reads everything in a log that consists of these bytes. Returns how many
/// things of any sort it found.
pub fn log(bytes: &[u8]) -> usize {
    Log::from_bytes("fuzz.log", bytes.to_vec()).map_or(0, |log| read_all(&log))
}

/// Reads a log with a sound header and one sound chunk of each kind, whose
/// payload these bytes are.
pub fn payload(bytes: &[u8]) -> usize {
    let len = (HEADER_LEN + bytes.len()).next_multiple_of(BLOCK);
    let mut file = header((BLOCK + 5 * len) as u64).encode(crc32fast::hash);
    for kind in 1..=ChunkKind::Counters as u8 {
        let chunk = ChunkHeader {
            kind,
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

fn header(used_len: u64) -> Header {
    Header {
        version: VERSION,
        header_len: 0,
        wall_ns: 0,
        mono_ns: 0,
        end_ns: 0,
        used_len,
        state: State::Recording,
        pid: 0,
        threshold_ns: 0,
        depth: 0,
        dropped_contention: 0,
        dropped_other: 0,
        metadata: Vec::new(),
    }
}

fn read_all(log: &Log) -> usize {
    let mut found = log.pending().len() + log.counters().len();
    found += log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)).count();
    let mut messages: Vec<String> = log.damage().iter().map(ToString::to_string).collect();
    for chunk in log.event_chunks() {
        match log.events(chunk) {
            Ok(mut events) => {
                found += events.by_ref().count();
                messages.extend(events.damage().map(|damage| damage.to_string()));
            }
            Err(damage) => messages.push(damage.to_string()),
        }
    }
    let texts = log.definitions().strings().iter();
    found += texts.map(|(id, _)| log.text(id).len()).sum::<usize>();
    let _ = (log.end_ns(), log.tallies());
    found + messages.iter().map(String::len).sum::<usize>()
}
