//! Which running JVM is meant: by its process id, or by what it runs.

mod command_line;

use crate::outcome::Failure;
use command_line::CommandLine;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};
use tyrion_model::harmless;

/// Command lines are read up to this many bytes.
const LONGEST_COMMAND_LINE: u64 = 1 << 20;
/// A process has at most some 65 530 mappings, most of them with short paths.
const LONGEST_MAPS: u64 = 64 << 20;
/// A list of JVMs has at most so many lines.
const MOST_LINES: usize = 20;
/// A JVM is described in at most so many characters.
const LONGEST_LINE: usize = 100;

/// A running JVM, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JvmName {
    /// By its process id.
    Pid(u32),
    /// By its main class, its jar or its arguments.
    Program(String),
}

/// Reads the name of a JVM.
///
/// # Errors
/// When it can be none.
pub fn jvm_name(text: &str) -> Result<JvmName, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(pid) if is_number && pid != 0 => Ok(JvmName::Pid(pid)),
        _ if is_number => Err("neither a process id nor a name".to_owned()),
        _ => Ok(JvmName::Program(text.to_owned())),
    }
}

impl JvmName {
    /// The process id of the one JVM that is meant.
    ///
    /// # Errors
    /// When no JVM has this name, or several have: with a list of those that there
    /// are.
    pub fn pid(&self) -> Result<u32, Failure> {
        match self {
            JvmName::Pid(pid) => Ok(*pid),
            JvmName::Program(name) => only_one(name, &running()),
        }
    }
}

/// A process that runs a JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Jvm {
    pid: u32,
    line: CommandLine,
}

/// The one JVM of this name among these.
fn only_one(name: &str, running: &[Jvm]) -> Result<u32, Failure> {
    let matching = matching(name, running);
    let list = |jvms: &[&Jvm]| {
        let more = jvms.len().saturating_sub(MOST_LINES);
        let lines = jvms.iter().take(MOST_LINES).map(|jvm| jvm.text());
        lines.chain((more > 0).then(|| format!("… and {more} more"))).collect()
    };
    let shown = harmless::name(name);
    match &matching[..] {
        [jvm] => Ok(jvm.pid),
        [] if running.is_empty() => Err(Failure::Usage(format!(
            "no JVM matches '{shown}': none is running, as far as can be seen from here"
        ))),
        [] => Err(Failure::Which(
            format!(
                "no JVM matches '{shown}'; give the process id of one, or a part of its main \
                 class, jar or arguments. These are running:"
            ),
            list(&running.iter().collect::<Vec<_>>()),
        )),
        several => Err(Failure::Which(
            format!("{} JVMs match '{shown}'; give the process id of one:", several.len()),
            list(several),
        )),
    }
}

/// The JVMs that a name fits: those whose main class or jar is called so, or, if
/// there is none, those that have it in their main class, jar or arguments.
fn matching<'a>(name: &str, running: &'a [Jvm]) -> Vec<&'a Jvm> {
    let called: Vec<&Jvm> = running.iter().filter(|jvm| jvm.line.is_called(name)).collect();
    match called.is_empty() {
        true => running.iter().filter(|jvm| jvm.line.has(name)).collect(),
        false => called,
    }
}

impl Jvm {
    fn text(&self) -> String {
        format!("{:>7}  {}", self.pid, harmless::within(&self.line.text(), LONGEST_LINE))
    }
}

/// What a process runs, in few words: its main class or jar; empty when it cannot
/// be told.
pub fn program_of(pid: u32) -> String {
    let line = command_line(pid).map(|line| line.program().to_owned()).unwrap_or_default();
    harmless::within(&line, LONGEST_LINE).into_owned()
}

/// A JVM that runs, in words that are safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningJvm {
    pub pid: u32,
    /// Its main class or jar.
    pub program: String,
    /// That and its arguments, shortened.
    pub text: String,
}

/// All JVMs that are seen from here, by their process ids.
pub fn running_jvms() -> Vec<RunningJvm> {
    let of = |jvm: Jvm| RunningJvm {
        pid: jvm.pid,
        program: harmless::within(jvm.line.program(), LONGEST_LINE).into_owned(),
        text: harmless::within(&jvm.line.text(), LONGEST_LINE).into_owned(),
    };
    running().into_iter().map(of).collect()
}

/// All JVMs that are seen from here, by their process ids.
fn running() -> Vec<Jvm> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut jvms: Vec<Jvm> = pids.filter_map(jvm).collect();
    jvms.sort_by_key(|jvm| jvm.pid);
    jvms
}

fn jvm(pid: u32) -> Option<Jvm> {
    let line = command_line(pid).ok()?;
    // Others' mappings are hidden from us; to attach to those we have no right, and
    // the user is told so.
    let is_jvm = has_jvm(pid).unwrap_or_else(|_| line.is_of_java());
    is_jvm.then_some(Jvm { pid, line })
}

fn command_line(pid: u32) -> io::Result<CommandLine> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/cmdline"))?;
    file.take(LONGEST_COMMAND_LINE).read_to_end(&mut bytes)?;
    match bytes.is_empty() {
        // A thread of the kernel, or a process that has ended.
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(CommandLine::parse(&bytes)),
    }
}

/// Whether a process has HotSpot's library mapped.
fn has_jvm(pid: u32) -> io::Result<bool> {
    let mut maps = BufReader::new(File::open(format!("/proc/{pid}/maps"))?.take(LONGEST_MAPS));
    let mut line = Vec::new();
    while maps.read_until(b'\n', &mut line)? > 0 {
        let name = line.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if name.len() < line.len() && name.starts_with(b"libjvm.so") {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    fn jvms(lines: &[&str]) -> Vec<Jvm> {
        let jvm = |(at, line): (usize, &&str)| Jvm {
            pid: 100 + at as u32,
            line: CommandLine::parse(line.replace(' ', "\0").as_bytes()),
        };
        lines.iter().enumerate().map(jvm).collect()
    }

    #[test]
    fn a_number_is_a_process_id() {
        assert_eq!(jvm_name("4711"), Ok(JvmName::Pid(4711)));
        assert_eq!(jvm_name("4711x"), Ok(JvmName::Program("4711x".to_owned())));
        assert_eq!(jvm_name("+1"), Ok(JvmName::Program("+1".to_owned())));
        for wrong in ["", "0", "00", "99999999999"] {
            assert!(jvm_name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(JvmName::Pid(7).pid().ok(), Some(7));
    }

    #[test]
    fn who_is_called_so_comes_before_who_mentions_it() {
        let running = jvms(&[
            "java -cp a.jar com.acme.Main",
            "java com.acme.MainFrame --of Main",
            "java -jar lib/orders.jar",
        ]);
        let found = |name: &str| {
            matching(name, &running).into_iter().map(|jvm| jvm.pid).collect::<Vec<_>>()
        };
        assert_eq!(found("Main"), [100]);
        assert_eq!(found("com.acme.Main"), [100]);
        assert_eq!(found("acme"), [100, 101]);
        assert_eq!(found("--of"), [101]);
        assert_eq!(found("orders.jar"), [102]);
        assert_eq!(found("orders"), [102]);
        assert_eq!(found("a.jar"), [0; 0], "the class path says little");
    }

    #[test]
    fn several_are_listed_and_none_is() {
        let running = jvms(&["java com.acme.Main --a", "java com.acme.Main --b\u{1b}[31m"]);
        let Failure::Which(text, lines) = only_one("Main", &running).unwrap_err() else { panic!() };
        assert!(text.starts_with("2 JVMs match 'Main'"), "{text}");
        assert_eq!(lines, ["    100  com.acme.Main --a", "    101  com.acme.Main --b_[31m"]);
        assert_eq!(only_one("--a", &running).ok(), Some(100));
        let Failure::Which(text, lines) = only_one("x", &running).unwrap_err() else { panic!() };
        assert!(text.starts_with("no JVM matches 'x'") && lines.len() == 2, "{text}");
        let none = only_one("x", &[]).unwrap_err();
        assert!(matches!(none, Failure::Usage(_)), "{none}");
    }

    #[test]
    fn a_long_list_is_cut() {
        let lines: Vec<String> = (0..30).map(|at| format!("java Main {at}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let Failure::Which(_, shown) = only_one("Main", &jvms(&lines)).unwrap_err() else {
            panic!()
        };
        assert_eq!((shown.len(), shown[20].as_str()), (21, "… and 10 more"));
    }

    #[test]
    fn this_process_is_no_jvm() {
        assert!(!has_jvm(std::process::id()).unwrap());
        assert!(!program_of(std::process::id()).is_empty());
        assert_eq!(program_of(u32::MAX), "");
    }
}
