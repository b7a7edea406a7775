//! How `convert` renders: its options, and which of them go together.

use crate::outcome::Failure;
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use tyrion_converters::outputs::{
    By, Feature, Format, Metric, Needs, OutputOptions, by_name, go_together, names_where,
};
use tyrion_formats::Recording;
use tyrion_model::{filter::Filter, profile::Profile};

/// Outputs of single waits that show thread dumps, too.
const BY_DUMP: [&str; 3] = ["speedscope", "firefox", "perfetto"];

/// How to render.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Style")]
pub(super) struct RenderStyle {
    #[arg(long, value_name = "METRIC", help = metric_help(), value_parser = metrics())]
    pub(super) metric: Option<Metric>,
    #[arg(long, value_name = "WHO", help = by_help(), value_parser = whose())]
    by: Option<By>,
    /// Do not end stacks with a frame named after the lock
    #[arg(long)]
    no_lock_frame: bool,
    /// Name each lock object in that frame, not only its class
    #[arg(long, conflicts_with = "no_lock_frame")]
    lock_identity: bool,
    #[arg(long, help = feature_help("Do not tell threads apart", Feature::ThreadLabel))]
    no_thread_label: bool,
    #[arg(long, help = feature_help("Begin stacks with the thread", Feature::ByThread))]
    by_thread: bool,
    #[arg(long, help = feature_help("Draw roots at the top", Feature::Icicle))]
    icicle: bool,
    #[arg(long, help = feature_help("Begin stacks with the lock", Feature::Invert))]
    invert: bool,
    #[arg(long, help = merged_help())]
    pub(super) merged: bool,
    #[arg(long, value_name = "N", help = max_parts_help(),
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_parts: Option<usize>,
    #[arg(long, value_name = "KEY=VALUE", help = resource_help(), value_delimiter = ',',
          value_parser = attribute)]
    resource: Vec<(String, String)>,
}

fn metric_help() -> String {
    format!(
        "What to show ({}; the other formats show every metric that the log has, or \
         single waits) [default: {}; {} if nothing but samples was recorded, {} if \
         durations are not known, {} if waits are not]",
        names_where(Format::shows_one_metric).join(", "),
        Metric::Wait.name(),
        Metric::Wall.name(),
        Metric::Contentions.name(),
        Metric::Hold.name(),
    )
}

fn by_help() -> String {
    let of = |by: By| names_where(|format| format.by.contains(&by)).join(", ");
    let some = |by: By| match names_where(|format| !format.by.contains(&by)).is_empty() {
        true => None,
        false => Some(format!("{}: {}", by.name(), of(by))),
    };
    let limits: Vec<String> = By::ALL.into_iter().filter_map(some).collect();
    let limits = match limits.is_empty() {
        true => String::new(),
        false => format!(" ({})", limits.join("; ")),
    };
    format!("Whose stack carries the metric{limits} [default: {}]", By::Waiter.name())
}

/// What a flag does, and the formats that it has an effect on.
fn feature_help(does: &str, feature: Feature) -> String {
    format!("{does} ({})", names_where(|format| format.follows(feature)).join(", "))
}

fn merged_help() -> String {
    let does = "Write one file with all threads, as callgrind_annotate and speedscope need it";
    feature_help(does, Feature::Merged)
}

fn max_parts_help() -> String {
    let does = "Write at most N files; further threads share files by name group";
    let default = OutputOptions::default().max_parts;
    format!("{} [default: {default}]", feature_help(does, Feature::MaxParts))
}

fn resource_help() -> String {
    let does =
        "What is known of the service, as service.name=shop,deployment.environment.name=test";
    feature_help(does, Feature::Resource)
}

/// An attribute of a service or a process: `key=value`.
pub(in crate::commands) fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write KEY=VALUE, as service.name=shop".to_owned()),
    }
}

/// What has to be recorded, as an end of a line of help.
fn needed(needs: Needs) -> &'static str {
    match needs {
        Needs::Waits => "",
        Needs::Wakers => " (unless wakers=false)",
        Needs::Trace => " (trace mode)",
        Needs::Samples => " (sampling)",
    }
}

fn metrics() -> impl TypedValueParser<Value = Metric> {
    let value = |metric: Metric| {
        let help = format!("{}{}", metric.about(), needed(metric.needs()));
        PossibleValue::new(metric.name()).help(help)
    };
    // The parser lets only these names through.
    PossibleValuesParser::new(Metric::ALL.map(value)).map(|name: String| {
        Metric::ALL.into_iter().find(|metric| metric.name() == name).unwrap_or(Metric::Wait)
    })
}

fn whose() -> impl TypedValueParser<Value = By> {
    let value = |by: By| {
        PossibleValue::new(by.name()).help(format!("{}{}", by.about(), needed(by.needs())))
    };
    PossibleValuesParser::new(By::ALL.map(value))
        .map(|name: String| By::ALL.into_iter().find(|by| by.name() == name).unwrap_or(By::Waiter))
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn any_of(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

impl RenderStyle {
    /// The metric that is shown of a log that has it; `None` if that depends on
    /// the log.
    pub(super) fn metric(&self) -> Option<Metric> {
        self.metric.or(self.by.map(By::metric))
    }

    /// The style for these logs: where they do not tell how long threads waited, or not
    /// whether they did, what they tell instead is shown unless the user names a metric.
    pub(super) fn of_logs(&self, logs: &[Recording]) -> RenderStyle {
        let of_waits = || logs.iter().filter(|log| log.capabilities().waits);
        let metric = match of_waits().next() {
            None if logs.iter().all(|log| log.facts().lacks.waits) => Some(Metric::Hold),
            Some(_) if of_waits().all(|log| log.facts().lacks.durations) => {
                Some(Metric::Contentions)
            }
            _ => None,
        };
        let metric = metric.filter(|&metric| go_together(Some(metric), self.by));
        RenderStyle { metric: self.metric.or(metric), ..self.clone() }
    }

    /// Whether the holder's stack carries the wait.
    pub(super) fn is_by_holder(&self) -> bool {
        self.by == Some(By::Holder)
    }

    /// Whether the stack of who ended it carries the wait.
    pub(super) fn is_by_waker(&self) -> bool {
        self.by == Some(By::Waker)
    }

    pub(super) fn options(&self) -> OutputOptions {
        let default = OutputOptions::default();
        OutputOptions {
            lock_frame: !self.no_lock_frame,
            lock_identity: self.lock_identity,
            thread_label: !self.no_thread_label,
            by_thread: self.by_thread,
            metric: self.metric,
            by: self.by,
            icicle: self.icicle,
            invert: self.invert,
            merged: self.merged,
            max_parts: self.max_parts.unwrap_or(default.max_parts),
            resource: self.resource.clone(),
            ..default
        }
    }

    /// How samples are drawn besides the waits, of a log that has both, if the user
    /// leaves open what is drawn.
    pub(super) fn of_samples(&self) -> Option<RenderStyle> {
        let is_open = self.metric().is_none();
        is_open.then(|| RenderStyle { metric: Some(Metric::Wall), ..self.clone() })
    }

    /// The options that were given, and whether a format follows each of them.
    fn given(&self, format: &Format) -> Vec<(String, bool)> {
        let flag = |name: &str, given: bool, feature| {
            given.then(|| (format!("--{name}"), format.follows(feature)))
        };
        let metric = self.metric.map(|it| (metric_option(it), format.can_show(it)));
        let by = self.by.map(|it| (by_option(it), format.by.contains(&it)));
        let flags = [
            flag("no-thread-label", self.no_thread_label, Feature::ThreadLabel),
            flag("by-thread", self.by_thread, Feature::ByThread),
            flag("icicle", self.icicle, Feature::Icicle),
            flag("invert", self.invert, Feature::Invert),
            flag("merged", self.merged, Feature::Merged),
            flag("max-parts", self.max_parts.is_some(), Feature::MaxParts),
            flag("resource", !self.resource.is_empty(), Feature::Resource),
        ];
        [metric, by].into_iter().chain(flags).flatten().collect()
    }

    /// Refuses what would have no effect, or means nothing.
    pub(super) fn check(&self, to: &str) -> Result<(), Failure> {
        if let Some(format) = by_name(to)
            && let Some((option, _)) = self.given(format).into_iter().find(|(_, has)| !has)
        {
            let follows = |format: &Format| self.given(format).contains(&(option.clone(), true));
            let known = any_of(&names_where(follows));
            return Err(Failure::Usage(format!(
                "{option} has no effect on {to}; use it with {known}"
            )));
        }
        let (Some(metric), Some(by)) = (self.metric, self.by) else { return Ok(()) };
        if go_together(self.metric, self.by) {
            return Ok(());
        }
        let carriers: Vec<&str> = metric.carriers().iter().map(|by| by.name()).collect();
        Err(Failure::Usage(format!(
            "{} and {} do not go together: {} can be shown by {} only",
            metric_option(metric),
            by_option(by),
            metric.name(),
            any_of(&carriers)
        )))
    }

    /// Refuses filters that leave nothing of what is to be shown.
    pub(super) fn check_filter(&self, filter: &Filter) -> Result<(), Failure> {
        let refuse = |text: &str| Err(Failure::Usage(text.to_owned()));
        let spans_time = filter.since.is_some() || filter.until.is_some();
        match self.metric() {
            Some(Metric::Hold | Metric::Acquisitions) if spans_time || filter.min_wait_ns > 0 => {
                refuse(
                    "acquisitions and hold times are summed over the whole recording: \
                     --since, --until and --min-wait cannot select among them",
                )
            }
            Some(metric)
                if filter.min_wait_ns > 0 && (metric == Metric::Blame || self.is_by_holder()) =>
            {
                refuse(
                    "a wait may be charged to several holders, in parts: \
                     --min-wait cannot select among them",
                )
            }
            _ => Ok(()),
        }
    }

    /// The option that needs something to have been recorded.
    fn option_that_needs(&self, needs: Needs) -> Option<String> {
        let metric = self.metric.filter(|metric| metric.needs() == needs).map(metric_option);
        metric.or_else(|| self.by.filter(|by| by.needs() == needs).map(by_option))
    }

    /// Refuses logs that were not sampled if samples are to be shown, and logs of
    /// samples alone if waits are, as some formats show nothing else.
    pub(super) fn check_profile(
        &self,
        to: &str,
        profile: &Profile,
        logs: &[Recording],
    ) -> Result<(), Failure> {
        let names = || {
            let names: Vec<&str> = profile.runs.iter().map(|run| run.log.as_str()).collect();
            names.join(", ")
        };
        let are_dumps = logs.iter().all(|log| !log.dumps().is_empty());
        let of_waits = by_name(to).filter(|format| format.shows_times());
        // Some show thread dumps one after another.
        let of_waits = of_waits.filter(|format| !are_dumps || !BY_DUMP.contains(&format.name));
        let shows_waits = || of_waits.map(|format| format!("--to {}", format.name));
        if let Some(option) = self.option_that_needs(Needs::Waits).or_else(shows_waits)
            && profile.lacks_waits
        {
            let lack = match are_dumps {
                true => "thread dumps do not tell how long threads waited",
                false => "recorded without locks",
            };
            return Err(Failure::new(format!(
                "{}: {lack}; {option} needs a log of tyrion record --mode contention, or \
                 contention+sample",
                names()
            )));
        }
        if let Some(option) = self.option_that_needs(Needs::Wakers)
            && !profile.has_wakers
        {
            return Err(Failure::new(format!(
                "{}: recorded without who ended waits; {option} needs a log of tyrion record \
                 --wakers true, or one of this version",
                names()
            )));
        }
        match self.option_that_needs(Needs::Samples) {
            Some(option) if !profile.has_samples => Err(Failure::new(format!(
                "{}: no thread was sampled; {option} needs a log of tyrion sample -o, or of tyrion \
                 record --mode contention+sample",
                names()
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses logs that lack what is to be shown.
    pub(super) fn check_logs(&self, logs: &[Recording]) -> Result<(), Failure> {
        // Any log may have samples: the aggregate tells.
        let Some(option) = self.option_that_needs(Needs::Trace) else { return Ok(()) };
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

fn metric_option(metric: Metric) -> String {
    format!("--metric {}", metric.name())
}

fn by_option(by: By) -> String {
    format!("--by {}", by.name())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::commands::convert::ConvertArgs;
    use crate::usage::CommandLine;
    use clap::Parser;

    /// What is said about a command line.
    fn refused(line: &str) -> Option<String> {
        let words = std::iter::once("convert").chain(line.split(' ')).chain(["a.log"]);
        let args = CommandLine::<ConvertArgs>::try_parse_from(words).unwrap().args;
        let filter = args.filters.filter(tyrion_model::filter::Kinds::contention()).unwrap();
        let checked = args.style.check(args.to).and_then(|()| args.style.check_filter(&filter));
        checked.err().map(|failure| failure.to_string())
    }

    #[test]
    fn options_without_effect_are_refused() {
        for (line, option) in [
            (
                "--to pprof --metric hold",
                "--metric hold has no effect on pprof; use it with flamegraph or collapsed",
            ),
            ("--to callgrind --metric wait", "--metric wait has no effect on callgrind"),
            ("--to callgrind --metric contentions", "--metric contentions has no effect"),
            ("--to pprof --by-thread", "--by-thread"),
            (
                "--to collapsed --icicle",
                "--icicle has no effect on collapsed; use it with flamegraph",
            ),
            ("--to flamegraph --merged", "use it with callgrind"),
            ("--to pprof --max-parts 2", "--max-parts"),
            ("--to collapsed --no-thread-label", "use it with pprof"),
            (
                "--to flamegraph --metric hold --by waiter",
                "--metric hold and --by waiter do not go together: hold can be shown by holder only",
            ),
            ("--to all --metric cpu --by holder", "cpu can be shown by state only"),
            (
                "--to collapsed --metric wait --by state",
                "wait can be shown by waiter, holder or waker only",
            ),
            ("--to collapsed --metric blame --by waiter", "blame can be shown by holder only"),
            ("--to collapsed --metric hold --since 5s", "--since"),
            ("--to collapsed --metric acquisitions --min-wait 5us", "--min-wait"),
            ("--to pprof --by holder --min-wait 5us", "--min-wait"),
            ("--to all --metric blame --min-wait 5us", "--min-wait"),
            ("--to pprof --by state", "--by state has no effect on pprof"),
            ("--to flamegraph --by state --metric contentions", "contentions can be shown by"),
        ] {
            let said = refused(line).unwrap_or_default();
            assert!(said.contains(option), "{line}: {said}");
        }
    }

    #[test]
    fn options_with_effect_are_taken() {
        for line in [
            "--to all --metric hold --by holder --merged --icicle --no-thread-label --max-parts 3",
            "--to flamegraph --metric hold --icicle --by-thread",
            "--to collapsed --metric contentions",
            "--to collapsed --metric contentions --by holder",
            "--to flamegraph --metric blame --by holder --since 5s",
            "--to pprof --by holder --no-thread-label --lock-identity",
            "--to pprof --by waker --min-wait 5us",
            "--to callgrind --by waiter --merged --max-parts 3 --no-lock-frame",
            "--to callgrind --since 5s --min-wait 5us",
            "--to flamegraph --by state",
            "--to collapsed --by state --metric blocked --state all",
            "--to all --metric wall",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }

    /// Of each metric and each way to show it, exactly what [`go_together`] says is
    /// accepted, and the message says what else there is.
    #[test]
    fn combinations_that_mean_nothing_are_refused() {
        for metric in Metric::ALL {
            for by in By::ALL {
                let line = format!("--to flamegraph --metric {} --by {}", metric.name(), by.name());
                let said = refused(&line);
                assert_eq!(said.is_none(), go_together(Some(metric), Some(by)), "{line}: {said:?}");
                let names =
                    |said: String| metric.carriers().iter().all(|by| said.contains(by.name()));
                assert!(said.is_none_or(names), "{line}");
            }
        }
    }

    #[test]
    fn what_logs_do_not_tell_is_not_shown_by_default() {
        let counts = Recording::from_bytes("a.folded", b"a;b 7\nc;d 8\n".to_vec()).unwrap();
        let times = b"a;b;[monitor] L 7\nc;d;[monitor] L 8\n".to_vec();
        let times = Recording::from_bytes("b.folded", times).unwrap();
        let of = |line: &str, logs: &[Recording]| {
            let words = std::iter::once("convert").chain(line.split(' ')).chain(["a.log"]);
            CommandLine::<ConvertArgs>::try_parse_from(words)
                .unwrap()
                .args
                .style
                .of_logs(logs)
                .metric
        };
        let counts = [counts];
        assert_eq!(of("--to flamegraph", &counts), Some(Metric::Contentions));
        assert_eq!(of("--to all --by waiter", &counts), Some(Metric::Contentions));
        assert_eq!(of("--to flamegraph --metric wait", &counts), Some(Metric::Wait));
        assert_eq!(of("--to flamegraph --by state", &counts), None);
        let [counts] = counts;
        assert_eq!(of("--to flamegraph", &[counts, times]), None);
    }

    #[test]
    fn help_names_the_formats_that_follow_an_option() {
        let line = <CommandLine<ConvertArgs> as clap::CommandFactory>::command();
        let help = |option: &str| {
            let arg = line.get_arguments().find(|arg| arg.get_long() == Some(option)).unwrap();
            arg.get_help().unwrap().to_string()
        };
        for (option, formats) in [
            ("metric", "(flamegraph, collapsed;"),
            ("by", "; state: flamegraph, collapsed)"),
            ("no-thread-label", "(pprof, otlp)"),
            ("resource", "(otlp)"),
            ("by-thread", "(flamegraph, collapsed)"),
            ("merged", "(callgrind)"),
            ("max-parts", "(callgrind) [default: 256]"),
        ] {
            let help = help(option);
            assert!(help.contains(formats), "{option}: {help}");
        }
    }
}
