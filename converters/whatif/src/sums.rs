//! The total wait and hold times of threads, by group of locks, which every log has.

use crate::{locks::GroupOf, numbers::Numbers, records::is_for_lock, window};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use tyrion_formats::{Lacks, Recording};
use tyrion_model::identity::{Locks, Node};
use tyrion_wire::WaitKind;

/// The waits of a thread for locks of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) count: u64,
    pub(crate) wait_ns: u64,
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
    /// How long the recording was on, in ns.
    pub(crate) recorded_ns: u64,
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
        for (run, log) in logs.iter().enumerate() {
            let own = chunks.par_iter().filter(|chunk| chunk.0 == run);
            let waits = own.map(|(_, chunk)| waits(log, chunk)).reduce(BySite::new, merged);
            let waits = merged(waits, folded(log));
            sums.add_waits((run, log), waits, numbers, group_of);
            sums.add_taken((run, log), numbers, group_of);
            let lacks = log.facts().lacks;
            sums.lacks.threads |= lacks.threads;
            sums.lacks.durations |= lacks.durations;
            sums.recorded_ns = sums.recorded_ns.saturating_add(recorded_ns(log));
        }
        // Totals so far: those of the last file cover all files.
        let last = logs.iter().max_by_key(|log| log.start_ns());
        if let Some(last) = last {
            let statistics = last.statistics();
            let number = |key: &str| statistics.get(key).copied();
            sums.pair_ns = last.pair_ns();
            // Counted since the recording began, so useless if files of it are missing.
            let process_ns = number("cpu.process_ns").filter(|_| are_whole(logs));
            sums.cpu_ns = process_ns.map(|process_ns| {
                let own = ["cpu.callbacks_ns", "cpu.threads_ns", "cpu.probes_ns"];
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
            let sum = group.waited.entry(numbers.thread(run, thread)).or_default();
            sum.count = sum.count.saturating_add(waited.count);
            sum.wait_ns = sum.wait_ns.saturating_add(waited.wait_ns);
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

fn recorded_ns(log: &Recording) -> u64 {
    log.recorded_waits().iter().map(|part| part.end - part.start).fold(0, u64::saturating_add)
}

/// Whether these are all files of their recording.
fn are_whole(logs: &[Recording]) -> bool {
    let number = |log: &Recording| log.facts().metadata("file-number")?.parse::<u64>().ok();
    let last = logs.iter().map(|log| number(log).unwrap_or(0)).max().unwrap_or(0);
    last == logs.len() as u64 - 1
}

/// The waits of a chunk.
fn waits(log: &Recording, chunk: &tyrion_formats::ChunkRef) -> BySite {
    let mut sums = BySite::new();
    if let Ok(mut events) = log.events(chunk) {
        events.visit(|wait| {
            let sum = sums.entry((wait.thread, wait.site)).or_default();
            sum.count += 1;
            sum.wait_ns = sum.wait_ns.saturating_add(wait.wait_ns());
        });
    }
    sums
}

/// The waits of a log that have no record of their own.
fn folded(log: &Recording) -> BySite {
    let mut sums = BySite::new();
    for cell in log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)) {
        let sum = sums.entry((cell.thread, cell.site)).or_default();
        sum.count = sum.count.saturating_add(cell.count);
        sum.wait_ns = sum.wait_ns.saturating_add(cell.sum_ns);
    }
    sums
}

fn merged(mut sums: BySite, more: BySite) -> BySite {
    if sums.len() < more.len() {
        return merged(more, sums);
    }
    for (key, waited) in more {
        let sum = sums.entry(key).or_default();
        sum.count = sum.count.saturating_add(waited.count);
        sum.wait_ns = sum.wait_ns.saturating_add(waited.wait_ns);
    }
    sums
}
