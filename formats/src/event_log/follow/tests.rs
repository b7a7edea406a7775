//! What is written between two steps of one look.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::write::{LogOptions, LogWriter, Wait};
use std::{
    fs::OpenOptions,
    io::{Cursor, Write},
    os::unix::fs::FileExt,
};
use tyrion_wire::{WaitKind, chunk};

/// Where the header has its `used_len`.
const USED_LEN: u64 = 40;
const WAITS: u64 = 1_000;

/// One lane, whose waits fill several chunks.
fn sample() -> Vec<u8> {
    let options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    let class = log.class("com/acme/Bank", "Bank.java").unwrap();
    let method = log.method(class, "transfer", "()V", 20).unwrap();
    let lock = log.lock(class).unwrap();
    let stack = log.stack(0, method, 20).unwrap();
    let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
    let thread = log.thread(1, "teller", "main", 0).unwrap();
    let lane = log.lane(thread);
    for nth in 0..WAITS {
        let end_ns = 1_000_000 + nth * 1_000;
        log.wait(lane, Wait { end_ns, wait_ns: 500, site, ..Wait::default() }).unwrap();
    }
    log.finish().unwrap().into_inner()
}

/// The last record of a chunk is written, and the next chunk carved, after the first one
/// was looked at and before it is read.
#[test]
fn what_a_chunk_gets_last_is_not_missed() {
    let bytes = sample();
    let log = Recording::from_bytes("whole", bytes.clone()).unwrap();
    let [first, second, ..] = log.event_chunks() else { panic!("one chunk") };
    let mut events = log.events(first).unwrap();
    let mut last = 0;
    loop {
        let at = events.offset();
        if events.records().next().is_none() {
            break;
        }
        last = at;
    }
    let written = last - first.payload_at();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    let out = OpenOptions::new().write(true).open(file.path()).unwrap();
    let at = first.offset;
    out.write_all_at(&(written as u32).to_le_bytes(), at + chunk::field::COMMITTED as u64).unwrap();
    out.write_all_at(&[0; 1], at + chunk::field::FLAGS as u64).unwrap();
    out.write_all_at(&second.offset.to_le_bytes(), USED_LEN).unwrap();

    let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
    let mut waits = 0;
    let mut take = |entry: Entry<'_>| waits += u64::from(matches!(entry, Entry::Wait(_)));
    follower.look(0).unwrap();
    out.write_all_at(&bytes, 0).unwrap();
    follower.tell(&mut take).unwrap();
    follower.read_on(0, &mut take).unwrap();
    assert_eq!(waits, WAITS);
    assert_eq!(follower.damage(), []);
}
