//! The total wait and hold times of threads, by group of locks, which every log has.

use crate::{
    locks::GroupOf,
    numbers::Numbers,
    records::{Looked, is_for_lock},
    window,
};
use rayon::prelude::*;
use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};
use tyrion_formats::{ChunkRef, Entry, Lacks, Note, Recording};
use tyrion_model::{
    identity::{Locks, Node},
    profile::State,
    states::StateReader,
};
use tyrion_wire::{WaitKind, cost};

/// Waits added up: of a thread, or at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) count: u64,
    pub(crate) wait_ns: u64,
    /// For how much wait agents have looked at the owner, in ns, and for how much of that it
    /// waited for work itself, such as a selector.
    pub(crate) looked_ns: u64,
    pub(crate) idle_ns: u64,
}

impl Waited {
    fn add(&mut self, more: &Waited) {
        self.count = self.count.saturating_add(more.count);
        self.wait_ns = self.wait_ns.saturating_add(more.wait_ns);
        self.looked_ns = self.looked_ns.saturating_add(more.looked_ns);
        self.idle_ns = self.idle_ns.saturating_add(more.idle_ns);
    }
}

/// The acquisitions and holds of the locks of a group at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) acquisitions: u64,
    pub(crate) hold_ns: u64,
}

/// A group of locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupSums {
    /// By thread.
    pub(crate) waited: BTreeMap<u32, Waited>,
    /// By the lock's id.
    pub(crate) locks: BTreeMap<u32, u64>,
    /// By thread and place.
    pub(crate) taken: BTreeMap<(u32, u32), Taken>,
    /// Whether threads wait there for something to happen, not for a lock.
    pub(crate) is_idle: bool,
}

/// The sums of a recording.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) groups: BTreeMap<u32, GroupSums>,
    /// What the logs do not tell of waits.
    pub(crate) lacks: Lacks,
    /// When the recording was on and the program worked, monotonic ns.
    pub(crate) times: Vec<Range<u64>>,
    /// How long that is, in ns.
    pub(crate) recorded_ns: u64,
    /// The share of the machine's processors that other programs had, if it is known.
    pub(crate) others: Option<f64>,
    /// The CPU time of the program without the agent, in ns, if it is known.
    pub(crate) cpu_ns: Option<u64>,
    /// The number of processors, if it is known.
    pub(crate) processors: Option<u32>,
    /// The cost of the two probes of an acquisition, in ns, if it is known.
    pub(crate) pair_ns: Option<u64>,
}

/// Waits by thread and site of a log.
type BySite = HashMap<(u32, u32), Waited>;

impl Sums {
    pub(crate) fn read(logs: &[Recording], numbers: &Numbers, group_of: GroupOf<'_>) -> Sums {
        let mut sums = Sums::default();
        let chunks = window::chunks(logs);
        let mut last_ns = None;
        for (run, log) in logs.iter().enumerate() {
            let own = chunks.par_iter().filter(|chunk| chunk.0 == run);
            let states = StateReader::new(log);
            let read = own.map(|(_, chunk)| Part::read(log, chunk, &states));
            let part = Part::folded(log).merged(read.reduce(Part::default, Part::merged));
            last_ns = last_ns.max(part.last_ns);
            sums.add_waits((run, log), part.waits, numbers, group_of);
            sums.add_taken((run, log), numbers, group_of);
            let lacks = log.facts().lacks;
            sums.lacks.threads |= lacks.threads;
            sums.lacks.durations |= lacks.durations;
        }
        sums.times = window::worked(logs, last_ns.unwrap_or(u64::MAX));
        sums.recorded_ns = window::length_ns(&sums.times);
        // Totals so far: those of the last file cover all files.
        let last = logs.iter().max_by_key(|log| log.start_ns());
        if let Some(last) = last {
            let statistics = last.statistics();
            let number = |key: &str| statistics.get(key).copied();
            sums.pair_ns = last.pair_ns();
            // Counted since the recording began, so useless if files of it are missing.
            let process_ns = number(cost::PROCESS).filter(|_| are_whole(logs));
            sums.others = process_ns.and_then(|process_ns| {
                let all_ns = number(cost::MACHINE_ALL).filter(|&ns| ns != 0)?;
                let others_ns = number(cost::MACHINE_BUSY)?.saturating_sub(process_ns);
                Some((others_ns as f64 / all_ns as f64).min(1.0))
            });
            sums.cpu_ns = process_ns.map(|process_ns| {
                let own = [cost::CALLBACKS, cost::THREADS, cost::PROBES];
                own.iter().filter_map(|key| number(key)).fold(process_ns, u64::saturating_sub)
            });
            let processors = last.facts().metadata("processors");
            sums.processors = processors.and_then(|text| text.parse().ok()).filter(|&n| n > 0);
        }
        sums
    }

    fn add_waits(
        &mut self,
        (run, log): (usize, &Recording),
        waits: BySite,
        numbers: &Numbers,
        group_of: GroupOf<'_>,
    ) {
        let locks = Locks::of(log);
        let mut groups: HashMap<Node, Option<u32>> = HashMap::new();
        for ((thread, site), waited) in waits {
            let Some(site) = log.definitions().sites().get(site) else { continue };
            let node = locks.at_site(site);
            let group = *groups.entry(node).or_insert_with(|| {
                let (class, name) = locks.label(node);
                group_of(&class, &name)
            });
            let Some(group) = group else { continue };
            let group = self.groups.entry(group).or_default();
            if !is_for_lock(site.kind) {
                group.is_idle |= site.kind != WaitKind::Park;
                continue;
            }
            group.waited.entry(numbers.thread(run, thread)).or_default().add(&waited);
            let of_lock = group.locks.entry(site.lock).or_default();
            *of_lock = of_lock.saturating_add(waited.wait_ns);
        }
    }

    fn add_taken(
        &mut self,
        (run, log): (usize, &Recording),
        numbers: &Numbers,
        group_of: GroupOf<'_>,
    ) {
        let (mode, locks) = (log.hold_mode(), Locks::of(log));
        let mut groups: HashMap<(u32, u32), Option<u32>> = HashMap::new();
        let cells = log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk));
        for cell in cells {
            let group = *groups.entry((cell.class, cell.place)).or_insert_with(|| {
                let (class, name) = locks.label(locks.at_place(cell.place, cell.class));
                group_of(&class, &name)
            });
            let Some(group) = group else { continue };
            let key = (numbers.thread(run, cell.thread), cell.place);
            let sum = self.groups.entry(group).or_default().taken.entry(key).or_default();
            sum.acquisitions = sum.acquisitions.saturating_add(cell.acquisitions);
            sum.hold_ns = sum.hold_ns.saturating_add(mode.estimate_ns(&cell));
        }
    }
}

/// Whether these are all files of their recording.
fn are_whole(logs: &[Recording]) -> bool {
    let number = |log: &Recording| log.facts().metadata("file-number")?.parse::<u64>().ok();
    let last = logs.iter().map(|log| number(log).unwrap_or(0)).max().unwrap_or(0);
    last == logs.len() as u64 - 1
}

/// What a part of a log says of waits.
#[derive(Debug, Default)]
struct Part {
    waits: BySite,
    /// The moment of its last record, monotonic ns.
    last_ns: Option<u64>,
}

impl Part {
    /// A chunk of events.
    fn read(log: &Recording, chunk: &ChunkRef, states: &StateReader<'_>) -> Part {
        let mut part = Part::default();
        // Damage is reported by the code that reads the log first.
        let Ok(mut events) = log.events(chunk) else { return part };
        events.visit_all(|entry| {
            part.last_ns = part.last_ns.max(Some(entry.at_ns()));
            match entry {
                Entry::Wait(wait) => {
                    let (count, wait_ns) = (1, wait.wait_ns());
                    part.add(
                        (wait.thread, wait.site),
                        Waited { count, wait_ns, ..Waited::default() },
                    );
                }
                Entry::Note(noted) => {
                    let Note::Holder(holder) = noted.record else { return };
                    let looked = Looked::of(&noted.with(holder), log, states);
                    let looked_ns = holder.stands_for_ns;
                    let idle_ns = if looked.state == Some(State::Idle) { looked_ns } else { 0 };
                    let key = (noted.thread, holder.site);
                    part.add(key, Waited { looked_ns, idle_ns, ..Waited::default() });
                }
            }
        });
        part
    }

    /// The waits of a log that have no record of their own.
    fn folded(log: &Recording) -> Part {
        let mut part = Part::default();
        for cell in log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)) {
            part.last_ns = part.last_ns.max(Some(cell.last_ns));
            let (count, wait_ns) = (cell.count, cell.sum_ns);
            part.add((cell.thread, cell.site), Waited { count, wait_ns, ..Waited::default() });
        }
        part
    }

    fn add(&mut self, key: (u32, u32), waited: Waited) {
        self.waits.entry(key).or_default().add(&waited);
    }

    fn merged(mut self, more: Part) -> Part {
        if self.waits.len() < more.waits.len() {
            return more.merged(self);
        }
        self.last_ns = self.last_ns.max(more.last_ns);
        more.waits.into_iter().for_each(|(key, waited)| self.add(key, waited));
        self
    }
}
