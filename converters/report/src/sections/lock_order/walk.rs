//! The short cycles of a graph.

use super::components::components;
use std::collections::{BTreeMap, HashMap, HashSet};

/// All cycles of so many nodes are looked for; of longer ones, which are many,
/// one where there are no others.
pub const MAX_LEN: usize = 6;

/// Goes through the elementary cycles of a graph of up to [`MAX_LEN`] nodes:
/// the shortest first, each once, as the edges' numbers from its smallest node
/// on; then through the shortest one of each component that has only longer
/// ones. `edges` are pairs of nodes in ascending order, none from a node to
/// itself. `take` gets each cycle and what may be spent, in steps; it takes off
/// what it spends. Tells whether that was enough for all.
pub(super) fn cycles(
    nodes: usize,
    edges: &[(u32, u32)],
    budget: &mut u64,
    mut take: impl FnMut(&[usize], &mut u64),
) -> bool {
    let component = components(nodes, edges);
    let within = |&(from, to): &(u32, u32)| component[from as usize] == component[to as usize];
    let mut incoming: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut starts: Vec<u32> = Vec::new();
    for edge in edges.iter().filter(|edge| within(edge)) {
        incoming.entry(edge.1).or_default().push(edge.0);
        starts.push(edge.0);
    }
    starts.dedup();
    let mut has_short = HashSet::new();
    for len in 2..=MAX_LEN {
        for &start in &starts {
            if *budget == 0 {
                break;
            }
            let distances = distances(start, len, &incoming, budget);
            let walk = Walk { edges, start, len, distances, path: Vec::new(), on_path: Vec::new() };
            walk.run(budget, &mut |cycle, budget| {
                has_short.insert(component[start as usize]);
                take(cycle, budget);
            });
        }
    }
    let mut long: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for start in starts {
        let own = component[start as usize];
        if !has_short.contains(&own) {
            long.entry(own).or_default().push(start);
        }
    }
    for members in long.into_values() {
        let found = members.iter().filter_map(|&start| shortest(edges, start, &component, budget));
        if let Some(cycle) = found.min_by_key(Vec::len) {
            take(&cycle, budget);
        }
    }
    *budget != 0
}

/// A shortest cycle through a node, as the edges' numbers.
fn shortest(
    edges: &[(u32, u32)],
    start: u32,
    component: &[u32],
    budget: &mut u64,
) -> Option<Vec<usize>> {
    let mut reached_by: HashMap<u32, usize> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        let first = edges.partition_point(|(source, _)| *source < node);
        let own = edges.iter().enumerate().skip(first).take_while(|(_, edge)| edge.0 == node);
        for (number, &(_, target)) in own {
            *budget = budget.checked_sub(1)?;
            if component[target as usize] == component[start as usize]
                && !reached_by.contains_key(&target)
            {
                reached_by.insert(target, number);
                queue.push_back(target);
            }
        }
    }
    let mut cycle = Vec::new();
    let mut at = start;
    loop {
        let number = *reached_by.get(&at)?;
        cycle.push(number);
        at = edges[number].0;
        if at == start {
            cycle.reverse();
            return Some(cycle);
        }
    }
}

/// How many edges it takes from each node to `start`, over nodes that are no
/// smaller; only nodes nearer than `len`.
fn distances(
    start: u32,
    len: usize,
    incoming: &HashMap<u32, Vec<u32>>,
    budget: &mut u64,
) -> HashMap<u32, usize> {
    let mut distances = HashMap::from([(start, 0)]);
    let mut border = vec![start];
    for distance in 1..len {
        let mut next = Vec::new();
        for source in border.iter().flat_map(|node| incoming.get(node).into_iter().flatten()) {
            // Who has nothing left goes nowhere.
            let Some(left) = budget.checked_sub(1) else { return distances };
            *budget = left;
            if *source > start && !distances.contains_key(source) {
                distances.insert(*source, distance);
                next.push(*source);
            }
        }
        border = next;
    }
    distances
}

/// A search for the cycles of one length from one node.
struct Walk<'a> {
    edges: &'a [(u32, u32)],
    start: u32,
    len: usize,
    distances: HashMap<u32, usize>,
    /// The edges taken.
    path: Vec<usize>,
    /// The nodes that they come from.
    on_path: Vec<u32>,
}

impl Walk<'_> {
    fn run(mut self, budget: &mut u64, take: &mut impl FnMut(&[usize], &mut u64)) {
        self.step(self.start, budget, take);
    }

    /// Goes on from a node; as deep as the cycles are long.
    fn step(&mut self, node: u32, budget: &mut u64, take: &mut impl FnMut(&[usize], &mut u64)) {
        let first = self.edges.partition_point(|(source, _)| *source < node);
        self.on_path.push(node);
        for (number, &(source, target)) in self.edges.iter().enumerate().skip(first) {
            if source != node || *budget == 0 {
                break;
            }
            *budget -= 1;
            let left = self.len - self.path.len() - 1;
            self.path.push(number);
            if left == 0 {
                if target == self.start {
                    take(&self.path, budget);
                }
            } else if target != self.start
                && self.distances.get(&target).is_some_and(|&distance| distance <= left)
                && !self.on_path.contains(&target)
            {
                self.step(target, budget, take);
            }
            self.path.pop();
        }
        self.on_path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_cycles_of_a_complete_graph_are_found_once() {
        let edges: Vec<(u32, u32)> =
            (0..5).flat_map(|a| (0..5).filter(move |b| *b != a).map(move |b| (a, b))).collect();
        let mut found = Vec::new();
        let mut budget = u64::MAX;
        assert!(cycles(5, &edges, &mut budget, |cycle, _| found.push(cycle.to_vec())));
        // Of two, three, four and five nodes: C(5,k) × (k − 1)!
        let of_len = |len: usize| found.iter().filter(|cycle| cycle.len() == len).count();
        assert_eq!([2, 3, 4, 5].map(of_len), [10, 20, 30, 24]);
        assert!(found.is_sorted_by_key(|cycle| cycle.len()));
        let distinct: BTreeSet<&Vec<usize>> = found.iter().collect();
        assert_eq!(distinct.len(), found.len());
    }

    #[test]
    fn a_long_cycle_is_found_where_there_is_no_other() {
        // A ring of nine, with a way off it, and one of three.
        let mut edges: Vec<(u32, u32)> = (0..9).map(|node| (node, (node + 1) % 9)).collect();
        edges.extend([(4, 12), (9, 10), (10, 11), (11, 9)]);
        edges.sort_unstable();
        let mut found = Vec::new();
        assert!(cycles(13, &edges, &mut 10_000, |cycle, _| {
            found.push(cycle.iter().map(|&number| edges[number].0).collect::<Vec<u32>>());
        }));
        assert_eq!(found, [vec![9, 10, 11], (0..9).collect()]);
    }

    #[test]
    fn a_budget_bounds_what_is_looked_at() {
        let incoming = HashMap::from([(0, (1..1_000).collect())]);
        let mut budget = 10;
        let reached = distances(0, MAX_LEN, &incoming, &mut budget);
        assert_eq!((reached.len(), budget), (11, 0), "the start, and one for each step");
    }

    #[test]
    fn a_budget_ends_the_search() {
        let edges: Vec<(u32, u32)> =
            (0..40).flat_map(|a| (0..40).filter(move |b| *b != a).map(move |b| (a, b))).collect();
        let mut budget = 100_000;
        let mut count = 0;
        assert!(!cycles(40, &edges, &mut budget, |_, _| count += 1));
        assert!(count >= 40 * 39 / 2, "the short ones first: {count}");
    }
}
