//! Samples, stack by stack, encoded and compressed by all workers.
//!
//! They are encoded here and not by prost, from parts that many of them share: the same
//! bytes in less time. Tests decode them with prost.

use super::{Pieces, gzip::GzipBlock, labels::LabelTable, to_i64};
use crate::outputs::{
    rows::{OutputRow, RowColumn, Rows},
    tables::Locations,
    tree::StackTree,
};
use rayon::prelude::*;
use std::{io, ops::Range};
use tyrion_model::profile::State;
use tyrion_wire::{WaitKind, varint};

/// Rows that one worker encodes and compresses at a time, about a megabyte. The
/// bytes depend on it, and must not depend on the number of workers.
const ROWS_A_BLOCK: usize = 1 << 14;

/// `Profile.sample`, a message; in it `location_id` and `value`, packed numbers.
const SAMPLE: u8 = 2 << 3 | 2;
const LOCATION_ID: u8 = 1 << 3 | 2;
const VALUE: u8 = 2 << 3 | 2;

/// What samples are made of.
pub(super) struct SampleWriter<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) columns: Vec<RowColumn>,
    pub(super) tree: &'a StackTree,
    pub(super) locations: &'a Locations,
    pub(super) labels: &'a LabelTable,
}

impl SampleWriter<'_> {
    /// Writes the samples stack by stack, so that those that follow each other
    /// are alike: thread by thread they took three times as long to gzip, and
    /// 14 times the space (`examples/figures.rs`).
    pub(super) fn write(&self, out: &mut Pieces<'_>) -> io::Result<()> {
        let (order, ends) = rows_by_node(self.tree);
        // In waves, so that no more blocks wait to be written than are made.
        for wave in blocks(&ends).chunks(2 * rayon::current_num_threads()) {
            let made: Vec<io::Result<GzipBlock>> =
                wave.par_iter().map(|nodes| self.block(&order, &ends, nodes.clone())).collect();
            for block in made {
                out.add(&block?)?;
            }
        }
        Ok(())
    }

    /// The samples of some nodes.
    fn block(&self, order: &[u32], ends: &[u32], nodes: Range<usize>) -> io::Result<GzipBlock> {
        let mut encoder = Encoder::default();
        let mut rows = Vec::new();
        let mut sums = vec![0u64; self.columns.len()];
        for node in nodes {
            let start = node.checked_sub(1).map_or(0, |before| ends[before]);
            let of_node = &order[start as usize..ends[node] as usize];
            if of_node.is_empty() {
                continue;
            }
            let steps = self.tree.path_up(node as u32).map(|at| self.tree.steps[at as usize]);
            encoder.set_locations(steps.map(|step| self.locations.id(step)));
            rows.clear();
            rows.extend(of_node.iter().map(|&at| {
                let row = self.rows.row(at as usize);
                (self.key(&row), row)
            }));
            rows.sort_by_key(|(key, _)| *key);
            for same in rows.chunk_by(|(a, _), (b, _)| a == b) {
                sums.fill(0);
                for (_, row) in same {
                    for (sum, column) in sums.iter_mut().zip(&self.columns) {
                        *sum = sum.saturating_add(row.value(*column));
                    }
                }
                encoder.add(&same[0].1, &sums, self.labels);
            }
        }
        GzipBlock::of(&encoder.bytes)
    }

    /// Rows at one node with the same key are one sample.
    fn key(&self, row: &OutputRow) -> (u32, u32, Option<WaitKind>, Option<State>, i64) {
        let thread = if self.labels.tells_threads { row.thread } else { 0 };
        (thread, row.lock, row.kind, row.state, self.labels.owner(row))
    }
}

/// Encodes samples one behind the other.
#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    /// The field with the locations of the current node.
    locations: Vec<u8>,
    /// The other fields of a sample, and what a field is made of.
    rest: Vec<u8>,
    packed: Vec<u8>,
}

impl Encoder {
    fn set_locations(&mut self, ids: impl Iterator<Item = u64>) {
        self.locations.clear();
        put_packed(LOCATION_ID, ids, &mut self.packed, &mut self.locations);
    }

    /// Adds the sample of rows like this one with these sums.
    fn add(&mut self, row: &OutputRow, sums: &[u64], labels: &LabelTable) {
        self.rest.clear();
        let values = sums.iter().map(|&sum| to_i64(sum) as u64);
        put_packed(VALUE, values, &mut self.packed, &mut self.rest);
        labels.put(row, &mut self.rest);
        self.bytes.push(SAMPLE);
        varint::put(&mut self.bytes, (self.locations.len() + self.rest.len()) as u64);
        self.bytes.extend_from_slice(&self.locations);
        self.bytes.extend_from_slice(&self.rest);
    }
}

/// Writes a field of packed numbers, with a buffer for them; nothing for none, as prost.
fn put_packed(tag: u8, values: impl Iterator<Item = u64>, buffer: &mut Vec<u8>, out: &mut Vec<u8>) {
    buffer.clear();
    values.for_each(|value| varint::put(buffer, value));
    if !buffer.is_empty() {
        out.push(tag);
        varint::put(out, buffer.len() as u64);
        out.extend_from_slice(buffer);
    }
}

/// Cuts the nodes into ranges with about [`ROWS_A_BLOCK`] rows each.
fn blocks(ends: &[u32]) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut first, mut rows_before) = (0, 0);
    for (node, &end) in ends.iter().enumerate() {
        if end as usize - rows_before >= ROWS_A_BLOCK {
            blocks.push(first..node + 1);
            (first, rows_before) = (node + 1, end as usize);
        }
    }
    blocks.push(first..ends.len());
    blocks
}

/// The rows by the number of their node, and where those of each node end.
fn rows_by_node(tree: &StackTree) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0u32; tree.len()];
    for &node in &tree.node_of_row {
        ends[node as usize] += 1;
    }
    let mut start = 0;
    for end in &mut ends {
        start += std::mem::replace(end, start);
    }
    let mut order = vec![0u32; tree.node_of_row.len()];
    for (at, &node) in (0..).zip(&tree.node_of_row) {
        let place = &mut ends[node as usize];
        order[*place as usize] = at;
        *place += 1;
    }
    (order, ends)
}
