//! What the thread that takes snapshots does when.

use super::Watch;
use crate::{
    clock,
    sample::{
        sampler::{Sampler, SamplerState},
        settings::Settings,
    },
    sync::lock,
};
use std::{
    sync::{
        MutexGuard, PoisonError,
        atomic::Ordering::{Relaxed, Release},
    },
    time::Duration,
};

/// How long to wait when nothing is due: by then the log may have ended.
const PATIENCE_NS: u64 = 1_000_000_000;
/// How long the thread stays when there is nothing to do, ns: a program that has
/// one block after another sampled shall not make as many threads.
const LINGER_NS: u64 = 5_000_000_000;

/// What there is to do.
pub(super) enum Task {
    /// A look at all threads.
    Snapshot,
    /// A look at those that are due by request.
    Requested,
}

impl Watch<'_> {
    /// Waits until there is something to do; `None` when there is not.
    pub(super) fn next(&mut self) -> Option<Task> {
        let mut state = lock(&self.sampler.state);
        loop {
            let log = self.sampler.recorder.log();
            if log.is_closed() || log.is_dead() {
                self.sampler.end_for_good(&mut state);
            }
            if state.requests.any_ended() {
                state = self.drop_ended(state);
                continue;
            }
            if self.revision != state.revision {
                self.begin_again(&state);
                if self.settings.is_none() {
                    drop(state);
                    self.drop_table();
                    state = lock(&self.sampler.state);
                    continue;
                }
            }
            let now_ns = clock::now_ns();
            if state.ended || !self.stays(&state, now_ns) {
                state.watched = false;
                return None;
            }
            if let Some(task) = self.due(&mut state, now_ns) {
                return Some(task);
            }
            let patience = Duration::from_nanos(state.awake_ns.saturating_sub(now_ns));
            let woken = self.sampler.wake.wait_timeout(state, patience);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives references back, without keeping others waiting for that.
    fn drop_ended(
        &self,
        mut state: MutexGuard<'static, SamplerState>,
    ) -> MutexGuard<'static, SamplerState> {
        let ended = state.requests.take_ended();
        drop(state);
        ended.into_iter().for_each(|reference| self.java.drop_global(reference));
        lock(&self.sampler.state)
    }

    /// Something else is asked for than before.
    fn begin_again(&mut self, state: &SamplerState) {
        self.revision = state.revision;
        self.settings = state.on().cloned();
        self.previous_ns = None;
        // A program that ends soon is not looked at unasked.
        let unasked = self.settings.as_ref().filter(|settings| settings.unasked);
        self.next_ns = clock::now_ns() + unasked.map_or(0, |settings| settings.period_ns);
        // The long rest after a look that nobody asked for holds up none that somebody did.
        if unasked.is_none() {
            self.rest_ns = self.rest_ns.min(self.next_ns);
        }
        self.sampler.changed.store(true, Release);
    }

    /// Whether there is something to do, or may be soon.
    fn stays(&mut self, state: &SamplerState, now_ns: u64) -> bool {
        if state.has_work() {
            self.ends_ns = None;
            return true;
        }
        now_ns < *self.ends_ns.get_or_insert(now_ns + LINGER_NS)
    }

    /// What is due now; else notes when to look again.
    fn due(&mut self, state: &mut SamplerState, now_ns: u64) -> Option<Task> {
        let snapshot_ns = self.settings.is_some().then_some(self.next_ns);
        let requested_ns = state.requests.next_ns().filter(|_| state.recording);
        let is_due = |due_ns: Option<u64>| due_ns.is_some_and(|due_ns| due_ns <= now_ns);
        if now_ns < self.rest_ns || !(is_due(snapshot_ns) || is_due(requested_ns)) {
            let next_ns = snapshot_ns.into_iter().chain(requested_ns).min();
            let next_ns = next_ns.map(|next_ns| next_ns.max(self.rest_ns));
            let latest_ns = now_ns + PATIENCE_NS;
            state.awake_ns = next_ns.map_or(latest_ns, |next_ns| next_ns.min(latest_ns));
            return None;
        }
        if is_due(snapshot_ns) {
            let unasked = self.settings.as_ref().is_some_and(|settings| settings.unasked);
            if self.next_ns < self.rest_ns && !unasked {
                self.sampler.statistics.put_off.fetch_add(1, Relaxed);
            }
            return Some(Task::Snapshot);
        }
        state.requests.take_due(now_ns, &mut self.pace, &mut self.due);
        Some(Task::Requested)
    }

    /// Rests four times as long as the look took, at least, so that looks never
    /// take more than a fifth of one CPU, however many threads there are; those that nobody
    /// asked for, a five hundredth. What counts is the CPU time: who has to wait for a CPU
    /// does no harm.
    pub(super) fn rest(&mut self, used_ns: u64) {
        let cost_ns = used_ns.saturating_add(std::mem::take(&mut self.elsewhere_ns));
        // A quarter shorter at least, by chance.
        let times = self.settings.as_ref().map_or(4, Settings::rest_times);
        let rest_ns = self.pace.interval_ns(cost_ns.saturating_mul(4 * times) / 3);
        self.rest_ns = clock::now_ns().saturating_add(rest_ns);
    }
}

impl Sampler {
    /// Nothing is sampled any more.
    pub(super) fn end_for_good(&self, state: &mut SamplerState) {
        state.ended = true;
        state.requests.end_all();
        self.watching.store(false, Release);
    }
}
