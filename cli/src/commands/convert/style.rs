//! How `convert` renders: its options, and which of them go together.

use super::ALL;
use crate::outcome::Failure;
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tyrion_converters::{
    filter::Filter,
    outputs::{By, FORMATS, Options, Value, by_name},
    profile::Profile,
};
use tyrion_formats::Recording;

/// How to render.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Style")]
pub(super) struct Style {
    /// Do not end stacks with a frame named after the lock
    #[arg(long)]
    no_lock_frame: bool,
    /// Name each lock object in that frame, not only its class
    #[arg(long, conflicts_with = "no_lock_frame")]
    lock_identity: bool,
    /// Do not tell threads apart (pprof)
    #[arg(long)]
    no_thread_label: bool,
    /// Begin stacks with the thread (flamegraph, collapsed)
    #[arg(long)]
    by_thread: bool,
    /// Show how often threads waited instead of how long (flamegraph, collapsed)
    #[arg(long)]
    count: bool,
    /// What to show (flamegraph, collapsed; the others have all of them): hold,
    /// acquisitions and blame need a log of trace mode, wall, cpu and blocked
    /// one with samples [default: wait, or wall if nothing but samples was
    /// recorded]
    #[arg(long, value_name = "VALUE", value_parser = values())]
    pub(super) value: Option<Value>,
    /// Whose stack carries the wait; or samples below the states of their
    /// threads (flamegraph, collapsed) [default: waiter]
    #[arg(long, value_name = "WHO", value_parser = whose())]
    by: Option<By>,
    /// Draw roots at the top (flamegraph)
    #[arg(long)]
    icicle: bool,
    /// One file with all threads, for callgrind_annotate and speedscope, which
    /// cannot read the empty file that KCacheGrind opens (callgrind)
    #[arg(long)]
    pub(super) merged: bool,
    #[arg(long, value_name = "N", help = max_parts_help(),
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_parts: Option<usize>,
}

fn max_parts_help() -> String {
    let default = Options::default().max_parts;
    format!(
        "At most so many files; other threads share one by name group (callgrind) \
         [default: {default}]"
    )
}

fn values() -> impl TypedValueParser<Value = Value> {
    let about = |value| match value {
        Value::Wait => "How long threads waited",
        Value::Hold => "How long they held locks",
        Value::Acquisitions => "How often they took them",
        Value::Blame => "How long others waited, at who held the lock",
        Value::Wall => "How long threads were there: sampling only",
        Value::Cpu => "How long they computed there: sampling only",
        Value::Blocked => "How long they were blocked there: sampling only",
    };
    let names = Value::ALL.map(|value| PossibleValue::new(value.name()).help(about(value)));
    PossibleValuesParser::new(names).map(|name: String| {
        // The parser lets only these names through.
        Value::ALL.into_iter().find(|value| value.name() == name).unwrap_or_default()
    })
}

fn whose() -> impl TypedValueParser<Value = By> {
    let about = |by| match by {
        By::Waiter => "Of the thread that waited, as in Go's block profile",
        By::Holder => "Of the thread that held the lock, as in Go's mutex profile: trace mode only",
        By::State => "Of the thread itself, below its state: sampling only",
    };
    let names = By::ALL.map(|by| PossibleValue::new(by.name()).help(about(by)));
    PossibleValuesParser::new(names)
        .map(|name: String| By::ALL.into_iter().find(|by| by.name() == name).unwrap_or_default())
}

impl Style {
    /// What is shown of a log with whatever that needs.
    pub(super) fn shown(&self) -> Value {
        match self.value {
            None if self.by == Some(By::State) => Value::Wall,
            value => value.unwrap_or_default(),
        }
    }

    /// Whether it is shown how often threads waited.
    pub(super) fn counts(&self) -> bool {
        self.count
    }

    /// Whether the holder's stack carries the wait.
    pub(super) fn is_by_holder(&self) -> bool {
        self.by == Some(By::Holder)
    }

    pub(super) fn options(&self) -> Options {
        let default = Options::default();
        Options {
            lock_frame: !self.no_lock_frame,
            lock_identity: self.lock_identity,
            thread_label: !self.no_thread_label,
            by_thread: self.by_thread,
            count: self.count,
            value: self.value.unwrap_or(default.value),
            by: self.by.unwrap_or(default.by),
            icicle: self.icicle,
            merged: self.merged,
            max_parts: self.max_parts.unwrap_or(default.max_parts),
        }
    }

    /// How samples are drawn besides the waits, of a log that has both, if the user
    /// leaves open what is drawn.
    pub(super) fn of_samples(&self) -> Option<Style> {
        let is_open = self.value.is_none() && self.by.is_none() && !self.count;
        is_open.then(|| Style { value: Some(Value::Wall), ..self.clone() })
    }

    /// The options that were given and that not every format follows.
    fn particular(&self) -> Vec<&'static str> {
        let given = [
            ("no-thread-label", self.no_thread_label),
            ("by-thread", self.by_thread),
            ("count", self.count),
            ("value", self.value.is_some()),
            ("icicle", self.icicle),
            ("merged", self.merged),
            ("max-parts", self.max_parts.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    /// Refuses what would have no effect.
    pub(super) fn check(&self, to: &str) -> Result<(), Failure> {
        let refuse = |text: String| Err(Failure::Usage(text));
        if let Some(format) = by_name(to) {
            let foreign = |option: &&&str| !format.options.contains(*option);
            if let Some(option) = self.particular().iter().find(foreign) {
                let known = FORMATS.iter().filter(|format| format.options.contains(option));
                let known: Vec<&str> = known.map(|format| format.name).collect();
                return refuse(format!(
                    "--{option} has no effect on {to}; it is for {}",
                    known.join(" and ")
                ));
            }
        }
        let value = self.shown();
        let draws = by_name(to).is_none_or(|format| format.options.contains(&"value"));
        if self.by == Some(By::State) && !draws {
            return refuse(format!(
                "--by state has no effect on {to}, which tells states anyway; it is for flamegraph \
                 and collapsed"
            ));
        }
        if self.count && value != Value::Wait {
            return refuse(format!(
                "--count counts waits; leave out it or --value {}",
                value.name()
            ));
        }
        match (value, self.by) {
            // With several formats there are some that --by has an effect on.
            _ if to == ALL => Ok(()),
            (value, Some(By::State)) if !value.is_sampled() => refuse(format!(
                "--by state is for samples; leave out it or --value {}",
                value.name()
            )),
            (value, Some(by @ (By::Waiter | By::Holder))) if value.is_sampled() => refuse(format!(
                "--by {} says whose stack carries a wait; leave out it or --value {}",
                by.name(),
                value.name()
            )),
            (Value::Hold | Value::Acquisitions, Some(_)) => refuse(format!(
                "--by says whose stack carries the wait; leave out it or --value {}",
                value.name()
            )),
            (Value::Blame, Some(By::Waiter)) => {
                refuse("--value blame stands at who held the lock; leave out --by waiter".into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses filters that leave nothing of what is to be shown.
    pub(super) fn check_filter(&self, filter: &Filter) -> Result<(), Failure> {
        let refuse = |text: &str| Err(Failure::Usage(text.to_owned()));
        let spans_time = filter.since.is_some() || filter.until.is_some();
        let shows_blame = self.value == Some(Value::Blame) || self.by == Some(By::Holder);
        if matches!(self.value, Some(Value::Hold | Value::Acquisitions))
            && (spans_time || filter.min_wait_ns > 0)
        {
            return refuse(
                "acquisitions and hold times are summed over the whole recording: \
                 --since, --until and --min-wait cannot choose among them",
            );
        }
        if shows_blame && filter.min_wait_ns > 0 {
            return refuse(
                "a wait may be charged to several holders, in parts: \
                 --min-wait cannot choose among them",
            );
        }
        Ok(())
    }

    /// Refuses logs that were not sampled if samples are to be shown, and logs of
    /// samples alone if waits are.
    pub(super) fn check_profile(&self, profile: &Profile) -> Result<(), Failure> {
        let names: Vec<&str> = profile.runs.iter().map(|run| run.log.as_str()).collect();
        if self.value == Some(Value::Wait) && profile.lacks_waits {
            return Err(Failure::new(format!(
                "{}: recorded without locks; --value wait needs a log of tyrion record --mode \
                 contention, or contention+sample",
                names.join(", ")
            )));
        }
        if !self.shown().is_sampled() || profile.has_samples {
            return Ok(());
        }
        let option = match self.value {
            Some(value) => format!("--value {}", value.name()),
            None => "--by state".to_owned(),
        };
        Err(Failure::new(format!(
            "{}: no thread was sampled; {option} needs a log of tyrion sample -o, or of tyrion \
             record --mode contention+sample",
            names.join(", ")
        )))
    }

    /// Refuses logs that lack what is to be shown.
    pub(super) fn check_logs(&self, logs: &[Recording]) -> Result<(), Failure> {
        let option = match (self.value, self.by) {
            // Any log may have samples: the aggregate tells.
            (Some(value), _) if value.is_sampled() => return Ok(()),
            (Some(value), _) if value != Value::Wait => format!("--value {}", value.name()),
            (_, Some(By::Holder)) => "--by holder".to_owned(),
            _ => return Ok(()),
        };
        if logs.iter().any(Recording::is_trace) {
            return Ok(());
        }
        let names: Vec<&str> = logs.iter().map(Recording::name).collect();
        Err(Failure::new(format!(
            "{}: recorded without trace mode; {option} needs a log of tyrion record --mode trace",
            names.join(", ")
        )))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::commands::convert::ConvertArgs;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        convert: ConvertArgs,
    }

    /// What is said about a command line.
    fn refused(line: &str) -> Option<String> {
        let words = std::iter::once("convert").chain(line.split(' ')).chain(["a.log"]);
        let args = Line::try_parse_from(words).unwrap().convert;
        let filter = args.filters.filter(tyrion_converters::filter::Kinds::contention()).unwrap();
        let checked = args.style.check(args.to).and_then(|()| args.style.check_filter(&filter));
        checked.err().map(|failure| failure.to_string())
    }

    #[test]
    fn options_without_effect_are_refused() {
        for (line, option) in [
            ("--to pprof --value hold", "--value has no effect on pprof; it is for flamegraph and"),
            ("--to callgrind --value wait", "--value has no effect on callgrind"),
            ("--to callgrind --count", "--count"),
            ("--to pprof --by-thread", "--by-thread"),
            (
                "--to collapsed --icicle",
                "--icicle has no effect on collapsed; it is for flamegraph",
            ),
            ("--to flamegraph --merged", "it is for callgrind"),
            ("--to pprof --max-parts 2", "--max-parts"),
            ("--to collapsed --no-thread-label", "it is for pprof"),
            ("--to flamegraph --value hold --count", "--count counts waits"),
            ("--to all --value hold --count", "--count counts waits"),
            ("--to flamegraph --value hold --by holder", "whose stack carries the wait"),
            ("--to collapsed --value blame --by waiter", "who held the lock"),
            ("--to collapsed --value hold --since 5s", "--since"),
            ("--to collapsed --value acquisitions --min-wait 5us", "--min-wait"),
            ("--to pprof --by holder --min-wait 5us", "--min-wait"),
            ("--to all --value blame --min-wait 5us", "--min-wait"),
            ("--to pprof --by state", "--by state has no effect on pprof"),
            ("--to collapsed --by state --value hold", "--by state is for samples"),
            ("--to flamegraph --by holder --value cpu", "--by holder says whose stack"),
            ("--to flamegraph --by state --count", "--count counts waits"),
        ] {
            let said = refused(line).unwrap_or_default();
            assert!(said.contains(option), "{line}: {said}");
        }
    }

    #[test]
    fn options_with_effect_are_taken() {
        for line in [
            "--to all --value hold --by holder --merged --icicle --no-thread-label --max-parts 3",
            "--to flamegraph --value hold --icicle --by-thread",
            "--to collapsed --count",
            "--to collapsed --count --value wait --by holder",
            "--to flamegraph --value blame --by holder --since 5s",
            "--to pprof --by holder --no-thread-label --lock-identity",
            "--to callgrind --by waiter --merged --max-parts 3 --no-lock-frame",
            "--to callgrind --since 5s --min-wait 5us",
            "--to flamegraph --by state",
            "--to collapsed --by state --value blocked --state all",
            "--to all --value wall",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }

    #[test]
    fn formats_name_options_that_there_are() {
        let line = <Line as clap::CommandFactory>::command();
        for option in FORMATS.iter().flat_map(|format| format.options) {
            assert!(line.get_arguments().any(|arg| arg.get_long() == Some(option)), "{option}");
        }
    }
}
