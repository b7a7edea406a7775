//! What is compressed with gzip: a few kilobytes stand for many megabytes.

use super::{event_log, jfr, original, pprof, read};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use tyrion_formats::{Error, limits};

/// Packs something again and again, until it is so long: packed, and the length.
fn packed(start: &[u8], again: &[u8], len: usize) -> (Vec<u8>, usize) {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(start).unwrap();
    let count = len / again.len();
    (0..count).for_each(|_| packer.write_all(again).unwrap());
    (packer.finish().unwrap(), start.len() + count * again.len())
}

/// Reads what is packed. Where all is the same, it takes nothing for each byte but what
/// unpacking takes.
fn check(input: &str, start: &[u8], again: &[u8], mebibytes: usize) {
    let (bytes, len) = packed(start, again, mebibytes << 20);
    assert!(bytes.len() < len / 100, "{input}: {}", bytes.len());
    let (spent, recording) = read(bytes);
    assert_eq!(recording.unwrap().facts().format, input);
    let most = limits::memory(input).bytes + 2 * limits::MAX_IN_MEMORY as u64;
    println!(
        "{input:16} {:44} {len:>9} {:>10} {most:>10} {:>9}",
        "packed", spent.peak, spent.count
    );
    assert!(spent.peak as u64 <= most, "{input}: {}", spent.peak);
}

#[test]
fn what_is_packed_takes_no_more_than_unpacking_takes() {
    let _alone = super::alone();
    // Beyond 64 a temporary file is made.
    check("collapsed", b"", b"[main tid=1];a/B.c;a/B.d 7\n", 80);
    check("event-log", &event_log::empty(), &[0; 1 << 16], 80);
    check("jfr", b"", &jfr::short(), 16);
    check("original-tyrion", b"", &original::short(), 16);
    check("pprof", &pprof::short(), &pprof::one_sample(), 16);
}

#[test]
fn zeros_are_refused_by_their_first_bytes() {
    let _alone = super::alone();
    let (bytes, _) = packed(&[], &[0; 1 << 16], 256 << 20);
    let (spent, refused) = read(bytes);
    assert!(matches!(refused, Err(Error::NotALog { .. })));
    assert!(spent.peak < 1 << 20, "{}", spent.peak);
}
