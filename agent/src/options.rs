//! The agent's options: `key=value` pairs between commas.
//!
//! A comma, or a backslash, within a value is written with a backslash before
//! it. `tyrion record` and `tyrion attach` have each key as a long option.

use std::time::Duration;

/// What the agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The log, `%p` for the process id.
    pub file: String,
    /// Below which duration waits are folded; `None` when the user did not say.
    pub threshold: Option<Threshold>,
    /// The most frames kept of a stack; `None` when the user did not say.
    pub depth: Option<usize>,
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
    /// What to do when the agent is loaded into a running JVM.
    pub command: Command,
    /// A file for the answer to the command; empty for none.
    pub reply: String,
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
}

impl Default for Options {
    fn default() -> Self {
        Options {
            file: "tyrion-%p.log".to_owned(),
            threshold: None,
            depth: None,
            exclude_threads: Vec::new(),
            enabled: true,
            args: false,
            strict: false,
            overwrite: true,
            command: Command::Start,
            reply: String::new(),
        }
    }
}

/// The most frames kept of a stack unless the user says otherwise.
pub const DEFAULT_DEPTH: usize = 128;
/// The deepest stack that can be asked for.
const MAX_DEPTH: usize = 2048;

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// The first unknown key or bad value.
    pub fn parse(text: &str) -> Result<Options, Mistake> {
        let mut options = Options::default();
        let mut mistake = None;
        for pair in split_escaped(text, ',') {
            if pair.is_empty() {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((&pair, "true"));
            if let Err(message) = options.set(key.trim(), value) {
                mistake.get_or_insert(message);
            }
        }
        match mistake {
            Some(message) => Err(Mistake { message, strict: options.strict, reply: options.reply }),
            None => Ok(options),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "file" if value.is_empty() => return Err("file= needs a path".to_owned()),
            "file" => self.file = value.to_owned(),
            "mode" if value == "contention" => {}
            "mode" => return Err(format!("mode={value} is not known; use mode=contention")),
            "threshold" => self.threshold = Some(parse_threshold(value)?),
            "depth" => {
                let depth = value.parse().ok().filter(|depth| (1..=MAX_DEPTH).contains(depth));
                self.depth = Some(depth.ok_or_else(|| {
                    format!("depth={value} is not a number from 1 to {MAX_DEPTH}")
                })?);
            }
            "exclude-threads" => {
                self.exclude_threads = value
                    .split(';')
                    .filter(|pattern| !pattern.is_empty())
                    .map(|pattern| Pattern(pattern.to_owned()))
                    .collect();
            }
            "enabled" => self.enabled = parse_bool(key, value)?,
            "args" => self.args = parse_bool(key, value)?,
            "strict" => self.strict = parse_bool(key, value)?,
            "overwrite" => self.overwrite = parse_bool(key, value)?,
            "reply" => self.reply = value.to_owned(),
            "command" => {
                self.command = match value {
                    "start" => Command::Start,
                    "stop" => Command::Stop,
                    "status" => Command::Status,
                    _ => return Err(format!("command={value} is none of start, stop, status")),
                }
            }
            // Reserved for log rotation; refused rather than ignored, so that
            // nobody believes that the disk is safe.
            "filesize" | "filecount" => return Err(format!("{key} is not supported yet")),
            _ => {
                return Err(format!(
                    "unknown option {key}; known are file, mode, threshold, depth, \
                     exclude-threads, enabled, args, strict, overwrite"
                ));
            }
        }
        Ok(())
    }

    /// The log's path, with the process id where the user asked for it.
    pub fn path(&self, pid: u32) -> String {
        self.file.replace("%p", &pid.to_string())
    }
}

/// Splits at `separator` and takes away the backslashes that protect it.
fn split_escaped(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == separator {
            parts.push(String::new());
            continue;
        }
        let kept = if c == '\\' { chars.next().unwrap_or('\\') } else { c };
        if let Some(part) = parts.last_mut() {
            part.push(kept);
        }
    }
    parts
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
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = match unit {
        "" if number == 0.0 => 1.0,
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(wrong()),
    };
    let longest = Duration::from_secs(3600).as_nanos() as f64;
    let ns = number * unit;
    if ns > longest {
        return Err(format!("threshold={value} is longer than an hour"));
    }
    Ok(Threshold::Ns(ns as u64))
}

/// A pattern of a thread's name: `*` stands for any text, `?` for one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let text: Vec<char> = text.chars().collect();
        let (mut p, mut t) = (0, 0);
        // Where the last star stands and what it has swallowed so far.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, t));
                    p += 1;
                }
                Some(&c) if c == '?' || c == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((at, swallowed)) => {
                        star = Some((at, swallowed + 1));
                        p = at + 1;
                        t = swallowed + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|&c| c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_key() {
        let options = Options::parse(
            r"file=/var/log/a\,b-%p.log,mode=contention,threshold=1.5ms,depth=64,exclude-threads=GC*;http-?,enabled=false,args,overwrite=false,strict=no",
        )
        .unwrap();
        assert_eq!(options.path(42), "/var/log/a,b-42.log");
        assert_eq!(options.threshold, Some(Threshold::Ns(1_500_000)));
        assert_eq!(options.depth, Some(64));
        assert_eq!(options.exclude_threads.len(), 2);
        assert!(!options.enabled && options.args && !options.overwrite && !options.strict);
        assert_eq!(Options::parse("").unwrap(), Options::default());
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
    fn refuses_unknown_keys_and_bad_values() {
        for text in [
            "fiel=x",
            "mode=trace",
            "depth=0",
            "depth=x",
            "enabled=perhaps",
            "threshold=5",
            "filesize=1g",
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

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("GC*", "GC Thread#0", true),
            ("GC*", "my GC", false),
            ("*-worker-?", "pool-worker-7", true),
            ("*-worker-?", "pool-worker-17", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "ab ab", true),
            ("", "", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(Pattern(pattern.to_owned()).matches(text), expected, "{pattern} {text}");
        }
    }
}
