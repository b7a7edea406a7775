//! What trace mode and sampling record is read as it was written.

use crate::common;
use proptest::{collection::vec, prelude::*};
use std::io::Cursor;
use tyrion_formats::{
    Entry, Event, HoldMode, Note, Noted, Recording,
    wire::{
        WaitKind,
        cell::BUCKETS,
        def::place_flag,
        sample::Sample,
        trace::{AcquisitionCell, Blame, Bursts, Held, Hold, HoldBatch, Instance, Nest},
    },
    write::{LogOptions, LogWriter, Wait},
};

type Writer = LogWriter<Cursor<Vec<u8>>>;

fn writer(chunk_len: u32, metadata: &[(&str, &str)]) -> Writer {
    let mut options = LogOptions { chunk_len, ..LogOptions::default() };
    options.header.metadata =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    LogWriter::new(Cursor::new(Vec::new()), options).unwrap()
}

fn read(log: Writer) -> Recording {
    Recording::from_bytes("trace.log", log.finish().unwrap().into_inner()).unwrap()
}

/// What a lane records.
#[derive(Clone, Debug)]
enum LaneStep {
    Wait(u64),
    Switch(u32),
    Hold(u64, [u32; 4]),
    /// Many in one record: deltas, durations and numbers of locks, of which the
    /// first are of these.
    Holds(Vec<(u64, u64, usize)>, Vec<[u32; 3]>),
    Instance([u32; 3], bool),
    Blame(u64, [u32; 4]),
    Nest([u32; 4], Vec<[u32; 3]>, u64),
    Sample([u64; 3], [u32; 4]),
}

fn steps() -> impl Strategy<Value = (u64, LaneStep)> {
    let small = || prop_oneof![3 => 0u32..300, 1 => any::<u32>()];
    let ids = move || [small(), small(), small(), small()];
    let three = move || [small(), small(), small()];
    let step = prop_oneof![
        4 => (0u64..1 << 50).prop_map(LaneStep::Wait),
        1 => (1u32..9).prop_map(LaneStep::Switch),
        4 => (any::<u64>(), ids()).prop_map(|(ns, ids)| LaneStep::Hold(ns, ids)),
        2 => (vec((0u64..1 << 30, any::<u64>(), any::<usize>()), 0..60), vec(three(), 1..8))
            .prop_map(|(holds, locks)| LaneStep::Holds(holds, locks)),
        1 => (three(), any::<bool>()).prop_map(|(ids, shared)| LaneStep::Instance(ids, shared)),
        1 => (any::<u64>(), ids()).prop_map(|(ns, ids)| LaneStep::Blame(ns, ids)),
        1 => (ids(), vec(three(), 0..12), 0u64..3)
            .prop_map(|(ids, outer, flags)| LaneStep::Nest(ids, outer, flags)),
        4 => (any::<[u64; 3]>(), ids()).prop_map(|(times, ids)| LaneStep::Sample(times, ids)),
    ];
    ((0u64..1 << 40, 0u32..40).prop_map(|(delta, cut)| delta >> cut), step)
}

fn held([place, class, hash]: [u32; 3]) -> Held {
    Held { place, class, hash }
}

/// An entry without the lifetime of what it borrows.
fn owned(entry: Entry<'_>) -> (Option<Event>, String, Vec<Held>) {
    match entry {
        Entry::Wait(event) => (Some(event), String::new(), Vec::new()),
        Entry::Note(noted) => {
            let outer = match noted.record {
                Note::Nest(nest) => nest.outer.iter().collect(),
                _ => Vec::new(),
            };
            (None, format!("{noted:?}"), outer)
        }
    }
}

/// Writes a step and returns what has to be read, with its time.
fn write(
    log: &mut Writer,
    lane: tyrion_formats::write::LaneId,
    thread: &mut u32,
    (last_ns, at_ns): (u64, u64),
    step: &LaneStep,
) -> Vec<(u64, String)> {
    let delta_ns = at_ns - last_ns;
    let what = |what: Note<'_>| format!("{:?}", Noted { thread: *thread, at_ns, record: what });
    vec![match *step {
        LaneStep::Wait(wait_ns) => {
            log.wait(lane, Wait { end_ns: at_ns, wait_ns, site: 3, ..Wait::default() }).unwrap();
            (at_ns, format!("wait {thread} {at_ns} {wait_ns}"))
        }
        LaneStep::Switch(to) => {
            log.switch(lane, to).unwrap();
            *thread = to;
            return vec![];
        }
        LaneStep::Holds(ref holds, ref locks) => {
            return write_holds(log, lane, *thread, at_ns, delta_ns, holds, locks);
        }
        LaneStep::Hold(hold_ns, [place, class, stack, hash]) => {
            let hold = Hold { delta_ns, hold_ns, place, class, stack, hash, flags: 1 };
            log.note(lane, at_ns, Hold { delta_ns: 77, ..hold }).unwrap();
            (at_ns, what(Note::Hold(hold)))
        }
        LaneStep::Instance([hash, class, place], shared) => {
            let instance = Instance { hash, class, place, shared };
            log.note(lane, 0, instance).unwrap();
            let at_ns = last_ns;
            let what = Note::Instance(instance);
            (at_ns, format!("{:?}", Noted { thread: *thread, at_ns, record: what }))
        }
        LaneStep::Blame(charged_ns, [site, waiter, stack, place]) => {
            let blame = Blame { delta_ns, charged_ns, site, waiter, stack, place };
            log.note(lane, at_ns, Blame { delta_ns: 77, ..blame }).unwrap();
            (at_ns, what(Note::Blame(blame)))
        }
        LaneStep::Nest([place, class, hash, stack], ref outer, flags) => {
            let outer: Vec<Held> = outer.iter().copied().map(held).collect();
            let inner = Held { place, class, hash };
            let nest = Nest { delta_ns, inner, stack, outer: outer.as_slice().into(), flags };
            log.note(lane, at_ns, Nest { delta_ns: 77, ..nest }).unwrap();
            (at_ns, what(Note::Nest(nest)))
        }
        LaneStep::Sample([wall_ns, cpu_ns, count], [state, stack, lock, owner]) => {
            let sample = Sample {
                delta_ns,
                wall_ns,
                cpu_ns,
                count,
                state,
                stack,
                kind: lock % 11,
                lock,
                owner,
            };
            log.note(lane, at_ns, Sample { delta_ns: 77, ..sample }).unwrap();
            (at_ns, what(Note::Sample(sample)))
        }
    }]
}

/// The first of the holds ends at `at_ns`.
fn write_holds(
    log: &mut Writer,
    lane: tyrion_formats::write::LaneId,
    thread: u32,
    mut at_ns: u64,
    mut delta_ns: u64,
    holds: &[(u64, u64, usize)],
    locks: &[[u32; 3]],
) -> Vec<(u64, String)> {
    let mut batch = HoldBatch::default();
    let numbers: Vec<u32> = locks.iter().map(|&lock| batch.lock(held(lock))).collect();
    let mut expected = Vec::new();
    for (next_ns, hold_ns, nth) in holds {
        let (nth, hold_ns) = (nth % locks.len(), *hold_ns);
        batch.push(numbers[nth], at_ns, hold_ns);
        let Held { place, class, hash } = held(locks[nth]);
        let hold = Hold { delta_ns, hold_ns, place, class, hash, ..Hold::default() };
        let what = Note::Hold(hold);
        expected.push((at_ns, format!("{:?}", Noted { thread, at_ns, record: what })));
        (at_ns, delta_ns) = (at_ns + next_ns, *next_ns);
    }
    log.holds(lane, &mut batch).unwrap();
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Waits, records of trace mode and samples share a clock, over chunks too.
    #[test]
    fn records_round_trip(steps in vec(steps(), 0..600), big: bool) {
        let mut log = writer(if big { 1 << 16 } else { 4096 }, &[]);
        let lane = log.lane(1);
        let (mut now_ns, mut thread) = (0, 1);
        let mut expected = Vec::new();
        for (delta_ns, step) in &steps {
            let times = (now_ns, now_ns + delta_ns);
            for (at_ns, text) in write(&mut log, lane, &mut thread, times, step) {
                now_ns = at_ns;
                expected.push(text);
            }
        }
        let log = read(log);
        let mut found = Vec::new();
        for chunk in log.event_chunks() {
            let mut events = log.events(chunk).unwrap();
            let list: Vec<_> = events.records().map(owned).collect();
            prop_assert_eq!(events.damage(), None);
            // Visiting is the same as iterating, from any place on.
            let mut events = log.events(chunk).unwrap();
            let mut visited: Vec<_> = events.records().take(3).map(owned).collect();
            events.visit_all(|entry| visited.push(owned(entry)));
            prop_assert_eq!(&visited, &list);
            // And who asks for waits alone gets them, at their times.
            let waits: Vec<Event> = list.iter().filter_map(|(wait, ..)| *wait).collect();
            let mut events = log.events(chunk).unwrap();
            prop_assert_eq!(&events.by_ref().collect::<Vec<_>>(), &waits);
            let mut events = log.events(chunk).unwrap();
            let mut visited = Vec::new();
            events.visit(|wait| visited.push(*wait));
            prop_assert_eq!(visited, waits);
            found.extend(list.into_iter().map(|(wait, text, _)| match wait {
                Some(wait) => format!("wait {} {} {}", wait.thread, wait.end_ns, wait.wait_ns()),
                None => text,
            }));
        }
        prop_assert_eq!(found, expected);
        prop_assert_eq!(log.end_ns(), now_ns);
        prop_assert_eq!(log.damage(), &[]);
    }

    #[test]
    fn acquisitions_round_trip(
        list in vec((any::<[u32; 3]>(), any::<[u64; 10]>(), 0..BUCKETS), 0..40),
        in_bursts: bool,
    ) {
        let mut log = writer(4096, &[]);
        let lane = log.lane(1);
        let mut expected = Vec::new();
        for ([thread, place, class], numbers, bucket) in list {
            let [acquisitions, next, reentrant, failed, first_count, first_ns, sampled_count,
                 sampled_ns, max_ns, unidentified] = numbers;
            let mut histogram = [0; BUCKETS];
            histogram[bucket] = 3;
            let cell = AcquisitionCell {
                thread, place, class, one_in: Some(bucket as u32), acquisitions, next, reentrant,
                failed, first_count, first_ns, sampled_count, sampled_ns, max_ns, unidentified,
                histogram,
                bursts: in_bursts.then_some(Bursts {
                    uncounted: failed, uncounted_error: first_ns, uncounted_reentrant: max_ns,
                    reentrant_error: sampled_ns, count: 1,
                }),
            };
            log.acquisitions(lane, &cell).unwrap();
            let bursts = in_bursts.then(Bursts::default);
            let empty = AcquisitionCell { thread, bursts, ..AcquisitionCell::default() };
            log.acquisitions(lane, &empty).unwrap();
            if !cell.is_empty() {
                expected.push(cell.with_uncounted());
            }
        }
        let log = read(log);
        prop_assert_eq!(log.is_trace(), !log.acquisition_chunks().is_empty());
        let chunks = log.acquisition_chunks().iter();
        let found: Vec<_> = chunks.flat_map(|chunk| log.acquisitions(chunk)).collect();
        prop_assert_eq!(found, expected, "empty ones are left out");
        prop_assert_eq!(log.damage(), &[]);
    }
}

#[test]
fn places_locks_and_statistics_round_trip() {
    let mut log = writer(4096, &[("mode", "trace"), ("hold", "all")]);
    let class = log.class("com/acme/Cache", "Cache.java").unwrap();
    let method = log.method(class, "get", "()V", 1).unwrap();
    let flags = place_flag::STATIC | place_flag::METHOD | 1 << 40;
    let place = log.place(method, 7, WaitKind::LockWrite, flags, "Cache.lock").unwrap();
    assert_eq!(log.place(method, 7, WaitKind::LockWrite, flags, "Cache.lock").unwrap(), place);
    let juc = log.place(method, 7, WaitKind::Semaphore, place_flag::JUC, "").unwrap();
    assert_ne!(juc, place);
    let locks = [log.lock(class).unwrap(), log.lock(class).unwrap()];
    log.lock_instance(locks[1], 0x7fff_ffff).unwrap();
    log.lock_name(locks[1], "Cache.lock").unwrap();
    log.statistic("places", 1).unwrap();
    log.statistic("own_cpu_ns", u64::MAX).unwrap();
    log.statistic("places", 2).unwrap();
    let log = read(log);
    assert_eq!(log.damage(), []);
    let definitions = log.definitions();
    let place = definitions.places().get(place).unwrap();
    assert_eq!((place.method, place.line, place.kind), (method, 7, WaitKind::LockWrite));
    assert_eq!((place.is_method(), place.is_static(), place.is_juc()), (true, true, false));
    assert_eq!(log.text(place.name), "Cache.lock");
    let juc = definitions.places().get(juc).unwrap();
    assert_eq!((juc.is_method(), juc.is_static(), juc.is_juc()), (false, false, true));
    assert_eq!(log.text(juc.name), "");
    assert_eq!(definitions.lock_instance(locks[0]), None);
    assert_eq!(definitions.lock_instance(locks[1]), Some(0x7fff_ffff));
    assert_eq!(definitions.lock_name(locks[0]), None);
    let name = definitions.lock_name(locks[1]).unwrap();
    assert_eq!(log.text(name), "Cache.lock");
    let statistics: Vec<_> = log.statistics().into_iter().collect();
    assert_eq!(statistics, [("own_cpu_ns".to_owned(), u64::MAX), ("places".to_owned(), 2)]);
    assert!(log.is_trace());
    assert_eq!(log.hold_mode(), HoldMode::All);
}

/// The same key may be defined twice, under two ids, as all content may.
/// A log in trace mode with these changes of options; it begins at 1 s.
fn with_options(metadata: &[(&str, &str)], changes: &[(u64, &str, &str)]) -> Recording {
    let mut options = LogOptions::default();
    options.header.mono_ns = 1_000_000_000;
    options.header.metadata =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut log: Writer = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    for &(from_ns, key, value) in changes {
        log.option(from_ns, key, value).unwrap();
    }
    read(log)
}

#[test]
fn options_change() {
    let metadata = [("mode", "trace"), ("hold", "1/64"), ("events", "all"), ("include", "a.*")];
    let start_ns = with_options(&metadata, &[]).start_ns();
    let changes = [
        (start_ns + 20, "hold", "all"),
        (start_ns + 10, "include", ""),
        // What was so already is no change.
        (start_ns + 30, "hold", "all"),
        (start_ns + 40, "hold", "none"),
    ];
    let log = with_options(&metadata, &changes);
    let told: Vec<(u64, String, String)> = log
        .option_changes()
        .into_iter()
        .map(|change| (change.from_ns, change.key.into_owned(), change.value.into_owned()))
        .collect();
    let expected = [1, 0, 3].map(|nth: usize| changes[nth]);
    let expected = expected.map(|(at_ns, key, value)| (at_ns, key.to_owned(), value.to_owned()));
    assert_eq!(told, expected);
    assert_eq!(log.option_values("hold"), ["1/64", "all", "none"]);
    assert_eq!((log.option("hold").as_deref(), log.option("exclude")), (Some("none"), None));
    assert_eq!(log.option_values("include"), ["a.*"]);
    assert_eq!(log.hold_mode(), HoldMode::Sampled(0), "of several kinds");
    assert!(log.has_every_event());
}

#[test]
fn a_file_that_begins_after_a_change_repeats_it() {
    let metadata = [("mode", "trace"), ("hold", "1/64"), ("events", "all")];
    let start_ns = with_options(&metadata, &[]).start_ns();
    let log = with_options(&metadata, &[(start_ns - 5, "hold", "all")]);
    assert_eq!(log.option_changes()[0].from_ns, start_ns);
    assert_eq!((log.option_values("hold"), log.hold_mode()), (vec!["all".into()], HoldMode::All));
    for from_ns in [start_ns - 5, start_ns + 5] {
        assert!(!with_options(&metadata, &[(from_ns, "events", "folded")]).has_every_event());
    }
    // Trace mode began later: what was before is not known.
    let contention = [("mode", "contention")];
    let log = with_options(
        &contention,
        &[(start_ns + 5, "hold", "1/8"), (start_ns + 5, "events", "all")],
    );
    assert_eq!(log.hold_mode(), HoldMode::Sampled(8));
    assert!(!log.has_every_event());
}

#[test]
fn the_latest_of_a_statistic_holds_whatever_its_id() {
    use tyrion_formats::wire::def::Definition;
    let mut log = writer(4096, &[]);
    log.define(&Definition::String { id: 1, text: b"places" }).unwrap();
    log.define(&Definition::String { id: 2, text: b"places" }).unwrap();
    for (key, value) in [(2, 5), (1, 6)] {
        log.define(&Definition::Statistic { key, value }).unwrap();
    }
    let log = read(log);
    assert_eq!(log.statistics().into_iter().collect::<Vec<_>>(), [("places".to_owned(), 6)]);
    assert!(!log.is_trace());
    assert_eq!(log.hold_mode(), HoldMode::Sampled(0), "when the log does not say");
}

/// A kill may come between two numbers of a cell, and its last cell may be cut.
#[test]
fn torn_cells_are_estimated() {
    let mut bytes = common::frozen("v1-trace.log");
    let log = Recording::from_bytes("trace.log", bytes.clone()).unwrap();
    let chunk = log.acquisition_chunks()[0];
    let all = log.acquisitions(&chunk).count();
    let at = chunk.payload_at() as usize + 16;
    // More measured holds than acquisitions.
    bytes[at..at + 8].copy_from_slice(&1u64.to_le_bytes());
    let log = Recording::from_bytes("trace.log", bytes.clone()).unwrap();
    let first = log.acquisitions(&chunk).next().unwrap();
    assert_eq!(log.hold_mode().estimate_ns(&first), first.first_ns);
    bytes.truncate(chunk.payload_at() as usize + 256 * all - 1);
    let cut = Recording::from_bytes("trace.log", bytes).unwrap();
    assert_eq!(cut.acquisition_chunks()[0].committed as usize, 256 * all - 1);
    assert_eq!(cut.acquisitions(&cut.acquisition_chunks()[0]).count(), all - 1);
}
