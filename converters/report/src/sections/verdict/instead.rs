//! What takes a program's time if locks do not.

use super::{super::overview::Overview, machine::Machine, meanwhile::meanwhile};
use crate::{
    Findings,
    findings::{GroupTime, Pool, Snapshots, names},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use tyrion_formats::event_log;
use tyrion_model::{
    profile::State,
    withheld::{Verdict, Why},
};

/// From this share on, an activity is what a program mostly does.
const MOST: f64 = 0.5;
/// A place that has less of the time is not where it goes.
const LEAST: f64 = 0.05;
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
/// Who sleeps keeps nobody waiting if that is known of so much of the sleep,
const FREE: f64 = 0.75;
/// or if threads waited for work for this part of the time that others slept.
const IDLE_TOO: f64 = 0.25;
/// There are too few processors if this many times as many threads want to run as do.
const TOO_MANY: f64 = 1.25;

/// What takes the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// All threads that take work are busy with it, and do not compute: what is to be done waits
    /// for one of them.
    AllBusy,
    /// This was not recorded.
    #[default]
    Unknown,
}

/// What takes the time where locks do not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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
    /// What is called there, as far as that was seen: `java.net.Socket$SocketInputStream.read`.
    pub calls: String,
    /// The program's own code that called that, as far as it was seen. Empty if that is `place`.
    #[serde(skip)]
    pub own_place: String,
    /// The threads that are all busy, and from where they take work. Empty if there are none.
    pub pool: String,
    /// The name of their group.
    #[serde(skip)]
    pub busy: String,
    /// Whether who sleeps keeps nobody waiting, as far as that is known.
    #[serde(skip)]
    pub is_free: bool,
}

impl Instead {
    /// From what was found.
    pub(super) fn of(findings: &Findings<'_>, overview: &Overview, machine: &Machine) -> Instead {
        let has_samples = findings.profile().has_samples;
        let states = StateSums::of(findings);
        let activity = match &states {
            Some(states) => match sampled(states, machine) {
                Activity::Unknown if states.hardly_ran() => unseen(findings, machine),
                activity => activity,
            },
            None if shows_ends(findings) => unsampled(findings, overview, machine),
            None => unseen(findings, machine),
        };
        let full = full_pool(findings).filter(|_| may_be_full(activity));
        let activity = full.map_or(activity, |_| Activity::AllBusy);
        let Hottest { place, share: place_share, calls, own: own_place } =
            match (full, activity_state(activity)) {
                (Some(pool), _) => of_threads(findings, &pool.threads),
                (None, Some(state)) if has_samples => hottest(findings, state),
                (None, Some(state)) if states.is_some() => hottest_seen(findings, state),
                _ => Hottest::default(),
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
        Instead {
            activity,
            cores,
            runnable_threads,
            place,
            place_share,
            calls,
            own_place,
            pool: full.map(from_where).unwrap_or_default(),
            busy: full.map(|pool| pool.threads.clone()).unwrap_or_default(),
            is_free: is_free(findings, overview, sleep_ns),
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
        let unmounted = State::ALL.map(|state| findings.snapshots.unmounted_in(state));
        let both = by_state.iter().zip(unmounted);
        let sums: Vec<u64> = both.map(|(seen, more)| seen.saturating_add(more)).collect();
        let by_state = sums.try_into().unwrap_or(by_state);
        Some(StateSums { by_state, duration_ns })
    }

    fn of_state(&self, state: State) -> u64 {
        State::ALL.iter().zip(self.by_state).find(|(it, _)| **it == state).map_or(0, |(_, ns)| ns)
    }

    fn share(&self, state: State) -> f64 {
        let all_ns = self.by_state.iter().fold(0u64, |sum, ns| sum.saturating_add(*ns));
        if all_ns == 0 { 0.0 } else { self.of_state(state) as f64 / all_ns as f64 }
    }

    /// Whether threads that wait were seen, too: Flight Recorder looks only at those that run.
    fn shows_waits(&self) -> bool {
        let waits = [State::Blocked, State::Waiting, State::Parked, State::Sleeping];
        waits.into_iter().any(|state| self.of_state(state) != 0)
    }

    /// How many threads ran on average, Java code or native code.
    fn ran(&self) -> f64 {
        self.threads(State::Running) + self.threads(State::Native)
    }

    /// Whether only threads that run were looked at, and hardly any did: then waits tell more.
    fn hardly_ran(&self) -> bool {
        !self.shows_waits() && self.ran() < IDLE_CORES
    }

    /// Whether threads that were not idle were seen running at least as often as not.
    fn mostly_run(&self) -> bool {
        let others = [State::Native, State::Sleeping, State::Waiting, State::Parked];
        let others_ns = others.iter().fold(0u64, |sum, it| sum.saturating_add(self.of_state(*it)));
        self.of_state(State::Running) >= others_ns
    }

    /// How many threads were in a state on average.
    fn threads(&self, state: State) -> f64 {
        self.of_state(state) as f64 / self.duration_ns as f64
    }
}

/// What samples and CPU time say.
fn sampled(states: &StateSums, machine: &Machine) -> Activity {
    let want = states.threads(State::Running);
    // Where others have the processors, few that were seen running did next to nothing.
    let did_much = machine.cores().is_none_or(|cores| cores >= IDLE_CORES);
    let did_much = did_much || states.mostly_run();
    if machine.is_saturated() && want >= ONE_CORE && did_much {
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
    // What the few do that were seen tells nothing of the others.
    let seen = !states.hardly_ran();
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

/// Whether the recordings tell of all waits, those included that have not ended.
fn shows_ends(findings: &Findings<'_>) -> bool {
    findings.logs.iter().all(|log| log.facts().format == event_log::INPUT.name)
}

/// What CPU time and the waits say that have ended, where nothing tells of others: Flight Recorder
/// does not show who waits for ever. Most of what it does show has to be for work, and work has to
/// have come.
fn unseen(findings: &Findings<'_>, machine: &Machine) -> Activity {
    // Of waits of virtual threads it hardly ever tells.
    let has_virtual = findings.threads.is_virtual != 0;
    if has_virtual || machine.cores().is_none_or(|cores| cores > IDLE_CORES) {
        return Activity::Unknown;
    }
    let (mut doubtful_ns, mut in_vain_ns) = (0u64, 0u64);
    let other = &findings.other_waits;
    for waits in &other.places {
        let Some(judged) = other.judged(waits) else { continue };
        let evidence = &judged.evidence;
        let sum = match judged.verdict() == Verdict::Idle && judged.why != Why::Coordinates {
            true if evidence.told != 0 && evidence.timed_out == evidence.told => &mut in_vain_ns,
            true => continue,
            false => &mut doubtful_ns,
        };
        *sum = sum.saturating_add(waits.waits.wait_ns);
    }
    // Who starts a program is mostly alone and asleep. Several threads that were seen at some time,
    // and never waiting, may wait for each other.
    let counts = |group: &&GroupTime| group.idle_ns != 0 || group.count > 1;
    let waiting = findings.group_times.iter().filter(counts);
    let (idle_ns, lived_ns) = waiting.fold((0u64, 0u64), |(idle_ns, lived_ns), group| {
        (idle_ns.saturating_add(group.idle_ns), lived_ns.saturating_add(group.lived_ns))
    });
    let free_ns = idle_ns.saturating_sub(doubtful_ns).saturating_sub(in_vain_ns);
    let is_idle = free_ns != 0
        && free_ns as f64 >= MOST * lived_ns as f64
        && doubtful_ns as f64 <= DOUBTFUL * free_ns as f64;
    if is_idle { Activity::Idle } else { Activity::Unknown }
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
        Activity::Idle | Activity::AllBusy | Activity::Unknown => None,
    }
}

/// Whether threads that do this may all be busy with tasks.
fn may_be_full(activity: Activity) -> bool {
    matches!(activity, Activity::Sleeping | Activity::Waiting | Activity::Idle | Activity::Unknown)
}

/// Threads of which none is ever free: those that lived longest.
pub(super) fn full_pool<'f>(findings: &'f Findings<'_>) -> Option<&'f Pool> {
    let full = findings.pools.iter().filter(|pool| pool.is_never_free());
    // Of equal ones the first by name.
    full.rev().max_by_key(|pool| pool.lived_ns)
}

/// Which threads these are, and from where they take work.
fn from_where(pool: &Pool) -> String {
    match pool.place.as_str() {
        "" => pool.threads.clone(),
        place => format!("{} in {place}", pool.threads),
    }
}

/// What a thread has to wait for before others have to wait for it is known of those that run
/// nothing but the program's own loop, and of those that take work and are free now and then.
fn is_free(findings: &Findings<'_>, overview: &Overview, sleep_ns: u64) -> bool {
    let is_at_leisure =
        |thread: &str| findings.pools.iter().any(|pool| pool.has(thread) && !pool.is_never_free());
    let profile = findings.profile();
    let known_ns = if profile.has_samples {
        let samples = profile.samples.iter().filter(|it| it.state == State::Sleeping);
        let known = samples.filter(|it| {
            findings.program.is_own_thread(&names::stack(profile, it.stack))
                || is_at_leisure(&profile.thread_name(it.thread))
        });
        known.fold(0, |sum: u64, it| sum.saturating_add(it.wall_ns))
    } else {
        let rows = findings.snapshots.rows.iter().filter(|row| row.state == State::Sleeping);
        let known = rows.filter(|row| row.is_own_thread || is_at_leisure(&row.thread));
        // Nobody waits for a virtual thread: there are as many as are needed.
        let unmounted_ns = findings.snapshots.unmounted_in(State::Sleeping);
        known.fold(unmounted_ns, |sum: u64, row| sum.saturating_add(row.wall_ns))
    };
    let has_unseen = profile.has_samples && profile.threads.iter().any(|it| it.is_virtual);
    known_ns as f64 >= FREE * sleep_ns as f64
        || !has_unseen && overview.threads.idle_ns as f64 >= IDLE_TOO * sleep_ns as f64
}

/// Where most of some time went.
#[derive(Default)]
struct Hottest {
    place: String,
    share: Option<f64>,
    calls: String,
    own: String,
}

/// Where threads mostly were when they had work.
fn of_threads(findings: &Findings<'_>, threads: &str) -> Hottest {
    match meanwhile(findings, threads) {
        Some((place, share)) => Hottest { place, share: Some(share), ..Hottest::default() },
        None => Hottest::default(),
    }
}

/// The method of the program with most time in a state, and its share.
fn hottest(findings: &Findings<'_>, state: State) -> Hottest {
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
    match most.filter(|(ns, _)| is_most(*ns, all_ns)) {
        Some((ns, place)) => {
            Hottest { place, share: Some(ns as f64 / all_ns as f64), ..Hottest::default() }
        }
        None => Hottest::default(),
    }
}

fn is_most(ns: u64, all_ns: u64) -> bool {
    ns != 0 && ns as f64 >= LEAST * all_ns as f64
}

/// The same in snapshots that nobody asked for.
fn hottest_seen(findings: &Findings<'_>, state: State) -> Hottest {
    let Snapshots { rows, unmounted } = &findings.snapshots;
    let mut sums: BTreeMap<[&str; 3], u64> = BTreeMap::new();
    for row in rows.iter().chain(unmounted).filter(|row| row.state == state) {
        let method = row.place.split('(').next().unwrap_or_default();
        let own = if row.own.starts_with(&row.place) { "" } else { &row.own };
        let sum = sums.entry([method, &row.calls, own]).or_default();
        *sum = sum.saturating_add(row.wall_ns);
    }
    let all_ns = sums.values().fold(0u64, |sum, ns| sum.saturating_add(*ns));
    let known = sums.into_iter().filter(|([place, ..], _)| !place.is_empty());
    // Of equal ones the first by name.
    match known.rev().max_by_key(|(_, ns)| *ns) {
        Some(([place, calls, own], ns)) if is_most(ns, all_ns) => Hottest {
            place: place.to_owned(),
            share: Some(ns as f64 / all_ns as f64),
            calls: calls.to_owned(),
            own: own.to_owned(),
        },
        _ => Hottest::default(),
    }
}
