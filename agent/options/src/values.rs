//! The types of options' values.

use regex_lite::Regex;
use std::{ops::RangeInclusive, time::Duration};

/// What is recorded: `contention`, `trace`, `auto`, `sample`, or one of the first three
/// and `sample`, with a `+` between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// What of locks.
    pub locks: Locks,
    /// Whether threads are sampled.
    pub sample: bool,
}

/// What is recorded of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// Nothing: no class is changed, no event of a lock is asked for.
    Nothing,
    /// Waits.
    Contention,
    /// Waits, and every acquisition.
    Trace,
    /// Waits, and for a while every acquisition of the locks that cost much.
    Auto,
}

impl Default for Mode {
    fn default() -> Mode {
        Mode { locks: Locks::Contention, sample: false }
    }
}

impl Mode {
    /// All modes, as the user writes them.
    pub const NAMES: [&str; 7] = [
        "contention",
        "trace",
        "auto",
        "sample",
        "contention+sample",
        "trace+sample",
        "auto+sample",
    ];

    /// Reads it as the user writes it, the parts in any order.
    pub fn parse(text: &str) -> Option<Mode> {
        let mut mode = Mode { locks: Locks::Nothing, sample: false };
        for part in text.split('+') {
            match part {
                "contention" if mode.locks == Locks::Nothing => mode.locks = Locks::Contention,
                "trace" if mode.locks == Locks::Nothing => mode.locks = Locks::Trace,
                "auto" if mode.locks == Locks::Nothing => mode.locks = Locks::Auto,
                "sample" if !mode.sample => mode.sample = true,
                _ => return None,
            }
        }
        Some(mode)
    }

    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match (self.locks, self.sample) {
            (Locks::Contention, false) => "contention",
            (Locks::Contention, true) => "contention+sample",
            (Locks::Trace, false) => "trace",
            (Locks::Trace, true) => "trace+sample",
            (Locks::Auto, false) => "auto",
            (Locks::Auto, true) => "auto+sample",
            (Locks::Nothing, _) => "sample",
        }
    }
}

/// Below which duration waits are folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threshold {
    /// Six times what an undelayed wait costs, at least 10 µs.
    #[default]
    Auto,
    /// This many ns.
    Ns(u64),
}

/// How the stack of a thread that waits, or holds a lock, is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// [`Fast`](Self::Fast).
    Auto,
    /// From frame to frame, where the JVM's structures are known.
    Fast,
    /// With JVMTI's `GetStackTrace` alone.
    Jvmti,
    /// With both, and at the end it is said how often they differed.
    Compare,
}

/// How the waits of `java.util.concurrent` are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parks {
    /// As suits the JVM, and how the agent came into it: by the JDK's native methods, with
    /// some probes for what these do not tell.
    Auto,
    /// By probes in classes of the JDK.
    Probes,
    /// By standing in for the JDK's native methods: no class is changed, but parks are
    /// all that is seen.
    Natives,
}

impl Parks {
    /// Its name, as in the options.
    pub fn name(self) -> &'static str {
        match self {
            Parks::Auto => "auto",
            Parks::Probes => "probes",
            Parks::Natives => "natives",
        }
    }
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

/// When one file of the log follows another, and which are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// In bytes, about.
    pub filesize: u64,
    /// With the one that is written to; `None` for any number.
    pub filecount: Option<usize>,
    /// For how long a file is written to.
    pub filetime: Option<Duration>,
    /// What files are called that are full.
    pub filenames: FileNames,
    /// All together take at most so much, in bytes.
    pub maxsize: Option<u64>,
    /// So long after their end they are removed.
    pub maxage: Option<Duration>,
}

/// What files of the log are called that are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileNames {
    /// By their numbers; another recording replaces them.
    Number,
    /// By the time at which they began; another recording keeps them.
    Time,
}

/// Which holds are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldSampling {
    /// None.
    Never,
    /// The first few and then one in N, which is 2 at least.
    OneIn(u32),
    /// All.
    Every,
}

/// The N that can be asked for: one hold in N is measured.
const HOLDS: RangeInclusive<u32> = 1..=(1 << 20) - 1;

impl HoldSampling {
    /// Reads `all`, `none` or a share as in `1/64`.
    pub fn parse(text: &str) -> Option<HoldSampling> {
        let one_in = || text.strip_prefix("1/")?.parse().ok().filter(|n| HOLDS.contains(n));
        match text {
            "all" | "1" => Some(HoldSampling::Every),
            "none" | "0" => Some(HoldSampling::Never),
            _ => match one_in()? {
                1 => Some(HoldSampling::Every),
                n => Some(HoldSampling::OneIn(n)),
            },
        }
    }

    /// One hold in this many is measured: 1 for all, 0 for none.
    pub fn one_in(self) -> u32 {
        match self {
            HoldSampling::Never => 0,
            HoldSampling::Every => 1,
            HoldSampling::OneIn(n) => n,
        }
    }

    /// As the user writes it.
    pub fn name(self) -> String {
        match self {
            HoldSampling::Never => "none".to_owned(),
            HoldSampling::OneIn(n) => format!("1/{n}"),
            HoldSampling::Every => "all".to_owned(),
        }
    }
}

/// A regular expression that is looked for in threads' names.
#[derive(Clone, Debug)]
pub struct NamePattern(Regex);

impl PartialEq for NamePattern {
    fn eq(&self, other: &NamePattern) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for NamePattern {}

impl NamePattern {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<NamePattern, regex_lite::Error> {
        Regex::new(text).map(NamePattern)
    }

    /// As the user wrote it.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it is found in a name.
    pub fn matches(&self, name: &[u8]) -> bool {
        self.0.is_match(&String::from_utf8_lossy(name))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_as_they_are_written() {
        for name in Mode::NAMES {
            assert_eq!(Mode::parse(name).unwrap().name(), name);
        }
        assert_eq!(Mode::parse("sample+trace").unwrap().name(), "trace+sample");
        for wrong in ["", "+", "sample+", "trace+trace", "trace+contention", "auto+trace", "Sample"]
        {
            assert_eq!(Mode::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Mode::default().name(), "contention");
    }

    #[test]
    fn shares_are_read_as_they_are_written() {
        for hold in [
            HoldSampling::Never,
            HoldSampling::OneIn(2),
            HoldSampling::OneIn((1 << 20) - 1),
            HoldSampling::Every,
        ] {
            assert_eq!(HoldSampling::parse(&hold.name()), Some(hold));
        }
        assert_eq!(HoldSampling::parse("1/1"), Some(HoldSampling::Every));
        for text in ["", "64", "1/0", "1/1048576", "2/64", "1/", "some"] {
            assert_eq!(HoldSampling::parse(text), None, "{text}");
        }
    }

    #[test]
    fn patterns_are_looked_for_anywhere() {
        let pattern = NamePattern::parse("^pool-.*[13]$|main").unwrap();
        assert!(pattern.matches(b"pool-7-thread-3") && pattern.matches(b"the main one"));
        assert!(!pattern.matches(b"a pool-1") && !pattern.matches(b"\xff"));
        assert!(NamePattern::parse("").unwrap().matches(b"anything"));
    }
}
