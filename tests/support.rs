//! What the tests share: where things are, how programs are run and recorded,
//! and how logs and outputs are read back.

mod browser;
mod debugger;
mod jdk;
mod limited;
mod other_agents;
mod outputs;
mod program;
pub mod receiver;
mod records;
mod refusing;
mod report;
mod schemas;
mod source;
mod tools;
mod trace;
mod turn;

pub use browser::Browser;
pub use debugger::{DEBUGGING, Debugger};
pub use jdk::Jdk;
pub(crate) use jdk::on_jdks;
pub use limited::{finish, limit_addresses, output_in_time, tyrion_within};
pub use other_agents::{instruments, load_java_agent, other_agent, redefiner, retransformer};
pub use outputs::{
    Sum, callgrind_parts, callgrind_sums, collapsed_sum, flamegraph_root, pprof_sum, pprof_sums,
};
pub use program::{Program, Recording, RunningCommand};
pub use records::{Wait, dump, info, pending, threads, waits};
pub use refusing::{Refusal, refuse};
pub use report::{Report, assert_near, list, number, share, text_of};
pub use source::wait_line;
pub use tools::{Ballast, Tmpfs, needs, prometheus, setup, skip, skip_for_root, subject_jar};
pub use trace::{AcquisitionSum, TraceLog};
pub use turn::{Turn, alone, beside_others, on_first_cpu};

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

/// The variables from which a JVM takes options.
const JVM_OPTIONS: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// The repository.
pub fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent().expect("the package has a folder around it").to_owned()
}

/// The classes of `testdata/java`.
pub fn classes() -> PathBuf {
    let classes = root().join("target/java-classes");
    assert!(classes.is_dir(), "no {}: run tests/setup/java-classes.sh", classes.display());
    classes
}

/// The agent of the profile under test: beside the binary.
pub fn agent() -> PathBuf {
    let agent = Path::new(env!("CARGO_BIN_EXE_tyrion")).with_file_name("libtyrion_agent.so");
    assert!(agent.is_file(), "no {}: run `cargo build` with this profile", agent.display());
    agent
}

/// The `tyrion` under test, with nothing of ours in its environment.
pub fn tyrion() -> Command {
    agent();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tyrion"));
    command.env_remove("TYRION_AGENT");
    for variable in JVM_OPTIONS {
        command.env_remove(variable);
    }
    command
}

/// Runs `tyrion` with arguments and gives its output and status.
pub fn run<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    output(tyrion().args(arguments))
}

/// Runs a command to its end. What Tyrion prints as JSON must be as its schema says.
pub fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    schemas::check(command, &output);
    output
}

/// Runs a command that must succeed: its stdout.
pub fn stdout_of(command: &mut Command) -> String {
    let output = output(command);
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, err(&output));
    out(&output)
}

/// A log of [`sample_log`]'s, or any other, as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("our paths are UTF-8")
}

/// What a command said on stdout.
pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is UTF-8")
}

/// What a command said on stderr.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines on stderr that are ours.
pub fn ours(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.contains("tyrion")).collect()
}

/// A log with folded waits, of several threads and kinds, that needs no JVM.
pub fn sample_log() -> PathBuf {
    root().join("testdata/logs/v1-small.log")
}

/// What is not there after that long never comes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// Tries again and again until something is there.
pub fn wait_for<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "no {what} after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Milliseconds in ns.
pub const fn ms(ms: u64) -> u64 {
    ms * 1_000_000
}

/// Asserts that two figures differ by no more than so much.
#[track_caller]
pub fn assert_close(what: &str, got: u64, expected: u64, at_most: u64) {
    assert!(got.abs_diff(expected) <= at_most, "{what}: {got}, expected {expected} ± {at_most}");
}

/// Asserts that a figure lies where the program says that it must: between what
/// it saw from outside and what it measured itself, however late threads ran.
#[track_caller]
pub fn assert_between(what: &str, got: u64, least: u64, most: u64) {
    assert!((least..=most).contains(&got), "{what}: {got} is not in {least}..={most}");
}
