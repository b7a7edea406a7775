//! `tyrion diff`.

mod pictures;

use super::conditions::{ConditionArgs, metrics_help};
use crate::{
    files::OutputTarget,
    filters::{FilterArgs, JobsArg},
    inputs::InputArgs,
    logs,
    outcome::{CommandResult, Completion, Failure, tell},
    progress,
};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;
use tyrion_model::{aggregate::Aggregate, filter::Kinds, units::counted};
use tyrion_report::{
    Findings, ReportOptions,
    diff::{
        Document, DumpDiff, DumpDocument, Matching, Pair, Per, SCHEMA, Terms, dump_diff, dump_view,
        view,
    },
    find,
    render::{json::escaped, text},
    work_bytes,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What to compare, and how.
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub struct DiffArgs {
    /// The log before and the log after; or any number of logs before, which
    /// are merged, if the logs after follow after --
    #[arg(required = true, value_name = "BEFORE")]
    before: Vec<PathBuf>,
    /// The logs after
    #[arg(last = true, value_name = "AFTER")]
    after: Vec<PathBuf>,
    /// Compare waits per acquisition of the lock instead of per second recorded;
    /// needs logs of trace mode
    #[arg(long)]
    per_acquisition: bool,
    /// Distinguish stacks by line numbers, not only by methods: for two
    /// recordings of the same code
    #[arg(long)]
    by_line: bool,
    /// Show at most N rows of each table, 0 for all
    #[arg(long, value_name = "N", default_value_t = ReportOptions::default().top)]
    top: usize,
    /// Write one JSON object, described in docs/diff.md
    #[arg(long, conflicts_with = "to")]
    json: bool,
    /// Write files for a visualizer instead of the tables
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<DiffFormat>,
    /// Where to write: a file, or - for stdout; with --to pprof a folder
    /// [default: stdout; diff.svg; this folder]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Whose waits set the widths of the flame graph; what is new has no width
    /// before, what has vanished none after [default: the side with more wait]
    #[arg(long, value_enum, value_name = "SIDE")]
    widths: Option<DiffSide>,
    #[command(flatten)]
    conditions: ConditionArgs,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    jobs: JobsArg,
}

/// What to write for visualizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Flame graph (SVG) in which red means more than before, blue less
    Flamegraph,
    /// before.pb.gz and after.pb.gz, for go tool pprof -diff_base
    Pprof,
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DiffSide {
    /// The logs before
    Before,
    /// The logs after
    After,
}

fn after_help() -> String {
    format!(
        "Examples:
  tyrion diff monday.log tuesday.log
  tyrion diff --per-acquisition --top 5 before.log after.log
  tyrion diff --json before-*.log -- after-*.log
  tyrion diff --to flamegraph -o diff.svg before.log after.log
  tyrion diff --to pprof before.log after.log
  tyrion diff --fail-if 'wait_per_second_ns > +10%' --fail-if 'p99_wait_ns > 5ms' a.log b.log

Conditions of --fail-if apply to the logs after. A value with a sign is a change:
'p99_wait_ns > +10%' compares each lock with the same lock before.

{}",
        metrics_help()
    )
}

/// Compares logs.
pub fn run(args: DiffArgs) -> CommandResult {
    let (before, after) = args.sides()?;
    args.check()?;
    args.conditions.spare_logs()?;
    let filter = args.filters.filter(Kinds::contention())?;
    let read =
        |paths: &[PathBuf]| logs::open_filtered(paths, &args.inputs, &mut filter.clone(), None);
    let (before, after) = (read(before)?, read(after)?);
    args.inputs.tell_unused(before.iter().chain(&after));
    tyrion_model::identity::agree_on_sides([&before, &after]);
    for target in pictures::targets(&args) {
        target.spare_logs()?;
    }
    let bar = progress::bar(work_bytes(&before) + work_bytes(&after), "reading");
    args.jobs.run(|| {
        let options = ReportOptions {
            top: args.top,
            near_misses: false,
            what_if: false,
            ..ReportOptions::default()
        };
        let read = |logs| find(logs, &filter, &options, &|bytes| bar.inc(bytes));
        let (before, after) = (read(&before), read(&after));
        bar.finish_and_clear();
        let filtered = args.filters.is_given();
        let done = [tell_state(&before, "before", filtered), tell_state(&after, "after", filtered)];
        let has_nothing = |side: &Findings<'_>| nothing_left(&side.aggregate, filtered).is_some();
        if args.to.is_some() && has_nothing(&before) && has_nothing(&after) {
            return Err(Failure::new("no waits passed the filters; nothing was written"));
        }
        let done =
            if done.contains(&Completion::Partly) { Completion::Partly } else { Completion::Whole };
        if before.is_trace() != after.is_trace() {
            tell("note: one side was recorded in trace mode, which itself makes locks slower");
        }
        if let Some(diff) = dump_diff(&before, &after) {
            let written = write_dumps(&args, &diff);
            return args.conditions.check_written(written, done, &after, Some(&before));
        }
        let pair = Pair { before: &before, after: &after };
        let written = match args.to {
            Some(format) => pictures::write(&args, format, &pair),
            None => write(&args, &pair, &options),
        };
        args.conditions.check_written(written, done, &after, Some(&before))
    })?
}

/// Says what a reader should know about a side.
fn tell_state(findings: &Findings<'_>, side: &str, filtered: bool) -> Completion {
    let sums = &findings.aggregate;
    if let Some(note) = nothing_left(sums, filtered) {
        tell(&format!("note: {side}: {note}"));
    }
    let mut notes = sums.notes.clone();
    notes.forget_samples();
    for line in notes.lines() {
        tell(&format!("note: {side}: {line}"));
    }
    logs::tell_damage(&sums.damage)
}

/// What to say when nothing came through the filters that the user has given.
fn nothing_left(sums: &Aggregate, filtered: bool) -> Option<String> {
    let waits = sums.events.saturating_add(sums.folded);
    let nothing = filtered && sums.profile.waits.is_empty() && waits != 0;
    nothing.then(|| format!("no waits passed the filters; the log has {}", counted(waits, "wait")))
}

fn write(args: &DiffArgs, pair: &Pair<'_>, options: &ReportOptions) -> Result<(), Failure> {
    let diff = pair.diff(&args.terms(pair), options);
    let diff = diff.map_err(|error| Failure::new(error.to_string()))?;
    let target = args.output.as_deref().map_or(OutputTarget::Stdout, OutputTarget::of);
    let text = if args.json {
        json(&Document { tyrion: VERSION, schema: SCHEMA, diff: &diff })?
    } else {
        text::view(&view(&diff), &target.style())
    };
    target.write(|out| out.write_all(text.as_bytes()))
}

fn json(document: &impl Serialize) -> Result<String, Failure> {
    let json = serde_json::to_string_pretty(document);
    Ok(escaped(&json.map_err(|error| Failure::new(error.to_string()))?).into_owned() + "\n")
}

/// What changed between series of thread dumps.
fn write_dumps(args: &DiffArgs, diff: &DumpDiff) -> Result<(), Failure> {
    if args.to.is_some() {
        return Err(Failure::new("thread dumps have no durations that a picture could compare"));
    }
    let target = args.output.as_deref().map_or(OutputTarget::Stdout, OutputTarget::of);
    let text = if args.json {
        json(&DumpDocument { tyrion: VERSION, schema: SCHEMA, diff })?
    } else {
        text::view(&dump_view(diff, args.top), &target.style())
    };
    target.write(|out| out.write_all(text.as_bytes()))
}

impl DiffArgs {
    fn terms(&self, pair: &Pair<'_>) -> Terms {
        Terms {
            per: self.per(pair),
            matching: if self.by_line { Matching::Lines } else { Matching::Methods },
        }
    }

    fn per(&self, pair: &Pair<'_>) -> Per {
        if self.per_acquisition { Per::Acquisition } else { pair.usual_per() }
    }

    /// The logs before and after.
    fn sides(&self) -> Result<(&[PathBuf], &[PathBuf]), Failure> {
        match (&self.before[..], &self.after[..]) {
            (before, after @ [_, ..]) => Ok((before, after)),
            ([before, after], []) => {
                Ok((std::slice::from_ref(before), std::slice::from_ref(after)))
            }
            (logs, []) => Err(Failure::Usage(format!(
                "{} {}: name one before and one after, or more with -- between them, as in \
                 tyrion diff a.log b.log -- c.log d.log",
                logs.len(),
                if logs.len() == 1 { "log" } else { "logs" },
            ))),
        }
    }

    /// Refuses what would have no effect.
    fn check(&self) -> Result<(), Failure> {
        let refuse = |text: &str| Err(Failure::Usage(text.to_owned()));
        if self.widths.is_some() && self.to != Some(DiffFormat::Flamegraph) {
            return refuse("--widths is for --to flamegraph");
        }
        if self.filters.names_states() {
            return refuse("--state selects samples, but diff compares waits");
        }
        if self.by_line && self.to.is_some() {
            return refuse(
                "--by-line is for the tables and --json; pictures distinguish methods only",
            );
        }
        let output = self.output.as_deref().map(OutputTarget::of);
        if self.to == Some(DiffFormat::Pprof) && output.is_some_and(|output| output.is_stream()) {
            return refuse("--to pprof writes two files; -o must name a folder");
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::usage::CommandLine;
    use clap::Parser;

    fn parsed(line: &str) -> DiffArgs {
        CommandLine::<DiffArgs>::try_parse_from(std::iter::once("diff").chain(line.split(' ')))
            .unwrap()
            .args
    }

    /// The logs before and after.
    fn sides(line: &str) -> Result<(String, String), String> {
        let args = parsed(line);
        let names = |logs: &[PathBuf]| {
            logs.iter().map(|log| log.display().to_string()).collect::<Vec<_>>().join("+")
        };
        let sides = args.sides().map(|(before, after)| (names(before), names(after)));
        sides.map_err(|failure| failure.to_string())
    }

    #[test]
    fn sides_are_two_logs_or_two_sets() {
        let is = |before: &str, after: &str| Ok((before.to_owned(), after.to_owned()));
        assert_eq!(sides("a b"), is("a", "b"));
        assert_eq!(sides("a b -- c"), is("a+b", "c"));
        assert_eq!(sides("a -- b c"), is("a", "b+c"));
        assert_eq!(sides("--top 3 --json a -- b"), is("a", "b"));
        assert!(sides("a").unwrap_err().contains("1 log: name one before"));
        assert!(sides("a b c").unwrap_err().contains("3 logs"));
    }

    #[test]
    fn filters_are_not_blamed_where_there_are_none() {
        let sums = Aggregate { events: 9, ..Aggregate::default() };
        let said = nothing_left(&sums, true);
        assert_eq!(said.as_deref(), Some("no waits passed the filters; the log has 9 waits"));
        assert_eq!(nothing_left(&sums, false), None);
        assert_eq!(nothing_left(&Aggregate::default(), true), None);
    }

    #[test]
    fn options_without_effect_are_refused() {
        for (line, said) in [
            ("a b --widths before", "--widths is for"),
            ("a b --to pprof --widths before", "--widths is for"),
            ("a b --to pprof --by-line", "--by-line is for"),
            ("a b --to pprof -o -", "-o must name a folder"),
        ] {
            let refused = parsed(line).check().unwrap_err().to_string();
            assert!(refused.contains(said), "{line}: {refused}");
        }
        for line in ["a b --to flamegraph --widths before -o -", "a b --by-line", "a b --to pprof"]
        {
            assert!(parsed(line).check().is_ok(), "{line}");
        }
    }

    #[test]
    fn conditions_are_checked_when_the_line_is_read() {
        let line = ["diff", "--fail-if", "p98 > 1", "a", "b"];
        let error =
            CommandLine::<DiffArgs>::try_parse_from(line).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("`p98` is not a metric"), "{error}");
    }
}
