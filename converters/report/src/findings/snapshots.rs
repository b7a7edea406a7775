//! What threads were doing in the snapshots that nobody asked for: few, so that they tell
//! what a program mostly does, and no more.

use super::{names, program::ProgramCode, thread_group};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};
use tyrion_formats::{Entry, Note, Noted, Recording};
use tyrion_model::{
    describe::Names,
    filter::{Filter, Window},
    names::is_jdk,
    pass::{Question, Visitor},
    profile::State,
    states::StateReader,
    withheld::{Verdict, Withheld},
};
use tyrion_wire::{
    def::id::UNKNOWN,
    sample::{Sample, ThreadState},
};

/// What threads were doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshots {
    /// In ascending order of threads, state and place.
    pub rows: Vec<SnapshotRow>,
}

/// Threads of a name that were in a state, at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRow {
    /// The thread; empty for all that the log knows of no wait.
    pub thread: String,
    /// What it was doing.
    pub state: State,
    /// It is a virtual thread that waited and kept its carrier.
    pub is_pinned: bool,
    /// The innermost frame that is not the JDK's: `com.acme.Foo.bar(Foo.java:12)`; empty if
    /// there is none.
    pub place: String,
    /// The innermost frame of the program's own code, ` < ` and what of it called that; empty if
    /// there is none, or none is known.
    pub own: String,
    /// For how long, ns.
    pub wall_ns: u64,
}

impl Snapshots {
    /// How long threads were in a state in all, ns.
    pub fn of_state(&self, state: State) -> u64 {
        let rows = self.rows.iter().filter(|row| row.state == state);
        rows.fold(0, |sum, row| sum.saturating_add(row.wall_ns))
    }

    /// Virtual threads that waited and kept their carriers.
    pub fn pinned(&self) -> impl Iterator<Item = &SnapshotRow> {
        self.rows.iter().filter(|row| row.is_pinned)
    }

    /// Those of a thread, or of the threads of a group.
    pub fn of_threads(&self, threads: &str) -> impl Iterator<Item = &SnapshotRow> {
        let is_of = move |row: &&SnapshotRow| {
            !row.thread.is_empty()
                && (row.thread == threads || thread_group(&row.thread) == threads)
        };
        self.rows.iter().filter(is_of)
    }
}

/// Sums them up, log by log.
#[derive(Default)]
pub(super) struct SnapshotSums(BTreeMap<(String, State, bool, FramePair), u64>);

/// The innermost frame that is not the JDK's, and the one of the program's own code.
type FramePair = (String, String);

impl SnapshotSums {
    /// The pass over a log is over, the `run`-th, whose waits for no lock are judged.
    pub(super) fn add(
        &mut self,
        asked: SnapshotQuestion<'_>,
        judged: &Withheld,
        run: usize,
        program: &ProgramCode,
    ) {
        let SnapshotQuestion { log, sums, .. } = asked;
        let names = Names(log);
        let mut places: HashMap<u32, FramePair> = HashMap::new();
        for ((thread, stack, state, is_pinned), wall_ns) in
            sums.into_inner().unwrap_or_else(PoisonError::into_inner)
        {
            let is_idle = || {
                let why = judged.why((run, log), stack);
                why.is_some_and(|why| why.verdict() == Verdict::Idle)
            };
            let state = match state {
                State::Waiting | State::Parked if is_idle() => State::Idle,
                state => state,
            };
            let thread = if thread == UNKNOWN { String::new() } else { names.thread(thread) };
            let place = places.entry(stack).or_insert_with(|| {
                let frames = names.stack(stack);
                let tells = |frame: &&String| !is_jdk(frame) && !names::is_machinery(frame);
                let place = frames.iter().find(tells).cloned().unwrap_or_default();
                (place, program.place(&frames).unwrap_or_default())
            });
            let sum = self.0.entry((thread, state, is_pinned, place.clone())).or_default();
            *sum = sum.saturating_add(wall_ns);
        }
    }

    pub(super) fn finish(self) -> Snapshots {
        let row = |((thread, state, is_pinned, (place, own)), wall_ns)| SnapshotRow {
            thread,
            state,
            is_pinned,
            place,
            own,
            wall_ns,
        };
        Snapshots { rows: self.0.into_iter().map(row).collect() }
    }
}

/// Thread, stack and state, and whether the thread is pinned.
type SnapshotKey = (u32, u32, State, bool);

/// What is asked of a log.
pub(super) struct SnapshotQuestion<'a> {
    log: &'a Recording,
    window: Window,
    /// By thread: whether the filter asks for it.
    threads: Vec<bool>,
    reader: StateReader<'a>,
    sums: Mutex<HashMap<SnapshotKey, u64>>,
}

impl<'a> SnapshotQuestion<'a> {
    pub(super) fn new(log: &'a Recording, filter: &Filter) -> SnapshotQuestion<'a> {
        let names = Names(log);
        let asks = |id: u32| match &filter.thread {
            None => true,
            Some(regex) => id != UNKNOWN && regex.is_match(&names.thread(id)),
        };
        let threads = (0..log.definitions().threads().len().max(1) as u32).map(asks).collect();
        let (window, reader) = (filter.window(log), StateReader::new(log));
        SnapshotQuestion { log, window, threads, reader, sums: Mutex::default() }
    }
}

/// What a worker has seen.
pub(super) struct SnapshotVisitor<'q> {
    asked: &'q SnapshotQuestion<'q>,
    sums: HashMap<SnapshotKey, u64>,
}

impl SnapshotVisitor<'_> {
    fn sample(&mut self, sampled: &Noted<Sample>) {
        let asked = self.asked;
        let (thread, _) = asked.reader.thread_and_lock(sampled);
        let is_asked = asked.threads.get(thread as usize).copied().unwrap_or(false);
        if !is_asked || asked.window.part(sampled).is_none() {
            return;
        }
        let (stack, state) = (asked.reader.stack(sampled), asked.reader.state(sampled));
        // A virtual thread that waits leaves its carrier, and is seen no more, if it can.
        let waits = matches!(
            sampled.state(),
            ThreadState::Waiting | ThreadState::Parked | ThreadState::Sleeping
        );
        let known = asked.log.definitions().threads().get(thread);
        let is_pinned = waits && known.is_some_and(|it| it.is_virtual);
        let key = (thread, stack, state, is_pinned);
        let sum = self.sums.entry(key).or_default();
        *sum = sum.saturating_add(sampled.record.wall_ns);
    }
}

impl Question for SnapshotQuestion<'_> {
    type Visitor<'q>
        = SnapshotVisitor<'q>
    where
        Self: 'q;

    fn visitor(&self) -> SnapshotVisitor<'_> {
        SnapshotVisitor { asked: self, sums: HashMap::new() }
    }

    fn take(&self, worker: SnapshotVisitor<'_>) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, more) in worker.sums {
            let sum = sums.entry(key).or_default();
            *sum = sum.saturating_add(more);
        }
    }
}

impl Visitor for SnapshotVisitor<'_> {
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        if let Entry::Note(noted) = entry
            && let Note::Snapshot(snapshot) = noted.record
        {
            self.sample(&noted.with(snapshot.into()));
        }
    }
}
