//! The costs of a part.

use super::{
    PartContext,
    file::{FileWriter, MAX_FILE_BYTES, RowCost},
    graph::{Graph, NONE},
    parts::ThreadPart,
};
use crate::outputs::{
    bits::BitSet,
    rows::{OutputRow, RowColumn, RowSpans, Rows},
    tree::StackTree,
};
use std::io::{self, Write};
use tyrion_model::names::thread_frame;

/// The number of nodes that are added to their calls at once.
const COMPLETE_NODES: usize = 1 << 10;

/// Sums the rows of parts and writes them. One is reused for many parts.
pub(super) struct Body<'a, const N: usize> {
    rows: Rows<'a>,
    tree: &'a StackTree,
    graph: &'a Graph,
    columns: &'a [RowColumn],
    /// The rows at and below each node; all zero between parts.
    inclusive: Vec<RowCost<N>>,
    nodes: BitSet,
    /// Nodes of which no more will be known.
    complete: Vec<u32>,
    /// The cost of each of the graph's entries; all zero between files.
    costs: Vec<RowCost<N>>,
    /// Entries of the thread's frame; of all other functions.
    root_entries: BitSet,
    entries: BitSet,
    /// Where the root's entries end.
    roots_end: u32,
}

impl<'a, const N: usize> Body<'a, N> {
    /// What writes the first `N` columns at most.
    pub(super) fn new(shared: &'a PartContext<'a>) -> Self {
        let PartContext { rows, tree, graph, columns, .. } = shared;
        let entries = graph.entries.len();
        Body {
            rows: *rows,
            tree,
            graph,
            columns,
            inclusive: vec![RowCost::default(); tree.len()],
            nodes: BitSet::new(tree.len()),
            complete: Vec::with_capacity(COMPLETE_NODES),
            costs: vec![RowCost::default(); entries],
            root_entries: BitSet::new(entries),
            entries: BitSet::new(entries),
            roots_end: graph.entries.partition_point(|entry| entry.function == 0) as u32,
        }
    }

    /// Writes a file that holds these parts, each under a frame with its name.
    ///
    /// # Errors
    /// `out` fails, or the file would be too large to be read.
    pub(super) fn write(
        &mut self,
        header: &str,
        parts: &[ThreadPart],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut file = FileWriter::new(self.graph, self.columns, out, MAX_FILE_BYTES);
        file.header(header);
        let mut total = RowCost::<N>::default();
        for part in parts {
            total.add(self.sum(part));
            file.root(&thread_frame(&part.name))?;
            while let Some(entry) = self.root_entries.pop_first() {
                let cost = std::mem::take(&mut self.costs[entry as usize]);
                file.entry(self.graph.entries[entry as usize], cost);
            }
        }
        let mut function = 0;
        while let Some(at) = self.entries.pop_first() {
            let cost = std::mem::take(&mut self.costs[at as usize]);
            let entry = self.graph.entries[at as usize];
            if entry.function != function {
                function = entry.function;
                file.function(function)?;
            }
            file.entry(entry, cost);
        }
        file.finish(total)
    }

    /// Adds the part's rows to the entries, and returns their sum.
    fn sum(&mut self, part: &ThreadPart) -> RowCost<N> {
        let mut total = RowCost::<N>::default();
        for at in part.rows.iter().flat_map(RowSpans::iter) {
            let cost = self.cost(&self.rows.row(at));
            if cost.is_zero() {
                // Reentrant acquisitions alone, of which no column tells.
                continue;
            }
            let node = self.tree.node_of_row[at];
            self.inclusive[node as usize].add(cost);
            self.nodes.insert(node);
            self.add(self.graph.own_of_node[node as usize], cost);
            total.add(cost);
        }
        // Children come after their parents: what comes out is complete.
        while let Some(node) = self.nodes.pop_last() {
            if node != 0 {
                let cost = self.inclusive[node as usize];
                let parent = self.tree.parents[node as usize];
                self.inclusive[parent as usize].add(cost);
                self.nodes.insert(parent);
            }
            self.complete.push(node);
            if self.complete.len() == COMPLETE_NODES {
                self.add_complete();
            }
        }
        self.add_complete();
        total
    }

    /// Adds the complete nodes to the calls that lead to them. Entries are in
    /// another order than nodes, so each is a cache miss in a large graph; in a
    /// loop of their own the processor waits for many of them at once (a third of
    /// the time, `examples/figures.rs`).
    fn add_complete(&mut self) {
        let mut complete = std::mem::take(&mut self.complete);
        for &node in &complete {
            let cost = std::mem::take(&mut self.inclusive[node as usize]);
            let call = self.graph.call_of_node[node as usize];
            if call != NONE {
                self.add(call, cost);
            }
        }
        complete.clear();
        self.complete = complete;
    }

    fn cost(&self, row: &OutputRow) -> RowCost<N> {
        let mut cost = RowCost::default();
        for (sum, column) in cost.0.iter_mut().zip(self.columns) {
            *sum = row.value(*column);
        }
        cost
    }

    fn add(&mut self, entry: u32, cost: RowCost<N>) {
        self.costs[entry as usize].add(cost);
        let touched =
            if entry < self.roots_end { &mut self.root_entries } else { &mut self.entries };
        touched.insert(entry);
    }
}
