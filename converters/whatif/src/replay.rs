//! A recording, replayed with and without a change, in several worlds.

mod resting;

pub(crate) use resting::{LEAST_LOOKS, Looks};

use crate::{
    change::Change,
    costs::{Costs, Shares},
    engine::{Engine, LockChange, Material, ReplayResult, Until, World},
    interval::{Doubt, Interval},
    locks::{Locks, NONE},
    occupancy::Occupancy,
    script::{Script, What},
    timeline::ThreadSamples,
};
use rayon::prelude::*;
use resting::part;
use std::{collections::HashSet, ops::Range, sync::OnceLock};

/// What is known about a recording that can be replayed.
#[derive(Debug)]
pub(crate) struct ReplayInput {
    pub(crate) scripts: Vec<Script>,
    pub(crate) locks: Locks,
    pub(crate) occupancy: Occupancy,
    /// By script: what samples show about its threads.
    pub(crate) sampled: Vec<ThreadSamples>,
    /// The replayed time, monotonic ns.
    pub(crate) time: Range<u64>,
    /// By lock: how often it was taken in that time.
    pub(crate) taken: Vec<u64>,
    /// By lock: how often virtual threads, which cannot be replayed, took it.
    pub(crate) taken_virtually: Vec<u64>,
    /// The CPU time of the program in that time, in ns, if it is known.
    pub(crate) cpu_ns: Option<f64>,
    /// The number of processors, if it is known.
    pub(crate) processors: Option<u32>,
    /// The share of the machine's processors that other programs had, if it is known.
    pub(crate) others: Option<f64>,
    /// The cost of one of the agent's probes, in ns.
    pub(crate) probe_ns: f64,
    /// By lock.
    pub(crate) looks: Vec<Looks>,
    /// If holds are estimated, the frames that took locks, by place.
    pub(crate) places: Option<Vec<String>>,
    /// Parts of the replayed time, as long as each other.
    pub(crate) windows: Vec<ReplayInput>,
    /// The results without a change, in all worlds with the recorded processors.
    pub(crate) unchanged: OnceLock<Vec<ReplayResult>>,
    /// The result without a change in the most likely of them, for those who need no other.
    pub(crate) usual: OnceLock<ReplayResult>,
    /// The same with the agent's probes.
    pub(crate) probed: OnceLock<ReplayResult>,
}

/// A world, and the composition of gaps in it.
struct Scenario {
    world: World,
    costs: Costs,
}

/// The effect of a change on the rate at which locks are taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// The rate afterwards, as a multiple of that before.
    pub(crate) ratio: f64,
    pub(crate) interval: Interval,
    /// The same for the progress of threads that never take one of them; `None` if there
    /// are none.
    pub(crate) others: Option<f64>,
    /// By script: its progress afterwards as a multiple of that before; `None` if there was
    /// none before.
    pub(crate) threads: Vec<Option<f64>>,
    /// How often per second the locks were taken, as recorded, and in the replay without
    /// a change.
    pub(crate) recorded_rate: f64,
    pub(crate) replayed_rate: f64,
    /// How often threads had to continue without a lock.
    pub(crate) forced: u64,
}

/// The time slice of Linux's scheduler on few processors, and other possible ones.
const SLICE_NS: u64 = 3_000_000;
const SHORT_SLICE_NS: u64 = 500_000;
/// A share of the threads' time that matters.
const MATTERS: f64 = 0.01;
/// The changed replay lasts at most this many times as long as the unchanged one.
const MOST_LONGER: u64 = 4;

impl ReplayInput {
    fn duration_ns(&self) -> u64 {
        (self.time.end - self.time.start).max(1)
    }

    /// The worlds to replay in, the most likely first. `processors`: a number other than
    /// the recorded one.
    fn scenarios(&self, processors: Option<u32>) -> Vec<Scenario> {
        let recorded = self.processors.or(processors);
        let world = World {
            processors: processors.or(recorded),
            slice_ns: SLICE_NS,
            handovers: 1.0,
            waits: 1.0,
        };
        let (likeliest, others) = self.shares(recorded);
        let is_sampled = self.is_sampled();
        let costs = |shares: Shares, recorded: Option<u32>| {
            let sampled = is_sampled.then_some(&self.sampled[..]);
            Costs::new(shares, &self.scripts, sampled, (&self.occupancy, recorded), self.probe_ns)
        };
        let usual = costs(likeliest.clone(), recorded);
        let mut all = Vec::new();
        for world in [
            world,
            World { slice_ns: SHORT_SLICE_NS, ..world },
            World { handovers: 0.0, ..world },
            World { handovers: 2.0, ..world },
        ] {
            all.push(Scenario { world, costs: usual.clone() });
        }
        all.extend(others.into_iter().map(|shares| {
            let costs = costs(shares, recorded);
            Scenario { world, costs }
        }));
        // As if whoever waited for a processor looked like computing.
        if let Some(others) = self.others.filter(|&others| others > MATTERS) {
            all.push(Scenario { world, costs: usual.quicker(left(others)) });
        }
        // As few processors as can have done it.
        if let (None, Some(cpu_ns)) = (recorded, self.cpu_ns) {
            let least = (cpu_ns / self.duration_ns() as f64 * 0.95).ceil().clamp(1.0, 1e6) as u32;
            let world = World { processors: Some(least), ..world };
            let costs = costs(likeliest, Some(least));
            all.push(Scenario { world, costs });
        }
        all
    }

    fn material<'m>(&'m self, costs: &'m Costs) -> Material<'m> {
        Material { scripts: &self.scripts, locks: &self.locks.list, costs }
    }

    fn replay_unchanged(&self, scenarios: &[Scenario]) -> Vec<ReplayResult> {
        scenarios.par_iter().map(|scenario| self.replay(scenario)).collect()
    }

    /// Replays without a change.
    fn replay(&self, scenario: &Scenario) -> ReplayResult {
        let until = Until::Time(self.duration_ns());
        Engine::new(self.material(&scenario.costs), scenario.world, None, until).run()
    }

    /// The effect on the changed locks, if they were taken at all. If `processors` is
    /// given, both before and after are replayed on that number.
    pub(crate) fn estimate(
        &self,
        change: Change,
        locks: &[bool],
        reads: &HashSet<u32>,
        processors: Option<u32>,
    ) -> Option<Estimate> {
        let scenarios = self.scenarios(processors);
        let own;
        let before = match processors {
            None => self.unchanged.get_or_init(|| self.replay_unchanged(&scenarios)),
            Some(_) => {
                own = self.replay_unchanged(&scenarios);
                &own
            }
        };
        let changed = LockChange { change, locks, reads };
        let pairs: Vec<(&Scenario, &ReplayResult)> = scenarios.iter().zip(before).collect();
        let replayed: Vec<ReplayResult> = pairs
            .par_iter()
            .map(|(scenario, before)| self.replay_changed(scenario, before, changed, 1.0))
            .collect();
        let ratios = pairs.iter().zip(&replayed);
        let mut ratios: Vec<f64> =
            ratios.filter_map(|((_, before), after)| gain(before, after, locks)).collect();
        let ratio = *ratios.first()?;
        let (first, first_after) = (before.first()?, replayed.first()?);
        if self.waits_share() > MATTERS && ratio > 0.0 {
            // Threads may wait for each other in other ways: less, if everything is faster.
            let usual = scenarios.first()?;
            let quicker = self.replay_changed(usual, first, changed, 1.0 / ratio);
            ratios.push(gain(first, &quicker, locks)?);
        }
        let recorded_rate = self.recorded_rate(locks);
        let replayed_rate = self.checked_rate(&scenarios, first, locks, processors)?;
        // As if everything that the replay does not model disappeared with the change.
        ratios.push(ratio * replayed_rate / recorded_rate);
        if self.places.is_some() {
            ratios.push(ratio * self.unseen_holds(change, locks));
            ratios.push(ratio.min(self.in_one_line(locks)).max(1.0));
        }
        // Less waiting makes nothing slower: if a replay says so, that is only how its
        // threads happen to meet.
        let ratio = ratio.max(1.0);
        let windows = self.in_windows(changed, processors);
        let doubt = Doubt {
            windows: &windows,
            others: self.others.unwrap_or(0.0),
            is_estimated: self.places.is_some(),
        };
        Some(Estimate {
            ratio,
            interval: Interval::covering(&ratios).widened(ratio, &doubt),
            threads: self.threads(first, first_after),
            others: self.others(locks, first, first_after),
            recorded_rate,
            replayed_rate,
            forced: first.forced.max(first_after.forced),
        })
    }

    /// Replays with a change until the locks have been taken as often as without.
    fn replay_changed(
        &self,
        scenario: &Scenario,
        before: &ReplayResult,
        changed: LockChange<'_>,
        waits: f64,
    ) -> ReplayResult {
        let (taken, _) = count(before, changed.locks);
        let until = Until::Taken(taken, self.duration_ns().saturating_mul(MOST_LONGER));
        let world = World { waits, ..scenario.world };
        Engine::new(self.material(&scenario.costs), world, Some(changed), until).run()
    }

    /// The effect in each part of the time, in the most likely world.
    fn in_windows(&self, changed: LockChange<'_>, processors: Option<u32>) -> Vec<f64> {
        let ratio = |window: &ReplayInput| window.usual_gain(changed, changed.locks, processors);
        self.windows.par_iter().filter_map(ratio).collect()
    }

    /// The effect of a change of some locks on the rate at which all `counted` ones are taken, in
    /// the most likely world.
    pub(crate) fn usual_gain(
        &self,
        changed: LockChange<'_>,
        counted: &[bool],
        processors: Option<u32>,
    ) -> Option<f64> {
        let usual = self.scenarios(processors).into_iter().next()?;
        let replay = || self.replay(&usual);
        let own;
        let before = match (processors, self.unchanged.get().and_then(|all| all.first())) {
            (None, Some(before)) => before,
            // It is the same for all changes.
            (None, None) => self.usual.get_or_init(replay),
            (Some(_), _) => {
                own = replay();
                &own
            }
        };
        let after = self.replay_changed(&usual, before, changed, 1.0);
        gain(before, &after, counted)
    }

    /// The least gain if all that threads do without these locks were done with another one, for
    /// which nobody could wait before: so it is not known that there is none.
    fn in_one_line(&self, locks: &[bool]) -> f64 {
        let (by_lock, outside_ns) = self.short_gaps();
        let others = by_lock.iter().zip(locks).filter(|it| !it.1).map(|it| it.0);
        self.duration_ns() as f64 / (others.sum::<f64>() + outside_ns).max(1.0)
    }

    /// By how much more a change of estimated holds may gain: all of the time in which nobody
    /// waited for the locks, somebody may have held them, which is shorter then, too.
    fn unseen_holds(&self, change: Change, locks: &[bool]) -> f64 {
        let Change::Hold { divisor } = change else { return 1.0 };
        let looks = self.looks.iter().zip(locks).filter(|it| *it.1);
        let unwaited_ns: u64 =
            looks.map(|it| self.duration_ns().saturating_sub(it.0.waited_ns)).sum();
        let (by_lock, outside_ns) = self.short_gaps();
        let all_ns = by_lock.iter().sum::<f64>() + outside_ns;
        let share = part((unwaited_ns as f64).min(outside_ns), all_ns);
        1.0 / (1.0 - share * (1.0 - 1.0 / divisor))
    }

    /// How often per second the locks were taken.
    pub(crate) fn recorded_rate(&self, locks: &[bool]) -> f64 {
        let taken = self.taken.iter().zip(locks).filter(|it| *it.1).map(|it| *it.0);
        taken.sum::<u64>() as f64 * 1e9 / self.duration_ns() as f64
    }

    /// The same in a replay of the whole recording: with the agent's probes, and on the
    /// recorded processors.
    fn checked_rate(
        &self,
        scenarios: &[Scenario],
        first: &ReplayResult,
        locks: &[bool],
        processors: Option<u32>,
    ) -> Option<f64> {
        let is_as_recorded = processors.is_none() || processors == self.processors;
        let usual = scenarios.first()?;
        if is_as_recorded && self.probe_ns == 0.0 {
            return rate(first, locks);
        }
        let recorded = self.processors.or(processors);
        let costs = usual.costs.with_probes();
        let world = World { processors: recorded, ..usual.world };
        let replay = || self.replay(&Scenario { world, costs });
        match processors {
            None => rate(self.probed.get_or_init(replay), locks),
            Some(_) => rate(&replay(), locks),
        }
    }

    /// The share of their time in which threads that take locks waited for other things.
    fn waits_share(&self) -> f64 {
        let (mut waits_ns, mut all_ns) = (0u64, 0u64);
        for script in &self.scripts {
            if !script.takes_locks() {
                continue;
            }
            for step in &script.steps {
                match step.what {
                    What::Wait if step.lock == NONE => waits_ns += step.amount,
                    What::Wait | What::Gap => {}
                    What::Acquire | What::Release => continue,
                }
                all_ns += step.amount;
            }
        }
        if all_ns == 0 { 0.0 } else { waits_ns as f64 / all_ns as f64 }
    }

    /// The effect on each script.
    fn threads(&self, before: &ReplayResult, after: &ReplayResult) -> Vec<Option<f64>> {
        let done = before.done_ns.iter().zip(&after.done_ns);
        done.map(|(&done_before, &done_after)| progress((before, done_before), (after, done_after)))
            .collect()
    }

    /// The effect on threads that never take one of the locks.
    fn others(&self, locks: &[bool], before: &ReplayResult, after: &ReplayResult) -> Option<f64> {
        let takes = |script: &Script| {
            let mut of = script.steps.iter().filter(|step| step.what != What::Gap);
            of.any(|step| locks.get(step.lock as usize) == Some(&true))
        };
        let of_others = |done_ns: &[f64]| -> f64 {
            let others = self.scripts.iter().zip(done_ns);
            others.filter(|it| !takes(it.0) && it.0.takes_locks()).map(|it| it.1).sum()
        };
        progress((before, of_others(&before.done_ns)), (after, of_others(&after.done_ns)))
    }
}

/// The part of the processors that other programs left, but for what nobody knows anything of.
fn left(others: f64) -> f64 {
    (1.0 - others).max(0.1)
}

/// How much faster something progresses; `None` if it did not before.
fn progress(before: (&ReplayResult, f64), after: (&ReplayResult, f64)) -> Option<f64> {
    let rate = |(replayed, done_ns): (&ReplayResult, f64)| done_ns / replayed.ns as f64;
    (before.1 > 0.0 && after.0.ns != 0).then(|| rate(after) / rate(before))
}

/// The rate at which locks are taken after a change, as a multiple of that before.
fn gain(before: &ReplayResult, after: &ReplayResult, locks: &[bool]) -> Option<f64> {
    Some(rate(after, locks)? / rate(before, locks)?)
}

/// How often the locks were taken in a replay, and when for the last time, in ns.
fn count(replayed: &ReplayResult, locks: &[bool]) -> (u64, u64) {
    let of = replayed.taken.iter().zip(&replayed.last_ns).zip(locks).filter(|it| *it.1);
    of.fold((0, 0), |(taken, last_ns), ((more, last), _)| (taken + more, last_ns.max(*last)))
}

/// The rate per second.
fn rate(replayed: &ReplayResult, locks: &[bool]) -> Option<f64> {
    let (taken, last_ns) = count(replayed, locks);
    (taken != 0).then(|| taken as f64 * 1e9 / last_ns.max(1) as f64)
}
