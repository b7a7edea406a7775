//! A log that was converted to Flight Recorder's format says the same as before.

use crate::{
    support::{
        jfr,
        timed::{self, AggregatedLogs, all_kinds},
    },
    times::frozen,
};
use std::collections::BTreeMap;
use tyrion_converters::outputs::{OutputOptions, by_name};
use tyrion_formats::{Recording, ShortWaits};
use tyrion_model::{
    filter::Filter,
    names,
    profile::{NO_OWNER, Profile},
    timeline::AT_A_TIME,
};

/// What waits and samples are told apart by, and their sums.
type LogRows = BTreeMap<String, [u64; 3]>;

fn stack(profile: &Profile, stack: u32) -> String {
    let frames = profile.frames_of(stack).map(|frame| {
        let function = &profile.functions[frame.function as usize];
        format!("{}:{}", names::dotted(function), frame.line)
    });
    frames.collect::<Vec<_>>().join("<")
}

fn rows(profile: &Profile) -> LogRows {
    let mut rows = LogRows::new();
    let mut add = |key: String, sums: [u64; 3]| {
        rows.entry(key).or_default().iter_mut().zip(sums).for_each(|(sum, it)| *sum += it);
    };
    for row in &profile.waits {
        let owner = match row.owner {
            NO_OWNER => "-".to_owned(),
            owner => profile.owners[owner as usize].label(),
        };
        let key = format!(
            "{} {} for {} of {owner} at {}",
            profile.thread_name(row.thread),
            row.kind.name(),
            profile.locks[row.lock as usize].class,
            stack(profile, row.stack),
        );
        add(key, [row.count, row.wait_ns, 0]);
    }
    for row in &profile.samples {
        let lock = profile.locks.get(row.lock as usize).map_or("-", |lock| &lock.class);
        let key = format!(
            "{} {} for {lock} {:?} at {}",
            profile.thread_name(row.thread),
            row.state.name(),
            row.kind,
            stack(profile, row.stack),
        );
        add(key, [row.count, row.wall_ns, row.cpu_ns]);
    }
    rows
}

fn written(logs: &AggregatedLogs) -> Vec<u8> {
    logs.written(by_name("jfr").unwrap(), &OutputOptions::default())
}

fn read(bytes: Vec<u8>) -> AggregatedLogs {
    let read = Recording::from_bytes("it.jfr", bytes).unwrap();
    assert_eq!(read.damage(), []);
    AggregatedLogs::new(vec![read], all_kinds())
}

#[test]
fn what_is_converted_says_the_same() {
    for (name, log) in [
        ("bank", timed::bank()),
        ("shop", timed::shop()),
        ("each kind", timed::each_kind()),
        ("small", frozen("v1-small.log")),
        ("wakers", frozen("v1-wakers.log")),
        ("samples", frozen("v1-sample.log")),
        ("looks", frozen("v1-looks.log")),
        ("trace", frozen("v1-trace.log")),
    ] {
        let before = AggregatedLogs::new(vec![log], all_kinds());
        let after = read(written(&before));
        let mut expected = rows(&before.aggregate.profile);
        let mut found = rows(&after.aggregate.profile);
        // Sums of waits below the threshold tell no owner.
        for rows in [&mut expected, &mut found] {
            rows.retain(|_, sums| *sums != [0; 3]);
        }
        assert!(!expected.is_empty(), "{name}");
        assert_eq!(found, expected, "{name}");
        let (before, after) = (before.logs[0].facts(), after.logs[0].facts());
        assert_eq!((after.pid, after.threshold_ns), (before.pid, before.threshold_ns), "{name}");
        assert_eq!(after.short_waits, ShortWaits::Counted, "{name}");
        assert_eq!(after.owners, before.owners, "{name}");
        for key in ["jvm", "program", "processors"] {
            assert_eq!(after.metadata(key), before.metadata(key), "{name} {key}");
        }
    }
}

#[test]
fn pauses_of_the_collector_stay() {
    let before = AggregatedLogs::new(vec![frozen("v1-collections.log")], all_kinds());
    let after = read(written(&before));
    let pauses = |of: &AggregatedLogs| -> Vec<u64> {
        of.logs[0].collections().iter().map(|it| it.end_ns - it.start_ns).collect()
    };
    assert!(!pauses(&before).is_empty());
    assert_eq!(pauses(&after), pauses(&before));
}

/// Mission Control takes the earliest event of all for the recording's beginning, and what threads
/// waited as a share of the time since then.
#[test]
fn threads_that_were_there_before_begin_nothing() {
    let log = AggregatedLogs::new(vec![timed::lives()], all_kinds());
    let told = jfr::text(&written(&log));
    let of = |event: &str| -> Vec<&str> {
        ["before", "later"]
            .into_iter()
            .filter(|name| told.lines().any(|line| line.starts_with(event) && line.contains(name)))
            .collect()
    };
    assert_eq!(of("jdk.ThreadStart "), ["later"], "{told}");
    assert_eq!(of("jdk.ThreadEnd "), ["before", "later"], "{told}");
}

/// Waits of two threads: more than a chunk has room for.
#[test]
fn long_logs_are_cut_into_chunks() {
    let before = AggregatedLogs::new(vec![timed::many(500_000)], Filter::default());
    let bytes = written(&before);
    let starts: Vec<usize> = bytes
        .windows(8)
        .enumerate()
        .filter(|(_, it)| *it == b"FLR\0\0\x02\0\x01")
        .map(|(at, _)| at)
        .collect();
    assert!(starts.len() > 1, "{} bytes", bytes.len());
    // Each can be read by itself.
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let alone = starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| read(bytes[start..end].to_vec()).aggregate.profile.totals().0);
    assert_eq!(alone.sum::<u64>(), 500_000);
    assert_eq!(rows(&read(bytes).aggregate.profile), rows(&before.aggregate.profile));
    assert!(before.timeline(AT_A_TIME).untimed().is_empty());
}
