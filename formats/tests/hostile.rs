//! Damaged, cut and foreign files: what is whole is read, what is not is told,
//! and nothing panics.

use crate::common;
use tyrion_formats::{
    Damage, Error, Fault, FileKind, Recording, fuzz, limits,
    wire::{chunk, header::BLOCK},
    write,
};

const NAME: &str = "hostile.log";

fn read(bytes: &[u8]) -> Result<Recording, Error> {
    Recording::from_bytes(NAME, bytes.to_vec())
}

/// A message must be one line with the file's name and an offset.
fn check_message(message: &str) {
    assert!(message.starts_with("hostile.log: offset 0x"), "{message}");
    assert!(!message.contains('\n'), "{message}");
}

/// The offsets that are worth a test: all but most of the padding.
fn offsets(bytes: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let padding: Vec<bool> = (0..bytes.len())
        .map(|at| bytes[at.saturating_sub(9)..bytes.len().min(at + 9)].iter().all(|&b| b == 0))
        .collect();
    (0..bytes.len()).filter(move |&at| !padding[at] || at % 61 == 0)
}

#[test]
fn a_log_cut_anywhere_is_read_up_to_there() {
    for name in ["v1-small.log", "v1-killed.log"] {
        let bytes = common::frozen(name);
        let whole = read(&bytes).unwrap();
        let (all, damage) = common::decode(&whole);
        assert_eq!(damage, []);
        let used = whole.facts().used_len as usize;
        let mut last = 0;
        for cut in offsets(&bytes[..used]) {
            last = check_cut(&bytes, used, cut, last);
        }
        assert_eq!(last, all, "the last byte is no record's");
    }
}

#[test]
fn a_tiny_log_is_cut_at_every_byte() {
    let bytes = common::frozen("v1-tiny.log");
    let last = (0..bytes.len()).fold(0, |last, cut| check_cut(&bytes, bytes.len(), cut, last));
    assert_eq!(last, 2);
}

#[test]
fn the_other_logs_are_cut_at_every_byte() {
    for name in [
        "v1-trace.log",
        "v1-holds.log",
        "v1-sample.log",
        "v1-wakers.log",
        "v1-looks.log",
        "v1-spans.log",
        "v1-traces.log",
    ] {
        let bytes = common::frozen(name);
        let whole = common::decode(&read(&bytes).unwrap()).0;
        let last = (0..bytes.len()).fold(0, |last, cut| check_cut(&bytes, bytes.len(), cut, last));
        assert_eq!(last, whole);
    }
}

/// Reads the first `cut` bytes of a log, of which so many `used` there should
/// be: the number of records, which are no fewer than at an earlier cut.
fn check_cut(bytes: &[u8], used: usize, cut: usize, last: usize) -> usize {
    let log = match read(&bytes[..cut]) {
        Ok(log) => log,
        Err(error) => {
            check_message(&error.to_string());
            assert!(cut < BLOCK, "{cut}: {error}");
            return last;
        }
    };
    let (count, damage) = common::decode(&log);
    assert!(count >= last, "cut at {cut}: {count} records, {last} before");
    assert_eq!(damage.len(), 1, "cut at {cut}: {damage:?}");
    assert_eq!(damage[0].fault, Fault::Cut);
    assert_eq!((damage[0].offset, damage[0].skipped), (cut as u64, (used - cut) as u64));
    check_message(&damage[0].to_string());
    count
}

#[test]
fn zeros_behind_the_used_length_are_no_damage() {
    let bytes = common::frozen("v1-killed.log");
    let used = read(&bytes).unwrap().facts().used_len as usize;
    for len in [used, used + 1, used + 63, used + 64, used + 4096, bytes.len()] {
        assert_eq!(common::decode(&read(&bytes[..len]).unwrap()).1, [], "{len} bytes");
    }
}

#[test]
fn any_flipped_bit_is_survived() {
    let bytes = common::frozen("v1-tiny.log");
    flip(bytes.clone(), 0..bytes.len(), |_| ());
}

/// The same without checksums, so that what the bits change is decoded.
#[test]
fn any_flipped_bit_of_a_trace_log_is_survived() {
    flip_unsealed("v1-trace.log");
}

#[test]
fn any_flipped_bit_of_a_log_of_all_holds_is_survived() {
    flip_unsealed("v1-holds.log");
}

#[test]
fn any_flipped_bit_of_a_sampled_log_is_survived() {
    flip_unsealed("v1-sample.log");
}

fn flip_unsealed(name: &str) {
    let mut bytes = common::frozen(name);
    let sealed: Vec<usize> = {
        let log = read(&bytes).unwrap();
        let definitions = [common::header_len(&bytes)];
        log.event_chunks().iter().map(|chunk| chunk.offset as usize).chain(definitions).collect()
    };
    for at in sealed {
        bytes[at + chunk::field::FLAGS] = 0;
    }
    let log = read(&bytes).unwrap();
    assert!(log.event_chunks().iter().all(|chunk| !chunk.sealed) && log.damage().is_empty());
    let worth = offsets(&bytes);
    flip(bytes, worth, |bytes| _ = fuzz::log(bytes));
}

/// Reads the records of a log, with each bit at these offsets flipped, and
/// hands it to `also`.
fn flip(mut bytes: Vec<u8>, offsets: impl Iterator<Item = usize>, also: impl Fn(&[u8])) {
    for at in offsets {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            also(&bytes);
            match read(&bytes) {
                Ok(log) => {
                    let (_, damage) = common::decode(&log);
                    damage.iter().for_each(|damage| check_message(&damage.to_string()));
                }
                Err(error) => check_message(&error.to_string()),
            }
            bytes[at] ^= 1 << bit;
        }
    }
}

#[test]
fn a_flipped_bit_in_a_sealed_payload_is_found() {
    let mut bytes = common::frozen("v1-small.log");
    let log = read(&bytes).unwrap();
    let chunk = log.event_chunks()[0];
    let (all, _) = common::decode(&log);
    let inside = log.events(&chunk).unwrap().count();
    let start = chunk.payload_at() as usize;
    for at in start..start + chunk.committed as usize {
        bytes[at] ^= 0x10;
        let (count, damage) = common::decode(&read(&bytes).unwrap());
        assert_eq!(count, all - inside);
        assert_eq!(damage[0].offset, chunk.offset);
        assert_eq!(damage[0].fault, Fault::Checksum { kind: "events" });
        assert_eq!(damage[0].skipped, u64::from(chunk.committed));
        bytes[at] ^= 0x10;
    }
}

#[test]
fn what_is_no_record_ends_an_unsealed_chunk() {
    let mut bytes = common::frozen("v1-killed.log");
    let log = read(&bytes).unwrap();
    let chunk = log.event_chunks()[1];
    let mut events = log.events(&chunk).unwrap();
    events.by_ref().take(10).for_each(drop);
    let at = events.offset() as usize;
    bytes[at] = 0;
    let log = read(&bytes).unwrap();
    let mut events = log.events(&chunk).unwrap();
    assert_eq!(events.by_ref().count(), 10);
    let damage = events.damage().unwrap();
    assert_eq!((damage.offset, damage.fault.clone()), (at as u64, Fault::Record));
    assert_eq!(damage.skipped, chunk.payload_at() + u64::from(chunk.committed) - at as u64);
    check_message(&damage.to_string());
}

#[test]
fn the_next_chunk_is_found_behind_a_damaged_header() {
    let bytes = common::frozen("v1-small.log");
    let log = read(&bytes).unwrap();
    let (all, _) = common::decode(&log);
    for chunk in log.event_chunks() {
        let inside = log.events(chunk).unwrap().count();
        let mut torn = bytes.clone();
        torn[chunk.offset as usize] = b'X';
        let (count, damage) = common::decode(&read(&torn).unwrap());
        assert_eq!(count, all - inside);
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!((damage[0].offset, &damage[0].fault), (chunk.offset, &Fault::NoChunk));
        assert_eq!(damage[0].skipped, u64::from(chunk.len));
    }
}

#[test]
fn a_wrong_chunk_length_loses_nothing() {
    let bytes = common::frozen("v1-small.log");
    let log = read(&bytes).unwrap();
    let all = common::decode(&log).0;
    let names = log.definitions().strings().len();
    let offset = log.event_chunks()[0].offset;
    for len in [8192, 12288, 16384, 1 << 20] {
        let mut long = bytes.clone();
        let at = offset as usize + 8;
        long[at..at + 4].copy_from_slice(&u32::to_le_bytes(len));
        let log = read(&long).unwrap();
        let (count, damage) = common::decode(&log);
        assert_eq!((count, log.definitions().strings().len()), (all, names));
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!((damage[0].offset, &damage[0].fault), (offset, &Fault::ChunkLength));
    }
}

#[test]
fn a_chunk_that_was_taken_out_is_missed() {
    let bytes = common::frozen("v1-small.log");
    let log = read(&bytes).unwrap();
    let chunk = log.event_chunks()[0];
    let mut short = bytes[..chunk.offset as usize].to_vec();
    short.extend_from_slice(&bytes[(chunk.offset + u64::from(chunk.len)) as usize..]);
    let used = log.facts().used_len - u64::from(chunk.len);
    short[40..48].copy_from_slice(&used.to_le_bytes());
    let (_, damage) = common::decode(&read(&short).unwrap());
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!(damage[0].fault, Fault::MissingChunks { kind: "events", count: 1 });
}

#[test]
fn chunks_of_unknown_kinds_are_skipped() {
    let mut bytes = common::frozen("v1-tiny.log");
    let log = read(&bytes).unwrap();
    bytes[log.cell_chunks()[0].offset as usize + 4] = 77;
    let log = read(&bytes).unwrap();
    assert_eq!((common::decode(&log).1, log.cell_chunks().len()), (vec![], 0));
}

#[test]
fn damaged_header_texts_are_told() {
    let mut bytes = common::frozen("v1-tiny.log");
    bytes[270] ^= 1;
    let log = read(&bytes).unwrap();
    assert_eq!(log.damage()[0].fault, Fault::Metadata);
    assert_eq!(log.damage()[0].offset, 256);
}

#[test]
fn foreign_files_are_named() {
    for (bytes, expected) in [
        (&b"\x1f\x8b\x08"[..], FileKind::Gzip),
        (b"\x28\xb5\x2f\xfd", FileKind::Zstd),
        (b"\xfd7zXZ\0\0\x04", FileKind::Xz),
        (b"BZh91AY", FileKind::Bzip2),
        (b"PK\x03\x04\x14", FileKind::Zip),
        (b"\xff\xfea\0;\0", FileKind::Utf16),
        (b"JAVA PROFILE 1.0.2\0", FileKind::HeapDump),
        (b"# callgrind format\n", FileKind::Callgrind),
        (b"<?xml version=\"1.0\"?>", FileKind::Svg),
        (b"com.acme.Main runs 12 times\n", FileKind::Text),
        (b"\0\0\0\0\0\0\0\0", FileKind::Zeros),
        (b"\x7fELF\x02", FileKind::Other),
        (b"\x89TYRION\r\n", FileKind::Mangled),
        (b"\x09TYRION\n", FileKind::Mangled),
    ] {
        let error = read(bytes).unwrap_err();
        check_message(&error.to_string());
        match error {
            Error::NotALog { seems, .. } => assert_eq!(seems, expected),
            other => panic!("{other}"),
        }
    }
    let error = read(b"").unwrap_err();
    assert!(matches!(error, Error::Empty { .. }));
    check_message(&error.to_string());
}

#[test]
fn newer_versions_are_refused() {
    let mut bytes = common::frozen("v1-tiny.log");
    bytes[8] = 2;
    let error = read(&bytes).unwrap_err();
    assert!(matches!(error, Error::Newer { version: 2, known: 1, .. }));
    check_message(&error.to_string());
}

#[test]
fn impossible_header_lengths_are_refused() {
    for (at, value) in [(12, 0u32), (12, 4097), (12, !4095), (68, u32::MAX), (68, 4000)] {
        let mut bytes = common::frozen("v1-tiny.log");
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let error = read(&bytes).unwrap_err();
        check_message(&error.to_string());
    }
}

#[test]
fn missing_files_are_named() {
    let error = Recording::open(std::path::Path::new("no/such.log")).unwrap_err().to_string();
    assert!(error.starts_with("no/such.log: "), "{error}");
    assert!(Recording::open(std::path::Path::new(common::ROOT)).is_err(), "a directory");
}

#[test]
fn many_damaged_places_are_counted() {
    let options = write::LogOptions { chunk_len: BLOCK as u32, ..write::LogOptions::default() };
    let out = std::io::Cursor::new(Vec::new());
    let bytes = write::LogWriter::new(out, options).unwrap().finish().unwrap().into_inner();
    let mut file = bytes;
    let chunks = limits::MAX_DAMAGE + 10;
    // Chunks of definitions, none of which is one.
    for sequence in 0..chunks as u32 {
        let header = chunk::ChunkHeader {
            kind: 1,
            flags: 0,
            len: BLOCK as u32,
            committed: 1,
            sequence,
            lane: 0,
            thread: 0,
            checksum: 0,
            first_ns: 0,
        };
        file.extend_from_slice(&header.encode());
        file.resize(file.len() + BLOCK - 64, 1);
    }
    let log = read(&file).unwrap();
    assert_eq!(log.damage().len(), limits::MAX_DAMAGE + 1);
    assert_eq!(log.damage().last().map(|d| d.fault.clone()), Some(Fault::More { count: 10 }));
    // With what decoding has shown besides.
    let mut all = log.damage().to_vec();
    all.extend_from_slice(&log.damage()[..5]);
    Damage::bound(&mut all);
    assert_eq!(all.len(), limits::MAX_DAMAGE + 1);
    assert_eq!(all.last().map(|damage| damage.fault.clone()), Some(Fault::More { count: 15 }));
}
