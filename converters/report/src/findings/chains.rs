//! Who waits for whom, who waits for whom: chains of waits, up to a thread that
//! does not wait.

mod charge;
mod gather;
mod longest;
mod numbers;
mod short;
mod sums;
#[cfg(test)]
mod tests;

pub use charge::End;
pub use sums::{ChainStep, WaitChain};

use super::axis::{Axis, Clock, Grid};
use charge::Asked;
use charge::{Chains, Piece, Wait};
use gather::Gathered;
use numbers::{Plan, Threads};
use rayon::prelude::*;
use short::{Place, Shorts};
use std::{cmp::Reverse, collections::BTreeMap};
use sums::{ChainSums, Charge};
use tyrion_converters::{filter::Filter, lives::recordings};
use tyrion_formats::Recording;
use tyrion_wire::def::id::UNKNOWN;

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
    /// The durations of these added up, in ns.
    pub pending_ns: u64,
    /// How long those took that had ended and were for locks, in ns.
    pub contention_ns: u64,
    /// The chains, those with the most wait first. Together they have all of it.
    pub chains: Vec<WaitChain>,
    /// The length of a phase, in ns: that of the axis, or a multiple of it.
    pub phase_ns: u64,
    /// How many phases there are.
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

/// Those of logs, which are read once more for it, unless nobody is known to have
/// had a lock: `is_known` says whether anybody is of the waits that have ended and
/// that the filter asks for. `is_whole` says that all checksums held.
pub(super) fn find(
    logs: &[Recording],
    filter: &Filter,
    axis: &Axis,
    (is_known, is_whole): (bool, bool),
) -> WaitChains {
    find_in((logs, Gathered::default), filter, axis, (is_known, is_whole))
}

fn find_in(
    (logs, new): (&[Recording], impl Fn() -> Gathered),
    filter: &Filter,
    axis: &Axis,
    (is_known, is_whole): (bool, bool),
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
        let (mut threads, mut gathered) = (Threads::default(), new());
        let clock = Clock::new(first, axis);
        for log in logs {
            let plan = Plan::new(log, filter, &mut threads, &mut sums);
            let place = Place { groups: &threads.groups, clock, grid };
            gathered.gather(log, (&filter.window(log), is_whole), &plan, place);
        }
        charge(gathered, &threads.groups, clock, &mut sums);
    }
    let (waits, wait_ns) = (sums.waits, sums.wait_ns);
    let (pending, pending_ns, contention_ns) = (sums.pending, sums.pending_ns, sums.contention_ns);
    WaitChains {
        waits,
        wait_ns,
        pending,
        pending_ns,
        contention_ns,
        chains: sums.finish(),
        phase_ns: grid.step_ns,
        phases: grid.len(),
        duration_ns: grid.end_ns,
    }
}

/// Charges all waits of a recording that are asked for.
fn charge(gathered: Gathered, groups: &[u32], clock: Clock, sums: &mut ChainSums) {
    let (mut all, shorts) = gathered.into_parts(groups.len());
    // The longest first: where there are too many pieces, these are followed. Beyond
    // that any order would do, but always the same one.
    all.par_sort_unstable_by_key(|&(wait, asked)| (Reverse(wait.length_ns()), wait, asked));
    let (waits, asked): (Vec<Wait>, Vec<Asked>) = all.into_iter().unzip();
    let group = |thread: u32| groups.get(thread as usize).copied();
    let mut chains = Chains::new(&waits, groups.len(), MOST_PIECES);
    let mut steps = Vec::new();
    for ((wait, asked), at) in waits.iter().zip(asked).zip(0..) {
        if asked == Asked::Nothing {
            continue;
        }
        sums.begin(wait.what, wait.length_ns(), asked == Asked::ChargePending);
        chains.charge(at, &mut |piece: Piece<'_>| {
            let waits = piece.steps.iter().filter_map(|&step| waits.get(step as usize));
            steps.clear();
            steps.extend(waits.filter_map(|wait| Some((group(wait.thread)?, wait.what))));
            sums.add(Charge {
                steps: &steps,
                root: group(piece.root),
                end: piece.end,
                ns: piece.to_ns.saturating_sub(piece.from_ns),
                span: (clock.at(piece.from_ns), clock.at(piece.to_ns)),
            });
        });
    }
    add_shorts(shorts, sums);
}

fn add_shorts(shorts: Shorts, sums: &mut ChainSums) {
    for (key, charged) in shorts.finish() {
        sums.add_short(key, &charged);
    }
}
