//! The thread that takes the snapshots.
//!
//! - [`observe`]: what one thread is doing
//! - [`mounted`]: virtual threads, on the threads that carry them
//! - [`requested`]: threads that are looked at by request
//! - [`turns`]: what is due when

mod mounted;
mod observe;
mod requested;
mod turns;

use super::{
    accounting::Moment,
    pace::Pace,
    requests::Due,
    sampler::{Sampler, SamplerState, ThreadEnd},
    settings::Settings,
    thread_table::{ThreadRow, ThreadTable},
};
use crate::{
    clock,
    jvm::{
        Java, Object, Ti,
        threads::{Extension, state_of},
    },
    recorder::threads::Thread,
    sync::lock,
    table::Table,
};
use jvmti_bindings::sys::{jni::jint, jvmti::jvmtiFrameInfo};
use std::{
    collections::HashSet,
    sync::{
        Arc, MutexGuard,
        atomic::Ordering::{Relaxed, Release},
    },
};
use turns::Task;
use tyrion_wire::sample::ThreadState;

/// Numbers about sampling are written this often, ns, should the process be
/// killed.
const STATISTICS_NS: u64 = 10_000_000_000;

/// What the thread keeps for itself.
struct Watch<'j> {
    sampler: &'static Sampler,
    java: Java<'j>,
    ti: Ti,
    /// All threads' stacks are asked for at once.
    at_once: bool,
    /// CPU times are exact, so that they tell whether a thread has run.
    exact_cpu: bool,
    virtual_thread: Option<Extension>,
    pace: Pace,
    revision: u64,
    settings: Option<Settings>,
    table: ThreadTable,
    /// The snapshot before, monotonic ns; `None` when there is none: then
    /// threads are charged from the next one on.
    previous_ns: Option<u64>,
    /// When the next one is due, monotonic ns.
    next_ns: u64,
    /// Nobody is looked at before that, monotonic ns: looks must not cost more
    /// than some part of a CPU.
    rest_ns: u64,
    /// What the JVM's own thread has done for looks, ns, as far as it is not
    /// accounted for yet.
    elsewhere_ns: u64,
    /// When this thread ends if nothing comes until then, monotonic ns.
    ends_ns: Option<u64>,
    statistics_ns: u64,
    due: Vec<Due>,
    /// Those whose stacks are asked for together.
    subjects: Vec<Subject<'static>>,
    frames: Vec<jvmtiFrameInfo>,
    /// Where a frame really is that waits for a monitor.
    entered: Table<(u64, u64, u64), i64>,
}

/// A thread whose stack is asked for.
struct Subject<'a> {
    java_id: i64,
    thread: Object<'a>,
    known: Arc<Thread>,
    now: Moment,
    /// What the JVM had noted of its state some time before.
    noted: Option<jint>,
}

/// What the thread does until there is nothing to do.
pub fn run(sampler: &'static Sampler, java: Java) {
    let mut watch = Watch::new(sampler, java);
    let mut cpu_ns = clock::thread_cpu_ns();
    while let Some(task) = watch.next() {
        let look = || match task {
            Task::Snapshot => watch.snapshot(),
            Task::Requested => watch.observe_requested(),
        };
        // SAFETY: what is kept from one look to the next are global references.
        unsafe { java.with_locals(look) };
        let before_ns = std::mem::replace(&mut cpu_ns, clock::thread_cpu_ns());
        let used_ns = cpu_ns.saturating_sub(before_ns);
        sampler.statistics.own_ns.fetch_add(used_ns, Relaxed);
        watch.rest(used_ns);
    }
    watch.drop_table();
}

impl<'j> Watch<'j> {
    fn new(sampler: &'static Sampler, java: Java<'j>) -> Watch<'j> {
        let ti = sampler.recorder.ti();
        let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        Watch {
            sampler,
            java,
            ti,
            at_once: ti.stacks_take_safepoints(),
            exact_cpu: clock::cpu_time_is_exact(),
            virtual_thread: ti.virtual_thread_function(),
            pace: Pace::new(clock::now_ns()),
            revision: 0,
            settings: None,
            table: ThreadTable::default(),
            previous_ns: None,
            next_ns: 0,
            rest_ns: 0,
            elsewhere_ns: 0,
            ends_ns: None,
            statistics_ns: clock::now_ns(),
            due: Vec::new(),
            subjects: Vec::new(),
            // One more than wanted tells whether a stack was cut.
            frames: vec![frame; sampler.recorder.depth() + 1],
            entered: Table::default(),
        }
    }

    fn drop_table(&mut self) {
        let jvm = (self.sampler.recorder, self.java);
        self.table.remove(jvm, |_| true, &mut |_| {});
    }

    /// The shared state; `None` when something else is asked for meanwhile.
    fn state(&self) -> Option<MutexGuard<'static, SamplerState>> {
        self.sampler.state_at(self.revision)
    }

    /// Looks at all threads.
    fn snapshot(&mut self) {
        let Some(settings) = self.settings.clone() else { return };
        let begun_ns = clock::now_ns();
        self.next_ns = self.pace.next_ns(self.next_ns, begun_ns, settings.period_ns);
        self.note_states();
        self.refresh(&settings);
        let mut ended = HashSet::new();
        for at in self.turns() {
            if self.observe(at, &settings).is_none() {
                ended.insert(self.table.all[at].java_id);
            }
        }
        self.observe_subjects();
        if !ended.is_empty() {
            self.remove(|row| ended.contains(&row.java_id));
        }
        if self.previous_ns.replace(begun_ns).is_some() {
            if !settings.unasked {
                self.sampler.statistics.snapshots.fetch_add(1, Relaxed);
            }
            self.after_snapshot(&settings, begun_ns);
        }
    }

    /// Reads what the JVM has noted of all threads' states, before any of them is
    /// held up: while we have a CPU, a thread that is woken may wait for one, and
    /// is still parked as far as the JVM knows; and a thread whose stack is asked
    /// for goes on until it can be stopped, often to where it waits next.
    fn note_states(&mut self) {
        // Where all stop at once they are seen as they are then.
        if self.at_once {
            return;
        }
        for row in self.table.all.iter_mut().filter(|row| row.wanted) {
            row.noted = self.sampler.recorder.thread_status(self.java, row.thread.get());
        }
    }

    /// In which order threads are looked at: first those that run, since they are
    /// at another place in a moment.
    fn turns(&self) -> Vec<usize> {
        let rows = &self.table.all;
        let mut turns: Vec<usize> = (0..rows.len()).collect();
        turns.sort_by_key(|&at| rows[at].noted.and_then(state_of) != Some(ThreadState::Running));
        turns
    }

    fn after_snapshot(&mut self, settings: &Settings, now_ns: u64) {
        let tell = now_ns.saturating_sub(self.statistics_ns) > STATISTICS_NS;
        if !tell && !settings.once {
            return;
        }
        let Some(mut state) = self.state() else { return };
        if tell {
            self.statistics_ns = now_ns;
            state.accounting.write_statistics(&self.sampler.statistics);
        }
        if settings.once {
            state.settings = None;
            self.sampler.close_unrequested(&mut state);
            self.sampler.changed(state);
        }
    }

    /// Looks which threads there are, if any have started or ended.
    fn refresh(&mut self, settings: &Settings) {
        if !self.sampler.take_changed() {
            return;
        }
        // Before the JVM is asked: who starts later is new next time.
        let started = std::mem::take(&mut *lock(&self.sampler.started));
        let jvm = (self.sampler.recorder, self.java);
        let sampler = self.sampler;
        let complete = self.table.refresh(jvm, settings, &started, |row| sampler.forget(row));
        if !complete {
            self.sampler.changed.store(true, Release);
        }
        // Nobody has seen the others.
        lock(&sampler.ended).retain(|&java_id, _| self.table.has(java_id));
        let Some(mut state) = self.state() else { return };
        for row in self.table.all.iter().filter(|row| !row.wanted && !row.is_carrier) {
            sampler.leave_out(&mut state, row.java_id);
        }
    }

    fn remove(&mut self, which: impl Fn(&ThreadRow) -> bool) {
        let sampler = self.sampler;
        let jvm = (sampler.recorder, self.java);
        self.table.remove(jvm, which, &mut |row| sampler.forget(row));
    }
}

impl Sampler {
    /// The shared state; `None` when something else is asked for by now.
    fn state_at(&'static self, revision: u64) -> Option<MutexGuard<'static, SamplerState>> {
        let state = lock(&self.state);
        (!state.ended && state.recording && state.revision == revision).then_some(state)
    }

    /// A thread has ended, or is looked at no more.
    fn forget(&self, row: &ThreadRow) {
        let ended = lock(&self.ended).remove(&row.java_id);
        let mut state = lock(&self.state);
        if let Some(ThreadEnd { at_ns, cpu_ns }) = ended {
            let life_ns = row.started_ns.map(|started_ns| at_ns.saturating_sub(started_ns));
            state.accounting.finish(row.java_id, life_ns, cpu_ns);
        }
        state.accounting.close(&self.statistics, row.java_id);
        if let Some(mounted) = &row.mounted {
            state.accounting.flush(&self.statistics, mounted.java_id);
        }
        drop(state);
        self.recorder.forget_ended(row.java_id);
    }

    /// A thread is not among those that are sampled, unless by request.
    fn leave_out(&self, state: &mut SamplerState, java_id: i64) {
        let SamplerState { accounting, requests, .. } = state;
        if accounting.is_of_all(java_id) {
            match requests.has(java_id) {
                true => accounting.set_of_all(java_id, false),
                false => accounting.close(&self.statistics, java_id),
            }
        }
    }
}
