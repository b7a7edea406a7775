//! Which cycles in the order of locks can become deadlocks.
//!
//! A deadlock is a ring of threads, each of which holds a lock and waits for
//! the one that the next thread holds. So an edge of a cycle has to be taken by
//! each of them at the same time: by different threads, and no two of those may
//! hold a lock in common, since then the one would wait for the other earlier,
//! at that *gate*, and never come to hold both. Readers do not exclude each
//! other: neither does a lock that two of them hold keep them apart, nor does
//! one wait for the other.

use super::walk;
use std::collections::{BTreeMap, BTreeSet};

/// What the search may cost, in edges followed and ways compared; some
/// seconds.
const BUDGET: u64 = 50_000_000;
/// The most combinations of places tried for one cycle of locks.
const COMBINATIONS: usize = 64;

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct HeldLock {
    /// Its node; `None` if it is not known which of its class it is: it may be
    /// any.
    pub(super) node: Option<u32>,
    /// Its class.
    pub(super) class: u32,
    /// Held by a reader.
    pub(super) read: bool,
}

impl HeldLock {
    /// Whether two threads cannot hold them at the same time.
    fn excludes(self, other: HeldLock) -> bool {
        let same = match (self.node, other.node) {
            (Some(a), Some(b)) => a == b,
            _ => self.class == other.class,
        };
        same && !(self.read && other.read)
    }
}

/// Who took a lock within another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Taker {
    /// The thread.
    pub(super) thread: u32,
    /// Not one thread but many: virtual ones are not told apart.
    pub(super) many: bool,
    /// The record that says so.
    pub(super) record: u32,
}

/// How a lock was taken within another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// At which places, of locks of which classes: what makes cycles of other
    /// instances the same to a programmer.
    pub(super) kind: u32,
    /// All that was held, the outer lock included: a number in
    /// [`Graph::held`].
    pub(super) held: u32,
    /// The outer lock is held by a reader.
    pub(super) outer_read: bool,
    /// The inner lock is taken by a reader.
    pub(super) inner_read: bool,
    /// Who did, each thread once.
    pub(super) takers: Vec<Taker>,
}

/// The order of locks: from each that was held to each that was taken then.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// How many nodes there are.
    pub(super) nodes: usize,
    /// Outer and inner lock, ascending, never the same.
    pub(super) edges: Vec<(u32, u32)>,
    /// For each edge how it came about, in the order of the kinds.
    pub(super) ways: Vec<Vec<Way>>,
    /// What was held in some way.
    pub(super) held: Vec<Vec<HeldLock>>,
}

/// A link of a cycle: an edge, the way it was taken, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) edge: usize,
    pub(super) way: usize,
    pub(super) taker: Taker,
}

/// Cycles that are the same but for the instances: of locks of the same classes
/// taken at the same places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// One of the shortest of them.
    pub(super) example: Vec<Link>,
    /// How many there are.
    pub(super) cycles: u64,
    /// The locks of the longest of them.
    pub(super) longest: usize,
}

/// Why a cycle cannot become a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Whoever takes its locks holds one of these, which lets one pass at a
    /// time.
    Gate(Vec<u32>),
    /// One thread alone did all of it.
    OneThread,
}

/// What was found. Kinds of a pattern are the key to it.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundCycles {
    /// What can become a deadlock.
    pub(super) patterns: BTreeMap<Vec<u32>, Pattern>,
    /// Cycles that look like it, but cannot, and why.
    pub(super) harmless: BTreeMap<(Vec<u32>, Reason), Pattern>,
    /// Whether all cycles were looked at.
    pub(super) complete: bool,
}

/// What may keep threads apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gates {
    /// Any lock that they hold in common.
    All,
    /// Only those of the cycle: what if there were no others?
    None,
}

/// Finds the cycles of a graph.
pub(super) fn search(graph: &Graph) -> FoundCycles {
    let mut found = FoundCycles::default();
    let mut budget = BUDGET;
    let mut all_kinds = true;
    let complete = walk::cycles(graph.nodes, &graph.edges, &mut budget, |cycle, budget| {
        let mut choice = Choice { graph, cycle, gates: Gates::All, budget };
        let (combinations, all) = choice.combinations();
        all_kinds &= all;
        let mut can_deadlock = false;
        for kinds in &combinations {
            if let Some(links) = choice.choose(kinds) {
                can_deadlock = true;
                put(&mut found.patterns, key_of(kinds), links);
            }
        }
        if !can_deadlock {
            for kinds in &combinations {
                if let Some((reason, links)) = choice.harmless(kinds) {
                    put(&mut found.harmless, (key_of(kinds), reason), links);
                }
            }
        }
    });
    found.complete = complete && all_kinds;
    found
}

fn key_of(kinds: &[u32]) -> Vec<u32> {
    let kinds: BTreeSet<u32> = kinds.iter().copied().collect();
    kinds.into_iter().collect()
}

fn put<K: Ord>(patterns: &mut BTreeMap<K, Pattern>, key: K, links: Vec<Link>) {
    let longest = links.len();
    // The shortest cycles come first, so the first one is the example.
    let new = || Pattern { example: links, cycles: 0, longest };
    let pattern = patterns.entry(key).or_insert_with(new);
    pattern.cycles += 1;
    pattern.longest = pattern.longest.max(longest);
}

/// The choice of a way for each edge of a cycle.
struct Choice<'a> {
    graph: &'a Graph,
    cycle: &'a [usize],
    gates: Gates,
    budget: &'a mut u64,
}

impl<'a> Choice<'a> {
    /// The kinds that each edge could have, in all combinations; and whether
    /// that is all of them.
    fn combinations(&self) -> (Vec<Vec<u32>>, bool) {
        let mut combinations = vec![Vec::new()];
        let mut all = true;
        for &edge in self.cycle {
            let mut kinds: Vec<u32> = self.graph.ways[edge].iter().map(|way| way.kind).collect();
            kinds.dedup();
            let longer = combinations.iter().flat_map(|combination: &Vec<u32>| {
                kinds.iter().map(move |&kind| [&combination[..], &[kind]].concat())
            });
            let mut longer: Vec<Vec<u32>> = longer.take(COMBINATIONS + 1).collect();
            all &= longer.len() <= COMBINATIONS;
            longer.truncate(COMBINATIONS);
            combinations = longer;
        }
        (combinations, all)
    }

    /// Ways of these kinds that can be taken at the same time.
    fn choose(&mut self, kinds: &[u32]) -> Option<Vec<Link>> {
        let mut chosen: Vec<(usize, &Way)> = Vec::with_capacity(kinds.len());
        if !self.extend(kinds, &mut chosen) {
            return None;
        }
        let ways: Vec<&Way> = chosen.iter().map(|(_, way)| *way).collect();
        let takers = different(&ways)?;
        let links = self.cycle.iter().zip(&chosen).zip(takers);
        Some(links.map(|((&edge, &(way, _)), taker)| Link { edge, way, taker }).collect())
    }

    fn extend(&mut self, kinds: &[u32], chosen: &mut Vec<(usize, &'a Way)>) -> bool {
        let graph = self.graph;
        let Some(&kind) = kinds.get(chosen.len()) else { return true };
        for (number, way) in graph.ways[self.cycle[chosen.len()]].iter().enumerate() {
            if way.kind != kind {
                continue;
            }
            if *self.budget == 0 {
                return false;
            }
            *self.budget = self.budget.saturating_sub(1 + chosen.len() as u64);
            if !self.fits(way, chosen) {
                continue;
            }
            chosen.push((number, way));
            let ways: Vec<&Way> = chosen.iter().map(|(_, way)| *way).collect();
            if different(&ways).is_some() && self.extend(kinds, chosen) {
                return true;
            }
            chosen.pop();
        }
        false
    }

    /// Whether a thread can take this way while others take the chosen ones.
    fn fits(&self, way: &Way, chosen: &[(usize, &Way)]) -> bool {
        let waits = |for_it: &Way, holder: &Way| !(for_it.inner_read && holder.outer_read);
        let is_last = chosen.len() + 1 == self.cycle.len();
        chosen.last().is_none_or(|(_, before)| waits(before, way))
            && (!is_last || chosen.first().is_none_or(|(_, first)| waits(way, first)))
            && chosen.iter().all(|(_, other)| self.in_common(way, other).next().is_none())
    }

    /// The locks that two ways hold in common, as far as that counts.
    fn in_common(&self, a: &'a Way, b: &'a Way) -> impl Iterator<Item = HeldLock> {
        let held = |way: &Way| self.graph.held[way.held as usize].iter();
        held(a)
            .filter(move |mine| {
                let counts = self.gates == Gates::All
                    || mine.node.is_some_and(|node| self.is_on_cycle(node));
                counts && held(b).any(|other| mine.excludes(*other))
            })
            .copied()
    }

    fn is_on_cycle(&self, node: u32) -> bool {
        self.cycle.iter().any(|&edge| self.graph.edges[edge].0 == node)
    }

    /// Why a cycle for which there is no choice looks like one that has.
    fn harmless(&mut self, kinds: &[u32]) -> Option<(Reason, Vec<Link>)> {
        if let Some(links) = self.all_of_one_thread(kinds) {
            return Some((Reason::OneThread, links));
        }
        self.gates = Gates::None;
        let links = self.choose(kinds);
        self.gates = Gates::All;
        let links = links?;
        let way = |link: &Link| &self.graph.ways[link.edge][link.way];
        let mut gates = BTreeSet::new();
        for (number, link) in links.iter().enumerate() {
            for other in &links[..number] {
                let common = self.in_common(way(link), way(other));
                gates.extend(common.filter_map(|held| held.node));
            }
        }
        Some((Reason::Gate(gates.into_iter().collect()), links))
    }

    /// The cycle, if one thread took all of it and nobody else any of it.
    fn all_of_one_thread(&self, kinds: &[u32]) -> Option<Vec<Link>> {
        let mut links = Vec::new();
        let mut threads = BTreeSet::new();
        for (&edge, kind) in self.cycle.iter().zip(kinds) {
            let mut ways = self.graph.ways[edge].iter().enumerate();
            let (way, found) = ways.find(|(_, way)| way.kind == *kind)?;
            links.push(Link { edge, way, taker: *found.takers.first()? });
            let takers = self.graph.ways[edge].iter().flat_map(|way| &way.takers);
            threads.extend(takers.map(|taker| (taker.thread, taker.many)));
        }
        let one = threads.len() == 1 && threads.iter().all(|(_, many)| !many);
        one.then_some(links)
    }
}

/// A taker of each way, all of them different threads, if there are enough.
fn different(ways: &[&Way]) -> Option<Vec<Taker>> {
    let mut taken = vec![None; ways.len()];
    for number in 0..ways.len() {
        let mut asked = BTreeSet::new();
        if !assign(ways, number, &mut taken, &mut asked) {
            return None;
        }
    }
    taken.into_iter().collect()
}

/// Finds a taker for a way, asking other ways to take another one if need be.
fn assign(
    ways: &[&Way],
    number: usize,
    taken: &mut Vec<Option<Taker>>,
    asked: &mut BTreeSet<u32>,
) -> bool {
    for &taker in &ways[number].takers {
        if taker.many {
            taken[number] = Some(taker);
            return true;
        }
        if !asked.insert(taker.thread) {
            continue;
        }
        let is_it = |other: &Option<Taker>| {
            other.is_some_and(|other| !other.many && other.thread == taker.thread)
        };
        let user = taken.iter().position(is_it);
        if user.is_none_or(|user| assign(ways, user, taken, asked)) {
            taken[number] = Some(taker);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
