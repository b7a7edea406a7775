//! A log that is read while it is written.

use crate::common;
use std::{
    fs::OpenOptions,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use tyrion_formats::{
    Recording,
    wire::{
        cell::{self, field},
        chunk, trace,
    },
};

/// A copy of a frozen log that may be changed.
fn copy(name: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), common::frozen(name)).unwrap();
    file
}

#[test]
fn a_cell_is_never_read_half_changed() {
    let file = copy("v1-tiny.log");
    let log = Recording::open(file.path()).unwrap();
    let chunk = log.cell_chunks()[0];
    let base = chunk.payload_at();
    let out = OpenOptions::new().write(true).open(file.path()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // As the agent does: the other copy first, then the version.
            for round in 1..50_000u32 {
                let copy = field::SUMS + (round as usize & 1) * field::SUMS_LEN;
                for nth in 0..4 {
                    let at = base + (copy + 8 * nth) as u64;
                    out.write_all_at(&u64::from(round).to_le_bytes(), at).unwrap();
                }
                out.write_all_at(&round.to_le_bytes(), base + field::VERSION as u64).unwrap();
            }
            done.store(true, Relaxed);
        });
        let mut last = 0;
        while !done.load(Relaxed) {
            let cell = log.cells(&chunk).next().unwrap();
            if cell.count == 1 && cell.sum_ns != 1 {
                continue; // as it was in the frozen log
            }
            assert_eq!([cell.sum_ns, cell.max_ns, cell.last_ns], [cell.count; 3]);
            assert!(cell.count >= last);
            last = cell.count;
        }
        assert_eq!(log.cells(&chunk).next().map(|cell| cell.count), Some(49_999));
    });
    assert_eq!(cell::LEN, 256);
}

/// Numbers are read whole, though not all of the same moment.
#[test]
fn an_acquisition_cell_is_read_while_it_counts() {
    let file = copy("v1-trace.log");
    let log = Recording::open(file.path()).unwrap();
    let chunk = log.acquisition_chunks()[0];
    let base = chunk.payload_at();
    let mode = log.hold_mode();
    let out = OpenOptions::new().write(true).open(file.path()).unwrap();
    let done = AtomicBool::new(false);
    let fields = [trace::field::ACQUISITIONS, trace::field::FIRST_COUNT, trace::field::FIRST_NS];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..30_000u64 {
                // The same in all eight bytes but for those that count.
                let value = round << 32 | round;
                for at in fields {
                    out.write_all_at(&value.to_le_bytes(), base + at as u64).unwrap();
                }
            }
            done.store(true, Relaxed);
        });
        while !done.load(Relaxed) {
            let cell = log.acquisitions(&chunk).next().unwrap();
            mode.estimate_ns(&cell);
            for number in [cell.acquisitions, cell.first_count, cell.first_ns] {
                assert!(number < 10_000 || number >> 32 == number & 0xffff_ffff, "{number:#x}");
            }
        }
    });
}

#[test]
fn a_chunk_beyond_the_used_length_is_read_already() {
    // The writer sets the used length after the chunk's header.
    let file = copy("v1-killed.log");
    let whole = Recording::open(file.path()).unwrap();
    let last = whole.event_chunks().iter().map(|chunk| chunk.offset).max().unwrap();
    let out = OpenOptions::new().write(true).open(file.path()).unwrap();
    out.write_all_at(&last.to_le_bytes(), 40).unwrap();
    let early = Recording::open(file.path()).unwrap();
    assert_eq!(common::decode(&early), common::decode(&whole));
    // And half of a header is just the end.
    out.write_all_at(&0u64.to_le_bytes(), last + 8).unwrap();
    let early = Recording::open(file.path()).unwrap();
    assert_eq!(early.damage(), []);
    assert!(early.event_chunks().iter().all(|chunk| chunk.offset < last));
    assert_eq!(chunk::field::COMMITTED, 12);
}
