//! Waits of which only sums are known, and that have no times of their own.

use super::Timeline;
use crate::{aggregate::known_thread, units};
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_wire::WaitKind;

/// Waits of one thread with one stack for one lock in one way, below the threshold of
/// their log: of each of them it is not known when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untimed {
    /// The log, an index into the timeline's logs.
    pub run: u32,
    /// Index into [`Profile::threads`](crate::profile::Profile::threads).
    pub thread: u32,
    /// The same by its id in the log.
    pub thread_id: u32,
    /// Index into [`Profile::stacks`](crate::profile::Profile::stacks).
    pub stack: u32,
    /// Index into [`Profile::locks`](crate::profile::Profile::locks).
    pub lock: u32,
    /// What kind of wait.
    pub kind: WaitKind,
    /// How many waits.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The longest of them, in ns.
    pub longest_ns: u64,
    /// Before which moment none of them began, in ns of the timeline's clock.
    pub first_ns: u64,
    /// After which moment none of them ended, in ns of the timeline's clock.
    pub last_ns: u64,
}

impl Untimed {
    fn add(&mut self, other: &Untimed) {
        self.count = self.count.saturating_add(other.count);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// Those that the filter asks for, in ascending order of thread, stack, lock and kind.
pub(super) fn of(timeline: &Timeline<'_>) -> Vec<Untimed> {
    let mut sums: BTreeMap<(u32, u32, u32, WaitKind), Untimed> = BTreeMap::new();
    for (run, log) in (0u32..).zip(timeline.source.logs) {
        let at = run as usize;
        let (Some(ids), Some(window)) = (timeline.source.ids.get(at), timeline.windows.get(at))
        else {
            continue;
        };
        let cells = log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk));
        for cell in cells {
            let part = window.part_of_cell(&cell);
            let thread_id = known_thread(log, cell.thread);
            let known = ids.thread(thread_id).zip(ids.site(cell.site));
            let Some((thread, (stack, lock, kind))) = known.filter(|_| part.count != 0) else {
                continue;
            };
            let stack = timeline.kept.get(stack as usize).copied().unwrap_or(stack);
            let untimed = Untimed {
                run,
                thread,
                thread_id,
                stack,
                lock,
                kind,
                count: part.count,
                wait_ns: part.wait_ns,
                longest_ns: part.max_ns,
                first_ns: timeline.axis.at(run, cell.first_ns),
                last_ns: timeline.axis.at(run, cell.last_ns.max(cell.first_ns)),
            };
            let key = (thread, stack, lock, kind);
            sums.entry(key).and_modify(|sum| sum.add(&untimed)).or_insert(untimed);
        }
    }
    sums.into_values().collect()
}

/// What is to be told of them: of those below the threshold of their log, and of those
/// whose format does not tell when they were.
pub(super) fn notes(all: &[Untimed], logs: &[Recording]) -> Vec<String> {
    let lacks_times =
        |it: &&Untimed| logs.get(it.run as usize).is_some_and(|log| log.facts().lacks.times);
    let short = "waits below the log's threshold are summed when they are recorded";
    let (untold, summed): (Vec<&Untimed>, Vec<&Untimed>) = all.iter().partition(lacks_times);
    [(summed, short), (untold, "some formats do not tell when threads waited")]
        .into_iter()
        .filter_map(|(sums, why)| note(&sums, why))
        .collect()
}

fn note(sums: &[&Untimed], why: &str) -> Option<String> {
    let sum = |of: fn(&Untimed) -> u64| sums.iter().map(|it| of(it)).fold(0, u64::saturating_add);
    let (count, wait_ns) = (sum(|it| it.count), sum(|it| it.wait_ns));
    (count != 0).then(|| {
        format!(
            "without times: {} ({}), since {why}; they are shown as sums",
            units::counted(count, "wait"),
            units::duration(wait_ns)
        )
    })
}
