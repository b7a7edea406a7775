//! The fuzz targets on made-up bytes, with plain `cargo test`.

use crate::common;
use proptest::{collection::vec, prelude::*};
use tyrion_formats::fuzz;

/// Bytes that look like records: small numbers and varints.
fn records() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![3 => 0u8..16, 1 => any::<u8>(), 1 => Just(0x80), 1 => Just(0xff)], 0..1000)
}

proptest! {
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..600)) {
        fuzz::log(&bytes);
    }

    #[test]
    fn any_payload(bytes in vec(any::<u8>(), 0..600)) {
        fuzz::payload(&bytes);
    }

    #[test]
    fn likely_payload(bytes in records()) {
        fuzz::payload(&bytes);
    }

    #[test]
    fn any_events(bytes in vec(any::<u8>(), 0..600)) {
        fuzz::jfr(&bytes);
    }

    #[test]
    fn likely_events(bytes in records()) {
        fuzz::jfr(&bytes);
    }

    #[test]
    fn a_log_with_patches(
        name in prop::sample::select(
            vec!["v1-small.log", "v1-trace.log", "v1-holds.log", "v1-sample.log", "v1-wakers.log", "v1-looks.log", "v1-spans.log"]
        ),
        patches in vec((any::<prop::sample::Index>(), any::<u64>(), 1usize..9), 1..8)
    ) {
        let mut bytes = common::frozen(name);
        for (at, value, len) in patches {
            let at = at.index(bytes.len() - len);
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        fuzz::log(&bytes);
    }

    #[test]
    fn any_bytes_of_other_tools(bytes in vec(any::<u8>(), 0..600)) {
        let _ = (fuzz::collapsed(&bytes), fuzz::pprof(&bytes), fuzz::original(&bytes));
        let _ = (fuzz::thread_dump(&bytes), fuzz::pprof_text(&bytes), fuzz::otlp(&bytes));
    }

    #[test]
    fn likely_stacks(bytes in "([a-z;_.\\[\\] ]{0,12}(;[A-Za-z/.]{1,9})? ?[0-9.]{0,3}\n?){0,20}") {
        fuzz::collapsed(bytes.as_bytes());
    }

    #[test]
    fn likely_dumps(
        lines in vec(
            prop::sample::select(vec![
                "Full thread dump X:", "\"a\" #1 tid=1 nid=2 runnable", "\"b\nc\" #2 prio=5",
                "   java.lang.Thread.State: BLOCKED", "\tat a.b(c.java:1)", "- locked <1> (a B)",
                "- waiting to lock <1> (a B)", "Found one Java-level deadlock:", "\"a\":",
                "which is held by \"a\"", "Found 1 deadlock.", "2024-01-01 00:00:00", "\"", "#1 \"x\"",
                "{\"threads\":[]}", "3XMTHREADINFO \"a\" J9VMThread:0x1, state:B", "",
            ]),
            0..30,
        )
    ) {
        fuzz::thread_dump(lines.join("\n").as_bytes());
    }

    #[test]
    fn likely_messages(bytes in records()) {
        let _ = (fuzz::pprof(&bytes), fuzz::otlp(&bytes));
    }

    #[test]
    fn files_of_other_tools_with_patches(
        (name, _) in prop::sample::select(common::OTHER_TOOLS.to_vec()),
        patches in vec((any::<prop::sample::Index>(), any::<u64>(), 1usize..9), 1..8)
    ) {
        let mut bytes = common::of_other_tools(name);
        for (at, value, len) in patches {
            let at = at.index(bytes.len() - len);
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        let _ = (fuzz::log(&bytes), fuzz::collapsed(&bytes), fuzz::pprof(&bytes));
        let _ = (fuzz::original(&bytes), fuzz::pprof_text(&bytes), fuzz::otlp(&bytes));
    }

    #[test]
    fn chunk_headers_with_patches(
        patches in vec((0usize..12, 4usize..40, any::<u64>(), 1usize..9), 1..8)
    ) {
        let mut bytes = common::frozen("v1-killed.log");
        for (block, at, value, len) in patches {
            let at = block * 4096 + at;
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        fuzz::log(&bytes);
    }
}

proptest! {
    // Each takes some milliseconds.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_recording_with_patches(
        name in prop::sample::select(common::RECORDED.to_vec()),
        patches in vec((any::<prop::sample::Index>(), any::<u64>(), 1usize..9), 1..8)
    ) {
        let mut bytes = common::recorded(name);
        for (at, value, len) in patches {
            let at = at.index(bytes.len() - len);
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        fuzz::log(&bytes);
    }
}

#[test]
fn the_targets_read_what_is_whole() {
    assert!(fuzz::log(&common::frozen("v1-small.log")) > 1_000);
    assert!(fuzz::log(&common::frozen("v1-trace.log")) > 30);
    assert!(fuzz::log(&common::frozen("v1-sample.log")) > 30);
    assert!(fuzz::log(&common::frozen("v1-wakers.log")) > 30);
    assert!(fuzz::payload(&[1, 3, 1, b'a', b'b']) > 2, "a string definition");
    for name in common::RECORDED {
        let bytes = common::recorded(name);
        assert!(fuzz::log(&bytes) > 100);
    }
    // Bytes that are an instance record in a chunk of events.
    let instance = [14, 4, 1, 2, 3, 1];
    assert!(fuzz::payload(&instance) > fuzz::payload(&[99 << 2 | 2, 4, 1, 2, 3, 1]));
    // And a hold of a list of locks, and a sample.
    let holds = [30, 8, 1, 1, 2, 3, 1, 0, 4, 5];
    assert!(fuzz::payload(&holds) > fuzz::payload(&[99 << 2 | 2, 8, 1, 1, 2, 3, 1, 0, 4, 5]));
    let sample = [26, 9, 1, 1, 1, 1, 3, 2, 1, 1, 1];
    assert!(fuzz::payload(&sample) > fuzz::payload(&[99 << 2 | 2, 9, 1, 1, 1, 1, 3, 2, 1, 1, 1]));
}
