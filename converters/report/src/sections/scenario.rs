//! Logs of trace mode for tests, told record by record.

use crate::{Findings, ReportOptions, find};
use std::{collections::HashMap, io::Cursor};
use tyrion_formats::{
    Recording,
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_model::filter::Filter;
use tyrion_wire::{
    WaitKind, cost,
    def::{id, place_flag},
    sample::Snapshot,
    slot::Pending,
    trace::{AcquisitionCell, Held, Hold, Instance, Nest, nest_flag},
    wake::Wake,
};

/// When scenario begin, monotonic.
pub(super) const START_NS: u64 = 1_000_000_000;

/// A log that is being told.
pub(super) struct Scenario {
    log: LogWriter<Cursor<Vec<u8>>>,
    lanes: HashMap<u32, LaneId>,
    threads: u64,
}

impl Scenario {
    /// Trace mode with this other metadata.
    pub(super) fn new(metadata: &[(&str, &str)]) -> Scenario {
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        for (key, value) in [("mode", "trace"), ("hold", "1/64")].iter().chain(metadata) {
            options.header.metadata.retain(|(known, _)| known != key);
            options.header.metadata.push(((*key).to_owned(), (*value).to_owned()));
        }
        let log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        Scenario { log, lanes: HashMap::new(), threads: 0 }
    }

    /// Ended in order.
    pub(super) fn ended(metadata: &[(&str, &str)], end_ns: u64) -> Scenario {
        let mut scenario = Scenario::new(metadata);
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        options.header.end_ns = end_ns;
        for (key, value) in [("mode", "trace")].iter().chain(metadata) {
            options.header.metadata.push(((*key).to_owned(), (*value).to_owned()));
        }
        scenario.log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        scenario
    }

    /// A thread; the first one is number 1 for Java, too.
    pub(super) fn thread(&mut self, name: &str) -> u32 {
        self.threads += 1;
        self.thread_of(self.threads, name)
    }

    /// A thread that Java knows by this number.
    pub(super) fn thread_of(&mut self, java_id: u64, name: &str) -> u32 {
        let thread = self.log.thread(java_id, name, "main", 0).unwrap();
        let lane = self.log.lane(thread);
        self.lanes.insert(thread, lane);
        thread
    }

    pub(super) fn class(&mut self, name: &str) -> u32 {
        let source = name.rsplit('/').next().unwrap_or_default().to_owned() + ".java";
        self.log.class(name, &source).unwrap()
    }

    /// A method, `a/Foo.bar`.
    fn method(&mut self, name: &str) -> u32 {
        let (class, method) = name.rsplit_once('.').unwrap();
        let class = self.class(class);
        self.log.method(class, method, "()V", 1).unwrap()
    }

    /// Where a lock is taken.
    pub(super) fn place(&mut self, method: &str, line: u32, kind: WaitKind, name: &str) -> u32 {
        let method = self.method(method);
        let flags = if kind == WaitKind::Monitor { 0 } else { place_flag::JUC };
        self.log.place(method, line, kind, flags, name).unwrap()
    }

    /// The same, where the offset in the bytecode is known: the line and that.
    pub(super) fn place_at(
        &mut self,
        method: &str,
        (line, bytecode): (u32, u32),
        kind: WaitKind,
        name: &str,
    ) -> u32 {
        let method = self.method(method);
        self.log.place_at((method, line, bytecode), kind, 0, name).unwrap()
    }

    /// A stack, innermost frame first.
    pub(super) fn stack(&mut self, frames: &[(&str, u32)]) -> u32 {
        let mut stack = id::EMPTY_STACK;
        for &(method, line) in frames.iter().rev() {
            let method = self.method(method);
            stack = self.log.stack(stack, method, line).unwrap();
        }
        stack
    }

    /// A lock that is waited for, with its hash if that is not 0.
    pub(super) fn lock(&mut self, class: &str, name: &str, hash: u32) -> u32 {
        let class = self.class(class);
        let lock = self.log.lock(class).unwrap();
        if hash != 0 {
            self.log.lock_instance(lock, hash).unwrap();
        }
        if !name.is_empty() {
            self.log.lock_name(lock, name).unwrap();
        }
        lock
    }

    pub(super) fn nest(&mut self, thread: u32, at_ns: u64, taken: (Held, u32), outer: &[Held]) {
        self.nest_with(thread, at_ns, taken, outer, 0);
    }

    /// The same of a lock that is only tried.
    pub(super) fn tries(&mut self, thread: u32, at_ns: u64, taken: (Held, u32), outer: &[Held]) {
        self.nest_with(thread, at_ns, taken, outer, nest_flag::TRIED);
    }

    fn nest_with(
        &mut self,
        thread: u32,
        at_ns: u64,
        (inner, stack): (Held, u32),
        outer: &[Held],
        flags: u64,
    ) {
        let nest = Nest { delta_ns: 0, inner, stack, outer: outer.into(), flags };
        self.log.note(self.lanes[&thread], START_NS + at_ns, nest).unwrap();
    }

    pub(super) fn takes(&mut self, thread: u32, held: Held) {
        let Held { place, class, hash } = held;
        self.instance(thread, Instance { hash, class, place, shared: false });
    }

    /// The same, and whether another thread had taken it before.
    pub(super) fn instance(&mut self, thread: u32, taken: Instance) {
        self.log.note(self.lanes[&thread], 0, taken).unwrap();
    }

    pub(super) fn holds(&mut self, thread: u32, held: Held, (from_ns, to_ns): (u64, u64)) {
        let Held { place, class, hash } = held;
        let hold = Hold { hold_ns: to_ns - from_ns, place, class, hash, ..Hold::default() };
        self.log.note(self.lanes[&thread], START_NS + to_ns, hold).unwrap();
    }

    pub(super) fn acquires(&mut self, thread: u32, cell: &AcquisitionCell) {
        let cell = AcquisitionCell { thread, ..*cell };
        self.log.acquisitions(self.lanes[&thread], &cell).unwrap();
    }

    pub(super) fn waits(&mut self, thread: u32, site: (WaitKind, u32, u32), span: (u64, u64)) {
        self.waits_at(thread, site, id::UNKNOWN, span);
    }

    /// The same at a place that is known.
    pub(super) fn waits_at(
        &mut self,
        thread: u32,
        (kind, stack, lock): (WaitKind, u32, u32),
        place: u32,
        (from_ns, to_ns): (u64, u64),
    ) {
        let site = self.log.site_at(kind, stack, lock, place).unwrap();
        let (end_ns, wait_ns) = (START_NS + to_ns, to_ns - from_ns);
        let wait = Wait { end_ns, wait_ns, site, ..Wait::default() };
        self.log.wait(self.lanes[&thread], wait).unwrap();
    }

    /// A wait that another thread ended, in a stack that may be the empty one.
    pub(super) fn woken(
        &mut self,
        thread: u32,
        (kind, stack, lock): (WaitKind, u32, u32),
        (from_ns, to_ns): (u64, u64),
        (waker, waking): (u32, u32),
    ) {
        self.waits(thread, (kind, stack, lock), (from_ns, to_ns));
        let site = self.log.site(kind, stack, lock).unwrap();
        let wake = Wake { waker, stack: waking, site, wait_ns: to_ns - from_ns, late_ns: 0 };
        self.log.note(self.lanes[&thread], 0, wake).unwrap();
    }

    /// The process took so much CPU time.
    pub(super) fn used(&mut self, cpu_ns: u64) {
        for (key, ns) in [(cost::PROCESS, cpu_ns), (cost::CALLBACKS, 0), (cost::THREADS, 0)] {
            self.log.statistic(key, ns).unwrap();
        }
    }

    /// What a thread was seen doing where nobody asked for samples.
    pub(super) fn snapshot(&mut self, thread: u32, at_ns: u64, snapshot: Snapshot) {
        self.log.note(self.lanes[&thread], START_NS + at_ns, snapshot).unwrap();
    }

    /// A wait that has not ended; its start counts from that of the scenario.
    pub(super) fn pending(&mut self, pending: Pending) {
        let start_ns = START_NS + pending.start_ns;
        let seen_ns = if pending.seen_ns == 0 { 0 } else { START_NS + pending.seen_ns };
        self.log.pending(&Pending { start_ns, seen_ns, ..pending }).unwrap();
    }

    pub(super) fn log(self, name: &str) -> Recording {
        Recording::from_bytes(name, self.log.finish().unwrap().into_inner()).unwrap()
    }
}

/// What is found in some logs.
pub(super) fn with<T>(
    logs: &[Recording],
    filter: &Filter,
    then: impl FnOnce(&Findings<'_>) -> T,
) -> T {
    then(&find(logs, filter, &ReportOptions::default(), &|_| {}))
}
