//! `tyrion record`.

use super::agent_path::agent_path;
use crate::{
    agent_options::AgentOptions,
    jvm::{
        launch,
        shim::{self, Reach},
    },
    outcome::{Done, Failure, Outcome, tell},
    signals,
};
use clap::Args;
use std::{
    ffi::OsString,
    fs::File,
    io::{self, IsTerminal, Read},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use tyrion_wire::header::MAGIC;

/// What to run, and how to record it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion record -o report.log -- java -cp app.jar com.acme.Main
  tyrion record --threshold 0 -- taskset -c 0,1 java -jar app.jar --port 8080
  tyrion record -o build-%p.log -- mvn test
  tyrion record --mode trace --include 'com.acme.*' -- java -jar app.jar

java may be the command, or be started by it: by a script, by mvn, by another
java. The exit status is the program's, and signals go to the program.")]
pub struct RecordArgs {
    /// The log; %p stands for the JVM's process id
    #[arg(short, long, value_name = "LOG", default_value = "tyrion-%p.log")]
    output: PathBuf,
    #[command(flatten)]
    agent: AgentOptions,
    /// The command, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs a command with the agent in its JVM.
pub fn run(args: RecordArgs) -> Outcome {
    args.agent.check()?;
    let agent = agent_path()?;
    let log = std::path::absolute(&args.output)
        .map_err(|error| Failure::new(format!("{}: {error}", args.output.display())))?;
    let option = |more: &[(&str, &str)]| {
        let options = args.agent.for_agent(Some(&log), more);
        format!("-agentpath:{}={options}", agent.display())
    };
    let no_folder = |error| Failure::new(format!("no folder for a `java` of our own: {error}"));
    // Whichever JVM comes later never takes the first one's log.
    let of_others = option(&[("overwrite", "false")]);
    if let Some(command) = launch::with_agent(&args.command, &option(&[]), launch::find_on_path) {
        let mut command = as_command(&command);
        let folder = shim::install(&mut command, &of_others, Reach::Path).map_err(no_folder)?;
        let outcome = supervise(&mut command, &args.command);
        drop(folder);
        return outcome;
    }
    // Several JVMs may come: the first gets the name, the others their process
    // id in it, and none overwrites another's.
    remove_earlier(&log)?;
    let mut command = as_command(&args.command);
    let folder = shim::install(&mut command, &of_others, Reach::All).map_err(no_folder)?;
    let before = logs_beside(&log);
    let outcome = supervise(&mut command, &args.command);
    drop(folder);
    if outcome.is_ok() {
        tell_logs(&log, &before);
    }
    outcome
}

fn as_command(words: &[OsString]) -> Command {
    let (program, arguments) = match words.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (OsString::new(), words),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Removes a log of this name, unless a JVM still writes to it, which the lock
/// on it tells; the agent will take another name then.
fn remove_earlier(log: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("{}: {error}; name another file", log.display()))
    };
    let mut file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&error)),
    };
    let mut first = Vec::new();
    let read = file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut first);
    read.map_err(|error| failed(&error))?;
    if !first.is_empty() && first != MAGIC {
        return Err(failed(&"exists and is no Tyrion log"));
    }
    if file.try_lock().is_err() {
        return Ok(());
    }
    std::fs::remove_file(log).map_err(|error| failed(&error))
}

/// The logs whose names begin like this one's.
fn logs_beside(log: &Path) -> Vec<PathBuf> {
    let name = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.split("%p").next().unwrap_or_default().to_owned();
    let folder = log.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let entries = folder.into_iter().flatten().flatten();
    let mut logs: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&stem))
        .map(|entry| entry.path())
        .collect();
    logs.sort();
    logs
}

fn tell_logs(log: &Path, before: &[PathBuf]) {
    let new: Vec<String> = logs_beside(log)
        .into_iter()
        .filter(|path| !before.contains(path))
        .map(|path| path.display().to_string())
        .collect();
    match new.len() {
        0 => tell(
            "no JVM was recorded: the command started none, or cleared its environment; \
             name java itself, or use tyrion attach",
        ),
        // Quiet unless somebody watches: stderr is the program's too.
        n if n > 1 && io::stderr().is_terminal() => {
            tell(&format!("{n} JVMs were recorded: {}", new.join(", ")));
        }
        _ => {}
    }
}

/// Runs the command, hands signals on, and ends as it ends.
fn supervise(command: &mut Command, words: &[OsString]) -> Outcome {
    let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let start = |error: io::Error| {
        let status = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        Failure::Start(format!("{name}: {error}"), status)
    };
    // Before the program starts, so that no signal is lost.
    let held = signals::hold(command).map_err(|error| Failure::new(format!("signals: {error}")))?;
    let mut child = command.spawn().map_err(start)?;
    signals::forward(held, child.id()).end();
    let status = child.wait().map_err(|error| Failure::new(format!("{name}: {error}")))?;
    Ok(Done::Program(exit_status(status)))
}

fn exit_status(status: ExitStatus) -> u8 {
    let signalled = status.signal().map(|signal| 128 + signal);
    status.code().or(signalled).unwrap_or(1) as u8
}
