//! The total wait and hold times of threads, by group of locks, which every log has.

use crate::{
    locks::GroupOf,
    numbers::Numbers,
    records::is_for_lock,
    survey::{LogSurvey, WaitTotal},
    window,
};
use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};
use tyrion_formats::{Lacks, Recording};
use tyrion_model::identity::{Locks, Node};
use tyrion_wire::{WaitKind, cost};

/// The acquisitions and holds of the locks of a group at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HoldTotal {
    pub(crate) acquisitions: u64,
    pub(crate) hold_ns: u64,
}

/// A group of locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupTotals {
    /// By thread.
    pub(crate) waited: BTreeMap<u32, WaitTotal>,
    /// By the lock's id.
    pub(crate) locks: BTreeMap<u32, u64>,
    /// By thread and place.
    pub(crate) taken: BTreeMap<(u32, u32), HoldTotal>,
    /// Whether threads wait there for something to happen, not for a lock.
    pub(crate) is_idle: bool,
}

/// What waits and holds of a recording add up to.
#[derive(Debug, Default)]
pub(crate) struct RecordingTotals {
    pub(crate) groups: BTreeMap<u32, GroupTotals>,
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

impl RecordingTotals {
    /// Those of logs, of which each was surveyed.
    pub(crate) fn of(
        logs: &[Recording],
        surveys: &[LogSurvey],
        numbers: &Numbers,
        group_of: GroupOf<'_>,
    ) -> RecordingTotals {
        let mut totals = RecordingTotals::default();
        let mut last_ns = None;
        for (run, (log, survey)) in logs.iter().zip(surveys).enumerate() {
            last_ns = last_ns.max(survey.last_ns);
            totals.add_waits((run, log), survey, numbers, group_of);
            totals.add_taken((run, log), numbers, group_of);
            let lacks = log.facts().lacks;
            totals.lacks.threads |= lacks.threads;
            totals.lacks.durations |= lacks.durations;
        }
        totals.times = window::worked(logs, last_ns.unwrap_or(u64::MAX));
        totals.recorded_ns = window::length_ns(&totals.times);
        totals.add_statistics(logs);
        totals
    }

    fn add_statistics(&mut self, logs: &[Recording]) {
        // Totals so far: those of the last file cover all files.
        let Some(last) = logs.iter().max_by_key(|log| log.start_ns()) else { return };
        let statistics = last.statistics();
        let number = |key: &str| statistics.get(key).copied();
        self.pair_ns = last.pair_ns();
        // Counted since the recording began, so useless if files of it are missing.
        let process_ns = number(cost::PROCESS).filter(|_| are_whole(logs));
        self.others = process_ns.and_then(|process_ns| {
            let all_ns = number(cost::MACHINE_ALL).filter(|&ns| ns != 0)?;
            let others_ns = number(cost::MACHINE_BUSY)?.saturating_sub(process_ns);
            Some((others_ns as f64 / all_ns as f64).min(1.0))
        });
        self.cpu_ns = process_ns.map(|process_ns| {
            let own = [cost::CALLBACKS, cost::THREADS, cost::PROBES];
            own.iter().filter_map(|key| number(key)).fold(process_ns, u64::saturating_sub)
        });
        let processors = last.facts().metadata("processors");
        self.processors = processors.and_then(|text| text.parse().ok()).filter(|&n| n > 0);
    }

    fn add_waits(
        &mut self,
        (run, log): (usize, &Recording),
        survey: &LogSurvey,
        numbers: &Numbers,
        group_of: GroupOf<'_>,
    ) {
        let locks = Locks::of(log);
        let mut groups: HashMap<Node, Option<u32>> = HashMap::new();
        for (&(thread, site), waited) in &survey.waits {
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
            group.waited.entry(numbers.thread(run, thread)).or_default().add(waited);
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
