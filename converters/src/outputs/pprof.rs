//! pprof: a gzipped protobuf, with labels to filter and to group by.

mod gzip;
mod labels;
pub mod proto;
mod samples;

use super::{
    By, Feature, Format, Metrics, OutputOptions,
    facts::{self, RowKinds},
    rows::{RowColumn, Rows},
    tables::{Locations, Strings, TableEntry},
    tree::{Leaves, StackTree, StateLeaves},
};
use gzip::{Gzip, GzipBlock};
use labels::LabelTable;
use prost::Message;
use samples::SampleWriter;
use std::io::{self, Write};
use tyrion_formats::Fact;
use tyrion_model::profile::Profile;

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

/// Writes a profile, compressed.
///
/// # Errors
/// Those of `out`.
pub fn stream(profile: &Profile, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let rows = Rows::all(profile, options);
    let tree = StackTree::new(profile, &rows, Leaves::new(options, StateLeaves::ButRunning))?;
    let columns = columns(&rows);
    let mut strings = Strings::default();
    let locations = Locations::new(profile, &tree);
    let mut out = Pieces::new(out)?;

    out.write(&header(profile, options, &columns, &mut strings))?;
    let labels = LabelTable::new(profile, options, &mut strings);
    let (tree, locations) = (&tree, &locations);
    SampleWriter { rows, columns, tree, locations, labels: &labels }.write(&mut out)?;
    locations.each(profile, tree, &mut strings, &mut |entry| out.write(&piece(entry)))?;
    out.write(&proto::Profile { string_table: strings.into_table(), ..Default::default() })?;
    out.finish()
}

/// The columns: what was blocked is told by the label `state`.
fn columns(rows: &Rows<'_>) -> Vec<RowColumn> {
    let mut columns = rows.columns();
    columns.retain(|column| *column != RowColumn::BlockedNs);
    columns
}

/// The id of the one mapping, without which `pprof` looks for a binary.
const MAPPING_ID: u64 = 1;

/// A location or a function as a piece of a profile.
fn piece(entry: TableEntry) -> proto::Profile {
    match entry {
        TableEntry::Location { id, function_id, line } => {
            let line = vec![proto::Line { function_id, line }];
            let location = vec![proto::Location { id, mapping_id: MAPPING_ID, line }];
            proto::Profile { location, ..Default::default() }
        }
        TableEntry::Function { id, name, system_name, filename, first_line: start_line } => {
            let function = vec![proto::Function { id, name, system_name, filename, start_line }];
            proto::Profile { function, ..Default::default() }
        }
    }
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
        self.gzip.add(&GzipBlock::of(&self.buffer)?)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes pieces that somebody else has encoded and compressed.
    fn add(&mut self, block: &GzipBlock) -> io::Result<()> {
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

/// Everything that stands once. What readers show first is the metric of the options.
fn header(
    profile: &Profile,
    options: &OutputOptions,
    columns: &[RowColumn],
    strings: &mut Strings,
) -> proto::Profile {
    let (rows, metric) = (Rows::all(profile, options), Rows::with_metric(profile, options).1);
    let (period, usual) = match rows.lacks_waits() {
        true if rows.columns().contains(&RowColumn::Samples) => {
            (RowColumn::Samples, RowColumn::Samples)
        }
        true => (RowColumn::WallNs, RowColumn::WallNs),
        false => (RowColumn::Count, RowColumn::WaitNs),
    };
    let default = if columns.contains(&metric) { metric } else { usual };
    let default = sample_type(default, strings).r#type;
    let period_type = sample_type(period, strings);
    let sample_types = columns.iter().map(|&column| sample_type(column, strings));
    let sample_types = sample_types.collect();
    // 0 of one of which it is not known.
    let starts = profile.runs.iter().map(|run| run.start_wall_ns).filter(|&ns| ns != 0);
    let start_ns = starts.min().unwrap_or(0);
    // As `pprof` does when it merges profiles: the times add up.
    let duration_ns =
        profile.runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.duration_ns));
    let mut comments =
        vec![format!("tyrion {}, {}", env!("CARGO_PKG_VERSION"), RowKinds::of(&rows))];
    for run in &profile.runs {
        comments
            .extend(facts::of_run(run).into_iter().map(|(name, value)| format!("{name}: {value}")));
    }
    if let Some(estimated) = facts::estimated(&profile.taken()) {
        comments.push(format!("Acquisitions: {estimated}"));
    }
    proto::Profile {
        sample_type: sample_types,
        mapping: vec![proto::Mapping {
            id: MAPPING_ID,
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
        default_sample_type: default,
        ..Default::default()
    }
}

fn sample_type(column: RowColumn, strings: &mut Strings) -> proto::ValueType {
    let (name, unit) = column.name_and_unit();
    proto::ValueType { r#type: strings.id(name), unit: strings.id(unit) }
}

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
