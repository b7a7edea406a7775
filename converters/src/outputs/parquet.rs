//! Parquet: tables that databases query, a folder of files. `docs/sql.md` has the columns
//! of each table, and questions.
//!
//! A row of `waits` is a wait; a row of `cells` is a sum of waits that were below the
//! threshold. Only both together have all waits.

mod table;

use super::{By, Format, Metrics, Stream, create::write_folder};
use parquet::data_type::ByteArray;
use std::{io, path::Path};
use table::{Column, Sort, Table, Value};
use tyrion_formats::{Fact, Recording};
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
    loses: &[
        Fact::Acquisitions,
        Fact::Holds,
        Fact::Blame,
        Fact::Nesting,
        Fact::Samples,
        Fact::Collections,
    ],
    looked_at: Some("DuckDB"),
    open_with: "duckdb -c \"FROM '{}/waits.parquet' LIMIT 10\"",
    stream: Stream::Folder(write),
    files: None,
};

const WAITS: &[Column] = &[
    ("run", Sort::Number),
    ("thread", Sort::Number),
    ("lock", Sort::Number),
    ("stack", Sort::Number),
    ("kind", Sort::Text),
    ("outcome", Sort::Text),
    ("owner", Sort::NumberOrNull),
    ("waker", Sort::NumberOrNull),
    ("parks", Sort::NumberOrNull),
    ("start_unix_ns", Sort::Number),
    ("wait_ns", Sort::Number),
];

const CELLS: &[Column] = &[
    ("run", Sort::Number),
    ("thread", Sort::Number),
    ("lock", Sort::Number),
    ("stack", Sort::Number),
    ("kind", Sort::Text),
    ("count", Sort::Number),
    ("wait_ns", Sort::Number),
    ("longest_ns", Sort::Number),
    ("first_unix_ns", Sort::Number),
    ("last_unix_ns", Sort::Number),
];

const THREADS: &[Column] = &[
    ("run", Sort::Number),
    ("thread", Sort::Number),
    ("name", Sort::Text),
    ("java_id", Sort::Number),
    ("thread_group", Sort::Text),
    ("daemon", Sort::Number),
    ("virtual", Sort::Number),
];

const LOCKS: &[Column] = &[
    ("lock", Sort::Number),
    ("run", Sort::Number),
    ("called", Sort::Text),
    ("name", Sort::TextOrNull),
    ("class", Sort::Text),
    ("object", Sort::NumberOrNull),
];

const STACKS: &[Column] =
    &[("stack", Sort::Number), ("method", Sort::TextOrNull), ("frames", Sort::Texts)];

const RUNS: &[Column] = &[
    ("run", Sort::Number),
    ("log", Sort::Text),
    ("host", Sort::TextOrNull),
    ("program", Sort::TextOrNull),
    ("jvm", Sort::TextOrNull),
    ("pid", Sort::NumberOrNull),
    ("start_unix_ns", Sort::NumberOrNull),
    ("duration_ns", Sort::Number),
    ("threshold_ns", Sort::Number),
    ("processors", Sort::NumberOrNull),
];

fn write(timeline: &Timeline<'_>, path: &Path) -> io::Result<()> {
    let facts = facts(timeline);
    write_folder(path, |folder| {
        let create = |name, columns| Table::create(folder, name, columns, &facts);
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
struct Clock {
    start_ns: u64,
    start_wall_ns: u64,
}

impl Clock {
    fn of(timeline: &Timeline<'_>) -> Clock {
        let axis = timeline.axis();
        Clock { start_ns: axis.start_ns(), start_wall_ns: axis.start_wall_ns() }
    }

    fn unix(&self, at_ns: u64) -> Value {
        let unix_ns = u128::from(self.start_wall_ns) + u128::from(at_ns);
        let unix_ns = unix_ns.saturating_sub(u128::from(self.start_ns));
        Value::Number(u64::try_from(unix_ns).unwrap_or(u64::MAX))
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

    fn kind(&self, kind: WaitKind) -> Value {
        let at = usize::from(kind.code()) - 1;
        self.kinds.get(at).map_or(Value::Null, |name| Value::Text(name.clone()))
    }

    fn outcome(&self, outcome: Outcome) -> Value {
        let known = self.outcomes.iter().find(|(known, _)| *known == outcome);
        Value::Text(known.map_or_else(ByteArray::new, |(_, name)| name.clone()))
    }
}

fn number(value: impl Into<u64>) -> Value {
    Value::Number(value.into())
}

/// Null for 0, which stands for what is not known.
fn known(value: impl Into<u64>) -> Value {
    match value.into() {
        0 => Value::Null,
        value => Value::Number(value),
    }
}

fn text(text: &str) -> Value {
    Value::Text(ByteArray::from(text))
}

/// Null for the empty text, which stands for what is not known.
fn known_text(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { text(value) }
}

fn write_waits(timeline: &Timeline<'_>, mut table: Table) -> io::Result<()> {
    let (clock, words) = (Clock::of(timeline), Words::new());
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

fn write_cells(timeline: &Timeline<'_>, mut table: Table) -> io::Result<()> {
    let (clock, words) = (Clock::of(timeline), Words::new());
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
fn write_threads(logs: &[Recording], mut table: Table) -> io::Result<()> {
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

fn write_locks(profile: &Profile, mut table: Table) -> io::Result<()> {
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
fn write_stacks(profile: &Profile, mut table: Table) -> io::Result<()> {
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
            method(id).map_or(Value::Null, |method| text(&method)),
            Value::Texts(texts),
        ])?;
    }
    table.finish()
}

fn write_runs(timeline: &Timeline<'_>, mut table: Table) -> io::Result<()> {
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
