//! `tyrion record`.

use crate::{
    agent,
    agent_options::{AgentOptions, check_file},
    console,
    jvm::{
        launch,
        shim::{self, Reach},
    },
    logs,
    outcome::{CommandResult, Completion, Failure, tell, tell_error},
    shell, signals,
};
use clap::Args;
use rustix::fs::{Access, access};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Read},
    os::unix::{fs::MetadataExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::SystemTime,
};

use tyrion_formats::{limits, open_regular};
use tyrion_options::DEFAULT_FILE;
use tyrion_wire::header::{Header, HeaderError, MAGIC, METADATA_AT};

/// What to run, and how to record it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion record -o report.log -- java -cp app.jar com.acme.Main
  tyrion record --threshold 0 -- taskset -c 0,1 java -jar app.jar --port 8080
  tyrion record -o build-%p.log -- mvn test
  tyrion record --mode trace --include 'com.acme.*' -- java -jar app.jar
  tyrion record --mode contention+sample --period 20ms -- java -jar app.jar

java may be the command itself, or be started by it: by a script, by mvn, by
another java. The exit status is that of the program, and signals are passed on
to it. The program is not started when the log cannot be written.")]
pub struct RecordArgs {
    /// The log to write; %p stands for the JVM's process id
    #[arg(short, long, value_name = "LOG", default_value = DEFAULT_FILE)]
    output: PathBuf,
    // Before the agent's options, whose heading it would be under.
    /// The command to run, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    agent: AgentOptions,
}

/// Runs a command with the agent in its JVM.
pub fn run(args: RecordArgs) -> CommandResult {
    let (status, logs) = record(&args.command, &args.output, &args.agent)?;
    tell_logs(&logs);
    Ok(status)
}

/// Runs a command with the agent in its JVM: how it ended, and the logs of the
/// JVMs that it started, one of each.
///
/// # Errors
/// When it was not started.
pub(super) fn record(
    command: &[OsString],
    output: &Path,
    options: &AgentOptions,
) -> Result<(Completion, Vec<PathBuf>), Failure> {
    options.check()?;
    let agent = agent::for_command(command)?;
    let log = std::path::absolute(output)
        .map_err(|error| Failure::new(format!("{}: {error}", output.display())))?;
    check_kind(&log)?;
    check_file(&log)?;
    check_folder(&log)?;
    let option = |more: &[(&str, &str)]| {
        let mut option = OsString::from("-agentpath:");
        option.push(&agent);
        option.push("=");
        option.push(options.for_java(&log, more));
        option
    };
    let no_folder = |error| Failure::new(format!("cannot make a temporary folder: {error}"));
    // Whichever JVM comes later never takes the first one's log.
    let of_others = option(&[("overwrite", "false")]);
    let with_agent = launch::with_agent(command, &option(&[]), launch::find_on_path);
    let (line, reach) = match &with_agent {
        Some(line) => (&line[..], Reach::Path),
        None => (command, Reach::All),
    };
    if reach == Reach::All && !options.keeps_earlier() {
        // Several JVMs may come: the first gets the name, the others their process
        // id in it, and none overwrites another's.
        remove_earlier(&log)?;
    }
    let mut child = as_command(line);
    let folder = shim::install(&mut child, &of_others, reach).map_err(no_folder)?;
    let before = Before::of(&log);
    let status = supervise(&mut child, command)?;
    drop(folder);
    let logs = before.new_logs(&log);
    if logs.is_empty() && reach == Reach::All {
        tell_error(
            "no JVM was recorded: the command started none, or cleared its environment. Run java \
             itself with this command, or use tyrion attach",
        );
    }
    Ok((status, logs))
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

/// Refuses a name that stands for something which no log can be written to,
/// before the program runs unrecorded.
fn check_kind(log: &Path) -> Result<(), Failure> {
    let what = match log.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => "is a symbolic link",
        Ok(metadata) if metadata.is_dir() => "is a folder",
        Ok(metadata) if !metadata.is_file() => "is a pipe, a socket or a device",
        _ => return Ok(()),
    };
    let log = log.display();
    Err(Failure::Usage(format!("{log} {what}, but a log must be a regular file; name another")))
}

/// Refuses a folder that no log can be made in: the program would run without
/// being recorded.
fn check_folder(log: &Path) -> Result<(), Failure> {
    let Some(folder) = log.parent() else { return Ok(()) };
    // Which folder that is depends on the JVM.
    if folder.to_string_lossy().contains("%p") {
        return Ok(());
    }
    let (log, shown) = (log.display(), folder.display());
    match folder.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::new(format!(
            "{log}: there is no folder {shown}; make it with mkdir -p {shown}"
        ))),
        Err(error) => Err(Failure::new(format!("{shown}: {error}"))),
        Ok(metadata) if !metadata.is_dir() => {
            Err(Failure::new(format!("{log}: {shown} is not a folder")))
        }
        Ok(_) => access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
            Failure::new(format!(
                "{log}: no file can be made in {shown}: {}",
                io::Error::from(error)
            ))
        }),
    }
}

/// Removes a log of this name, unless a JVM still writes to it, which the lock
/// on it tells; the agent will take another name then.
fn remove_earlier(log: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("{}: {error}; name another file", log.display()))
    };
    let mut file = match open_regular(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&error)),
    };
    let mut first = Vec::new();
    let read = file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut first);
    read.map_err(|error| failed(&error))?;
    if !first.is_empty() && first != MAGIC {
        return Err(failed(&"exists and is not a Tyrion log"));
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

/// Of these files the logs, one of each recording: of a log that rotates, the
/// one with the shortest name is the last, to which the others are numbered.
fn recordings(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut logs: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in files {
        let recording = match header(&path) {
            Ok(header) => header.metadata("recording").map(str::to_owned),
            Err(HeaderError::NotALog) => continue,
            Err(_) => None,
        };
        // No path is an id.
        let key = recording.unwrap_or_else(|| path.to_string_lossy().into_owned());
        let known = logs.entry(key).or_insert_with(|| path.clone());
        if path.as_os_str().len() < known.as_os_str().len() {
            *known = path;
        }
    }
    let mut logs: Vec<PathBuf> = logs.into_values().collect();
    logs.sort();
    logs
}

/// A log's header; of a file that cannot be read, as good as none.
fn header(path: &Path) -> Result<Header, HeaderError> {
    let mut block = Vec::new();
    let short = HeaderError::Short(METADATA_AT);
    // Whatever is no file may have us wait for it.
    if !path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(HeaderError::NotALog);
    }
    let file = open_regular(path).map_err(|_| short)?;
    let read = file.take(limits::MAX_HEADER_LEN as u64).read_to_end(&mut block);
    read.map_err(|_| short)?;
    Header::decode(&block)
}

/// What was there before a program ran.
struct Before {
    logs: Vec<PathBuf>,
    /// Of a log of the wanted name that may be overwritten.
    stamp: Option<(u64, SystemTime)>,
}

impl Before {
    fn of(log: &Path) -> Before {
        // A JVM that writes to it keeps it, and ours takes another name.
        let is_free = open_regular(log).is_ok_and(|file| !logs::is_being_written(&file));
        Before { logs: logs_beside(log), stamp: is_free.then(|| stamp(log)).flatten() }
    }

    /// The logs that were not there then, one of each recording.
    fn new_logs(&self, log: &Path) -> Vec<PathBuf> {
        let is_overwritten = self.stamp.is_some() && stamp(log) != self.stamp;
        let is_new =
            |path: &PathBuf| !self.logs.contains(path) || is_overwritten && path.as_path() == log;
        recordings(logs_beside(log).into_iter().filter(is_new).collect())
    }
}

/// What changes when a file is written anew.
fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.ino(), metadata.modified().ok()?))
}

/// Says where the logs are. Quiet unless somebody watches: stderr is the
/// program's, too.
fn tell_logs(new: &[PathBuf]) {
    let new: Vec<String> = new.iter().map(|log| log.display().to_string()).collect();
    match &new[..] {
        _ if !console::shows_progress() => {}
        [] => {}
        [log] => {
            tell(&format!("recorded into {log}; see: tyrion report {}", shell::suggested(log)));
        }
        logs => tell(&format!("{} JVMs were recorded: {}", logs.len(), logs.join(", "))),
    }
}

/// Runs the command, hands signals on, and ends as it ends.
fn supervise(command: &mut Command, words: &[OsString]) -> Result<Completion, Failure> {
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
    Ok(Completion::Program(exit_status(status)))
}

fn exit_status(status: ExitStatus) -> u8 {
    let signalled = status.signal().map(|signal| 128 + signal);
    status.code().or(signalled).unwrap_or(1) as u8
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use std::fs::File;
    use tyrion_formats::write::{LogOptions, LogWriter};

    /// A log of this recording, if it rotates.
    fn write(path: &Path, recording: Option<&str>) {
        let mut options = LogOptions::default();
        let pair = |id: &str| ("recording".to_owned(), id.to_owned());
        options.header.metadata = recording.map(pair).into_iter().collect();
        LogWriter::new(File::create(path).unwrap(), options).unwrap().finish().unwrap();
    }

    #[test]
    fn files_of_a_log_that_rotates_are_one_recording() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a.log", "a.log.0", "a.log.10", "a.log.next"] {
            write(&at(name), Some("1-a"));
        }
        // Another JVM's, which has its process id in its name.
        write(&at("a.77.log"), Some("2-b"));
        write(&at("a.77.log.3"), Some("2-b"));
        write(&at("a.78.log"), None);
        write(&at("a.79.log"), None);
        std::fs::write(at("a.txt"), "what the program writes").unwrap();
        std::fs::create_dir(at("a.d")).unwrap();
        // No log yet, but its beginning.
        std::fs::write(at("a.80.log"), &MAGIC[..]).unwrap();
        let expected = ["a.77.log", "a.78.log", "a.79.log", "a.80.log", "a.log"].map(at);
        assert_eq!(recordings(logs_beside(&at("a.log"))), expected);
    }

    /// A log without an ending: the other JVM's looks like a numbered file.
    #[test]
    fn process_ids_are_no_numbers_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, recording) in [("log", "1-a"), ("log.0", "1-a"), ("log.77", "2-b")] {
            write(&at(name), Some(recording));
        }
        assert_eq!(recordings(logs_beside(&at("log"))), ["log", "log.77"].map(at));
    }
}
