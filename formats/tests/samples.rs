//! What only logs with samples have.

use std::io::Cursor;
use tyrion_formats::{
    Entry, Note, Noted, Recording,
    wire::{
        WaitKind,
        def::Definition,
        sample::{Sample, ThreadState},
    },
    write::{LogOptions, LogWriter, Wait},
};

type Writer = LogWriter<Cursor<Vec<u8>>>;

fn writer(metadata: &[(&str, &str)]) -> Writer {
    let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
    options.header.metadata =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    LogWriter::new(Cursor::new(Vec::new()), options).unwrap()
}

fn read(log: Writer) -> Recording {
    Recording::from_bytes("samples.log", log.finish().unwrap().into_inner()).unwrap()
}

fn samples(log: &Recording) -> Vec<Noted<Sample>> {
    let mut found = Vec::new();
    for chunk in log.event_chunks() {
        log.events(chunk).unwrap().visit_all(|entry| {
            if let Entry::Note(noted) = entry
                && let Note::Sample(sample) = noted.record
            {
                found.push(noted.with(sample));
            }
        });
    }
    found
}

#[test]
fn modes_are_told_apart() {
    for (mode, is_trace, has_sampling) in [
        ("contention", false, false),
        ("trace", true, false),
        ("sample", false, true),
        ("contention+sample", false, true),
        ("trace+sample", true, true),
        ("sample+trace", true, true),
        ("", false, false),
        ("+", false, false),
        ("sampled+tracer", false, false),
    ] {
        let log = read(writer(&[("mode", mode)]));
        assert_eq!((log.is_trace(), log.has_sampling()), (is_trace, has_sampling), "{mode}");
    }
    let log = read(writer(&[]));
    assert_eq!((log.modes().count(), log.has_sampling(), log.period_ns()), (0, false, None));
}

#[test]
fn the_period_is_a_decimal_number_of_ns() {
    let period = |text: &str| read(writer(&[("period", text)])).period_ns();
    assert_eq!(period("50000000"), Some(50_000_000));
    for text in ["", "50ms", "-1", "99999999999999999999", "0x10"] {
        assert_eq!(period(text), None, "{text}");
    }
}

#[test]
fn groups_share_the_ids_of_stacks() {
    let mut log = writer(&[]);
    let class = log.class("com/acme/Shop", "Shop.java").unwrap();
    let method = log.method(class, "order", "()V", 1).unwrap();
    let outside = log.stack(0, method, 7).unwrap();
    let group = log.group("GET /orders").unwrap();
    let inside = log.stack(group, method, 7).unwrap();
    assert_eq!([outside, group, inside], [2, 3, 4], "one numbering for both");
    assert_eq!(log.group("GET /orders").unwrap(), group, "once for each name");
    let other = log.group("prüfen").unwrap();
    let log = read(log);
    let stacks = log.definitions().stacks();
    assert_eq!(log.text(stacks.group(group).unwrap()), "GET /orders");
    assert_eq!(log.text(stacks.group(other).unwrap()), "prüfen");
    assert_eq!((stacks.get(group), stacks.group(inside)), (None, None));
    assert_eq!(stacks.get(inside).map(|stack| stack.parent), Some(group));
    assert_eq!(stacks.len(), 6, "with room for both, and the two ids that are never defined");
    assert_eq!(stacks.groups().map(|(id, _)| id).collect::<Vec<_>>(), [group, other]);
    assert_eq!(log.damage(), []);
}

/// No id is a frame and a group at once, and names may be lost.
#[test]
fn groups_may_be_defined_anyhow() {
    let mut log = writer(&[]);
    for definition in [
        Definition::Group { stack: 5, name: 99 },
        Definition::Group { stack: 6, name: 0 },
        Definition::Stack { id: 6, parent: 6, method: 1, line: 1 },
        Definition::Stack { id: 7, parent: 5, method: 1, line: 1 },
        Definition::Group { stack: 7, name: 1 },
        Definition::Group { stack: 0, name: 1 },
        Definition::Group { stack: 1, name: 1 },
    ] {
        log.define(&definition).unwrap();
    }
    let log = read(log);
    let stacks = log.definitions().stacks();
    let told = |id| (stacks.get(id).is_some(), stacks.group(id));
    assert_eq!([told(5), told(6), told(7)], [(false, Some(99)), (true, None), (false, Some(1))]);
    assert_eq!(log.text(99), tyrion_formats::UNKNOWN);
    assert_eq!(log.damage(), []);
}

#[test]
fn states_and_kinds_of_the_future_are_none() {
    let mut log = writer(&[]);
    let lane = log.lane(7);
    for (state, kind) in [(3, 1), (8, 10), (u32::MAX, u32::MAX), (0, 0), (1, 257)] {
        log.note(lane, 50, Sample { wall_ns: 60, state, kind, ..Sample::default() }).unwrap();
    }
    let log = read(log);
    let found = samples(&log);
    let other = (ThreadState::Other, None);
    let expected = [
        (ThreadState::Blocked, Some(WaitKind::Monitor)),
        other,
        other,
        other,
        (ThreadState::Running, None),
    ];
    assert_eq!(found.iter().map(|it| (it.state(), it.kind())).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|it| (it.thread, it.at_ns, it.start_ns()) == (7, 50, 0)));
    assert_eq!(log.end_ns(), 50, "the last moment that anything tells of");
}

/// Who asks for waits alone gets them, at their times, and no sample.
#[test]
fn samples_are_no_waits() {
    let mut log = writer(&[]);
    let lane = log.lane(1);
    for nth in 1..500 {
        let state = ThreadState::Parked.code();
        log.switch(lane, 2).unwrap();
        log.note(lane, nth * 1_000, Sample { state, ..Sample::default() }).unwrap();
        log.switch(lane, 1).unwrap();
        let end_ns = nth * 1_000 + 7;
        log.wait(lane, Wait { end_ns, wait_ns: 5, site: 1, ..Wait::default() }).unwrap();
    }
    let log = read(log);
    let mut waits = Vec::new();
    for chunk in log.event_chunks() {
        log.events(chunk).unwrap().visit(|wait| waits.push((wait.thread, wait.end_ns)));
    }
    let expected: Vec<_> = (1..500).map(|nth| (1, nth * 1_000 + 7)).collect();
    assert_eq!(waits, expected);
    assert_eq!(samples(&log).len(), 499);
    assert!(samples(&log).iter().all(|sampled| sampled.thread == 2));
}
