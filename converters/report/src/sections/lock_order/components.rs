//! Strongly connected components: the parts of a graph within which each node
//! is reached from each other one. Every cycle lies in one of them.

/// Not visited yet.
const NONE: u32 = u32::MAX;

/// The number of its component for each node. `edges` are pairs of nodes in
/// ascending order. By Tarjan, without recursion: a chain of locks may be long.
pub(super) fn components(nodes: usize, edges: &[(u32, u32)]) -> Vec<u32> {
    let mut tarjan = Tarjan {
        edges,
        order: vec![NONE; nodes],
        low: vec![NONE; nodes],
        component: vec![NONE; nodes],
        open: Vec::new(),
        visited: 0,
        found: 0,
    };
    for node in 0..nodes as u32 {
        if tarjan.order[node as usize] == NONE {
            tarjan.visit_all_from(node);
        }
    }
    tarjan.component
}

struct Tarjan<'a> {
    edges: &'a [(u32, u32)],
    /// When each node was visited.
    order: Vec<u32>,
    /// The earliest visited node that is reached from each node, as far as that
    /// is known.
    low: Vec<u32>,
    component: Vec<u32>,
    /// Visited nodes whose component is not known yet.
    open: Vec<u32>,
    visited: u32,
    found: u32,
}

impl Tarjan<'_> {
    fn visit_all_from(&mut self, start: u32) {
        // Nodes on the way from the start, and the next edge of each to follow.
        let mut way = vec![(start, self.enter(start))];
        while let Some((node, next)) = way.last_mut() {
            let from = *node as usize;
            match self.edges.get(*next) {
                Some(&(source, target)) if source == *node => {
                    *next += 1;
                    let to = target as usize;
                    if self.order[to] == NONE {
                        way.push((target, self.enter(target)));
                    } else if self.component[to] == NONE {
                        self.low[from] = self.low[from].min(self.order[to]);
                    }
                }
                _ => {
                    way.pop();
                    self.leave(from, way.last().map(|(caller, _)| *caller as usize));
                }
            }
        }
    }

    /// The node's first edge.
    fn enter(&mut self, node: u32) -> usize {
        (self.order[node as usize], self.low[node as usize]) = (self.visited, self.visited);
        self.visited += 1;
        self.open.push(node);
        self.edges.partition_point(|(source, _)| *source < node)
    }

    fn leave(&mut self, node: usize, caller: Option<usize>) {
        if self.low[node] == self.order[node] {
            while let Some(member) = self.open.pop() {
                self.component[member as usize] = self.found;
                if member as usize == node {
                    break;
                }
            }
            self.found += 1;
        }
        if let Some(caller) = caller {
            self.low[caller] = self.low[caller].min(self.low[node]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nodes_that_reach_each_other_are_together(
            nodes in 1usize..9,
            edges in proptest::collection::btree_set((0u32..9, 0u32..9), 0..20),
        ) {
            let wanted = |edge: &(u32, u32)| (edge.0.max(edge.1) as usize) < nodes;
            let edges: Vec<(u32, u32)> = edges.into_iter().filter(wanted).collect();
            let mut reach = vec![vec![false; nodes]; nodes];
            (0..nodes).for_each(|node| reach[node][node] = true);
            edges.iter().for_each(|&(a, b)| reach[a as usize][b as usize] = true);
            for via in 0..nodes {
                for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                    reach[a][b] |= reach[a][via] && reach[via][b];
                }
            }
            let found = components(nodes, &edges);
            for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                prop_assert_eq!(found[a] == found[b], reach[a][b] && reach[b][a], "{} {}", a, b);
            }
        }
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let edges: Vec<(u32, u32)> = (0..1_000_000).map(|node| (node, node + 1)).collect();
        let found = components(1_000_001, &edges);
        assert_ne!(found[0], found[1_000_000]);
    }
}
