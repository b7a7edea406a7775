//! Processors, the scripts that want one, and the clock.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, VecDeque},
};

/// Why something happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Occasion {
    /// A script has run to the end of its work, or of its slice.
    Ran,
    /// It has rested.
    Rested,
    /// It was woken, because a lock is free.
    Woken,
}

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timer {
    pub(super) at_ns: u64,
    pub(super) actor: u32,
    pub(super) occasion: Occasion,
    /// The order in which events were set.
    nth: u64,
    /// For a run: its number among those of the script.
    run: u32,
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Timer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Timer) -> Ordering {
        (self.at_ns, self.nth).cmp(&(other.at_ns, other.nth))
    }
}

/// A script on a processor, or one that wants one.
#[derive(Clone, Copy, Debug, Default)]
struct Job {
    /// How much it still has to run, in ns.
    left_ns: f64,
    /// Since when it runs, and for how much longer before others may run.
    since_ns: u64,
    slice_ns: u64,
    /// Since when it has had its processor.
    on_since_ns: u64,
    /// The number of its run: events that an earlier run set are void.
    run: u32,
}

/// The processors.
pub(super) struct Processors {
    now_ns: u64,
    /// The number of free processors.
    free: usize,
    slice_ns: u64,
    jobs: Vec<Job>,
    /// The scripts on processors, if there are not enough for all.
    on: Vec<u32>,
    is_enough: bool,
    ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<Timer>>,
    timers_set: u64,
}

impl Processors {
    /// For this many scripts.
    pub(super) fn new(scripts: usize, processors: usize, slice_ns: u64) -> Processors {
        Processors {
            now_ns: 0,
            free: processors.min(scripts).max(1),
            slice_ns: slice_ns.max(1),
            jobs: vec![Job::default(); scripts],
            on: Vec::new(),
            is_enough: processors >= scripts,
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// All want to run.
    pub(super) fn all_are_ready(&mut self) {
        self.ready = (0..self.jobs.len() as u32).collect();
    }

    /// The next script that gets a processor, if one is free.
    pub(super) fn next_to_run(&mut self) -> Option<u32> {
        if self.free == 0 {
            return None;
        }
        loop {
            let actor = self.ready.pop_front()?;
            self.free -= 1;
            if !self.is_enough {
                self.on.push(actor);
            }
            let job = &mut self.jobs[actor as usize];
            (job.slice_ns, job.on_since_ns) = (self.slice_ns, self.now_ns);
            if job.left_ns < 1.0 {
                return Some(actor);
            }
            // It was interrupted before.
            self.set_run(actor);
            if self.free == 0 {
                return None;
            }
        }
    }

    /// The next event; its time becomes the current time.
    pub(super) fn next_timer(&mut self) -> Option<Timer> {
        loop {
            let Reverse(timer) = self.timers.pop()?;
            if timer.occasion == Occasion::Ran && timer.run != self.jobs[timer.actor as usize].run {
                continue;
            }
            self.now_ns = self.now_ns.max(timer.at_ns);
            return Some(timer);
        }
    }

    /// A script on a processor runs for this long, in ns.
    pub(super) fn runs(&mut self, actor: u32, ns: f64) {
        self.jobs[actor as usize].left_ns = ns;
        self.set_run(actor);
    }

    fn set_run(&mut self, actor: u32) {
        let job = &mut self.jobs[actor as usize];
        job.since_ns = self.now_ns;
        job.run = job.run.wrapping_add(1);
        let (ns, run) = (whole(job.left_ns).min(job.slice_ns.max(1)), job.run);
        self.set(self.now_ns.saturating_add(ns), actor, Occasion::Ran, run);
    }

    fn set(&mut self, at_ns: u64, actor: u32, occasion: Occasion, run: u32) {
        self.timers_set += 1;
        self.timers.push(Reverse(Timer { at_ns, actor, occasion, nth: self.timers_set, run }));
    }

    /// A script's time on its processor is over. True if it has finished its work;
    /// otherwise others run first, if there are any.
    pub(super) fn has_finished(&mut self, actor: u32) -> bool {
        self.accounts(actor);
        let job = &mut self.jobs[actor as usize];
        if job.left_ns < 1.0 {
            job.left_ns = 0.0;
            return true;
        }
        if self.ready.is_empty() {
            job.slice_ns = self.slice_ns;
            self.set_run(actor);
        } else {
            self.leaves(actor);
            self.ready.push_back(actor);
        }
        false
    }

    /// Notes how long a script has run since it began to run.
    fn accounts(&mut self, actor: u32) {
        let job = &mut self.jobs[actor as usize];
        let ran_ns = self.now_ns - job.since_ns;
        job.left_ns = (job.left_ns - ran_ns as f64).max(0.0);
        job.slice_ns = job.slice_ns.saturating_sub(ran_ns);
        job.since_ns = self.now_ns;
    }

    fn leaves(&mut self, actor: u32) {
        self.free += 1;
        if let Some(at) = self.on.iter().position(|&on| on == actor) {
            self.on.swap_remove(at);
        }
    }

    /// A script leaves its processor: it waits for a lock.
    pub(super) fn gives_up(&mut self, actor: u32) {
        self.leaves(actor);
    }

    /// A script leaves its processor for this long, in ns.
    pub(super) fn rests(&mut self, actor: u32, ns: f64) {
        self.leaves(actor);
        self.set(self.now_ns.saturating_add(whole(ns)), actor, Occasion::Rested, 0);
    }

    /// A waiting script will be awake after this long, in ns.
    pub(super) fn wakes(&mut self, actor: u32, in_ns: f64) {
        self.set(self.now_ns.saturating_add(whole(in_ns)), actor, Occasion::Woken, 0);
    }

    /// A script wants a processor, behind all others.
    pub(super) fn wants_to_run(&mut self, actor: u32) {
        self.ready.push_back(actor);
    }

    /// A script that slept wants a processor, before all others: if necessary, that of a
    /// script that has had it for this long, in ns.
    pub(super) fn wants_to_run_soon(&mut self, actor: u32, after_ns: u64) {
        self.ready.push_front(actor);
        if self.free != 0 {
            return;
        }
        // Among those that have had one for equally long, the one with the smallest number.
        let longest =
            self.on.iter().copied().min_by_key(|&on| (self.jobs[on as usize].on_since_ns, on));
        let Some(on) = longest else { return };
        if self.now_ns - self.jobs[on as usize].on_since_ns < after_ns {
            return;
        }
        self.accounts(on);
        // Events that its run has set are void.
        let job = &mut self.jobs[on as usize];
        job.run = job.run.wrapping_add(1);
        // Almost done: it finishes at its next turn.
        self.leaves(on);
        self.ready.push_back(on);
    }
}

/// A duration in whole ns, at least 1.
fn whole(ns: f64) -> u64 {
    (ns.round() as u64).max(1)
}
