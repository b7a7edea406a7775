//! The Firefox Profiler's "processed profile": a track for each thread, with a sample and
//! a marker for each wait.
//!
//! A sample is a wait's stack, at the moment when it began, with its duration as weight:
//! the call tree, the flame graph and the stack chart add them up. A sample without a stack
//! follows when the thread no longer waits. The marker lasts as
//! long as the wait did and says what it was for, who had it and how it ended. Waits that
//! have no times are a sample and a marker for each stack and lock, with sums, below a
//! frame of their own. Times are ms since the timeline's first moment.
//!
//! Source of the format: `src/types/profile.ts` and `src/types/markers.ts` of the
//! repository firefox-devtools/profiler, at version [`VERSION`]; the viewer reads files of
//! earlier versions than its own.

mod schema;
mod tables;
mod thread;

use super::{
    By, Format, Metrics, OutputOptions, Stream,
    by_dump::{self, DumpStacks},
    facts,
    json::{self, Commas, ms},
    places::LockStacks,
    processes::pids,
};
use flate2::{Compression, write::GzEncoder};
use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write},
};
use tables::{Strings, Tables};
use thread::{Context, write_thread};
use tyrion_model::{harmless, profile::Run, timeline::Timeline};

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "firefox",
    default_file: "waits.firefox.json.gz",
    about: "Firefox Profiler: the waits of each thread as samples and markers, gzipped",
    metrics: Metrics::Times,
    by: &[By::Waiter],
    features: &[],
    loses: super::WAITS_LOSE,
    looked_at: Some("Firefox Profiler in Chromium"),
    open_with: "https://profiler.firefox.com (Load a profile from file)",
    stream: Stream::Times(stream),
    files: None,
};

/// The version of the processed profile format that is written.
pub const VERSION: u32 = 70;
/// The version of the format that Firefox itself writes, which the types ask for.
const GECKO_VERSION: u32 = 36;

/// As for pprof, the best trade of zlib-rs's levels.
const LEVEL: Compression = Compression::new(2);

fn stream(timeline: &Timeline<'_>, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let gzip = GzEncoder::new(out, LEVEL);
    let mut out = BufWriter::with_capacity(1 << 18, gzip);
    write_profile(timeline, options, &mut out)?;
    let gzip = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    gzip.finish()?.flush()
}

fn write_profile(
    timeline: &Timeline<'_>,
    options: &OutputOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    if by_dump::are_dumps(timeline) {
        return write_dumps(timeline, options, out);
    }
    let places = LockStacks::new(timeline.profile(), options)?;
    let mut strings = Strings::default();
    let mut tables = Tables::new(&places, timeline.untimed());
    out.write_all(b"{\"meta\":")?;
    write_meta(timeline, out)?;
    out.write_all(b",\n\"libs\":[],\n\"threads\":[")?;
    let mut commas = Commas::default();
    let pids = pids(timeline);
    timeline.each_thread(&mut |thread, waits| {
        if waits.is_empty() && timeline.untimed_of(thread).is_empty() {
            return Ok(());
        }
        commas.next(out)?;
        let (tables, strings) = (&mut tables, &mut strings);
        let mut context = Context { timeline, tables, strings, pids: &pids };
        write_thread(&mut context, thread, waits, out)
    })?;
    out.write_all(b"],\n\"shared\":")?;
    tables.write(timeline.profile(), &mut strings, out)?;
    out.write_all(b"}\n")
}

/// Writes thread dumps: each thread has a sample for each dump that it is in.
fn write_dumps(
    timeline: &Timeline<'_>,
    options: &OutputOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let profile = by_dump::with_waits(timeline.profile());
    let stacks = DumpStacks::new(&profile, options)?;
    let mut strings = Strings::default();
    let mut tables = Tables::new(stacks.places(), &[]);
    out.write_all(b"{\"meta\":")?;
    write_meta(timeline, out)?;
    out.write_all(b",\n\"libs\":[],\n\"threads\":[")?;
    let mut threads: BTreeMap<u32, Vec<thread::DumpSample>> = BTreeMap::new();
    for seen in by_dump::moments(timeline)?.iter().flat_map(|dump| &dump.threads) {
        let Some(thread) = timeline.thread(seen.run, seen.thread_id) else { continue };
        let (at_ns, stack) = (seen.at_ns, stacks.node(seen).checked_sub(1));
        threads.entry(thread).or_default().push(thread::DumpSample { at_ns, stack });
    }
    let (mut commas, pids) = (Commas::default(), pids(timeline));
    for (thread, samples) in threads {
        commas.next(out)?;
        let (tables, strings) = (&mut tables, &mut strings);
        let context = Context { timeline, tables, strings, pids: &pids };
        thread::write_samples(&context, thread, &samples, out)?;
    }
    out.write_all(b"],\n\"shared\":")?;
    tables.write(&profile, &mut strings, out)?;
    out.write_all(b"}\n")
}

/// What the profile says of itself.
fn write_meta(timeline: &Timeline<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (axis, profile) = (timeline.axis(), timeline.profile());
    let start_ms = ms(axis.start_wall_ns());
    let end_ms = ms(axis.since_start_ns(axis.end_ns()));
    write!(
        out,
        "{{\"version\":{GECKO_VERSION},\"preprocessedProfileVersion\":{VERSION},\
         \"interval\":1,\"startTime\":{start_ms},\
         \"startTimeAsClockMonotonicNanosecondsSinceBoot\":{},\
         \"profilingStartTime\":0,\"profilingEndTime\":{end_ms},\"processType\":0,\
         \"stackwalk\":1,\"debug\":false,\"symbolicated\":true,\
         \"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,\
         \"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,\
         \"sampleUnits\":{{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}},\
         \"importedFrom\":\"tyrion {}\",\"product\":",
        axis.start_ns(),
        env!("CARGO_PKG_VERSION"),
    )?;
    let programs: Vec<&str> = profile.runs.iter().map(|run| run.program.as_str()).collect();
    let program = programs.first().copied().filter(|name| !name.is_empty()).unwrap_or("Java");
    json::string(out, &harmless::name(program))?;
    write!(out, ",\"categories\":{},\n\"markerSchema\":{}", schema::CATEGORIES, schema::MARKERS)?;
    out.write_all(b",\n\"extra\":[")?;
    let mut commas = Commas::default();
    for run in &profile.runs {
        commas.next(out)?;
        write_extra(run, out)?;
    }
    out.write_all(b"]}")
}

/// The facts of a log.
fn write_extra(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"label\":\"Recording\",\"entries\":[")?;
    let mut commas = Commas::default();
    for (name, value) in facts::of_run(run) {
        commas.next(out)?;
        out.write_all(b"{\"label\":")?;
        json::string(out, name)?;
        out.write_all(b",\"format\":\"string\",\"value\":")?;
        json::string(out, &value)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"]}")
}
