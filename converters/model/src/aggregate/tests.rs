//! Waits in, profile out.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod asked;
mod filters;
mod hostile;
mod owned;
mod sampled;
mod trace;
mod wakers;

use super::*;
use crate::{
    filter::{Kinds, duration_ns, moment},
    profile::{CUT, Profile, State},
};
use proptest::{collection::vec, prelude::*};
use regex::Regex;
use std::{collections::BTreeMap, io::Cursor};
use tyrion_formats::{
    Hints, Unit,
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_wire::{
    WaitKind,
    cell::{self, Cell},
    def::{Definition, id},
    slot::Pending,
};

/// A log under construction: three threads, two locks, four sites.
struct Sample {
    log: LogWriter<Cursor<Vec<u8>>>,
    lanes: Vec<LaneId>,
    sites: Vec<u32>,
    end_ns: u64,
}

const START_NS: u64 = 1_000_000_000;
const KINDS: [WaitKind; 4] =
    [WaitKind::Monitor, WaitKind::Lock, WaitKind::Monitor, WaitKind::ObjectWait];

impl Sample {
    fn new() -> Sample {
        Sample::of(&[])
    }

    /// With these metadata.
    fn of(metadata: &[(&str, &str)]) -> Sample {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        options.header.metadata = metadata.iter().map(pair).collect();
        let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let bank = log.class("com/acme/Bank", "Bank.java").unwrap();
        let object = log.class("[I", "").unwrap();
        let main = log.method(bank, "main", "()V", 5).unwrap();
        let transfer = log.method(bank, "transfer", "(I)V", 20).unwrap();
        let outer = log.stack(0, main, 7).unwrap();
        let inner = log.stack(outer, transfer, 23).unwrap();
        let locks = [log.lock(bank).unwrap(), log.lock(object).unwrap()];
        let places = [(inner, locks[0]), (inner, locks[1]), (outer, locks[0]), (inner, locks[0])];
        let mut sites = Vec::new();
        for (kind, (stack, lock)) in KINDS.into_iter().zip(places) {
            sites.push(log.site(kind, stack, lock).unwrap());
        }
        let threads =
            ["main", "teller-1", "teller-2"].map(|name| log.thread(7, name, "main", 0).unwrap());
        let lanes = threads.map(|thread| log.lane(thread)).into();
        Sample { log, lanes, sites, end_ns: START_NS }
    }

    /// A wait of the `thread`-th thread at the `site`-th site.
    fn wait(&mut self, thread: usize, site: usize, wait_ns: u64) {
        self.end_ns += 1_000;
        let (end_ns, site) = (self.end_ns, self.sites[site]);
        self.log
            .wait(self.lanes[thread], Wait { end_ns, wait_ns, site, ..Wait::default() })
            .unwrap();
    }

    fn cell(&mut self, thread: u32, site: usize, first_ns: u64, waits: &[u64]) {
        let cell = cell(thread, self.sites[site], first_ns, waits);
        self.log.cell(self.lanes[0], &cell).unwrap();
    }

    fn finish(self) -> Recording {
        self.finish_as("a.log")
    }

    fn finish_as(self, name: &str) -> Recording {
        Recording::from_bytes(name, self.log.finish().unwrap().into_inner()).unwrap()
    }
}

/// A cell with these waits, spread over 10 s.
fn cell(thread: u32, site: u32, first_ns: u64, waits: &[u64]) -> Cell {
    let mut histogram = [0; cell::BUCKETS];
    waits.iter().for_each(|&wait_ns| histogram[cell::bucket(wait_ns)] += 1);
    Cell {
        thread,
        site,
        owner: 0,
        group: 0,
        first_ns,
        last_ns: first_ns + 10_000_000_000,
        count: waits.len() as u64,
        sum_ns: waits.iter().sum(),
        max_ns: waits.iter().copied().max().unwrap_or(0),
        histogram,
    }
}

fn run(logs: &[Recording], filter: &Filter) -> Aggregate {
    let out = aggregate(logs, filter, &|_| {});
    assert_eq!(out.profile.check(), Ok(()));
    let kinds: (u64, u64) =
        out.kinds.iter().map(KindTotals::total).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert_eq!(out.profile.totals(), kinds, "the totals by kind are those of the profile");
    out
}

fn all() -> Filter {
    Filter { kinds: Kinds::all(), ..Filter::default() }
}

/// Thread, frames, lock and kind.
type NamedWait = (String, Vec<String>, String, &'static str);

/// A profile's waits by names, to compare: count, sum, longest.
fn by_name(out: &Aggregate) -> BTreeMap<NamedWait, (u64, u64, u64)> {
    let profile = &out.profile;
    let entry = |wait: &crate::profile::WaitRow| {
        let frames = profile.frames_of(wait.stack).map(|frame| {
            let function = &profile.functions[frame.function as usize];
            format!("{}.{}:{}", function.class, function.method, frame.line)
        });
        let thread = profile.thread_name(wait.thread);
        let lock = profile.lock_name(wait.lock);
        let key = (thread, frames.collect(), lock, wait.kind.name());
        (key, (wait.count, wait.wait_ns, wait.max_ns))
    };
    profile.waits.iter().map(entry).collect()
}

fn key(thread: &str, frames: &[&str], lock: &str, kind: &'static str) -> NamedWait {
    (thread.into(), frames.iter().map(|&frame| frame.into()).collect(), lock.into(), kind)
}

const INNER: [&str; 2] = ["com.acme.Bank.transfer:23", "com.acme.Bank.main:7"];

#[test]
fn waits_are_summed_by_thread_stack_lock_and_kind() {
    let mut sample = Sample::new();
    for (thread, site, wait_ns) in
        [(0, 0, 10), (0, 0, 30), (1, 0, 5), (0, 1, 7), (0, 2, 9), (0, 3, 1_000)]
    {
        sample.wait(thread, site, wait_ns);
    }
    let logs = [sample.finish()];
    let expected = BTreeMap::from([
        (key("main", &INNER, "com.acme.Bank#1", "monitor"), (2, 40, 30)),
        (key("main", &INNER, "int[]#2", "lock"), (1, 7, 7)),
        (key("main", &INNER[1..], "com.acme.Bank#1", "monitor"), (1, 9, 9)),
        (key("teller-1", &INNER, "com.acme.Bank#1", "monitor"), (1, 5, 5)),
    ]);
    let out = run(&logs, &Filter::default());
    assert_eq!(by_name(&out), expected, "idle waiting is no contention");
    assert_eq!((out.events, out.contention().total()), (6, (5, 61)));
    assert_eq!(out.profile.functions[0].source, "com/acme/Bank.java");
    let out = run(&logs, &all());
    let idle = key("main", &INNER, "com.acme.Bank#1", "object-wait");
    assert_eq!(by_name(&out).get(&idle), Some(&(1, 1_000, 1_000)));
    assert_eq!(out.kind(WaitKind::ObjectWait).total(), (1, 1_000));
    assert_eq!(out.contention().total(), (5, 61));
    assert_eq!(out.notes, Notes::default());
}

#[test]
fn the_same_place_under_two_ids_is_one() {
    let mut sample = Sample::new();
    let define = |log: &mut LogWriter<_>, definition| log.define(&definition).unwrap();
    let log = &mut sample.log;
    define(log, Definition::String { id: 100, text: b"com/acme/Bank" });
    define(log, Definition::Class { id: 50, name: 100, source: 2 });
    define(log, Definition::Method { id: 50, class: 50, name: 4, descriptor: 5, first_line: 5 });
    define(log, Definition::Stack { id: 50, parent: 0, method: 50, line: 7 });
    define(log, Definition::Site { id: 50, kind: 1, stack: 50, lock: 1, place: 0 });
    sample.sites.push(50);
    sample.wait(0, 2, 10);
    sample.wait(0, 4, 20);
    let out = run(&[sample.finish()], &all());
    let expected = key("main", &INNER[1..], "com.acme.Bank#1", "monitor");
    assert_eq!(by_name(&out), BTreeMap::from([(expected, (2, 30, 20))]));
    assert_eq!(out.profile.waits.len(), 1);
}

#[test]
fn several_logs_share_stacks_but_not_threads_and_locks() {
    let mut logs = Vec::new();
    for name in ["a.log", "b.log"] {
        let mut sample = Sample::new();
        sample.wait(0, 0, 10);
        logs.push(sample.finish_as(name));
    }
    let out = run(&logs, &all());
    let profile = &out.profile;
    assert_eq!((profile.runs.len(), profile.threads.len(), profile.locks.len()), (2, 2, 2));
    assert_eq!((profile.functions.len(), profile.stacks.len()), (2, 3));
    assert_eq!(profile.waits[0].stack, profile.waits[1].stack);
    assert_eq!(profile.totals(), (2, 20));
}

#[test]
fn switch_records_give_waits_to_other_threads() {
    let mut sample = Sample::new();
    let lane = sample.lanes[0];
    sample.wait(0, 0, 1);
    sample.log.switch(lane, 3).unwrap();
    sample.wait(0, 0, 2);
    sample.wait(2, 0, 4);
    sample.log.switch(lane, 1).unwrap();
    sample.wait(0, 0, 8);
    let out = run(&[sample.finish()], &all());
    let sums: Vec<(String, u64)> = out
        .profile
        .waits
        .iter()
        .map(|wait| (out.profile.thread_name(wait.thread), wait.wait_ns))
        .collect();
    assert_eq!(sums, [("main".to_owned(), 9), ("teller-2".to_owned(), 6)]);
}

proptest! {
    #[test]
    fn any_number_of_workers_gives_the_same(
        waits in vec((0usize..3, 0usize..4, 0u64..1 << 40, 0u32..40), 0..3_000),
        cells in vec((1u32..5, 0usize..4, 1u64..1 << 30), 0..50),
        min_wait_ns in prop_oneof![Just(0), 0u64..1 << 40],
    ) {
        let mut sample = Sample::new();
        let mut expected: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
        let mut threads = [1, 2, 3];
        for &(lane, site, wait_ns, switch) in &waits {
            if (1..=4).contains(&switch) {
                threads[lane] = switch;
                sample.log.switch(sample.lanes[lane], switch).unwrap();
            }
            sample.wait(lane, site, wait_ns);
            if wait_ns >= min_wait_ns {
                let sums = expected.entry((threads[lane], sample.sites[site])).or_default();
                *sums = (sums.0 + 1, sums.1 + wait_ns);
            }
        }
        for &(thread, site, wait_ns) in &cells {
            sample.cell(thread, site, START_NS, &[wait_ns]);
            if wait_ns >= min_wait_ns {
                let sums = expected.entry((thread, sample.sites[site])).or_default();
                *sums = (sums.0 + 1, sums.1 + wait_ns);
            }
        }
        let log = sample.finish();
        let filter = Filter { min_wait_ns, ..all() };
        let results = [1, 2, 5].map(|workers| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            pool.install(|| run(std::slice::from_ref(&log), &filter))
        });
        for other in &results[1..] {
            prop_assert_eq!(&results[0].profile, &other.profile);
            prop_assert_eq!(&results[0].kinds, &other.kinds);
            prop_assert_eq!(&results[0].notes, &other.notes);
            prop_assert_eq!(&results[0].damage, &other.damage);
        }
        // Four sites are four places: the sums are those of a plain loop.
        let sums: Vec<(u64, u64)> =
            results[0].profile.waits.iter().map(|wait| (wait.count, wait.wait_ns)).collect();
        let mut plain: Vec<(u64, u64)> = expected.into_values().collect();
        let mut found = sums;
        plain.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, plain);
    }
}

#[test]
fn lost_definitions_are_unknown_and_counted() {
    let mut options = LogOptions::default();
    options.header.mono_ns = START_NS;
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    log.define(&Definition::Stack { id: 5, parent: 4, method: 9, line: 3 }).unwrap();
    log.define(&Definition::Site { id: 2, kind: 1, stack: 5, lock: 8, place: 0 }).unwrap();
    // A parent that is no smaller would be a circle.
    log.define(&Definition::Stack { id: 6, parent: 6, method: 9, line: 3 }).unwrap();
    log.define(&Definition::Site { id: 3, kind: 1, stack: 6, lock: 8, place: 0 }).unwrap();
    let lane = log.lane(12);
    for site in [1, 2, 3, 99] {
        let wait = Wait { end_ns: START_NS, wait_ns: 10, site, ..Wait::default() };
        log.wait(lane, wait).unwrap();
    }
    let log = Recording::from_bytes("a.log", log.finish().unwrap().into_inner()).unwrap();
    let out = run(&[log], &all());
    let frames = [".[unknown]:3", ".[unknown]:0"];
    let expected = key("[unknown]", &frames, "[unknown]#8", "monitor");
    assert_eq!(by_name(&out), BTreeMap::from([(expected, (2, 20, 10))]));
    assert_eq!(out.notes.unknown_sites, Lost { count: 2, wait_ns: 20 });
    assert!(out.notes.unknown_names >= 4, "{:?}", out.notes);
    assert_eq!(out.notes.lines().len(), 2);
}

#[test]
fn cut_stacks_begin_with_a_frame_that_says_so() {
    let mut sample = Sample::new();
    let stack = sample.log.stack(id::CUT_STACK, 1, 9).unwrap();
    let site = sample.log.site(WaitKind::Monitor, stack, 1).unwrap();
    sample.sites.push(site);
    sample.wait(0, 4, 10);
    let out = run(&[sample.finish()], &all());
    let frames = ["com.acme.Bank.main:9", &format!(".{CUT}:0")];
    let expected = key("main", &frames, "com.acme.Bank#1", "monitor");
    assert!(by_name(&out).contains_key(&expected), "{:?}", by_name(&out));
}

#[test]
fn stacks_are_never_deeper_than_the_limit() {
    let mut sample = Sample::new();
    let mut stack = 0;
    for line in 0..tyrion_formats::limits::MAX_DEPTH + 10 {
        stack = sample.log.stack(stack, 1, line).unwrap();
    }
    let site = sample.log.site(WaitKind::Monitor, stack, 1).unwrap();
    sample.sites.push(site);
    sample.wait(0, 4, 10);
    let out = run(&[sample.finish()], &all());
    let depth = out.profile.frames_of(out.profile.waits[0].stack).count();
    assert_eq!(depth, 11, "what is beyond the limit stands on a cut");
}

#[test]
fn what_had_not_ended_is_noted() {
    let mut sample = Sample::new();
    for kind in [WaitKind::Monitor, WaitKind::Park] {
        let (thread, stack, lock, owner, start_ns) = (1, 2, 1, 0, START_NS);
        sample
            .log
            .pending(&Pending { thread, kind, stack, lock, owner, start_ns, seen_ns: 0, flags: 0 })
            .unwrap();
    }
    let logs = [sample.finish()];
    assert_eq!(run(&logs, &Filter::default()).notes.pending, 1);
    assert_eq!(run(&logs, &all()).notes.pending, 2);
    assert!(run(&logs, &all()).notes.lines()[0].contains("2 waits had not ended"));
}

#[test]
fn damage_is_told_and_the_rest_counted() {
    let mut sample = Sample::new();
    for _ in 0..2_000 {
        sample.wait(0, 0, 10);
    }
    let mut bytes = sample.log.finish().unwrap().into_inner();
    let whole = Recording::from_bytes("a.log", bytes.clone()).unwrap();
    let chunk = whole.event_chunks()[1];
    bytes[chunk.payload_at() as usize] ^= 1;
    let log = Recording::from_bytes("a.log", bytes).unwrap();
    let done = std::sync::atomic::AtomicU64::new(0);
    let out = aggregate(std::slice::from_ref(&log), &all(), &|bytes| {
        done.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(out.damage.len(), 1);
    assert_eq!(out.damage[0].offset, chunk.offset);
    assert!(out.events > 1_000 && out.events < 2_000);
    assert_eq!(done.into_inner(), work_bytes(&[log]));
}
