//! `tyrion convert`.

mod shown;
mod style;

use crate::{
    files::{OutputTarget, say_written},
    filters::{FilterArgs, JobsArg, ShapeArgs},
    inputs::InputArgs,
    logs,
    outcome::{CommandResult, Failure, tell},
    progress,
};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use shown::{InLog, ProfileParts};
use std::{
    io::{self, Write},
    path::PathBuf,
};
use style::RenderStyle;
pub(super) use style::attribute;
use tyrion_converters::outputs::{
    By, FORMATS, Feature, Format, Metric, Metrics, OutputOptions, Stream, by_name, names_where,
};
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::{Aggregate, aggregate, aggregate_by_owner, work_bytes},
    filter::{Filter, Kinds},
    profile::Profile,
    timeline::{Source, Timeline},
    units,
};

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
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    to: &'static str,
    /// Where to write: a file, - for stdout, or with --to all a folder
    /// [default: a name that depends on the format, in the current folder]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Logs to read, or folders of logs; several become one profile, - is stdin
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    #[command(flatten)]
    style: RenderStyle,
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
pub(super) fn format_names() -> impl TypedValueParser<Value = &'static str> {
    let formats = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(about(format)));
    let files: Vec<&str> = FORMATS.iter().map(|format| format.default_file).collect();
    let all = PossibleValue::new(ALL).help(format!("Every format: {}", files.join(", ")));
    // The parser lets only these names through.
    PossibleValuesParser::new(formats.chain([all]))
        .map(|given| by_name(&given).map_or(ALL, |format| format.name))
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
    let mut filter = args.filters.filter(Kinds::contention())?;
    args.style.check_filter(&filter)?;
    // What cannot be written is refused before anything is read.
    targets(&args, &args.style)?;
    let logs = logs::open_filtered(&args.logs, &args.inputs, &mut filter, args.filters.last_ns())?;
    args.inputs.tell_unused(logs.iter());
    args.style.check_logs(&logs)?;
    let style = args.style.of_logs(&logs);
    let targets = targets(&args, &style)?;
    for (_, target) in &targets {
        target.spare_logs()?;
    }
    let options = OutputOptions { packages: args.shape.packages.clone(), ..style.options() };
    let job = Conversion { args: &args, filter, logs, targets, options };
    args.jobs.run(|| job.run())?
}

/// What is to be converted, and what into.
struct Conversion<'a> {
    args: &'a ConvertArgs,
    filter: Filter,
    logs: Vec<Recording>,
    targets: Vec<(&'static Format, OutputTarget)>,
    options: OutputOptions,
}

impl Conversion<'_> {
    fn run(&self) -> CommandResult {
        let args = self.args;
        let (sums, lacks_owners) = self.aggregate();
        args.style.check_profile(args.to, &sums.profile, &self.logs)?;
        // What is missing may be missing for it.
        let done = logs::tell_damage(&sums.damage);
        let shown = self.shown(&sums)?;
        let Aggregate { profile, mut notes, ids, .. } = sums;
        notes.retain(shown.acquisitions, shown.blame);
        if !shown.samples {
            notes.forget_samples();
        }
        // A timeline is of single threads.
        let shows_times = self.targets.iter().any(|(format, _)| format.shows_times());
        let groups = args.shape.group_by.is_some();
        let single = (shows_times && groups).then(|| args.shape.ungrouped(profile.clone()));
        let profile = args.shape.apply(profile);
        let source = Source {
            logs: &self.logs,
            filter: &self.filter,
            ids: &ids,
            profile: single.as_ref().unwrap_or(&profile),
            packages: &args.shape.packages,
        };
        let timeline = shows_times.then(|| Timeline::new(source));
        let of_timeline = timeline.iter().flat_map(Timeline::notes);
        for line in notes.lines().into_iter().chain(of_timeline) {
            tell(&format!("note: {line}"));
        }
        let has_sums = timeline.as_ref().is_some_and(|it| !it.untimed().is_empty());
        if has_sums && self.targets.iter().any(|(format, _)| format.name == "jfr") {
            tell(
                "note: what reads Flight Recorder's format adds up single waits, without these sums",
            );
        }
        let made = OutputSource { profile: &profile, timeline: timeline.as_ref() };
        self.write(made, lacks_owners)?;
        Ok(done)
    }

    /// The sums, and whether outputs lack the owners that they would show.
    fn aggregate(&self) -> (Aggregate, bool) {
        let bar = progress::bar(work_bytes(&self.logs), "reading");
        let progress = |bytes| bar.inc(bytes);
        let (logs, filter) = (&self.logs, &self.filter);
        let (sums, lacks_owners) = if shows_owners(&self.targets, &self.options) {
            let (sums, is_split) = aggregate_by_owner(logs, filter, MANY_SAMPLES, &progress);
            (sums, !is_split)
        } else {
            (aggregate(logs, filter, &progress), false)
        };
        bar.finish_and_clear();
        (sums, lacks_owners)
    }

    /// What outputs show, when it was told what of that the filters leave nothing of.
    fn shown(&self, sums: &Aggregate) -> Result<ProfileParts, Failure> {
        let shown = ProfileParts::of(&self.targets, &self.options, &sums.profile);
        let waits = sums.events.saturating_add(sums.folded);
        let in_log = InLog { waits, acquisitions: sums.acquisitions };
        let missing = shown.missing(&sums.profile, &in_log, &self.filter);
        let has_any = shown.has_any(&sums.profile);
        if self.args.filters.is_given() && !missing.is_empty() && !has_any {
            return Err(Failure::new(format!("{}; nothing was written", missing.join("; "))));
        }
        for what in missing {
            tell(&format!("note: {what}"));
        }
        Ok(shown)
    }

    fn write(&self, made: OutputSource<'_>, lacks_owners: bool) -> Result<(), Failure> {
        let of_samples = targets_of_samples(self.args, made.profile);
        for (_, target, _) in &of_samples {
            target.spare_logs()?;
        }
        let is_of_several = made.timeline.is_some_and(|it| it.axis().recording_count() > 1);
        for (format, target) in &self.targets {
            if is_of_several && format.name == "jfr" {
                of_several(self.args.to)?;
                continue;
            }
            write(format, target, made, &self.options)?;
            if format.follows(Feature::ThreadLabel) && self.options.thread_label {
                tell_many_samples(made.profile, lacks_owners);
            }
        }
        for (format, target, options) in of_samples {
            let packages = self.options.packages.clone();
            write(format, &target, made, &OutputOptions { packages, ..options })?;
        }
        Ok(())
    }
}

/// Says that several recordings cannot become one of Flight Recorder, whose threads and locks are
/// those of one JVM: an error if nothing else is asked for.
fn of_several(to: &str) -> Result<(), Failure> {
    let what = "a recording of Flight Recorder is of one JVM, and these logs are of several; convert \
                those of each by themselves";
    if to == ALL {
        tell(&format!("note: {what}; waits.jfr was not written"));
        return Ok(());
    }
    Err(Failure::new(what))
}

/// Says what many samples of pprof mean for who reads them.
fn tell_many_samples(profile: &Profile, lacks_owners: bool) {
    if lacks_owners {
        tell(&format!(
            "note: waits by owner would be more than {} samples, so they have no label \
             owner_thread; --thread, --lock, --since and --until make them fewer",
            units::thousands(MANY_SAMPLES as u64)
        ));
    }
    let samples = samples(profile);
    if samples > MANY_SAMPLES {
        tell(&format!(
            "note: {samples} samples load slowly in go tool pprof; --no-thread-label makes them \
             fewer"
        ));
    }
}

/// Whether waits are shown by an output that tells who had the lock.
fn shows_owners(targets: &[(&'static Format, OutputTarget)], options: &OutputOptions) -> bool {
    let is_by_waiter = !matches!(options.by, Some(By::Holder | By::Waker));
    let labels = targets.iter().any(|(format, _)| format.follows(Feature::ThreadLabel));
    options.thread_label && is_by_waiter && labels
}

/// With `--to all`: one picture shows waits or samples, so a log that has both
/// gets two.
fn targets_of_samples(
    args: &ConvertArgs,
    profile: &Profile,
) -> Vec<(&'static Format, OutputTarget, OutputOptions)> {
    let has_both = !profile.lacks_waits && !profile.samples.is_empty();
    let style = args.style.of_samples().filter(|_| args.to == ALL && has_both);
    let Some(style) = style else { return Vec::new() };
    let folder = args.output.clone().unwrap_or_default();
    let draws = FORMATS.iter().filter(|format| format.can_show(Metric::Wall));
    let target = |format| OutputTarget::File(folder.join(default_file(format, &style)));
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

/// That what consists of a folder can be written there.
fn check_folder(format: &Format, target: &OutputTarget) -> Result<(), Failure> {
    let name = format.name;
    match target {
        OutputTarget::File(path) if path.is_file() => Err(Failure::Usage(format!(
            "{name} is a folder of files, and {} is a file; name a folder with -o",
            path.display()
        ))),
        _ if target.is_stream() => {
            Err(Failure::Usage(format!("{name} is a folder of files; name one with -o")))
        }
        _ => Ok(()),
    }
}

/// What is written where. A stream can take but one file.
fn targets(
    args: &ConvertArgs,
    style: &RenderStyle,
) -> Result<Vec<(&'static Format, OutputTarget)>, Failure> {
    let targets = named_targets(args, style)?;
    for (format, target) in &targets {
        if matches!(format.stream, Stream::Folder(_)) {
            check_folder(format, target)?;
        }
        if target.is_stream() && format.files.is_some() && !style.merged {
            return Err(Failure::Usage(format!(
                "{} consists of several files; use --merged to write one stream",
                format.name
            )));
        }
    }
    Ok(targets)
}

fn named_targets(
    args: &ConvertArgs,
    style: &RenderStyle,
) -> Result<Vec<(&'static Format, OutputTarget)>, Failure> {
    let target = args.output.as_deref().map(OutputTarget::of);
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
            (format, OutputTarget::File(folder.join(default_file(format, style))))
        };
        return Ok(FORMATS.iter().map(target).collect());
    }
    let format = by_name(args.to).ok_or_else(|| Failure::new("unknown format"))?;
    let target = target.unwrap_or_else(|| OutputTarget::File(default_file(format, style)));
    Ok(vec![(format, target)])
}

fn default_file(format: &Format, style: &RenderStyle) -> PathBuf {
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
    let made = OutputSource { profile, timeline: timeline.as_ref() };
    for format in formats() {
        let target = OutputTarget::File(format.default_file.into());
        target.spare_logs()?;
        write(format, &target, made, &OutputOptions::default())?;
    }
    Ok(())
}

/// What outputs are made of.
#[derive(Clone, Copy)]
struct OutputSource<'a> {
    profile: &'a Profile,
    /// There if any output is made of it.
    timeline: Option<&'a Timeline<'a>>,
}

impl OutputSource<'_> {
    fn write(
        self,
        format: &Format,
        options: &OutputOptions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match (format.stream, self.timeline) {
            (Stream::Sums(stream), _) => stream(self.profile, options, out),
            (Stream::Times(stream), Some(timeline)) => stream(timeline, options, out),
            // Refused before.
            (Stream::Folder(_), _) => Err(io::Error::other("a folder cannot be streamed")),
            (Stream::Times(_), None) => Err(io::Error::other("the logs were not read")),
        }
    }
}

fn write(
    format: &Format,
    target: &OutputTarget,
    made: OutputSource<'_>,
    options: &OutputOptions,
) -> Result<(), Failure> {
    let stream = || target.write(|out| made.write(format, options, out));
    let OutputTarget::File(path) = target else { return stream() };
    if target.is_stream() {
        return stream();
    }
    let name = path.display().to_string();
    let failed = |error: io::Error| Failure::writing(&name, &error);
    let written = match (format.stream, format.files, made.timeline) {
        (Stream::Folder(folder), _, Some(timeline)) => {
            folder(timeline, path).map_err(failed)?;
            vec![path.clone()]
        }
        (_, Some(files), _) => files(made.profile, options, path).map_err(failed)?,
        _ => {
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
    use crate::usage::CommandLine;
    use clap::Parser;

    #[test]
    fn each_value_has_a_file_of_its_own() {
        let file = |line: &str| {
            let words = std::iter::once("convert").chain(line.split(' ')).chain(["a.log"]);
            let args = CommandLine::<ConvertArgs>::try_parse_from(words).unwrap().args;
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
