//! The filters that `convert`, `info` and `dump` have in common.

use crate::outcome::Failure;
use clap::Args;
use regex::Regex;
use tyrion_converters::filter::{Filter, FilterError, Kinds, Moment, duration_ns, moment};

/// Which waits are taken.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only these kinds, separated by commas: monitor, lock, lock-read,
    /// lock-write, semaphore, lock-reacquire, object-wait, condition, park, or
    /// the groups contention, idle and all
    #[arg(long, value_name = "KINDS", value_parser = kinds)]
    kind: Option<Kinds>,
    /// Only threads whose name this regular expression matches
    #[arg(long, value_name = "REGEX")]
    thread: Option<Regex>,
    /// Only locks whose class, or class and identity as in
    /// java.lang.Object#7, this regular expression matches
    #[arg(long, value_name = "REGEX")]
    lock: Option<Regex>,
    /// Only waits that ended at this moment or later: an offset from the
    /// start (90s), from the end (-10s), or a time (2026-11-21T10:49:00Z)
    #[arg(long, value_name = "MOMENT", value_parser = moment_value, allow_hyphen_values = true)]
    since: Option<Moment>,
    /// Only waits that ended before this moment
    #[arg(long, value_name = "MOMENT", value_parser = moment_value, allow_hyphen_values = true)]
    until: Option<Moment>,
    /// Only waits of at least this duration, such as 50us or 1.5ms
    #[arg(long, value_name = "DURATION", value_parser = duration_value)]
    min_wait: Option<u64>,
}

fn kinds(text: &str) -> Result<Kinds, FilterError> {
    Kinds::parse(text)
}

fn moment_value(text: &str) -> Result<Moment, FilterError> {
    moment(text)
}

fn duration_value(text: &str) -> Result<u64, FilterError> {
    duration_ns(text)
}

impl FilterArgs {
    /// The filter; `default` are the kinds when the user names none.
    pub fn filter(&self, default: Kinds) -> Filter {
        Filter {
            kinds: self.kind.unwrap_or(default),
            thread: self.thread.clone(),
            lock: self.lock.clone(),
            since: self.since,
            until: self.until,
            min_wait_ns: self.min_wait.unwrap_or(0),
        }
    }
}

/// Workers for the conversion.
#[derive(Args, Clone, Debug)]
pub struct JobsArg {
    /// Worker threads; the result does not depend on it [default: all processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
}

impl JobsArg {
    /// Runs `body` on so many workers.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn run<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        let threads = self.jobs.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Failure::new(format!("no worker threads: {error}")))?;
        Ok(pool.install(body))
    }
}
