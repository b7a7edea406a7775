//! speedscope's own format: the waits of each thread in the order of time.
//!
//! One *evented* profile for each thread opens the frames of a stack when a wait begins
//! and closes them when it ends. Its times are ns since the timeline's first moment:
//! readers keep numbers as floating point, which has no room for the ns of a clock that
//! has run for more than 104 days. What cannot be told so is added up in a second,
//! *sampled* profile of the thread: waits that have no times, and those that overlap with
//! the one before, since frames have to be closed in the reverse order. Thread dumps have a
//! *sampled* profile for each dump.
//!
//! Source of the format: <https://www.speedscope.app/file-format-schema.json>, and the
//! types in `src/lib/file-format-spec.ts` of speedscope's repository.

mod dumps;

use super::{
    By, Format, Metrics, OutputOptions, Stream, by_dump,
    facts::{self, RowKinds},
    json::{self, Commas},
    places::{LockStacks, wait_rows},
    processes::pids,
};
use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write},
};
use tyrion_formats::Fact;
use tyrion_model::{
    harmless,
    timeline::{ThreadWaits, Timeline},
};

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "speedscope",
    default_file: "waits.speedscope.json",
    about: "speedscope JSON: the waits of each thread in the order of time",
    metrics: Metrics::Times,
    by: &[By::Waiter],
    features: &[],
    loses: &[
        Fact::Outcomes,
        Fact::Owners,
        Fact::Wakers,
        Fact::Acquisitions,
        Fact::Holds,
        Fact::Blame,
        Fact::Nesting,
        Fact::Samples,
        Fact::Collections,
    ],
    looked_at: Some("speedscope in Chromium"),
    open_with: "https://www.speedscope.app, or speedscope {}",
    stream: Stream::Times(stream),
    files: None,
};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

fn stream(timeline: &Timeline<'_>, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    if by_dump::are_dumps(timeline) {
        return dumps::write(timeline, options, out);
    }
    let profile = timeline.profile();
    let places = LockStacks::new(profile, options)?;
    let mut out = BufWriter::with_capacity(1 << 18, out);
    write!(out, "{{\"$schema\":\"{SCHEMA}\",\"exporter\":\"tyrion {VERSION}\",\"name\":")?;
    let kinds = RowKinds::of(&wait_rows(profile, options));
    json::string(&mut out, &facts::summary(profile, &kinds))?;
    out.write_all(b",\"shared\":{\"frames\":[\n")?;
    write_frames(&places, &mut out)?;
    out.write_all(b"\n]},\"profiles\":[\n")?;
    let (pids, totals) = (pids(timeline), Vec::new());
    let mut profiles = Profiles { timeline, places: &places, pids: &pids, out: &mut out, totals };
    timeline.each_thread(&mut |thread, waits| profiles.add(thread, waits))?;
    let active = profiles.finish()?;
    writeln!(out, "\n],\"activeProfileIndex\":{active}}}")?;
    out.flush()
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn write_frames(places: &LockStacks<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut commas = Commas::default();
    for frame in 0..places.frames() {
        commas.next(out)?;
        let shown = places.shown(frame);
        out.write_all(b"{\"name\":")?;
        json::string(out, &shown.name)?;
        if !shown.file.is_empty() {
            out.write_all(b",\"file\":")?;
            json::string(out, &shown.file)?;
        }
        if shown.line != 0 {
            write!(out, ",\"line\":{}", shown.line)?;
        }
        out.write_all(b"}")?;
    }
    Ok(())
}

/// Writes one profile after another.
struct Profiles<'t, 'w> {
    timeline: &'t Timeline<'t>,
    places: &'t LockStacks<'t>,
    /// Of the process of each log.
    pids: &'t [String],
    out: &'w mut dyn Write,
    /// How long the waits of each profile took, in ns.
    totals: Vec<u64>,
}

/// The events of one thread.
struct Events {
    /// How many waits are there.
    count: u64,
    wait_ns: u64,
    /// When the last one ended, in ns since the timeline's first moment.
    last_ns: u64,
}

impl Profiles<'_, '_> {
    /// Writes what there is of a thread.
    fn add(&mut self, thread: u32, waits: &ThreadWaits<'_, '_>) -> io::Result<()> {
        let name = self.name(thread);
        let mut summed: BTreeMap<u32, u64> = BTreeMap::new();
        for untimed in self.timeline.untimed_of(thread) {
            let node = self.places.node(untimed.stack, untimed.lock, untimed.kind);
            add_to(&mut summed, node, untimed.wait_ns);
        }
        self.add_evented(&name, waits, &mut summed)?;
        if summed.is_empty() { Ok(()) } else { self.add_sampled(&name, &summed) }
    }

    /// A thread's name; with its process where there are several.
    fn name(&self, thread: u32) -> String {
        let profile = self.timeline.profile();
        let name = harmless::name(&profile.thread_name(thread)).into_owned();
        let run = profile.threads.get(thread as usize).map(|it| it.run);
        match run.and_then(|run| profile.runs.get(run as usize).zip(Some(run))) {
            _ if profile.runs.len() <= 1 => name,
            Some((of, run)) if of.pid == 0 => format!("{name} of log {}", run + 1),
            Some((_, run)) => {
                let pid = self.pids.get(run as usize).map_or("", String::as_str);
                format!("{name} of pid {pid}")
            }
            None => name,
        }
    }

    /// Writes the waits that can be told one after the other, and sums the others.
    fn add_evented(
        &mut self,
        name: &str,
        waits: &ThreadWaits<'_, '_>,
        summed: &mut BTreeMap<u32, u64>,
    ) -> io::Result<()> {
        let axis = self.timeline.axis();
        let mut events = Events { count: 0, wait_ns: 0, last_ns: 0 };
        waits.for_each(&mut |wait| {
            let node = self.places.node(wait.stack, wait.lock, wait.kind);
            let start_ns = axis.since_start_ns(wait.start_ns);
            let end_ns = axis.since_start_ns(wait.end_ns);
            let is_whole = end_ns.checked_sub(start_ns) == Some(wait.wait_ns);
            if start_ns < events.last_ns || !is_whole {
                add_to(summed, node, wait.wait_ns);
                return Ok(());
            }
            if events.count == 0 {
                self.begin("evented", name)?;
                self.out.write_all(b",\"events\":[")?;
            }
            let path = self.places.path(node);
            let opened = path.iter().map(|frame| ("O", frame, start_ns));
            let closed = path.iter().rev().map(|frame| ("C", frame, end_ns));
            let mut comma = if events.count == 0 { "" } else { "," };
            for (what, frame, at_ns) in opened.chain(closed) {
                write!(
                    self.out,
                    "{comma}{{\"type\":\"{what}\",\"frame\":{frame},\"at\":{at_ns}}}"
                )?;
                comma = ",";
            }
            events.count += 1;
            events.wait_ns = events.wait_ns.saturating_add(wait.wait_ns);
            events.last_ns = end_ns;
            Ok(())
        })?;
        if events.count == 0 {
            return Ok(());
        }
        let end_ns = axis.since_start_ns(axis.end_ns()).max(events.last_ns);
        self.totals.push(events.wait_ns);
        write!(self.out, "],\"startValue\":0,\"endValue\":{end_ns}}}")
    }

    /// Writes sums.
    fn add_sampled(&mut self, name: &str, summed: &BTreeMap<u32, u64>) -> io::Result<()> {
        self.begin("sampled", &format!("{name} (summed)"))?;
        self.out.write_all(b",\"samples\":[")?;
        let mut commas = Commas::default();
        for &node in summed.keys() {
            commas.next(self.out)?;
            json::array(self.out, self.places.path(node))?;
        }
        self.out.write_all(b"],\"weights\":")?;
        json::array(self.out, summed.values())?;
        let sum_ns = summed.values().copied().fold(0, u64::saturating_add);
        self.totals.push(sum_ns);
        write!(self.out, ",\"startValue\":0,\"endValue\":{sum_ns}}}")
    }

    fn begin(&mut self, kind: &str, name: &str) -> io::Result<()> {
        let separator = if self.totals.is_empty() { "" } else { ",\n" };
        write!(self.out, "{separator}{{\"type\":\"{kind}\",\"unit\":\"nanoseconds\",\"name\":")?;
        json::string(self.out, name)
    }

    /// The profile to be shown first: the one with the longest waits. There is always
    /// one, since a file without profiles cannot be opened.
    fn finish(mut self) -> io::Result<usize> {
        if self.totals.is_empty() {
            self.add_sampled("no waits", &BTreeMap::new())?;
        }
        let totals = self.totals.iter().enumerate();
        let longest = totals.max_by_key(|&(nth, total)| (total, std::cmp::Reverse(nth)));
        Ok(longest.map_or(0, |(nth, _)| nth))
    }
}

fn add_to(summed: &mut BTreeMap<u32, u64>, node: u32, wait_ns: u64) {
    let sum = summed.entry(node).or_default();
    *sum = sum.saturating_add(wait_ns);
}
