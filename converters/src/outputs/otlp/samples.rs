//! Samples, by run and stack. Rows with the same stack and attributes are one sample.

use super::{
    ProfileSeries,
    attributes::{AttributeTable, MOST},
    dictionary::Dictionary,
    index, proto, put_message,
};
use crate::outputs::{
    rows::{OutputRow, RowOwner, Rows},
    tables::Locations,
    tree::StackTree,
};
use prost::Message;
use std::io;
use tyrion_model::profile::{LinkRow, Profile};
use tyrion_wire::{WaitKind, span::Span};

/// `Profile.samples`.
const SAMPLES: u64 = 2;

/// A row, and what it is sorted by.
struct SortedRow {
    run: u32,
    node: u32,
    attributes: [i32; MOST],
    /// The span's number, 0 for none.
    link: i32,
    row: OutputRow,
}

impl SortedRow {
    fn key(&self) -> (u32, u32, [i32; MOST], i32) {
        (self.run, self.node, self.attributes, self.link)
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
        let mut rows: Vec<SortedRow> = Vec::with_capacity(rows.len());
        for (row, &node) in with_nodes {
            let attributes = attributes.of(&row, dictionary)?;
            let run = run(row.thread);
            for (row, span) in by_span(profile, row) {
                let link = dictionary.link(span)?;
                rows.push(SortedRow { run, node, attributes, link, row });
            }
        }
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
                link_index: first.link,
                values: vec![i64::try_from(sum).unwrap_or(i64::MAX)],
            };
            put_message(SAMPLES, &sample.encode_to_vec(), &mut out);
        }
        Ok(out)
    }
}

/// A row by the spans of its waits, as far as these are known, and what is left of it.
fn by_span(profile: &Profile, row: OutputRow) -> Vec<(OutputRow, Span)> {
    let mut rest = row;
    let mut parts = Vec::new();
    let kind = row.kind.filter(|_| row.owner != RowOwner::Itself);
    for link in kind.map_or(&[][..], |kind| links_of(profile, &row, kind)) {
        if profile.owners.is_empty() || row.is_owned_by(profile, link.owner) {
            let part = rest.take_wait(link.wait_ns);
            parts.extend(part.map(|part| (part, link.span)));
        }
    }
    parts.push((rest, Span::NONE));
    parts
}

/// The waits with spans that are parts of a row of waits.
fn links_of<'p>(profile: &'p Profile, row: &OutputRow, kind: WaitKind) -> &'p [LinkRow] {
    let key = (row.thread, row.stack, row.lock, kind);
    let start = profile.links.partition_point(|link| link.key() < key);
    let links = &profile.links[start..];
    &links[..links.partition_point(|link| link.key() == key)]
}
