//! What threads were doing in the snapshots that nobody asked for: few, so that they tell
//! what a program mostly does, and no more.

use super::{
    for_work::ForWork,
    groups::numberless,
    names,
    pass::is_jvms,
    program::ProgramCode,
    thread_group,
    unmounted::{self, Unmounted},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
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
    WaitKind,
    def::id::UNKNOWN,
    sample::{Sample, ThreadState},
};

/// All of the time but one part in so many is the whole.
const NOT_WHOLE: u64 = 10;

/// What threads were doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshots {
    /// In ascending order of threads, state and place.
    pub rows: Vec<SnapshotRow>,
    /// The same of virtual threads that have no carrier, which snapshots do not see: by their
    /// waits.
    pub unmounted: Vec<SnapshotRow>,
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
    /// What is called there, `java.net.Socket$SocketInputStream.read`; empty if nothing is.
    pub calls: String,
    /// The outermost frame that is not the JDK's: what the thread runs.
    pub root: String,
    /// The thread runs the program's own code and nobody else's.
    pub is_own_thread: bool,
    /// For how long, ns.
    pub wall_ns: u64,
}

impl Snapshots {
    /// How long threads were seen in a state in all, ns.
    pub fn of_state(&self, state: State) -> u64 {
        of_state(&self.rows, state)
    }

    /// How long virtual threads without a carrier were in a state in all, ns.
    pub fn unmounted_in(&self, state: State) -> u64 {
        of_state(&self.unmounted, state)
    }

    /// Virtual threads that waited and kept their carriers.
    pub fn pinned(&self) -> impl Iterator<Item = &SnapshotRow> {
        self.rows.iter().filter(|row| row.is_pinned)
    }

    /// Those of a thread, or of the threads of a group.
    pub fn of_threads(&self, threads: &str) -> impl Iterator<Item = &SnapshotRow> {
        let is_of = move |row: &&SnapshotRow| {
            !row.thread.is_empty()
                && (row.thread == threads
                    || thread_group(&row.thread) == threads
                    || numberless(&row.thread) == threads)
        };
        self.rows.iter().filter(is_of)
    }
}

fn of_state(rows: &[SnapshotRow], state: State) -> u64 {
    let rows = rows.iter().filter(|row| row.state == state);
    rows.fold(0, |sum, row| sum.saturating_add(row.wall_ns))
}

/// Sums them up, log by log.
#[derive(Default)]
pub(super) struct SnapshotSums {
    seen: RowSums,
    unmounted: RowSums,
}

/// By thread, state, whether it is pinned, and place.
type RowSums = BTreeMap<(String, State, bool, SeenPlace), u64>;

/// What is told of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SeenPlace {
    place: String,
    own: String,
    calls: String,
    root: String,
    is_own_thread: bool,
}

impl SeenPlace {
    fn of(frames: &[String], program: &ProgramCode) -> SeenPlace {
        let tells = |frame: &String| !is_jdk(frame) && !names::is_machinery(frame);
        let at = frames.iter().position(tells);
        let called = at.and_then(|at| frames.get(at.checked_sub(1)?));
        let method = |frame: &String| frame.split('(').next().unwrap_or_default().to_owned();
        SeenPlace {
            place: at.and_then(|at| frames.get(at)).cloned().unwrap_or_default(),
            own: program.place(frames).unwrap_or_default(),
            calls: called.map(method).unwrap_or_default(),
            root: frames.iter().rev().find(|it| tells(it)).cloned().unwrap_or_default(),
            is_own_thread: program.is_own_thread(frames),
        }
    }
}

impl SnapshotSums {
    /// The pass over a log is over, the `run`-th, whose waits for no lock are judged.
    pub(super) fn add(
        &mut self,
        asked: SnapshotQuestion<'_>,
        (judged, for_work): (&Withheld, &ForWork),
        run: usize,
        program: &ProgramCode,
    ) {
        let SnapshotQuestion { log, sums, .. } = asked;
        let names = Names(log);
        for unmounted in unmounted::find((run, log), judged, program) {
            let Unmounted { frames, state, wall_ns } = unmounted;
            let key = (String::new(), state, false, SeenPlace::of(&frames, program));
            let sum = self.unmounted.entry(key).or_default();
            *sum = sum.saturating_add(wall_ns);
        }
        let never_called: HashSet<u32> = log
            .pending()
            .iter()
            .filter(|pending| judged.is_never_called((run, log), pending))
            .map(|pending| pending.stack)
            .collect();
        let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut seen_ns: HashMap<u32, u64> = HashMap::new();
        for ((thread, ..), wall_ns) in &sums {
            let sum = seen_ns.entry(*thread).or_default();
            *sum = sum.saturating_add(*wall_ns);
        }
        let mut places: HashMap<u32, SeenPlace> = HashMap::new();
        for ((thread, stack, state, is_pinned), wall_ns) in sums {
            // Where no wait has ended, one that is seen all the time may have begun before
            // anything was recorded: nothing has come.
            let has_never_ended = || {
                let all_ns = seen_ns.get(&thread).copied().unwrap_or_default();
                let is_whole = thread == UNKNOWN || wall_ns >= all_ns - all_ns / NOT_WHOLE;
                let asked = (WaitKind::Park, stack, log.end_ns().saturating_sub(log.start_ns()));
                never_called.contains(&stack) || is_whole && !judged.is_asked((run, log), asked)
            };
            let is_idle = || match judged.why((run, log), stack) {
                Some(why) => why.verdict() == Verdict::Idle,
                None => has_never_ended(),
            };
            let is_for_work =
                || WaitKind::CONTENTION.iter().any(|kind| for_work.is_stack(run, *kind, stack));
            let state = match state {
                State::Waiting | State::Parked if is_idle() => State::Idle,
                State::Blocked if is_for_work() => State::Idle,
                state => state,
            };
            let thread = if thread == UNKNOWN { String::new() } else { names.thread(thread) };
            let place =
                places.entry(stack).or_insert_with(|| SeenPlace::of(&names.stack(stack), program));
            let sum = self.seen.entry((thread, state, is_pinned, place.clone())).or_default();
            *sum = sum.saturating_add(wall_ns);
        }
    }

    pub(super) fn finish(self) -> Snapshots {
        let row = |((thread, state, is_pinned, seen), wall_ns)| {
            let SeenPlace { place, own, calls, root, is_own_thread } = seen;
            SnapshotRow {
                thread,
                state,
                is_pinned,
                place,
                own,
                calls,
                root,
                is_own_thread,
                wall_ns,
            }
        };
        let rows = |rows: RowSums| rows.into_iter().map(row).collect();
        Snapshots { rows: rows(self.seen), unmounted: rows(self.unmounted) }
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
        let known = log.definitions().threads();
        let asks = |id: u32| match &filter.thread {
            _ if known.get(id).is_some_and(|it| is_jvms(log, it)) => false,
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
