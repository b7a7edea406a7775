//! The samples and markers of one thread.

use super::{
    schema::{self, OWNED_WAIT, SUM, WAIT},
    tables::{Strings, Tables, category},
};
use crate::outputs::json::{self, Commas, ms, or_null};
use std::io::{self, Write};
use tyrion_model::{
    harmless,
    profile::Thread,
    timeline::{ThreadWaits, Timeline, Untimed, Wait},
};

/// The phase of markers that have both a beginning and an end.
const INTERVAL: &str = "1";
/// The first of the ids that threads get that have none; the others are below it.
const MADE_UP_TID: u64 = i32::MAX as u64;

/// What threads are written with.
pub(super) struct Context<'c, 'p> {
    pub(super) timeline: &'c Timeline<'c>,
    pub(super) tables: &'c mut Tables<'p>,
    pub(super) strings: &'c mut Strings,
    /// The process id of each log.
    pub(super) pids: &'c [String],
}

/// What a sample and a marker stand for.
#[derive(Clone, Copy)]
enum SampleSource<'s> {
    Wait(&'s Wait),
    Sum(&'s Untimed),
    /// The thread does not wait from this moment on: a sample without a stack, and no
    /// marker. Viewers take a stack to last until the next sample.
    Nothing(u64),
}

impl SampleSource<'_> {
    /// When the sample was, in ns of the timeline's clock. Sums stand where the last of
    /// their waits ended at the latest.
    fn at_ns(&self) -> u64 {
        match self {
            SampleSource::Wait(wait) => wait.start_ns,
            SampleSource::Sum(sum) => sum.last_ns,
            SampleSource::Nothing(at_ns) => *at_ns,
        }
    }

    fn wait_ns(&self) -> u64 {
        match self {
            SampleSource::Wait(wait) => wait.wait_ns,
            SampleSource::Sum(sum) => sum.wait_ns,
            SampleSource::Nothing(_) => 0,
        }
    }

    /// From when to when the marker lasts, in ns of the timeline's clock.
    fn span(&self) -> (u64, u64) {
        match self {
            SampleSource::Wait(wait) => (wait.start_ns, wait.end_ns),
            SampleSource::Sum(sum) => (sum.first_ns, sum.last_ns),
            SampleSource::Nothing(at_ns) => (*at_ns, *at_ns),
        }
    }
}

/// Writes a thread.
pub(super) fn write_thread(
    context: &mut Context<'_, '_>,
    thread: u32,
    waits: &ThreadWaits<'_, '_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let profile = context.timeline.profile();
    let Some(of_profile) = profile.threads.get(thread as usize) else { return Ok(()) };
    write_head(context, thread, of_profile, out)?;
    let mut sums: Vec<&Untimed> = context.timeline.untimed_of(thread).iter().collect();
    sums.sort_by_key(|sum| sum.last_ns);
    let mut columns = Columns { context, waits, sums, out };
    columns.samples()?;
    columns.markers()?;
    columns.out.write_all(b"}")
}

/// A thread in a dump.
pub(super) struct DumpSample {
    pub(super) at_ns: u64,
    pub(super) stack: Option<u32>,
}

/// Writes a thread of dumps: each sample counts one.
pub(super) fn write_samples(
    context: &Context<'_, '_>,
    thread: u32,
    samples: &[DumpSample],
    out: &mut dyn Write,
) -> io::Result<()> {
    let profile = context.timeline.profile();
    let Some(of_profile) = profile.threads.get(thread as usize) else { return Ok(()) };
    write_head(context, thread, of_profile, out)?;
    out.write_all(b",\n\"samples\":{\"weightType\":\"samples\",\"stack\":")?;
    json::array(out, samples.iter().map(|sample| or_null(sample.stack)))?;
    out.write_all(b",\"time\":")?;
    let axis = context.timeline.axis();
    json::array(out, samples.iter().map(|sample| ms(axis.since_start_ns(sample.at_ns))))?;
    out.write_all(b",\"weight\":")?;
    json::repeated(out, "1", samples.len())?;
    write!(out, ",\"length\":{}}}", samples.len())?;
    out.write_all(
        b",\n\"markers\":{\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\
          \"category\":[],\"data\":[],\"length\":0}}",
    )
}

/// All but the samples and markers.
fn write_head(
    context: &Context<'_, '_>,
    number: u32,
    thread: &Thread,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (timeline, run) = (context.timeline, thread.run);
    let of_run = timeline.profile().runs.get(run as usize);
    out.write_all(b"\n{\"processType\":\"default\",\"processName\":")?;
    let program = of_run.map_or("", |run| run.program.as_str());
    json::string(out, &harmless::name(if program.is_empty() { "Java" } else { program }))?;
    out.write_all(b",\"name\":")?;
    json::string(out, &harmless::name(&thread.label()))?;
    // The viewer tells threads apart by it, and those of profiles have none.
    let tid = match thread.java_id {
        0 => MADE_UP_TID.saturating_sub(number.into()),
        java_id => java_id,
    };
    let pid = context.pids.get(run as usize).map_or("0", String::as_str);
    write!(
        out,
        ",\"pid\":\"{pid}\",\"tid\":{tid},\"isMainThread\":false,\"processStartupTime\":0,\
         \"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,\
         \"showMarkersInTimeline\":true,\"pausedRanges\":[",
    )?;
    let pauses = timeline.logs().get(run as usize).map(tyrion_formats::Recording::pauses);
    let mut commas = Commas::default();
    let axis = timeline.axis();
    for pause in pauses.unwrap_or_default() {
        commas.next(out)?;
        let at = |mono_ns: u64| ms(axis.since_start_ns(axis.at(run, mono_ns)));
        write!(
            out,
            "{{\"startTime\":{},\"endTime\":{},\"reason\":\"profiler-paused\"}}",
            at(pause.start),
            at(pause.end)
        )?;
    }
    out.write_all(b"]")
}

/// Writes the columns of tables: all waits are gone over for each.
struct Columns<'c, 'x, 'p, 'w> {
    context: &'c mut Context<'x, 'p>,
    waits: &'c ThreadWaits<'c, 'c>,
    /// In the order of their last moments.
    sums: Vec<&'c Untimed>,
    out: &'w mut dyn Write,
}

/// Writes what a sample has in a column.
type ColumnWriter<'v> =
    dyn FnMut(&mut Context<'_, '_>, SampleSource<'_>, &mut dyn Write) -> io::Result<()> + 'v;

impl Columns<'_, '_, '_, '_> {
    fn samples(&mut self) -> io::Result<()> {
        self.out.write_all(b",\n\"samples\":{\"weightType\":\"tracing-ms\",")?;
        self.column("stack", true, &mut |context, sample, out| {
            let stack = match sample {
                SampleSource::Wait(wait) => context.tables.stack(wait.stack, wait.lock, wait.kind),
                SampleSource::Sum(sum) => context.tables.summed_stack(sum),
                SampleSource::Nothing(_) => None,
            };
            out.write_all(or_null(stack).as_bytes())
        })?;
        self.column("time", true, &mut |context, sample, out| {
            let axis = context.timeline.axis();
            out.write_all(ms(axis.since_start_ns(sample.at_ns())).as_bytes())
        })?;
        let len = self.column("weight", true, &mut |_, sample, out| {
            out.write_all(ms(sample.wait_ns()).as_bytes())
        })?;
        write!(self.out, "\"length\":{len}}}")
    }

    fn markers(&mut self) -> io::Result<()> {
        self.out.write_all(b",\n\"markers\":{")?;
        self.column("name", false, &mut |context, sample, out| {
            let name = match sample {
                SampleSource::Wait(wait) => wait.kind.name(),
                _ => "summed waits",
            };
            write!(out, "{}", context.strings.number(name))
        })?;
        for (column, is_end) in [("startTime", false), ("endTime", true)] {
            self.column(column, false, &mut |context, sample, out| {
                let (start_ns, end_ns) = sample.span();
                let at_ns = if is_end { end_ns } else { start_ns };
                out.write_all(ms(context.timeline.axis().since_start_ns(at_ns)).as_bytes())
            })?;
        }
        self.column("phase", false, &mut |_, _, out| out.write_all(INTERVAL.as_bytes()))?;
        self.column("category", false, &mut |_, sample, out| {
            let category = match sample {
                SampleSource::Wait(wait) => category(wait.kind),
                _ => schema::SUMMED,
            };
            write!(out, "{category}")
        })?;
        let len = self.column("data", false, &mut |context, sample, out| match sample {
            SampleSource::Wait(wait) => write_wait(context, wait, out),
            SampleSource::Sum(sum) => write_sum(context, sum, out),
            SampleSource::Nothing(_) => out.write_all(b"null"),
        })?;
        write!(self.out, "\"length\":{len}}}")
    }

    /// Writes a column with a comma behind it, with the moments at which the thread no
    /// longer waits or without them: how many values it has.
    fn column(
        &mut self,
        name: &str,
        with_ends: bool,
        value: &mut ColumnWriter<'_>,
    ) -> io::Result<u64> {
        write!(self.out, "\"{name}\":[")?;
        let (context, out) = (&mut *self.context, &mut *self.out);
        let (mut commas, mut len) = (Commas::default(), 0u64);
        let mut one = |sample: SampleSource<'_>| {
            commas.next(out)?;
            len += 1;
            value(context, sample, out)
        };
        let mut end_ns = None;
        let mut write = |sample: SampleSource<'_>| {
            // Waits that overlap follow each other without a moment between them.
            let ended = end_ns.replace(sample.span().1);
            if let Some(at_ns) = ended.filter(|&at_ns| with_ends && at_ns < sample.at_ns()) {
                one(SampleSource::Nothing(at_ns))?;
            }
            one(sample)
        };
        let mut sums = self.sums.iter().peekable();
        self.waits.for_each(&mut |wait| {
            while let Some(sum) = sums.next_if(|sum| sum.last_ns <= wait.start_ns) {
                write(SampleSource::Sum(sum))?;
            }
            write(SampleSource::Wait(wait))
        })?;
        sums.try_for_each(|sum| write(SampleSource::Sum(sum)))?;
        if let Some(at_ns) = end_ns.filter(|_| with_ends) {
            one(SampleSource::Nothing(at_ns))?;
        }
        self.out.write_all(b"],")?;
        Ok(len)
    }
}

/// The data of a wait's marker.
fn write_wait(context: &mut Context<'_, '_>, wait: &Wait, out: &mut dyn Write) -> io::Result<()> {
    let timeline = context.timeline;
    let kind = context.strings.number(wait.kind.name());
    let lock = context.tables.lock(timeline.profile(), wait.lock, context.strings);
    let outcome = context.strings.number(wait.outcome.name());
    let owner = context.tables.thread(timeline, wait.run, wait.owner, context.strings);
    let of_type = if owner.is_some() { OWNED_WAIT } else { WAIT };
    write!(
        out,
        "{{\"type\":\"{of_type}\",\"kind\":{kind},\"lock\":{lock},\"outcome\":{outcome},\
         \"waited\":{}",
        ms(wait.wait_ns)
    )?;
    let waker = wait.waker.and_then(|waker| {
        context.tables.thread(timeline, wait.run, waker.thread_id, context.strings)
    });
    for (key, name) in [("owner", owner), ("waker", waker)] {
        if let Some(name) = name {
            write!(out, ",\"{key}\":{name}")?;
        }
    }
    if wait.parks != 0 {
        write!(out, ",\"parks\":{}", wait.parks)?;
    }
    if wait.span.is_some() {
        for (key, id) in [("trace", wait.span.trace_text()), ("span", wait.span.id_text())] {
            write!(out, ",\"{key}\":\"{id}\"")?;
        }
    }
    let stack = context.tables.stack(wait.stack, wait.lock, wait.kind);
    let at = ms(timeline.axis().since_start_ns(wait.start_ns));
    write!(out, ",\"cause\":{{\"time\":{at},\"stack\":{}}}}}", or_null(stack))
}

/// The data of the marker of waits without times.
fn write_sum(context: &mut Context<'_, '_>, sum: &Untimed, out: &mut dyn Write) -> io::Result<()> {
    let kind = context.strings.number(sum.kind.name());
    let lock = context.tables.lock(context.timeline.profile(), sum.lock, context.strings);
    write!(
        out,
        "{{\"type\":\"{SUM}\",\"kind\":{kind},\"lock\":{lock},\"count\":{},\"waited\":{},\
         \"longest\":{}}}",
        sum.count,
        ms(sum.wait_ns),
        ms(sum.longest_ns)
    )
}
