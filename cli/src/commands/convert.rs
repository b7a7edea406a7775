//! `tyrion convert`.

mod style;

use crate::{
    files::{Target, say_written},
    filters::{self, FilterArgs, JobsArg, ShapeArgs},
    inputs::InputArgs,
    logs,
    outcome::{CommandResult, Failure, tell},
    progress,
};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use std::{
    io::{self, Write},
    path::PathBuf,
};
use style::Style;
use tyrion_converters::{
    aggregate::{Aggregate, aggregate, aggregate_by_owner, work_bytes},
    filter::{Filter, Kinds, States},
    outputs::{
        By, FORMATS, Feature, Format, Metric, Metrics, OutputOptions, Stream, by_name, names_where,
        units,
    },
    profile::Profile,
    timeline::{Source, Timeline},
};
use tyrion_formats::Recording;

/// The value of `--to` that stands for every format.
const ALL: &str = "all";

/// `go tool pprof` takes half a minute for twice as many samples, and more
/// than linearly longer beyond. Owners, which make more, have labels up to here.
const MANY_SAMPLES: usize = 200_000;

/// What to turn into what.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion convert --to callgrind report.log
  tyrion convert --to flamegraph --by-thread -o threads.svg report.log
  tyrion convert --to collapsed -o - report.log | head
  tyrion convert --to pprof --kind all --thread '^http-' monday.log tuesday.log
  tyrion convert --to flamegraph --metric hold trace.log     # holds.svg
  tyrion convert --to pprof --by holder trace.log           # as Go's mutex profile
  tyrion convert --to flamegraph --by waker --kind all report.log   # wakers.svg
  tyrion convert --to flamegraph --by state samples.log     # wall.svg
  tyrion convert --to flamegraph --metric cpu --packages com.acme samples.log
  tyrion convert --to callgrind --group-by pool --state all samples.log
  tyrion convert --to flamegraph --unit us offcpu.folded    # of another tool
  tyrion convert --to all -o results --since 30s --until 90s report.log")]
pub struct ConvertArgs {
    /// The format to write, or all
    #[arg(long, value_name = "FORMAT", value_parser = Formats)]
    to: &'static str,
    /// Where to write: a file, - for stdout, or with --to all a folder
    /// [default: a name that depends on the format, in the current folder]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Logs to read; several become one profile, - is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    jobs: JobsArg,
}

/// The names in the registry of formats, as values of an option.
#[derive(Clone)]
pub(super) struct Formats;

impl TypedValueParser for Formats {
    type Value = &'static str;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<&'static str, clap::Error> {
        let names = FORMATS.iter().map(|format| format.name).chain([ALL]);
        let inner = PossibleValuesParser::new(names.clone());
        let given = inner.parse_ref(command, arg, value)?;
        // The parser above lets only these names through.
        Ok(names.into_iter().find(|name| *name == given).unwrap_or(ALL))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let formats = FORMATS.iter().map(|f| PossibleValue::new(f.name).help(about(f)));
        let files: Vec<&str> = FORMATS.iter().map(|format| format.default_file).collect();
        let all = PossibleValue::new(ALL).help(format!("Every format: {}", files.join(", ")));
        Some(Box::new(formats.chain([all])))
    }
}

/// A format's line of help.
fn about(format: &Format) -> String {
    let shows = match format.metrics {
        Metrics::All => "every metric that the log has",
        Metrics::OneOf(_) => "one metric",
        Metrics::Times => "single waits",
    };
    format!("{}; {shows}", format.about)
}

/// Converts logs.
pub fn run(args: ConvertArgs) -> CommandResult {
    args.style.check(args.to)?;
    check_grouping(&args)?;
    let filter = args.filters.filter(Kinds::contention())?;
    args.style.check_filter(&filter)?;
    let targets = targets(&args)?;
    let logs = logs::open_all(&args.logs, &args.inputs)?;
    args.inputs.tell_unused(logs.iter());
    args.style.check_logs(&logs)?;
    for (_, target) in &targets {
        target.spare_logs()?;
    }
    let options = args.style.options();
    let bar = progress::bar(work_bytes(&logs), "reading");
    args.jobs.run(|| {
        let progress = |bytes| bar.inc(bytes);
        let (sums, lacks_owners) = if shows_owners(&targets, &options) {
            let (sums, is_split) = aggregate_by_owner(&logs, &filter, MANY_SAMPLES, &progress);
            (sums, !is_split)
        } else {
            (aggregate(&logs, &filter, &progress), false)
        };
        bar.finish_and_clear();
        args.style.check_profile(args.to, &sums.profile)?;
        let Aggregate { profile, mut notes, damage, events, folded, acquisitions, ids, .. } = sums;
        let shown = Shown::of(&targets, &options, &profile);
        let in_log = InLog { waits: events.saturating_add(folded), acquisitions };
        let missing = shown.missing(&profile, &in_log, &filter);
        // What is missing may be missing for it.
        let done = logs::tell_damage(&damage);
        if args.filters.is_given() && !missing.is_empty() && !shown.has_any(&profile) {
            return Err(Failure::new(format!("{}; nothing was written", missing.join("; "))));
        }
        for what in missing {
            tell(&format!("note: {what}"));
        }
        let shows_times = targets.iter().any(|(format, _)| format.shows_times());
        // A timeline is of single threads.
        let groups = args.shape.group_by.is_some();
        let single = (shows_times && groups).then(|| args.shape.ungrouped(profile.clone()));
        let profile = args.shape.apply(profile);
        let timeline = shows_times.then(|| {
            Timeline::new(Source {
                logs: &logs,
                filter: &filter,
                ids: &ids,
                profile: single.as_ref().unwrap_or(&profile),
                packages: &args.shape.packages,
            })
        });
        let made = Made { profile: &profile, timeline: timeline.as_ref() };
        notes.retain(shown.acquisitions, shown.blame);
        if !shown.samples {
            notes.forget_samples();
        }
        let of_timeline = timeline.iter().flat_map(Timeline::notes);
        for line in notes.lines().into_iter().chain(of_timeline) {
            tell(&format!("note: {line}"));
        }
        let of_samples = targets_of_samples(&args, &profile);
        for (_, target, _) in &of_samples {
            target.spare_logs()?;
        }
        for (format, target) in &targets {
            write(format, target, made, &options)?;
            let samples = samples(&profile);
            let tells_threads = format.follows(Feature::ThreadLabel) && options.thread_label;
            if tells_threads && lacks_owners {
                tell(&format!(
                    "note: waits by owner would be more than {} samples, so they have no label \
                     owner_thread; --thread, --lock, --since and --until make them fewer",
                    units::thousands(MANY_SAMPLES as u64)
                ));
            }
            if tells_threads && samples > MANY_SAMPLES {
                tell(&format!(
                    "note: {samples} samples load slowly in go tool pprof; \
                     --no-thread-label makes them fewer"
                ));
            }
        }
        for (format, target, options) in of_samples {
            write(format, &target, made, &options)?;
        }
        Ok(done)
    })?
}

/// Whether waits are shown by an output that tells who had the lock.
fn shows_owners(targets: &[(&'static Format, Target)], options: &OutputOptions) -> bool {
    let is_by_waiter = !matches!(options.by, Some(By::Holder | By::Waker));
    let labels = targets.iter().any(|(format, _)| format.follows(Feature::ThreadLabel));
    options.thread_label && is_by_waiter && labels
}

/// With `--to all`: one picture shows waits or samples, so a log that has both
/// gets two.
fn targets_of_samples(
    args: &ConvertArgs,
    profile: &Profile,
) -> Vec<(&'static Format, Target, OutputOptions)> {
    let has_both = !profile.lacks_waits && !profile.samples.is_empty();
    let style = args.style.of_samples().filter(|_| args.to == ALL && has_both);
    let Some(style) = style else { return Vec::new() };
    let folder = args.output.clone().unwrap_or_default();
    let draws = FORMATS.iter().filter(|format| format.can_show(Metric::Wall));
    let target = |format| Target::File(folder.join(default_file(format, &style)));
    draws.map(|format| (format, target(format), style.options())).collect()
}

/// Refuses to show threads as one where each is shown by itself.
fn check_grouping(args: &ConvertArgs) -> Result<(), Failure> {
    let groups = args.shape.group_by.as_deref().is_some_and(|rule| rule != "none");
    match by_name(args.to).filter(|format| groups && format.shows_times()) {
        None => Ok(()),
        Some(format) => Err(Failure::Usage(format!(
            "--group-by has no effect on {}, which shows each thread by itself; use it with {}",
            format.name,
            style::any_of(&names_where(|format| !format.shows_times()))
        ))),
    }
}

/// The number of samples that pprof has of a profile, at most.
fn samples(profile: &Profile) -> usize {
    let sampled = profile.samples.len();
    let charged = profile.blames.len() + profile.wakes.len();
    profile.waits.len() + profile.acquisitions.len() + charged + sampled
}

/// What of a profile outputs show.
struct Shown {
    waits: bool,
    acquisitions: bool,
    blame: bool,
    wakes: bool,
    samples: bool,
}

impl Shown {
    fn of(
        targets: &[(&'static Format, Target)],
        options: &OutputOptions,
        profile: &Profile,
    ) -> Shown {
        let shows_one = |(format, _): &(&Format, Target)| format.shows_one_metric();
        let by_waiter = !matches!(options.by, Some(By::Holder | By::Waker));
        let by_waker = options.by == Some(By::Waker);
        if targets.iter().all(|(format, _)| format.shows_times()) {
            return Shown {
                waits: true,
                acquisitions: false,
                blame: false,
                wakes: false,
                samples: false,
            };
        }
        if !targets.iter().all(shows_one) {
            return Shown {
                waits: by_waiter,
                acquisitions: true,
                blame: true,
                wakes: by_waker,
                samples: true,
            };
        }
        let metric = options.metric_of(profile);
        let is_wait = matches!(metric, Metric::Wait | Metric::Contentions);
        Shown {
            waits: is_wait && by_waiter,
            acquisitions: matches!(metric, Metric::Hold | Metric::Acquisitions),
            blame: metric == Metric::Blame || is_wait && options.by == Some(By::Holder),
            wakes: is_wait && by_waker,
            samples: metric.is_sampled(),
        }
    }

    /// Whether a profile has anything that is shown.
    fn has_any(&self, profile: &Profile) -> bool {
        self.waits && !profile.waits.is_empty()
            || self.acquisitions && !profile.sections.is_empty()
            || self.blame && !profile.blames.is_empty()
            || self.wakes && !profile.wakes.is_empty()
            || self.samples && !profile.samples.is_empty()
    }

    /// What is shown and of which nothing passed the filters, in words.
    fn missing(&self, profile: &Profile, in_log: &InLog, filter: &Filter) -> Vec<String> {
        let mut missing = Vec::new();
        if self.waits && !profile.lacks_waits {
            missing.extend(filters::no_waits(profile, in_log.waits));
        }
        if self.wakes && profile.has_wakers && profile.wakes.is_empty() {
            missing.push("no wait with a known waker passed the filters".to_owned());
        }
        if self.samples && profile.has_samples && profile.samples.is_empty() {
            let more = match filter.states == States::all() {
                true => "",
                false => "; --state all shows idle threads, too",
            };
            missing.push(format!("no samples passed the filters{more}"));
        }
        let has_none = profile.has_acquisitions && profile.sections.is_empty();
        if self.acquisitions && has_none && in_log.acquisitions > 0 {
            missing.push(format!(
                "no acquisitions passed the filters; the log has {}, which are kept by class and \
                 name of the lock, not by lock object",
                units::thousands(in_log.acquisitions)
            ));
        }
        let has_none = profile.has_blame && profile.blames.is_empty();
        if self.blame && !self.acquisitions && has_none {
            missing.push("no wait that was charged to a holder passed the filters".to_owned());
        }
        missing
    }
}

/// How much there is in the logs, whatever the filter.
struct InLog {
    waits: u64,
    acquisitions: u64,
}

/// What is written where. A stream can take but one file.
fn targets(args: &ConvertArgs) -> Result<Vec<(&'static Format, Target)>, Failure> {
    let targets = named_targets(args)?;
    for (format, target) in &targets {
        if target.is_stream() && format.files.is_some() && !args.style.merged {
            return Err(Failure::Usage(format!(
                "{} consists of several files; use --merged to write one stream",
                format.name
            )));
        }
    }
    Ok(targets)
}

fn named_targets(args: &ConvertArgs) -> Result<Vec<(&'static Format, Target)>, Failure> {
    let target = args.output.as_deref().map(Target::of);
    if args.to == ALL {
        let folder = args.output.clone().unwrap_or_default();
        if target.is_some_and(|target| target.is_stream()) || folder.is_file() {
            return Err(Failure::Usage(
                "--to all writes several files; -o must name a folder".into(),
            ));
        }
        if args.output.is_some() {
            std::fs::create_dir_all(&folder)
                .map_err(|error| Failure::writing(&folder.display().to_string(), &error))?;
        }
        let target = |format: &'static Format| {
            (format, Target::File(folder.join(default_file(format, &args.style))))
        };
        return Ok(FORMATS.iter().map(target).collect());
    }
    let format = by_name(args.to).ok_or_else(|| Failure::new("unknown format"))?;
    let target = target.unwrap_or_else(|| Target::File(default_file(format, &args.style)));
    Ok(vec![(format, target)])
}

fn default_file(format: &Format, style: &Style) -> PathBuf {
    let Some((stem, extension)) = format.default_file.split_once('.') else {
        return format.default_file.into();
    };
    let stem = match style.metric().unwrap_or(Metric::Wait) {
        _ if !format.shows_one_metric() => stem,
        Metric::Contentions if style.is_by_holder() => "blame-counts",
        Metric::Wait if style.is_by_holder() => "blame",
        Metric::Contentions if style.is_by_waker() => "waker-counts",
        Metric::Wait if style.is_by_waker() => "wakers",
        Metric::Wait => stem,
        Metric::Hold => "holds",
        metric => metric.name(),
    };
    // KCacheGrind loads every file whose name begins with the one it is given:
    // a merged file must not begin like the parts.
    match format.files {
        Some(_) if style.merged => format!("{stem}.merged.{extension}").into(),
        _ => format!("{stem}.{extension}").into(),
    }
}

/// Writes logs in a format, or in all, under the usual names and in the usual style.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write_usual(to: &str, logs: &[Recording], filter: &Filter) -> Result<(), Failure> {
    // Where owners are too many, waits do without them.
    let (sums, _) = aggregate_by_owner(logs, filter, MANY_SAMPLES, &|_| {});
    let (profile, ids) = (&sums.profile, &sums.ids[..]);
    let formats = || FORMATS.iter().filter(|format| to == ALL || format.name == to);
    let timeline = formats()
        .any(Format::shows_times)
        .then(|| Timeline::new(Source { logs, filter, ids, profile, packages: &[] }));
    let made = Made { profile, timeline: timeline.as_ref() };
    for format in formats() {
        let target = Target::File(format.default_file.into());
        target.spare_logs()?;
        write(format, &target, made, &OutputOptions::default())?;
    }
    Ok(())
}

/// What outputs are made of.
#[derive(Clone, Copy)]
struct Made<'a> {
    profile: &'a Profile,
    /// There if any output is made of it.
    timeline: Option<&'a Timeline<'a>>,
}

impl Made<'_> {
    fn write(
        self,
        format: &Format,
        options: &OutputOptions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match (format.stream, self.timeline) {
            (Stream::Sums(stream), _) => stream(self.profile, options, out),
            (Stream::Times(stream), Some(timeline)) => stream(timeline, options, out),
            (Stream::Times(_), None) => Err(io::Error::other("the logs were not read")),
        }
    }
}

fn write(
    format: &Format,
    target: &Target,
    made: Made<'_>,
    options: &OutputOptions,
) -> Result<(), Failure> {
    let stream = || target.write(|out| made.write(format, options, out));
    let Target::File(path) = target else { return stream() };
    if target.is_stream() {
        return stream();
    }
    let name = path.display().to_string();
    let written = match format.files {
        Some(files) => files(made.profile, options, path)
            .map_err(|error: io::Error| Failure::writing(&name, &error))?,
        None => {
            stream()?;
            vec![path.clone()]
        }
    };
    say_written(&written, &name, format.open_with);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        convert: ConvertArgs,
    }

    #[test]
    fn each_value_has_a_file_of_its_own() {
        let file = |line: &str| {
            let words = std::iter::once("convert").chain(line.split(' ')).chain(["a.log"]);
            let args = Line::try_parse_from(words).unwrap().convert;
            default_file(by_name(args.to).unwrap(), &args.style).display().to_string()
        };
        assert_eq!(file("--to flamegraph"), "waits.svg");
        assert_eq!(file("--to flamegraph --metric hold"), "holds.svg");
        assert_eq!(file("--to collapsed --metric blame"), "blame.collapsed");
        assert_eq!(file("--to flamegraph --metric cpu"), "cpu.svg");
        assert_eq!(file("--to flamegraph --by state"), "wall.svg");
        assert_eq!(file("--to flamegraph --by holder"), "blame.svg");
        assert_eq!(file("--to flamegraph --by waker"), "wakers.svg");
        assert_eq!(file("--to collapsed --by waiter"), "waits.collapsed");
        assert_eq!(file("--to collapsed --metric contentions"), "contentions.collapsed");
        assert_eq!(file("--to flamegraph --metric contentions --by holder"), "blame-counts.svg");
        assert_eq!(file("--to pprof --by holder"), "locks.pb.gz");
        assert_eq!(file("--to pprof"), "locks.pb.gz");
        assert_eq!(file("--to callgrind"), "out.callgrind");
        assert_eq!(file("--to callgrind --merged"), "out.merged.callgrind");
    }
}
