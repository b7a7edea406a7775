//! Where threads rest, and where they compute, as far as a recording tells.

use super::ReplayInput;
use crate::{
    costs::Shares,
    occupancy::LONG_NS,
    script::{Step, What},
};

/// If a larger share than this of gaps is spent on processors, it does not matter where
/// threads rest.
const ALL: f64 = 0.97;
/// What was seen of the owners of a lock while others waited for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looks {
    pub(crate) count: u64,
    /// For how much wait they computed, and rested, in ns.
    pub(crate) computes_ns: u64,
    pub(crate) rests_ns: u64,
    /// How long anybody waited, in ns.
    pub(crate) waited_ns: u64,
}

impl Looks {
    /// The share of the time in which an owner computed; `None` if it is not known.
    pub(crate) fn computes(&self) -> Option<f64> {
        let known_ns = self.computes_ns.saturating_add(self.rests_ns);
        let is_known = self.count >= LEAST_LOOKS && known_ns != 0;
        is_known.then(|| self.computes_ns as f64 / known_ns as f64)
    }
}

/// Fewer looks at the owners of a lock tell nothing.
pub(crate) const LEAST_LOOKS: u64 = 10;

impl ReplayInput {
    /// Whether the threads were sampled often enough to know where they rest.
    pub(crate) fn is_sampled(&self) -> bool {
        Shares::seen(&self.sampled, self.locks.list.len()).is_some()
    }

    /// The shares of their gaps in which threads computed: the most likely ones, and other
    /// possible ones.
    pub(crate) fn shares(&self, processors: Option<u32>) -> (Shares, Vec<Shares>) {
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
        if let Some(seen) = self.shares_of_looks(share, long) {
            return (seen, Vec::new());
        }
        // As much resting as possible while holding locks, and as much as possible outside.
        let (by_lock, outside_ns) = self.short_gaps();
        let inside_ns: f64 = by_lock.iter().sum();
        let wanted_ns = share * (inside_ns + outside_ns);
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

    /// The same where looks tell what owners did while they held locks: the rest of the CPU time
    /// was used outside. `share`, `long`: what they are on average.
    fn shares_of_looks(&self, share: f64, long: f64) -> Option<Shares> {
        self.looks.iter().find_map(Looks::computes)?;
        let inside: Vec<f64> =
            self.looks.iter().map(|looks| looks.computes().unwrap_or(share)).collect();
        let (by_lock, outside_ns) = self.short_gaps();
        let all_ns = by_lock.iter().sum::<f64>() + outside_ns;
        let inside_ns: f64 = by_lock.iter().zip(&inside).map(|(ns, share)| ns * share).sum();
        let outside = part(share * all_ns - inside_ns, outside_ns);
        let scripts = self.scripts.len();
        Some(Shares { outside: vec![outside; scripts], inside, long: vec![long; scripts] })
    }

    /// The total length of short gaps, by lock while one was held, and outside, in ns.
    pub(crate) fn short_gaps(&self) -> (Vec<f64>, f64) {
        let (mut by_lock, mut outside_ns) = (vec![0.0; self.locks.list.len()], 0.0);
        let steps = self.scripts.iter().flat_map(|script| &script.steps);
        let is_short = |step: &&Step| step.what == What::Gap && step.amount < LONG_NS;
        for step in steps.filter(is_short) {
            let sum = by_lock.get_mut(step.lock as usize).unwrap_or(&mut outside_ns);
            *sum += step.amount as f64;
        }
        (by_lock, outside_ns)
    }
}

/// A part of a whole.
pub(crate) fn part(of_ns: f64, whole_ns: f64) -> f64 {
    if whole_ns > 0.0 { (of_ns / whole_ns).clamp(0.0, 1.0) } else { 0.0 }
}
