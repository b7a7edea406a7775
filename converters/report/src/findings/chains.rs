//! Who waits for whom, who waits for whom: chains of waits, up to a thread that
//! does not wait.

mod charge;
mod gather;
mod longest;
mod sums;
#[cfg(test)]
mod tests;

pub use charge::End;
pub use sums::{ChainStep, WaitChain};

use super::{
    axis::{Axis, Clock, Grid},
    groups::{LockRef, thread_group},
};
use charge::{Chains, NOBODY, Piece, Wait};
use gather::{Gathered, LogWait};
use longest::Longest;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use sums::{ChainSums, Charge};
use tyrion_converters::{describe::Names, filter::Filter, lives::recordings};
use tyrion_formats::Recording;
use tyrion_wire::{WaitKind, def::id::UNKNOWN};

/// At most so many phases.
const MOST_PHASES: usize = 120;
/// At most so many pieces of waits are followed.
const MOST_PIECES: u64 = 1 << 22;

/// Waits whose lock's owner is known, charged to whom the owner waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitChains {
    /// How many waits there are, those included that had not ended when the log
    /// did.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// How many of them had not ended.
    pub pending: u64,
    /// The chains, those with the most wait first. Together they have all of it.
    pub chains: Vec<WaitChain>,
    /// The length of a phase, in ns: that of the axis, or a multiple of it.
    pub phase_ns: u64,
    /// How many phases there are, and where the last one ends.
    pub phases: usize,
    /// From the axis' start to its end, in ns.
    pub duration_ns: u64,
}

/// The phases of the axis, or as many of them together as there may be.
fn grid(axis: &Axis) -> Grid {
    let phases = axis.phases();
    let times = phases.len().div_ceil(MOST_PHASES).max(1) as u64;
    Grid { step_ns: phases.step_ns.saturating_mul(times), ..phases }
}

/// Those of logs. `is_known` says whether the owner of any wait is that ended and
/// that the filter asks for.
pub(super) fn find(
    logs: &[Recording],
    filter: &Filter,
    axis: &Axis,
    is_known: bool,
) -> WaitChains {
    let grid = grid(axis);
    let mut sums = ChainSums::new(grid);
    let is_known_of = |log: &Recording| log.pending().iter().any(|it| it.owner != UNKNOWN);
    let logs = if is_known || logs.iter().any(is_known_of) { logs } else { &[] };
    let mut of_recordings: BTreeMap<u32, Vec<&Recording>> = BTreeMap::new();
    for (log, recording) in logs.iter().zip(recordings(logs)) {
        of_recordings.entry(recording).or_default().push(log);
    }
    for logs in of_recordings.into_values() {
        // All files of a recording have one clock.
        let Some(first) = logs.first() else { continue };
        let mut recording = OfRecording::new(filter, Clock::new(first, axis));
        logs.iter().for_each(|log| recording.gather(log, &mut sums));
        recording.charge(&mut sums);
    }
    let (waits, wait_ns, pending) = (sums.waits, sums.wait_ns, sums.pending);
    WaitChains {
        waits,
        wait_ns,
        pending,
        chains: sums.finish(),
        phase_ns: grid.step_ns,
        phases: grid.len(),
        duration_ns: grid.end_ns,
    }
}

/// The waits of a recording.
struct OfRecording<'a> {
    filter: &'a Filter,
    clock: Clock,
    /// Numbers of threads by `Thread.getId()`, and the group of each.
    threads: HashMap<u64, u32>,
    groups: Vec<u32>,
    /// With what is asked of each.
    waits: Vec<(Wait, Asked)>,
}

/// What the filter asks of a wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    /// That it is charged.
    Charge,
    /// The same, and it had not ended.
    ChargePending,
    /// Nothing: it may stand in the chains of others.
    Nothing,
}

impl<'a> OfRecording<'a> {
    fn new(filter: &'a Filter, clock: Clock) -> OfRecording<'a> {
        let (threads, groups, waits) = Default::default();
        OfRecording { filter, clock, threads, groups, waits }
    }

    /// Takes up the waits of one of its files.
    fn gather(&mut self, log: &Recording, sums: &mut ChainSums) {
        let window = self.filter.window(log);
        let gathered = Gathered::of(log, &window);
        let mut ids =
            Ids { log, filter: self.filter, threads: HashMap::new(), whats: HashMap::new() };
        gathered.for_each_short(log, &window, |wait| self.charge_short(wait, &mut ids, sums));
        let both = [gathered.owned, gathered.others];
        let mut all: Vec<LogWait> = both.into_iter().flat_map(Longest::into_entries).collect();
        // Workers give them in no order.
        all.sort_unstable();
        for wait in all {
            let found = self.wait(&wait, &mut ids, sums);
            self.waits.push(found);
        }
    }

    /// A wait by numbers of the recording.
    fn wait(&mut self, wait: &LogWait, ids: &mut Ids<'_>, sums: &mut ChainSums) -> (Wait, Asked) {
        let (thread, wants_thread) = ids.thread(wait.thread, self, sums);
        let (what, wants_lock) = ids.what(wait.lock, wait.kind, sums);
        let owner = match wait.owner {
            UNKNOWN => NOBODY,
            owner => ids.thread(owner, self, sums).0,
        };
        let kind = self.filter.kinds.contains(wait.kind);
        let asked = match owner != NOBODY && kind && wants_thread && wants_lock && wait.is_asked {
            true if wait.is_pending => Asked::ChargePending,
            true => Asked::Charge,
            false => Asked::Nothing,
        };
        let LogWait { start_ns, end_ns, .. } = *wait;
        // Locks that are not known are all different.
        let lock =
            if wait.lock == UNKNOWN { u32::MAX - self.waits.len() as u32 } else { wait.lock };
        (Wait { thread, start_ns, end_ns, owner, lock, what }, asked)
    }

    /// Charges a wait that is too short to be followed to the owner itself.
    fn charge_short(&mut self, wait: LogWait, ids: &mut Ids<'_>, sums: &mut ChainSums) {
        let (wait, asked) = self.wait(&wait, ids, sums);
        if asked != Asked::Nothing {
            self.begin(&wait, asked, sums);
            let span = (wait.start_ns, wait.end_ns);
            let step = (self.group(wait.thread), wait.what);
            self.add(&[step], (wait.owner, End::NotFollowed), span, sums);
        }
    }

    fn group(&self, thread: u32) -> u32 {
        self.groups.get(thread as usize).copied().unwrap_or(NOBODY)
    }

    fn begin(&self, wait: &Wait, asked: Asked, sums: &mut ChainSums) {
        let wait_ns = wait.end_ns.saturating_sub(wait.start_ns);
        sums.begin(wait_ns, asked == Asked::ChargePending);
    }

    fn add(
        &self,
        steps: &[(u32, u32)],
        (root, end): (u32, End),
        (from_ns, to_ns): (u64, u64),
        sums: &mut ChainSums,
    ) {
        sums.add(Charge {
            steps,
            root: (root != NOBODY).then(|| self.group(root)),
            end,
            ns: to_ns.saturating_sub(from_ns),
            span: (self.clock.at(from_ns), self.clock.at(to_ns)),
        });
    }

    /// Charges all that is asked for.
    fn charge(mut self, sums: &mut ChainSums) {
        // The longest first: where there are too many, these are followed.
        let mut all = std::mem::take(&mut self.waits);
        all.sort_by_key(|(wait, asked)| {
            (Reverse(wait.end_ns.saturating_sub(wait.start_ns)), *wait, *asked)
        });
        let (waits, asked): (Vec<Wait>, Vec<Asked>) = all.into_iter().unzip();
        let mut chains = Chains::new(&waits, self.groups.len(), MOST_PIECES);
        let mut steps = Vec::new();
        for ((wait, asked), at) in waits.iter().zip(asked).zip(0..) {
            if asked == Asked::Nothing {
                continue;
            }
            self.begin(wait, asked, sums);
            chains.charge(at, &mut |piece: Piece<'_>| {
                let waits = piece.steps.iter().filter_map(|&step| waits.get(step as usize));
                steps.clear();
                steps.extend(waits.map(|wait| (self.group(wait.thread), wait.what)));
                self.add(&steps, (piece.root, piece.end), (piece.from_ns, piece.to_ns), sums);
            });
        }
    }
}

/// Numbers for the ids of a log, and whether the filter wants them.
struct Ids<'a> {
    log: &'a Recording,
    filter: &'a Filter,
    threads: HashMap<u32, (u32, bool)>,
    whats: HashMap<(u32, WaitKind), (u32, bool)>,
}

impl Ids<'_> {
    fn thread(&mut self, id: u32, of: &mut OfRecording<'_>, sums: &mut ChainSums) -> (u32, bool) {
        let (log, filter) = (self.log, self.filter);
        *self.threads.entry(id).or_insert_with(|| {
            let name = Names(log).thread(id);
            let java_id = log.definitions().threads().get(id).map_or(0, |thread| thread.java_id);
            let next = of.groups.len() as u32;
            let number = *of.threads.entry(java_id).or_insert(next);
            if number == next {
                of.groups.push(sums.groups.number(thread_group(&name)));
            }
            (number, filter.thread.as_ref().is_none_or(|regex| regex.is_match(&name)))
        })
    }

    fn what(&mut self, lock: u32, kind: WaitKind, sums: &mut ChainSums) -> (u32, bool) {
        let (log, filter) = (self.log, self.filter);
        *self.whats.entry((lock, kind)).or_insert_with(|| {
            let names = Names(log);
            let (class, name) = names.lock_parts(lock);
            let wanted = filter.lock.as_ref();
            let is_wanted = wanted.is_none_or(|regex| names.lock_matches(regex, lock));
            (sums.whats.number((LockRef { name, class, id: 0 }, kind)), is_wanted)
        })
    }
}
