//! pprof: a gzipped protobuf, with labels to filter and to group by.

mod gzip;
pub mod proto;
mod tables;

use super::{
    By, Feature, Format, Metrics, OutputOptions,
    facts::{self, Kinds},
    rows::{Column, Owner, Row, Rows},
    tree::{Leaves, StateLeaves, Tree},
};
use crate::{
    harmless, names,
    profile::{Function, Profile, State},
};
use gzip::{Block, Gzip};
use prost::Message;
use rayon::prelude::*;
use std::{
    io::{self, Write},
    ops::Range,
};
use tables::{Locations, Strings};
use tyrion_formats::Fact;
use tyrion_wire::WaitKind;

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "pprof",
    default_file: "locks.pb.gz",
    about: "pprof protobuf, labelled by thread, owner_thread, lock, lock_class, kind, state and \
            group",
    metrics: Metrics::All,
    by: &[By::Waiter, By::Holder, By::Waker],
    features: &[Feature::ThreadLabel],
    loses: &[Fact::Moments, Fact::Outcomes, Fact::Nesting, Fact::Collections],
    looked_at: Some("go tool pprof"),
    open_with: "go tool pprof {}",
    stream: super::Stream::Sums(stream),
    files: None,
};

/// Rows that one worker encodes and compresses at a time, about a megabyte. The
/// bytes depend on it, and must not depend on the number of workers.
const ROWS_A_BLOCK: usize = 1 << 14;

/// Writes a profile, compressed.
///
/// # Errors
/// Those of `out`.
pub fn stream(profile: &Profile, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let rows = Rows::all(profile, options);
    let tree = Tree::new(profile, &rows, Leaves::new(options, StateLeaves::ButRunning))?;
    let columns = columns(&rows);
    let mut strings = Strings::default();
    let locations = Locations::new(profile, &tree);
    let mut out = Pieces::new(out)?;

    out.write(&header(profile, &rows, &mut strings))?;
    let labels = Labels::new(profile, options, &mut strings);
    let (tree, locations) = (&tree, &locations);
    Samples { rows, columns, tree, locations, labels: &labels }.write(&mut out)?;
    locations.write(profile, tree, &mut strings, &mut |piece| out.write(piece))?;
    out.write(&proto::Profile { string_table: strings.into_table(), ..Default::default() })?;
    out.finish()
}

/// The columns: what was blocked is told by the label `state`.
fn columns(rows: &Rows<'_>) -> Vec<Column> {
    let mut columns = rows.columns();
    columns.retain(|column| *column != Column::BlockedNs);
    columns
}

/// Writes a message in pieces: the whole of it may be hundreds of megabytes.
struct Pieces<'w> {
    gzip: Gzip<'w>,
    buffer: Vec<u8>,
}

impl<'w> Pieces<'w> {
    const BLOCK_BYTES: usize = 1 << 20;

    fn new(out: &'w mut dyn Write) -> io::Result<Self> {
        Ok(Pieces { gzip: Gzip::new(out)?, buffer: Vec::new() })
    }

    fn write(&mut self, piece: &proto::Profile) -> io::Result<()> {
        piece.encode(&mut self.buffer).map_err(io::Error::other)?;
        if self.buffer.len() >= Self::BLOCK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.gzip.add(&Block::of(&self.buffer)?)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes pieces that somebody else has encoded and compressed.
    fn add(&mut self, block: &Block) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.flush()?;
        }
        self.gzip.add(block)
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.gzip.finish()
    }
}

/// Everything that stands once.
fn header(profile: &Profile, rows: &Rows<'_>, strings: &mut Strings) -> proto::Profile {
    let (period, default) =
        if rows.lacks_waits() { (Column::WallNs, "wall") } else { (Column::Count, "delay") };
    let period_type = sample_type(period, strings);
    let sample_types = columns(rows).into_iter().map(|column| sample_type(column, strings));
    let sample_types = sample_types.collect();
    // 0 of one of which it is not known.
    let starts = profile.runs.iter().map(|run| run.start_wall_ns).filter(|&ns| ns != 0);
    let start_ns = starts.min().unwrap_or(0);
    // As `pprof` does when it merges profiles: the times add up.
    let duration_ns =
        profile.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.duration_ns));
    let mut comments = vec![format!("tyrion {}, {}", env!("CARGO_PKG_VERSION"), Kinds::of(rows))];
    for run in &profile.runs {
        comments
            .extend(facts::of_run(run).into_iter().map(|(name, value)| format!("{name}: {value}")));
    }
    proto::Profile {
        sample_type: sample_types,
        mapping: vec![proto::Mapping {
            id: tables::MAPPING_ID,
            filename: strings.id("[java]"),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        }],
        time_nanos: to_i64(start_ns),
        duration_nanos: to_i64(duration_ns),
        period_type: Some(period_type),
        period: 1,
        comment: comments.iter().map(|comment| strings.id(comment)).collect(),
        default_sample_type: strings.id(default),
        ..Default::default()
    }
}

/// What a column is in pprof: Go's names for waits, and names like them.
fn sample_type(column: Column, strings: &mut Strings) -> proto::ValueType {
    let (name, unit) = match column {
        Column::Count => ("contentions", "count"),
        Column::WaitNs => ("delay", "nanoseconds"),
        Column::Acquisitions => ("acquisitions", "count"),
        Column::Reentrant => ("reentrant", "count"),
        Column::HoldNs => ("hold", "nanoseconds"),
        Column::BlamedNs => ("blamed", "nanoseconds"),
        Column::WallNs => ("wall", "nanoseconds"),
        Column::CpuNs => ("cpu", "nanoseconds"),
        Column::BlockedNs => ("blocked", "nanoseconds"),
    };
    proto::ValueType { r#type: strings.id(name), unit: strings.id(unit) }
}

/// The strings of every label that a sample may have.
struct Labels {
    /// Key and values, by thread; none if threads are not told apart.
    thread: Option<(i64, Vec<i64>)>,
    /// The key of owners, and the values of those that are not the row's own thread;
    /// none if threads are not told apart.
    owner: Option<(i64, Vec<i64>)>,
    lock: (i64, Vec<i64>),
    lock_class: (i64, Vec<i64>),
    kind: (i64, [i64; WaitKind::ALL.len()]),
    /// Only if threads were sampled.
    state: Option<(i64, [i64; State::ALL.len()])>,
    /// Key, and the value of each stack, 0 for none; only if there are groups.
    group: Option<(i64, Vec<i64>)>,
}

impl Labels {
    fn new(profile: &Profile, options: &OutputOptions, strings: &mut Strings) -> Labels {
        let threads = 0..profile.threads.len() as u32;
        let locks = 0..profile.locks.len() as u32;
        let thread = options.thread_label.then(|| {
            let name = |thread| profile.thread_name(thread);
            (
                strings.id("thread"),
                threads.map(|at| strings.id(&harmless::name(&name(at)))).collect(),
            )
        });
        let owner = options.thread_label.then(|| {
            let owners = profile.owners.iter();
            (
                strings.id("owner_thread"),
                owners.map(|owner| strings.id(&harmless::name(&owner.label()))).collect(),
            )
        });
        let lock_class: Vec<String> =
            locks.clone().map(|lock| names::lock_class(profile, lock)).collect();
        let lock = locks.map(|lock| strings.id(&names::lock(profile, lock)));
        let lock = lock.collect();
        Labels {
            thread,
            owner,
            lock: (strings.id("lock"), lock),
            lock_class: (
                strings.id("lock_class"),
                lock_class.iter().map(|class| strings.id(class)).collect(),
            ),
            kind: (strings.id("kind"), WaitKind::ALL.map(|kind| strings.id(kind.name()))),
            state: profile
                .has_samples
                .then(|| (strings.id("state"), State::ALL.map(|state| strings.id(state.name())))),
            group: groups(profile, strings),
        }
    }

    /// The value of a row's label for the owner, 0 for none.
    fn owner(&self, row: &Row) -> i64 {
        let value = |labels: &Option<(i64, Vec<i64>)>, at: u32| {
            let values = labels.as_ref().map(|(_, values)| values);
            values.and_then(|values| values.get(at as usize)).copied().unwrap_or(0)
        };
        match row.owner {
            Owner::Unknown => 0,
            Owner::Itself => value(&self.thread, row.thread),
            Owner::Other(owner) => value(&self.owner, owner),
        }
    }

    /// Sets the labels of a row.
    fn set(&self, row: &Row, labels: &mut Vec<proto::Label>) {
        let label = |key, str| proto::Label { key, str, ..Default::default() };
        let lock = row.lock as usize;
        labels.clear();
        if let Some((key, values)) = &self.thread {
            labels.push(label(*key, values[row.thread as usize]));
        }
        if let Some((key, _)) = &self.owner {
            labels.push(label(*key, self.owner(row)));
        }
        // Samples need not have a lock.
        for (key, values) in [&self.lock, &self.lock_class] {
            labels.extend(values.get(lock).map(|&value| label(*key, value)));
        }
        if let Some(kind) = row.kind {
            labels.push(label(self.kind.0, self.kind.1[usize::from(kind.code()) - 1]));
        }
        if let Some(((key, values), state)) = self.state.as_ref().zip(row.state) {
            labels.push(label(*key, values[state as usize]));
        }
        if let Some((key, values)) = &self.group {
            labels.push(label(*key, values[row.stack as usize]));
        }
        // The empty string is how a label says that it is a number.
        labels.retain(|label| label.str != 0);
    }
}

/// The key of groups, and the group of each stack, 0 for none; nothing if there
/// are no groups.
fn groups(profile: &Profile, strings: &mut Strings) -> Option<(i64, Vec<i64>)> {
    if !profile.functions.iter().any(Function::is_group) {
        return None;
    }
    let name = |group: u32| harmless::name(&profile.functions[group as usize].method);
    let groups = profile.groups_of_stacks().into_iter();
    let groups = groups.map(|group| group.map_or(0, |group| strings.id(&name(group)))).collect();
    Some((strings.id("group"), groups))
}

/// A piece that holds one sample, reused for all.
struct SamplePiece<'a> {
    piece: proto::Profile,
    /// The node whose locations it holds.
    node: u32,
    tree: &'a Tree,
    locations: &'a Locations,
    labels: &'a Labels,
}

impl<'a> SamplePiece<'a> {
    fn new(tree: &'a Tree, locations: &'a Locations, labels: &'a Labels) -> Self {
        let piece = proto::Profile { sample: vec![proto::Sample::default()], ..Default::default() };
        SamplePiece { piece, node: 0, tree, locations, labels }
    }

    /// The sample of rows like this one at a node, with these sums.
    fn of(&mut self, row: &Row, node: u32, sums: &[u64]) -> &proto::Profile {
        let sample = &mut self.piece.sample[0];
        if node != self.node {
            self.node = node;
            let steps = self.tree.path_up(node).map(|node| self.tree.steps[node as usize]);
            sample.location_id.clear();
            sample.location_id.extend(steps.map(|step| self.locations.id(step)));
        }
        sample.value.clear();
        sample.value.extend(sums.iter().map(|&sum| to_i64(sum)));
        self.labels.set(row, &mut sample.label);
        &self.piece
    }
}

/// What samples are made of.
struct Samples<'a> {
    rows: Rows<'a>,
    columns: Vec<Column>,
    tree: &'a Tree,
    locations: &'a Locations,
    labels: &'a Labels,
}

impl Samples<'_> {
    /// Writes the samples stack by stack, so that those that follow each other
    /// are alike: thread by thread they took three times as long to gzip, and
    /// 14 times the space (`examples/figures.rs`).
    fn write(&self, out: &mut Pieces<'_>) -> io::Result<()> {
        let (order, ends) = rows_by_node(self.tree);
        // In waves, so that no more blocks wait to be written than are made.
        for wave in blocks(&ends).chunks(2 * rayon::current_num_threads()) {
            let made: Vec<io::Result<Block>> =
                wave.par_iter().map(|nodes| self.block(&order, &ends, nodes.clone())).collect();
            for block in made {
                out.add(&block?)?;
            }
        }
        Ok(())
    }

    /// The samples of some nodes.
    fn block(&self, order: &[u32], ends: &[u32], nodes: Range<usize>) -> io::Result<Block> {
        let mut sample = SamplePiece::new(self.tree, self.locations, self.labels);
        let mut bytes = Vec::new();
        let mut rows = Vec::new();
        let mut sums = vec![0u64; self.columns.len()];
        for node in nodes {
            let start = node.checked_sub(1).map_or(0, |before| ends[before]);
            rows.clear();
            rows.extend_from_slice(&order[start as usize..ends[node] as usize]);
            rows.sort_unstable_by_key(|&at| self.key(at));
            for same in rows.chunk_by(|&a, &b| self.key(a) == self.key(b)) {
                sums.fill(0);
                for &at in same {
                    let row = self.rows.row(at as usize);
                    for (sum, column) in sums.iter_mut().zip(&self.columns) {
                        *sum = sum.saturating_add(row.value(*column));
                    }
                }
                let first = self.rows.row(same[0] as usize);
                let piece = sample.of(&first, node as u32, &sums);
                piece.encode(&mut bytes).map_err(io::Error::other)?;
            }
        }
        Block::of(&bytes)
    }

    /// Rows at one node with the same key are one sample.
    fn key(&self, at: u32) -> (u32, u32, Option<WaitKind>, Option<State>, i64) {
        let row = self.rows.row(at as usize);
        let thread = if self.labels.thread.is_some() { row.thread } else { 0 };
        (thread, row.lock, row.kind, row.state, self.labels.owner(&row))
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
fn rows_by_node(tree: &Tree) -> (Vec<u32>, Vec<u32>) {
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

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
