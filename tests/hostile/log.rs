//! A log in which every name is hostile.

use std::{fs::File, path::Path};
use tyrion_formats::write::{LaneId, LogOptions, LogWriter, Wait};
use tyrion_wire::{
    WaitKind,
    cell::{BUCKETS, Cell},
    def::id,
    sample::{Sample, ThreadState},
    slot::Pending,
    trace::{AcquisitionCell, Blame, Held, Hold, Instance, Nest},
};

/// What turns, moves, colours and ends lines, and what nobody sees.
pub const EVIL: &str = "\u{202e}\u{2066}\u{200f}\u{1b}]0;x\u{7}\u{1b}[31m\u{9b}2J\u{85}\u{2028}\r\n\
                        \t\0\u{7f}\u{200b}\u{200d}\u{feff}\u{ad}\u{e0041}\u{fff9}\u{ffff};😀<b>&\"'";

/// A long name: those of different `middle` differ in nothing else.
pub fn long(middle: &str) -> String {
    format!("long{0}{middle}{0}end", "x".repeat(1_990))
}

/// The names of the threads.
pub fn threads() -> [String; 4] {
    [format!("waiter {EVIL}"), format!("holder {EVIL}"), long("a"), long("b")]
}

/// When the log begins.
const START_NS: u64 = 1_000_000_000;

struct LogInProgress {
    log: LogWriter<File>,
    threads: Vec<(u32, LaneId)>,
    class: u32,
    stacks: Vec<u32>,
    locks: Vec<u32>,
    place: u32,
}

/// Writes the log.
pub fn write(path: &Path) {
    let mut options = LogOptions::default();
    options.header.mono_ns = START_NS;
    options.header.end_ns = START_NS + 1_000_000_000;
    let evil = |key: &str| (key.to_owned(), format!("{key} {EVIL}"));
    options.header.metadata =
        ["program", "jvm", "jvm-flags", "host", "args", "clock", "threshold"].map(evil).to_vec();
    options.header.metadata.push(("mode".to_owned(), "trace+sample".to_owned()));
    options.header.metadata.push(("hold".to_owned(), "all".to_owned()));
    options.header.metadata.push((format!("key{EVIL}"), long("value")));
    let mut log = LogWriter::new(File::create(path).unwrap(), options).unwrap();

    let threads = threads().map(|name| {
        let thread = log.thread(name.len() as u64, &name, &format!("group {EVIL}"), 0).unwrap();
        log.span(thread, START_NS, 0).unwrap();
        (thread, log.lane(thread))
    });
    log.rename(threads[0].0, &threads_name(0), START_NS + 1).unwrap();
    let class = log.class(&format!("com/acme/Class{EVIL}"), &format!("File{EVIL}.java")).unwrap();
    let method = log.method(class, &format!("run{EVIL}"), &format!("(){EVIL}"), 7).unwrap();
    let mut stacks = Vec::new();
    let group = log.group(&format!("GET /{EVIL}")).unwrap();
    for middle in ["a", "b"] {
        let class = log.class(&format!("com/acme/{}", long(middle)), "Long.java").unwrap();
        let long = log.method(class, "run", "()V", 1).unwrap();
        let stack = log.stack(group, long, 9).unwrap();
        stacks.push(log.stack(stack, method, 8).unwrap());
    }
    let locks = [format!("Cache.lock{EVIL}"), long("a"), long("b")].map(|name| {
        let lock = log.lock(class).unwrap();
        log.lock_name(lock, &name).unwrap();
        log.lock_instance(lock, lock + 100).unwrap();
        lock
    });
    let place = log.place(method, 8, WaitKind::Monitor, 0, &format!("Cache.lock{EVIL}")).unwrap();
    log.statistic(&format!("own.cost{EVIL}_ns"), 7).unwrap();
    let mut writing = LogInProgress {
        log,
        threads: threads.to_vec(),
        class,
        stacks,
        locks: locks.to_vec(),
        place,
    };
    writing.waits();
    writing.traced();
    writing.samples();
    writing.log.finish().unwrap();
}

fn threads_name(nth: usize) -> String {
    threads()[nth].clone()
}

impl LogInProgress {
    /// Every thread waits for every lock, in both stacks.
    fn waits(&mut self) {
        let owner = self.threads[1].0;
        for (nth, (_, lane)) in self.threads.clone().into_iter().enumerate() {
            let mut end_ns = START_NS + 1_000_000;
            for (at, &lock) in self.locks.iter().enumerate() {
                let stack = self.stacks[(nth + at) % 2];
                let site = self.log.site(WaitKind::Monitor, stack, lock).unwrap();
                let wait_ns = 100_000 * (1 + nth as u64) + at as u64;
                end_ns += 2_000_000;
                self.log
                    .wait(lane, Wait { end_ns, wait_ns, site, owner, ..Wait::default() })
                    .unwrap();
            }
        }
        let (thread, lane) = self.threads[0];
        let site = self.log.site(WaitKind::Monitor, self.stacks[0], self.locks[0]).unwrap();
        let (first_ns, last_ns) = (START_NS + 1_000, START_NS + 2_000);
        let cell = Cell {
            thread,
            site,
            owner: 0,
            group: 0,
            first_ns,
            last_ns,
            count: 2,
            sum_ns: 30,
            max_ns: 20,
            histogram: [0; BUCKETS],
        };
        self.log.cell(lane, &cell).unwrap();
        for (waiter, owner) in [(0, 1), (1, 0)] {
            let pending = Pending {
                thread: self.threads[waiter].0,
                kind: WaitKind::Monitor,
                stack: self.stacks[waiter],
                lock: self.locks[waiter],
                owner: self.threads[owner].0,
                start_ns: START_NS + 500_000_000,
                seen_ns: 0,
                flags: 0,
            };
            self.log.pending(&pending).unwrap();
        }
    }

    fn traced(&mut self) {
        let (class, place) = (self.class, self.place);
        let held = |hash| Held { place, class, hash };
        for (nth, &(thread, lane)) in self.threads.clone().iter().enumerate() {
            let cell = AcquisitionCell {
                thread,
                place,
                class,
                acquisitions: 3,
                first_count: 1,
                first_ns: 5,
                max_ns: 5,
                ..AcquisitionCell::default()
            };
            self.log.acquisitions(lane, &cell).unwrap();
            for hash in [101, 102] {
                let shared = nth > 0;
                self.log.note(lane, 0, Instance { hash, class, place, shared }).unwrap();
            }
            let at_ns = START_NS + 100_000_000 + nth as u64 * 1_000;
            let (inner, outer) = if nth % 2 == 0 { (101, 102) } else { (102, 101) };
            let outer = [held(outer)];
            let nest = Nest {
                delta_ns: 0,
                inner: held(inner),
                stack: self.stacks[0],
                outer: outer.as_slice().into(),
                flags: nth as u64 % 3,
            };
            self.log.note(lane, at_ns, nest).unwrap();
            let hold = Hold { hold_ns: 100, place, class, hash: 101, ..Hold::default() };
            self.log.note(lane, at_ns + 500, hold).unwrap();
            let site = self.log.site(WaitKind::Monitor, self.stacks[0], self.locks[0]).unwrap();
            let blame = Blame {
                charged_ns: 50,
                site,
                waiter: self.threads[0].0,
                stack: self.stacks[1],
                place,
                ..Blame::default()
            };
            self.log.note(lane, at_ns + 600, blame).unwrap();
        }
    }

    fn samples(&mut self) {
        for (state, kind, lock) in [
            (ThreadState::Running, id::UNKNOWN, id::UNKNOWN),
            (ThreadState::Blocked, WaitKind::Monitor.code().into(), self.locks[0]),
        ] {
            for (nth, (_, lane)) in self.threads.clone().into_iter().enumerate() {
                let sample = Sample {
                    wall_ns: 1_000_000,
                    cpu_ns: 900_000,
                    count: 1,
                    state: state.code(),
                    stack: self.stacks[nth % 2],
                    kind,
                    lock,
                    owner: self.threads[1].0,
                    ..Sample::default()
                };
                self.log.note(lane, START_NS + 200_000_000, sample).unwrap();
            }
        }
    }
}
