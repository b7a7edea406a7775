//! What is sampled of all threads.

use crate::options::{DEFAULT_PERIOD_NS, NamePattern, SampleOptions};

/// What is sampled of all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The mean time between snapshots, ns.
    pub period_ns: u64,
    /// Which threads, by their names; `None` for all.
    pub threads: Option<NamePattern>,
    /// Whether daemons are left out.
    pub skip_daemon: bool,
    /// There is one snapshot only.
    pub once: bool,
    /// Nobody asked for samples: there are few, and they are marked as such.
    pub unasked: bool,
}

/// The mean time between snapshots that nobody asked for, ns.
const UNASKED_NS: u64 = 500_000_000;

impl Settings {
    /// What the user asks for; what is not said stays as it was before.
    pub fn new(options: &SampleOptions, before: Option<&Settings>) -> Settings {
        let threads = match &options.threads {
            None => before.and_then(|before| before.threads.clone()),
            Some(pattern) => Some(pattern.clone()).filter(|pattern| !pattern.as_str().is_empty()),
        };
        let period_ns = before.map_or(DEFAULT_PERIOD_NS, |before| before.period_ns);
        let skip_daemon = before.is_some_and(|before| before.skip_daemon);
        Settings {
            period_ns: options.period_ns.unwrap_or(period_ns),
            threads,
            skip_daemon: options.skip_daemon.unwrap_or(skip_daemon),
            once: options.once,
            unasked: false,
        }
    }

    /// What is looked at where nobody asked for samples.
    pub fn unasked() -> Settings {
        Settings {
            period_ns: UNASKED_NS,
            threads: None,
            skip_daemon: false,
            once: false,
            unasked: true,
        }
    }

    /// How many times as long as a look took there is none.
    pub fn rest_times(&self) -> u64 {
        if self.unasked { 499 } else { 4 }
    }

    /// Whether a thread is sampled, by its name and kind.
    pub fn wants(&self, name: &[u8], is_daemon: bool) -> bool {
        !(is_daemon && self.skip_daemon)
            && self.threads.as_ref().is_none_or(|pattern| pattern.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays_as_it_is() {
        let first = Settings::new(&SampleOptions::default(), None);
        assert_eq!((first.period_ns, first.skip_daemon), (DEFAULT_PERIOD_NS, false));
        let threads = NamePattern::parse("^a").unwrap();
        let options = SampleOptions {
            period_ns: Some(7),
            threads: Some(threads),
            skip_daemon: Some(true),
            once: true,
        };
        let second = Settings::new(&options, Some(&first));
        let third = Settings::new(&SampleOptions::default(), Some(&second));
        assert_eq!(third, Settings { once: false, ..second });
        let all = SampleOptions {
            threads: Some(NamePattern::parse("").unwrap()),
            skip_daemon: Some(false),
            ..SampleOptions::default()
        };
        let fourth = Settings::new(&all, Some(&third));
        assert_eq!((fourth.threads, fourth.skip_daemon), (None, false));
    }

    #[test]
    fn threads_are_chosen_by_name_and_kind() {
        let settings = Settings {
            period_ns: 1,
            threads: Some(NamePattern::parse("http").unwrap()),
            skip_daemon: true,
            once: false,
            unasked: false,
        };
        assert!(settings.wants(b"my-http-1", false));
        assert!(!settings.wants(b"my-http-1", true) && !settings.wants(b"main", false));
    }
}
