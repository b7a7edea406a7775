//! One file: what is carved, sealed and cut, and what a damaged one does.

use super::*;
use crate::log::{dictionary::Dictionary, testing::header};
use std::{path::Path, sync::atomic::AtomicU64};
use tyrion_wire::def::Definition;

fn create(path: &Path) -> File {
    File::options().read(true).write(true).create_new(true).open(path).unwrap()
}

#[test]
fn chunks_stand_back_to_back_and_close_cuts_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let log = LogFile::start(create(&path), &header(), None).unwrap();
    let mut first = log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
    let second = log.carve(ChunkKind::Cells, 8192, Writer::default()).unwrap();
    assert!(first.append(b"abc"));
    assert_eq!(second.extent(), (8192, 8192));
    log.retire(first);
    log.seal_retired();
    log.close(9);
    assert!(log.carve(ChunkKind::Events, 4096, Writer::default()).is_none());
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes.len(), 16384);
    let read = ChunkHeader::decode(&bytes[4096..]).unwrap();
    assert_eq!((read.committed, read.checksum), (3, crc32fast::hash(b"abc")));
    let header = Header::decode(&bytes).unwrap();
    assert_eq!((header.state, header.end_ns), (RecordingState::Closed, 9));
}

/// The kernel maps whole pages, which are of 64 KiB on some machines.
#[test]
fn pieces_of_the_file_are_whole_pages_everywhere() {
    const PAGE: u64 = 65536;
    for limit in [None, Some(1), Some(1 << 20), Some(100_000_000), Some(u64::MAX)] {
        let sizes = Sizes::new(limit);
        assert!(sizes.segment.is_multiple_of(PAGE) && sizes.ahead.is_multiple_of(PAGE));
        assert!(sizes.longest as u64 >= 4 * sizes.segment, "{limit:?}");
    }
}

#[test]
fn a_file_ends_before_its_addresses_do() {
    let len = 64 << 20;
    let sizes = |limit| Sizes::new(limit).within(len);
    assert_eq!(sizes(Some(100 << 20)).limit, Some(32 << 20));
    assert_eq!(sizes(Some(20 << 20)).limit, Some(20 << 20));
    assert!(!sizes(Some(100 << 20)).end().contains("ulimit"), "another file follows");
    let alone = sizes(None);
    assert_eq!((alone.limit, alone.longest), (None, len));
    assert!(alone.end().ends_with("64 MiB: it gets no more addresses (ulimit -v)"));
    assert!(Sizes::new(None).end().ends_with("262144 MiB"));
}

#[test]
fn the_file_grows_and_full_segments_are_unmapped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let log = LogFile::start(create(&path), &header(), None).unwrap();
    for round in 0..600 {
        let chunk = log.carve(ChunkKind::Events, 65536, Writer::default());
        log.retire(chunk.unwrap_or_else(|| panic!("round {round}")));
        log.grow().unwrap();
        log.seal_retired();
    }
    let carve = lock(&log.carve);
    assert!(carve.live[0].is_some(), "the header block stays");
    assert!(carve.live[1..9].iter().all(Option::is_none));
}

#[test]
fn a_truncated_file_ends_the_log_but_not_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let log = LogFile::start(create(&path), &header(), None).unwrap();
    let mut chunk = log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    assert!(chunk.append(b"abc"), "survives the SIGBUS");
    let trouble = log.tend().unwrap_err();
    assert!(matches!(trouble, Trouble::Broken(reason) if reason.contains("truncated")));
    log.give_up();
    assert!(log.carve(ChunkKind::Events, 4096, Writer::default()).is_none());
}

#[test]
fn a_finished_file_is_sealed_to_the_last_chunk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let log = LogFile::start(create(&path), &header(), Some(65536)).unwrap();
    let kinds = [ChunkKind::Events, ChunkKind::Cells, ChunkKind::Definitions];
    let mut chunks = kinds.map(|kind| log.carve(kind, 4096, Writer::default()).unwrap());
    assert!(chunks.iter_mut().all(|chunk| chunk.append(b"abc")));
    assert!(!log.is_nearly_full());
    for _ in 0..12 {
        log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
    }
    assert!(log.is_full());
    log.finish(9);
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes.len(), 65536);
    let sealed = |nth: usize| {
        let chunk = ChunkHeader::decode(&bytes[4096 * (nth + 1)..]).unwrap();
        (chunk.flags, chunk.checksum)
    };
    let checksum = crc32fast::hash(b"abc");
    assert_eq!([sealed(0), sealed(1), sealed(2)], [(1, checksum), (0, 0), (1, checksum)]);
}

#[test]
fn cells_keep_their_file_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let log = LogFile::start(create(&path), &header(), Some(65536)).unwrap();
    let mut chunk = log.carve(ChunkKind::Cells, 4096, Writer::default()).unwrap();
    let cell = chunk.append_cell(&[0; 16]).unwrap();
    assert!(chunk.append_kept::<AtomicU64>(&[0; 8]).is_none(), "Java gets none of these");
    // It has cells, so its segment must stay.
    log.retire(chunk);
    while let Some(chunk) = log.carve(ChunkKind::Events, 4096, Writer::default()) {
        log.retire(chunk);
    }
    log.seal_retired();
    log.finish(9);
    drop(log);
    cell.u64_at(8).store(7, Relaxed);
    assert_eq!(std::fs::read(path).unwrap()[4096 + 64 + 8], 7);
    let outside = std::panic::AssertUnwindSafe(|| cell.u64_at(16).load(Relaxed));
    assert!(std::panic::catch_unwind(outside).is_err());
}

#[test]
fn cells_that_java_knows_outlive_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let log = LogFile::start(create(&path), &header(), Some(65536)).unwrap();
    let mut chunk = log.carve(ChunkKind::Acquisitions, 8192, Writer::default()).unwrap();
    let cell = chunk.append_kept::<[AtomicU64; 32]>(&[0; 256]).unwrap();
    cell[2].store(7, Relaxed);
    log.finish(9);
    drop((chunk, log));
    // Java code may come late.
    cell[2].store(8, Relaxed);
    assert_eq!(cell[2].load(Relaxed), 8);
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes[4096 + 64 + 16], 7, "the file has the value of before");
}

#[test]
fn a_pause_has_room_when_nothing_else_has() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    let log = LogFile::start(create(&path), &header(), Some(65536)).unwrap();
    let dictionary = Dictionary::new(true);
    while log.carve(ChunkKind::Events, 4096, Writer::default()).is_some() {}
    assert_eq!(dictionary.class(&log, b"Lcom/acme/Foo;", b""), None);
    assert!(dictionary.pause(&log, 5, 0).is_some());
    assert!(log.carve_reserve(Writer::default()).is_none(), "once");
    log.grow().unwrap();
    assert!(log.carve_reserve(Writer::default()).is_some(), "once more");
    log.finish(9);
    let bytes = std::fs::read(path).unwrap();
    let pause = Definition::Pause { from_ns: 5, to_ns: 0 };
    let mut encoded = Vec::new();
    pause.encode(&mut encoded);
    let found = bytes.windows(encoded.len()).filter(|window| *window == encoded).count();
    assert_eq!(found, 1);
}
