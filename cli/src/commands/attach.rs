//! `tyrion attach`, `tyrion stop` and `tyrion status`.

use super::agent_path::agent_path;
use crate::{
    agent_options::AgentOptions,
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
  tyrion attach $(pgrep -f com.acme.Main)

Records until the JVM ends or tyrion stop. JDK 21 and later print a warning in the
JVM when an agent is attached, unless it runs with -XX:+EnableDynamicAgentLoading.")]
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
    #[arg(value_name = "PID")]
    pid: u32,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Records in a JVM that runs.
pub fn attach(args: AttachArgs) -> Outcome {
    args.agent.check()?;
    let jvm = Jvm::find(args.pid.pid).map_err(Failure::Failed)?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from("tyrion-%p.log"));
    let log = if jvm.shares_files() {
        std::path::absolute(&output).unwrap_or(output)
    } else {
        // A relative path would be relative to the JVM's folder.
        Path::new("/tmp").join(output)
    };
    let answer = command(&jvm, |more| args.agent.for_agent(Some(&log), more), "start")?;
    let written = answer.iter().find(|(key, _)| key == "log").map(|(_, path)| path.as_str());
    if let (Some(_), Some(written)) = (&args.output, written)
        && Path::new(written) != log
        && !log.to_string_lossy().contains("%p")
    {
        tell(&format!(
            "note: the log is {written}; a JVM has one log, and another name is not taken"
        ));
    }
    print(&answer, args.pid.json)
}

/// Stops recording.
pub fn stop(args: PidArgs) -> Outcome {
    let jvm = Jvm::find(args.pid).map_err(Failure::Failed)?;
    print(&command(&jvm, |more| AgentOptions::default().for_agent(None, more), "stop")?, args.json)
}

/// Tells what the agent is doing.
pub fn status(args: PidArgs) -> Outcome {
    let jvm = Jvm::find(args.pid).map_err(Failure::Failed)?;
    let ask = |more: &[(&str, &str)]| AgentOptions::default().for_agent(None, more);
    print(&command(&jvm, ask, "status")?, args.json)
}

/// Gives the agent in a JVM a command, loading it if need be: the answer's
/// keys and values.
fn command(
    jvm: &Jvm,
    options: impl FnOnce(&[(&str, &str)]) -> String,
    command: &str,
) -> Result<Vec<(String, String)>, Failure> {
    let library = library_for(jvm)?;
    let reply = jvm.scratch("reply");
    let reply_text = reply.to_string_lossy().into_owned();
    let options = options(&[("command", command), ("reply", &reply_text)]);
    let code = jvm.load(&library, &options).map_err(Failure::Failed)?;
    let answer = wait_for(&jvm.seen_from_here(&reply))?;
    let pairs: Vec<(String, String)> = answer
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

/// The agent's path as the JVM sees it: the one that it has loaded, if any. A JVM with files of its own, in a
/// container, gets a copy in its /tmp.
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
