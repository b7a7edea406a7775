//! `tyrion info`: what is in a log.

mod chosen;
mod sampling;
mod trace;

use super::{
    dump::{
        self,
        record::{Long, Record},
    },
    rendered::Stacks,
};
use crate::{
    filters::{self, FilterArgs, JobsArg, wants_pending},
    logs,
    outcome::{Failure, Outcome},
    progress,
    terminal::Escaped,
};
use clap::Args;
use sampling::SampleSums;
use serde_json::{Map, Value, json};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, BufWriter, Write},
    path::PathBuf,
};
use trace::TraceSums;
use tyrion_converters::{
    aggregate::{Aggregate, aggregate, work_bytes},
    describe::MAX_STACK_TEXT,
    filter::{Filter, Kinds},
    harmless,
    outputs::units,
    profile::{Function, Profile},
};
use tyrion_formats::Recording;
use tyrion_wire::{WaitKind, header::State, slot::Pending};

/// So many threads are listed; JSON has them all.
const THREADS_SHOWN: usize = 20;
/// So many hottest locks are listed.
const LOCKS_SHOWN: usize = 5;

/// Which log, and how.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion info report.log
  tyrion info --json report.log | jq .totals
  tyrion info --json report.log | jq .sampling.states

The states of sampled threads are those that the JVM told. Who was idle is in one of them like any
other, and told besides.")]
pub struct InfoArgs {
    /// The log, - for stdin
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    jobs: JobsArg,
}

/// Prints what is in a log.
pub fn run(args: InfoArgs) -> Outcome {
    let logs = [logs::open(&args.log)?];
    let filter = args.filters.raw_filter()?;
    // Idle threads wait longest, so contention comes first unless asked for.
    let ranked = if args.filters.names_kinds() { filter.kinds } else { Kinds::contention() };
    let bar = progress::bar(work_bytes(&logs), "reading");
    let read = || read(&logs, &filter, ranked, &|bytes| bar.inc(bytes));
    let mut found = args.jobs.run(read)?;
    bar.finish_and_clear();
    if args.filters.is_given() && !found.lacks_waits() {
        let sums = &found.sums;
        filters::tell_if_empty(&sums.profile, sums.events.saturating_add(sums.folded));
    }
    // Shown below, each of them.
    found.sums.notes.pending = 0;
    let [log] = &logs;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = match args.json {
        true => to_json(&mut Escaped::new(&mut out), log, &found, &filter),
        false => out.write_all(to_text(log, &found, &filter, ranked).as_bytes()),
    };
    let written = written.and_then(|()| out.flush());
    written.map_err(|error| Failure::writing("stdout", &error))?;
    Ok(logs::tell_damage(&found.sums.damage))
}

/// What is in a log.
struct Found {
    sums: Aggregate,
    traced: Option<TraceSums>,
    sampled: Option<SampleSums>,
}

impl Found {
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
    ranked: Kinds,
    progress: &(dyn Fn(u64) + Sync),
) -> Found {
    let sums = aggregate(logs, filter, progress);
    let [log] = logs;
    let traced = trace::sum(log, filter, ranked, &sums.profile);
    Found { sums, traced, sampled: sampling::sum(log, filter) }
}

/// What a log is worth: `whole`, or why not.
fn completeness(log: &Recording, sums: &Aggregate) -> &'static str {
    match log.facts().state {
        _ if !sums.damage.is_empty() => "damaged: see the warnings",
        State::Closed => "whole: the JVM ended in an orderly way",
        State::Recording => "open: the JVM still runs, or was killed",
        State::Paused => "open: recording is paused",
        State::Broken => "broken off: the log could not be written on",
    }
}

/// Waits of every thread, by index: count and sum in ns.
fn by_thread(sums: &Aggregate, kinds: Kinds) -> Vec<(u64, u64)> {
    let mut totals = vec![(0u64, 0u64); sums.profile.threads.len()];
    for wait in sums.profile.waits.iter().filter(|wait| kinds.contains(wait.kind)) {
        if let Some((count, wait_ns)) = totals.get_mut(wait.thread as usize) {
            *count = count.saturating_add(wait.count);
            *wait_ns = wait_ns.saturating_add(wait.wait_ns);
        }
    }
    totals
}

/// A lock's contention.
struct LockTotal {
    name: String,
    /// Where the program waits for it most.
    place: String,
    count: u64,
    wait_ns: u64,
    max_ns: u64,
}

/// Locks by contention, most wait first.
fn contended_locks(sums: &Aggregate) -> Vec<LockTotal> {
    let profile = &sums.profile;
    let mut totals = vec![(0u64, 0u64, 0u64); profile.locks.len()];
    let mut by_stack: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| wait.kind.is_contention()) {
        if let Some((count, wait_ns, max_ns)) = totals.get_mut(wait.lock as usize) {
            *count = count.saturating_add(wait.count);
            *wait_ns = wait_ns.saturating_add(wait.wait_ns);
            *max_ns = wait.max_ns.max(*max_ns);
            let of_stack = by_stack.entry((wait.lock, wait.stack)).or_default();
            *of_stack = of_stack.saturating_add(wait.wait_ns);
        }
    }
    let numbered = totals.into_iter().enumerate().filter(|(_, (count, ..))| *count != 0);
    let mut locks: Vec<_> = numbered
        .map(|(lock, (count, wait_ns, max_ns))| {
            let lock = lock as u32;
            let stacks = by_stack.range((lock, 0)..=(lock, u32::MAX));
            let hottest = stacks.max_by_key(|&(&(_, stack), &ns)| (ns, std::cmp::Reverse(stack)));
            LockTotal {
                name: profile.lock_name(lock),
                place: hottest.map_or(String::new(), |(&(_, stack), _)| place(profile, stack)),
                count,
                wait_ns,
                max_ns,
            }
        })
        .collect();
    locks.sort_by(|a, b| b.wait_ns.cmp(&a.wait_ns).then_with(|| a.name.cmp(&b.name)));
    locks
}

/// The innermost frame of a stack outside the machinery of j.u.c. locks.
fn place(profile: &Profile, stack: u32) -> String {
    let frames = || {
        let frames = profile.frames_of(stack);
        frames
            .filter_map(|frame| Some((profile.functions.get(frame.function as usize)?, frame.line)))
    };
    let outside = |function: &Function| !function.class.starts_with("java.util.concurrent.");
    let found = frames().find(|(function, _)| outside(function)).or_else(|| frames().next());
    found.map_or(String::new(), |(function, line)| source_line(function, line))
}

/// A frame of the profile: `com.acme.Cache.get(Cache.java:22)`.
fn place_of_frame(profile: &Profile, frame: u32) -> String {
    let frame = profile.frames.get(frame as usize);
    let function = frame.and_then(|frame| profile.functions.get(frame.function as usize));
    match (function, frame) {
        (Some(function), Some(frame)) => source_line(function, frame.line),
        _ => String::new(),
    }
}

fn source_line(function: &Function, line: u32) -> String {
    let (class, method) = (&function.class, &function.method);
    let file = function.source.rsplit('/').next().unwrap_or_default();
    match (class.as_str(), file, line) {
        // No method, but what stands for one.
        ("", ..) => method.clone(),
        (_, "", _) => format!("{class}.{method}"),
        (_, file, 0) => format!("{class}.{method}({file})"),
        (_, file, line) => format!("{class}.{method}({file}:{line})"),
    }
}

/// The report of a log, for tests.
#[cfg(test)]
pub(super) fn report(logs: &[Recording; 1], filter: &Filter, json: bool) -> String {
    let mut found = read(logs, filter, Kinds::contention(), &|_| {});
    found.sums.notes.pending = 0;
    let [log] = logs;
    if !json {
        return to_text(log, &found, filter, Kinds::contention());
    }
    let mut out = Vec::new();
    to_json(&mut out, log, &found, filter).unwrap();
    String::from_utf8(out).unwrap()
}

fn to_json(out: &mut dyn Write, log: &Recording, found: &Found, filter: &Filter) -> io::Result<()> {
    let (facts, sums) = (log.facts(), &found.sums);
    let contention = sums.contention();
    let (contentions, wait_ns) = contention.total();
    let kinds: Map<String, Value> = WaitKind::ALL
        .into_iter()
        .map(|kind| {
            let totals = sums.kind(kind);
            let (count, wait_ns) = totals.total();
            let value = json!({
                "count": count, "wait_ns": wait_ns,
                "recorded": totals.recorded, "suppressed": totals.folded,
                "contention": kind.is_contention(),
            });
            (kind.name().to_owned(), value)
        })
        .collect();
    let totals = by_thread(sums, Kinds::all());
    let contended = by_thread(sums, Kinds::contention());
    let threads: Vec<Value> = sums
        .profile
        .threads
        .iter()
        .zip(totals.iter().zip(&contended))
        .map(|(thread, ((count, wait_ns), (contentions, contention_wait_ns)))| {
            json!({
                "contentions": contentions, "contention_wait_ns": contention_wait_ns,
                "id": thread.java_id, "name": thread.name, "group": thread.group,
                "daemon": thread.daemon, "virtual": thread.is_virtual,
                "waits": count, "wait_ns": wait_ns,
            })
        })
        .collect();
    let locks: Vec<Value> = contended_locks(sums)
        .into_iter()
        .map(|lock| {
            json!({
                "lock": lock.name, "contentions": lock.count, "wait_ns": lock.wait_ns,
                "max_ns": lock.max_ns, "hottest_at": lock.place,
            })
        })
        .collect();
    let (tally, other) = log.tallies();
    let callbacks = |tally: tyrion_wire::slot::Tally| {
        json!({
            "ended": tally.ended, "recorded": tally.recorded, "folded": tally.folded,
            "dropped": tally.dropped,
        })
    };
    let pending = log.pending().iter().filter(|pending| wants_pending(filter, log, pending));
    let metadata: Map<String, Value> =
        facts.metadata.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    let mut report = json!({
        "log": log.name(),
        "version": facts.version,
        "pid": facts.pid,
        "state": facts.state.name(),
        "complete": facts.state == State::Closed && sums.damage.is_empty(),
        "start": units::utc(facts.start_wall_ns),
        "start_wall_ns": facts.start_wall_ns,
        "duration_ns": log.end_ns() - log.start_ns(),
        "threshold_ns": facts.threshold_ns,
        "depth": facts.depth,
        "metadata": metadata,
        "totals": {
            "contentions": contentions,
            "wait_ns": wait_ns,
            "suppressed": contention.folded,
            "dropped": tally.dropped,
        },
        "kinds": kinds,
        "callbacks": { "contention": callbacks(tally), "other": callbacks(other) },
        "events": sums.events,
        "bytes_per_event": found.bytes_per_event(),
        "file_bytes": log.file_len(),
        "locks": locks,
        "threads": threads,
        "pending": null,
        "damage": sums.damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "notes": sums.notes.lines(),
    });
    if let Some(traced) = &found.traced {
        report["trace"] = traced.to_json();
    }
    if let Some(sampled) = &found.sampled {
        report["sampling"] = sampled.to_json();
    }
    if found.lacks_waits() {
        // What is not known is no zero.
        report["totals"] = Value::Null;
    }
    let stacks = Stacks::new(log);
    let pending = Long::Pending(&stacks, log, pending.collect());
    let report = Record { fields: report, long: [("pending", pending)] };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}

fn to_text(log: &Recording, found: &Found, filter: &Filter, ranked: Kinds) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = sections(&mut out, log, found, filter, ranked);
    for line in found.sums.notes.lines() {
        let _ = writeln!(out, "note: {}", harmless::text(&line));
    }
    out
}

fn sections(
    out: &mut String,
    log: &Recording,
    found: &Found,
    filter: &Filter,
    ranked: Kinds,
) -> std::fmt::Result {
    let Found { sums, traced, sampled } = found;
    head(out, log, found)?;
    traced.as_ref().map_or(Ok(()), |traced| traced.to_text(out))?;
    sampled.as_ref().map_or(Ok(()), |sampled| sampled.to_text(out))?;
    if !found.lacks_waits() {
        kinds(out, sums)?;
    }
    sampled.as_ref().map_or(Ok(()), |sampled| sampled.table(out))?;
    locks(out, sums)?;
    traced.as_ref().map_or(Ok(()), |traced| traced.table(out))?;
    match sampled {
        Some(sampled) if found.lacks_waits() => sampled.threads(out)?,
        _ => threads(out, sums, ranked)?,
    }
    waiting(out, log, filter)
}

fn head(out: &mut String, log: &Recording, found: &Found) -> std::fmt::Result {
    let (facts, sums) = (log.facts(), &found.sums);
    // What the log says of the program is one line, whatever it holds.
    let mut row = |key: &str, value: &str| {
        writeln!(out, "{:<13} {}", harmless::name(key), harmless::text(value))
    };
    row("log", log.name())?;
    row("pid", &facts.pid.to_string())?;
    for (key, value) in &facts.metadata {
        let is_told_below = ["threshold", "period", "sample-threads"].contains(&key.as_str());
        if !is_told_below && !value.is_empty() {
            row(key, &told(key, value))?;
        }
    }
    row("start", &units::utc(facts.start_wall_ns))?;
    row("duration", &units::duration(log.end_ns() - log.start_ns()))?;
    let origin = facts.metadata("threshold").unwrap_or_default();
    row("threshold", &format!("{} ({origin})", units::duration(facts.threshold_ns)))?;
    row("completeness", completeness(log, sums))?;
    let (tally, other) = log.tallies();
    let sizes = format!(
        "{} recorded in {:.1} bytes each, {} folded, {} dropped; {} bytes in all",
        recorded(found),
        found.bytes_per_event(),
        units::thousands(sums.folded),
        units::thousands(tally.dropped.saturating_add(other.dropped)),
        units::thousands(log.file_len()),
    );
    row("size", &sizes)?;
    if found.lacks_waits() {
        return row("contention", "not recorded (mode=sample)");
    }
    let (count, wait_ns) = sums.contention().total();
    let contention = format!(
        "{} contended acquisitions waited {}",
        units::thousands(count),
        units::duration(wait_ns)
    );
    row("contention", &contention)
}

/// The value of a key of the log's, shortened if it is a name. Arguments are many
/// words, and told whole.
fn told<'a>(key: &str, value: &'a str) -> Cow<'a, str> {
    match key {
        "args" | "jvm-flags" => Cow::Borrowed(value),
        _ => harmless::name(value),
    }
}

/// What there are records of: `7 waits and 3 samples`.
fn recorded(found: &Found) -> String {
    let waits = (!found.lacks_waits()).then_some((found.sums.events, "waits"));
    let traced = found.traced.as_ref().map(|it| (it.records, "records of trace mode"));
    let sampled = found.sampled.as_ref().map(|it| (it.records, "records of samples"));
    let parts = [waits, traced, sampled].into_iter().flatten();
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} {what}", units::thousands(count))).collect();
    parts.join(" and ")
}

fn kinds(out: &mut String, sums: &Aggregate) -> std::fmt::Result {
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
                units::duration(wait_ns),
                if kind.is_contention() { "" } else { "  (no contention)" },
            )?;
        }
    }
    Ok(())
}

fn locks(out: &mut String, sums: &Aggregate) -> std::fmt::Result {
    let locks = contended_locks(sums);
    if locks.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{:>14} {:>14} {:>14}  hottest locks", "wait", "contentions", "longest")?;
    for lock in locks.iter().take(LOCKS_SHOWN) {
        writeln!(
            out,
            "{:>14} {:>14} {:>14}  {}\n{:46}mostly at {}",
            units::duration(lock.wait_ns),
            units::thousands(lock.count),
            units::duration(lock.max_ns),
            harmless::name(&lock.name),
            "",
            harmless::name(&lock.place),
        )?;
    }
    more(out, locks.len(), LOCKS_SHOWN)
}

fn threads(out: &mut String, sums: &Aggregate, ranked: Kinds) -> std::fmt::Result {
    let totals = by_thread(sums, ranked);
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(totals[at].1), at));
    writeln!(out, "\n{:>14} {:>14}  threads ({})", "wait", "waits", totals.len())?;
    for &at in order.iter().take(THREADS_SHOWN) {
        let thread = &sums.profile.threads[at];
        writeln!(
            out,
            "{:>14} {:>14}  {}{}{}",
            units::duration(totals[at].1),
            units::thousands(totals[at].0),
            harmless::name(&sums.profile.thread_name(at as u32)),
            if thread.daemon { " (daemon)" } else { "" },
            if thread.is_virtual { " (virtual)" } else { "" },
        )?;
    }
    more(out, totals.len(), THREADS_SHOWN)
}

fn waiting(out: &mut String, log: &Recording, filter: &Filter) -> std::fmt::Result {
    let wanted = log.pending().iter().filter(|pending| wants_pending(filter, log, pending));
    let (contended, idle): (Vec<&Pending>, Vec<&Pending>) =
        wanted.partition(|pending| pending.kind.is_contention());
    if !contended.is_empty() {
        writeln!(out, "\nstill waiting for locks at the end of the log ({})", contended.len())?;
        let stacks = Stacks::new(log);
        for pending in contended.iter().take(THREADS_SHOWN) {
            let stack = stacks.beginning(pending.stack, MAX_STACK_TEXT);
            writeln!(out, "  {}{stack}", dump::pending::text(log, pending))?;
        }
        more(out, contended.len(), THREADS_SHOWN)?;
    }
    match idle.len() {
        0 => Ok(()),
        count => {
            let threads = if count == 1 { "thread was" } else { "threads were" };
            writeln!(out, "\n{count} {threads} idle at the end; --json and dump tell where")
        }
    }
}

fn more(out: &mut String, all: usize, shown: usize) -> std::fmt::Result {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        rest => writeln!(out, "  ... and {rest} more; --json has them all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_as_far_as_they_are_known() {
        let thread = |source: &str| Function {
            class: "java.lang.Thread".to_owned(),
            method: "setExclusive".to_owned(),
            source: source.to_owned(),
            ..Function::default()
        };
        for (source, line, told) in [
            ("", 0, "java.lang.Thread.setExclusive"),
            ("java/lang/Thread.java", 0, "java.lang.Thread.setExclusive(Thread.java)"),
            ("java/lang/Thread.java", 7, "java.lang.Thread.setExclusive(Thread.java:7)"),
        ] {
            assert_eq!(source_line(&thread(source), line), told);
        }
        let cut = Function { method: "[cut]".to_owned(), ..Function::default() };
        assert_eq!(source_line(&cut, 0), "[cut]");
    }
}
