//! `tyrion sample`.

use super::{
    attach::{Agent, value},
    sections::interval_value,
};
use crate::{
    agent_options::{AgentOptions, PERIOD_NS, SamplingOptions},
    filters::{ShapeArgs, states},
    logs,
    outcome::{Failure, Outcome, tell},
    signals::Interrupts,
    terminal,
};
use clap::Args;
use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant},
};
use tyrion_converters::filter::{Filter, Moment, States};
use tyrion_formats::Log;
use tyrion_report::{
    Options, find,
    render::{shown, text},
    sections::tree,
    view::Cell,
};

/// How often we look whether the JVM still runs.
const LOOK: Duration = Duration::from_millis(100);
/// How long the agent may take for one look at all threads.
const PATIENCE: Duration = Duration::from_secs(10);
/// Periods vary by a quarter.
const LONGEST: f64 = 1.25;

/// Which JVM, for how long, and what to show.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion sample 4711
  tyrion sample 4711 --duration 50s --period 25ms --threads '^http-'
  tyrion sample 4711 --packages com.acme,org.foo --skip-daemon
  tyrion sample 4711 --once --state all
  tyrion sample 4711 --duration 5m -o samples.log && tyrion report --html samples.log

Ctrl-C ends it early, with what there is. A JVM that is recorded goes on being
recorded: the samples are in its log, too. The time of idle threads is left out, as
in reports; --state all shows it.")]
pub struct SampleArgs {
    /// The JVM's process id
    #[arg(value_name = "PID")]
    pid: u32,
    /// How long
    #[arg(short, long, value_name = "DURATION", default_value = "10s",
          value_parser = interval_value, conflicts_with = "once")]
    duration: u64,
    /// Look once: at what each thread does now
    #[arg(long)]
    once: bool,
    /// Frames kept of a stack, if the agent is not loaded yet [default: 128]
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u16).range(1..=2048))]
    depth: Option<u16>,
    /// Keep the log, if the agent is not loaded yet; %p stands for the process
    /// id
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,
    #[command(flatten)]
    sampling: SamplingOptions,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    show: ShowArgs,
}

/// What the tree shows.
#[derive(Args, Debug)]
#[command(next_help_heading = "Tree")]
struct ShowArgs {
    /// A tree for each interval of this length
    #[arg(long, value_name = "DURATION", value_parser = interval_value)]
    interval: Option<u64>,
    /// Show groups of threads and frames without time, too
    #[arg(long)]
    zero: bool,
    /// At most so many groups of threads, 0 for all
    #[arg(long, value_name = "N", default_value_t = 0)]
    top: usize,
    /// Only samples of threads in these states, separated by commas: running,
    /// native, blocked, waiting, parked, sleeping, idle, other, or the groups
    /// busy and all [default: busy, which is all but idle]
    #[arg(long, value_name = "STATES", value_parser = states)]
    state: Option<States>,
}

/// Samples a JVM and prints what its threads did.
pub fn run(args: SampleArgs) -> Outcome {
    let period_ns = args.sampling.period.unwrap_or(PERIOD_NS);
    if !args.once && args.duration < period_ns {
        return Err(Failure::Usage(
            "--duration is shorter than --period: nothing would be seen; or use --once".to_owned(),
        ));
    }
    let agent = Agent::find(args.pid)?;
    remove_left_behind(&agent);
    let interrupts =
        Interrupts::hold().map_err(|error| Failure::new(format!("signals: {error}")))?;
    let session = Session::begin(&agent, &args)?;
    if args.once {
        session.wait_for_look(&interrupts, Duration::from_nanos(period_ns))?;
    } else {
        session.wait(&interrupts, Duration::from_nanos(args.duration));
    }
    let recorded = session.end()?;
    // From now on Ctrl-C ends this command, as ever.
    drop(interrupts);
    print(&args, &recorded)
}

/// A JVM that is being sampled.
struct Session<'a> {
    agent: &'a Agent,
    /// The log, by its path here.
    log: PathBuf,
    /// When sampling began, monotonic ns, if the log is older.
    from_ns: Option<u64>,
    /// What is to be done in the end.
    after: After,
    /// Whether nobody but us has asked for the log.
    is_scratch: bool,
    /// What to look for in the names of threads, where the agent does not.
    threads: Option<regex::Regex>,
}

/// How to leave a JVM as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It did not record: it stops again.
    Stop,
    /// It recorded waits: it goes on, without samples.
    Contention,
    /// The same in trace mode.
    Trace,
    /// It was sampled already: it goes on as it is.
    Nothing,
}

/// What was recorded.
struct Recorded {
    log: PathBuf,
    from_ns: Option<u64>,
    is_scratch: bool,
    threads: Option<regex::Regex>,
}

impl<'a> Session<'a> {
    /// Has the agent sample, loading it if need be.
    fn begin(agent: &'a Agent, args: &SampleArgs) -> Result<Session<'a>, Failure> {
        let from_ns = logs::now_ns();
        let known = agent.is_loaded()?;
        let found = if known { agent.status()? } else { Vec::new() };
        let state = value(&found, "state");
        let after = match (state, value(&found, "sampling")) {
            ("recording", "on") => After::Nothing,
            ("recording", _) if value(&found, "mode").contains("trace") => After::Trace,
            ("recording", _) => After::Contention,
            ("broken", _) => {
                return Err(Failure::new(
                    "the JVM's log cannot be written on; restart the JVM to sample it",
                ));
            }
            _ => After::Stop,
        };
        let is_new = !matches!(state, "recording" | "paused");
        let (file, is_scratch) = match &args.output {
            Some(output) => (agent.log_path(output), false),
            None => (agent.scratch(SCRATCH), true),
        };
        let mut session = Session {
            agent,
            log: agent.log_of(&found),
            from_ns: (!is_new).then_some(from_ns),
            after,
            is_scratch: if is_new { is_scratch } else { agent.is_scratch(&found, SCRATCH) },
            threads: None,
        };
        if after == After::Nothing {
            session.join(args, &found);
        } else {
            let options = AgentOptions::for_sampling(args.sampling.complete(), args.depth);
            let options = if args.once { options.once() } else { options };
            let answer = agent.start(&options, Some(&file))?;
            session.log = agent.log_of(&answer);
        }
        if args.output.is_some() && !is_new {
            tell(&format!(
                "note: the log is {}; a JVM has one log, and another name is not taken",
                session.log.display()
            ));
        }
        if !args.once && std::io::stderr().is_terminal() {
            let time = shown(&Cell::Ns(args.duration)).into_owned();
            tell(&format!("sampling {} for {time}; Ctrl-C ends it early", args.pid));
        }
        Ok(session)
    }

    /// The JVM is sampled already, its way.
    fn join(&mut self, args: &SampleArgs, found: &[(String, String)]) {
        self.threads.clone_from(&args.sampling.threads);
        let period = value(found, "period_ns").parse().unwrap_or(PERIOD_NS);
        if args.sampling.period.is_some_and(|asked| asked != period) {
            let period = shown(&Cell::Ns(period)).into_owned();
            tell(&format!(
                "note: this JVM is being sampled every {period} already, and goes on so; \
                 tyrion attach {} --mode sample --period changes it",
                args.pid
            ));
        }
    }

    /// Waits for the time to pass, the user to interrupt, or the JVM to end.
    fn wait(&self, interrupts: &Interrupts, time: Duration) {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || interrupts.wait(left.min(LOOK)) || !self.agent.is_alive() {
                return;
            }
        }
    }

    /// Waits until the agent has looked once.
    fn wait_for_look(&self, interrupts: &Interrupts, period: Duration) -> Result<(), Failure> {
        self.wait(interrupts, period.mul_f64(LONGEST));
        if self.after == After::Nothing {
            return Ok(());
        }
        let deadline = Instant::now() + PATIENCE;
        while self.agent.is_alive() && value(&self.agent.status()?, "sampling") == "on" {
            if Instant::now() > deadline {
                tell("note: the agent did not finish; what there is is shown");
                break;
            }
            if interrupts.wait(LOOK / 4) {
                break;
            }
        }
        Ok(())
    }

    /// Leaves the JVM as it was.
    fn end(mut self) -> Result<Recorded, Failure> {
        let ended = self.restore();
        let recorded = Recorded {
            log: self.log.clone(),
            from_ns: self.from_ns,
            // The agent holds on to it as long as the JVM runs, and would write on
            // no other: it is needed when this JVM is sampled again.
            is_scratch: self.is_scratch && !self.agent.is_alive(),
            threads: self.threads.take(),
        };
        match ended {
            Ok(answer) => {
                // A log that rotates has another name by now, perhaps.
                let known = !value(&answer, "log").is_empty();
                let log = if known { self.agent.log_of(&answer) } else { recorded.log };
                Ok(Recorded { log, ..recorded })
            }
            Err(_) if !self.agent.is_alive() => {
                tell("note: the JVM has ended; what there is is shown");
                Ok(recorded)
            }
            Err(failure) => Err(failure),
        }
    }

    fn restore(&mut self) -> Result<Vec<(String, String)>, Failure> {
        match std::mem::replace(&mut self.after, After::Nothing) {
            After::Nothing => Ok(Vec::new()),
            After::Stop => self.agent.stop(),
            After::Contention => self.agent.start(&AgentOptions::of_mode("contention"), None),
            After::Trace => self.agent.start(&AgentOptions::of_mode("trace"), None),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // Where something failed on the way; that is what the user is told.
        let _ = self.restore();
    }
}

/// Prints the tree.
fn print(args: &SampleArgs, recorded: &Recorded) -> Outcome {
    let opened = logs::open(&recorded.log);
    if recorded.is_scratch {
        // What is open can be read all the same.
        let _ = std::fs::remove_file(&recorded.log);
    }
    let logs = [opened?];
    let [log] = &logs;
    let filter = filter(args, recorded, log);
    let options = args.options();
    let findings = find(&logs, &filter, &options, &|_| {});
    let done = logs::tell_damage(&findings.aggregate.damage);
    if findings.sampled.is_empty() {
        tell(
            "note: no thread was seen; have --threads match some, leave out --skip-daemon, \
             or take a longer --duration",
        );
        return Ok(done);
    }
    let answer = (tree::SECTION.answer)(&findings, &options);
    let text = text::view(&answer.view, &terminal::style());
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Failure::writing("stdout", &error))?;
    Ok(done)
}

fn filter(args: &SampleArgs, recorded: &Recorded, log: &Log) -> Filter {
    let since = recorded.from_ns.map(|from_ns| from_ns.saturating_sub(log.start_ns()));
    Filter {
        states: args.show.state.unwrap_or_default(),
        since: since.map(Moment::AfterStart),
        thread: recorded.threads.clone(),
        ..Filter::default()
    }
}

impl SampleArgs {
    fn options(&self) -> Options {
        let default = Options::default();
        Options {
            groups: self.show.top,
            group_by: self.shape.group_by.clone().unwrap_or(default.group_by),
            packages: self.shape.packages.clone(),
            interval_ns: self.show.interval.unwrap_or(default.interval_ns),
            zero: self.show.zero,
            ..Options::default()
        }
    }
}

/// Logs that nobody asked for are called so.
const SCRATCH: &str = "sample";

/// Removes logs that nobody asked for, of JVMs that have ended since.
fn remove_left_behind(agent: &Agent) {
    let scratch = agent.seen_from_here(&agent.scratch(SCRATCH));
    let (Some(folder), Some(name)) = (scratch.parent(), scratch.file_name()) else { return };
    let name = name.to_string_lossy();
    let Some((begin, _)) = name.split_once(SCRATCH) else { return };
    let begin = format!("{begin}{SCRATCH}-");
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !entry.file_name().to_string_lossy().starts_with(&begin) {
            continue;
        }
        // An agent holds a lock on its log until its JVM ends.
        let file = std::fs::File::open(entry.path());
        if file.is_ok_and(|file| !logs::is_being_written(&file)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        sample: SampleArgs,
    }

    fn parse(line: &str) -> Result<SampleArgs, String> {
        let words = std::iter::once("sample").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.sample).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tree_is_asked_for_as_of_the_report() {
        let args = parse(
            "4711 --duration 50s --period 25ms --threads ^http- --packages com.acme,org.foo \
             --group-by pool --interval 5s --zero --top 3",
        )
        .unwrap();
        assert_eq!((args.pid, args.duration), (4711, 50_000_000_000));
        let options = args.options();
        assert_eq!(options.packages, ["com.acme", "org.foo"]);
        assert_eq!((options.group_by.as_str(), options.groups), ("pool", 3));
        assert_eq!((options.interval_ns, options.zero), (5_000_000_000, true));
        let agent = AgentOptions::for_sampling(args.sampling.complete(), args.depth);
        assert_eq!(
            agent.for_agent(None, &[]),
            "mode=sample,period=25000000ns,threads=^http-,skip-daemon=false"
        );
    }

    #[test]
    fn one_look_takes_no_time() {
        let args = parse("1 --once --skip-daemon --depth 9").unwrap();
        let agent = AgentOptions::for_sampling(args.sampling.complete(), args.depth).once();
        assert_eq!(
            agent.for_agent(None, &[]),
            "mode=sample,depth=9,period=50000000ns,threads=,skip-daemon=true,once=true"
        );
        assert!(parse("1 --once --duration 5s").is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in ["", "x", "1 --duration 0", "1 --period 1us", "1 --threads (", "1 --state awake"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let short = run(parse("1 --duration 20ms").unwrap()).unwrap_err().to_string();
        assert!(short.contains("--duration is shorter than --period"), "{short}");
        let nobody = run(parse("4194304").unwrap()).unwrap_err().to_string();
        assert!(nobody.contains("no process 4194304"), "{nobody}");
    }
}
