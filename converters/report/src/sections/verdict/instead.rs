//! What takes a program's time if locks do not.

use super::{super::overview::Overview, machine::Machine};
use crate::{Findings, findings::names};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use tyrion_model::{
    profile::State,
    withheld::{Verdict, Why},
};

/// From this share on, an activity is what a program mostly does.
const MOST: f64 = 0.5;
/// From this share on, it does hardly anything else.
const NEARLY_ALL: f64 = 0.9;
/// A program that uses no more processors than this does not compute.
const IDLE_CORES: f64 = 0.2;
/// From this number of processors on, it computes all the time.
const ONE_CORE: f64 = 0.8;
/// From this share of the processors on, it computes on all of them.
const ALL_CORES: f64 = 0.85;
/// So little of the wait may be for something other than work in a program that is idle.
const DOUBTFUL: f64 = 0.1;
/// There are too few processors if this many times as many threads want to run as do.
const TOO_MANY: f64 = 1.25;

/// What takes the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// More threads want to run than there are processors.
    FewProcessors,
    /// They compute, on all processors.
    Computing,
    /// They compute, but not on all processors.
    ComputingOnSome,
    /// They are in native code without computing there: most likely in I/O.
    Native,
    /// They sleep.
    Sleeping,
    /// They wait for each other, or for something other than work (without samples, also for
    /// work).
    Waiting,
    /// They wait for work.
    Idle,
    /// This was not recorded.
    #[default]
    Unknown,
}

/// What takes the time where locks do not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Instead {
    /// What its threads do.
    pub activity: Activity,
    /// How many processors it kept busy on average. `null` when that is not known.
    pub cores: Option<f64>,
    /// How many threads wanted to run on average, from samples. `null` without them.
    pub runnable_threads: Option<f64>,
    /// Where most of that time goes, from samples: `com.acme.Foo.bar`. Empty without them.
    pub place: String,
    /// The share of that time that goes there.
    pub place_share: Option<f64>,
    /// How long threads slept, all together, as far as they were seen.
    #[serde(skip)]
    pub sleep_ns: u64,
    /// Whether the logs tell of virtual threads.
    #[serde(skip)]
    pub has_virtual_threads: bool,
}

impl Instead {
    /// From what was found.
    pub(super) fn of(findings: &Findings<'_>, overview: &Overview, machine: &Machine) -> Instead {
        let has_samples = findings.profile().has_samples;
        let states = StateSums::of(findings);
        let activity = match &states {
            Some(states) => sampled(states, machine),
            None => unsampled(findings, overview, machine),
        };
        let (place, place_share) = match activity_state(activity) {
            Some(state) if has_samples => hottest(findings, state),
            Some(state) if states.is_some() => hottest_seen(findings, state),
            _ => (String::new(), None),
        };
        let cores = machine.cores();
        // Snapshots that nobody asked for are few, but what is said of them has its figure.
        let is_short = activity == Activity::FewProcessors;
        let seen = states.as_ref().map(|states| states.threads(State::Running));
        let runnable_threads = match has_samples {
            true => machine.runnable,
            false => seen.filter(|_| is_short),
        };
        let sleep_ns = states.as_ref().map_or(0, |states| states.of_state(State::Sleeping));
        let has_virtual_threads = findings.profile().threads.iter().any(|it| it.is_virtual);
        Instead {
            activity,
            cores,
            runnable_threads,
            place,
            place_share,
            sleep_ns,
            has_virtual_threads,
        }
    }
}

/// Real time by state, idle threads included.
struct StateSums {
    by_state: [u64; State::ALL.len()],
    /// How long it was looked at, in ns.
    duration_ns: u64,
}

impl StateSums {
    /// By samples, or else by snapshots, if there are any.
    fn of(findings: &Findings<'_>) -> Option<StateSums> {
        let duration_ns = findings.axis.duration_ns.max(1);
        let by_state = match findings.profile().has_samples {
            true => State::ALL.map(|state| findings.aggregate.state(state).wall_ns),
            false if findings.snapshots.rows.is_empty() => return None,
            false => State::ALL.map(|state| findings.snapshots.of_state(state)),
        };
        Some(StateSums { by_state, duration_ns })
    }

    fn of_state(&self, state: State) -> u64 {
        State::ALL.iter().zip(self.by_state).find(|(it, _)| **it == state).map_or(0, |(_, ns)| ns)
    }

    fn share(&self, state: State) -> f64 {
        let all_ns = self.by_state.iter().fold(0u64, |sum, ns| sum.saturating_add(*ns));
        if all_ns == 0 { 0.0 } else { self.of_state(state) as f64 / all_ns as f64 }
    }

    /// How many threads were in a state on average.
    fn threads(&self, state: State) -> f64 {
        self.of_state(state) as f64 / self.duration_ns as f64
    }
}

/// What samples and CPU time say.
fn sampled(states: &StateSums, machine: &Machine) -> Activity {
    let want = states.threads(State::Running);
    if machine.is_saturated() && want >= ONE_CORE {
        let gets = machine.cores().unwrap_or(f64::MAX);
        // What other programs use is no fault of this one's.
        let is_own = machine.is_short_of_processors() || machine.cores().is_none();
        return match is_own && want >= TOO_MANY * gets {
            true => Activity::FewProcessors,
            false => Activity::Computing,
        };
    }
    let computes = machine.cores().unwrap_or(want) >= ONE_CORE;
    if computes {
        return Activity::ComputingOnSome;
    }
    if states.share(State::Idle) >= NEARLY_ALL {
        return Activity::Idle;
    }
    let waiting = states.of_state(State::Waiting).saturating_add(states.of_state(State::Parked));
    // Who was seen running now and then does not compute.
    let running = machine.cores().unwrap_or(want);
    let running_ns = if running >= IDLE_CORES { states.of_state(State::Running) } else { 0 };
    let all = [
        (running_ns, Activity::ComputingOnSome),
        (states.of_state(State::Native), Activity::Native),
        (states.of_state(State::Sleeping), Activity::Sleeping),
        (waiting, Activity::Waiting),
    ];
    // Hardly anybody was seen, as in recordings that show only threads that run.
    let ran = states.threads(State::Running) + states.threads(State::Native);
    let seen = machine.cores().is_some() || ran >= IDLE_CORES;
    let sum_ns = all.iter().fold(0u64, |sum, (ns, _)| sum.saturating_add(*ns));
    let most = all.into_iter().rev().max_by_key(|(ns, _)| *ns);
    match most {
        Some((ns, activity)) if ns as f64 >= MOST * sum_ns as f64 && ns != 0 && seen => activity,
        _ if states.share(State::Idle) >= MOST => Activity::Idle,
        _ => Activity::Unknown,
    }
}

/// What CPU time and waits say.
fn unsampled(findings: &Findings<'_>, overview: &Overview, machine: &Machine) -> Activity {
    let threads = &overview.threads;
    let Some(cores) = machine.cores() else { return Activity::Unknown };
    let waits = threads.idle_ns as f64 >= NEARLY_ALL * threads.lived_ns as f64;
    let other = &findings.other_waits;
    let doubtful = other.places.iter().filter(|waits| {
        // Whoever waits for what others do is not the one who tells whether they do it.
        let judged = other.judged(waits);
        judged.is_some_and(|it| it.verdict() != Verdict::Idle || it.why == Why::Coordinates)
    });
    let doubtful_ns = doubtful.fold(0, |sum: u64, it| sum.saturating_add(it.waits.wait_ns));
    let is_idle = threads.idle_ns as f64 >= MOST * threads.lived_ns as f64
        && doubtful_ns as f64 <= DOUBTFUL * threads.idle_ns as f64;
    if machine.share().is_some_and(|share| share >= ALL_CORES) {
        Activity::Computing
    } else if cores >= ONE_CORE {
        Activity::ComputingOnSome
    } else if cores <= IDLE_CORES && is_idle {
        Activity::Idle
    } else if cores <= IDLE_CORES && waits {
        Activity::Waiting
    } else {
        Activity::Unknown
    }
}

/// In which state threads are that do this.
fn activity_state(activity: Activity) -> Option<State> {
    match activity {
        Activity::FewProcessors | Activity::Computing | Activity::ComputingOnSome => {
            Some(State::Running)
        }
        Activity::Native => Some(State::Native),
        Activity::Sleeping => Some(State::Sleeping),
        Activity::Waiting => Some(State::Waiting),
        Activity::Idle | Activity::Unknown => None,
    }
}

/// The method of the program with most time in a state, and its share.
fn hottest(findings: &Findings<'_>, state: State) -> (String, Option<f64>) {
    let profile = findings.profile();
    let mut sums: HashMap<u32, u64> = HashMap::new();
    let mut all_ns = 0u64;
    for sample in profile.samples.iter().filter(|sample| sample.state == state) {
        let own = names::own_frame(profile, sample.stack);
        let place = own.or_else(|| profile.frames_of(sample.stack).next());
        all_ns = all_ns.saturating_add(sample.wall_ns);
        if let Some(frame) = place {
            let sum = sums.entry(frame.function).or_default();
            *sum = sum.saturating_add(sample.wall_ns);
        }
    }
    let named = sums.into_iter().map(|(function, ns)| (ns, names::function(profile, function)));
    // Of equal ones the first by name.
    let most = named.max_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.cmp(x)));
    match most.filter(|(ns, _)| *ns != 0) {
        Some((ns, name)) => (name, Some(ns as f64 / all_ns as f64)),
        None => (String::new(), None),
    }
}

/// The same in snapshots that nobody asked for.
fn hottest_seen(findings: &Findings<'_>, state: State) -> (String, Option<f64>) {
    let rows = findings.snapshots.rows.iter().filter(|row| row.state == state);
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let method = row.place.split('(').next().unwrap_or_default();
        let sum = sums.entry(method).or_default();
        *sum = sum.saturating_add(row.wall_ns);
    }
    let all_ns = sums.values().fold(0u64, |sum, ns| sum.saturating_add(*ns));
    let known = sums.into_iter().filter(|(place, _)| !place.is_empty());
    // Of equal ones the first by name.
    match known.rev().max_by_key(|(_, ns)| *ns) {
        Some((place, ns)) if ns != 0 => (place.to_owned(), Some(ns as f64 / all_ns as f64)),
        _ => (String::new(), None),
    }
}
