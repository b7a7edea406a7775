//! What a script of a replay does with locks.

use super::{
    Engine,
    queue::{NOBODY, Queue},
};
use crate::{
    change::Change,
    locks::{NONE, Sharing},
    script::Step,
};

/// The duration of a handover if none was recorded.
const HANDOVER_NS: u64 = 20_000;
/// The maximum number of locks with stripes.
const MOST_STRIPES: usize = 1 << 16;
/// The number of owners that are followed to detect a cycle of waiting threads.
const MOST_OWNERS: usize = 64;

impl Engine<'_> {
    /// Applies the change to the locks.
    pub(super) fn change_locks(&mut self) {
        let Some(changed) = self.changed else { return };
        let is_changed = |at: usize| changed.locks.get(at) == Some(&true);
        let locks = self.material.locks;
        match changed.change {
            Change::ReadWrite => {
                for (at, queue) in self.queues.iter_mut().enumerate().filter(|it| is_changed(it.0))
                {
                    *queue = Queue::new(Sharing::ReadWrite, locks[at].is_fair);
                }
            }
            Change::Stripes { count } => {
                self.stripes = vec![0; locks.len()];
                for at in (0..locks.len()).filter(|&at| is_changed(at)) {
                    let room = MOST_STRIPES.saturating_sub(self.queues.len() - locks.len());
                    // Beyond the maximum, locks share the stripes of the first.
                    if room >= count as usize || self.queues.len() == locks.len() {
                        self.stripes[at] = self.queues.len() as u32;
                        let new = Queue::new(locks[at].sharing, locks[at].is_fair);
                        self.queues.extend(std::iter::repeat_n(new, count as usize));
                    } else {
                        self.stripes[at] = locks.len() as u32;
                    }
                }
            }
            Change::Free | Change::Hold { .. } => {}
        }
    }

    /// Takes a lock: false if the script has to wait for it.
    pub(super) fn acquires(&mut self, actor: u32, step: &Step) -> bool {
        let lock = step.lock;
        let is_changed = self.is_changed(lock);
        let change = self.changed.filter(|_| is_changed).map(|of| of.change);
        let mut real = match change {
            Some(Change::Free) => NONE,
            Some(Change::Stripes { count }) => self.stripe(actor, lock, count),
            _ => lock,
        };
        let reads = |place: u64| {
            let place = u32::try_from(place).ok();
            self.changed.is_some_and(|of| place.is_some_and(|place| of.reads.contains(&place)))
        };
        let is_shared = step.is_shared || (change == Some(Change::ReadWrite) && reads(step.amount));
        let known = &self.actors[actor as usize];
        if known.held.iter().any(|held| held.1 == real) {
            // It has it already: a reader that writes, a stripe that serves two locks, or
            // a record that is damaged.
            real = NONE;
        }
        if real != NONE {
            let waited = known.waits_for.is_some();
            let queue = &mut self.queues[real as usize];
            let is_first = waited && queue.is_first(actor);
            if waited {
                queue.is_waking = false;
            }
            if !queue.take(actor, is_shared, is_first) {
                if !waited {
                    queue.wait(actor, is_shared);
                    self.actors[actor as usize].waits_for = Some(real);
                    if !self.is_in_circle(actor) {
                        return false;
                    }
                    self.gives_up_waiting(actor);
                    real = NONE;
                } else {
                    return false;
                }
            }
        }
        let known = &mut self.actors[actor as usize];
        known.waits_for = None;
        known.held.push((lock, real, is_changed));
        known.inside += u32::from(is_changed);
        known.striped += u64::from(is_changed);
        if real != NONE {
            // Others may share it.
            self.wakes(real, lock);
        }
        self.counts(lock, is_changed);
        true
    }

    /// The stripe that a script takes next: the same until it has it.
    fn stripe(&self, actor: u32, lock: u32, count: u32) -> u32 {
        let first = self.stripes.get(lock as usize).copied().unwrap_or(0);
        let nth = self.actors[actor as usize].striped;
        let mixed = mix(nth.wrapping_mul(0x1_0000_0001) ^ u64::from(actor) << 40);
        first + (mixed % u64::from(count)) as u32
    }

    pub(super) fn releases(&mut self, actor: u32, lock: u32) {
        let known = &mut self.actors[actor as usize];
        let Some(at) = known.held.iter().rposition(|held| held.0 == lock) else { return };
        let (_, real, is_changed) = known.held.remove(at);
        known.inside -= u32::from(is_changed);
        if real != NONE {
            self.queues[real as usize].release(actor);
            self.wakes(real, lock);
        }
    }

    /// Wakes the first waiter, if it can have the lock.
    fn wakes(&mut self, real: u32, lock: u32) {
        let queue = &mut self.queues[real as usize];
        let Some(first) = queue.next_to_wake() else { return };
        let recorded = &self.material.locks[lock as usize].handovers_ns;
        let nth = queue.handover;
        queue.handover += 1;
        let ns = match recorded.len() {
            0 => HANDOVER_NS,
            len => recorded[nth % len],
        };
        self.processors.wakes(first, ns as f64 * self.world.handovers);
    }

    /// Whether a script waits for another that waits for it.
    fn is_in_circle(&self, actor: u32) -> bool {
        let mut at = actor;
        for _ in 0..MOST_OWNERS {
            let Some(lock) = self.actors[at as usize].waits_for else { return false };
            at = self.queues[lock as usize].owner();
            match at {
                NOBODY => return false,
                at if at == actor => return true,
                _ => {}
            }
        }
        false
    }

    fn gives_up_waiting(&mut self, actor: u32) {
        if let Some(lock) = self.actors[actor as usize].waits_for.take() {
            self.queues[lock as usize].leave(actor);
        }
        self.replayed.forced += 1;
    }

    /// No script can continue: one of them proceeds without its lock. False if none waits.
    pub(super) fn force_one(&mut self) -> bool {
        let waiting = self.actors.iter().position(|actor| actor.waits_for.is_some());
        let Some(actor) = waiting else { return false };
        let lock = self.actors[actor].waits_for;
        self.gives_up_waiting(actor as u32);
        let known = &mut self.actors[actor];
        if let (Some(step), Some(_)) = (self.material.scripts[actor].steps.get(known.at), lock) {
            known.held.push((step.lock, NONE, false));
            known.at += 1;
        }
        self.processors.wants_to_run(actor as u32);
        true
    }
}

/// A pseudo-random number.
fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
