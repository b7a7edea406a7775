//! The agent's options: `key=value` pairs between commas.
//!
//! A comma, or a backslash, within a value is written with a backslash before
//! it. `tyrion record` and `tyrion attach` have those as long options that
//! README.md lists, but for `file` and `overwrite`; the others are between
//! them and the agent.

mod mode;
mod sampling;

pub use crate::plan::Pattern;
pub use mode::{Locks, Mode};
pub use sampling::{DEFAULT_PERIOD_NS, NamePattern, SampleOptions};

use crate::log::rotation::Rotation;
use std::{
    borrow::Cow,
    ffi::OsStr,
    fmt::Display,
    ops::RangeInclusive,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};
use tyrion_wire::{
    filesize, harmless,
    limits::{self, Hold},
};

/// What the agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The log, `%p` for the process id; its name need not be UTF-8.
    pub file: PathBuf,
    /// What is recorded; `None` when the user did not say.
    pub mode: Option<Mode>,
    /// What trace mode records.
    pub trace: TraceOptions,
    /// What is sampled, if anything.
    pub sampling: SampleOptions,
    /// For how long, if the JVM shall be as before then.
    pub sample_for: Option<Duration>,
    /// Below which duration waits are folded; `None` when the user did not say.
    pub threshold: Option<Threshold>,
    /// The most frames kept of a stack; `None` when the user did not say.
    pub depth: Option<usize>,
    /// How stacks are walked; `None` when the user did not say.
    pub walk: Option<Walk>,
    /// Threads whose name matches one of these patterns are not recorded.
    pub exclude_threads: Vec<Pattern>,
    /// Whether to record from the start.
    pub enabled: bool,
    /// Whether the log names the program's arguments.
    pub args: bool,
    /// Whether a mistake in the options keeps the JVM from starting.
    pub strict: bool,
    /// Whether an existing file is replaced; else the process id is put into
    /// the name.
    pub overwrite: bool,
    /// How long the log's files become and how many are kept; `None` for one
    /// file without end.
    pub rotation: Option<Rotation>,
    /// What to do when the agent is loaded into a running JVM.
    pub command: Command,
    /// A file for the answer to the command; empty for none.
    pub reply: String,
    /// The folder in which the command has put what the agent needs as long as
    /// the JVM runs; empty for none.
    pub home: String,
}

/// What is wrong with options, and those that say what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// One line for the user.
    pub message: String,
    /// Whether the JVM shall not start.
    pub strict: bool,
    /// A file for the answer to a command; empty for none.
    pub reply: String,
}

/// What trace mode records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Which holds are measured.
    pub hold: Hold,
    /// Whether every acquisition becomes a record, or only a count.
    pub every_event: bool,
    /// Whether lock instances are told apart.
    pub identity: bool,
    /// Whether waits for monitors of blocks begin in front of the block, which
    /// costs each acquisition two looks at the clock.
    pub precise: bool,
    /// Classes that get probes; empty for all.
    pub include: Vec<Pattern>,
    /// Classes that get none.
    pub exclude: Vec<Pattern>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        TraceOptions {
            hold: Hold::OneIn(64),
            every_event: false,
            identity: true,
            precise: false,
            include: Vec::new(),
            exclude: Vec::new(),
        }
    }
}

/// How the stack of a thread that waits, or holds a lock, is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// [`Fast`](Self::Fast) from JDK 21 on, else [`Jvmti`](Self::Jvmti).
    Auto,
    /// With `AsyncGetCallTrace` where it tells the same.
    Fast,
    /// With JVMTI's `GetStackTrace` alone.
    Jvmti,
    /// With both, and at the end it is said how often they differed.
    Compare,
}

impl Walk {
    fn parse(value: &str) -> Result<Walk, String> {
        match value {
            "auto" => Ok(Walk::Auto),
            "fast" => Ok(Walk::Fast),
            "jvmti" => Ok(Walk::Jvmti),
            "compare" => Ok(Walk::Compare),
            _ => Err(format!("walk={value} is none of auto, fast, jvmti, compare")),
        }
    }
}

/// Below which duration waits are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Six times what an undelayed wait costs, at least 10 µs.
    Auto,
    /// This many ns.
    Ns(u64),
}

/// What to do when the agent is loaded into a running JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Record, from now on or again.
    Start,
    /// Stop recording.
    Stop,
    /// Say what the agent is doing.
    Status,
    /// End the sample of this number, which was begun with `for`.
    EndSample(u64),
}

impl Default for Options {
    fn default() -> Self {
        Options {
            file: PathBuf::from("tyrion-%p.log"),
            mode: None,
            trace: TraceOptions::default(),
            sampling: SampleOptions::default(),
            sample_for: None,
            threshold: None,
            depth: None,
            walk: None,
            exclude_threads: Vec::new(),
            enabled: true,
            args: false,
            strict: false,
            overwrite: true,
            rotation: None,
            command: Command::Start,
            reply: String::new(),
            home: String::new(),
        }
    }
}

/// The most frames kept of a stack unless the user says otherwise.
pub const DEFAULT_DEPTH: usize = 128;
/// So many files are kept unless the user says otherwise.
const DEFAULT_FILECOUNT: usize = 5;

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// The first unknown key or bad value.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Options, Mistake> {
        let mut options = Options::default();
        let mut mistake = None;
        let (mut filesize, mut filecount) = (None, None);
        for pair in split_escaped(text.as_ref(), b',') {
            if pair.is_empty() {
                continue;
            }
            let (key, value) = key_and_value(&pair);
            let set = match (key.trim(), std::str::from_utf8(value)) {
                ("file", _) => options.set_file(value),
                (key, Err(_)) => Err(format!("{key}= is not UTF-8")),
                ("filesize", Ok(value)) => filesize::parse(value).map(|size| filesize = Some(size)),
                ("filecount", Ok(value)) => parse_number("filecount", value, &limits::FILECOUNTS)
                    .map(|count| filecount = Some(count as usize)),
                (key, Ok(value)) => options.set(key, value),
            };
            if let Err(message) = set {
                mistake.get_or_insert(message);
            }
        }
        options.rotation = filesize.map(|filesize| Rotation {
            filesize,
            filecount: filecount.unwrap_or(DEFAULT_FILECOUNT),
        });
        if filecount.is_some() && filesize.is_none() {
            mistake.get_or_insert("filecount needs filesize, as in filesize=64m".to_owned());
        }
        if options.trace.every_event {
            // A record says how long, so all are measured.
            options.trace.hold = Hold::Every;
        }
        match mistake {
            Some(message) => Err(Mistake {
                // It names what was given, and is to be one line.
                message: harmless::text(&message).into_owned(),
                strict: options.strict,
                reply: options.reply,
            }),
            None => Ok(options),
        }
    }

    /// A path may be of any bytes; but it is told in lines of text.
    fn set_file(&mut self, path: &[u8]) -> Result<(), String> {
        if path.is_empty() {
            return Err("file= needs a path".to_owned());
        }
        if String::from_utf8_lossy(path).contains(char::is_control) {
            return Err("file= must not hold control characters; name another file".to_owned());
        }
        self.file = PathBuf::from(OsStr::from_bytes(path));
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "mode" => self.mode = Some(Mode::parse(value)?),
            "period" => self.sampling.period_ns = Some(sampling::parse_period(value)?),
            "threads" => self.sampling.threads = Some(NamePattern::parse(value)?),
            "skip-daemon" => self.sampling.skip_daemon = Some(parse_bool(key, value)?),
            "for" => self.sample_for = Some(sampling::parse_length(value)?),
            "once" => self.sampling.once = parse_bool(key, value)?,
            "hold" => self.trace.hold = Hold::parse(value)?,
            "events" => {
                self.trace.every_event = match value {
                    "all" => true,
                    "folded" => false,
                    _ => return Err(format!("events={value} is neither all nor folded")),
                }
            }
            "identity" => self.trace.identity = parse_bool(key, value)?,
            "precise" => self.trace.precise = parse_bool(key, value)?,
            "include" => self.trace.include = parse_patterns(value),
            "exclude" => self.trace.exclude = parse_patterns(value),
            "threshold" => self.threshold = Some(parse_threshold(value)?),
            "depth" => {
                self.depth = Some(parse_number(key, value, &limits::DEPTHS)?.into());
            }
            "walk" => self.walk = Some(Walk::parse(value)?),
            "exclude-threads" => self.exclude_threads = parse_patterns(value),
            "enabled" => self.enabled = parse_bool(key, value)?,
            "args" => self.args = parse_bool(key, value)?,
            "strict" => self.strict = parse_bool(key, value)?,
            "overwrite" => self.overwrite = parse_bool(key, value)?,
            "reply" => self.reply = value.to_owned(),
            "home" => self.home = value.to_owned(),
            "end-sample" => {
                let number = value.parse().map_err(|_| format!("{key}={value} is no number"))?;
                self.command = Command::EndSample(number);
            }
            "command" => {
                self.command = match value {
                    "start" => Command::Start,
                    "stop" => Command::Stop,
                    "status" => Command::Status,
                    _ => return Err(format!("command={value} is none of start, stop, status")),
                }
            }
            _ => {
                return Err(format!(
                    "unknown option {key}; known are file, mode, threshold, depth, walk, \
                     exclude-threads, hold, events, identity, precise, include, exclude, period, \
                     threads, skip-daemon, enabled, args, strict, overwrite, filesize, filecount"
                ));
            }
        }
        Ok(())
    }

    /// What is recorded, unless the agent records already.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }

    /// The log's path, with the process id where the user asked for it.
    pub fn path(&self, pid: u32) -> PathBuf {
        let pid = pid.to_string();
        let mut path = Vec::new();
        let mut rest = self.file.as_os_str().as_bytes();
        while let Some(at) = rest.windows(2).position(|two| two == b"%p") {
            path.extend_from_slice(&rest[..at]);
            path.extend_from_slice(pid.as_bytes());
            rest = &rest[at + 2..];
        }
        path.extend_from_slice(rest);
        Path::new(OsStr::from_bytes(&path)).to_owned()
    }
}

/// Splits at `separator` and takes away the backslashes that protect it.
fn split_escaped(text: &[u8], separator: u8) -> Vec<Vec<u8>> {
    let mut parts = vec![Vec::new()];
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == separator {
            parts.push(Vec::new());
            continue;
        }
        let kept = if byte == b'\\' { bytes.next().unwrap_or(b'\\') } else { byte };
        if let Some(part) = parts.last_mut() {
            part.push(kept);
        }
    }
    parts
}

/// What stands in front of the first `=`, and behind it: `true` for a key alone.
fn key_and_value(pair: &[u8]) -> (Cow<'_, str>, &[u8]) {
    let (key, value) = match pair.iter().position(|&byte| byte == b'=') {
        Some(at) => (&pair[..at], &pair[at + 1..]),
        None => (pair, &b"true"[..]),
    };
    (String::from_utf8_lossy(key), value)
}

fn parse_number<N: FromStr + PartialOrd + Display>(
    key: &str,
    value: &str,
    range: &RangeInclusive<N>,
) -> Result<N, String> {
    value.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        format!("{key}={value} is not a number from {} to {}", range.start(), range.end())
    })
}

fn parse_patterns(value: &str) -> Vec<Pattern> {
    let patterns = value.split(';').map(str::trim).filter(|pattern| !pattern.is_empty());
    patterns.map(Pattern::new).collect()
}

fn parse_bool(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" | "on" | "yes" => Ok(true),
        "false" | "off" | "no" => Ok(false),
        _ => Err(format!("{key}={value} is neither true nor false")),
    }
}

fn parse_threshold(value: &str) -> Result<Threshold, String> {
    if value == "auto" {
        return Ok(Threshold::Auto);
    }
    let wrong = || {
        format!("threshold={value} is neither auto, 0 nor a duration like 500ns, 50us, 1.5ms or 2s")
    };
    let ns = parse_duration_ns(value).ok_or_else(wrong)?;
    if ns > limits::LONGEST_NS as f64 {
        return Err(format!("threshold={value} is longer than an hour"));
    }
    Ok(Threshold::Ns(ns as u64))
}

/// A number and its unit, in ns; 0 needs no unit.
fn parse_duration_ns(value: &str) -> Option<f64> {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let unit = match unit {
        "" if number == 0.0 => 1.0,
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_key() {
        let options = Options::parse(
            r"file=/var/log/a\,b-%p.log,mode=contention,threshold=1.5ms,depth=64,walk=jvmti,exclude-threads=GC*;http-?,enabled=false,args,overwrite=false,strict=no",
        )
        .unwrap();
        assert_eq!(options.path(42), Path::new("/var/log/a,b-42.log"));
        assert_eq!(options.threshold, Some(Threshold::Ns(1_500_000)));
        assert_eq!(options.depth, Some(64));
        assert_eq!(options.walk, Some(Walk::Jvmti));
        assert_eq!(options.exclude_threads.len(), 2);
        assert!(!options.enabled && options.args && !options.overwrite && !options.strict);
        assert_eq!(Options::parse("").unwrap(), Options::default());
    }

    #[test]
    fn reads_what_is_sampled() {
        let options = Options::parse(
            r"mode=contention+sample,period=2.5ms,threads=^http-(\\d+)\,,skip-daemon,once=yes",
        )
        .unwrap();
        assert_eq!(options.mode(), Mode { locks: Locks::Contention, sample: true });
        let sampling = options.sampling;
        assert_eq!(sampling.period_ns, Some(2_500_000));
        assert_eq!((sampling.skip_daemon, sampling.once), (Some(true), true));
        let threads = sampling.threads.unwrap();
        assert_eq!(threads.as_str(), r"^http-(\d+),");
        assert!(threads.matches(b"http-12,x") && !threads.matches(b"my http-12,"));
        let options = Options::parse("").unwrap();
        assert_eq!((options.mode, options.mode()), (None, Mode::default()));
        assert_eq!(options.sampling, SampleOptions::default());
    }

    #[test]
    fn reads_rotation() {
        let rotation = |text: &str| {
            let rotation = Options::parse(text).unwrap().rotation;
            rotation.map(|rotation| (rotation.filesize, rotation.filecount))
        };
        assert_eq!(rotation(""), None);
        assert_eq!(rotation("filesize=64k"), Some((65536, 5)));
        assert_eq!(rotation("filecount=2,filesize=1g"), Some((1 << 30, 2)));
        assert_eq!(rotation("filesize=500000000,filecount=20"), Some((500_000_000, 20)));
        assert_eq!(rotation("filesize=3M"), Some((3 << 20, 5)));
    }

    #[test]
    fn reads_thresholds() {
        for (text, ns) in
            [("0", 0), ("500ns", 500), ("50us", 50_000), ("50µs", 50_000), ("2s", 2_000_000_000)]
        {
            assert_eq!(parse_threshold(text), Ok(Threshold::Ns(ns)), "{text}");
        }
        assert_eq!(parse_threshold("auto"), Ok(Threshold::Auto));
        for text in ["", "5", "ms", "-1ms", "5 parsecs", "1e400s", "7200s"] {
            assert!(parse_threshold(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_are_of_any_bytes_but_control_characters() {
        let options = Options::parse(b"threshold=0,file=/tmp/%p-\xe9\\,%p\xff.log,args").unwrap();
        let expected = OsStr::from_bytes(b"/tmp/7-\xe9,7\xff.log");
        assert_eq!(options.path(7).as_os_str(), expected);
        assert!(options.args);
        for text in ["file=/tmp/a\nb", "file=a\u{1b}[31m", "file=\u{9b}2J.log"] {
            let message = Options::parse(text).unwrap_err().message;
            assert!(message.contains("control characters"), "{message}");
        }
        let message = Options::parse(b"walk=\xff").unwrap_err().message;
        assert_eq!(message, "walk= is not UTF-8");
        let message = Options::parse("walk=a\n\u{1b}[31m\u{202e}").unwrap_err().message;
        assert!(message.starts_with("walk=a__[31m_ is none of"), "{message}");
    }

    #[test]
    fn refuses_unknown_keys_and_bad_values() {
        for text in [
            "fiel=x",
            "mode=tarce",
            "walk=slow",
            "mode=",
            "mode=sample+sample",
            "mode=contention+trace",
            "period=0",
            "period=10",
            "period=999us",
            "period=2h",
            "threads=(",
            "skip-daemon=maybe",
            "once=2",
            "hold=64",
            "hold=1/0",
            "events=some",
            "depth=0",
            "depth=x",
            "enabled=perhaps",
            "threshold=5",
            "filesize=1x",
            "filesize=1k",
            "filesize=",
            "filesize=99999999999g",
            "filesize=1000g",
            "filesize=1g,filecount=0",
            "filecount=3",
            "file=",
            "command=dance",
        ] {
            let Mistake { message, strict, .. } = Options::parse(text).unwrap_err();
            assert!(!message.is_empty() && !message.contains('\n') && !strict, "{text}: {message}");
        }
        assert!(
            Options::parse("fiel=x,strict").unwrap_err().strict,
            "strict counts wherever it stands"
        );
    }
}
