//! `tyrion attach`, `tyrion stop` and `tyrion status`.

use super::agent_path::agent_path;
use crate::{
    agent_options::{AgentOptions, check_sent_file},
    jvm::attach::Jvm,
    outcome::{Done, Failure, Outcome, tell},
};
use clap::Args;
use serde_json::{Map, Value, json};
use std::{
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How long the agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which JVM, and how to record it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion attach 4711
  tyrion attach 4711 -o /tmp/report.log --threshold 0
  tyrion attach 4711 --mode trace --hold 1/256
  tyrion attach 4711 --mode contention+sample --period 20ms
  tyrion attach $(pgrep -f com.acme.Main)

Records until the JVM ends or tyrion stop. Of a JVM that records already, the
threshold and sampling change: with sample in --mode it begins, or goes on with
another --period, --threads and --skip-daemon; with another --mode it ends.
JDK 21 and later print a warning in the JVM when an agent is attached, unless it
runs with -XX:+EnableDynamicAgentLoading.")]
pub struct AttachArgs {
    #[command(flatten)]
    pid: PidArgs,
    /// The log, if the agent is not loaded yet; %p stands for the process id
    /// [default: tyrion-%p.log]
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Which JVM.
#[derive(Args, Debug)]
pub struct PidArgs {
    /// The JVM's process id
    #[arg(value_name = "PID", value_parser = process_id)]
    pid: u32,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Reads a process id.
///
/// # Errors
/// When it is none.
pub(super) fn process_id(text: &str) -> Result<u32, String> {
    let id = text.parse().ok().filter(|&id| id != 0);
    id.ok_or_else(|| "not a process id; jps -l shows those of JVMs".to_owned())
}

/// What the agent answers: keys and values.
pub(super) type Reply = Vec<(String, String)>;

/// A value of an answer; empty when it is not there.
pub(super) fn value<'a>(reply: &'a [(String, String)], key: &str) -> &'a str {
    reply.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
}

/// Records in a JVM that runs.
pub fn attach(args: AttachArgs) -> Outcome {
    args.agent.check()?;
    let agent = Agent::find(args.pid.pid)?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from("tyrion-%p.log"));
    let log = agent.log_path(&output);
    refuse_hidden_log(&agent, &args)?;
    let answer = agent.start(&args.agent, Some(&log))?;
    let written = value(&answer, "log");
    if (value(&answer, "mode"), value(&answer, "sampling")) == ("sample", "off") {
        tell(&format!(
            "note: nothing is recorded: {SAMPLES_ONLY}; tyrion attach {} --mode sample has it \
             sampled",
            args.pid.pid
        ));
    }
    if args.output.is_some()
        && !written.is_empty()
        && Path::new(written) != log
        && !log.to_string_lossy().contains("%p")
    {
        tell(&format!(
            "note: the log is {written}; a JVM has one log, and another name is not taken"
        ));
    }
    print(&answer, args.pid.json)
}

/// Why a JVM that was sampled first does not record locks.
const SAMPLES_ONLY: &str = "the agent in this JVM was loaded to sample, and records locks only \
                            once the JVM is restarted";

/// After `tyrion sample` there is a log that nobody has named, and that is for
/// samples alone: without asking for those, the user wants something else.
fn refuse_hidden_log(agent: &Agent, args: &AttachArgs) -> Result<(), Failure> {
    if args.agent.has_mode("sample") || !agent.is_loaded()? {
        return Ok(());
    }
    let status = agent.status()?;
    if value(&status, "mode") != "sample" || !agent.is_scratch(&status, super::sample::SCRATCH) {
        return Ok(());
    }
    let pid = args.pid.pid;
    Err(Failure::new(format!(
        "{SAMPLES_ONLY}; to sample it, tyrion sample {pid}, or tyrion attach {pid} --mode sample, \
         which samples into {} until tyrion stop {pid}; for locks, restart it",
        value(&status, "log")
    )))
}

/// Stops recording.
pub fn stop(args: PidArgs) -> Outcome {
    print(&Agent::find(args.pid)?.stop()?, args.json)
}

/// Tells what the agent is doing.
pub fn status(args: PidArgs) -> Outcome {
    print(&Agent::find(args.pid)?.status()?, args.json)
}

/// The agent in a JVM, loaded or not yet.
pub(super) struct Agent {
    jvm: Jvm,
    pid: u32,
}

impl Agent {
    /// That of the JVM with this process id.
    ///
    /// # Errors
    /// When there is no such JVM.
    pub(super) fn find(pid: u32) -> Result<Agent, Failure> {
        let jvm = Jvm::find(pid).map_err(Failure::Failed)?;
        Ok(Agent { jvm, pid })
    }

    /// The JVM's process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the JVM has loaded it.
    ///
    /// # Errors
    /// When it was replaced since.
    pub(super) fn is_loaded(&self) -> Result<bool, Failure> {
        self.jvm.loaded_agent().map(|path| path.is_some()).map_err(Failure::Failed)
    }

    /// Whether the JVM still runs.
    pub(super) fn is_alive(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid));
        // The state stands behind the name, which is in brackets.
        stat.is_ok_and(|stat| {
            let state =
                stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
            !matches!(state, None | Some('Z' | 'X'))
        })
    }

    /// The JVM's path of a log that the user names here. A relative path would
    /// be relative to the JVM's folder.
    pub(super) fn log_path(&self, output: &Path) -> PathBuf {
        if self.jvm.shares_files() {
            std::path::absolute(output).unwrap_or_else(|_| output.to_owned())
        } else {
            Path::new("/tmp").join(output)
        }
    }

    /// A path of the JVM's as seen from here.
    pub(super) fn seen_from_here(&self, path: &Path) -> PathBuf {
        self.jvm.seen_from_here(path)
    }

    /// The log that an answer names, by its path from here.
    pub(super) fn log_of(&self, reply: &Reply) -> PathBuf {
        self.seen_from_here(Path::new(value(reply, "log")))
    }

    /// A file in the JVM's /tmp that nobody else uses, by its path there.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.jvm.scratch(name)
    }

    /// Whether the log that an answer names is such a file.
    pub(super) fn is_scratch(&self, reply: &Reply, name: &str) -> bool {
        let scratch = self.scratch(name);
        let begin =
            scratch.to_string_lossy().rsplit_once('-').map(|(begin, _)| format!("{begin}-"));
        begin.is_some_and(|begin| value(reply, "log").starts_with(&begin))
    }

    /// Has it record, loading it if need be.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn start(
        &self,
        options: &AgentOptions,
        log: Option<&Path>,
    ) -> Result<Reply, Failure> {
        log.map_or(Ok(()), check_sent_file)?;
        command(&self.jvm, |more| options.for_agent(log, more), ("command", "start"))
    }

    /// Has it stop.
    ///
    /// # Errors
    /// When it cannot, or is not loaded.
    pub(super) fn stop(&self) -> Result<Reply, Failure> {
        self.ask(("command", "stop"))
    }

    /// Has it end the sample of this number, and leave the JVM as it was before.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn end_sample(&self, number: u64) -> Result<Reply, Failure> {
        self.ask(("end-sample", &number.to_string()))
    }

    /// What it is doing.
    ///
    /// # Errors
    /// When it does not tell.
    pub(super) fn status(&self) -> Result<Reply, Failure> {
        self.ask(("command", "status"))
    }

    fn ask(&self, asked: (&str, &str)) -> Result<Reply, Failure> {
        command(&self.jvm, |more| AgentOptions::default().for_agent(None, more), asked)
    }
}

/// Gives the agent in a JVM a command, loading it if need be: the answer's
/// keys and values.
fn command(
    jvm: &Jvm,
    options: impl FnOnce(&[(&str, &str)]) -> String,
    asked: (&str, &str),
) -> Result<Reply, Failure> {
    let library = library_for(jvm)?;
    let reply = jvm.scratch("reply");
    let reply_text = reply.to_string_lossy().into_owned();
    let options = options(&[asked, ("reply", &reply_text)]);
    let code = jvm.load(&library, &options).map_err(Failure::Failed)?;
    let answer = wait_for(&jvm.seen_from_here(&reply))?;
    let pairs: Reply = answer
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    match pairs.iter().find(|(key, _)| key == "error") {
        Some((_, reason)) => Err(Failure::new(reason)),
        None if code != 0 => Err(Failure::new("the agent refused; the JVM's stderr says why")),
        None => Ok(pairs),
    }
}

/// Reads the answer, which comes whole, and removes it.
fn wait_for(reply: &Path) -> Result<String, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::read_to_string(reply) {
            Ok(answer) => {
                let _ = std::fs::remove_file(reply);
                return Ok(answer);
            }
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Err(_) => {
                return Err(Failure::new(
                    "the agent does not answer; the JVM's stderr may say why",
                ));
            }
        }
    }
}

/// The agent's path as the JVM sees it: the one that it has loaded, if any. A JVM
/// with files of its own, in a container, gets a copy in its /tmp.
fn library_for(jvm: &Jvm) -> Result<PathBuf, Failure> {
    if let Some(loaded) = jvm.loaded_agent().map_err(Failure::Failed)? {
        return Ok(loaded);
    }
    let agent = agent_path()?;
    if jvm.shares_files() {
        return Ok(agent);
    }
    let copy = PathBuf::from(format!("/tmp/libtyrion_agent-{}.so", env!("CARGO_PKG_VERSION")));
    let seen = jvm.seen_from_here(&copy);
    if !seen.exists() {
        std::fs::copy(&agent, &seen)
            .map_err(|error| Failure::new(format!("{}: {error}", seen.display())))?;
    }
    Ok(copy)
}

fn print(answer: &[(String, String)], as_json: bool) -> Outcome {
    let text = if as_json {
        let object: Map<String, Value> = answer
            .iter()
            .map(|(key, value)| {
                let number = value.parse::<u64>().map(|number| json!(number));
                (key.clone(), number.unwrap_or_else(|_| json!(value)))
            })
            .collect();
        format!("{}\n", Value::Object(object))
    } else {
        answer.iter().map(|(key, value)| format!("{key:<13} {value}\n")).collect()
    };
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map(|()| Done::Whole).map_err(|error| Failure::writing("stdout", &error))
}
