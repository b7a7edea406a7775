//! Logs whose right answer is known.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod wakes;
mod work;

use super::*;
use crate::{
    aggregate::aggregate,
    filter::{duration_ns, moment},
};
use proptest::{collection::vec, prelude::*};
use std::{collections::BTreeMap, io::Cursor};
use tyrion_formats::write::{LaneId, LogOptions, LogWriter, Wait};
use tyrion_wire::{
    Outcome,
    cell::{BUCKETS, Cell, bucket},
    slot::Pending,
};

const START_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// A log that is told wait by wait. Frames are `com.acme.Foo.bar:12`, the outermost
/// first; times are ms after the start.
struct Story {
    log: LogWriter<Cursor<Vec<u8>>>,
    threads: BTreeMap<String, (u32, LaneId)>,
    locks: BTreeMap<String, u32>,
}

impl Story {
    fn new(length_ms: u64) -> Story {
        Story::of(length_ms, &[("parks", "probes")])
    }

    fn of(length_ms: u64, metadata: &[(&str, &str)]) -> Story {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        options.header.end_ns = START_NS + length_ms * MS;
        let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        options.header.metadata = metadata.iter().map(pair).collect();
        let log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        Story { log, threads: BTreeMap::new(), locks: BTreeMap::new() }
    }

    /// Threads are told apart by the number at the end of their names.
    fn thread(&mut self, name: &str) -> (u32, LaneId) {
        if let Some(&known) = self.threads.get(name) {
            return known;
        }
        let java_id = 10 + name.rsplit('-').next().unwrap().parse::<u64>().unwrap_or(0);
        let thread = self.log.thread(java_id, name, "main", 0).unwrap();
        let known = (thread, self.log.lane(thread));
        self.threads.insert(name.to_owned(), known);
        known
    }

    fn lock(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.locks.get(name) {
            return known;
        }
        let class = self.log.class("java/lang/Object", "").unwrap();
        let lock = self.log.lock(class).unwrap();
        self.locks.insert(name.to_owned(), lock);
        lock
    }

    fn stack(&mut self, frames: &[&str]) -> u32 {
        frames.iter().fold(0, |parent, frame| {
            let (name, line) = frame.rsplit_once(':').unwrap();
            let (class, method) = name.rsplit_once('.').unwrap();
            let source = class.rsplit('.').next().unwrap().to_owned() + ".java";
            let class = self.log.class(&class.replace('.', "/"), &source).unwrap();
            let method = self.log.method(class, method, "()V", 1).unwrap();
            self.log.stack(parent, method, line.parse().unwrap()).unwrap()
        })
    }

    fn site(&mut self, frames: &[&str], kind: WaitKind, lock: &str) -> u32 {
        let (stack, lock) = (self.stack(frames), self.lock(lock));
        self.log.site(kind, stack, lock).unwrap()
    }

    fn waits(
        &mut self,
        thread: &str,
        (frames, kind, lock): (&[&str], WaitKind, &str),
        (from_ms, to_ms): (u64, u64),
        outcome: Outcome,
    ) {
        let site = self.site(frames, kind, lock);
        let (_, lane) = self.thread(thread);
        let (end_ns, wait_ns) = (START_NS + to_ms * MS, (to_ms - from_ms) * MS);
        self.log.wait(lane, Wait { end_ns, wait_ns, site, outcome, ..Wait::default() }).unwrap();
    }

    fn finish(self) -> Recording {
        self.finish_as("a.log")
    }

    fn finish_as(self, name: &str) -> Recording {
        Recording::from_bytes(name, self.log.finish().unwrap().into_inner()).unwrap()
    }
}

/// What is decided of the waits in a method.
fn why(logs: &[Recording], method: &str) -> Why {
    let found = Withheld::find(logs, &Filter::default());
    let judged = found.places().iter().find(|judged| judged.place.at.contains(method));
    judged.unwrap_or_else(|| panic!("no {method}: {:?}", found.places())).why
}

const BORROW: [&str; 3] =
    ["com.acme.Worker.run:20", "com.acme.Pool.borrow:42", "java.lang.Object.wait:300"];
const TAKE: [&str; 4] = [
    "java.lang.Thread.run:800",
    "com.acme.Consumer.run:11",
    "java.util.concurrent.LinkedBlockingQueue.take:430",
    "java.util.concurrent.locks.LockSupport.park:200",
];
const POOL: [&str; 4] = [
    "java.lang.Thread.run:800",
    "java.util.concurrent.ThreadPoolExecutor.runWorker:1100",
    "java.util.concurrent.ThreadPoolExecutor.getTask:1060",
    "java.util.concurrent.LinkedBlockingQueue.take:430",
];

/// Three threads take turns with one connection: of each 3 ms, each has it for
/// one.
fn borrowers(story: &mut Story, turns: u64, shift: u64) {
    for turn in 0..turns {
        for thread in 0..3 {
            let from = 10 + shift + 3 * turn + thread;
            let waits = (&BORROW[..], WaitKind::ObjectWait, "pool");
            story.waits(&format!("worker-{thread}"), waits, (from, from + 2), Outcome::Granted);
        }
    }
}

#[test]
fn who_waits_for_one_another_is_kept_from_work() {
    let mut story = Story::new(1_000);
    borrowers(&mut story, 20, 0);
    let logs = [story.finish()];
    let found = Withheld::find(&logs, &Filter::default());
    let [judged] = found.places() else { panic!("{:?}", found.places()) };
    assert_eq!(
        judged.place,
        WaitPlace {
            at: "com.acme.Pool.borrow(Pool.java:42)".to_owned(),
            calls: "java.lang.Object.wait".to_owned(),
            root: "com.acme.Worker.run".to_owned(),
        }
    );
    let evidence = &judged.evidence;
    assert_eq!((evidence.waits, evidence.wait_ns, evidence.threads), (60, 120 * MS, 3));
    assert_eq!((evidence.objects, evidence.pairs, evidence.alone_ns), (1, 3, 0));
    assert_eq!((evidence.frames, evidence.stacks, evidence.is_outermost), (2, 1, false));
    assert_eq!((evidence.life_ns, evidence.elsewhere, evidence.outsiders), (3_000 * MS, 0, 0));
    assert_eq!((evidence.object.most, evidence.object.all_ns), (2, 0));
    assert_eq!(evidence.object, evidence.method);
    assert_eq!((judged.why, judged.verdict()), (Why::OneAnother, Verdict::Withheld));
    assert_eq!(
        judged.reason(),
        "of 3 threads that wait here at most 2 did at once: they waited for one another"
    );
    assert!(found.is_withheld_site(0, 1) && !found.is_withheld_site(0, 2));
    assert!(!found.is_withheld_site(1, 1), "there is no such log");
    let site = logs[0].definitions().sites().get(1).unwrap();
    assert!(found.is_withheld((0, &logs[0]), site.kind, site.stack));
    assert!(!found.is_withheld((0, &logs[0]), WaitKind::Monitor, site.stack), "a lock");
    let first = found.waits(0).first().unwrap();
    assert_eq!((first.count, first.wait_ns, first.longest_ns), (20, 40 * MS, 2 * MS));
}

/// One who waits when the log ends makes all of them wait at once.
#[test]
fn who_waits_at_the_end_counts() {
    let mut story = Story::new(1_000);
    borrowers(&mut story, 20, 0);
    let (stack, lock) = (story.stack(&BORROW), story.lock("pool"));
    for thread in ["worker-0", "worker-1", "worker-2"] {
        let thread = story.thread(thread).0;
        let (kind, start_ns) = (WaitKind::ObjectWait, START_NS + 995 * MS);
        story
            .log
            .pending(&Pending {
                thread,
                kind,
                stack,
                lock,
                owner: 0,
                start_ns,
                seen_ns: 0,
                flags: 0,
            })
            .unwrap();
    }
    assert_eq!(why(&[story.finish()], "borrow"), Why::BusyQueue);
}

/// Who puts something in locks the monitor, too, and is none of them.
#[test]
fn who_else_uses_the_lock_counts() {
    let mut story = Story::new(1_000);
    borrowers(&mut story, 20, 0);
    let add = ["com.acme.Producer.run:7", "com.acme.Pool.add:60"];
    let monitor = (&add[..], WaitKind::Monitor, "pool");
    story.waits("producer-9", monitor, (500, 501), Outcome::Granted);
    assert_eq!(why(&[story.finish()], "borrow"), Why::Outsiders);
    // One that waits there as well is one of them.
    let mut story = Story::new(1_000);
    borrowers(&mut story, 20, 0);
    story.waits("worker-1", monitor, (500, 501), Outcome::Granted);
    assert_eq!(why(&[story.finish()], "borrow"), Why::OneAnother);
}

#[test]
fn loops_are_idle() {
    let mut story = Story::new(1_000);
    for turn in 0..20 {
        let span = (40 * turn, 40 * turn + 10 + turn);
        let (own, of_pool) =
            ((&TAKE[..], WaitKind::Park, "queue"), (&POOL[..], WaitKind::Park, "tasks"));
        story.waits("consumer-1", own, span, Outcome::Granted);
        story.waits("pool-2", of_pool, span, Outcome::Granted);
    }
    let logs = [story.finish()];
    assert_eq!(why(&logs, "Consumer.run"), Why::QueueLoop);
    let found = Withheld::find(&logs, &Filter::default());
    let of_pool = found.places().iter().find(|judged| judged.place.at.is_empty()).unwrap();
    assert_eq!((of_pool.why, of_pool.evidence.waits), (Why::NoProgramFrame, 0), "not looked at");
    assert!(found.waits(0).iter().all(|waits| waits.count == 20 && waits.site == 1));
}

/// After a signal the lock is taken again; where it is not, the time was over.
#[test]
fn signals_are_told_by_what_comes_after() {
    let frames = ["com.acme.Timer.run:5", "com.acme.Clock.await:6", "java.util.Foo.await:1"];
    let told = |signalled: bool, metadata: &[(&str, &str)]| {
        let mut story = Story::of(10_000, metadata);
        for turn in 0..20 {
            let (from, to) = (40 * turn, 40 * turn + 10 + turn);
            let waits = (&frames[..], WaitKind::Condition, "c");
            story.waits("timer-1", waits, (from, to), Outcome::Granted);
            if signalled {
                let again = (&frames[..], WaitKind::LockReacquire, "lock");
                story.waits("timer-1", again, (to, to), Outcome::Granted);
            }
        }
        let found = Withheld::find(&[story.finish()], &Filter::default());
        let judged = found.places()[0].clone();
        (judged.evidence.told, judged.evidence.timed_out, judged.evidence.elsewhere, judged.why)
    };
    assert_eq!(told(true, &[("parks", "probes")]), (20, 0, 0, Why::Loop));
    assert_eq!(told(false, &[("parks", "probes")]), (20, 20, 0, Why::TimedOut));
    assert_eq!(told(false, &[("parks", "natives")]), (0, 0, 0, Why::Loop));
    assert_eq!(told(false, &[]), (0, 0, 0, Why::Loop), "nobody says what it sees");
    assert_eq!(told(true, &[]), (20, 0, 0, Why::Loop));
}

#[test]
fn rows_are_waited_for_one_after_the_other() {
    let frames = [
        "com.acme.Client.run:3",
        "com.acme.Table.update:8",
        "com.acme.Transaction.awaitEnd:9",
        "java.lang.Object.wait:300",
    ];
    let mut story = Story::new(1_000);
    for turn in 0..12 {
        for thread in 0..2 {
            let transaction = format!("transaction {turn}");
            let waits = (&frames[..], WaitKind::ObjectWait, &*transaction);
            let from = 20 * turn + thread;
            story.waits(&format!("client-{thread}"), waits, (from, from + 2), Outcome::Granted);
        }
    }
    assert_eq!(why(&[story.finish()], "awaitEnd"), Why::OtherObjects);
}

/// Threads and locks are the same in all files of a recording, and the waits of
/// one file alone say something else.
#[test]
fn files_of_a_recording_are_one() {
    let file = |number: &str, threads: std::ops::Range<u64>, recording: &str| {
        let metadata = [("recording", recording), ("file-number", number), ("parks", "probes")];
        let mut story = Story::of(1_000, &metadata);
        for turn in 0..20 {
            for thread in threads.clone() {
                let from = 10 + 3 * turn + thread;
                let waits = (&BORROW[..], WaitKind::ObjectWait, "pool");
                story.waits(&format!("worker-{thread}"), waits, (from, from + 2), Outcome::Granted);
            }
        }
        story.finish_as(number)
    };
    let logs = [file("0", 0..1, "r"), file("1", 1..3, "r")];
    let found = Withheld::find(&logs, &Filter::default());
    assert_eq!(found.places().len(), 1);
    assert_eq!(
        (found.places()[0].evidence.object.threads, found.places()[0].why),
        (3, Why::OneAnother)
    );
    assert!(found.is_withheld_site(0, 1) && found.is_withheld_site(1, 1));
    let other = [file("0", 0..1, "r"), file("1", 1..3, "s")];
    let found = Withheld::find(&other, &Filter::default());
    assert_eq!(found.places()[0].evidence.object.threads, 2, "locks of another process are others");
    assert_eq!(why(&logs[..1], "borrow"), Why::Loop, "one alone");
}

#[test]
fn logs_without_such_waits_have_no_places() {
    let mut story = Story::new(100);
    let monitor = (&["com.acme.Foo.bar:1"][..], WaitKind::Monitor, "lock");
    story.waits("a-1", monitor, (1, 2), Outcome::Granted);
    let found = Withheld::find(&[story.finish()], &Filter::default());
    assert!(found.places().is_empty() && found.waits(0).is_empty());
    assert!(Withheld::find(&[], &Filter::default()).places().is_empty());
}

/// Thread, place, lock, when and how long in ms, and outcome.
type RandomWait = (usize, usize, usize, (u64, u64), u8);

/// Random logs: threads that wait at a few places in a few ways, folded waits and
/// waits that have not ended.
fn logs() -> impl Strategy<Value = Vec<Recording>> {
    let wait = (0..4usize, 0..6usize, 0..3usize, (0..400u64, 0..40u64), 0..4u8);
    let cell = (0..4usize, 0..6usize, vec(1..50_000u64, 1..5));
    let log = (vec(wait, 0..80), vec(cell, 0..4), 0..3usize, any::<bool>());
    vec(log, 1..3).prop_map(|logs| {
        let log =
            |(nth, (waits, cells, pending, probes)): (usize, (Vec<_>, Vec<_>, usize, bool))| {
                let parks = if probes { "probes" } else { "natives" };
                let mut story = Story::of(500, &[("recording", "r"), ("parks", parks)]);
                let mut waits: Vec<RandomWait> = waits;
                waits.sort_by_key(|(.., (from, long), _)| from + long);
                for (thread, place, lock, (from, long), outcome) in waits {
                    let (frames, kind) = random_place(place);
                    let what = (&frames[..], kind, ["a", "b", "c"][lock]);
                    let span = (from, from + long);
                    story.waits(&format!("t-{thread}"), what, span, Outcome::from_bits(outcome));
                }
                for (thread, place, ns) in cells {
                    let (frames, kind) = random_place(place);
                    let site = story.site(&frames, kind, "a");
                    let (thread, lane) = story.thread(&format!("t-{thread}"));
                    let ns: Vec<u64> = ns;
                    let mut histogram = [0; BUCKETS];
                    ns.iter().for_each(|&ns| histogram[bucket(ns)] += 1);
                    let (first_ns, last_ns) = (START_NS + 50 * MS, START_NS + 90 * MS);
                    let (count, sum_ns) = (ns.len() as u64, ns.iter().sum());
                    let max_ns = ns.iter().copied().max().unwrap();
                    let cell = Cell {
                        thread,
                        site,
                        owner: 0,
                        group: 0,
                        first_ns,
                        last_ns,
                        count,
                        sum_ns,
                        max_ns,
                        histogram,
                    };
                    story.log.cell(lane, &cell).unwrap();
                }
                for thread in 0..pending {
                    let (frames, kind) = random_place(thread);
                    let (stack, lock) = (story.stack(&frames), story.lock("a"));
                    let thread = story.thread(&format!("t-{thread}")).0;
                    let start_ns = START_NS + 450 * MS;
                    story
                        .log
                        .pending(&Pending {
                            thread,
                            kind,
                            stack,
                            lock,
                            owner: 0,
                            start_ns,
                            seen_ns: 0,
                            flags: 0,
                        })
                        .unwrap();
                }
                story.finish_as(&format!("{nth}.log"))
            };
        logs.into_iter().enumerate().map(log).collect()
    })
}

fn random_place(nth: usize) -> (Vec<&'static str>, WaitKind) {
    match nth {
        0 => (BORROW.to_vec(), WaitKind::ObjectWait),
        1 => (TAKE.to_vec(), WaitKind::Condition),
        2 => (TAKE.to_vec(), WaitKind::LockReacquire),
        3 => (POOL.to_vec(), WaitKind::Park),
        4 => (BORROW[..2].to_vec(), WaitKind::Monitor),
        _ => ([&["com.acme.Main.main:1"], &BORROW[1..]].concat(), WaitKind::ObjectWait),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is decided, and all that it comes from, does not depend on the number
    /// of workers, nor on the filter.
    #[test]
    fn decisions_depend_on_the_logs_alone(logs in logs()) {
        let pool = |jobs| rayon::ThreadPoolBuilder::new().num_threads(jobs).build().unwrap();
        let filter = Filter {
            since: Some(moment("60ms").unwrap()),
            min_wait_ns: duration_ns("3ms").unwrap(),
            kinds: Kinds::withheld(),
            ..Filter::default()
        };
        let [one, four] = [1, 4].map(|jobs| {
            pool(jobs).install(|| Withheld::find(&logs, &Filter::default()))
        });
        let other = Withheld::find(&logs, &filter);
        prop_assert_eq!(one.places(), four.places());
        prop_assert_eq!(one.places(), other.places());
        for run in 0..logs.len() {
            prop_assert_eq!(one.waits(run), four.waits(run));
        }
    }

    /// The waits that are told one by one are those of the profile.
    #[test]
    fn the_profile_has_the_same_waits(
        logs in logs(),
        since in prop_oneof![Just(""), Just("60ms"), Just("80ms")],
        min_wait in prop_oneof![Just("0"), Just("20us"), Just("5ms")],
    ) {
        let filter = Filter {
            since: (!since.is_empty()).then(|| moment(since).unwrap()),
            min_wait_ns: duration_ns(min_wait).unwrap(),
            kinds: Kinds::withheld(),
            ..Filter::default()
        };
        let found = Withheld::find(&logs, &filter);
        let told = (0..logs.len()).flat_map(|run| {
            let found = &found;
            found.waits(run).iter().filter(move |it| found.is_withheld_site(run, it.site))
        });
        let sums = told.fold((0, 0), |sum, it| (sum.0 + it.count, sum.1 + it.wait_ns));
        let profile = aggregate(&logs, &filter, &|_| {}).profile;
        prop_assert_eq!(profile.totals(), sums);
        prop_assert_eq!(profile.check(), Ok(()));
        // Among all waits of their kinds, none is missing or doubled.
        let all = aggregate(&logs, &Filter { kinds: Kinds::idle(), ..filter.clone() }, &|_| {});
        let both = Kinds::parse("idle,withheld").unwrap();
        let again = aggregate(&logs, &Filter { kinds: both, ..filter }, &|_| {});
        prop_assert_eq!(all.profile, again.profile);
    }
}
