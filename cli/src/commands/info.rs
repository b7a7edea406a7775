//! `tyrion info`: what a log is, and what was recorded into it. Which locks and
//! threads waited most is for the report to tell.

mod dumps;
mod fields;
mod questions;
mod record_filter;
mod sampling;
mod trace;
mod walks;

use crate::{
    filters::{self, FilterArgs, JobsArg, wants_pending},
    inputs::InputArgs,
    logs,
    outcome::{CommandResult, Failure},
    progress, shell,
    terminal::EscapingWriter,
};
use clap::Args;
use dumps::DumpFacts;
pub use fields::InfoJson;
use questions::Questions;
use sampling::SampleSums;
use serde_json::Value;
use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, BufWriter, Write},
    ops::Range,
    path::PathBuf,
};
use trace::TraceSums;
use tyrion_formats::{Lacks, Recording, ShortWaits, event_log};
use tyrion_model::{
    aggregate::{Aggregate, aggregate, work_bytes},
    filter::{Filter, Kinds},
    harmless, units,
};
use tyrion_report::{Collections, OwnCpu};
use tyrion_wire::{
    WaitKind,
    header::RecordingState,
    slot::{Pending, Tally},
};
use walks::Walks;

/// So many pauses are listed.
const PAUSES_TOLD: usize = 3;

/// Which log, and how.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion info report.log
  tyrion info --json report.log | jq .totals
  tyrion info --json report.log | jq .sampling.states

The states of sampled threads are the JVM's own; idle threads are counted in
them, and once more in a row of their own. Which locks and threads waited most,
and who still waits, is what tyrion report shows. docs/info.md describes the
JSON.")]
pub struct InfoArgs {
    /// The log to read, - for stdin
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    jobs: JobsArg,
}

/// Prints what a log is.
pub fn run(args: InfoArgs) -> CommandResult {
    let mut logs = [logs::open(&args.log, &args.inputs)?];
    let filter = args.filters.raw_filter()?;
    logs.iter_mut().for_each(|log| filter.choose_groups(log));
    // Outputs charge contention alone to holders, unless other kinds are named.
    let charged = if args.filters.names_kinds() { filter.kinds } else { Kinds::contention() };
    let bar = progress::bar(work_bytes(&logs), "reading");
    let read = || read(&logs, &filter, charged, &|bytes| bar.inc(bytes));
    let mut found = args.jobs.run(read)?;
    bar.finish_and_clear();
    if args.filters.is_given() && !found.lacks_waits() {
        let sums = &found.sums;
        filters::tell_if_empty(&sums.profile, sums.events.saturating_add(sums.folded));
    }
    // Counted below.
    found.sums.notes.pending = 0;
    let [log] = &logs;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = match args.json {
        true => to_json(&mut EscapingWriter::new(&mut out), log, &found),
        false => out.write_all(to_text(log, &found).as_bytes()),
    };
    let written = written.and_then(|()| out.flush());
    written.map_err(|error| Failure::writing("stdout", &error))?;
    Ok(logs::tell_damage(&found.sums.damage))
}

/// What is in a log.
struct LogContents {
    sums: Aggregate,
    waiting: PendingCounts,
    traced: Option<TraceSums>,
    sampled: Option<SampleSums>,
}

/// How many threads were waiting when the log ended.
#[derive(Clone, Copy, Default)]
struct PendingCounts {
    contention: usize,
    idle: usize,
}

impl PendingCounts {
    fn count(log: &Recording, filter: &Filter) -> PendingCounts {
        let withheld = filters::withheld(filter, log);
        let is_wanted = |pending: &&Pending| wants_pending(filter, log, &withheld, pending);
        let wanted = log.pending().iter().filter(is_wanted);
        let mut waiting = PendingCounts::default();
        for pending in wanted {
            match pending.kind.is_contention() {
                true => waiting.contention += 1,
                false => waiting.idle += 1,
            }
        }
        waiting
    }
}

impl LogContents {
    /// Whether nothing but samples was recorded, so that of waits nothing is
    /// known.
    fn lacks_waits(&self) -> bool {
        self.sums.profile.lacks_waits
    }

    /// Records among the waits.
    fn other_records(&self) -> u64 {
        let traced = self.traced.as_ref().map_or(0, |traced| traced.records);
        traced.saturating_add(self.sampled.as_ref().map_or(0, |sampled| sampled.records))
    }

    fn bytes_per_event(&self) -> f64 {
        match self.sums.events.saturating_add(self.other_records()) {
            0 => 0.0,
            events => self.sums.event_bytes as f64 / events as f64,
        }
    }
}

/// Reads a log on all workers of the current rayon pool.
fn read(
    logs: &[Recording; 1],
    filter: &Filter,
    charged: Kinds,
    progress: &(dyn Fn(u64) + Sync),
) -> LogContents {
    let sums = aggregate(logs, filter, progress);
    let [log] = logs;
    let traced = trace::sum(log, filter, charged, &sums.profile);
    let waiting = PendingCounts::count(log, filter);
    LogContents { sums, waiting, traced, sampled: sampling::sum(log, filter) }
}

/// What a log is worth: `whole`, or why not.
fn completeness(log: &Recording, sums: &Aggregate) -> &'static str {
    match log.facts().state {
        _ if !sums.damage.is_empty() => "damaged: see the warnings",
        RecordingState::Closed if log.facts().continued => {
            "whole: the recording goes on in a later file"
        }
        RecordingState::Recording | RecordingState::Paused if log.facts().continued => {
            "open: the recording goes on in a later file"
        }
        RecordingState::Closed if is_imported(log) => "whole",
        RecordingState::Closed => "whole: the JVM ended in an orderly way",
        RecordingState::Recording if is_imported(log) => {
            "not closed, as when the program is killed: its end may be missing"
        }
        RecordingState::Recording => "open: the JVM still runs, or was killed",
        RecordingState::Paused => "open: recording is paused",
        RecordingState::Broken => "broken off: the log could no longer be written",
    }
}

/// Whether it is of another format than the agent's own.
fn is_imported(log: &Recording) -> bool {
    log.facts().format != event_log::INPUT.name
}

/// What is printed of a log, for tests.
#[cfg(test)]
pub(super) fn printed(logs: &[Recording; 1], filter: &Filter, json: bool) -> String {
    let mut found = read(logs, filter, Kinds::contention(), &|_| {});
    found.sums.notes.pending = 0;
    let [log] = logs;
    if !json {
        return to_text(log, &found);
    }
    let mut out = Vec::new();
    to_json(&mut out, log, &found).unwrap();
    String::from_utf8(out).unwrap()
}

fn to_json(out: &mut dyn Write, log: &Recording, found: &LogContents) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &json_of(log, found)?)?;
    out.write_all(b"\n")
}

/// The JSON, its fields in the order of their names.
fn json_of(log: &Recording, found: &LogContents) -> serde_json::Result<Value> {
    let (facts, sums) = (log.facts(), &found.sums);
    let Lacks { waits, times, threads, .. } = facts.lacks;
    let (contention, other) = log.tallies();
    let since_start = |ns: u64| ns - log.start_ns();
    let spans = log.mode_spans();
    let mode_spans = spans.iter().map(|part| fields::ModeSpan {
        start_ns: since_start(part.span.start),
        duration_ns: part.span.end - part.span.start,
        mode: &part.mode,
    });
    let pauses = log.pauses().into_iter().map(|pause| fields::Pause {
        start_ns: since_start(pause.start),
        duration_ns: pause.end - pause.start,
    });
    let changes = log.option_changes();
    let option_changes = changes.iter().map(|change| fields::OptionChange {
        start_ns: since_start(change.from_ns),
        option: &change.key,
        value: &change.value,
    });
    let waiting =
        fields::WaitingCounts { contention: found.waiting.contention, idle: found.waiting.idle };
    serde_json::to_value(InfoJson {
        made: fields::Made::default(),
        log: log.name(),
        format: facts.format,
        version: facts.version,
        pid: log.known_pid(),
        state: facts.state.name(),
        continued: facts.continued,
        complete: facts.state == RecordingState::Closed && sums.damage.is_empty(),
        start: log.known_start_wall_ns().map(units::utc),
        start_wall_ns: log.known_start_wall_ns(),
        duration_ns: log.known_duration_ns(),
        threshold_ns: log.known_threshold_ns(),
        depth: facts.depth,
        metadata: facts.metadata.iter().map(|(key, value)| (&**key, &**value)).collect(),
        // What is not known is no zero.
        totals: (!found.lacks_waits()).then(|| totals(log, sums)),
        kinds: WaitKind::ALL.into_iter().map(|it| (it.name(), kind(log, sums, it))).collect(),
        callbacks: fields::Callbacks { contention: tally(contention), other: tally(other) },
        events: sums.events,
        bytes_per_event: found.bytes_per_event(),
        file_bytes: log.file_len(),
        threads: (!threads).then_some(sums.profile.threads.len()),
        waiting: (!times && !waits).then_some(waiting),
        damage: sums.damage.iter().map(ToString::to_string).collect(),
        notes: sums.notes.lines(),
        lacks: facts.lacks.names(),
        pauses: pauses.collect(),
        collections: collections(log),
        own_cpu: own_cpu(log),
        walks: Walks::of(log),
        holders: Questions::of(log),
        mode_spans: mode_spans.collect(),
        option_changes: option_changes.collect(),
        trace: found.traced.as_ref().map(TraceSums::fields),
        sampling: found.sampled.as_ref().map(SampleSums::fields),
    })
}

/// Numbers and durations, as far as the log tells them.
fn known_of(log: &Recording, count: u64, wait_ns: u64) -> (Option<u64>, Option<u64>) {
    let Lacks { waits, durations, .. } = log.facts().lacks;
    ((!waits).then_some(count), (!waits && !durations).then_some(wait_ns))
}

fn totals(log: &Recording, sums: &Aggregate) -> fields::Totals {
    let contention = sums.contention();
    let (count, wait_ns) = contention.total();
    let (contentions, wait_ns) = known_of(log, count, wait_ns);
    let (folded, _) = known_of(log, contention.folded, 0);
    fields::Totals { contentions, wait_ns, folded, dropped: log.tallies().0.dropped }
}

fn kind(log: &Recording, sums: &Aggregate, kind: WaitKind) -> fields::KindTotals {
    let totals = sums.kind(kind);
    let (count, wait_ns) = totals.total();
    let (count, wait_ns) = known_of(log, count, wait_ns);
    let (folded, _) = known_of(log, totals.folded, 0);
    let (recorded, contention) = (totals.recorded, kind.is_contention());
    fields::KindTotals { count, wait_ns, recorded, folded, contention }
}

fn tally(of: Tally) -> fields::Tally {
    let Tally { ended, recorded, folded, dropped, .. } = of;
    fields::Tally { ended, recorded, folded, dropped }
}

fn to_text(log: &Recording, found: &LogContents) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = sections(&mut out, log, found);
    for line in found.sums.notes.lines() {
        let _ = writeln!(out, "note: {}", harmless::text(&line));
    }
    out
}

fn sections(out: &mut String, log: &Recording, found: &LogContents) -> std::fmt::Result {
    let LogContents { sums, waiting, traced, sampled } = found;
    head(out, log, found)?;
    traced.as_ref().map_or(Ok(()), |traced| traced.to_text(out))?;
    sampled.as_ref().map_or(Ok(()), |sampled| sampled.to_text(out))?;
    if !found.lacks_waits() {
        kinds(out, sums, log.facts().lacks.durations)?;
    }
    sampled.as_ref().map_or(Ok(()), |sampled| sampled.table(out))?;
    still_waiting(out, log, *waiting)
}

fn head(out: &mut String, log: &Recording, found: &LogContents) -> std::fmt::Result {
    let (facts, sums) = (log.facts(), &found.sums);
    // What the log says of the program is one line, whatever it holds.
    let mut row = |key: &str, value: &str| {
        writeln!(out, "{:<13} {}", harmless::name(key), harmless::text(value))
    };
    row("log", log.name())?;
    if is_imported(log) {
        row("format", facts.format)?;
    }
    if facts.pid != 0 || facts.format == event_log::INPUT.name {
        row("pid", &facts.pid.to_string())?;
    }
    for (key, value) in &facts.metadata {
        let told_below = ["threshold", "period", "sample-threads", "collections"];
        let is_told_below = told_below.contains(&key.as_str());
        if !is_told_below && !value.is_empty() {
            row(key, &told(key, value))?;
        }
    }
    let changes: Vec<String> = log
        .mode_spans()
        .iter()
        .skip(1)
        .map(|part| {
            let from = units::duration(part.span.start - log.start_ns());
            format!("{} from {from} on", part.mode)
        })
        .collect();
    if !changes.is_empty() {
        row("mode changes", &changes.join(", "))?;
    }
    let changes: Vec<String> = log
        .option_changes()
        .iter()
        .map(|change| {
            let from = units::duration(change.from_ns - log.start_ns());
            format!("{}={} from {from} on", change.key, change.value)
        })
        .collect();
    if !changes.is_empty() {
        row("options", &changes.join(", "))?;
    }
    row("start", &units::start(facts.start_wall_ns))?;
    let duration = log.known_duration_ns().map(units::duration);
    let is_moment = facts.lacks.durations && log.end_ns() > log.start_ns();
    let unknown = if is_moment { "one moment" } else { "not known" };
    row("duration", duration.as_deref().unwrap_or(unknown))?;
    let pauses = log.pauses();
    if !pauses.is_empty() {
        row("pauses", &told_pauses(&pauses, log.start_ns()))?;
    }
    let dumps = DumpFacts::of(log);
    match &dumps {
        Some(dumps) => dumps.intervals().map_or(Ok(()), |it| row("between dumps", &it))?,
        None => row("threshold", &threshold(log))?,
    }
    row("completeness", completeness(log, sums))?;
    row("size", &sizes(log, found))?;
    if let Some(own) = own_cpu(log) {
        row("tyrion itself", &own.text())?;
    }
    if let Some(questions) = Questions::of(log) {
        row("holders", &questions.text())?;
    }
    if let Some(walks) = Walks::of(log) {
        row("stacks", &walks.text())?;
    }
    match (log.has_collections(), collections(log)) {
        (_, Some(collections)) => row("collections", &collections.text())?,
        (Some(false), _) => row("collections", "not known: this JVM does not report them")?,
        _ => {}
    }
    if let Some(dumps) = dumps {
        return row("not told", &dumps.not_told());
    }
    if found.lacks_waits() {
        return row("contention", "not recorded (mode=sample)");
    }
    if facts.lacks.waits {
        return row("contention", "not known: the format does not tell of waits");
    }
    let (count, wait_ns) = sums.contention().total();
    if facts.lacks.durations {
        let contended = units::counted(count, "contended acquisition");
        return row("contention", &format!("{contended}; how long they waited is not known"));
    }
    let contention = format!(
        "{} waited {}",
        units::counted(count, "contended acquisition"),
        units::duration(wait_ns)
    );
    row("contention", &contention)
}

/// How much there is. Of other formats the size of a record says nothing, and nothing was
/// folded.
fn sizes(log: &Recording, found: &LogContents) -> String {
    let file = format!("{} bytes in all", units::thousands(log.file_len()));
    if is_imported(log) {
        return format!("{}; {file}", imported(log, found));
    }
    let (tally, other) = log.tallies();
    format!(
        "{} recorded in {:.1} bytes each, {} folded, {} dropped; {file}",
        recorded(found, false),
        found.bytes_per_event(),
        units::thousands(found.sums.folded),
        units::thousands(tally.dropped.saturating_add(other.dropped)),
    )
}

/// From when on waits are recorded one by one, and how that was chosen, or that
/// nothing is known of shorter ones.
fn threshold(log: &Recording) -> String {
    let facts = log.facts();
    let threshold = units::duration(facts.threshold_ns);
    match (facts.short_waits, facts.metadata("threshold")) {
        (ShortWaits::Unknown, _) if !log.has_threshold() => "not known".to_owned(),
        (ShortWaits::Sampled { interval_ns }, _) if facts.threshold_ns == 0 => {
            let interval = units::duration(interval_ns);
            format!("none: waits were sampled, one per {interval} of waiting")
        }
        (ShortWaits::Unknown, _) if facts.threshold_ns == 0 => "none".to_owned(),
        _ if facts.lacks.singles => "none: there are only sums of waits".to_owned(),
        (ShortWaits::Unknown | ShortWaits::Sampled { .. }, _) => {
            format!("{threshold} (of shorter waits nothing is known)")
        }
        (_, origin) => format!("{threshold} ({})", origin.unwrap_or_default()),
    }
}

/// When nothing was recorded: the first few times.
fn told_pauses(pauses: &[Range<u64>], start_ns: u64) -> String {
    let told = pauses.iter().take(PAUSES_TOLD).map(|pause| {
        let duration = units::duration(pause.end - pause.start);
        format!("{duration} from {} on", units::duration(pause.start - start_ns))
    });
    let told: Vec<String> = told.collect();
    match pauses.len() - told.len() {
        0 => told.join(", "),
        more => format!("{}, and {} more", told.join(", "), units::thousands(more as u64)),
    }
}

/// The pauses of the garbage collector, if the log has them.
fn collections(log: &Recording) -> Option<Collections> {
    Collections::of(log, Filter::default().window(log))
}

/// What the agent took of the program's CPU time, if it says so.
fn own_cpu(log: &Recording) -> Option<OwnCpu> {
    let statistics = log.statistics();
    OwnCpu::read(|key| statistics.get(key).copied())
}

/// The value of a key of the log's, shortened if it is a name. Arguments are many
/// words, and told whole.
fn told<'a>(key: &str, value: &'a str) -> Cow<'a, str> {
    match key {
        "args" | "jvm-flags" => Cow::Borrowed(value),
        _ => harmless::name(value),
    }
}

/// What there is in a file of another format: `15 waits in sums`.
fn imported(log: &Recording, found: &LogContents) -> String {
    if let Some(dumps) = DumpFacts::of(log) {
        return dumps.size();
    }
    let (lacks, summed) = (log.facts().lacks, found.sums.folded);
    match (lacks.singles, lacks.counts) {
        (true, true) => format!("{} of waits", units::counted(summed, "sum")),
        (true, false) => format!("{} in sums", units::counted(summed, "wait")),
        (false, _) => recorded(found, lacks.waits),
    }
}

/// What there are records of: `7 waits and 3 samples`.
fn recorded(found: &LogContents, lacks_waits: bool) -> String {
    let waits =
        (!found.lacks_waits() && !lacks_waits).then(|| units::counted(found.sums.events, "wait"));
    let records = |count, of| format!("{} of {of}", units::counted(count, "record"));
    let traced = found.traced.as_ref().map(|it| records(it.records, "trace mode"));
    let sampled = found.sampled.as_ref().map(|it| records(it.records, "samples"));
    let parts: Vec<String> = [waits, traced, sampled].into_iter().flatten().collect();
    parts.join(" and ")
}

fn kinds(out: &mut String, sums: &Aggregate, lacks_durations: bool) -> std::fmt::Result {
    writeln!(out, "\n{:<16} {:>14} {:>14} {:>14}", "kind", "waits", "folded", "wait")?;
    for kind in WaitKind::ALL {
        let totals = sums.kind(kind);
        let (count, wait_ns) = totals.total();
        if count != 0 {
            writeln!(
                out,
                "{:<16} {:>14} {:>14} {:>14}{}",
                kind.name(),
                units::thousands(count),
                units::thousands(totals.folded),
                if lacks_durations { "–".to_owned() } else { units::duration(wait_ns) },
                if kind.is_contention() { "" } else { "  (no contention)" },
            )?;
        }
    }
    Ok(())
}

fn still_waiting(out: &mut String, log: &Recording, waiting: PendingCounts) -> std::fmt::Result {
    let threads = |count: usize| match count {
        1 => "1 thread was".to_owned(),
        count => format!("{} threads were", units::thousands(count as u64)),
    };
    if waiting.contention != 0 {
        writeln!(
            out,
            "\n{} waiting for locks when the log ended; see: tyrion report --section still-waiting {}",
            threads(waiting.contention),
            harmless::text(&shell::suggested(log.name())),
        )?;
    }
    match waiting.idle {
        0 => Ok(()),
        count => writeln!(out, "\n{} idle when the log ended", threads(count)),
    }
}
