//! The worked examples of `docs/event-log.md` are logs, and say what the
//! document says.

use crate::common;
use std::collections::BTreeSet;
use tyrion_formats::{Recording, wire::sample::ThreadState};

const DOCUMENT: &str = include_str!("../../docs/event-log.md");

/// The lines of the block with this language.
fn block(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}");
    let lines = DOCUMENT.lines().skip_while(|line| *line != fence);
    let found: Vec<_> = lines.skip(1).take_while(|line| *line != "```").collect();
    assert!(!found.is_empty(), "no block {fence}");
    found
}

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Undoes `hexdump -C`.
fn example() -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut repeat = false;
    for line in block("hexdump") {
        let Some((offset, rest)) = line.split_once("  ") else {
            repeat = line == "*";
            let end = usize::from_str_radix(line, 16).unwrap_or(bytes.len());
            fill(&mut bytes, end);
            continue;
        };
        let offset = usize::from_str_radix(offset, 16).unwrap();
        if repeat {
            fill(&mut bytes, offset);
        }
        assert_eq!(bytes.len(), offset, "{line}");
        bytes.extend(hex(rest.split('|').next().unwrap()));
        repeat = false;
    }
    bytes
}

/// Repeats the last line up to an offset.
fn fill(bytes: &mut Vec<u8>, end: usize) {
    let last = bytes[bytes.len() - 16..].to_vec();
    while bytes.len() < end {
        bytes.extend_from_slice(&last);
    }
}

#[test]
fn the_example_is_the_frozen_log() {
    assert_eq!(example(), common::frozen("v1-tiny.log"));
}

#[test]
fn the_example_is_read_as_the_document_says() {
    let log = Recording::from_bytes("event-log.md", example()).unwrap();
    let dump = common::dump(&log);
    assert_eq!(dump.lines().collect::<Vec<_>>(), block("dump"));
}

#[test]
fn the_other_logs_are_read_as_the_document_says() {
    for (name, language) in [
        ("v1-trace.log", "trace-dump"),
        ("v1-sample.log", "sample-dump"),
        ("v1-collections.log", "collections-dump"),
        ("v1-wakers.log", "wakers-dump"),
        ("v1-holders.log", "holders-dump"),
        ("v1-traces.log", "spans-dump"),
    ] {
        let log = Recording::from_bytes(name, common::frozen(name)).unwrap();
        let dump = common::dump(&log);
        let start = dump.find("\n0x").map_or(0, |at| at + 1);
        let found: Vec<_> =
            dump[start..].lines().filter(|line| !line.contains("String {")).collect();
        assert_eq!(found, block(language), "{name}: all but the header and the texts");
    }
}

/// Of the log of all holds, its definitions are those of the one before.
#[test]
fn the_log_of_all_holds_is_read_as_the_document_says() {
    let name = "v1-holds.log";
    let dump = common::dump(&Recording::from_bytes(name, common::frozen(name)).unwrap());
    let start = dump.find("\n0x2000 events").map_or(0, |at| at + 1);
    assert_eq!(dump[start..].lines().collect::<Vec<_>>(), block("holds-dump"));
}

/// Every record of trace mode and of sampling is explained byte by byte.
#[test]
fn the_other_logs_are_explained() {
    let explained = |language, records: &[u8], tags: &[u8]| {
        let codes: BTreeSet<u8> = block(language)
            .into_iter()
            .filter_map(|line| hex(line.split_once("  ")?.1.split('|').next()?).first().copied())
            .collect();
        for code in records {
            assert!(codes.contains(&(code << 2 | 2)), "record {code}");
        }
        for tag in tags {
            assert!(codes.contains(tag), "definition {tag}");
        }
    };
    explained("trace-bytes", &[2, 3, 4, 5], &[9, 10, 11, 12]);
    explained("holds-bytes", &[7], &[]);
    explained("sample-bytes", &[6], &[14]);
    explained("collections-bytes", &[], &[17]);
    explained("wakers-bytes", &[8], &[]);
    explained("holders-bytes", &[9], &[]);
    // Spans have no code.
    explained("spans-bytes", &[12], &[14, 0x63, 0x23]);
}

/// The states in the document are those of the code, with their numbers.
#[test]
fn the_states_are_those_of_the_code() {
    for state in ThreadState::ALL {
        let row = format!("\n| {} | `{}` | ", state.code(), state.name());
        assert!(DOCUMENT.contains(&row), "{row}");
    }
}

#[test]
fn the_bytes_that_are_explained_stand_there() {
    check_bytes(&example(), "bytes");
    check_bytes(&common::frozen("v1-trace.log"), "trace-bytes");
    check_bytes(&common::frozen("v1-holds.log"), "holds-bytes");
    check_bytes(&common::frozen("v1-sample.log"), "sample-bytes");
    check_bytes(&common::frozen("v1-collections.log"), "collections-bytes");
    check_bytes(&common::frozen("v1-wakers.log"), "wakers-bytes");
    check_bytes(&common::frozen("v1-holders.log"), "holders-bytes");
    check_bytes(&common::frozen("v1-traces.log"), "spans-bytes");
}

fn check_bytes(bytes: &[u8], language: &str) {
    for line in block(language).into_iter().filter(|line| !line.is_empty()) {
        let (offset, rest) = line.split_once("  ").unwrap();
        let offset = usize::from_str_radix(offset.trim_start_matches("0x"), 16).unwrap();
        let expected = hex(rest.split('|').next().unwrap());
        assert_eq!(bytes.get(offset..offset + expected.len()), Some(&expected[..]), "{line}");
    }
}

/// The caps that the document states are those of the code.
#[test]
fn the_caps_are_those_of_the_code() {
    use tyrion_formats::limits;
    let text = DOCUMENT.replace('\n', " ");
    for (what, value) in [
        ("header block 1 MiB", limits::MAX_HEADER_LEN == 1 << 20),
        ("texts 4096 bytes", limits::MAX_TEXT == 4096),
        ("ids left out by definitions 1 048 576 in all", limits::MAX_MISSING_IDS == 1 << 20),
        ("keys of statistics 4 096", limits::MAX_STATISTICS == 4096),
        ("bytes of a pipe 4 GiB", limits::MAX_STREAM == 4 << 30),
        ("damaged places reported one by one 1 000", limits::MAX_DAMAGE == 1000),
        ("frames in a stack 16 384", limits::MAX_DEPTH == 16384),
    ] {
        assert!(value && text.contains(what), "{what}");
    }
}
