//! Who waits for whom, who waits for whom: chains of waits, up to a thread that
//! does not wait. Waits for locks are charged to them, and, apart from these, waits
//! that are for no lock but keep threads from work.

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
use charge::{Chains, Demand, Piece, Wait};
pub(super) use gather::MOST;
use gather::{ChainQuestion, ChainWaits};
use numbers::{Plan, Threads};
use rayon::prelude::*;
use short::Shorts;
use std::{cmp::Reverse, sync::Mutex};
use sums::{ChainNames, ChainSums, Charge};
use tyrion_formats::Recording;
use tyrion_model::{filter::Filter, withheld::Withheld};
use tyrion_wire::{WaitKind, def::id::UNKNOWN};

/// At most so many phases.
const MOST_PHASES: usize = 120;
/// At most so many pieces of waits for locks are followed, and as many of others.
const MOST_PIECES: u64 = 1 << 22;

/// Waits for locks of which it is known who had the lock, or else who ended them, charged
/// to whom that one waited for.
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
    pub of_locks_ns: u64,
    /// The chains, those with the most wait first. Together they have all of it.
    pub chains: Vec<WaitChain>,
    /// The length of a phase, in ns: that of the axis, or a multiple of it.
    pub phase_ns: u64,
    /// How many phases there are.
    pub phases: usize,
    /// From the axis' start to its end, in ns.
    pub duration_ns: u64,
    /// The same of waits that are not for a lock.
    pub withheld: WithheldChains,
}

/// Waits that are not for a lock and kept threads from work, if it is known who ended
/// them, whatever kinds the filter asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WithheldChains {
    /// How many waits.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The chains, those with the most wait first. Together they have all of it.
    pub chains: Vec<WaitChain>,
}

/// Charges under way: of waits for locks, and of those that withhold work.
struct Sums {
    known: ChainNames,
    locks: ChainSums,
    withheld: ChainSums,
}

/// The phases of the axis, or as many of them together as there may be.
fn grid(axis: &Axis) -> Grid {
    let phases = axis.phases();
    let times = phases.len().div_ceil(MOST_PHASES).max(1) as u64;
    Grid { step_ns: phases.step_ns.saturating_mul(times), ..phases }
}

/// Whether a log may tell who ended waits: of monitors none does.
fn tells_wakers(log: &Recording) -> bool {
    let mut sites = log.definitions().sites().iter();
    log.has_wakers() && sites.any(|(_, site)| site.kind != WaitKind::Monitor)
}

/// Follows waits, log by log: all logs of a recording one after the other.
pub(super) struct ChainSearch<'f> {
    filter: &'f Filter,
    axis: &'f Axis,
    withheld: &'f Withheld,
    grid: Grid,
    sums: Sums,
    /// So many waits of each sort are followed.
    most: usize,
    current: Option<RecordingChains>,
    /// Whether a log is known to tell whom threads wait for.
    is_known: bool,
}

/// What was gathered of a recording.
struct RecordingChains {
    number: u32,
    threads: Threads,
    gathered: ChainWaits,
    /// All files of a recording have one clock.
    clock: Clock,
}

impl<'f> ChainSearch<'f> {
    pub(super) fn new(
        filter: &'f Filter,
        axis: &'f Axis,
        withheld: &'f Withheld,
        most: usize,
    ) -> ChainSearch<'f> {
        let grid = grid(axis);
        let sums = Sums::new(grid);
        ChainSearch { filter, axis, withheld, grid, sums, most, current: None, is_known: false }
    }

    /// What is to be asked of a log, the `run`-th, of this recording.
    pub(super) fn asking(
        &mut self,
        (run, log): (usize, &Recording),
        recording: u32,
    ) -> ChainQuestion<'_> {
        self.is_known |= tells_wakers(log) || log.pending().iter().any(|it| it.owner != UNKNOWN);
        if self.current.as_ref().is_some_and(|current| current.number != recording) {
            self.charge();
        }
        let current = self.current.get_or_insert_with(|| RecordingChains {
            number: recording,
            threads: Threads::default(),
            gathered: ChainWaits::with_room(self.most),
            clock: Clock::new(log, self.axis),
        });
        let withheld = (self.withheld, run);
        let RecordingChains { threads, gathered, clock, .. } = current;
        let plan = Plan::new(log, self.filter, withheld, threads, &mut self.sums.known);
        ChainQuestion {
            window: self.filter.window(log),
            plan,
            clock: *clock,
            grid: self.grid,
            groups: threads.groups.clone(),
            all: Mutex::new(gathered),
        }
    }

    fn charge(&mut self) {
        if let Some(RecordingChains { threads, gathered, clock, .. }) = self.current.take() {
            charge(gathered, &threads.groups, clock, &mut self.sums);
        }
    }

    /// The chains: none if nobody is known to have had a lock, or to have ended a wait.
    /// `is_known` says whether anybody is known to have had one of those waits for it that
    /// have ended and that the filter asks for.
    pub(super) fn finish(mut self, is_known: bool) -> WaitChains {
        self.charge();
        let sums = if is_known || self.is_known { self.sums } else { Sums::new(self.grid) };
        sums.finish(self.grid)
    }
}

impl Sums {
    fn new(grid: Grid) -> Sums {
        let (locks, withheld) = (ChainSums::new(grid), ChainSums::new(grid));
        Sums { known: ChainNames::default(), locks, withheld }
    }

    fn finish(self, grid: Grid) -> WaitChains {
        let Sums { known, locks, withheld } = self;
        WaitChains {
            waits: locks.waits,
            wait_ns: locks.wait_ns,
            pending: locks.pending,
            pending_ns: locks.pending_ns,
            of_locks_ns: locks.of_locks_ns,
            phase_ns: grid.step_ns,
            phases: grid.len(),
            duration_ns: grid.end_ns,
            withheld: WithheldChains {
                waits: withheld.waits,
                wait_ns: withheld.wait_ns,
                chains: withheld.finish(&known),
            },
            chains: locks.finish(&known),
        }
    }
}

/// Charges all waits of a recording that are asked for.
fn charge(gathered: ChainWaits, groups: &[u32], clock: Clock, sums: &mut Sums) {
    let (mut all, [shorts, withheld_shorts]) = gathered.into_parts(groups.len());
    // The longest first: where there are too many pieces, these are followed. Beyond
    // that any order would do, but always the same one.
    all.par_sort_unstable_by_key(|&(wait, asked)| (Reverse(wait.length_ns()), wait, asked));
    let (waits, asked): (Vec<Wait>, Vec<Demand>) = all.into_iter().unzip();
    let chains = Chains::new(&waits, groups.len(), 0);
    let Sums { known, locks, withheld } = sums;
    let charger = Charger { waits: &waits, chains: &chains, groups, clock, known };
    let of_locks = || {
        charger.charge(&asked, &[Demand::Charge, Demand::ChargePending], locks);
        add_shorts(shorts, known, locks);
    };
    let of_withheld = || {
        charger.charge(&asked, &[Demand::ChargeWithheld], withheld);
        add_shorts(withheld_shorts, known, withheld);
    };
    rayon::join(of_locks, of_withheld);
}

/// Charges waits of a recording.
struct Charger<'c> {
    waits: &'c [Wait],
    chains: &'c Chains<'c>,
    groups: &'c [u32],
    clock: Clock,
    known: &'c ChainNames,
}

impl Charger<'_> {
    /// Those of which one of these is asked, in their order.
    fn charge(&self, asked: &[Demand], which: &[Demand], sums: &mut ChainSums) {
        let Charger { waits, groups, clock, known, .. } = self;
        let group = |thread: u32| groups.get(thread as usize).copied();
        let mut steps = Vec::new();
        let mut chains = self.chains.with_left(MOST_PIECES);
        for ((wait, asked), at) in waits.iter().zip(asked).zip(0..) {
            if !which.contains(asked) {
                continue;
            }
            sums.begin(known, wait.what, wait.length_ns(), *asked == Demand::ChargePending);
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
    }
}

fn add_shorts(shorts: Shorts, known: &ChainNames, sums: &mut ChainSums) {
    for (key, charged) in shorts.finish() {
        sums.add_short(known, key, &charged);
    }
}
