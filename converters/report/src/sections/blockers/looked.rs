//! What follows from looks at random moments: how much was seen of who had locks, and how far
//! what is charged may be off.

use super::chance::error_ns;
use crate::sections::{charged::WaiterKey, shared::share};
use std::collections::{BTreeMap, BTreeSet};
use tyrion_model::profile::{BlameRow, Profile};
use tyrion_wire::WaitKind;

/// What was seen of some waits, in ns.
#[derive(Clone, Copy, Default)]
pub(super) struct LookTotals {
    /// So much nobody had the lock; that is charged to those that were seen to have it, where
    /// there are any.
    pub free_ns: u64,
    /// For so much it was not seen which thread had it.
    pub thread_unseen_ns: u64,
    /// For so much it was not seen what code had it, or which thread.
    pub code_unseen_ns: u64,
    /// What is charged to threads and to code, and the squares of what each look stands for
    /// in which they were seen, in ns².
    of_threads: (u64, f64),
    of_code: (u64, f64),
}

impl LookTotals {
    fn of(profile: &Profile, blame: &BlameRow) -> LookTotals {
        let free_ns = blame.free_ns.min(blame.blamed_ns);
        let held_ns = blame.blamed_ns - free_ns;
        let sums = (blame.blamed_ns, (blame.error_ns as f64).powi(2));
        let (thread, code) = (is_thread_unseen(profile, blame), is_code_unseen(profile, blame));
        LookTotals {
            free_ns,
            thread_unseen_ns: if thread { held_ns } else { 0 },
            code_unseen_ns: if code { held_ns } else { 0 },
            of_threads: if thread { (0, 0.0) } else { sums },
            of_code: if code { (0, 0.0) } else { sums },
        }
    }

    fn add(&mut self, other: LookTotals) {
        for (sum, more) in [
            (&mut self.free_ns, other.free_ns),
            (&mut self.thread_unseen_ns, other.thread_unseen_ns),
            (&mut self.code_unseen_ns, other.code_unseen_ns),
            (&mut self.of_threads.0, other.of_threads.0),
            (&mut self.of_code.0, other.of_code.0),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.of_threads.1 += other.of_threads.1;
        self.of_code.1 += other.of_code.1;
    }

    /// How far what is charged to some threads may be off, in ns: their variance, and what
    /// follows from that which was not seen.
    pub(super) fn error_of_threads(&self, charged_ns: u64) -> (f64, u64) {
        let (all_ns, squares) = self.of_threads;
        let part = share(charged_ns, all_ns).min(1.0);
        let lacking_ns = self.lacking_ns(self.thread_unseen_ns, part, squares, charged_ns);
        (part * (1.0 - part) * squares, lacking_ns)
    }

    /// The same of some code, in ns. The looks in which it was seen have these `squares`.
    pub(super) fn error_of_code(&self, charged_ns: u64, squares: f64) -> u64 {
        let (all_ns, all) = self.of_code;
        let part = share(charged_ns, all_ns).min(1.0);
        let variance = (1.0 - part).powi(2) * squares + part.powi(2) * (all - squares).max(0.0);
        let lacking_ns = self.lacking_ns(self.code_unseen_ns, part, all, charged_ns);
        error_ns(variance, charged_ns).saturating_add(lacking_ns)
    }

    /// Of what was not seen, all may be theirs. Of what nobody had, as much as the smaller
    /// part; and all, if nobody was seen here and it is charged by what was seen elsewhere.
    fn lacking_ns(&self, unseen_ns: u64, part: f64, squares: f64, charged_ns: u64) -> u64 {
        let of_free = match squares > 0.0 {
            true => (2.0 * self.free_ns as f64 * part.min(1.0 - part).max(0.0)) as u64,
            false => charged_ns,
        };
        unseen_ns.saturating_add(of_free)
    }
}

/// What was seen of all waits.
#[derive(Default)]
pub(super) struct AllLooks(BTreeMap<WaiterKey, LookTotals>);

impl AllLooks {
    pub(super) fn add(&mut self, awaited: WaiterKey, profile: &Profile, blame: &BlameRow) {
        self.0.entry(awaited).or_default().add(LookTotals::of(profile, blame));
    }

    pub(super) fn of(&self, awaited: &WaiterKey) -> Option<LookTotals> {
        self.0.get(awaited).copied()
    }

    pub(super) fn of_lock(&self, lock: (u32, WaitKind)) -> Option<LookTotals> {
        let of_lock = self.0.iter().filter(|((_, group, kind), _)| (*group, *kind) == lock);
        of_lock.map(|(_, seen)| *seen).reduce(|mut sum, seen| {
            sum.add(seen);
            sum
        })
    }

    pub(super) fn all(&self) -> LookTotals {
        let mut sum = LookTotals::default();
        self.0.values().for_each(|seen| sum.add(*seen));
        sum
    }

    /// Keeps those of locks of which something was seen. Of a lock whose owners never are, no
    /// wait is known anyway.
    pub(super) fn keep(&mut self, seen: &BTreeSet<(u32, WaitKind)>) {
        self.0.retain(|(_, group, kind), _| seen.contains(&(*group, *kind)));
    }
}

/// Whether it is not known which thread had the lock.
pub(super) fn is_thread_unseen(profile: &Profile, blame: &BlameRow) -> bool {
    let thread = profile.threads.get(blame.thread as usize);
    is_estimated(blame) && thread.is_none_or(|it| it.java_id == 0 && !it.is_virtual)
}

/// Whether it is not known what its code was.
pub(super) fn is_code_unseen(profile: &Profile, blame: &BlameRow) -> bool {
    is_estimated(blame) && profile.frames_of(blame.stack).next().is_none()
}

fn is_estimated(blame: &BlameRow) -> bool {
    blame.answers != 0 || blame.free_ns != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_what_was_not_seen() {
        let seen = LookTotals {
            free_ns: 50,
            thread_unseen_ns: 10,
            code_unseen_ns: 20,
            of_threads: (100, 100.0),
            of_code: (90, 0.0),
        };
        // Half of the wait: what was not seen, and all of what nobody had.
        assert_eq!(seen.error_of_threads(50), (25.0, 60));
        assert_eq!(seen.error_of_threads(100), (0.0, 10), "nobody else was seen");
        // No look has seen code here: what is charged may all be another one's.
        assert_eq!(seen.error_of_code(45, 0.0), 65);
    }
}
