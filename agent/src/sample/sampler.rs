//! What all threads share that have to do with sampling.

use super::{
    accounting::Accounting, requests::Requests, settings::Settings, statistics::SampleStatistics,
};
use crate::{
    jvm::{Java, Vm},
    message::say,
    recorder::Recorder,
    spawn,
    sync::lock,
    table::Table,
};
use std::sync::{
    Condvar, Mutex, MutexGuard, OnceLock,
    atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// The one that there is, once sampling is ready.
pub static SAMPLER: OnceLock<Sampler> = OnceLock::new();

/// The end of a thread.
#[derive(Clone, Copy)]
pub struct ThreadEnd {
    /// Monotonic ns.
    pub at_ns: u64,
    /// All the CPU time that it has used, ns.
    pub cpu_ns: u64,
}

/// What they share.
pub struct Sampler {
    pub(super) recorder: &'static Recorder,
    pub(super) vm: Vm,
    /// What the thread that takes snapshots does.
    pub(super) take_snapshots: fn(&'static Sampler, Java),
    pub(super) state: Mutex<SamplerState>,
    /// There is something else to do than before.
    pub(super) wake: Condvar,
    /// Whether it matters that threads start and end.
    pub(super) watching: AtomicBool,
    /// Whether any has since the list was asked for.
    pub(super) changed: AtomicBool,
    /// When threads started, by their Java ids, monotonic ns.
    pub(super) started: Mutex<Table<i64, u64>>,
    /// Threads that have ended, by their Java ids, until that is accounted for.
    pub(super) ended: Mutex<Table<i64, ThreadEnd>>,
    /// The user knows that there is no thread that takes snapshots.
    pub(super) warned: AtomicBool,
    pub(super) statistics: SampleStatistics,
}

/// What is sampled now, and what is known of it.
pub struct SamplerState {
    pub(super) settings: Option<Settings>,
    /// What is looked at while nobody asks for samples, if anything.
    pub(super) unasked: Option<Settings>,
    /// Recording is not paused.
    pub(super) recording: bool,
    /// The number of these settings: a snapshot under others is given up.
    pub(super) revision: u64,
    /// There is a thread that takes snapshots.
    pub(super) watched: bool,
    /// When that looks again what is due, unless it is woken, monotonic ns.
    pub(super) awake_ns: u64,
    /// The JVM has ended, or the log.
    pub(super) ended: bool,
    pub(super) requests: Requests,
    pub(super) accounting: Accounting,
}

impl SamplerState {
    /// What is sampled of all threads now.
    pub(super) fn on(&self) -> Option<&Settings> {
        let settings = self.settings.as_ref().or(self.unasked.as_ref());
        settings.filter(|_| self.recording && !self.ended)
    }

    /// What the user has asked for of all threads, if that is done now.
    pub(super) fn asked(&self) -> Option<&Settings> {
        self.on().filter(|settings| !settings.unasked)
    }

    /// Whether there is anything to do for a thread that takes snapshots.
    pub(super) fn has_work(&self) -> bool {
        self.on().is_some() || !self.requests.is_empty() && !self.ended
    }
}

impl Sampler {
    /// There is something else to do: sees to it that somebody does.
    pub(super) fn changed(&'static self, mut state: MutexGuard<'_, SamplerState>) {
        state.revision += 1;
        let unasked = state.settings.is_none() && state.unasked.is_some();
        if state.accounting.is_unasked() != unasked {
            // What was seen so far is of the other sort.
            self.close_unrequested(&mut state);
            state.accounting.set_unasked(unasked);
        }
        self.watching.store(state.on().is_some(), Release);
        self.call_on(state, 0);
    }

    /// Sees to it that there is a thread that takes snapshots, if there are any
    /// to take, and that it looks what to do by then, in monotonic ns.
    pub(super) fn call_on(&'static self, mut state: MutexGuard<'_, SamplerState>, by_ns: u64) {
        let mut failed = None;
        if state.has_work() && !state.watched {
            failed = spawn::thread("tyrion-sample", move || self.run_thread()).err();
            state.watched = failed.is_none();
        }
        if by_ns < state.awake_ns {
            self.wake.notify_all();
        }
        drop(state);
        if let Some(reason) = failed {
            self.warn(&reason.to_string());
        }
    }

    /// Tells the user why nothing is sampled, once: this can be as often as the
    /// program wants a block sampled.
    fn warn(&self, reason: &str) {
        if !self.warned.swap(true, Relaxed) {
            say(&format!("nothing is sampled: {reason}"));
        }
    }

    fn run_thread(&'static self) {
        let watched = std::panic::catch_unwind(|| {
            // SAFETY: the environment is this thread's, as long as it is attached.
            self.vm.with_thread(|env| (self.take_snapshots)(self, unsafe { Java::new(env) }))
        });
        // Not that the JVM took no more threads, or that it failed.
        if !matches!(watched, Ok(Some(()))) {
            let mut state = lock(&self.state);
            state.watched = false;
            (state.settings, state.unasked) = (None, None);
            self.watching.store(false, Release);
            drop(state);
            self.warn("no thread for it");
        }
    }

    /// What is known of threads that only the snapshots of all were for.
    pub(super) fn close_unrequested(&self, state: &mut SamplerState) {
        let SamplerState { accounting, requests, .. } = state;
        accounting.close_others(&self.statistics, |java_id| requests.has(java_id));
    }

    /// Whether threads have started or ended since this was asked before.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Acquire)
    }
}
