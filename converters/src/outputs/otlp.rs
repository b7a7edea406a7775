//! OpenTelemetry profiles: a file that collectors take as the body of a request.
//!
//! Each metric is a profile of its own, since a sample has one number there. What is called
//! `period_type` names the sort of profile, as Pyroscope and Go have it: `mutex` for lock
//! contention, `block` for other waits.

mod attributes;
mod dictionary;
pub mod proto;
mod samples;

use super::{
    By, Feature, Format, Metrics, OutputOptions,
    rows::{OutputRow, RowColumn, Rows},
    tables::Locations,
    tree::{Leaves, StackTree, StateLeaves},
};
use attributes::AttributeTable;
use dictionary::Dictionary;
use prost::Message;
use samples::SeriesSamples;
use std::io::{self, Write};
use tyrion_formats::Fact;
use tyrion_model::profile::{Profile, Run};
use tyrion_wire::varint;

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "otlp",
    default_file: "locks.otlp",
    about: "OpenTelemetry profiles (OTLP), to send to a collector; see also tyrion push",
    metrics: Metrics::All,
    by: &[By::Waiter, By::Holder, By::Waker],
    features: &[Feature::ThreadLabel, Feature::Resource],
    loses: &[Fact::Moments, Fact::Outcomes, Fact::Nesting, Fact::Collections],
    looked_at: Some("the OpenTelemetry Collector"),
    open_with: "curl -H 'Content-Type: application/x-protobuf' --data-binary @{} \
                http://localhost:4318/v1development/profiles",
    stream: super::Stream::Sums(stream),
    files: None,
};

/// What a process is called that does not say: OpenTelemetry's own words.
const UNKNOWN_SERVICE: &str = "unknown_service:java";

/// Fields of messages that are put together from parts here: their bytes are many.
const RESOURCE_PROFILES: u64 = 1;
const DICTIONARY: u64 = 2;
const SCOPE_PROFILES: u64 = 2;
const PROFILES: u64 = 2;

/// A profile of a run: a sort of rows and what is added up of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProfileSeries {
    sort: SeriesKind,
    column: RowColumn,
}

/// What profiles are about; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeriesKind {
    Mutex,
    Block,
    Lock,
    Wall,
    Cpu,
}

impl SeriesKind {
    /// As `period_type` has it.
    fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            SeriesKind::Mutex => ("mutex", "count"),
            SeriesKind::Block => ("block", "count"),
            SeriesKind::Lock => ("lock", "count"),
            SeriesKind::Wall => ("wall", "nanoseconds"),
            SeriesKind::Cpu => ("cpu", "nanoseconds"),
        }
    }

    fn of(column: RowColumn, row: &OutputRow) -> SeriesKind {
        match column {
            RowColumn::Count | RowColumn::WaitNs => match row.kind {
                Some(kind) if !kind.is_contention() => SeriesKind::Block,
                _ => SeriesKind::Mutex,
            },
            RowColumn::Acquisitions
            | RowColumn::Reentrant
            | RowColumn::HoldNs
            | RowColumn::BlamedNs => SeriesKind::Lock,
            RowColumn::AcquisitionsError | RowColumn::ReentrantError => SeriesKind::Lock,
            RowColumn::WallNs | RowColumn::BlockedNs | RowColumn::Samples => SeriesKind::Wall,
            RowColumn::CpuNs => SeriesKind::Cpu,
        }
    }
}

impl ProfileSeries {
    /// What of a row belongs to it.
    fn value(self, row: &OutputRow) -> u64 {
        if SeriesKind::of(self.column, row) == self.sort { row.value(self.column) } else { 0 }
    }
}

/// All profiles that a run may have; the one to show first in front.
fn series(rows: &Rows<'_>) -> Vec<ProfileSeries> {
    let columns = rows.columns();
    let of = |sort, asked: &[RowColumn]| -> Vec<ProfileSeries> {
        let has = asked.iter().filter(|column| columns.contains(column));
        has.map(|&column| ProfileSeries { sort, column }).collect()
    };
    let waits = [RowColumn::WaitNs, RowColumn::Count];
    let holds = [
        RowColumn::HoldNs,
        RowColumn::Acquisitions,
        RowColumn::AcquisitionsError,
        RowColumn::Reentrant,
        RowColumn::ReentrantError,
        RowColumn::BlamedNs,
    ];
    [
        of(SeriesKind::Mutex, &waits),
        of(SeriesKind::Block, &waits),
        of(SeriesKind::Lock, &holds),
        of(SeriesKind::Wall, &[RowColumn::WallNs, RowColumn::BlockedNs, RowColumn::Samples]),
        of(SeriesKind::Cpu, &[RowColumn::CpuNs]),
    ]
    .concat()
}

/// Writes a profile.
///
/// # Errors
/// Those of `out`, and when there is more than the format can number.
pub fn stream(profile: &Profile, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let rows = Rows::all(profile, options);
    let tree = StackTree::new(profile, &rows, Leaves::new(options, StateLeaves::ButRunning))?;
    let locations = Locations::new(profile, &tree);
    let mut dictionary = Dictionary::default();
    let (series, attributes) = (series(&rows), AttributeTable::new(profile, options));
    let samples = SeriesSamples::new(profile, &rows, &tree, &series, attributes, &mut dictionary)?;
    samples.write_stacks(&tree, &locations, &mut dictionary)?;
    for (id, run) in (0u32..).zip(&profile.runs) {
        let mut profiles = Vec::new();
        for &series in &series {
            let of_series = samples.of_run(id, series)?;
            if !of_series.is_empty() {
                let mut bytes = header(run, series, &mut dictionary)?.encode_to_vec();
                bytes.extend_from_slice(&of_series);
                put_message(PROFILES, &bytes, &mut profiles);
            }
        }
        write_run(run, options, &profiles, out)?;
    }
    let dictionary = dictionary.encode(profile, &tree, &locations)?;
    write_message(DICTIONARY, &[&dictionary], out)?;
    out.flush()
}

/// A profile without its samples.
fn header(
    run: &Run,
    series: ProfileSeries,
    dictionary: &mut Dictionary,
) -> io::Result<proto::Profile> {
    let ProfileSeries { sort, column } = series;
    let period = match sort {
        SeriesKind::Wall | SeriesKind::Cpu => run.period_ns.max(1),
        _ => 1,
    };
    let (name, unit) = column.name_and_unit();
    let (period_name, period_unit) = sort.name_and_unit();
    Ok(proto::Profile {
        sample_type: Some(dictionary.value_type(name, unit)?),
        time_unix_nano: run.start_wall_ns,
        duration_nano: run.duration_ns,
        period_type: Some(dictionary.value_type(period_name, period_unit)?),
        period: i64::try_from(period).unwrap_or(i64::MAX),
        samples: Vec::new(),
    })
}

/// Writes a run with its profiles, which are encoded.
fn write_run(
    run: &Run,
    options: &OutputOptions,
    profiles: &[u8],
    out: &mut dyn Write,
) -> io::Result<()> {
    let scope = proto::InstrumentationScope {
        name: "tyrion".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let of_scope = proto::ScopeProfiles { scope: Some(scope), profiles: Vec::new() };
    let of_scope = of_scope.encode_to_vec();
    let resource = proto::Resource { attributes: resource(run, &options.resource) };
    let resource = proto::ResourceProfiles { resource: Some(resource), scope_profiles: Vec::new() };
    let mut start = resource.encode_to_vec();
    put_tag(SCOPE_PROFILES, of_scope.len() + profiles.len(), &mut start);
    write_message(RESOURCE_PROFILES, &[&start, &of_scope, profiles], out)
}

/// What is known of a process; `given` comes before what the log says.
fn resource(run: &Run, given: &[(String, String)]) -> Vec<proto::KeyValue> {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned().into());
    let service = known(&run.program).unwrap_or_else(|| UNKNOWN_SERVICE.to_owned().into());
    let facts: [(&str, Option<proto::AnyValue>); 5] = [
        ("service.name", Some(service)),
        ("host.name", known(&run.host)),
        ("process.pid", (run.pid != 0).then(|| run.pid.into())),
        ("process.runtime.description", known(&run.jvm)),
        ("log.file.name", known(&run.log)),
    ];
    let is_given = |key: &str| given.iter().any(|(given, _)| given == key);
    let facts = facts.into_iter().filter(|(key, value)| value.is_some() && !is_given(key));
    let facts = facts.map(|(key, value)| proto::KeyValue { key: key.to_owned(), value });
    let given = given.iter().map(|(key, value)| proto::KeyValue {
        key: key.clone(),
        value: Some(value.clone().into()),
    });
    given.chain(facts).collect()
}

/// Puts the start of a field with a message of this length.
fn put_tag(field: u64, len: usize, out: &mut Vec<u8>) {
    varint::put(out, field << 3 | 2);
    varint::put(out, len as u64);
}

fn put_message(field: u64, message: &[u8], out: &mut Vec<u8>) {
    put_tag(field, message.len(), out);
    out.extend_from_slice(message);
}

/// Writes a field whose message is in parts.
fn write_message(field: u64, parts: &[&[u8]], out: &mut dyn Write) -> io::Result<()> {
    let mut start = Vec::new();
    put_tag(field, parts.iter().map(|part| part.len()).sum(), &mut start);
    out.write_all(&start)?;
    parts.iter().try_for_each(|part| out.write_all(part))
}

/// A row's number in a table.
///
/// # Errors
/// When there are more rows than the format can number.
fn index(at: u64) -> io::Result<i32> {
    i32::try_from(at).map_err(|_| io::Error::other("more rows than OTLP can number: 2147483647"))
}
