//! The agent's options, as long options of `record` and `attach`.

use crate::outcome::Failure;
use clap::{Args, builder::RangedU64ValueParser};
use regex::Regex;
use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
    time::Duration,
};
use tyrion_converters::filter::duration_ns;
use tyrion_wire::{
    filesize,
    limits::{self, Hold},
};

/// What the agent shall do. The same names are keys in `-agentpath:…=key=value`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Agent")]
pub struct AgentOptions {
    /// What is recorded: waits (contention); with trace all acquisitions and how
    /// long locks are held, too; with sample what every thread is doing, again
    /// and again [default: contention]
    #[arg(long, value_name = "MODE", value_parser = MODES)]
    mode: Option<String>,
    /// Waits shorter than this are folded into sums: auto (six times what an
    /// undelayed wait costs, at least 10us), 0 for none, or 50us, 1ms, ...
    #[arg(long, value_name = "DURATION", value_parser = threshold)]
    threshold: Option<String>,
    /// Frames kept of a stack [default: 128]
    #[arg(long, value_name = "FRAMES", value_parser = depths())]
    depth: Option<u16>,
    /// How stacks are walked: by jvmti's GetStackTrace; fast, by
    /// AsyncGetCallTrace, where that tells the whole stack; by both, to compare
    /// them; or auto, which is fast from JDK 21 on. Before, class unloading at
    /// the wrong moment could crash a JVM that is walked fast [default: auto]
    #[arg(long, value_name = "HOW", value_parser = ["auto", "fast", "jvmti", "compare"])]
    walk: Option<String>,
    /// Leave out threads whose name matches, patterns with * and ? separated
    /// by semicolons
    #[arg(long, value_name = "PATTERNS")]
    exclude_threads: Option<String>,
    /// Whether to record from the start [default: true]; tyrion attach
    /// switches it on later
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
    /// Put the program's arguments into the log; they may hold secrets
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    args: Option<bool>,
    /// A mistake in the options keeps the JVM from starting
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    strict: Option<bool>,
    /// Begin a new log when one has this size, such as 100M; each can be read
    /// alone
    #[arg(long, value_name = "SIZE", value_parser = size)]
    filesize: Option<String>,
    /// Keep so many logs at most, the latest
    #[arg(long, value_name = "COUNT", value_parser = filecounts())]
    filecount: Option<u32>,
    #[command(flatten)]
    trace: TraceOptions,
    #[command(flatten)]
    sampling: SamplingOptions,
    /// Whether threads are sampled only once.
    #[arg(skip)]
    once: bool,
    /// After which time the JVM shall be as it was before.
    #[arg(skip)]
    sample_for: Option<Duration>,
}

/// The agent's period where nobody says otherwise.
pub const PERIOD_NS: u64 = 50_000_000;

/// What can be recorded.
const MODES: [&str; 5] = ["contention", "trace", "sample", "contention+sample", "trace+sample"];

/// How threads shall be sampled.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingOptions {
    /// The mean time between two looks at all threads, at least 1ms
    /// [default: 50ms]
    #[arg(long, value_name = "DURATION", value_parser = period)]
    pub period: Option<u64>,
    /// Sample only threads whose name this regular expression matches; without
    /// \p{...}, classes of Unicode
    #[arg(long, value_name = "REGEX", value_parser = thread_names)]
    pub threads: Option<Regex>,
    /// Do not sample daemon threads
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true",
          require_equals = true)]
    pub skip_daemon: Option<bool>,
}

/// What trace mode shall record.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Agent, with --mode trace")]
struct TraceOptions {
    /// Which holds are measured: the first few and then one in N (1/N), all or
    /// none [default: 1/64]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    hold: Option<String>,
    /// Whether every acquisition becomes a record (all), or they are summed
    /// [default: folded]
    #[arg(long, value_name = "EVENTS", value_parser = ["folded", "all"])]
    events: Option<String>,
    /// Whether to tell lock objects apart, to see which ones several threads
    /// share [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    identity: Option<bool>,
    /// Whether waits for the monitors of blocks begin in front of the block, so
    /// that those in which HotSpot spins are recorded, too [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    precise: Option<bool>,
    /// Only classes that match, patterns with * and ? separated by semicolons,
    /// such as 'com.acme.*;org.example.*' [default: all]
    #[arg(long, value_name = "PATTERNS")]
    include: Vec<String>,
    /// No classes that match
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<String>,
}

/// How many frames of a stack the agent will keep.
pub fn depths() -> RangedU64ValueParser<u16> {
    let (first, last) = limits::DEPTHS.into_inner();
    RangedU64ValueParser::new().range(u64::from(first)..=u64::from(last))
}

/// How many files the agent will keep.
fn filecounts() -> RangedU64ValueParser<u32> {
    let (first, last) = limits::FILECOUNTS.into_inner();
    RangedU64ValueParser::new().range(u64::from(first)..=u64::from(last))
}

/// A threshold that the agent will take, as it reads it.
fn threshold(text: &str) -> Result<String, String> {
    if text == "auto" || text == "0" {
        return Ok(text.to_owned());
    }
    match duration_ns(text) {
        // The agent reads fewer ways to write a duration.
        Ok(ns) if ns <= limits::LONGEST_NS => Ok(format!("{ns}ns")),
        Ok(_) => Err("longer than an hour".to_owned()),
        Err(_) => Err("not auto, 0 or a duration like 50us".to_owned()),
    }
}

/// A regular expression that the agent will take, too: it knows fewer.
fn thread_names(text: &str) -> Result<Regex, String> {
    regex_lite::Regex::new(text).map_err(|error| error.to_string())?;
    Regex::new(text).map_err(|error| error.to_string())
}

/// A period in ns that the agent will take.
fn period(text: &str) -> Result<u64, String> {
    match duration_ns(text) {
        Ok(ns) if limits::PERIODS_NS.contains(&ns) => Ok(ns),
        Ok(_) => Err("a period is between 1ms and 1h".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A share of holds that the agent will take. Others are refused with its words.
fn share(text: &str) -> Result<String, String> {
    Hold::parse(text).map(|_| text.to_owned())
}

/// A size that the agent will take. Others are refused with its words.
fn size(text: &str) -> Result<String, String> {
    filesize::parse(text).map(|_| text.to_owned())
}

/// Refuses a log's path that the agent would refuse: it stands in lines of text.
///
/// # Errors
/// What is wrong, for the user.
pub fn check_file(file: &Path) -> Result<(), Failure> {
    let name = file.to_string_lossy();
    match name.contains(char::is_control) {
        true => Err(Failure::Usage(format!("{name}: a log's path holds no control characters"))),
        false => Ok(()),
    }
}

/// The same of a path that is sent to a JVM that runs already, as text.
///
/// # Errors
/// What is wrong, for the user.
pub fn check_sent_file(file: &Path) -> Result<(), Failure> {
    check_file(file)?;
    match file.to_str() {
        None => Err(Failure::Usage(format!(
            "{}: a JVM that runs already takes only names in UTF-8; name another file",
            file.display()
        ))),
        Some(_) => Ok(()),
    }
}

/// A value as it stands in the agent's options.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,")
}

/// Patterns as the agent reads them.
fn patterns(patterns: &[String]) -> Option<String> {
    (!patterns.is_empty()).then(|| patterns.join(";"))
}

impl TraceOptions {
    /// Those that were given: keys and values.
    fn given(&self) -> Vec<(&'static str, String)> {
        let flag = |on: Option<bool>| on.map(|on| on.to_string());
        let all = [
            ("hold", self.hold.clone()),
            ("events", self.events.clone()),
            ("identity", flag(self.identity)),
            ("precise", flag(self.precise)),
            ("include", patterns(&self.include)),
            ("exclude", patterns(&self.exclude)),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

impl SamplingOptions {
    /// With all that the user did not say as it is by default, whatever the
    /// agent was told before.
    pub fn complete(&self) -> SamplingOptions {
        SamplingOptions {
            period: self.period.or(Some(PERIOD_NS)),
            threads: self.threads.clone().or_else(|| Regex::new("").ok()),
            skip_daemon: self.skip_daemon.or(Some(false)),
        }
    }

    /// Those that were given: keys and values.
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("period", self.period.map(|ns| format!("{ns}ns"))),
            ("threads", self.threads.as_ref().map(|regex| regex.as_str().to_owned())),
            ("skip-daemon", self.skip_daemon.map(|on| on.to_string())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

impl AgentOptions {
    /// Those of `tyrion sample`: nothing else is recorded, unless a recording is
    /// under way.
    pub fn for_sampling(sampling: SamplingOptions, depth: Option<u16>) -> AgentOptions {
        let mode = Some("sample".to_owned());
        AgentOptions { mode, depth, sampling, ..AgentOptions::default() }
    }

    /// One look only.
    pub fn once(self) -> AgentOptions {
        AgentOptions { once: true, ..self }
    }

    /// For a while: so long at most. Samples that are being taken already are
    /// left as they are.
    pub fn lasting(self, limit: Duration) -> AgentOptions {
        AgentOptions { sample_for: Some(limit), ..self }
    }

    /// Whether this is asked for by `--mode`.
    pub fn has_mode(&self, wanted: &str) -> bool {
        self.mode.as_deref().is_some_and(|mode| mode.split('+').any(|part| part == wanted))
    }

    /// Refuses options that would have no effect.
    ///
    /// # Errors
    /// What is wrong, for the user.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some((key, _)) = self.trace.given().first()
            && !self.has_mode("trace")
        {
            return Err(Failure::Usage(format!("--{key} is for trace mode; add --mode trace")));
        }
        match self.sampling.given().first() {
            Some((key, _)) if !self.has_mode("sample") => Err(Failure::Usage(format!(
                "--{key} is for sampling; add --mode sample or --mode contention+sample"
            ))),
            _ if self.filecount.is_some() && self.filesize.is_none() => Err(Failure::Usage(
                "--filecount says how many logs are kept; --filesize says when a new one begins"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// The options as the agent reads them, with the log's path, whose name may be
    /// of any bytes.
    pub fn for_java(&self, file: &Path, more: &[(&str, &str)]) -> OsString {
        let mut options = b"file=".to_vec();
        for &byte in file.as_os_str().as_bytes() {
            if matches!(byte, b'\\' | b',') {
                options.push(b'\\');
            }
            options.push(byte);
        }
        let rest = self.for_agent(None, more);
        if !rest.is_empty() {
            options.push(b',');
            options.extend_from_slice(rest.as_bytes());
        }
        OsString::from_vec(options)
    }

    /// The options as the agent reads them, with the log's path in UTF-8.
    pub fn for_agent(&self, file: Option<&Path>, more: &[(&str, &str)]) -> String {
        let mut pairs = Vec::new();
        if let Some(file) = file {
            pairs.push(format!("file={}", escape(&file.to_string_lossy())));
        }
        let depth = self.depth.map(|depth| depth.to_string());
        let [enabled, args, strict] =
            [self.enabled, self.args, self.strict].map(|flag| flag.map(|on| on.to_string()));
        let filecount = self.filecount.map(|count| count.to_string());
        let given = [
            ("mode", &self.mode),
            ("threshold", &self.threshold),
            ("depth", &depth),
            ("walk", &self.walk),
            ("exclude-threads", &self.exclude_threads),
            ("enabled", &enabled),
            ("args", &args),
            ("strict", &strict),
            ("filesize", &self.filesize),
            ("filecount", &filecount),
        ];
        let given = given.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
        let mut particular = self.trace.given();
        particular.extend(self.sampling.given());
        if self.once {
            particular.push(("once", "true".to_owned()));
        }
        if let Some(limit) = self.sample_for {
            particular.push(("for", format!("{}ns", limit.as_nanos())));
        }
        let particular = particular.iter().map(|(key, value)| (*key, value.as_str()));
        let pair = |(key, value): (&str, &str)| format!("{key}={}", escape(value));
        pairs.extend(given.chain(particular).chain(more.iter().copied()).map(pair));
        pairs.join(",")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        agent: AgentOptions,
    }

    fn parse(line: &str) -> Result<AgentOptions, clap::Error> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.agent)
    }

    #[test]
    fn options_are_escaped_and_in_order() {
        let options = AgentOptions {
            threshold: Some("0".to_owned()),
            exclude_threads: Some("a,b;c\\d".to_owned()),
            ..AgentOptions::default()
        };
        assert_eq!(
            options.for_agent(Some(Path::new("/tmp/a,b.log")), &[("overwrite", "false")]),
            r"file=/tmp/a\,b.log,threshold=0,exclude-threads=a\,b;c\\d,overwrite=false"
        );
    }

    #[test]
    fn paths_of_any_bytes_are_passed_on() {
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/tmp/a\xff,\\.log"));
        let options = AgentOptions::default();
        assert_eq!(options.for_java(path, &[]).as_bytes(), b"file=/tmp/a\xff\\,\\\\.log");
        let plain = Path::new("/tmp/a,b.log");
        let more = [("overwrite", "false")];
        assert_eq!(
            options.for_java(plain, &more).to_str(),
            Some(&*options.for_agent(Some(plain), &more))
        );
        assert!(check_file(path).is_ok() && check_sent_file(plain).is_ok());
        assert!(check_sent_file(path).unwrap_err().to_string().contains("only names in UTF-8"));
        for bad in ["a\nb", "\u{1b}[31m", "\u{9b}"] {
            assert!(check_file(Path::new(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn options_of_trace_mode_are_passed_on() {
        let line = "--mode trace --hold 1/16 --events all --identity false --precise \
                    --include com.acme.* --include org.x.A;org.x.B --exclude *Test \
                    --filesize 100M --filecount 4";
        let options = parse(line).unwrap();
        assert!(options.check().is_ok());
        assert_eq!(
            options.for_agent(None, &[]),
            "mode=trace,filesize=100M,filecount=4,hold=1/16,events=all,identity=false,precise=true,\
             include=com.acme.*;org.x.A;org.x.B,exclude=*Test"
        );
        for bad in [
            "--hold 64",
            "--hold 1/0",
            "--events some",
            "--mode tarce",
            "--filesize M",
            "--filesize 1MM",
            "--filesize 1000g",
            "--filesize 99999999999999g",
            "--filecount 0",
            "--filecount 10001",
            "--threshold 3601s",
            "--depth 0",
            "--depth 2049",
            "--identity perhaps",
            "--mode sample+contention",
            "--mode sample --period 999us",
            "--mode sample --period often",
            "--mode sample --threads (",
            // The agent's own expressions know no classes of Unicode.
            r"--mode sample --threads \p{L}+",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_of_sampling_are_passed_on() {
        let line =
            "--mode contention+sample --period 25ms --threads ^http-[0-9]{1,3} --skip-daemon";
        let options = parse(line).unwrap();
        assert!(options.check().is_ok());
        assert_eq!(
            options.for_agent(None, &[]),
            r"mode=contention+sample,period=25000000ns,threads=^http-[0-9]{1\,3},skip-daemon=true"
        );
        let depth = Some(9);
        let alone = AgentOptions::for_sampling(SamplingOptions::default(), depth);
        assert_eq!(alone.for_agent(None, &[]), "mode=sample,depth=9");
        let once = alone.once().lasting(Duration::from_secs(15));
        assert_eq!(once.for_agent(None, &[]), "mode=sample,depth=9,once=true,for=15000000000ns");
    }

    /// In a JVM that runs already nobody would read the agent's own complaint.
    #[test]
    fn sizes_that_the_agent_refuses_are_refused_with_its_words() {
        for bad in ["--filesize 63k", "--filesize 65535", "--filesize 0"] {
            let error = parse(bad).unwrap_err().to_string();
            let value = bad.split_once(' ').unwrap().1;
            let words = format!("filesize={value} is too small; use 64k at least");
            assert!(error.contains(&words), "{error}");
        }
        for good in ["64k", "65536", "1M", "128g"] {
            assert!(parse(&format!("--filesize {good}")).is_ok(), "{good}");
        }
    }

    #[test]
    fn options_without_effect_are_refused() {
        for line in [
            "--hold all",
            "--mode contention --include a",
            "--mode sample --hold all",
            "--filecount 3",
            "--period 5ms",
            "--mode trace --threads a",
            "--skip-daemon",
        ] {
            assert!(parse(line).unwrap().check().is_err(), "{line}");
        }
        for line in [
            "",
            "--mode trace",
            "--mode trace --hold none",
            "--filesize 1g",
            "--mode trace+sample --hold none --period 1ms",
            "--mode sample --skip-daemon=false",
        ] {
            assert!(parse(line).unwrap().check().is_ok(), "{line}");
        }
    }
}
