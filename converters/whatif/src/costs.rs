//! How much of its gaps a thread computed, and how much it rested (in `Thread.sleep`, in
//! a read from a socket, in a page fault), for which there are no records. The rest of a
//! gap, in which the thread waited for a processor, is determined by the replay.

use crate::{
    locks::NONE,
    occupancy::{LONG_NS, Occupancy},
    script::{Script, Step, What},
    tally::Tallies,
    timeline::ThreadSamples,
};

/// The scheduler lets a thread run for some ms, so shorter gaps were hardly ever
/// interrupted by other threads.
const SLICE_NS: f64 = 1_000_000.0;

/// The shares of gaps in which threads computed, or were runnable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shares {
    /// The shares of gaps outside locks, by script.
    pub(crate) outside: Vec<f64>,
    /// The shares of gaps while a lock was held, by the innermost lock.
    pub(crate) inside: Vec<f64>,
    /// The factor for the shares of long gaps, by script.
    pub(crate) long: Vec<f64>,
}

/// How gaps are composed of computing and resting.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    shares: Shares,
    /// By script, for short and for long gaps: the computed time as a part of the runnable
    /// time.
    got: Vec<(f64, f64)>,
    /// The cost of one of the agent's probes, in ns.
    probe_ns: f64,
}

impl Shares {
    /// The same for all: `share` of each gap, multiplied by `long` in long gaps.
    pub(crate) fn uniform(scripts: usize, locks: usize, share: f64, long: f64) -> Shares {
        Shares {
            outside: vec![share; scripts],
            inside: vec![share; locks],
            long: vec![long; scripts],
        }
    }

    /// From samples: by script outside locks, by lock while one was held. `None` if
    /// threads were not sampled often enough.
    pub(crate) fn seen(sampled: &[ThreadSamples], locks: usize) -> Option<Shares> {
        let all = Tallies::sum(sampled.iter().map(|of| &of.tallies));
        let (outside_all, inside_all) = (all.of(NONE), all.inside());
        let mut any = outside_all;
        any.add(inside_all);
        let any = any.share()?;
        let outside_all = outside_all.share().unwrap_or(any);
        let inside_all = inside_all.share().unwrap_or(any);
        let of_group = |group: u32| {
            let alike = sampled.iter().filter(move |of| of.group == group);
            Tallies::sum(alike.map(|of| &of.tallies)).of(NONE).share()
        };
        let outside = sampled.iter().map(|of| {
            let own = of.tallies.of(NONE).share();
            own.or_else(|| of_group(of.group)).unwrap_or(outside_all)
        });
        let outside = outside.collect();
        let of_lock = |lock: u32| all.of(lock).share().unwrap_or(inside_all);
        let inside = (0..locks as u32).map(of_lock).collect();
        // A thread that was never seen did nothing for long.
        let long = sampled.iter().map(|of| if of.wall_ns == 0 { 0.0 } else { 1.0 }).collect();
        Some(Shares { outside, inside, long })
    }

    fn of(&self, script: usize, step: &Step) -> f64 {
        let share = match step.lock {
            NONE => self.outside.get(script),
            lock => self.inside.get(lock as usize),
        };
        let long = match step.amount >= LONG_NS {
            true => self.long.get(script).copied().unwrap_or(1.0),
            false => 1.0,
        };
        (share.copied().unwrap_or(1.0) * long).clamp(0.0, 1.0)
    }
}

/// How long a script was runnable, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct RunnableTime {
    /// In short gaps.
    short_ns: f64,
    long_ns: f64,
    /// The length of all its gaps and waits.
    all_ns: f64,
    /// The length of the gaps that occupancy covers, and of the runnable time in them.
    counted_ns: f64,
    of_counted_ns: f64,
}

impl RunnableTime {
    fn of(nth: usize, script: &Script, shares: &Shares) -> RunnableTime {
        let mut wanted = RunnableTime::default();
        for step in &script.steps {
            match step.what {
                What::Gap => {}
                What::Wait => {
                    wanted.all_ns += step.amount as f64;
                    continue;
                }
                What::Acquire | What::Release => continue,
            }
            let ns = step.amount as f64 * shares.of(nth, step);
            wanted.all_ns += step.amount as f64;
            if step.amount < LONG_NS {
                wanted.counted_ns += step.amount as f64;
                wanted.of_counted_ns += ns;
            }
            match ns < SLICE_NS {
                true => wanted.short_ns += ns,
                false => wanted.long_ns += ns,
            }
        }
        wanted
    }

    fn ns(&self) -> f64 {
        self.short_ns + self.long_ns
    }

    /// The computed parts of short and long gaps, given the total: short ones were not
    /// interrupted.
    fn got(&self, ns: f64) -> (f64, f64) {
        let short = if self.short_ns > ns { ns / self.short_ns } else { 1.0 };
        let left_ns = (ns - self.short_ns * short).max(0.0);
        let long = if self.long_ns > 0.0 { (left_ns / self.long_ns).min(1.0) } else { 1.0 };
        (short, long)
    }
}

impl Costs {
    /// From the shares, and how many threads wanted how many processors at the same time.
    /// If threads were `sampled`, the CPU time of each is known; otherwise all of them got
    /// the same part of the time that they were runnable.
    pub(crate) fn new(
        shares: Shares,
        scripts: &[Script],
        sampled: Option<&[ThreadSamples]>,
        (occupancy, processors): (&Occupancy, Option<u32>),
        probe_ns: f64,
    ) -> Costs {
        let of_script = scripts.iter().enumerate();
        let wanted: Vec<RunnableTime> =
            of_script.map(|(nth, script)| RunnableTime::of(nth, script, &shares)).collect();
        let wanted_ns: f64 = wanted.iter().map(|of| of.of_counted_ns).sum();
        let gaps_ns: f64 = wanted.iter().map(|of| of.counted_ns).sum();
        let mean = if gaps_ns > 0.0 { wanted_ns / gaps_ns } else { 1.0 };
        let (unlimited_ns, limited_ns) =
            (occupancy.capacity_ns(mean, None), occupancy.capacity_ns(mean, processors));
        let part = if unlimited_ns > 0.0 { limited_ns / unlimited_ns } else { 1.0 };
        let computed = |nth: usize, of: &RunnableTime| {
            let sampled = sampled?.get(nth).filter(|of| of.wall_ns != 0)?;
            let share = sampled.cpu_ns as f64 / sampled.wall_ns as f64;
            Some((share * of.all_ns).min(of.ns()))
        };
        let known_ns: Vec<Option<f64>> =
            wanted.iter().enumerate().map(|(nth, of)| computed(nth, of)).collect();
        // If the processors could have done more, other programs used them: so they are
        // slower in the replay, too.
        let of_known = wanted.iter().zip(&known_ns).filter(|(_, ns)| ns.is_some());
        let could_ns: f64 = of_known.map(|(of, _)| of.ns() * part).sum();
        let did_ns: f64 = known_ns.iter().flatten().sum();
        let slower = if did_ns > 0.0 { (could_ns / did_ns).max(1.0) } else { 1.0 };
        let got = wanted.iter().zip(&known_ns).map(|(of, known_ns)| {
            of.got(known_ns.map_or(of.ns() * part, |ns| (ns * slower).min(of.ns())))
        });
        let got = got.collect();
        Costs { shares, got, probe_ns }
    }

    /// The same with the agent's probes.
    pub(crate) fn with_probes(&self) -> Costs {
        Costs { probe_ns: 0.0, ..self.clone() }
    }

    /// The same if computing took only this part of the time.
    pub(crate) fn quicker(&self, part: f64) -> Costs {
        let got = self.got.iter().map(|(short, long)| (short * part, long * part)).collect();
        Costs { got, ..self.clone() }
    }

    /// The time of a gap on a processor, and the time in which the thread rests, in ns.
    #[inline]
    pub(crate) fn split(&self, script: usize, step: &Step) -> (f64, f64) {
        let whole_ns = step.amount as f64;
        let wanted_ns = whole_ns * self.shares.of(script, step);
        let (short, long) = self.got.get(script).copied().unwrap_or((1.0, 1.0));
        let got = if wanted_ns < SLICE_NS { short } else { long };
        let probes_ns = self.probe_ns * f64::from(step.probes);
        ((wanted_ns * got - probes_ns).max(0.0), whole_ns - wanted_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{tally::SnapshotTally, timeline::Gap};

    fn gap(lock: u32, amount: u64) -> Step {
        Step { what: What::Gap, is_shared: false, probes: 0, lock, amount }
    }

    fn scripts(lengths: &[&[u64]]) -> (Vec<Script>, Occupancy) {
        let mut gaps = Vec::new();
        let scripts = lengths.iter().map(|lengths| {
            let mut at_ns = 0;
            for &ns in *lengths {
                gaps.push(Gap { start_ns: at_ns, end_ns: at_ns + ns, lock: NONE });
                at_ns += ns;
            }
            let steps = lengths.iter().map(|&ns| gap(NONE, ns)).collect();
            Script { steps, threads: vec![1] }
        });
        let scripts = scripts.collect();
        (scripts, Occupancy::new(gaps.iter()))
    }

    #[test]
    fn who_waits_for_a_processor_does_not_compute() {
        // Four threads on two processors: half of what they wanted.
        let line: &[u64] = &[10_000_000; 4];
        let (scripts, occupancy) = scripts(&[line, line, line, line]);
        let costs = |processors| {
            let shares = Shares::uniform(4, 0, 1.0, 1.0);
            Costs::new(shares, &scripts, None, (&occupancy, processors), 0.0)
        };
        let step = scripts[0].steps[0];
        assert_eq!(costs(Some(2)).split(0, &step), (5_000_000.0, 0.0));
        assert_eq!(costs(Some(4)).split(0, &step), (10_000_000.0, 0.0));
        assert_eq!(costs(None).split(0, &step), (10_000_000.0, 0.0));
    }

    #[test]
    fn short_gaps_are_hardly_ever_interrupted() {
        // Four threads on two processors: each computes for 100 µs and is interrupted
        // for as long now and then.
        let mut line = vec![100_000; 40];
        line.push(4_000_000);
        let (scripts, occupancy) = scripts(&[&line, &line, &line, &line]);
        let shares = Shares::uniform(4, 0, 1.0, 1.0);
        let costs = Costs::new(shares, &scripts, None, (&occupancy, Some(2)), 0.0);
        assert_eq!(costs.split(0, &scripts[0].steps[0]), (100_000.0, 0.0));
        assert_eq!(costs.split(0, &scripts[0].steps[40]), (0.0, 0.0));
    }

    #[test]
    fn probes_and_rest_are_no_work() {
        let (scripts, occupancy) = scripts(&[&[1_000, 2 * LONG_NS]]);
        let shares = Shares::uniform(1, 0, 0.5, 0.25);
        let costs = Costs::new(shares, &scripts, None, (&occupancy, None), 10.0);
        let step = Step { probes: 4, ..scripts[0].steps[0] };
        assert_eq!(costs.split(0, &step), (460.0, 500.0));
        let long = costs.split(0, &scripts[0].steps[1]);
        assert_eq!(long, (LONG_NS as f64 / 4.0, LONG_NS as f64 * 1.75));
    }

    /// By lock: how often threads computed, and rested.
    fn sampled(counts: &[(u32, u64, u64)]) -> ThreadSamples {
        let mut tallies = Tallies::default();
        for &(lock, computes, rests) in counts {
            tallies.add(lock, SnapshotTally { computes, rests });
        }
        ThreadSamples { tallies, wall_ns: 1_000, cpu_ns: 250, group: 0 }
    }

    #[test]
    fn shares_are_what_was_seen() {
        let seen = [
            sampled(&[(NONE, 5, 15), (0, 20, 0)]),
            sampled(&[(NONE, 1, 2), (1, 2, 2)]),
            ThreadSamples { group: 1, ..ThreadSamples::default() },
        ];
        let shares = Shares::seen(&seen, 3).unwrap();
        let all = 6.0 / 23.0;
        assert_eq!(shares.outside, [0.25, all, all], "too few snapshots: as all of them");
        assert_eq!(shares.inside, [1.0, 22.0 / 24.0, 22.0 / 24.0]);
        assert_eq!(shares.long, [1.0, 1.0, 0.0]);
        assert_eq!(Shares::seen(&[sampled(&[(NONE, 4, 5)])], 1), None);
    }

    #[test]
    fn each_thread_has_its_own_cpu_time() {
        // Of two that want two processors, one got a quarter of what it wanted.
        let line: &[u64] = &[10_000_000; 4];
        let (scripts, occupancy) = scripts(&[line, line]);
        let shares = Shares::uniform(2, 0, 1.0, 1.0);
        let whole = ThreadSamples { wall_ns: 1_000, cpu_ns: 1_000, ..ThreadSamples::default() };
        let seen = [whole, sampled(&[])];
        let of = |processors| {
            let world = (&occupancy, Some(processors));
            let costs = Costs::new(shares.clone(), &scripts, Some(&seen), world, 0.0);
            [0, 1].map(|nth| costs.split(nth, &scripts[nth].steps[0]).0)
        };
        // Others had the processors meanwhile: these are slower, by 2 / 1.25.
        assert_eq!(of(2), [10_000_000.0, 4_000_000.0]);
        assert_eq!(of(1), [10_000_000.0, 2_500_000.0]);
    }
}
