//! A recording, replayed with and without a change, in several worlds.

use crate::{
    change::Change,
    costs::{Costs, Shares},
    engine::{Changed, Engine, Material, Replayed, Until, World},
    locks::{Locks, NONE},
    occupancy::Occupancy,
    script::{Script, What},
    timeline::Sampled,
};
use rayon::prelude::*;
use std::{collections::HashSet, ops::Range, sync::OnceLock};

/// What is known about a recording that can be replayed.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) scripts: Vec<Script>,
    pub(crate) locks: Locks,
    pub(crate) occupancy: Occupancy,
    /// By script: what samples show about its threads.
    pub(crate) sampled: Vec<Sampled>,
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
    /// The cost of one of the agent's probes, in ns.
    pub(crate) probe_ns: f64,
    /// The results without a change, in all worlds with the recorded processors.
    pub(crate) unchanged: OnceLock<Vec<Replayed>>,
}

/// A world, and the composition of gaps in it.
struct Scenario {
    world: World,
    costs: Costs,
}

/// The effect of a change on the rate at which locks are taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    /// The rate afterwards, as a multiple of that before.
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
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
/// If a larger share than this of gaps is spent on processors, it does not matter where
/// threads rest.
const ALL: f64 = 0.97;
/// A share of the threads' time that matters.
const MATTERS: f64 = 0.01;
/// No figure is more accurate than this.
const LEAST_DOUBT: f64 = 0.02;
/// The changed replay lasts at most this many times as long as the unchanged one.
const MOST_LONGER: u64 = 4;

impl Recorded {
    fn duration_ns(&self) -> u64 {
        (self.time.end - self.time.start).max(1)
    }

    /// Whether the threads were sampled often enough to know where they rest.
    pub(crate) fn is_sampled(&self) -> bool {
        Shares::seen(&self.sampled, self.locks.list.len()).is_some()
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
        // As few processors as can have done it.
        if let (None, Some(cpu_ns)) = (recorded, self.cpu_ns) {
            let least = (cpu_ns / self.duration_ns() as f64 * 0.95).ceil().clamp(1.0, 1e6) as u32;
            let world = World { processors: Some(least), ..world };
            let costs = costs(likeliest, Some(least));
            all.push(Scenario { world, costs });
        }
        all
    }

    /// The shares of their gaps in which threads computed: the most likely ones, and other
    /// possible ones.
    fn shares(&self, processors: Option<u32>) -> (Shares, Vec<Shares>) {
        let (scripts, locks) = (self.scripts.len(), self.locks.list.len());
        if let Some(seen) = Shares::seen(&self.sampled, locks) {
            return (seen, Vec::new());
        }
        let Some(cpu_ns) = self.cpu_ns else {
            return (Shares::uniform(scripts, locks, 1.0, 1.0), Vec::new());
        };
        let share = self.occupancy.share(cpu_ns, processors);
        let left_ns = cpu_ns - self.occupancy.capacity_ns(share, processors);
        let long = match self.occupancy.long_ns {
            0 => 1.0,
            ns => (left_ns.max(0.0) / ns as f64).min(1.0) / share.max(1e-9),
        };
        let likeliest = Shares::uniform(scripts, locks, share, long);
        if share >= ALL {
            return (likeliest, Vec::new());
        }
        // As much resting as possible while holding locks, and as much as possible outside.
        let (inside_ns, outside_ns) = self.short_gaps();
        let wanted_ns = share * (inside_ns + outside_ns);
        let part = |of_ns: f64, whole_ns: f64| {
            if whole_ns > 0.0 { (of_ns / whole_ns).clamp(0.0, 1.0) } else { 0.0 }
        };
        let shared = |inside: f64, outside: f64| Shares {
            outside: vec![outside; scripts],
            inside: vec![inside; locks],
            long: vec![0.0; scripts],
        };
        let inside = part(wanted_ns, inside_ns);
        let outside = part(wanted_ns, outside_ns);
        let others = vec![
            shared(inside, part(wanted_ns - inside * inside_ns, outside_ns)),
            shared(part(wanted_ns - outside * outside_ns, inside_ns), outside),
        ];
        (likeliest, others)
    }

    /// The total length of short gaps, while holding locks and outside, in ns.
    fn short_gaps(&self) -> (f64, f64) {
        let steps = self.scripts.iter().flat_map(|script| &script.steps);
        let short =
            steps.filter(|step| step.what == What::Gap && step.amount < crate::occupancy::LONG_NS);
        short.fold((0.0, 0.0), |(inside, outside), step| match step.lock {
            NONE => (inside, outside + step.amount as f64),
            _ => (inside + step.amount as f64, outside),
        })
    }

    fn material<'m>(&'m self, costs: &'m Costs) -> Material<'m> {
        Material { scripts: &self.scripts, locks: &self.locks.list, costs }
    }

    fn replay_unchanged(&self, scenarios: &[Scenario]) -> Vec<Replayed> {
        let until = Until::Time(self.duration_ns());
        let replay =
            |of: &Scenario| Engine::new(self.material(&of.costs), of.world, None, until).run();
        scenarios.par_iter().map(replay).collect()
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
        let changed = Changed { change, locks, reads };
        let after = |scenario: &Scenario, before: &Replayed, waits: f64| {
            let (taken, _) = count(before, locks);
            let until = Until::Taken(taken, self.duration_ns().saturating_mul(MOST_LONGER));
            let world = World { waits, ..scenario.world };
            Engine::new(self.material(&scenario.costs), world, Some(changed), until).run()
        };
        let pairs: Vec<(&Scenario, &Replayed)> = scenarios.iter().zip(before).collect();
        let replayed: Vec<Replayed> =
            pairs.par_iter().map(|(scenario, before)| after(scenario, before, 1.0)).collect();
        let ratios = pairs
            .iter()
            .zip(&replayed)
            .filter_map(|((_, before), after)| Some(rate(after, locks)? / rate(before, locks)?));
        let mut ratios: Vec<f64> = ratios.collect();
        let ratio = *ratios.first()?;
        let (first, first_after) = (before.first()?, replayed.first()?);
        if self.waits_share() > MATTERS && ratio > 0.0 {
            // Threads may wait for each other in other ways: less, if everything is faster.
            let quicker = after(scenarios.first()?, first, 1.0 / ratio);
            ratios.push(rate(&quicker, locks)? / rate(first, locks)?);
        }
        let recorded_rate = self.recorded_rate(locks);
        let replayed_rate = self.checked_rate(&scenarios, first, locks, processors)?;
        // As if everything that the replay does not model disappeared with the change.
        ratios.push(ratio * replayed_rate / recorded_rate);
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        Some(Estimate {
            // Less waiting makes nothing slower: if a replay says so, that is only how its
            // threads happen to meet.
            ratio: ratio.max(1.0),
            low: low.min(ratio * (1.0 - LEAST_DOUBT)),
            high: high.max(ratio.max(1.0) * (1.0 + LEAST_DOUBT)),
            threads: self.threads(first, first_after),
            others: self.others(locks, first, first_after),
            recorded_rate,
            replayed_rate,
            forced: first.forced.max(first_after.forced),
        })
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
        first: &Replayed,
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
        let until = Until::Time(self.duration_ns());
        rate(&Engine::new(self.material(&costs), world, None, until).run(), locks)
    }

    /// The share of their time in which threads that take locks waited for other things.
    fn waits_share(&self) -> f64 {
        let (mut waits_ns, mut all_ns) = (0u64, 0u64);
        for script in &self.scripts {
            if !script.steps.iter().any(|step| step.what == What::Acquire) {
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
    fn threads(&self, before: &Replayed, after: &Replayed) -> Vec<Option<f64>> {
        let of = before.done_ns.iter().zip(&after.done_ns).map(|(&done_before, &done_after)| {
            let (before_ns, after_ns) = (before.ns as f64, after.ns as f64);
            (done_before > 0.0 && after_ns > 0.0)
                .then(|| done_after / after_ns / (done_before / before_ns))
        });
        of.collect()
    }

    /// The effect on threads that never take one of the locks.
    fn others(&self, locks: &[bool], before: &Replayed, after: &Replayed) -> Option<f64> {
        let takes = |script: &Script| {
            let mut of = script.steps.iter().filter(|step| step.what != What::Gap);
            of.any(|step| locks.get(step.lock as usize) == Some(&true))
        };
        let takes_any =
            |script: &Script| script.steps.iter().any(|step| step.what == What::Acquire);
        let (mut done_before, mut done_after) = (0.0, 0.0);
        for (nth, script) in self.scripts.iter().enumerate() {
            if !takes(script) && takes_any(script) {
                done_before += before.done_ns.get(nth).copied().unwrap_or(0.0);
                done_after += after.done_ns.get(nth).copied().unwrap_or(0.0);
            }
        }
        let (before_ns, after_ns) = (before.ns as f64, after.ns as f64);
        (done_before > 0.0 && after_ns > 0.0)
            .then(|| done_after / after_ns / (done_before / before_ns))
    }
}

/// How often the locks were taken in a replay, and when for the last time, in ns.
fn count(replayed: &Replayed, locks: &[bool]) -> (u64, u64) {
    let of = replayed.taken.iter().zip(&replayed.last_ns).zip(locks).filter(|it| *it.1);
    of.fold((0, 0), |(taken, last_ns), ((more, last), _)| (taken + more, last_ns.max(*last)))
}

/// The rate per second.
fn rate(replayed: &Replayed, locks: &[bool]) -> Option<f64> {
    let (taken, last_ns) = count(replayed, locks);
    (taken != 0).then(|| taken as f64 * 1e9 / last_ns.max(1) as f64)
}
