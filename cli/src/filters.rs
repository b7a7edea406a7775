//! The filters that `convert`, `info` and `dump` have in common.

use crate::outcome::{Failure, tell};
use clap::Args;
use regex::Regex;
use tyrion_converters::{
    describe::Names,
    filter::{Filter, FilterError, Kinds, Moment, duration_ns, moment},
    profile::Profile,
};
use tyrion_formats::Log;
use tyrion_wire::slot::Pending;

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
    /// Only locks whose class, name, or class and identity as in
    /// java.lang.Object#7, this regular expression matches, or holds as a text
    #[arg(long, value_name = "REGEX", value_parser = lock_value)]
    lock: Option<Regex>,
    /// Only waits that ended at this moment or later: an offset from the
    /// start (90s), from the end (-10s), or a time (2026-11-21T10:49:00Z)
    #[arg(long, value_name = "MOMENT", value_parser = moment_value, allow_hyphen_values = true)]
    since: Option<Moment>,
    /// Only waits that ended before this moment
    #[arg(long, value_name = "MOMENT", value_parser = moment_value, allow_hyphen_values = true)]
    until: Option<Moment>,
    /// Only waits of at least this duration, such as 50us or 1.5ms. With this,
    /// --since or --until, acquisitions are left out: they know no time
    #[arg(long, value_name = "DURATION", value_parser = duration_value)]
    min_wait: Option<u64>,
}

/// Names of locks hold `$`, which is an anchor in a regular expression: so the
/// text itself counts, too.
fn lock_value(text: &str) -> Result<Regex, regex::Error> {
    let pattern = Regex::new(text)?;
    Regex::new(&format!("(?:{pattern})|(?:{})", regex::escape(text)))
}

fn kinds(text: &str) -> Result<Kinds, FilterError> {
    Kinds::parse(text)
}

fn moment_value(text: &str) -> Result<Moment, FilterError> {
    moment(text)
}

/// Reads a duration, such as 50us or 1.5ms.
///
/// # Errors
/// When it is none.
pub fn duration_value(text: &str) -> Result<u64, FilterError> {
    duration_ns(text)
}

impl FilterArgs {
    /// Whether the user has named kinds.
    pub fn names_kinds(&self) -> bool {
        self.kind.is_some()
    }

    /// Whether the user has asked for anything less than all there is.
    pub fn is_given(&self) -> bool {
        let spans_time = self.since.is_some() || self.until.is_some();
        let names_any = self.kind.is_some() || self.thread.is_some() || self.lock.is_some();
        names_any || spans_time || self.min_wait.is_some()
    }

    /// The filter; `default` are the kinds when the user names none.
    ///
    /// # Errors
    /// When no moment can be both since and until what the user says.
    pub fn filter(&self, default: Kinds) -> Result<Filter, Failure> {
        let never = match (self.since, self.until) {
            (Some(Moment::AfterStart(since)), Some(Moment::AfterStart(until)))
            | (Some(Moment::Wall(since)), Some(Moment::Wall(until))) => since >= until,
            (Some(Moment::BeforeEnd(since)), Some(Moment::BeforeEnd(until))) => since <= until,
            _ => false,
        };
        if never {
            return Err(Failure::Usage("--until must be later than --since".to_owned()));
        }
        Ok(Filter {
            kinds: self.kind.unwrap_or(default),
            thread: self.thread.clone(),
            lock: self.lock.clone(),
            since: self.since,
            until: self.until,
            min_wait_ns: self.min_wait.unwrap_or(0),
        })
    }
}

/// Says so when nothing came through the filters.
pub fn tell_if_empty(profile: &Profile, waits_in_log: u64) {
    let other_rows = !profile.acquisitions.is_empty() || !profile.blames.is_empty();
    if profile.waits.is_empty() && !(waits_in_log == 0 && other_rows) {
        tell(&format!("note: none of the {waits_in_log} waits in the log passed the filters"));
    }
}

/// Whether a filter wants a wait that had not ended; time does not matter.
pub fn wants_pending(filter: &Filter, log: &Log, pending: &Pending) -> bool {
    let names = Names(log);
    let wants_thread = |regex: &Regex| regex.is_match(&names.thread(pending.thread));
    let wants_lock = |regex: &Regex| names.lock_matches(regex, pending.lock);
    filter.kinds.contains(pending.kind)
        && filter.thread.as_ref().is_none_or(wants_thread)
        && filter.lock.as_ref().is_none_or(wants_lock)
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
