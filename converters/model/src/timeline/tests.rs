//! The clock of several logs, and when every hold was recorded.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::{
    Axis, Untimed,
    read::{Span, every_hold},
    untimed,
};
use crate::lives::recordings;
use std::io::Cursor;
use tyrion_formats::{
    Recording,
    write::{LogOptions, LogWriter},
};
use tyrion_wire::WaitKind;

/// A log of a recording that began at a Unix and at a monotonic time, with values of the
/// option `events` from some moments on.
fn log(recording: &str, (wall_ns, mono_ns): (u64, u64), events: &[(u64, &str)]) -> Recording {
    let mut options = LogOptions::default();
    let header = &mut options.header;
    (header.wall_ns, header.mono_ns, header.end_ns) = (wall_ns, mono_ns, mono_ns + 1_000);
    let metadata = [("recording", recording), ("mode", "trace")];
    header.metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    for (from_ns, value) in events {
        log.option(*from_ns, "events", value).unwrap();
    }
    Recording::from_bytes("a.log", log.finish().unwrap().into_inner()).unwrap()
}

fn axis(logs: &[Recording]) -> Axis {
    Axis::new(logs, &recordings(logs))
}

#[test]
fn files_of_a_recording_are_on_its_clock() {
    // The system's clock was set back in between.
    let logs = [log("a", (50_000, 700), &[]), log("a", (20_000, 1_700), &[])];
    let axis = axis(&logs);
    assert_eq!([axis.at(0, 900), axis.at(1, 1_800)], [900, 1_800]);
    assert_eq!((axis.start_ns(), axis.end_ns(), axis.start_wall_ns()), (700, 2_700, 50_000));
    assert_eq!([axis.recording(0), axis.recording(1)], [0, 0]);
}

#[test]
fn recordings_are_put_on_the_clock_of_the_first_by_unix_time() {
    let logs = [log("a", (50_000, 9_000_000), &[]), log("b", (49_000, 700), &[])];
    let mut axis = axis(&logs);
    assert_eq!([axis.at(0, 9_000_010), axis.at(1, 710)], [1_710, 710]);
    assert_eq!((axis.start_ns(), axis.end_ns(), axis.start_wall_ns()), (700, 2_700, 49_000));
    assert_eq!(axis.since_start_ns(1_710), 1_010);
    axis.begin_at(Some(600));
    assert_eq!((axis.start_ns(), axis.start_wall_ns()), (600, 48_900));
    axis.begin_at(Some(800));
    assert_eq!(axis.start_ns(), 600);
}

#[test]
fn no_logs_have_no_time() {
    let axis = axis(&[]);
    assert_eq!((axis.start_ns(), axis.end_ns(), axis.at(3, 7)), (0, 0, 7));
}

#[test]
fn every_hold_is_recorded_from_moment_to_moment() {
    let span = |from_ns, to_ns| Span { from_ns, to_ns };
    let at = (1, 1_000);
    assert!(every_hold(&log("a", at, &[])).is_empty());
    let events = [(1_100, "all"), (1_200, "folded"), (1_300, "all")];
    let spans = every_hold(&log("a", at, &events));
    assert_eq!(spans, [span(1_100, 1_200), span(1_300, u64::MAX)]);
}

#[test]
fn what_has_no_times_begins_with_the_others() {
    let stacks = Recording::from_bytes("a.folded", b"[main];a;b 7\nc;d 8\n".to_vec()).unwrap();
    assert!(stacks.facts().lacks.times);
    let logs = [stacks, log("a", (50_000, 700), &[])];
    let axis = axis(&logs);
    assert_eq!((axis.start_ns(), axis.end_ns(), axis.start_wall_ns()), (700, 1_700, 50_000));
    assert_eq!([axis.at(0, logs[0].start_ns()), axis.at(1, 800)], [700, 800]);
}

#[test]
fn why_waits_have_no_times_is_told_by_cause() {
    let stacks = Recording::from_bytes("a.folded", b"[main];a;b 7\nc;d 8\n".to_vec()).unwrap();
    let logs = [stacks, log("a", (50_000, 700), &[])];
    let of = |run| Untimed {
        run,
        thread: run,
        thread_id: 1,
        stack: 1,
        lock: 0,
        kind: WaitKind::Lock,
        count: 2,
        wait_ns: 3_000,
        longest_ns: 2_000,
        first_ns: 0,
        last_ns: 0,
    };
    let notes = untimed::notes(&[of(0), of(1)], &logs);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("2 waits (3 µs), since waits below"), "{}", notes[0]);
    assert!(notes[1].contains("2 waits (3 µs), since some formats"), "{}", notes[1]);
    assert_eq!(untimed::notes(&[of(0)], &logs), notes[1..]);
    assert!(untimed::notes(&[], &logs).is_empty());
}
