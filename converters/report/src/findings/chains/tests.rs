//! Chains of known logs, and of random ones, of several files.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod woken;

use super::*;
use crate::{Findings, ReportOptions, find};
use proptest::{collection::vec, prelude::*};
use regex::Regex;
use std::{collections::HashMap, io::Cursor};
use tyrion_formats::write::{LaneId, LogOptions, LogWriter};
use tyrion_model::{
    lives::recordings,
    pass::{self, Reading},
};
use tyrion_wire::{WaitKind, slot::Pending};

const START_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The chains of logs, with room for so many waits of each sort.
fn find_with(
    room: usize,
    logs: &[Recording],
    filter: &Filter,
    (axis, judged): (&Axis, &Withheld),
) -> WaitChains {
    let mut following = ChainSearch::new(filter, axis, judged, room);
    let nobody = &|_| {};
    let reading = Reading { is_checked: true, ..Reading::new(nobody) };
    for (log, recording) in logs.iter().enumerate().zip(recordings(logs)) {
        let gather = following.asking(log, recording);
        pass::run(log.1, &gather, reading);
        gather.finish(log.1);
    }
    following.finish(true)
}

/// A log that is told wait by wait, in ms after its start.
struct Story {
    log: LogWriter<Cursor<Vec<u8>>>,
    threads: HashMap<String, (u32, LaneId)>,
    locks: HashMap<String, u32>,
    length_ms: u64,
}

impl Story {
    fn new(length_ms: u64) -> Story {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        options.header.end_ns = START_NS + length_ms * MS;
        options.header.metadata = vec![("recording".to_owned(), "r".to_owned())];
        let log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        Story { log, threads: HashMap::new(), locks: HashMap::new(), length_ms }
    }

    /// Threads are told apart by the number at the end of their names, in hundreds by
    /// its first letter.
    fn thread(&mut self, name: &str) -> (u32, LaneId) {
        if let Some(&known) = self.threads.get(name) {
            return known;
        }
        let (letter, number) = (name.bytes().next().unwrap(), name.rsplit('-').next().unwrap());
        let java_id = u64::from(letter) * 100 + number.parse::<u64>().unwrap_or(0);
        let thread = self.log.thread(java_id, name, "main", 0).unwrap();
        let known = (thread, self.log.lane(thread));
        self.threads.insert(name.to_owned(), known);
        known
    }

    fn lock(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.locks.get(name) {
            return known;
        }
        let class = self.log.class("a/Lock", "").unwrap();
        let lock = self.log.lock(class).unwrap();
        self.log.lock_name(lock, name).unwrap();
        self.locks.insert(name.to_owned(), lock);
        lock
    }

    fn site(&mut self, kind: WaitKind, lock: &str) -> u32 {
        let class = self.log.class("a/Main", "Main.java").unwrap();
        let method = self.log.method(class, "run", "()V", 1).unwrap();
        let stack = self.log.stack(0, method, 5).unwrap();
        let lock = self.lock(lock);
        self.log.site(kind, stack, lock).unwrap()
    }

    /// Waits of a thread have to be told in the order in which they end.
    fn waits(&mut self, thread: &str, lock: &str, (from_ms, to_ms): (u64, u64), owner: &str) {
        self.waits_so(thread, (WaitKind::Lock, lock), (from_ms, to_ms), owner);
    }

    fn waits_so(
        &mut self,
        thread: &str,
        (kind, lock): (WaitKind, &str),
        (from_ms, to_ms): (u64, u64),
        owner: &str,
    ) {
        let site = self.site(kind, lock);
        let owner = if owner.is_empty() { 0 } else { self.thread(owner).0 };
        let (_, lane) = self.thread(thread);
        let (end_ns, wait_ns) = (START_NS + to_ms * MS, (to_ms - from_ms) * MS);
        let wait =
            tyrion_formats::write::Wait { end_ns, wait_ns, site, owner, ..Default::default() };
        self.log.wait(lane, wait).unwrap();
    }

    fn pending(&mut self, thread: &str, lock: &str, from_ms: u64, owner: &str) {
        let (lock, kind) = (self.lock(lock), WaitKind::Lock);
        let (thread, owner) = (self.thread(thread).0, self.thread(owner).0);
        let start_ns = START_NS + from_ms * MS;
        self.log
            .pending(&Pending {
                thread,
                kind,
                stack: 0,
                lock,
                owner,
                start_ns,
                seen_ns: 0,
                flags: 0,
            })
            .unwrap();
    }

    fn finish(self) -> Recording {
        Recording::from_bytes("a.log", self.log.finish().unwrap().into_inner()).unwrap()
    }
}

fn found<'a>(logs: &'a [Recording], filter: &'a Filter, phase_ms: u64) -> Findings<'a> {
    let options = ReportOptions { phase_ns: phase_ms * MS, ..ReportOptions::default() };
    find(logs, filter, &options, &|_| {})
}

/// `http-* L > db-* M > flusher runs 2 waits 30 ms`.
fn told(chains: &WaitChains) -> Vec<String> {
    let told = |chain: &WaitChain| {
        let step = |step: &ChainStep| format!("{} {} > ", step.waiting, step.lock.name);
        let steps: String = chain.steps.iter().map(step).collect();
        let end = format!("{:?}", chain.end).to_lowercase();
        format!("{steps}{} {end} {} {}", chain.root, chain.waits, chain.wait_ns / MS)
    };
    chains.chains.iter().map(told).collect()
}

/// Two of a pool wait for a third one, which waits for the flusher for a while.
fn pool() -> Recording {
    let mut story = Story::new(100);
    story.waits("http-1", "Cache.lock", (10, 50), "db-1");
    story.waits("http-2", "Cache.lock", (20, 50), "db-1");
    story.waits("db-1", "Db.lock", (15, 45), "flusher");
    story.waits_so("flusher", (WaitKind::ObjectWait, "disk"), (30, 40), "");
    story.finish()
}

#[test]
fn waits_are_charged_to_the_end_of_their_chain() {
    let (logs, filter) = ([pool()], Filter::default());
    let chains = found(&logs, &filter, 20).chains;
    assert_eq!((chains.waits, chains.wait_ns, chains.pending), (3, 100 * MS, 0));
    assert_eq!(
        told(&chains),
        [
            "http-* Cache.lock > db-* Db.lock > flusher runs 2 35",
            "db-* Db.lock > flusher runs 1 20",
            "http-* Cache.lock > db-* Db.lock > flusher waits 2 20",
            "http-* Cache.lock > db-* runs 2 15",
            "db-* Db.lock > flusher waits 1 10",
        ]
    );
    assert_eq!((chains.phase_ns, chains.phases, chains.duration_ns), (20 * MS, 5, 100 * MS));
    // Until 20 one waits from 15 on; until 40 both, but from 30 on the flusher waits.
    assert_eq!(chains.chains[0].phases, [5 * MS, 20 * MS, 10 * MS, 0, 0]);
}

#[test]
fn the_filter_chooses_which_waits_are_charged_and_not_who_is_in_their_chains() {
    let logs = [pool()];
    let told_of = |filter: Filter| {
        let chains = found(&logs, &filter, 20).chains;
        (chains.waits, told(&chains))
    };
    let one = Filter { thread: Some(Regex::new("http-2").unwrap()), ..Filter::default() };
    let expected = [
        "http-* Cache.lock > db-* Db.lock > flusher runs 1 15",
        "http-* Cache.lock > db-* Db.lock > flusher waits 1 10",
        "http-* Cache.lock > db-* runs 1 5",
    ];
    assert_eq!(told_of(one), (1, expected.map(str::to_owned).to_vec()));
    let lock = Filter { lock: Some(Regex::new("Db").unwrap()), ..Filter::default() };
    assert_eq!(told_of(lock).0, 1);
    let long = Filter { min_wait_ns: 35 * MS, ..Filter::default() };
    assert_eq!(told_of(long).0, 1);
    let none = Filter { kinds: tyrion_model::filter::Kinds::idle(), ..Filter::default() };
    assert_eq!(told_of(none), (0, Vec::new()));
}

#[test]
fn rings_that_had_not_ended_are_told() {
    let mut story = Story::new(100);
    story.pending("left", "fork a", 40, "right");
    story.pending("right", "fork b", 60, "left");
    story.waits("patient", "fork b", (50, 90), "left");
    let (logs, filter) = ([story.finish()], Filter::default());
    let chains = found(&logs, &filter, 1_000).chains;
    assert_eq!((chains.waits, chains.wait_ns, chains.pending), (3, 140 * MS, 2));
    assert_eq!(
        told(&chains),
        [
            "left fork a > right fork b > left ring 1 40",
            "right fork b > left fork a > right ring 1 40",
            "patient fork b > left fork a > right runs 1 10",
            "left fork a > right runs 1 20",
            "patient fork b > left fork a > right fork b > left ring 1 30",
        ]
        .map(str::to_owned)
        .to_vec()
        .sorted_as(&chains)
    );
}

/// Puts what is expected into the order of the chains, of which some take equally
/// long.
trait SortedAs {
    fn sorted_as(self, chains: &WaitChains) -> Vec<String>;
}

impl SortedAs for Vec<String> {
    fn sorted_as(mut self, chains: &WaitChains) -> Vec<String> {
        let order = told(chains);
        self.sort_by_key(|told| order.iter().position(|it| it == told));
        self
    }
}

/// A thread and a lock are the same in all files of a recording.
#[test]
fn chains_go_on_in_other_files() {
    let mut first = Story::new(100);
    first.waits("http-1", "Cache.lock", (10, 50), "db-1");
    let mut second = Story::new(100);
    second.thread("flusher");
    // What has this number is the same lock there, too.
    second.lock("Cache.lock");
    second.waits("db-1", "Db.lock", (30, 70), "flusher");
    let (logs, filter) = ([first.finish(), second.finish()], Filter::default());
    let chains = found(&logs, &filter, 1_000).chains;
    assert_eq!(
        told(&chains),
        [
            "db-* Db.lock > flusher runs 1 40",
            "http-* Cache.lock > db-* runs 1 20",
            "http-* Cache.lock > db-* Db.lock > flusher runs 1 20",
        ]
    );
}

#[test]
fn where_nobody_is_known_there_are_no_chains() {
    let mut story = Story::new(100);
    story.waits("http-1", "Cache.lock", (10, 50), "");
    let (logs, filter) = ([story.finish()], Filter::default());
    let chains = found(&logs, &filter, 20).chains;
    assert_eq!((chains.waits, chains.chains.len(), chains.phases), (0, 0, 5));
}

#[test]
fn many_phases_are_put_together() {
    let grid = |duration_ns, phase_ns| {
        let axis = Axis { duration_ns, phase_ns, ..Axis::default() };
        let grid = grid(&axis);
        (grid.step_ns, grid.len())
    };
    assert_eq!(grid(1_000, 10), (10, 100));
    assert_eq!(grid(1_210, 10), (20, 61));
    assert_eq!(grid(0, 10), (10, 1));
}

/// All of the waits is charged, in all and by phase: what was told is within the log.
fn check_sums(chains: &WaitChains) {
    assert_eq!(chains.chains.iter().map(|chain| chain.wait_ns).sum::<u64>(), chains.wait_ns);
    assert_eq!(chains.of_locks_ns, chains.wait_ns - chains.pending_ns);
    for chain in &chains.chains {
        assert_eq!(chain.phases.len(), chains.phases);
        assert_eq!(chain.phases.iter().sum::<u64>(), chain.wait_ns, "{chain:?}");
    }
}

/// Of a wait for which there is no room, only the time counts, in the phases in which
/// it was.
#[test]
fn waits_without_room_are_charged_to_who_had_the_lock() {
    let (logs, filter) = ([pool()], Filter::default());
    let axis = Axis::of(&logs, &filter, 20 * MS);
    let judged = Withheld::default();
    let with_room = |room| find_with(room, &logs, &filter, (&axis, &judged));
    let chains = with_room(0);
    check_sums(&chains);
    assert_eq!((chains.waits, chains.wait_ns), (3, 100 * MS));
    assert_eq!(
        told(&chains),
        ["http-* Cache.lock > db-* notfollowed 2 70", "db-* Db.lock > flusher notfollowed 1 30"]
    );
    // The longest one of three that have an owner is followed.
    let chains = with_room(1);
    check_sums(&chains);
    let (short, followed): (Vec<_>, Vec<_>) =
        chains.chains.iter().partition(|chain| chain.end == End::NotFollowed);
    assert_eq!(short.iter().map(|chain| chain.waits).sum::<u64>(), 2);
    assert_eq!(followed.iter().map(|chain| chain.wait_ns).sum::<u64>(), 40 * MS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// All that is charged is all that was waited for somebody known, by phase as
    /// well, and the same with any number of workers.
    #[test]
    fn charges_add_up_in_all_ways(
        waits in vec((0..5u64, 0..4usize, (0..90u64, 1..40u64), 0..6u64), 0..60),
        phase_ms in 1..60u64,
        room in 1..40usize,
    ) {
        let mut waits = waits;
        waits.sort_by_key(|(.., (from, long), _)| from + long);
        let mut story = Story::new(140);
        let name = |nth: u64| format!("{}-{nth}", ["a", "b"][nth as usize % 2]);
        let mut expected_ns = 0;
        for (thread, lock, (from, long), owner) in waits {
            let lock = ["L", "M", "N", "O"][lock];
            // The last one stands for nobody.
            let owner = if owner == 5 { String::new() } else { name(owner) };
            story.waits(&name(thread), lock, (from, from + long), &owner);
            expected_ns += if owner.is_empty() { 0 } else { long * MS };
        }
        prop_assert_eq!(story.length_ms, 140);
        let (logs, filter) = ([story.finish()], Filter::default());
        let pool = |jobs| rayon::ThreadPoolBuilder::new().num_threads(jobs).build().unwrap();
        let [one, four] =
            [1, 4].map(|jobs| pool(jobs).install(|| found(&logs, &filter, phase_ms).chains));
        prop_assert_eq!(&one, &four);
        prop_assert_eq!(one.wait_ns, expected_ns);
        check_sums(&one);
        // The same where there is little room, whoever finds what first.
        let axis = Axis::of(&logs, &filter, phase_ms * MS);
        let judged = Withheld::default();
        let of_few = || {
            find_with(room, &logs, &filter, (&axis, &judged))
        };
        let [one_of_few, four_of_few] = [1, 4].map(|jobs| pool(jobs).install(of_few));
        prop_assert_eq!(&one_of_few, &four_of_few);
        check_sums(&one_of_few);
        let sums = |it: &WaitChains| (it.waits, it.wait_ns, it.pending_ns, it.of_locks_ns);
        prop_assert_eq!(sums(&one_of_few), sums(&one));
        let by_phase = |it: &WaitChains| -> Vec<u64> {
            let sum = |nth: usize| it.chains.iter().map(|chain| chain.phases[nth]).sum();
            (0..it.phases).map(sum).collect()
        };
        prop_assert_eq!(by_phase(&one_of_few), by_phase(&one));
    }
}
