//! The replay: scripts run on processors, take locks, wait for them and rest, in
//! simulated time.
//!
//! Each script begins anew when it is over, so that all that is replayed is the steady
//! state: what is counted is how often locks are taken, in how much time. Whoever
//! releases a lock wakes the first waiter, which needs some time to wake up, and a
//! processor; until then another thread may come and take the lock, unless it is fair.
//! That is what HotSpot's monitors and `java.util.concurrent` do. A thread that wants a
//! processor waits until one is free, or until one has run for its slice.
//!
//! No chance is involved but that of a stripe, which is a hash: the same material gives
//! the same figures.

mod queue;
mod running;

use crate::{
    change::Change,
    costs::Costs,
    locks::{Lock, NONE, Sharing},
    script::{Script, Step, What},
};
use queue::{NOBODY, Queue};
use running::{Occasion, Processors, Timer};
use std::collections::HashSet;

/// What a replay is made of.
#[derive(Clone, Copy)]
pub(crate) struct Material<'a> {
    pub(crate) scripts: &'a [Script],
    pub(crate) locks: &'a [Lock],
    pub(crate) costs: &'a Costs,
}

/// The world in which it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct World {
    /// How many processors there are; `None` for as many as threads.
    pub(crate) processors: Option<u32>,
    /// After so long a thread lets others run, in ns.
    pub(crate) slice_ns: u64,
    /// What recorded handovers are multiplied by.
    pub(crate) handovers: f64,
    /// What waits for anything but locks are multiplied by.
    pub(crate) waits: f64,
}

/// What is done about some of the locks.
#[derive(Clone, Copy)]
pub(crate) struct Changed<'a> {
    pub(crate) change: Change,
    /// By lock: whether it is one of them.
    pub(crate) locks: &'a [bool],
    /// The places that only read.
    pub(crate) reads: &'a HashSet<u32>,
}

/// When it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// At a moment, in ns.
    Time(u64),
    /// When the changed locks have been taken so often, or at a moment.
    Taken(u64, u64),
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Replayed {
    /// How long it took, in ns.
    pub(crate) ns: u64,
    /// How often each lock was taken.
    pub(crate) taken: Vec<u64>,
    /// When it was taken last, in ns.
    pub(crate) last_ns: Vec<u64>,
    /// How much recorded time each script went through, in ns.
    pub(crate) done_ns: Vec<f64>,
    /// How often a thread went on without a lock, since nobody could have gone on
    /// otherwise.
    pub(crate) forced: u64,
}

/// So many steps are taken for each step of the scripts, at most, and some more.
const MOST_ROUNDS: u64 = 12;
const MORE_STEPS: u64 = 100_000;
/// A waiter that is woken takes the processor of a thread that has run for so long.
const PREEMPTION_NS: u64 = 1_000_000;
/// How long a handover takes where none was recorded.
const HANDOVER_NS: u64 = 20_000;
/// The most locks that stripes become.
const MOST_STRIPES: usize = 1 << 16;
/// How many owners are followed to see whether a circle of threads waits.
const MOST_OWNERS: usize = 64;

/// A script at a moment.
#[derive(Clone, Debug, Default)]
struct Actor {
    at: usize,
    /// What it has: the lock in the script, that in the replay or [`NONE`], and whether
    /// it is a changed one.
    held: Vec<(u32, u32, bool)>,
    /// How many of those are changed ones.
    inside: u32,
    /// The lock that it waits for, in the replay.
    waits_for: Option<u32>,
    /// How long it rests after what it computes, in ns.
    rest_ns: f64,
    /// How many changed locks it has taken.
    striped: u64,
}

/// A replay.
pub(crate) struct Engine<'a> {
    material: Material<'a>,
    world: World,
    changed: Option<Changed<'a>>,
    until: Until,
    actors: Vec<Actor>,
    queues: Vec<Queue>,
    /// By lock: where its stripes begin.
    stripes: Vec<u32>,
    processors: Processors,
    steps_left: u64,
    taken: u64,
    is_over: bool,
    replayed: Replayed,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        material: Material<'a>,
        world: World,
        changed: Option<Changed<'a>>,
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
            replayed: Replayed {
                taken: vec![0; locks.len()],
                last_ns: vec![0; locks.len()],
                done_ns: vec![0.0; scripts.len()],
                ..Replayed::default()
            },
        };
        engine.change_locks();
        engine
    }

    /// Makes of the locks what the change makes of them.
    fn change_locks(&mut self) {
        let Some(changed) = self.changed else { return };
        let is_changed = |at: usize| changed.locks.get(at) == Some(&true);
        let locks = self.material.locks;
        match changed.change {
            Change::ReadWrite => {
                for (at, queue) in self.queues.iter_mut().enumerate().filter(|it| is_changed(it.0)) {
                    *queue = Queue::new(Sharing::ReadWrite, locks[at].is_fair);
                }
            }
            Change::Stripes { count } => {
                self.stripes = vec![0; locks.len()];
                for at in (0..locks.len()).filter(|&at| is_changed(at)) {
                    let room = MOST_STRIPES.saturating_sub(self.queues.len() - locks.len());
                    // Beyond so many, locks share the stripes of the first.
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

    /// Goes on until the end.
    pub(crate) fn run(mut self) -> Replayed {
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

    /// A script has computed what it had to, if anything, and is on its processor.
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
        self.replayed.done_ns[actor as usize] += step.amount as f64;
        let (run_ns, rest_ns) = match step.what {
            What::Wait => (0.0, self.wait_of(step)),
            _ => self.gap_of(actor, step),
        };
        if run_ns >= 1.0 {
            self.actors[actor as usize].rest_ns = rest_ns;
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
    fn wait_of(&mut self, step: &Step) -> f64 {
        if step.lock == NONE {
            return step.amount as f64 * self.world.waits;
        }
        let is_free = self.changed.is_some_and(|of| of.change == Change::Free);
        let is_changed = self.is_changed(step.lock);
        self.counts(step.lock, is_changed);
        if is_changed && is_free { 0.0 } else { step.amount as f64 }
    }

    /// How long a gap takes on a processor and off it, in ns.
    fn gap_of(&self, actor: u32, step: &Step) -> (f64, f64) {
        let (run_ns, rest_ns) = self.material.costs.split(actor as usize, step);
        match self.changed.map(|of| of.change) {
            Some(Change::Hold { divisor }) if self.actors[actor as usize].inside != 0 => {
                (run_ns / divisor, rest_ns / divisor)
            }
            _ => (run_ns, rest_ns),
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

    /// Takes a lock: false if the script has to wait for it.
    fn acquires(&mut self, actor: u32, step: &Step) -> bool {
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
        let is_shared =
            step.is_shared || (change == Some(Change::ReadWrite) && reads(step.amount));
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

    fn releases(&mut self, actor: u32, lock: u32) {
        let known = &mut self.actors[actor as usize];
        let Some(at) = known.held.iter().rposition(|held| held.0 == lock) else { return };
        let (_, real, is_changed) = known.held.remove(at);
        known.inside -= u32::from(is_changed);
        if real != NONE {
            self.queues[real as usize].release(actor);
            self.wakes(real, lock);
        }
    }

    /// Wakes the first of those who wait, if it can have the lock.
    fn wakes(&mut self, real: u32, lock: u32) {
        let queue = &mut self.queues[real as usize];
        let Some(first) = queue.to_wake() else { return };
        let recorded = &self.material.locks[lock as usize].handovers_ns;
        let nth = queue.handover;
        queue.handover += 1;
        let ns = match recorded.len() {
            0 => HANDOVER_NS,
            len => recorded[nth % len],
        };
        self.processors.wakes(first, ns as f64 * self.world.handovers);
    }

    /// Whether a script waits for one that waits for it.
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

    /// Nobody can go on: one of them does without its lock. False if nobody waits.
    fn force_one(&mut self) -> bool {
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

/// A number that looks like chance.
fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
