//! `tyrion sample`.

mod session;

use super::{
    attach::{Agent, TrustArgs},
    sections::{interval_value, seconds_value},
    session::interruptible,
};
use crate::{
    agent_options::SamplingOptions,
    console,
    filters::{ShapeArgs, states},
    jvm::names::{JvmName, jvm_name},
    logs,
    outcome::{self, CommandResult, Failure, tell},
    terminal,
};
use clap::Args;
use session::{SampleLog, Session};
use std::{path::PathBuf, time::Duration};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, States};
use tyrion_options::DEFAULT_PERIOD_NS;
use tyrion_report::{
    Report, ReportOptions,
    cells::shown,
    find, longer_intervals,
    render::{json, text},
    sections::tree,
    view::TableCell,
};

/// Which JVM, for how long, and what to show.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion sample 4711
  tyrion sample 4711 --duration 50s --period 25ms --threads '^http-'
  tyrion sample 4711 --packages com.acme,org.foo --skip-daemon
  tyrion sample com.acme.Main --once --state all
  tyrion sample --json 4711 | jq '.sections.tree.intervals[0]'
  tyrion sample 4711 --duration 5m -o samples.log && tyrion report --html samples.log

Ctrl-C ends sampling early and shows the samples so far. A JVM that is being
recorded continues to be recorded; the samples are in its log, too. Idle threads
are left out, as in reports; --state all shows them.")]
pub struct SampleArgs {
    /// The JVM: its process id, or its main class or jar, or a part of these or of
    /// its arguments
    #[arg(value_name = "PID|NAME", value_parser = jvm_name)]
    jvm: JvmName,
    /// Print one JSON object, as tyrion report --json --section tree does
    #[arg(long)]
    json: bool,
    /// How long to sample
    #[arg(short, long, value_name = "DURATION", default_value = "10s",
          value_parser = seconds_value, conflicts_with = "once")]
    duration: u64,
    /// Take a single snapshot: what each thread is doing now, with whole stacks
    #[arg(long)]
    once: bool,
    /// Keep the log under this name, if the agent is not loaded yet; %p stands
    /// for the process id
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,
    #[command(flatten)]
    sampling: SamplingOptions,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// What the tree shows.
#[derive(Args, Debug)]
#[command(next_help_heading = "Tree")]
struct ShowArgs {
    /// Show one tree for each interval of this length
    #[arg(long, value_name = "DURATION", value_parser = interval_value)]
    interval: Option<u64>,
    /// Also show groups of threads and frames that have no time
    #[arg(long)]
    zero: bool,
    /// Show at most N groups of threads, 0 for all
    #[arg(long, value_name = "N", default_value_t = 0)]
    top: usize,
    /// Only samples of threads in these states, separated by commas: running,
    /// native, blocked, waiting, parked, sleeping, idle, other, or the groups
    /// busy and all [default: busy, which is all but idle]
    #[arg(long, value_name = "STATES", value_parser = states)]
    state: Option<States>,
}

/// Samples a JVM and prints what its threads did.
pub fn run(args: SampleArgs) -> CommandResult {
    let period_ns = args.period_ns();
    if !args.once && args.duration < period_ns {
        return Err(Failure::Usage(
            "--duration is shorter than --period, so nothing would be seen; use --once for a single snapshot".to_owned(),
        ));
    }
    let agent = Agent::find(&args.jvm, args.trust)?;
    let mut sampled = interruptible(|interrupts| {
        let session = Session::begin(&agent, &args)?;
        if !args.once && console::shows_progress() {
            let time = shown(&TableCell::Ns(args.duration)).into_owned();
            tell(&format!("sampling {} for {time}; press Ctrl-C to end it early", agent.pid()));
        }
        if args.once {
            session.wait_for_look(interrupts)?;
        } else {
            session.wait(interrupts, Duration::from_nanos(args.duration));
        }
        session.end()
    })?;
    let logs = sampled.log.open(&agent);
    // What is open can be read all the same.
    sampled.folder = None;
    print(&args, &sampled, logs?)
}

/// Prints the tree.
fn print(args: &SampleArgs, sampled: &SampleLog, logs: Vec<Recording>) -> CommandResult {
    let filter = Filter {
        states: args.show.state.unwrap_or_default(),
        thread: sampled.threads.clone(),
        ..sampled.log.filter(&logs)
    };
    let options = args.options();
    let findings = find(&logs, &filter, &options, &|_| {});
    let done = logs::tell_damage(&findings.aggregate.damage);
    if findings.sampled.is_empty() {
        tell(
            "note: no thread was seen; change --threads, omit --skip-daemon, or use a longer \
             --duration",
        );
        if !args.json {
            return Ok(done);
        }
    }
    if let Some(note) = longer_intervals(&findings, &options) {
        tell(&format!("note: {note}"));
    }
    let text = if args.json {
        let report = Report::new(env!("CARGO_PKG_VERSION"), &findings, &options, &[&tree::SECTION]);
        json::write(&report)
    } else {
        let answer = (tree::SECTION.answer)(&findings, &options);
        text::view(&answer.view, &terminal::style())
    };
    outcome::print(text)?;
    Ok(done)
}

impl SampleArgs {
    fn period_ns(&self) -> u64 {
        self.sampling.period_ns().unwrap_or(DEFAULT_PERIOD_NS)
    }

    fn options(&self) -> ReportOptions {
        let default = ReportOptions::default();
        ReportOptions {
            groups: self.show.top,
            group_by: self.shape.group_by.clone().unwrap_or(default.group_by),
            packages: self.shape.packages.clone(),
            interval_ns: self.show.interval.unwrap_or(default.interval_ns),
            interval_from_since: true,
            // The outermost frame of all would say nothing of one moment.
            zero: self.show.zero || self.once,
            // A tree is made of samples alone.
            near_misses: false,
            what_if: false,
            ..ReportOptions::default()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::agent_options::AgentOptions;
    use crate::usage::CommandLine;
    use clap::Parser;

    fn parse(line: &str) -> Result<SampleArgs, String> {
        let words = std::iter::once("sample").chain(line.split_whitespace());
        CommandLine::<SampleArgs>::try_parse_from(words)
            .map(|line| line.args)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_tree_is_asked_for_as_of_the_report() {
        let args = parse(
            "4711 --duration 50s --period 25ms --threads ^http- --packages com.acme,org.foo \
             --group-by pool --interval 5s --zero --top 3",
        )
        .unwrap();
        assert_eq!((args.jvm.pid().ok(), args.duration), (Some(4711), 50_000_000_000));
        let options = args.options();
        assert_eq!(options.packages, ["com.acme", "org.foo"]);
        assert_eq!((options.group_by.as_str(), options.groups), ("pool", 3));
        assert_eq!((options.interval_ns, options.zero), (5_000_000_000, true));
        let agent = AgentOptions::for_sampling(&args.sampling);
        assert_eq!(
            agent.for_agent(None, &[]),
            "mode=sample,period=25ms,threads=^http-,skip-daemon=false"
        );
    }

    #[test]
    fn one_look_takes_no_time() {
        assert!(parse("1 --once").unwrap().options().zero, "stacks are what it is for");
        let args = parse("1 --once --skip-daemon --depth 9").unwrap();
        let agent = AgentOptions::for_sampling(&args.sampling).once();
        assert_eq!(
            agent.for_agent(None, &[]),
            "mode=sample,depth=9,period=50ms,threads=,skip-daemon=true,once=true"
        );
        assert!(parse("1 --once --duration 5s").is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in ["", "0", "1 --duration 0", "1 --period 1us", "1 --threads (", "1 --state awake"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let short = run(parse("1 --duration 20ms").unwrap()).unwrap_err().to_string();
        assert!(short.contains("--duration is shorter than --period"), "{short}");
        let nobody = run(parse("4194304").unwrap()).unwrap_err().to_string();
        assert!(nobody.contains("no process 4194304"), "{nobody}");
    }
}
