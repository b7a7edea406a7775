//! How much of its gaps a thread spent on a processor, and how much it rested: in
//! `Thread.sleep`, in a read from a socket, in a page fault, of which no record tells.
//! The rest of a gap, in which it waited for a processor, is for the replay to find
//! out.

use crate::{
    locks::NONE,
    occupancy::{LONG_NS, Occupancy},
    script::{Script, Step, What},
    timeline::Tally,
};

/// Fewer snapshots than this say nothing by themselves.
const ENOUGH: u64 = 10;
/// The scheduler lets a thread run for some ms, so whatever is shorter than this was
/// hardly ever interrupted by other threads.
const SLICE_NS: f64 = 1_000_000.0;

/// The shares of gaps in which threads computed, or wanted to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shares {
    /// Of gaps outside of locks, by script.
    pub(crate) outside: Vec<f64>,
    /// Of gaps inside, by the innermost lock.
    pub(crate) inside: Vec<f64>,
    /// What the shares of long gaps are multiplied by.
    pub(crate) long: f64,
}

/// How gaps are made up.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    shares: Shares,
    /// What was computed, as a part of the time in which it was wanted: of short and of
    /// long gaps.
    short: f64,
    long: f64,
    /// What one of the agent's probes took, in ns.
    probe_ns: f64,
}

impl Shares {
    /// The same for all: so much in short gaps, and so much of that in long ones.
    pub(crate) fn uniform(scripts: usize, locks: usize, share: f64, long: f64) -> Shares {
        Shares { outside: vec![share; scripts], inside: vec![share; locks], long }
    }

    /// As threads were seen: by script outside of locks, by lock inside. `None` if they
    /// were not seen often enough.
    pub(crate) fn seen(tallies: &[Vec<Tally>], locks: usize) -> Option<Shares> {
        let all = tallies.iter().flatten();
        let sum = |of: &dyn Fn(u32) -> bool| {
            let counted = all.clone().filter(|tally| of(tally.0));
            counted.fold((0u64, 0u64), |sum, tally| {
                (sum.0.saturating_add(tally.1), sum.1.saturating_add(tally.2))
            })
        };
        let share = |(computes, rests): (u64, u64)| {
            let count = computes.saturating_add(rests);
            (count >= ENOUGH).then(|| computes as f64 / count as f64)
        };
        let any = share(sum(&|_| true))?;
        let outside_all = share(sum(&|lock| lock == NONE)).unwrap_or(any);
        let inside_all = share(sum(&|lock| lock != NONE)).unwrap_or(any);
        let outside = tallies.iter().map(|tallies| {
            let own = tallies.iter().find(|tally| tally.0 == NONE);
            own.and_then(|tally| share((tally.1, tally.2))).unwrap_or(outside_all)
        });
        let outside = outside.collect();
        let mut by_lock = vec![(0u64, 0u64); locks];
        for &(lock, computes, rests) in tallies.iter().flatten() {
            if let Some(sum) = by_lock.get_mut(lock as usize) {
                *sum = (sum.0.saturating_add(computes), sum.1.saturating_add(rests));
            }
        }
        let inside = by_lock.into_iter().map(|sum| share(sum).unwrap_or(inside_all)).collect();
        Some(Shares { outside, inside, long: 1.0 })
    }

    fn of(&self, script: usize, step: &Step) -> f64 {
        let share = match step.lock {
            NONE => self.outside.get(script),
            lock => self.inside.get(lock as usize),
        };
        let long = if step.amount >= LONG_NS { self.long } else { 1.0 };
        (share.copied().unwrap_or(1.0) * long).clamp(0.0, 1.0)
    }
}

impl Costs {
    /// From the shares, and how many threads wanted how many processors at a time.
    pub(crate) fn new(
        shares: Shares,
        scripts: &[Script],
        occupancy: &Occupancy,
        processors: Option<u32>,
        probe_ns: f64,
    ) -> Costs {
        let (mut gaps_ns, mut short_ns, mut long_ns) = (0.0, 0.0, 0.0);
        for (nth, script) in scripts.iter().enumerate() {
            for step in script.steps.iter().filter(|step| step.what == What::Gap) {
                let wanted_ns = step.amount as f64 * shares.of(nth, step);
                gaps_ns += step.amount as f64;
                match wanted_ns < SLICE_NS {
                    true => short_ns += wanted_ns,
                    false => long_ns += wanted_ns,
                }
            }
        }
        let wanted_ns = short_ns + long_ns;
        let mean = if gaps_ns > 0.0 { wanted_ns / gaps_ns } else { 1.0 };
        let (unlimited_ns, limited_ns) =
            (occupancy.capacity_ns(mean, None), occupancy.capacity_ns(mean, processors));
        let got = if unlimited_ns > 0.0 { limited_ns / unlimited_ns } else { 1.0 };
        let got_ns = wanted_ns * got;
        let short = if short_ns > got_ns { got_ns / short_ns } else { 1.0 };
        let long =
            if long_ns > 0.0 { ((got_ns - short_ns * short) / long_ns).max(0.0) } else { 1.0 };
        Costs { shares, short, long, probe_ns }
    }

    /// The same with the agent's probes.
    pub(crate) fn with_probes(&self) -> Costs {
        Costs { probe_ns: 0.0, ..self.clone() }
    }

    /// How long a gap takes on a processor, and how long the thread rests, in ns.
    #[inline]
    pub(crate) fn split(&self, script: usize, step: &Step) -> (f64, f64) {
        let whole_ns = step.amount as f64;
        let wanted_ns = whole_ns * self.shares.of(script, step);
        let got = if wanted_ns < SLICE_NS { self.short } else { self.long };
        let probes_ns = self.probe_ns * f64::from(step.probes);
        ((wanted_ns * got - probes_ns).max(0.0), whole_ns - wanted_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Gap;

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
            Costs::new(shares, &scripts, &occupancy, processors, 0.0)
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
        let costs = Costs::new(shares, &scripts, &occupancy, Some(2), 0.0);
        assert_eq!(costs.split(0, &scripts[0].steps[0]), (100_000.0, 0.0));
        assert_eq!(costs.split(0, &scripts[0].steps[40]), (0.0, 0.0));
    }

    #[test]
    fn probes_and_rest_are_no_work() {
        let (scripts, occupancy) = scripts(&[&[1_000, 2 * LONG_NS]]);
        let shares = Shares::uniform(1, 0, 0.5, 0.25);
        let costs = Costs::new(shares, &scripts, &occupancy, None, 10.0);
        let step = Step { probes: 4, ..scripts[0].steps[0] };
        assert_eq!(costs.split(0, &step), (460.0, 500.0));
        let long = costs.split(0, &scripts[0].steps[1]);
        assert_eq!(long, (LONG_NS as f64 / 4.0, LONG_NS as f64 * 1.75));
    }

    #[test]
    fn shares_are_what_was_seen() {
        let tallies = vec![vec![(NONE, 5, 15), (0, 20, 0)], vec![(NONE, 1, 2), (1, 2, 2)]];
        let shares = Shares::seen(&tallies, 3).unwrap();
        assert_eq!(shares.outside, [0.25, 6.0 / 23.0], "too few snapshots: as all of them");
        assert_eq!(shares.inside, [1.0, 22.0 / 24.0, 22.0 / 24.0]);
        assert_eq!(Shares::seen(&[vec![(NONE, 4, 5)]], 1), None);
    }
}
