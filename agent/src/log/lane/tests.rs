//! Many holds in one record are read at the moments at which they ended.

use super::*;
use crate::log::testing;
use tyrion_wire::{
    chunk::{ChunkHeader, HEADER_LEN},
    event::{Note, Record},
    header::Header,
    trace::{Held, Hold},
};

fn log() -> (tempfile::TempDir, LogFile) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let file = std::fs::File::options().read(true).write(true).create_new(true).open(path);
    let log = LogFile::start(file.unwrap(), &testing::header(), None).unwrap();
    (dir, log)
}

/// Thread, moment and hold of each, chunk by chunk.
fn read(dir: &tempfile::TempDir) -> Vec<Vec<(u32, u64, Hold)>> {
    let bytes = std::fs::read(dir.path().join("a.log")).unwrap();
    let mut at = Header::decode(&bytes).unwrap().header_len as usize;
    let mut chunks = Vec::new();
    while at < bytes.len() {
        let chunk = ChunkHeader::decode(&bytes[at..]).unwrap();
        let payload = &bytes[at + HEADER_LEN..][..chunk.committed as usize];
        chunks.push(holds_of(payload, chunk.thread, chunk.first_ns));
        at += chunk.len as usize;
    }
    chunks
}

fn holds_of(mut payload: &[u8], mut thread: u32, mut now_ns: u64) -> Vec<(u32, u64, Hold)> {
    let mut found = Vec::new();
    while !payload.is_empty() {
        let (record, len) = event::decode(payload).unwrap();
        payload = &payload[len..];
        let mut put = |thread, hold: Hold| {
            now_ns += hold.delta_ns;
            found.push((thread, now_ns, Hold { delta_ns: 0, ..hold }));
        };
        match record {
            Record::Thread(other) => thread = other,
            Record::Note(Note::Hold(hold)) => put(thread, hold),
            Record::Holds(holds) => holds.iter().for_each(|hold| put(thread, hold)),
            other => panic!("{other:?}"),
        }
    }
    found
}

/// Batches of some 200 holds; `order` says when the nth one ends.
fn batches(
    lane: &mut Lane,
    log: &LogFile,
    goes_back: bool,
    order: impl Fn(u64) -> u64,
) -> Vec<(u32, u64, Hold)> {
    let mut expected = Vec::new();
    let mut holds = HoldBatch::default();
    for batch in 0..300u64 {
        let thread = 1 + u32::from(batch % 7 == 0);
        holds.clear();
        let locks: Vec<Held> =
            (0..5).map(|nth| Held { place: nth, class: 7, hash: 1 << nth }).collect();
        let numbers: Vec<u32> = locks.iter().map(|&lock| holds.lock(lock)).collect();
        for nth in 0..1 + batch * 37 % 255 {
            let (end_ns, hold_ns) = (order(batch * 255 + nth), batch * nth);
            let which = (nth % 5) as usize;
            holds.push(numbers[which], end_ns, hold_ns);
            let Held { place, class, hash } = locks[which];
            expected.push((
                thread,
                end_ns,
                Hold { hold_ns, place, class, hash, ..Hold::default() },
            ));
        }
        if goes_back && let Some(first_ns) = holds.first_ns() {
            lane.go_back_to(log, thread, first_ns, 4096);
        }
        assert!(lane.append_holds(log, thread, &mut holds));
        if batch % 11 == 0 {
            // Another record that has a time moves the same clock.
            let end_ns = order(batch * 255 + 254) + 1;
            let hold = Hold { stack: 3, ..Hold::default() };
            assert!(lane.append_misc(log, thread, Some(end_ns), |delta_ns, out| {
                Hold { delta_ns, ..hold }.encode(out);
            }));
            expected.push((thread, end_ns, hold));
        }
    }
    expected
}

#[test]
fn holds_are_read_at_their_moments() {
    let (dir, log) = log();
    let mut lane = Lane::lone(1);
    // Each fifth batch is from before the one in front of it.
    let order = |nth: u64| {
        let (batch, nth) = (nth / 255, nth % 255);
        let batch = if batch % 5 == 4 { batch - 2 } else { batch };
        1_000_000 + batch * 1_000_000 + nth * 90
    };
    let expected = batches(&mut lane, &log, true, order);
    log.close(9);
    let chunks = read(&dir);
    assert!(chunks.len() > 60, "{} chunks: one for each step back, at least", chunks.len());
    assert_eq!(chunks.concat(), expected);
}

#[test]
fn holds_out_of_order_are_read_late_but_move_no_clock() {
    let (dir, log) = log();
    let mut lane = Lane::lone(1);
    // As those of virtual threads: each batch begins up to 200 us before the end of
    // the one in front.
    let order = |nth: u64| 1_000_000 + nth / 255 * 30_000 + nth % 255 * 900;
    let expected = batches(&mut lane, &log, false, order);
    log.close(9);
    let mut left = &expected[..];
    for chunk in read(&dir) {
        let mut now_ns = 0;
        for (thread, at_ns, hold) in chunk {
            let (first, rest) = left.split_first().unwrap();
            left = rest;
            now_ns = first.1.max(now_ns);
            assert_eq!((thread, at_ns, hold), (first.0, now_ns, first.2));
        }
    }
    assert_eq!(left, []);
}

#[test]
fn holds_without_room_are_told() {
    let (_dir, log) = log();
    let mut lane = Lane::lone(1);
    let mut holds = HoldBatch::default();
    assert!(lane.append_holds(&log, 1, &mut holds), "none need no room");
    let lock = holds.lock(Held::default());
    holds.push(lock, 5, 1);
    log.close(9);
    assert!(!lane.append_holds(&log, 1, &mut holds));
}
