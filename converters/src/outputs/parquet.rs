//! Parquet: tables that databases query, a folder of files. `docs/sql.md` has the columns
//! of each table, and questions.
//!
//! A row of `waits` is a wait; a row of `cells` is a sum of waits that were below the
//! threshold. Only both together have all waits.

mod table;

use super::{By, Format, Metrics, Stream, create::write_folder};
use parquet::data_type::ByteArray;
use std::{io, path::Path};
use table::{CellValue, ColumnSpec, ColumnType, TableWriter};
use tyrion_formats::Recording;
use tyrion_model::{
    names,
    profile::{Profile, Run},
    timeline::{Item, Timeline, Wait},
};
use tyrion_wire::{Outcome, WaitKind};

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "parquet",
    default_file: "parquet",
    about: "Parquet: a folder of tables (waits, cells, threads, locks, stacks, runs) for SQL",
    metrics: Metrics::Times,
    by: &[By::Waiter],
    features: &[],
    loses: super::WAITS_LOSE,
    looked_at: Some("DuckDB"),
    open_with: "duckdb -c \"FROM '{}/waits.parquet' LIMIT 10\"",
    stream: Stream::Folder(write),
    files: None,
};

const WAITS: &[ColumnSpec] = &[
    ("run", ColumnType::Number),
    ("thread", ColumnType::Number),
    ("lock", ColumnType::Number),
    ("stack", ColumnType::Number),
    ("kind", ColumnType::Text),
    ("outcome", ColumnType::Text),
    ("owner", ColumnType::NumberOrNull),
    ("waker", ColumnType::NumberOrNull),
    ("parks", ColumnType::NumberOrNull),
    ("start_unix_ns", ColumnType::Number),
    ("wait_ns", ColumnType::Number),
];

const CELLS: &[ColumnSpec] = &[
    ("run", ColumnType::Number),
    ("thread", ColumnType::Number),
    ("lock", ColumnType::Number),
    ("stack", ColumnType::Number),
    ("kind", ColumnType::Text),
    ("count", ColumnType::Number),
    ("wait_ns", ColumnType::Number),
    ("longest_ns", ColumnType::Number),
    ("first_unix_ns", ColumnType::Number),
    ("last_unix_ns", ColumnType::Number),
];

const THREADS: &[ColumnSpec] = &[
    ("run", ColumnType::Number),
    ("thread", ColumnType::Number),
    ("name", ColumnType::Text),
    ("java_id", ColumnType::Number),
    ("thread_group", ColumnType::Text),
    ("daemon", ColumnType::Number),
    ("virtual", ColumnType::Number),
];

const LOCKS: &[ColumnSpec] = &[
    ("lock", ColumnType::Number),
    ("run", ColumnType::Number),
    ("called", ColumnType::Text),
    ("name", ColumnType::TextOrNull),
    ("class", ColumnType::Text),
    ("object", ColumnType::NumberOrNull),
];

const STACKS: &[ColumnSpec] = &[
    ("stack", ColumnType::Number),
    ("method", ColumnType::TextOrNull),
    ("frames", ColumnType::Texts),
];

const RUNS: &[ColumnSpec] = &[
    ("run", ColumnType::Number),
    ("log", ColumnType::Text),
    ("host", ColumnType::TextOrNull),
    ("program", ColumnType::TextOrNull),
    ("jvm", ColumnType::TextOrNull),
    ("pid", ColumnType::NumberOrNull),
    ("start_unix_ns", ColumnType::NumberOrNull),
    ("duration_ns", ColumnType::Number),
    ("threshold_ns", ColumnType::Number),
    ("processors", ColumnType::NumberOrNull),
];

fn write(timeline: &Timeline<'_>, path: &Path) -> io::Result<()> {
    let facts = facts(timeline);
    write_folder(path, |folder| {
        let create = |name, columns| TableWriter::create(folder, name, columns, &facts);
        write_waits(timeline, create("waits", WAITS)?)?;
        write_cells(timeline, create("cells", CELLS)?)?;
        write_threads(timeline.logs(), create("threads", THREADS)?)?;
        write_locks(timeline.profile(), create("locks", LOCKS)?)?;
        write_stacks(timeline.profile(), create("stacks", STACKS)?)?;
        write_runs(timeline, create("runs", RUNS)?)
    })
}

/// What is said of each file as a whole, beside its table.
fn facts(timeline: &Timeline<'_>) -> Vec<(String, String)> {
    let runs = timeline.profile().runs.iter();
    let logs: Vec<&str> = runs.map(|run| run.log.as_str()).collect();
    let mut facts = vec![
        ("tyrion.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("tyrion.tables".to_owned(), "1".to_owned()),
        ("tyrion.logs".to_owned(), logs.join("\n")),
    ];
    facts.extend(timeline.notes().into_iter().map(|note| ("tyrion.note".to_owned(), note)));
    facts
}

/// Unix times of a timeline's moments.
struct UnixClock {
    start_ns: u64,
    start_wall_ns: u64,
}

impl UnixClock {
    fn of(timeline: &Timeline<'_>) -> UnixClock {
        let axis = timeline.axis();
        UnixClock { start_ns: axis.start_ns(), start_wall_ns: axis.start_wall_ns() }
    }

    fn unix(&self, at_ns: u64) -> CellValue {
        let unix_ns = u128::from(self.start_wall_ns) + u128::from(at_ns);
        let unix_ns = unix_ns.saturating_sub(u128::from(self.start_ns));
        CellValue::Number(u64::try_from(unix_ns).unwrap_or(u64::MAX))
    }
}

/// The names of kinds and outcomes, which millions of rows share.
struct Words {
    kinds: Vec<ByteArray>,
    outcomes: Vec<(Outcome, ByteArray)>,
}

impl Words {
    fn new() -> Words {
        let outcomes = Outcome::ALL.iter();
        Words {
            kinds: WaitKind::ALL.iter().map(|kind| ByteArray::from(kind.name())).collect(),
            outcomes: outcomes.map(|it| (*it, ByteArray::from(it.name()))).collect(),
        }
    }

    fn kind(&self, kind: WaitKind) -> CellValue {
        let at = usize::from(kind.code()) - 1;
        self.kinds.get(at).map_or(CellValue::Null, |name| CellValue::Text(name.clone()))
    }

    fn outcome(&self, outcome: Outcome) -> CellValue {
        let known = self.outcomes.iter().find(|(known, _)| *known == outcome);
        CellValue::Text(known.map_or_else(ByteArray::new, |(_, name)| name.clone()))
    }
}

fn number(value: impl Into<u64>) -> CellValue {
    CellValue::Number(value.into())
}

/// Null for 0, which stands for what is not known.
fn known(value: impl Into<u64>) -> CellValue {
    match value.into() {
        0 => CellValue::Null,
        value => CellValue::Number(value),
    }
}

fn text(text: &str) -> CellValue {
    CellValue::Text(ByteArray::from(text))
}

/// Null for the empty text, which stands for what is not known.
fn known_text(value: &str) -> CellValue {
    if value.is_empty() { CellValue::Null } else { text(value) }
}

fn write_waits(timeline: &Timeline<'_>, mut table: TableWriter) -> io::Result<()> {
    let (clock, words) = (UnixClock::of(timeline), Words::new());
    let row = |wait: &Wait| {
        [
            number(wait.run),
            number(wait.thread_id),
            number(wait.lock),
            number(wait.stack),
            words.kind(wait.kind),
            words.outcome(wait.outcome),
            known(wait.owner),
            known(wait.waker.map_or(0, |waker| waker.thread_id)),
            known(wait.parks),
            clock.unix(wait.start_ns),
            number(wait.wait_ns),
        ]
    };
    timeline.in_time(&mut |items, _| {
        items.iter().filter_map(Item::wait).try_for_each(|wait| table.add(row(wait)))
    })?;
    table.finish()
}

fn write_cells(timeline: &Timeline<'_>, mut table: TableWriter) -> io::Result<()> {
    let (clock, words) = (UnixClock::of(timeline), Words::new());
    for cell in timeline.untimed() {
        table.add([
            number(cell.run),
            number(cell.thread_id),
            number(cell.lock),
            number(cell.stack),
            words.kind(cell.kind),
            number(cell.count),
            number(cell.wait_ns),
            number(cell.longest_ns),
            clock.unix(cell.first_ns),
            clock.unix(cell.last_ns),
        ])?;
    }
    table.finish()
}

/// All threads of the logs: owners need not have waited.
fn write_threads(logs: &[Recording], mut table: TableWriter) -> io::Result<()> {
    for (run, log) in (0u32..).zip(logs) {
        for (id, thread) in log.definitions().threads().iter() {
            table.add([
                number(run),
                number(id),
                text(&tyrion_model::describe::Names(log).thread(id)),
                number(thread.java_id),
                text(&log.text(thread.group)),
                number(thread.daemon),
                number(thread.is_virtual),
            ])?;
        }
    }
    table.finish()
}

fn write_locks(profile: &Profile, mut table: TableWriter) -> io::Result<()> {
    for (id, lock) in (0u32..).zip(&profile.locks) {
        table.add([
            number(id),
            number(lock.run),
            text(if lock.name.is_empty() { &lock.class } else { &lock.name }),
            known_text(&lock.name),
            text(&lock.class),
            known(lock.id),
        ])?;
    }
    table.finish()
}

/// Stacks with their frames, the innermost first.
fn write_stacks(profile: &Profile, mut table: TableWriter) -> io::Result<()> {
    // Each frame is a text once, however many stacks have it.
    let frames: Vec<ByteArray> = profile
        .frames
        .iter()
        .map(|frame| {
            let function = profile.functions.get(frame.function as usize);
            let name = function.map_or_else(String::new, names::dotted);
            ByteArray::from(match frame.line {
                0 => name.into_bytes(),
                line => format!("{name}:{line}").into_bytes(),
            })
        })
        .collect();
    let method = |stack: u32| {
        let frame = profile.frames_of(stack).next()?;
        Some(names::dotted(profile.functions.get(frame.function as usize)?))
    };
    for id in 0..profile.stacks.len() as u32 {
        let of_stack = profile.frame_ids_of(id);
        let texts = of_stack.filter_map(|frame| frames.get(frame as usize).cloned()).collect();
        table.add([
            number(id),
            method(id).map_or(CellValue::Null, |method| text(&method)),
            CellValue::Texts(texts),
        ])?;
    }
    table.finish()
}

fn write_runs(timeline: &Timeline<'_>, mut table: TableWriter) -> io::Result<()> {
    for ((id, run), log) in (0u32..).zip(&timeline.profile().runs).zip(timeline.logs()) {
        let facts = log.facts();
        let Run { start_wall_ns, duration_ns, threshold_ns, .. } = *run;
        let processors = facts.metadata("processors").and_then(|count| count.parse::<u64>().ok());
        table.add([
            number(id),
            text(&run.log),
            known_text(&run.host),
            known_text(&run.program),
            known_text(&run.jvm),
            known(run.pid),
            known(start_wall_ns),
            number(duration_ns),
            number(threshold_ns),
            known(processors.unwrap_or(0)),
        ])?;
    }
    table.finish()
}
