//! What is sampled, and how often.

use super::parse_duration_ns;
use regex_lite::Regex;
use std::time::Duration;
use tyrion_wire::limits::PERIODS_NS;

/// Between two snapshots unless the user says otherwise, ns.
pub const DEFAULT_PERIOD_NS: u64 = 50_000_000;

/// What is sampled. Each is `None` when the user did not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleOptions {
    /// The mean time between two snapshots, ns.
    pub period_ns: Option<u64>,
    /// Which threads, by their names; an empty pattern is all.
    pub threads: Option<NamePattern>,
    /// Whether daemons are left out.
    pub skip_daemon: Option<bool>,
    /// Whether there is but one snapshot, a period from now.
    pub once: bool,
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
    pub fn parse(value: &str) -> Result<NamePattern, String> {
        let wrong = |error| format!("threads={value} is no regular expression: {error}");
        Regex::new(value).map(NamePattern).map_err(wrong)
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

/// Reads `period`, in ns.
pub(super) fn parse_period(value: &str) -> Result<u64, String> {
    let ns = parse_duration_ns(value);
    ns.map(|ns| ns as u64).filter(|ns| PERIODS_NS.contains(ns)).ok_or_else(|| {
        format!("period={value} is no duration from 1ms to an hour, like 10ms, 0.5s or 20s")
    })
}

/// Reads `for`: how long a sample is.
pub(super) fn parse_length(value: &str) -> Result<Duration, String> {
    let ns = parse_duration_ns(value).ok_or_else(|| format!("for={value} is no duration"))?;
    Ok(Duration::from_nanos(ns as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_bounds() {
        for (text, ns) in [("1ms", 1_000_000), ("50ms", DEFAULT_PERIOD_NS), ("2s", 2_000_000_000)] {
            assert_eq!(parse_period(text), Ok(ns));
        }
        for text in ["", "0", "50", "0.9ms", "999us", "3601s", "1e3s", "-5ms", "5m"] {
            assert!(parse_period(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_sample_may_be_long() {
        assert_eq!(parse_length("86400s"), Ok(Duration::from_secs(86_400)));
        assert_eq!(parse_length("15000000000ns"), Ok(Duration::from_secs(15)));
        assert!(parse_length("long").is_err());
    }

    #[test]
    fn patterns_are_looked_for_anywhere() {
        let pattern = NamePattern::parse("^pool-.*[13]$|main").unwrap();
        assert!(pattern.matches(b"pool-7-thread-3") && pattern.matches(b"the main one"));
        assert!(!pattern.matches(b"a pool-1") && !pattern.matches(b"\xff"));
        assert!(NamePattern::parse("").unwrap().matches(b"anything"));
    }
}
