//! Charges added up by chain.

use super::{
    super::{
        axis::{Grid, Series},
        groups::LockRef,
    },
    charge::End,
    short::{ChargedSum, ShortKey, ShortSum},
};
use std::{cmp::Reverse, collections::HashMap};
use tyrion_model::filter::Kinds;
use tyrion_wire::WaitKind;

/// More different chains are not told apart.
const MOST_CHAINS: usize = 4096;

/// A step of a chain: threads of a group wait for locks of a class and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainStep {
    /// The group of those who wait.
    pub waiting: String,
    /// What they wait for, without its identity.
    pub lock: LockRef,
    /// How they wait.
    pub kind: WaitKind,
}

/// Waits charged to the same chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitChain {
    /// From the waits that are charged to the last one of the chain. None stands
    /// for all chains that are not told apart.
    pub steps: Vec<ChainStep>,
    /// The group of the threads with which the chain ends; empty if that is not
    /// known.
    pub root: String,
    /// How it ends.
    pub end: End,
    /// How many waits are charged to it, or parts of them.
    pub waits: u64,
    /// How long these are, in ns.
    pub wait_ns: u64,
    /// As far as that is on the axis, by phase, in ns.
    pub phases: Vec<u64>,
}

/// Numbers for names.
#[derive(Debug)]
pub(super) struct Names<T> {
    list: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Names { list: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Names<T> {
    pub(super) fn number(&mut self, name: T) -> u32 {
        let list = &mut self.list;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            list.push(name.clone());
            list.len() as u32 - 1
        })
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.list.get(number as usize)
    }
}

/// What waits are about: the locks of a class and name, and the kind of wait.
pub(super) type What = (LockRef, WaitKind);

/// What chains are told by, and its numbers.
#[derive(Debug, Default)]
pub(super) struct ChainNames {
    /// Groups of threads.
    pub(super) groups: Names<String>,
    /// What they wait for.
    pub(super) whats: Names<What>,
}

impl ChainNames {
    fn is_for_lock(&self, what: u32) -> bool {
        self.whats.get(what).is_some_and(|(_, kind)| !Kinds::idle().contains(*kind))
    }
}

/// A chain by numbers: group and what it waits for, for each step; the group at
/// the end; and how it ends.
type ChainKey = Vec<u32>;

/// The charges of a chain.
struct Charges {
    steps: Vec<(u32, u32)>,
    root: u32,
    end: End,
    waits: u64,
    wait_ns: u64,
    phases: Series,
    /// The wait that was charged last, so that it counts once.
    last: u64,
}

/// Charges under way.
pub(super) struct ChainSums {
    grid: Grid,
    /// By chain, indices of `charges`.
    chains: HashMap<ChainKey, usize>,
    charges: Vec<Charges>,
    /// The key that is looked for.
    key: ChainKey,
    /// How many waits there are, and how long, in ns.
    pub(super) waits: u64,
    pub(super) wait_ns: u64,
    /// How many of them had not ended, and how long.
    pub(super) pending: u64,
    pub(super) pending_ns: u64,
    /// How long those took that had ended and were for locks, in ns.
    pub(super) of_locks_ns: u64,
}

/// A part of a wait, and what it is charged to.
pub(super) struct Charge<'s> {
    /// Group and what it waits for.
    pub(super) steps: &'s [(u32, u32)],
    /// The group at the end, if it is known.
    pub(super) root: Option<u32>,
    pub(super) end: End,
    /// Its length, in ns, and from when to when that is on the axis.
    pub(super) ns: u64,
    pub(super) span: (u64, u64),
}

const NO_GROUP: u32 = u32::MAX;

impl ChainSums {
    pub(super) fn new(grid: Grid) -> ChainSums {
        let (chains, charges, key) = Default::default();
        ChainSums {
            grid,
            chains,
            charges,
            key,
            waits: 0,
            wait_ns: 0,
            pending: 0,
            pending_ns: 0,
            of_locks_ns: 0,
        }
    }

    /// Begins the next wait, for what has this number.
    pub(super) fn begin(&mut self, known: &ChainNames, what: u32, wait_ns: u64, is_pending: bool) {
        let pending = u64::from(is_pending);
        let pending_ns = if is_pending { wait_ns } else { 0 };
        self.count(known, what, ShortSum { waits: 1, wait_ns, pending, pending_ns });
    }

    fn count(&mut self, known: &ChainNames, what: u32, more: ShortSum) {
        self.waits += more.waits;
        self.wait_ns = self.wait_ns.saturating_add(more.wait_ns);
        self.pending += more.pending;
        self.pending_ns = self.pending_ns.saturating_add(more.pending_ns);
        if known.is_for_lock(what) {
            let ended_ns = more.wait_ns.saturating_sub(more.pending_ns);
            self.of_locks_ns = self.of_locks_ns.saturating_add(ended_ns);
        }
    }

    /// Charges a part of the wait that was begun last.
    pub(super) fn add(&mut self, charge: Charge<'_>) {
        let (waits, grid) = (self.waits, self.grid);
        let root = charge.root.unwrap_or(NO_GROUP);
        let Some(charges) = self.charges(charge.steps, root, charge.end) else { return };
        charges.waits += u64::from(charges.last != waits);
        charges.last = waits;
        charges.wait_ns = charges.wait_ns.saturating_add(charge.ns);
        charges.phases.add_span(&grid, charge.span.0, charge.span.1);
    }

    /// Charges waits that were added up already.
    pub(super) fn add_short(
        &mut self,
        known: &ChainNames,
        (waiting, what, owner): ShortKey,
        charged: &ChargedSum,
    ) {
        let sum = charged.sum;
        self.count(known, what, sum);
        let Some(charges) = self.charges(&[(waiting, what)], owner, End::NotFollowed) else {
            return;
        };
        charges.waits += sum.waits;
        charges.wait_ns = charges.wait_ns.saturating_add(sum.wait_ns);
        for &(step, ns) in &charged.phases {
            charges.phases.add_to(step, ns);
        }
    }

    /// The charges of a chain; those of all others where there are too many.
    fn charges(&mut self, steps: &[(u32, u32)], root: u32, end: End) -> Option<&mut Charges> {
        self.key.clear();
        self.key.extend(steps.iter().flat_map(|&(group, what)| [group, what]));
        self.key.extend([root, end as u32]);
        let (mut steps, mut root, mut end) = (steps, root, end);
        let mut known = self.chains.get(&self.key).copied();
        if known.is_none() && self.charges.len() >= MOST_CHAINS {
            (steps, root, end) = (&[], NO_GROUP, End::NotFollowed);
            self.key.clear();
            known = self.chains.get(&self.key).copied();
        }
        let at = known.unwrap_or_else(|| {
            let (steps, phases) = (steps.to_vec(), Series::new(&self.grid));
            let new = Charges { steps, root, end, waits: 0, wait_ns: 0, phases, last: 0 };
            self.charges.push(new);
            self.chains.insert(self.key.clone(), self.charges.len() - 1);
            self.charges.len() - 1
        });
        self.charges.get_mut(at)
    }

    /// The chains, those with the most wait first.
    pub(super) fn finish(self, known: &ChainNames) -> Vec<WaitChain> {
        let (ChainSums { grid, charges, .. }, ChainNames { groups, whats }) = (self, known);
        let step = |&(group, what): &(u32, u32)| {
            let (lock, kind) = whats.get(what)?.clone();
            Some(ChainStep { waiting: groups.get(group)?.clone(), lock, kind })
        };
        let chain = |charges: Charges| WaitChain {
            steps: charges.steps.iter().filter_map(step).collect(),
            root: groups.get(charges.root).cloned().unwrap_or_default(),
            end: charges.end,
            waits: charges.waits,
            wait_ns: charges.wait_ns,
            phases: charges.phases.sums(&grid),
        };
        let mut chains: Vec<WaitChain> = charges.into_iter().map(chain).collect();
        chains.sort_by(|a, b| {
            let names = |chain: &WaitChain| (chain.steps.clone(), chain.root.clone(), chain.end);
            Reverse(a.wait_ns).cmp(&Reverse(b.wait_ns)).then_with(|| names(a).cmp(&names(b)))
        });
        chains
    }
}
