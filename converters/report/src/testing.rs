//! Logs of known numbers, said in a few words.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use crate::{Findings, ReportOptions, find};
use std::{collections::HashMap, io::Cursor};
use tyrion_formats::{
    Recording,
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_model::filter::Filter;
use tyrion_wire::{
    Outcome, WaitKind,
    cell::bucket,
    cost,
    sample::{Sample, ThreadState},
    slot::Pending,
    trace::{AcquisitionCell, Blame},
    wake::Wake,
};

/// A log under construction. Frames are `com.acme.Foo.bar:12`, stacks begin
/// with the outermost one, locks are class and name.
pub(crate) struct Crafted {
    log: LogWriter<Cursor<Vec<u8>>>,
    threads: HashMap<String, (u32, LaneId)>,
    locks: HashMap<(String, String), u32>,
    now_ns: u64,
}

/// The first moment of every recording.
const START_NS: u64 = 1_000_000_000;

impl Crafted {
    /// Of contention mode, and so long.
    pub(crate) fn new(duration_ns: u64) -> Crafted {
        Crafted::with(duration_ns, &[])
    }

    /// Of trace mode, where all holds are measured.
    pub(crate) fn traced(duration_ns: u64) -> Crafted {
        Crafted::with(duration_ns, &[("mode", "trace"), ("hold", "all")])
    }

    /// With this metadata.
    pub(crate) fn with(duration_ns: u64, metadata: &[(&str, &str)]) -> Crafted {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        options.header.end_ns = START_NS + duration_ns;
        let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        options.header.metadata = metadata.iter().map(pair).collect();
        let log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let (threads, locks) = Default::default();
        Crafted { log, threads, locks, now_ns: START_NS }
    }

    /// Of contention mode, with pauses of the garbage collector.
    pub(crate) fn collected(duration_ns: u64) -> Crafted {
        Crafted::with(duration_ns, &[("mode", "contention"), ("collections", "true")])
    }

    /// A pause that began so long before the start: before the waits.
    pub(crate) fn collection(&mut self, before_start_ns: u64, pause_ns: u64) {
        let start_ns = START_NS - before_start_ns;
        self.log.collection(start_ns, start_ns + pause_ns).unwrap();
    }

    /// So much time passes until the next wait ends.
    pub(crate) fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
    }

    /// The process took so much CPU time.
    pub(crate) fn used(&mut self, cpu_ns: u64) {
        for (key, ns) in [(cost::PROCESS, cpu_ns), (cost::CALLBACKS, 0), (cost::THREADS, 0)] {
            self.log.statistic(key, ns).unwrap();
        }
    }

    /// A thread still waits for a lock, since so long after the start of the log.
    pub(crate) fn still_waits(
        &mut self,
        (thread, frames): (&str, &[&str]),
        (kind, lock): (WaitKind, (&str, &str)),
        owner: &str,
        start_ns: u64,
    ) {
        let owner = if owner.is_empty() { 0 } else { self.thread(owner).0 };
        let (stack, lock) = (self.stack(frames), self.lock(lock));
        let (thread, _) = self.thread(thread);
        let start_ns = START_NS + start_ns;
        // Who has it was looked for at the end.
        let seen_ns = if owner == 0 { 0 } else { START_NS + 9_000_000_000 };
        self.log
            .pending(&Pending { thread, kind, stack, lock, owner, start_ns, seen_ns, flags: 0 })
            .unwrap();
    }

    fn thread(&mut self, name: &str) -> (u32, LaneId) {
        if let Some(&known) = self.threads.get(name) {
            return known;
        }
        let java_id = self.threads.len() as u64 + 10;
        let thread = self.log.thread(java_id, name, "main", 0).unwrap();
        let known = (thread, self.log.lane(thread));
        self.threads.insert(name.to_owned(), known);
        known
    }

    /// Class, method and line of a frame.
    fn frame(&mut self, frame: &str) -> (u32, u32) {
        let (name, line) = frame.rsplit_once(':').unwrap();
        let (class, method) = name.rsplit_once('.').unwrap();
        let simple = class.rsplit('.').next().unwrap();
        let class = self.log.class(&class.replace('.', "/"), &format!("{simple}.java")).unwrap();
        (self.log.method(class, method, "()V", 1).unwrap(), line.parse().unwrap())
    }

    fn stack(&mut self, frames: &[&str]) -> u32 {
        self.stack_in(0, frames)
    }

    fn stack_in(&mut self, outer: u32, frames: &[&str]) -> u32 {
        frames.iter().fold(outer, |parent, frame| {
            let (method, line) = self.frame(frame);
            self.log.stack(parent, method, line).unwrap()
        })
    }

    fn lock(&mut self, (class, name): (&str, &str)) -> u32 {
        let key = (class.to_owned(), name.to_owned());
        if let Some(&known) = self.locks.get(&key) {
            return known;
        }
        let id = self.log.class(&class.replace('.', "/"), "").unwrap();
        let lock = self.log.lock(id).unwrap();
        if !name.is_empty() {
            self.log.lock_name(lock, name).unwrap();
        }
        self.locks.insert(key, lock);
        lock
    }

    /// A wait, of which `owner` had the lock if that is told.
    pub(crate) fn wait(
        &mut self,
        thread: &str,
        frames: &[&str],
        (kind, lock): (WaitKind, (&str, &str)),
        wait_ns: u64,
        owner: &str,
    ) {
        let owner = if owner.is_empty() { 0 } else { self.thread(owner).0 };
        let (stack, lock) = (self.stack(frames), self.lock(lock));
        let site = self.log.site(kind, stack, lock).unwrap();
        let (_, lane) = self.thread(thread);
        self.now_ns += 1_000;
        let wait = Wait { end_ns: self.now_ns, wait_ns, site, owner, ..Wait::default() };
        self.log.wait(lane, wait).unwrap();
    }

    /// A wait whose time was over.
    pub(crate) fn times_out(
        &mut self,
        thread: &str,
        frames: &[&str],
        (kind, lock): (WaitKind, (&str, &str)),
        wait_ns: u64,
    ) {
        let (stack, lock) = (self.stack(frames), self.lock(lock));
        let site = self.log.site(kind, stack, lock).unwrap();
        let (_, lane) = self.thread(thread);
        let (end_ns, outcome) = (self.now_ns, Outcome::TimedOut);
        self.log.wait(lane, Wait { end_ns, wait_ns, site, outcome, ..Wait::default() }).unwrap();
    }

    /// Samples and nothing else.
    pub(crate) fn sampled(duration_ns: u64) -> Crafted {
        Crafted::with(duration_ns, &[("mode", "sample"), ("period", "10000000")])
    }

    /// A thread was seen so often in a state, the last time so long after the
    /// start; it had the time since the snapshot before. Frames may begin with a
    /// group in brackets.
    pub(crate) fn sample(
        &mut self,
        (thread, frames): (&str, &[&str]),
        state: ThreadState,
        (at_ns, count): (u64, u64),
        (wall_ns, cpu_ns): (u64, u64),
    ) {
        let stack = match frames.split_first() {
            Some((group, frames)) if group.starts_with('[') => {
                let group = self.log.group(group.trim_matches(['[', ']'])).unwrap();
                self.stack_in(group, frames)
            }
            _ => self.stack(frames),
        };
        let (_, lane) = self.thread(thread);
        let state = state.code();
        let sample = Sample { wall_ns, cpu_ns, count, state, stack, ..Sample::default() };
        self.log.note(lane, START_NS + at_ns, sample).unwrap();
    }

    /// A thread was seen blocked on a lock once, so long after the start; it had
    /// the time since the snapshot before.
    pub(crate) fn blocked(
        &mut self,
        (thread, frames): (&str, &[&str]),
        (kind, lock): (WaitKind, (&str, &str)),
        (at_ns, wall_ns): (u64, u64),
    ) {
        let (stack, lock) = (self.stack(frames), self.lock(lock));
        let (_, lane) = self.thread(thread);
        let (state, kind) = (ThreadState::Blocked.code(), u32::from(kind.code()));
        let sample = Sample { wall_ns, count: 1, state, stack, lock, kind, ..Sample::default() };
        self.log.note(lane, START_NS + at_ns, sample).unwrap();
    }

    /// Trace mode: a thread takes a lock once for each hold.
    pub(crate) fn take(
        &mut self,
        thread: &str,
        frame: &str,
        (kind, (class, name)): (WaitKind, (&str, &str)),
        holds: &[u64],
    ) {
        let mut cell = AcquisitionCell::default();
        holds.iter().for_each(|&ns| cell.histogram[bucket(ns)] += 1);
        let count = holds.len() as u64;
        (cell.acquisitions, cell.first_count) = (count, count);
        cell.first_ns = holds.iter().sum();
        cell.max_ns = holds.iter().copied().max().unwrap_or(0);
        self.cell(thread, frame, (kind, (class, name)), cell);
    }

    /// Trace mode: a cell with these numbers.
    pub(crate) fn cell(
        &mut self,
        thread: &str,
        frame: &str,
        (kind, (class, name)): (WaitKind, (&str, &str)),
        cell: AcquisitionCell,
    ) {
        let (method, line) = self.frame(frame);
        let place = self.log.place(method, line, kind, 0, name).unwrap();
        let class = self.log.class(&class.replace('.', "/"), "").unwrap();
        let (thread, lane) = self.thread(thread);
        self.log.acquisitions(lane, &AcquisitionCell { thread, place, class, ..cell }).unwrap();
    }

    /// Trace mode: a holder is charged with a wait.
    pub(crate) fn charge(
        &mut self,
        (holder, held): (&str, &[&str]),
        (waiter, waiting): (&str, &[&str]),
        (kind, lock): (WaitKind, (&str, &str)),
        charged_ns: u64,
    ) {
        let (stack, waiter_stack) = (self.stack(held), self.stack(waiting));
        let lock = self.lock(lock);
        let site = self.log.site(kind, waiter_stack, lock).unwrap();
        let (waiter, _) = self.thread(waiter);
        let (_, lane) = self.thread(holder);
        self.now_ns += 1_000;
        let blame = Blame { charged_ns, site, waiter, stack, ..Blame::default() };
        self.log.note(lane, self.now_ns, blame).unwrap();
    }

    /// A thread ended the wait that was told just before.
    pub(crate) fn wake(
        &mut self,
        (waiter, waiting): (&str, &[&str]),
        (kind, lock): (WaitKind, (&str, &str)),
        wait_ns: u64,
        (waker, waking): (&str, &[&str]),
    ) {
        let stack = if waking.is_empty() { 0 } else { self.stack(waking) };
        let (waiter_stack, lock) = (self.stack(waiting), self.lock(lock));
        let site = self.log.site(kind, waiter_stack, lock).unwrap();
        let (waker, _) = self.thread(waker);
        let (_, lane) = self.thread(waiter);
        self.log.note(lane, 0, Wake { waker, stack, site, wait_ns, late_ns: 1 }).unwrap();
    }

    pub(crate) fn finish(self, name: &str) -> Recording {
        Recording::from_bytes(name, self.log.finish().unwrap().into_inner()).unwrap()
    }
}

/// What is found in logs.
pub(crate) fn found<'a>(logs: &'a [Recording], filter: &'a Filter) -> Findings<'a> {
    find(logs, filter, &ReportOptions::default(), &|_| {})
}
