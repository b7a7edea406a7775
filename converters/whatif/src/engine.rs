//! The replay: scripts run on processors, take locks, wait for them and rest, in
//! simulated time.
//!
//! Each script begins again when it ends, so that the steady state is replayed; the
//! result is how often locks are taken, and in how much time. A thread that releases a
//! lock wakes the first waiter, which needs some time to wake up, and a processor; until
//! then another thread may take the lock, unless it is fair. HotSpot's monitors and
//! `java.util.concurrent` work like this. A runnable thread waits until a processor is
//! free, or until a running thread has used its slice.
//!
//! The only random choice is that of a stripe, and it is a hash: the same input gives the
//! same figures.

mod locking;
mod queue;
mod running;

use crate::{
    change::Change,
    costs::Costs,
    locks::{Lock, NONE},
    script::{Script, Step, What},
};
use queue::Queue;
use running::{Occasion, Processors, Timer};
use std::collections::HashSet;

/// The input of a replay.
#[derive(Clone, Copy)]
pub(crate) struct Material<'a> {
    pub(crate) scripts: &'a [Script],
    pub(crate) locks: &'a [Lock],
    pub(crate) costs: &'a Costs,
}

/// The assumptions about the machine in a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct World {
    /// The number of processors; `None` for as many as threads.
    pub(crate) processors: Option<u32>,
    /// The time after which a thread lets others run, in ns.
    pub(crate) slice_ns: u64,
    /// The factor for recorded handovers.
    pub(crate) handovers: f64,
    /// The factor for waits for anything but locks.
    pub(crate) waits: f64,
}

/// The change of some of the locks.
#[derive(Clone, Copy)]
pub(crate) struct LockChange<'a> {
    pub(crate) change: Change,
    /// By lock: whether it is changed.
    pub(crate) locks: &'a [bool],
    /// The places that only read.
    pub(crate) reads: &'a HashSet<u32>,
}

/// When a replay ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// At this time, in ns.
    Time(u64),
    /// When the changed locks have been taken this often, or at this time.
    Taken(u64, u64),
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReplayResult {
    /// How long it took, in ns.
    pub(crate) ns: u64,
    /// How often each lock was taken.
    pub(crate) taken: Vec<u64>,
    /// When each lock was taken last, in ns.
    pub(crate) last_ns: Vec<u64>,
    /// The recorded time that each script has gone through, without its current step, in
    /// ns.
    pub(crate) done_ns: Vec<f64>,
    /// How often a thread continued without a lock, because no thread could have continued
    /// otherwise.
    pub(crate) forced: u64,
}

/// The maximum number of steps for each step of the scripts, apart from some more.
const MOST_ROUNDS: u64 = 12;
const MORE_STEPS: u64 = 100_000;
/// A waiter that is woken takes the processor of a thread that has run for this long, ns.
const PREEMPTION_NS: u64 = 1_000_000;

/// The current state of a script.
#[derive(Clone, Debug, Default)]
struct Actor {
    at: usize,
    /// The locks that it holds: the lock in the script, that in the replay or [`NONE`], and
    /// whether it is a changed one.
    held: Vec<(u32, u32, bool)>,
    /// How many of those are changed.
    inside: u32,
    /// The lock that it waits for, in the replay.
    waits_for: Option<u32>,
    /// How long it rests after computing, in ns.
    rest_ns: f64,
    /// The recorded length of its current step, in ns.
    doing_ns: f64,
    /// How many changed locks it has taken.
    striped: u64,
}

/// A replay.
pub(crate) struct Engine<'a> {
    material: Material<'a>,
    world: World,
    changed: Option<LockChange<'a>>,
    until: Until,
    actors: Vec<Actor>,
    queues: Vec<Queue>,
    /// By lock: the index of its first stripe.
    stripes: Vec<u32>,
    processors: Processors,
    steps_left: u64,
    taken: u64,
    is_over: bool,
    replayed: ReplayResult,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        material: Material<'a>,
        world: World,
        changed: Option<LockChange<'a>>,
        until: Until,
    ) -> Engine<'a> {
        let (scripts, locks) = (material.scripts, material.locks);
        let steps: u64 = scripts.iter().map(|script| script.steps.len() as u64).sum();
        let processors = world.processors.map_or(usize::MAX, |count| count as usize);
        let mut engine = Engine {
            material,
            world,
            changed,
            until,
            actors: vec![Actor::default(); scripts.len()],
            queues: locks.iter().map(|lock| Queue::new(lock.sharing, lock.is_fair)).collect(),
            stripes: Vec::new(),
            processors: Processors::new(scripts.len(), processors, world.slice_ns),
            steps_left: steps.saturating_mul(MOST_ROUNDS).saturating_add(MORE_STEPS),
            taken: 0,
            is_over: false,
            replayed: ReplayResult {
                taken: vec![0; locks.len()],
                last_ns: vec![0; locks.len()],
                done_ns: vec![0.0; scripts.len()],
                ..ReplayResult::default()
            },
        };
        engine.change_locks();
        engine
    }

    /// Runs until the end.
    pub(crate) fn run(mut self) -> ReplayResult {
        let most_ns = match self.until {
            Until::Time(ns) | Until::Taken(_, ns) => ns,
        };
        self.processors.all_are_ready();
        while !self.is_over {
            if let Some(actor) = self.processors.next_to_run() {
                self.computed(actor);
                continue;
            }
            match self.processors.next_timer() {
                Some(timer) if timer.at_ns > most_ns => break,
                Some(timer) => self.happens(timer),
                None if self.force_one() => {}
                None => break,
            }
        }
        self.replayed.ns = if self.is_over { self.processors.now_ns() } else { most_ns };
        self.replayed
    }

    fn happens(&mut self, timer: Timer) {
        let actor = timer.actor;
        match timer.occasion {
            Occasion::Rested => self.processors.wants_to_run(actor),
            Occasion::Woken if self.actors[actor as usize].waits_for.is_some() => {
                self.processors.wants_to_run_soon(actor, PREEMPTION_NS);
            }
            Occasion::Woken => {}
            Occasion::Ran => {
                if self.processors.has_finished(actor) {
                    self.computed(actor);
                }
            }
        }
    }

    /// A script has finished computing, if it had to, and is on its processor.
    fn computed(&mut self, actor: u32) {
        let rest_ns = std::mem::take(&mut self.actors[actor as usize].rest_ns);
        match rest_ns > 0.0 {
            true => self.processors.rests(actor, rest_ns),
            false => self.go_on(actor),
        }
    }

    /// Takes the steps of a script that is on a processor, up to one that takes time.
    fn go_on(&mut self, actor: u32) {
        let scripts = self.material.scripts;
        let steps = &scripts[actor as usize].steps;
        let done_ns = std::mem::take(&mut self.actors[actor as usize].doing_ns);
        self.replayed.done_ns[actor as usize] += done_ns;
        while !self.is_over {
            if self.steps_left == 0 {
                self.is_over = true;
                return;
            }
            self.steps_left -= 1;
            let at = self.actors[actor as usize].at;
            let Some(step) = steps.get(at) else {
                self.begins_anew(actor);
                continue;
            };
            match step.what {
                What::Acquire if !self.acquires(actor, step) => {
                    self.processors.gives_up(actor);
                    return;
                }
                What::Acquire => {}
                What::Release => self.releases(actor, step.lock),
                What::Gap | What::Wait => {
                    self.actors[actor as usize].at += 1;
                    if self.spends(actor, step) {
                        return;
                    }
                    continue;
                }
            }
            self.actors[actor as usize].at += 1;
        }
    }

    fn begins_anew(&mut self, actor: u32) {
        while let Some(&(lock, ..)) = self.actors[actor as usize].held.last() {
            self.releases(actor, lock);
        }
        self.actors[actor as usize].at = 0;
    }

    /// Begins a step that takes time: false if it takes none.
    fn spends(&mut self, actor: u32, step: &Step) -> bool {
        let (run_ns, rest_ns) = match step.what {
            What::Wait => (0.0, self.wait_of(actor, step)),
            _ => self.gap_of(actor, step),
        };
        let known = &mut self.actors[actor as usize];
        known.doing_ns = step.amount as f64;
        if run_ns >= 1.0 {
            known.rest_ns = rest_ns;
            self.processors.runs(actor, run_ns);
            return true;
        }
        if rest_ns >= 1.0 {
            self.processors.rests(actor, rest_ns);
            return true;
        }
        false
    }

    /// How long a wait takes, in ns.
    fn wait_of(&mut self, actor: u32, step: &Step) -> f64 {
        if step.lock == NONE {
            return step.amount as f64 * self.world.waits / self.divisor(actor);
        }
        let is_free = self.changed.is_some_and(|of| of.change == Change::Free);
        let is_changed = self.is_changed(step.lock);
        self.counts(step.lock, is_changed);
        if is_changed && is_free { 0.0 } else { step.amount as f64 }
    }

    /// How long a gap takes on a processor and off it, in ns.
    fn gap_of(&self, actor: u32, step: &Step) -> (f64, f64) {
        let (run_ns, rest_ns) = self.material.costs.split(actor as usize, step);
        let divisor = self.divisor(actor);
        (run_ns / divisor, rest_ns / divisor)
    }

    /// The divisor of the time that a script spends now.
    fn divisor(&self, actor: u32) -> f64 {
        match self.changed.map(|of| of.change) {
            Some(Change::Hold { divisor }) if self.actors[actor as usize].inside != 0 => divisor,
            _ => 1.0,
        }
    }

    fn is_changed(&self, lock: u32) -> bool {
        self.changed.is_some_and(|of| of.locks.get(lock as usize) == Some(&true))
    }

    /// Counts that a lock was taken.
    fn counts(&mut self, lock: u32, is_changed: bool) {
        self.replayed.taken[lock as usize] += 1;
        self.replayed.last_ns[lock as usize] = self.processors.now_ns();
        self.taken += u64::from(is_changed);
        if let Until::Taken(wanted, _) = self.until
            && self.taken >= wanted
        {
            self.is_over = true;
        }
    }
}

#[cfg(test)]
mod tests;
