//! Samples, by run and stack. Rows with the same stack and attributes are one sample.

use super::{
    ProfileSeries,
    attributes::{AttributeTable, MOST},
    dictionary::Dictionary,
    index, proto, put_message,
};
use crate::outputs::{
    rows::{OutputRow, Rows},
    tables::Locations,
    tree::StackTree,
};
use prost::Message;
use std::io;
use tyrion_model::profile::Profile;

/// `Profile.samples`.
const SAMPLES: u64 = 2;

/// A row, and what it is sorted by.
struct SortedRow {
    run: u32,
    node: u32,
    attributes: [i32; MOST],
    row: OutputRow,
}

impl SortedRow {
    fn key(&self) -> (u32, u32, [i32; MOST]) {
        (self.run, self.node, self.attributes)
    }
}

/// All rows that have a number in any series.
pub(super) struct SeriesSamples {
    rows: Vec<SortedRow>,
    /// The number of each node's stack in the table, 0 for those without rows.
    stacks: Vec<u32>,
}

impl SeriesSamples {
    pub(super) fn new(
        profile: &Profile,
        rows: &Rows<'_>,
        tree: &StackTree,
        series: &[ProfileSeries],
        mut attributes: AttributeTable<'_>,
        dictionary: &mut Dictionary,
    ) -> io::Result<SeriesSamples> {
        let run = |thread: u32| profile.threads.get(thread as usize).map_or(0, |it| it.run);
        // What has no number becomes no sample, and must leave nothing in the tables.
        let counts = |row: &OutputRow| series.iter().any(|series| series.value(row) != 0);
        let with_nodes = rows.iter().zip(&tree.node_of_row).filter(|(row, _)| counts(row));
        let keyed = with_nodes.map(|(row, &node)| {
            let attributes = attributes.of(&row, dictionary)?;
            Ok(SortedRow { run: run(row.thread), node, attributes, row })
        });
        let mut rows: Vec<SortedRow> = keyed.collect::<io::Result<_>>()?;
        rows.sort_by_key(SortedRow::key);
        let mut stacks = vec![0; tree.len()];
        rows.iter().for_each(|row| stacks[row.node as usize] = 1);
        let mut last = 0;
        for stack in stacks.iter_mut().filter(|stack| **stack != 0) {
            last += 1;
            *stack = last;
        }
        Ok(SeriesSamples { rows, stacks })
    }

    /// Adds the stacks that samples have.
    pub(super) fn write_stacks(
        &self,
        tree: &StackTree,
        locations: &Locations,
        dictionary: &mut Dictionary,
    ) -> io::Result<()> {
        let used = (0..).zip(&self.stacks).filter(|(_, stack)| **stack != 0);
        for (node, _) in used {
            let steps = tree.path_up(node).map(|at| tree.steps[at as usize]);
            dictionary.add_stack(steps.map(|step| locations.id(step)))?;
        }
        Ok(())
    }

    /// The samples of a profile as fields of it, encoded; empty if there are none.
    pub(super) fn of_run(&self, run: u32, series: ProfileSeries) -> io::Result<Vec<u8>> {
        let start = self.rows.partition_point(|row| row.run < run);
        let rows = &self.rows[start..];
        let rows = &rows[..rows.partition_point(|row| row.run == run)];
        let mut out = Vec::new();
        for same in rows.chunk_by(|a, b| a.key() == b.key()) {
            let values = same.iter().map(|keyed| series.value(&keyed.row));
            let sum = values.fold(0, u64::saturating_add);
            if sum == 0 {
                continue;
            }
            let first = &same[0];
            let sample = proto::Sample {
                stack_index: index(u64::from(self.stacks[first.node as usize]))?,
                attribute_indices: first.attributes.into_iter().filter(|it| *it != 0).collect(),
                values: vec![i64::try_from(sum).unwrap_or(i64::MAX)],
            };
            put_message(SAMPLES, &sample.encode_to_vec(), &mut out);
        }
        Ok(out)
    }
}
