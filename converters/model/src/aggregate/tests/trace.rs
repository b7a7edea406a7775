//! Acquisitions, holds and blame.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::profile::{AcquisitionRow, SectionRow};
use tyrion_wire::{
    def::place_flag,
    trace::{AcquisitionCell, Blame, Bursts, Hold},
};

const LOCK: &str = "java/util/concurrent/locks/ReentrantLock$NonfairSync";

/// Methods and places of [`Sample`], and what traces them.
struct Traced {
    sample: Sample,
    /// `transfer`, line 23: a monitor called `Bank.ledger`.
    monitor: u32,
    /// `main`, line 7: a lock of j.u.c. called `this`.
    lock: u32,
    object: u32,
    sync: u32,
}

impl Traced {
    fn new() -> Traced {
        let mut sample = Sample::of(&[("mode", "trace"), ("hold", "1/64")]);
        let log = &mut sample.log;
        let object = log.class("java/lang/Object", "").unwrap();
        let sync = log.class(LOCK, "").unwrap();
        let (main, transfer) = (1, 2);
        let monitor = log.place(transfer, 23, WaitKind::Monitor, 0, "Bank.ledger").unwrap();
        let lock = log.place(main, 7, WaitKind::Lock, place_flag::JUC, "this").unwrap();
        Traced { sample, monitor, lock, object, sync }
    }

    /// A cell of the `thread`-th thread, whose holds were all measured.
    fn cell(&mut self, thread: usize, place: u32, class: u32, holds: &[u64]) {
        let cell = AcquisitionCell {
            thread: thread as u32 + 1,
            place,
            class,
            acquisitions: holds.len() as u64,
            first_count: holds.len() as u64,
            first_ns: holds.iter().sum(),
            max_ns: holds.iter().copied().max().unwrap_or(0),
            ..AcquisitionCell::default()
        };
        self.sample.log.acquisitions(self.sample.lanes[thread], &cell).unwrap();
    }

    fn hold(&mut self, thread: usize, place: u32, class: u32, stack: u32, hold_ns: u64) {
        let hold = Hold { place, class, stack, hold_ns, ..Hold::default() };
        self.sample.end_ns += 1_000;
        self.sample.log.note(self.sample.lanes[thread], self.sample.end_ns, hold).unwrap();
    }

    fn blame(&mut self, thread: usize, site: usize, stack: u32, place: u32, charged_ns: u64) {
        let site = self.sample.sites[site];
        let blame = Blame { charged_ns, site, waiter: 1, stack, place, ..Blame::default() };
        self.sample.end_ns += 1_000;
        self.sample.log.note(self.sample.lanes[thread], self.sample.end_ns, blame).unwrap();
    }

    fn finish(self) -> [Recording; 1] {
        [self.sample.finish()]
    }
}

fn frames(profile: &Profile, stack: u32) -> Vec<String> {
    let frame = |frame: crate::profile::Frame| {
        let function = &profile.functions[frame.function as usize];
        format!("{}:{}", function.method, frame.line)
    };
    profile.frames_of(stack).map(frame).collect()
}

/// Thread, frames, lock and kind; acquisitions, reentrant, hold.
type NamedHold = (String, Vec<String>, String, &'static str, (u64, u64, u64));

fn rows(out: &Aggregate) -> Vec<NamedHold> {
    let profile = &out.profile;
    let row = |row: &AcquisitionRow| {
        (
            profile.thread_name(row.thread),
            frames(profile, row.stack),
            profile.lock_name(row.lock),
            row.kind.name(),
            (row.acquisitions, row.reentrant, row.hold_ns),
        )
    };
    profile.acquisitions.iter().map(row).collect()
}

fn row(
    thread: &str,
    frames: &[&str],
    lock: &str,
    kind: &'static str,
    sums: (u64, u64, u64),
) -> NamedHold {
    let frames = frames.iter().map(|&frame| frame.to_owned()).collect();
    (thread.to_owned(), frames, lock.to_owned(), kind, sums)
}

const LEDGER: &str = "Bank.ledger (java.lang.Object)";
const PUBLIC: &str = "java.util.concurrent.locks.ReentrantLock";

#[test]
fn acquisitions_stand_at_their_place_until_a_stack_is_sampled() {
    let mut traced = Traced::new();
    let (monitor, lock, object, sync) = (traced.monitor, traced.lock, traced.object, traced.sync);
    traced.cell(0, monitor, object, &[10, 20, 30]);
    traced.cell(1, monitor, object, &[5]);
    traced.cell(1, monitor, object, &[6]);
    traced.cell(1, lock, sync, &[100]);
    // Stack 3 is main, transfer; a stack of another thread says nothing.
    traced.hold(1, monitor, object, 3, 5);
    let out = run(&traced.finish(), &all());
    assert_eq!(
        rows(&out),
        [
            row("main", &["transfer:23"], LEDGER, "monitor", (3, 0, 60)),
            row("teller-1", &["main:7"], PUBLIC, "lock", (1, 0, 100)),
            row("teller-1", &["transfer:23", "main:7"], LEDGER, "monitor", (2, 0, 11)),
        ]
    );
    assert!(out.profile.has_acquisitions && out.profile.has_blame);
    assert_eq!((out.acquisitions, out.events), (6, 0));
    assert_eq!(out.notes, Notes::default());
    let section =
        |section: &SectionRow| (section.acquisitions, section.hold_ns, section.longest_ns);
    let sections: Vec<_> = out.profile.sections.iter().map(section).collect();
    assert_eq!(sections.len(), 3);
    assert!(sections.contains(&(2, 11, 6)), "cells add up: {sections:?}");
}

#[test]
fn a_place_without_probe_is_no_lost_name() {
    let mut traced = Traced::new();
    let (object, from_native) = (traced.object, 777);
    let place = Definition::Place {
        id: from_native,
        method: 0,
        line: 0,
        kind: 1,
        flags: 0,
        name: 0,
        bytecode: 0,
    };
    traced.sample.log.define(&place).unwrap();
    traced.cell(0, from_native, object, &[40]);
    let logs = traced.finish();
    let out = run(&logs, &all());
    let found = rows(&out);
    assert!(found.iter().any(|row| row.1 == ["[no probe]:0"]), "{found:?}");
    assert_eq!(out.notes.unknown_names, 0);
    let place = logs[0].definitions().places().get(from_native).unwrap();
    assert_eq!(crate::describe::Names(&logs[0]).place(place), "[no probe]");
}

#[test]
fn stacks_share_acquisitions_by_number_and_holds_by_time() {
    let mut traced = Traced::new();
    let (monitor, object) = (traced.monitor, traced.object);
    let log = &mut traced.sample.log;
    let deep = log.stack(3, 2, 25).unwrap();
    // The lock's own methods above the place do not show.
    let reentrant = log.class("java/util/concurrent/locks/ReentrantLock", "").unwrap();
    let lock = log.method(reentrant, "lock", "()V", 1).unwrap();
    let above = log.stack(deep, lock, 2).unwrap();
    let cell = AcquisitionCell {
        thread: 1,
        place: monitor,
        class: object,
        acquisitions: 100,
        reentrant: 4,
        failed: 9,
        first_count: 2,
        first_ns: 100,
        sampled_count: 1,
        sampled_ns: 7,
        ..AcquisitionCell::default()
    };
    log.acquisitions(traced.sample.lanes[0], &cell).unwrap();
    for (stack, hold_ns) in [(3, 10), (above, 60), (deep, 20), (0, 1_000)] {
        traced.hold(0, monitor, object, stack, hold_ns);
    }
    let out = run(&traced.finish(), &all());
    let hold_ns = 100 + 98 * 7;
    assert_eq!(
        rows(&out),
        [
            // 33.3 and 66.7; 87.3 and 698.7.
            row("main", &["transfer:23", "main:7"], LEDGER, "monitor", (33, 1, 87)),
            row(
                "main",
                &["transfer:23", "transfer:23", "main:7"],
                LEDGER,
                "monitor",
                (67, 3, hold_ns - 87)
            ),
        ]
    );
    let section = &out.profile.sections[0];
    assert_eq!((section.failed, section.measured, section.hold_ns), (9, 3, hold_ns));
}

#[test]
fn errors_of_estimates_add_up_and_are_shared_out_whole() {
    let mut traced = Traced::new();
    let bursts = |uncounted, error| {
        let reentrant_error = error / 2;
        let uncounted_error = error;
        let estimate = Bursts { uncounted, uncounted_error, reentrant_error, ..Bursts::default() };
        Some(Bursts { count: 9, ..estimate })
    };
    let (monitor, object) = (traced.monitor, traced.object);
    for (thread, bursts) in [(0, bursts(90, 7)), (0, bursts(900, 4)), (1, bursts(9, u64::MAX))] {
        let cell = AcquisitionCell {
            thread: thread as u32 + 1,
            place: monitor,
            class: object,
            acquisitions: 10,
            bursts,
            ..AcquisitionCell::default()
        };
        traced.sample.log.acquisitions(traced.sample.lanes[thread], &cell).unwrap();
    }
    // A cell of a place where all were counted.
    let (lock, sync) = (traced.lock, traced.sync);
    traced.cell(0, lock, sync, &[5]);
    for (stack, holds) in [(2, 2), (3, 1)] {
        (0..holds).for_each(|_| traced.hold(0, monitor, object, stack, 1));
    }
    let out = run(&traced.finish(), &all());
    let sections = out.profile.sections.iter();
    let sections: Vec<_> = sections
        .map(|row| {
            let errors = (row.acquisitions_error, row.reentrant_error);
            (row.thread, row.acquisitions, row.uncounted, errors)
        })
        .collect();
    let most = (u64::MAX, u64::MAX / 2);
    let in_order = |mut rows: Vec<(u32, u64, u64, (u64, u64))>| {
        rows.sort_unstable();
        rows
    };
    let expected = vec![(0, 1, 0, (0, 0)), (0, 1_010, 990, (11, 5)), (1, 19, 9, most)];
    assert_eq!(in_order(sections), expected);
    let of_first = out.profile.acquisitions.iter().filter(|row| row.thread == 0);
    let errors: Vec<u64> =
        of_first.map(|row| row.acquisitions_error).filter(|&it| it != 0).collect();
    assert_eq!((errors.len(), errors.iter().sum::<u64>()), (2, 11));
    let taken = out.profile.taken();
    assert_eq!((taken.acquisitions, taken.acquisitions_error), (1_030, u64::MAX));
    let in_bursts = out.profile.in_bursts().unwrap();
    assert_eq!((in_bursts.places, in_bursts.uncounted), (1, 999));
    let told = "1 place was counted in bursts (count=adaptive): acquisitions are estimates, with a \
                standard error of ";
    let mut notes = out.notes;
    assert!(notes.lines().iter().any(|line| line.starts_with(told)), "{:?}", notes.lines());
    notes.retain(false, true);
    assert!(notes.in_bursts.is_none());
}

#[test]
fn blame_stands_at_the_holder() {
    let mut traced = Traced::new();
    let (monitor, object) = (traced.monitor, traced.object);
    traced.cell(1, monitor, object, &[10]);
    traced.blame(1, 0, 2, 0, 5);
    traced.blame(1, 0, 2, monitor, 6);
    traced.blame(1, 1, 0, monitor, 7);
    traced.blame(2, 0, 0, 0, 8);
    traced.sample.wait(0, 0, 19);
    let logs = traced.finish();
    let blames = |filter: &Filter| {
        let out = run(&logs, filter);
        let profile = &out.profile;
        let row = |blame: &crate::profile::BlameRow| {
            (
                profile.thread_name(blame.thread),
                frames(profile, blame.stack).join(" "),
                profile.locks[blame.lock as usize].id,
                frames(profile, blame.waiter_stack).join(" "),
                (blame.count, blame.blamed_ns),
            )
        };
        profile.blames.iter().map(row).collect::<Vec<_>>()
    };
    let entry = |thread: &str, stack: &str, lock, sums| {
        (thread.to_owned(), stack.to_owned(), lock, "transfer:23 main:7".to_owned(), sums)
    };
    let expected = [
        entry("teller-1", "main:7", 1, (2, 11)),
        entry("teller-1", "transfer:23", 2, (1, 7)),
        entry("teller-2", "", 1, (1, 8)),
    ];
    assert_eq!(blames(&all()), expected);
    let of_holder = Filter { thread: Some(Regex::new("^teller-2$").unwrap()), ..all() };
    assert_eq!(blames(&of_holder), expected[2..]);
    let of_lock = Filter { lock: Some(Regex::new("#2$").unwrap()), ..all() };
    assert_eq!(blames(&of_lock), expected[1..2]);
    let late = Filter { since: Some(moment("4us").unwrap()), ..all() };
    assert_eq!(blames(&late), expected[2..], "blame has a time");
    let long = Filter { min_wait_ns: 6, ..all() };
    assert_eq!(blames(&long), []);
    assert_eq!(run(&logs, &long).notes.unsorted_blame, Lost { count: 4, wait_ns: 26 });
}

#[test]
fn acquisitions_are_filtered_by_all_but_time() {
    let mut traced = Traced::new();
    let (monitor, lock, object, sync) = (traced.monitor, traced.lock, traced.object, traced.sync);
    traced.cell(0, monitor, object, &[10, 20]);
    traced.cell(1, lock, sync, &[100]);
    let logs = traced.finish();
    let counts = |filter: &Filter| {
        let out = run(&logs, filter);
        let counts: Vec<u64> =
            out.profile.acquisitions.iter().map(|row| row.acquisitions).collect();
        (counts, out.notes.untimed)
    };
    let regex = |text: &str| Some(Regex::new(text).unwrap());
    let by_lock = |text: &str| counts(&Filter { lock: regex(text), ..all() }).0;
    assert_eq!(counts(&all()), (vec![2, 1], 0));
    assert_eq!(counts(&Filter { thread: regex("teller"), ..all() }), (vec![1], 0));
    let monitors = Kinds::parse("monitor").unwrap();
    assert_eq!(counts(&Filter { kinds: monitors, ..Filter::default() }), (vec![2], 0));
    assert_eq!(by_lock("^Bank.ledger$"), [2]);
    assert_eq!(by_lock("Object"), [2]);
    assert_eq!(by_lock("ReentrantLock$"), [1]);
    assert_eq!(by_lock(r"ReentrantLock\$NonfairSync"), [1]);
    assert_eq!(by_lock("#"), [0; 0]);
    for filter in [
        Filter { since: Some(moment("0s").unwrap()), ..all() },
        Filter { until: Some(moment("1h").unwrap()), ..all() },
        Filter { min_wait_ns: 1, ..all() },
    ] {
        assert_eq!(counts(&filter), (vec![], 3));
    }
}

#[test]
fn locks_have_the_names_that_the_program_gives_them() {
    let mut sample = Sample::new();
    let ledger = sample.log.class(LOCK, "").unwrap();
    let ledger = sample.log.lock(ledger).unwrap();
    sample.log.lock_name(ledger, "Bank.turn").unwrap();
    sample.log.lock_name(1, "this").unwrap();
    let site = sample.log.site(WaitKind::Lock, 3, ledger).unwrap();
    sample.sites.push(site);
    sample.wait(0, 0, 1);
    sample.wait(0, 4, 2);
    let logs = [sample.finish()];
    let out = run(&logs, &all());
    let names: Vec<String> = (0..2).map(|lock| out.profile.lock_name(lock)).collect();
    assert_eq!(names, ["com.acme.Bank#1".to_owned(), format!("Bank.turn ({PUBLIC}#3)")]);
    for text in ["^Bank.turn$", "NonfairSync#3$", "ReentrantLock#3$", "turn .*ReentrantLock"] {
        let filter = Filter { lock: Some(Regex::new(text).unwrap()), ..all() };
        assert_eq!(run(&logs, &filter).profile.totals(), (1, 2), "{text}");
    }
    assert!(!out.profile.has_acquisitions && !out.profile.has_blame);
}

/// A later file of a log that rotates: its first lock and place are not 1.
#[test]
fn locks_and_places_may_have_any_ids() {
    const FAR_LOCK: u32 = 4_000_000_000;
    const FAR_PLACE: u32 = 3_000_000_000;
    let mut traced = Traced::new();
    let (object, site) = (traced.object, traced.sample.sites.len() as u32 + 1);
    for definition in [
        Definition::Lock { id: FAR_LOCK, class: object },
        Definition::Site { id: site, kind: 1, stack: 3, lock: FAR_LOCK, place: 0 },
        Definition::Place {
            id: FAR_PLACE,
            method: 2,
            line: 23,
            kind: 1,
            flags: 0,
            name: 0,
            bytecode: 0,
        },
        Definition::LockInstance { lock: FAR_LOCK, hash: 77 },
    ] {
        traced.sample.log.define(&definition).unwrap();
    }
    traced.sample.sites.push(site);
    traced.sample.wait(1, 4, 30);
    traced.cell(0, FAR_PLACE, object, &[40, 60]);
    traced.hold(0, FAR_PLACE, object, 3, 40);
    traced.blame(0, 4, 0, FAR_PLACE, 30);
    let out = run(&traced.finish(), &all());
    assert!(out.damage.is_empty(), "{:?}", out.damage);
    assert_eq!((out.notes.unknown_places, out.notes.unknown_names), (0, 0));
    assert_eq!(out.notes.unknown_sites.count, 0);
    let profile = &out.profile;
    let wait = &profile.waits[0];
    let lock = &profile.locks[wait.lock as usize];
    assert_eq!((wait.wait_ns, lock.id, lock.class.as_str()), (30, FAR_LOCK, "java.lang.Object"));
    let inner = vec!["transfer:23".to_owned(), "main:7".to_owned()];
    assert_eq!(frames(profile, wait.stack), inner);
    let row = &profile.acquisitions[0];
    assert_eq!((row.acquisitions, row.hold_ns, frames(profile, row.stack)), (2, 100, inner));
    let blame = &profile.blames[0];
    assert_eq!((blame.blamed_ns, blame.lock), (30, wait.lock));
    assert_eq!(frames(profile, blame.stack), ["transfer:23"], "the place stands in");
}

#[test]
fn what_lost_definitions_leave_is_counted() {
    let mut traced = Traced::new();
    let (monitor, object) = (traced.monitor, traced.object);
    traced.cell(0, 77, object, &[10, 20]);
    traced.cell(0, monitor, 88, &[1]);
    traced.hold(0, monitor, 88, 99, 1);
    traced.sample.sites.push(66);
    traced.blame(0, 4, 3, 0, 5);
    let out = run(&traced.finish(), &all());
    let unknown = "Bank.ledger ([unknown])";
    assert_eq!(rows(&out), [row("main", &["transfer:23"], unknown, "monitor", (1, 0, 1))]);
    assert_eq!((out.notes.unknown_places, out.acquisitions), (2, 3));
    assert_eq!(out.notes.unknown_blame, Lost { count: 1, wait_ns: 5 });
    assert_eq!(out.notes.lines().len(), 3);
}

#[test]
fn logs_without_trace_mode_are_told_beside_others() {
    let mut sample = Sample::new();
    sample.wait(0, 0, 1);
    let mut traced = Traced::new();
    let (monitor, object) = (traced.monitor, traced.object);
    traced.cell(0, monitor, object, &[10]);
    let [log] = traced.finish();
    let logs = [sample.finish_as("b.log"), log];
    let out = run(&logs, &all());
    assert_eq!(out.notes.without_trace, 1);
    assert_eq!(out.profile.acquisitions.len(), 1);
    assert_eq!(run(&logs[..1], &all()).notes, Notes::default());
}

proptest! {
    #[test]
    fn sums_are_those_of_the_cells(
        cells in vec((0usize..3, 0u32..2, 0u64..50, (0u64..4, 0u64..1_000), (0u64..4, 0u64..1_000)), 0..40),
        holds in vec((0usize..3, 0u32..2, 0u32..6, 0u64..500), 0..60),
        blames in vec((0usize..3, 0usize..4, 0u32..4, 0u32..3, 0u64..500), 0..40),
    ) {
        let mut traced = Traced::new();
        let (object, sync) = (traced.object, traced.sync);
        let log = &mut traced.sample.log;
        for line in 0..3 {
            log.stack(2, 2, line).unwrap();
        }
        let place = |nth: u32| (nth + 1, [object, sync][nth as usize]);
        let mut expected = (0u64, 0u64, 0u64);
        let mut kept = Vec::new();
        for &(thread, nth, acquisitions, first, sampled) in &cells {
            let (place, class) = place(nth);
            let cell = AcquisitionCell {
                thread: thread as u32 + 1,
                place,
                class,
                acquisitions,
                reentrant: acquisitions / 3,
                first_count: first.0,
                first_ns: first.1,
                sampled_count: sampled.0,
                sampled_ns: sampled.1,
                ..AcquisitionCell::default()
            };
            if !cell.is_empty() {
                expected.0 += acquisitions;
                expected.1 += cell.reentrant;
                kept.push(cell.clone());
            }
            traced.sample.log.acquisitions(traced.sample.lanes[thread], &cell).unwrap();
        }
        for &(thread, nth, stack, hold_ns) in &holds {
            let (place, class) = place(nth);
            traced.hold(thread, place, class, stack, hold_ns);
        }
        let mut blamed = (0, 0);
        for &(thread, site, stack, place, charged_ns) in &blames {
            blamed = (blamed.0 + 1, blamed.1 + charged_ns);
            traced.blame(thread, site, stack, place, charged_ns);
        }
        let logs = traced.finish();
        let hold_ns = |cell| logs[0].hold_ns(tyrion_formats::HoldMode::Sampled(64), cell);
        expected.2 = kept.iter().map(hold_ns).sum();
        let results = [1, 2, 7].map(|workers| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            pool.install(|| run(&logs, &all()))
        });
        let profile = &results[0].profile;
        for other in &results[1..] {
            prop_assert_eq!(profile, &other.profile);
            prop_assert_eq!(&results[0].notes, &other.notes);
        }
        let sums = profile.acquisitions.iter().fold((0, 0, 0), |sums, row| {
            (sums.0 + row.acquisitions, sums.1 + row.reentrant, sums.2 + row.hold_ns)
        });
        prop_assert_eq!(sums, expected);
        let sections = profile.sections.iter().fold((0, 0, 0), |sums, section| {
            (
                sums.0 + section.acquisitions,
                sums.1 + section.reentrant,
                sums.2 + section.hold_ns,
            )
        });
        prop_assert_eq!(sections, expected);
        let sums = profile.blames.iter().fold((0, 0), |sums, blame| {
            (sums.0 + blame.count, sums.1 + blame.blamed_ns)
        });
        prop_assert_eq!(sums, blamed);
    }
}
