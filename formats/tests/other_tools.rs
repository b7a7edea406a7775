//! Files of other tools, whole, cut and with flipped bits.

use crate::common::{self, OTHER_TOOLS, of_other_tools};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use tyrion_formats::{Error, Recording, fuzz};

fn read(bytes: &[u8]) -> Result<Recording, Error> {
    Recording::from_bytes("hostile.log", bytes.to_vec())
}

/// How many records there are, and how many waits in sums.
fn found(log: &Recording) -> (usize, u64) {
    let (records, damage) = common::decode(log);
    damage.iter().for_each(|damage| check_message(&damage.to_string()));
    let cells = log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk));
    (records, cells.map(|cell| cell.count).sum())
}

/// A message must be one line with the file's name and an offset.
fn check_message(message: &str) {
    assert!(message.starts_with("hostile.log: offset 0x"), "{message}");
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn each_is_read_whole() {
    for (name, format) in OTHER_TOOLS {
        let log = read(&of_other_tools(name)).unwrap();
        assert_eq!((log.facts().format, log.damage()), (format, &[][..]), "{name}");
        assert_ne!(found(&log), (0, 0), "{name}");
    }
}

#[test]
fn a_file_cut_anywhere_is_read_up_to_there() {
    for (name, _) in OTHER_TOOLS {
        let bytes = of_other_tools(name);
        let mut last = (0, 0);
        for cut in 0..=bytes.len() {
            match read(&bytes[..cut]) {
                Ok(log) => {
                    let now = found(&log);
                    assert!(now >= last, "{name} cut at {cut}: {now:?} after {last:?}");
                    last = now;
                }
                Err(error) => {
                    check_message(&error.to_string());
                    assert_eq!(last, (0, 0), "{name} cut at {cut}: {error}");
                }
            }
        }
        assert_eq!(last, found(&read(&bytes).unwrap()), "{name}");
    }
}

/// The same of files that somebody has compressed.
#[test]
fn a_compressed_file_cut_anywhere_is_read_up_to_there() {
    for (name, format) in OTHER_TOOLS.into_iter().filter(|(name, _)| !name.ends_with(".gz")) {
        let plain = of_other_tools(name);
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&plain).unwrap();
        let bytes = packer.finish().unwrap();
        let mut last = (0, 0);
        for cut in 0..bytes.len() {
            match read(&bytes[..cut]) {
                Ok(log) => {
                    let now = found(&log);
                    assert!(now >= last, "{name} cut at {cut}: {now:?} after {last:?}");
                    assert!(!log.damage().is_empty(), "{name} cut at {cut}");
                    last = now;
                }
                Err(error) => {
                    check_message(&error.to_string());
                    assert_eq!(last, (0, 0), "{name} cut at {cut}: {error}");
                }
            }
        }
        let log = read(&bytes).unwrap();
        assert_eq!((log.facts().format, log.damage()), (format, &[][..]), "{name}");
        assert_eq!(found(&log), found(&read(&plain).unwrap()), "{name}");
    }
}

#[test]
fn any_flipped_bit_is_survived() {
    for (name, _) in OTHER_TOOLS {
        let mut bytes = of_other_tools(name);
        for at in 0..bytes.len() {
            // Of a long file, one in each byte.
            let bits = if bytes.len() < 1_000 { 0..8 } else { at % 8..at % 8 + 1 };
            for bit in bits {
                bytes[at] ^= 1 << bit;
                match read(&bytes) {
                    Ok(log) => _ = found(&log),
                    Err(error) => check_message(&error.to_string()),
                }
                // The first bytes do not tell any more what it is.
                let _ = (fuzz::collapsed(&bytes), fuzz::pprof(&bytes), fuzz::original(&bytes));
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

/// What Go writes in one run as a profile, as text, and by `go tool pprof`.
#[test]
fn texts_of_pprof_say_what_the_profile_says() {
    let sums = |name: &str| {
        let log = read(&of_other_tools(name)).unwrap();
        let cells = log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk));
        let sums = cells.map(|cell| (cell.count, cell.sum_ns / 1_000));
        sums.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(sums("go-mutex.txt"), sums("go-mutex.raw"));
    let traces: Vec<u64> = sums("go-block.traces").iter().map(|sum| sum.1 / 10_000).collect();
    let text: Vec<u64> = sums("go-block.txt").iter().map(|sum| sum.1 / 10_000).collect();
    let total = |sums: &[u64]| sums.iter().sum::<u64>();
    assert_eq!(total(&traces), total(&text), "they are rounded");
}
