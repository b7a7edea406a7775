//! Running Java programs under `tyrion record`.

use super::{
    Jdk, TraceLog, Turn, Wait, alone, beside_others, err, info, ms, on_first_cpu, ours, out, text,
    tyrion, wait_for, waits,
};
use serde_json::Value;
use std::{
    ffi::OsString,
    fs::File,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A machine that is busy with other things may disturb what a scenario
/// stages; what it then measures is true all the same.
const ATTEMPTS: usize = 3;
/// What runs a command before others that want the CPU.
const LARGER_SHARE: [&str; 3] = ["nice", "-n", "-19"];
/// What runs a command in real time.
const REAL_TIME: [&str; 3] = ["chrt", "--rr", "1"];
/// How long a program may run on the slowest machine before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(240);

/// A Java program and how to record it.
#[derive(Clone)]
pub struct Program {
    options: Vec<String>,
    wrapper: Vec<String>,
    java: PathBuf,
    flags: Vec<String>,
    class_path: OsString,
    main: Vec<String>,
    turn: fn() -> Turn,
    attached: bool,
    /// Whether Tyrion's agent comes after the other options of the JVM.
    last: bool,
}

impl Program {
    /// A scenario of `tyrion.truth`, with arguments: `together lock 8`.
    pub fn truth(jdk: &Jdk, scenario: &str) -> Program {
        Program::class(jdk, &format!("tyrion.truth.Truth {scenario}"))
    }

    /// A scenario of `tyrion.truth`, from a jar.
    pub fn in_jar(jdk: &Jdk, jar: &Path, scenario: &str) -> Program {
        let class_path = jar.as_os_str().to_owned();
        Program { class_path, ..Program::truth(jdk, scenario) }
    }

    /// A class of ours and its arguments.
    pub fn class(jdk: &Jdk, main: &str) -> Program {
        Program {
            options: Vec::new(),
            wrapper: Vec::new(),
            java: jdk.java(),
            flags: Vec::new(),
            class_path: jdk.classes().into_os_string(),
            main: main.split(' ').map(str::to_owned).collect(),
            turn: beside_others,
            attached: false,
            last: false,
        }
    }

    /// With a folder of classes that come before the others.
    pub fn before(mut self, classes: &Path) -> Program {
        let mut path = classes.as_os_str().to_owned();
        path.push(":");
        path.push(&self.class_path);
        self.class_path = path;
        self
    }

    /// With an option of `record`.
    pub fn option(mut self, option: &str) -> Program {
        self.options.push(option.to_owned());
        self
    }

    /// With an option of the JVM.
    pub fn flag(mut self, flag: String) -> Program {
        self.flags.push(flag);
        self
    }

    /// Recorded in trace mode.
    pub fn traced(self) -> Program {
        self.option("--mode=trace")
    }

    /// A scenario that begins when the agent has been attached; [`Program::record`]
    /// alone does that.
    pub fn attached(mut self) -> Program {
        self.attached = true;
        self
    }

    /// With Tyrion's agent after the agents that are given with [`Program::flag`], which
    /// else come after it.
    pub fn others_first(mut self) -> Program {
        self.last = true;
        self
    }

    /// With another jar.
    pub fn jar(mut self, jar: &Path) -> Program {
        self.class_path.push(":");
        self.class_path.push(jar);
        self
    }

    /// On one CPU, where nearly every acquisition of a busy lock is contended, and
    /// before others that want it: a storm whose threads yield to them is none.
    pub fn pinned(mut self) -> Program {
        self.wrapper = LARGER_SHARE.map(str::to_owned).to_vec();
        self.wrapper.extend(["taskset", "-c", "0"].map(str::to_owned));
        self.turn = on_first_cpu;
        self
    }

    /// Before others that want the CPU, where that is allowed: in real time, else
    /// with a larger share. Not for threads that yield to each other: in real time
    /// they run one after the other.
    pub fn preferred(mut self) -> Program {
        static IS_ALLOWED: LazyLock<bool> = LazyLock::new(|| {
            let tried = Command::new(REAL_TIME[0]).args(&REAL_TIME[1..]).arg("true").output();
            tried.is_ok_and(|tried| tried.status.success())
        });
        let wrapper = if *IS_ALLOWED { REAL_TIME } else { LARGER_SHARE };
        self.wrapper = wrapper.map(str::to_owned).to_vec();
        self
    }

    /// While no other test runs a program: what it is compared with has bounds
    /// that do not know how late threads run.
    pub fn alone(mut self) -> Program {
        self.turn = alone;
        self
    }

    /// The command line without Tyrion.
    pub fn command_line(&self) -> Vec<OsString> {
        self.line_with(None)
    }

    /// The command line with one more option of the JVM, after the others.
    fn line_with(&self, last: Option<OsString>) -> Vec<OsString> {
        let mut line: Vec<OsString> = self.wrapper.iter().map(OsString::from).collect();
        line.push(self.java.clone().into());
        line.extend(self.flags.iter().map(OsString::from));
        line.extend(last);
        line.extend(["-cp".into(), self.class_path.clone()]);
        line.extend(self.main.iter().map(OsString::from));
        line
    }

    /// `tyrion record` with this program and log.
    pub fn record_command(&self, log: &Path) -> Command {
        if self.last {
            return self.java_command(log);
        }
        let mut command = tyrion();
        command.arg("record").arg("-o").arg(log).args(&self.options).arg("--");
        // Where a JVM that crashes leaves its report.
        if let Some(folder) = log.parent().filter(|folder| folder.is_dir()) {
            command.current_dir(folder);
        }
        command.args(self.command_line());
        command
    }

    /// The program itself, with the agent after its other options.
    fn java_command(&self, log: &Path) -> Command {
        let mut agent = OsString::from("-agentpath:");
        agent.push(super::agent());
        agent.push(format!("=file={}", text(log)));
        for option in &self.options {
            agent.push(format!(",{}", option.trim_start_matches('-')));
        }
        let line = self.line_with(Some(agent));
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        if let Some(folder) = log.parent().filter(|folder| folder.is_dir()) {
            command.current_dir(folder);
        }
        command
    }

    /// Records it to its end, which must be a good one, with not a word of
    /// ours on its streams.
    pub fn record(&self) -> Recording {
        if self.attached {
            return self.record_attached();
        }
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("test.log");
        let turn = (self.turn)();
        let output = super::output(&mut self.record_command(&log));
        drop(turn);
        assert!(
            output.status.success(),
            "{:?} {:?}: {}\n{}\n{}",
            self.flags,
            self.main,
            output.status,
            err(&output),
            crash_report(folder.path())
        );
        assert_eq!(ours(&err(&output)), [""; 0], "{:?}", self.main);
        let said = last_json(&out(&output));
        Recording { _folder: folder, log, said }
    }

    fn record_attached(&self) -> Recording {
        let folder = tempfile::tempdir().unwrap();
        let (log, go) = (folder.path().join("test.log"), folder.path().join("go"));
        let program = self.clone().flag(format!("-Dtruth.go={}", go.display()));
        let line = program.command_line();
        let mut java = Command::new(&line[0]);
        java.args(&line[1..]).current_dir(folder.path());
        let mut running = RunningCommand::in_turn((self.turn)(), &mut java, folder, log);
        running.await_line("ready");
        let pid = running.id().to_string();
        let mut attach = tyrion();
        attach.args(["attach", &pid, "-o"]).arg(&running.log).args(&self.options);
        let attached = super::output(&mut attach);
        assert!(attached.status.success(), "{:?}: {}", self.main, err(&attached));
        File::create(&go).unwrap();
        let output = running.finish();
        let stderr = err(&output);
        assert!(output.status.success(), "{:?}: {}\n{stderr}", self.main, output.status);
        // From JDK 21 on, the JVM itself warns of agents that are loaded late.
        let is_ours = |line: &&str| !line.starts_with("WARNING: A JVM TI agent has been loaded");
        let said: Vec<&str> = ours(&stderr).into_iter().filter(is_ours).collect();
        assert_eq!(said, [""; 0], "{:?}", self.main);
        let said = last_json(&out(&output));
        let (folder, log) = running.into_parts();
        Recording { _folder: folder, log, said }
    }

    /// Records a scenario until it went as it was meant to, which the program
    /// tells, but not for ever.
    pub fn record_undisturbed(&self, undisturbed: impl Fn(&Recording) -> bool) -> Recording {
        let program = self.clone().alone();
        let mut recording = program.record();
        for _ in 1..ATTEMPTS {
            if undisturbed(&recording) {
                break;
            }
            recording = program.record();
        }
        assert!(undisturbed(&recording), "a busy machine: {}", recording.said);
        recording
    }

    /// Records it in the background.
    pub fn start(&self) -> RunningCommand {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("test.log");
        self.start_at(log, folder)
    }

    /// The same, with a log that lies elsewhere.
    pub fn start_at(&self, log: PathBuf, folder: TempDir) -> RunningCommand {
        RunningCommand::in_turn((self.turn)(), &mut self.record_command(&log), folder, log)
    }
}

/// The beginning of what a JVM says when it crashes, if it did.
fn crash_report(folder: &Path) -> String {
    let reports = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let report = reports
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("hs_err"))
        .find_map(|path| std::fs::read_to_string(path).ok());
    report.unwrap_or_default().lines().take(60).collect::<Vec<_>>().join("\n")
}

fn last_json(stdout: &str) -> Value {
    let last = stdout.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or(Value::Null)
}

/// A program that was recorded to its end.
pub struct Recording {
    _folder: TempDir,
    /// The log.
    pub log: PathBuf,
    /// What the program measured: its last line, a JSON object.
    pub said: Value,
}

impl Recording {
    /// A number that the program measured.
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        self.said[key].as_u64().unwrap_or_else(|| panic!("no {key} in {}", self.said))
    }

    /// What `info` says about the log.
    pub fn info(&self) -> Value {
        info(&self.log)
    }

    /// All ended waits.
    pub fn waits(&self) -> Vec<Wait> {
        waits(&self.log)
    }

    /// What trace mode recorded.
    pub fn traced(&self) -> TraceLog {
        TraceLog::of(&self.log)
    }

    /// Contention of the program's own making.
    pub fn contentions(&self) -> Vec<Wait> {
        let mut waits = self.waits();
        waits.retain(|wait| wait.is_contention() && !wait.is_of_the_jvm());
        waits
    }

    /// Contention of the program's own making of 10 ms or more: what its
    /// scenario staged, without what the JDK's classes add by chance. On a loaded
    /// machine the JDK's own threads wait for each other that long, too: with no
    /// method of the program on their stack.
    pub fn long_contentions(&self) -> Vec<Wait> {
        let mut waits = self.contentions();
        waits.retain(|wait| wait.wait_ns >= ms(10) && wait.is_in_the_program());
        waits
    }
}

/// A command that runs. Killed when dropped.
pub struct RunningCommand {
    child: Child,
    // Until it is handed on.
    folder: Option<TempDir>,
    /// The log, once there is one.
    pub log: PathBuf,
    _turn: Turn,
}

impl RunningCommand {
    /// Starts a command, with its streams in files of the folder.
    pub fn of(command: &mut Command, folder: TempDir, log: PathBuf) -> RunningCommand {
        RunningCommand::in_turn(beside_others(), command, folder, log)
    }

    /// The same, when it is its turn.
    pub fn in_turn(
        turn: Turn,
        command: &mut Command,
        folder: TempDir,
        log: PathBuf,
    ) -> RunningCommand {
        let file = |name: &str| Stdio::from(File::create(folder.path().join(name)).unwrap());
        command.stdout(file("stdout")).stderr(file("stderr")).stdin(Stdio::null());
        // A group of its own, so that nothing of it is left behind.
        command.process_group(0);
        let child = command.spawn().unwrap();
        RunningCommand { child, folder: Some(folder), log, _turn: turn }
    }

    /// The id of the process started: `tyrion record`, or the program itself.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The id of the JVM, as its log has it.
    pub fn jvm(&self) -> u32 {
        wait_for("log", || {
            let info = tyrion().args(["info", "--json"]).arg(&self.log).output().ok()?;
            let info: Value = serde_json::from_slice(&info.stdout).ok()?;
            u32::try_from(info["pid"].as_u64()?).ok()
        })
    }

    /// Waits until the program has said something.
    pub fn await_line(&self, line: &str) {
        wait_for(line, || self.stdout().lines().any(|said| said == line).then_some(()));
    }

    /// What it has said so far.
    pub fn stdout(&self) -> String {
        self.stream("stdout")
    }

    /// What it has said on stderr so far.
    pub fn stderr(&self) -> String {
        self.stream("stderr")
    }

    fn stream(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.as_ref().unwrap().path().join(name)).unwrap()
    }

    /// Sends a signal to a process: this one, or the JVM below it.
    pub fn signal(&self, pid: u32, signal: &str) {
        let kill = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Kills the JVM at once and waits for the end of the command.
    pub fn kill_jvm(&mut self) -> ExitStatus {
        self.signal(self.jvm(), "KILL");
        self.child.wait().unwrap()
    }

    /// Waits for its end, which must be a good one.
    pub fn into_recording(mut self) -> Recording {
        let output = self.finish();
        assert!(output.status.success(), "{}: {}", output.status, err(&output));
        let (folder, log) = self.into_parts();
        Recording { _folder: folder, log, said: last_json(&out(&output)) }
    }

    /// The folder of its files, and its log.
    fn into_parts(mut self) -> (TempDir, PathBuf) {
        (self.folder.take().unwrap(), std::mem::take(&mut self.log))
    }

    /// Waits for its end: its output and status.
    pub fn finish(&mut self) -> Output {
        let begin = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(begin.elapsed() < PATIENCE, "it does not end"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let (stdout, stderr) = (self.stdout().into_bytes(), self.stderr().into_bytes());
        Output { status, stdout, stderr }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let group = format!("-{}", self.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}
