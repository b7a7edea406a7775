//! What commands that read logs have in common: filters, grouping, workers.

use crate::outcome::{Failure, tell};
use clap::Args;
use regex::Regex;
use tyrion_formats::Recording;
use tyrion_model::{
    describe::Names,
    filter::{Filter, FilterError, Kinds, Moment, States, duration_ns, moment},
    grouping::{self, Grouping},
    packages,
    profile::Profile,
    units::counted,
    withheld::Withheld,
};
use tyrion_wire::slot::Pending;

/// Which waits are taken.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only these kinds, separated by commas: monitor, lock, lock-read,
    /// lock-write, semaphore, lock-reacquire, object-wait, condition, park, or
    /// the groups contention, idle, withheld (of those in idle, waits that keep
    /// threads from work) and all
    #[arg(long, value_name = "KINDS", value_parser = kinds)]
    kind: Option<Kinds>,
    /// Only threads whose name matches this regular expression
    #[arg(long, value_name = "REGEX")]
    thread: Option<Regex>,
    /// Only locks whose class, name, or class and identity
    /// (java.lang.Object#7) matches this regular expression or contains it as
    /// plain text
    #[arg(long, value_name = "REGEX", value_parser = lock_value)]
    lock: Option<Regex>,
    /// Only what threads did in groups of the program's (`Tyrion.group`) whose name matches;
    /// what they did in none has the empty name. Acquisitions belong to no group, and are left
    /// out
    #[arg(long, value_name = "REGEX")]
    group: Option<Regex>,
    /// Only waits that ended at or after this moment, and samples from then on.
    /// A moment is an offset from the start of the recording (90s), an offset
    /// from its end (-10s) or a time (2026-11-21T10:49:00Z)
    #[arg(long, value_name = "MOMENT", value_parser = moment_value, allow_hyphen_values = true)]
    since: Option<Moment>,
    /// Only waits that ended before this moment, and samples up to then
    #[arg(long, value_name = "MOMENT", value_parser = moment_value, allow_hyphen_values = true)]
    until: Option<Moment>,
    /// Only the last part of this duration, such as 10m: --since so long before the
    /// end of the latest log
    #[arg(long, value_name = "DURATION", value_parser = duration_value,
        conflicts_with_all = ["since", "until"])]
    last: Option<u64>,
    /// Only waits at least this long, such as 50us or 1.5ms; samples are not
    /// affected. Acquisitions are summed over the whole recording, so they are
    /// left out with this option, --since or --until
    #[arg(long, value_name = "DURATION", value_parser = duration_value)]
    min_wait: Option<u64>,
    /// Only samples of threads in these states, separated by commas: running,
    /// native, blocked, waiting, parked, sleeping, idle, other, or the groups
    /// busy and all [default: busy, which is all but idle; info and
    /// dump: all]
    #[arg(long, value_name = "STATES", value_parser = states)]
    state: Option<States>,
}

/// Names of locks hold `$`, which is an anchor in a regular expression: so the
/// text itself counts, too.
///
/// # Errors
/// When it is no regular expression.
pub fn lock_value(text: &str) -> Result<Regex, regex::Error> {
    let pattern = Regex::new(text)?;
    Regex::new(&format!("(?:{pattern})|(?:{})", regex::escape(text)))
}

fn kinds(text: &str) -> Result<Kinds, FilterError> {
    Kinds::parse(text)
}

/// Reads a set of states of threads.
///
/// # Errors
/// When a name is none of a state.
pub fn states(text: &str) -> Result<States, FilterError> {
    States::parse(text)
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

    /// Whether the user has named states of threads.
    pub fn names_states(&self) -> bool {
        self.state.is_some()
    }

    /// How much of the end is asked for, in ns, if that is all.
    pub fn last_ns(&self) -> Option<u64> {
        self.last
    }

    /// Whether the user has asked for anything less than all there is.
    pub fn is_given(&self) -> bool {
        let spans_time = self.since.or(self.until).is_some() || self.last.is_some();
        let names_lock = self.lock.is_some() || self.group.is_some();
        let names_any = self.kind.is_some() || self.thread.is_some() || names_lock;
        names_any || spans_time || self.min_wait.is_some() || self.state.is_some()
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
            group: self.group.clone(),
            since: self.since.or(self.last.map(Moment::BeforeEnd)),
            until: self.until,
            min_wait_ns: self.min_wait.unwrap_or(0),
            states: self.state.unwrap_or_default(),
        })
    }
}

impl FilterArgs {
    /// As [`FilterArgs::filter`], for who shows what is in a log as it is: all
    /// kinds and all states, idle ones too, unless the user names some.
    ///
    /// # Errors
    /// As [`FilterArgs::filter`].
    pub fn raw_filter(&self) -> Result<Filter, Failure> {
        let states = self.state.unwrap_or_else(States::all);
        Ok(Filter { states, ..self.filter(Kinds::all())? })
    }
}

/// What to say if no wait passed the filters.
pub fn no_waits(profile: &Profile, waits_in_log: u64) -> Option<String> {
    let traced = !profile.acquisitions.is_empty() || !profile.blames.is_empty();
    let other_rows = traced || !profile.samples.is_empty();
    match waits_in_log {
        _ if !profile.waits.is_empty() => None,
        0 if other_rows => None,
        0 => Some("there are no waits in the log".to_owned()),
        count => {
            Some(format!("no waits passed the filters; the log has {}", counted(count, "wait")))
        }
    }
}

/// Says so if no wait passed the filters.
pub fn tell_if_empty(profile: &Profile, waits_in_log: u64) {
    if let Some(note) = no_waits(profile, waits_in_log) {
        tell(&format!("note: {note}"));
    }
}

/// Which waits of a log withhold work, if a filter asks for them; else nothing is
/// known of any.
pub fn withheld(filter: &Filter, log: &Recording) -> Withheld {
    match filter.kinds.asks_withheld() {
        true => Withheld::find(std::slice::from_ref(log), filter),
        false => Withheld::default(),
    }
}

/// Whether a filter wants a wait that had not ended; time does not matter.
pub fn wants_pending(
    filter: &Filter,
    log: &Recording,
    withheld: &Withheld,
    pending: &Pending,
) -> bool {
    let names = Names(log);
    let wants_thread = |regex: &Regex| regex.is_match(&names.thread(pending.thread));
    let wants_lock = |regex: &Regex| names.lock_matches(regex, pending.lock);
    let is_withheld = || withheld.is_withheld((0, log), pending.kind, pending.stack);
    filter.kinds.takes(pending.kind, is_withheld)
        && filter.thread.as_ref().is_none_or(wants_thread)
        && filter.lock.as_ref().is_none_or(wants_lock)
}

/// What is shown as one: stacks by packages, threads by name.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Grouping")]
pub struct ShapeArgs {
    /// Reduce stacks to these packages or classes, separated by commas, and the
    /// first method they call outside of them: com.acme,org.foo
    #[arg(long, value_name = "PACKAGES", value_delimiter = ',', value_parser = package)]
    pub packages: Vec<String>,
    /// Merge threads whose names are equal (name), equal except for digits
    /// (digits) or for a number at the end (pool), or equal after a
    /// substitution ('s/REGEX/TEXT/', with g at the end for all matches); none
    /// shows each thread by itself
    #[arg(long, value_name = "RULE", value_parser = group_by)]
    pub group_by: Option<String>,
}

/// A package, without what shells and habits put behind it.
fn package(text: &str) -> Result<String, String> {
    let name = text.trim().trim_end_matches('*').trim_end_matches('.');
    let fits = |char: char| char.is_alphanumeric() || "._$".contains(char);
    match name {
        "" => Err("empty; write com.acme,org.foo".to_owned()),
        name if name.chars().all(fits) => Ok(name.to_owned()),
        _ => Err("not a package or class; write com.acme,org.foo".to_owned()),
    }
}

fn group_by(text: &str) -> Result<String, String> {
    if text == "regex" {
        return Err("write the rule itself, as in --group-by 's/-[0-9]+$//'".to_owned());
    }
    Grouping::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

impl ShapeArgs {
    /// The profile with stacks that are shown as one, if any were asked for.
    pub fn ungrouped(&self, profile: Profile) -> Profile {
        match self.packages.is_empty() {
            true => profile,
            false => packages::fold(profile, &self.packages),
        }
    }

    /// The profile with stacks and threads that are shown as one, if any were
    /// asked for.
    pub fn apply(&self, profile: Profile) -> Profile {
        let folded = self.ungrouped(profile);
        match self.group_by.as_deref().map(Grouping::parse) {
            Some(Ok(by)) => grouping::group(folded, &by),
            // The parser lets nothing else through.
            None | Some(Err(_)) => folded,
        }
    }
}

/// Workers for the conversion.
#[derive(Args, Clone, Debug)]
pub struct JobsArg {
    /// Number of worker threads; the result is the same [default: one for each
    /// processor]
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
}

impl JobsArg {
    /// Runs `body` on these workers.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn run<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        let threads = self.jobs.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Failure::new(format!("worker threads cannot be started: {error}")))?;
        Ok(pool.install(body))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct FilterLine {
        #[command(flatten)]
        filters: FilterArgs,
        #[command(flatten)]
        shape: ShapeArgs,
    }

    fn parse(line: &str) -> Result<FilterLine, String> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        FilterLine::try_parse_from(words).map_err(|error| error.to_string())
    }

    #[test]
    fn states_are_taken() {
        let states =
            |line: &str| parse(line).unwrap().filters.filter(Kinds::contention()).unwrap().states;
        assert_eq!(states(""), States::default());
        assert_eq!(states("--state all"), States::all());
        assert!(states("--state blocked,idle").contains(tyrion_model::profile::State::Idle));
        assert!(parse("--state all").unwrap().filters.is_given());
        let error = parse("--state asleep").map(|_| ()).unwrap_err();
        assert!(error.contains("`asleep` is not a thread state"), "{error}");
    }

    #[test]
    fn packages_are_names() {
        let packages = |line: &str| parse(line).map(|line| line.shape.packages);
        assert_eq!(
            packages("--packages com.acme.*,org.foo."),
            Ok(vec!["com.acme".to_owned(), "org.foo".to_owned()])
        );
        for bad in ["--packages com/acme", "--packages ,", "--packages *"] {
            assert!(packages(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rules_are_read_before_logs_are() {
        for good in ["digits", "name", "pool", "none", "s/-[0-9]+$//", "s|a|b|g"] {
            let parsed = parse(&format!("--group-by {good}")).map(|line| line.shape.group_by);
            assert_eq!(parsed, Ok(Some(good.to_owned())));
        }
        for (bad, said) in [("regex", "the rule itself"), ("s/(/x/", "s/(/x/"), ("what", "what")] {
            let error = parse(&format!("--group-by {bad}")).map(|_| ()).unwrap_err();
            assert!(error.contains(said), "{bad}: {error}");
        }
    }
}
