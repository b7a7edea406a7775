//! Sampling: what every thread is doing, time and again.
//!
//! A thread of the agent's own takes the snapshots. A thread of the program
//! that has used no CPU time since its last sample has not run: it is still
//! where it was, and nobody needs to look, unless its state has changed without
//! it. Of the others it asks the stacks, one by one, which stops nobody else;
//! before JDK 16 all at once, since each question would take a safepoint.
//!
//! A sample is charged the real time since the thread's sample before; a
//! thread's first one that since the snapshot before. Equal ones, one after
//! another, become one record of up to a second.
//!
//! Nobody asks the JVM for anything while holding what is shared here: there a
//! thread may be stopped, and the program's own threads would wait for it.
//!
//! - [`sampler`]: what all these share; [`settings`]: what is sampled
//! - [`accounting`]: what is charged to whom, and written
//! - [`run`]: equal samples that become one record
//! - [`watch`]: the thread that takes the snapshots
//! - [`thread_table`]: the threads that it looks at
//! - [`blocks`], [`requests`]: blocks of code that the program wants sampled
//! - [`pace`]: when the next snapshot is due

mod accounting;
mod blocks;
mod pace;
mod requests;
mod run;
mod sampler;
mod settings;
mod statistics;
mod thread_table;
mod watch;

pub use blocks::{begin, end};

use crate::{
    clock,
    jvm::{Java, Object, Vm},
    log::Generation,
    options::SampleOptions,
    recorder::Recorder,
    sync::{lock, try_lock_for},
};
use accounting::Accounting;
use requests::Requests;
use sampler::{SAMPLER, Sampler, SamplerState, ThreadEnd};
use settings::Settings;
use statistics::SampleStatistics;
use std::{
    sync::{
        Condvar, Mutex, TryLockError,
        atomic::{
            AtomicBool,
            Ordering::{Relaxed, Release},
        },
    },
    time::Duration,
};

/// The number of threads just started, or ended, that are remembered.
const STARTED_LIMIT: usize = 1 << 16;

/// Gets ready; nothing is sampled yet.
pub fn prepare(recorder: &'static Recorder, vm: Vm) {
    SAMPLER.get_or_init(|| Sampler {
        recorder,
        vm,
        take_snapshots: watch::run,
        state: Mutex::new(SamplerState {
            settings: None,
            unasked: None,
            recording: false,
            revision: 0,
            watched: false,
            awake_ns: 0,
            ended: false,
            requests: Requests::default(),
            accounting: Accounting::new(recorder),
        }),
        wake: Condvar::new(),
        watching: AtomicBool::new(false),
        changed: AtomicBool::new(false),
        started: Mutex::default(),
        ended: Mutex::default(),
        warned: AtomicBool::new(false),
        statistics: SampleStatistics::default(),
    });
}

/// Has all threads sampled from now on, while recording is on; what the user
/// does not say stays as it is.
pub fn start(options: &SampleOptions) {
    let Some(sampler) = SAMPLER.get() else { return };
    let mut state = lock(&sampler.state);
    state.settings = Some(Settings::new(options, state.settings.as_ref()));
    sampler.changed(state);
}

/// Has a few snapshots taken from now on, while nobody asks for samples.
pub fn look_unasked() {
    let Some(sampler) = SAMPLER.get() else { return };
    let mut state = lock(&sampler.state);
    state.unasked = Some(Settings::unasked());
    sampler.changed(state);
}

/// Has no threads sampled any more but for those that the program wants to be.
pub fn stop() {
    let Some(sampler) = SAMPLER.get() else { return };
    let mut state = lock(&sampler.state);
    if state.settings.take().is_some() {
        sampler.close_unrequested(&mut state);
        sampler.changed(state);
    }
}

/// Recording goes on, or pauses: then there are no samples.
pub fn recording(on: bool) {
    let Some(sampler) = SAMPLER.get() else { return };
    let mut state = lock(&sampler.state);
    if std::mem::replace(&mut state.recording, on) != on {
        if !on {
            // The pause is charged to nobody.
            state.accounting.close_others(&sampler.statistics, |_| false);
        }
        sampler.changed(state);
    }
}

/// The period in ns, if all threads are sampled now.
pub fn period_ns() -> Option<u64> {
    let state = lock(&SAMPLER.get()?.state);
    state.asked().map(|settings| settings.period_ns)
}

/// Whether all threads are to be sampled, as soon as and as long as that can be.
pub fn is_wanted() -> bool {
    SAMPLER.get().is_some_and(|sampler| lock(&sampler.state).settings.is_some())
}

/// How many samples are in the log.
pub fn records() -> u64 {
    SAMPLER.get().map_or(0, |sampler| sampler.statistics.records.load(Relaxed))
}

/// What is known is written, since somebody reads the log now. Sampling goes on.
pub fn flush() {
    let Some(sampler) = SAMPLER.get() else { return };
    lock(&sampler.state).accounting.leave(&sampler.statistics);
}

/// The JVM ends: what is known is written, and nothing more.
pub fn finish() {
    let Some(sampler) = SAMPLER.get() else { return };
    let Some(mut state) = try_lock_for(&sampler.state, Duration::from_secs(1)) else { return };
    state.ended = true;
    state.accounting.leave(&sampler.statistics);
    sampler.changed(state);
}

/// Leaves a generation: whether it has.
pub fn leave(from: &Generation) -> bool {
    let Some(sampler) = SAMPLER.get() else { return true };
    let mut state = match sampler.state.try_lock() {
        Ok(state) => state,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    if state.accounting.generation() == Some(from.number) {
        state.accounting.leave(&sampler.statistics);
    }
    true
}

/// A thread starts, the current one.
#[inline]
pub fn thread_starts(java: Java, thread: Object<'_>) {
    let sampler = SAMPLER.get().filter(|sampler| sampler.watching.load(Relaxed));
    if let Some(sampler) = sampler {
        let started_ns = clock::now_ns();
        let java_id = sampler.recorder.java_id(java, thread);
        let mut started = lock(&sampler.started);
        if started.len() < STARTED_LIMIT {
            started.insert(java_id, started_ns);
        }
        drop(started);
        sampler.changed.store(true, Release);
    }
}

/// A thread ends, the current one, which is no virtual one.
#[inline]
pub fn thread_ends(java: Java, thread: Object<'_>) {
    if let Some(sampler) = SAMPLER.get().filter(|sampler| sampler.watching.load(Relaxed)) {
        let end = ThreadEnd { at_ns: clock::now_ns(), cpu_ns: clock::thread_cpu_ns() };
        let java_id = sampler.recorder.java_id(java, thread);
        let mut ended = lock(&sampler.ended);
        if ended.len() < STARTED_LIMIT {
            ended.insert(java_id, end);
        }
        drop(ended);
        sampler.changed.store(true, Release);
    }
}
