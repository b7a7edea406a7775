//! One run of a program, and all that is recorded of it.

use crate::{case::Program, place, words::Way};
use std::{
    fs::File,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// How much longer than it says a program may run on a busy machine before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);
/// One part in so many of its time at least is what a program does after its start.
const LEAST_PART: f64 = 3.0;
/// When Tyrion is attached, from the start of the JVM.
const BEFORE_ATTACHING: Duration = Duration::from_secs(1);
/// A series of so many dumps begins after this part of a program's time, as on a busy machine its
/// start takes long; between two of them lies another part of it.
const DUMPS: u32 = 3;
const BEFORE_DUMPS: f64 = 0.75;
const BETWEEN_DUMPS: f64 = 0.1;
/// The variables from which a JVM takes options.
const JVM_OPTIONS: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// What is run, and where what is recorded is left.
pub struct Run<'a> {
    pub program: &'a Program,
    pub way: Way,
    pub jdk: u32,
    /// What is recorded.
    pub recording: PathBuf,
}

/// What the program said by itself.
pub struct Done {
    /// Its lines `proof: …`.
    pub proof: Vec<String>,
}

impl Run<'_> {
    /// Runs it, and leaves the recording.
    pub fn record(&self) -> Result<Done, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let _ = std::fs::remove_file(&self.recording);
        if let Some(parent) = self.recording.parent() {
            std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        }
        let mut command = self.command(folder.path())?;
        let mut child = Group::start(&mut command, folder.path(), "program")?;
        let attached = match self.way {
            Way::Attached => self.attach(&child, folder.path()),
            Way::Dumps => self.take_dumps(&child, folder.path()),
            _ => Ok(()),
        };
        let limit = Duration::from_secs(self.program.case.program.seconds) + PATIENCE;
        let status = child.finish(limit)?;
        let (out, err) = (read(folder.path(), "program.out"), read(folder.path(), "program.err"));
        if !status.success() {
            return Err(format!("{status}: {}", last_lines(&format!("{out}{err}"))));
        }
        attached.map_err(|error| format!("{error}: {}", last_lines(&err)))?;
        if self.way == Way::Jfr {
            self.take_up_flight(folder.path())?;
        }
        let proof = out.lines().filter(|line| line.starts_with("proof: "));
        let proof: Vec<String> = proof.map(str::to_owned).collect();
        match has_run(&proof, self.program.case.program.seconds) {
            true => Ok(Done { proof }),
            false => Err("it was not done with its start when it ended".to_owned()),
        }
    }

    /// The command that runs it.
    fn command(&self, folder: &Path) -> Result<Command, String> {
        let java = place::java(self.jdk).ok_or(format!("no Java {}", self.jdk))?;
        let options: Option<&[&str]> = match self.way {
            Way::Contention => Some(&["--mode=contention"]),
            Way::Trace => Some(&["--mode=trace"]),
            Way::Auto => Some(&["--mode=auto"]),
            Way::Sample => Some(&["--mode=contention+sample"]),
            Way::Attached | Way::Jfr | Way::Dumps => None,
        };
        let mut command = match options {
            Some(options) => {
                let mut tyrion = tyrion();
                tyrion.arg("record").args(options).arg("-o").arg(&self.recording);
                tyrion.arg("--").arg(java);
                tyrion
            }
            None => Command::new(java),
        };
        if self.way == Way::Jfr {
            command.args(flight_recorder(folder));
        }
        let case = &self.program.case;
        let classes = place::work().join("programs").join(&case.name);
        let path = std::fs::read_to_string(classes.join("class-path"))
            .map_err(|_| "it is not compiled: see tests/setup/cases.sh".to_owned())?;
        command.args(&case.program.jvm);
        command.arg(format!("-Djava.io.tmpdir={}", folder.display()));
        command.args(["-cp", path.trim_end(), "Case", &case.program.seconds.to_string()]);
        command.args(&self.program.arguments).current_dir(folder);
        without_jvm_options(&mut command);
        Ok(command)
    }

    fn attach(&self, child: &Group, folder: &Path) -> Result<(), String> {
        std::thread::sleep(BEFORE_ATTACHING);
        let mut command = tyrion();
        command.args(["attach", "-o"]).arg(&self.recording);
        command.arg(child.0.id().to_string());
        let status = Group::start(&mut command, folder, "attach")?.finish(PATIENCE)?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("tyrion attach: {}", last_lines(&read(folder, "attach.err")))),
        }
    }

    fn take_dumps(&self, child: &Group, folder: &Path) -> Result<(), String> {
        let seconds = self.program.case.program.seconds as f64;
        std::thread::sleep(Duration::from_secs_f64(seconds * BEFORE_DUMPS));
        let mut command = tyrion();
        command.args(["dump-threads", "-n", &DUMPS.to_string(), "-o"]).arg(&self.recording);
        let every_ms = (seconds * BETWEEN_DUMPS * 1e3) as u64;
        command.args(["--every", &format!("{every_ms}ms"), &child.0.id().to_string()]);
        let status = Group::start(&mut command, folder, "dumps")?.finish(PATIENCE)?;
        match status.success() {
            true => Ok(()),
            false => {
                Err(format!("tyrion dump-threads: {}", last_lines(&read(folder, "dumps.err"))))
            }
        }
    }

    /// What Flight Recorder has left: the file, or what a program that halted left of it in the
    /// repository, where chunks that follow each other are one file when they are joined.
    fn take_up_flight(&self, folder: &Path) -> Result<(), String> {
        let whole = folder.join("flight.jfr");
        let mut chunks = match std::fs::metadata(&whole) {
            Ok(file) if file.len() != 0 => vec![whole],
            _ => place::files_below(&folder.join("repository")),
        };
        chunks.retain(|path| path.extension().is_some_and(|extension| extension == "jfr"));
        let bytes: Vec<u8> =
            chunks.iter().filter_map(|it| std::fs::read(it).ok()).flatten().collect();
        if bytes.is_empty() {
            return Err("Flight Recorder left no file".to_owned());
        }
        std::fs::write(&self.recording, bytes).map_err(|error| error.to_string())
    }
}

/// Whether a program that lasts so long did, by its own words, what it is there for: on a machine
/// that is busy with others it may have come to nothing but its start, which says nothing of what
/// follows.
pub fn has_run(proof: &[String], seconds: u64) -> bool {
    let lasted = proof.iter().find_map(|line| line.strip_prefix("proof: seconds="));
    let is_long = |lasted: f64| lasted * LEAST_PART >= seconds as f64;
    !proof.is_empty() && lasted.and_then(|it| it.parse().ok()).is_none_or(is_long)
}

fn flight_recorder(folder: &Path) -> [String; 2] {
    let (file, repository) = (folder.join("flight.jfr"), folder.join("repository"));
    [
        format!("-XX:FlightRecorderOptions:repository={}", repository.display()),
        format!(
            "-XX:StartFlightRecording:settings=profile,dumponexit=true,filename={}",
            file.display()
        ),
    ]
}

/// The `tyrion` under test, with nothing of ours in its environment.
pub fn tyrion() -> Command {
    let mut command = Command::new(place::tyrion());
    command.env_remove("TYRION_AGENT");
    without_jvm_options(&mut command);
    command
}

fn without_jvm_options(command: &mut Command) {
    for variable in JVM_OPTIONS {
        command.env_remove(variable);
    }
}

fn read(folder: &Path, name: &str) -> String {
    let bytes = std::fs::read(folder.join(name)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
}

/// A command and all that it starts. Killed when dropped.
struct Group(Child);

impl Group {
    /// Starts a command, with its streams in files of the folder.
    fn start(command: &mut Command, folder: &Path, name: &str) -> Result<Group, String> {
        let file = |stream: &str| File::create(folder.join(format!("{name}.{stream}")));
        let streams = file("out").and_then(|out| Ok((out, file("err")?)));
        let (out, err) = streams.map_err(|error| error.to_string())?;
        command.stdout(Stdio::from(out)).stderr(Stdio::from(err)).stdin(Stdio::null());
        command.process_group(0);
        command.spawn().map(Group).map_err(|error| format!("{command:?}: {error}"))
    }

    fn finish(&mut self, limit: Duration) -> Result<ExitStatus, String> {
        let begin = Instant::now();
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if begin.elapsed() > limit => return Err("it does not end".to_owned()),
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let group = format!("-{}", self.0.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = self.0.wait();
        }
    }
}
