//! The thread that takes the snapshots.
//!
//! - [`look`]: what one thread is doing
//! - [`occupants`]: virtual threads, on the threads that carry them
//! - [`requested`]: threads that are looked at by request
//! - [`turns`]: what is due when

mod look;
mod occupants;
mod requested;
mod turns;

use super::{
    Ended, Sampler, Settings, State,
    books::Moment,
    pace::Pace,
    requests::Due,
    seats::{Seat, Seats},
};
use crate::{
    clock,
    jvm::{
        Java, Ti,
        threads::{Extension, state_of},
    },
    lane::Table,
    sync::lock,
    threads::Thread,
};
use jvmti_bindings::sys::{
    jni::{jint, jthread},
    jvmti::jvmtiFrameInfo,
};
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
struct Watch {
    sampler: &'static Sampler,
    java: Java,
    ti: Ti,
    /// All threads' stacks are asked for at once.
    at_once: bool,
    /// CPU times are exact, so that they tell whether a thread has run.
    exact_cpu: bool,
    virtual_thread: Option<Extension>,
    pace: Pace,
    generation: u64,
    settings: Option<Settings>,
    seats: Seats,
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
    subjects: Vec<Subject>,
    frames: Vec<jvmtiFrameInfo>,
    /// Where a frame really is that waits for a monitor.
    entered: Table<(u64, u64), i64>,
}

/// A thread whose stack is asked for.
struct Subject {
    java_id: i64,
    /// A global reference that is kept elsewhere.
    thread: jthread,
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
        java.with_locals(|| match task {
            Task::Snapshot => watch.snapshot(),
            Task::Requested => watch.look_at_requested(),
        });
        let before_ns = std::mem::replace(&mut cpu_ns, clock::thread_cpu_ns());
        let used_ns = cpu_ns.saturating_sub(before_ns);
        sampler.statistics.own_ns.fetch_add(used_ns, Relaxed);
        watch.rest(used_ns);
    }
    watch.drop_seats();
}

impl Watch {
    fn new(sampler: &'static Sampler, java: Java) -> Watch {
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
            generation: 0,
            settings: None,
            seats: Seats::default(),
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

    fn drop_seats(&mut self) {
        let jvm = (self.sampler.recorder, self.java);
        self.seats.remove(jvm, |_| true, &mut |_| {});
    }

    /// The shared state; `None` when something else is asked for meanwhile.
    fn state(&self) -> Option<MutexGuard<'static, State>> {
        self.sampler.state_under(self.generation)
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
            if self.look_at(at, &settings).is_none() {
                ended.insert(self.seats.all[at].java_id);
            }
        }
        self.look_at_subjects();
        if !ended.is_empty() {
            self.remove(|seat| ended.contains(&seat.java_id));
        }
        if self.previous_ns.replace(begun_ns).is_some() {
            self.sampler.statistics.snapshots.fetch_add(1, Relaxed);
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
        for seat in self.seats.all.iter_mut().filter(|seat| seat.wanted) {
            seat.noted = self.sampler.recorder.thread_status(self.java, seat.thread.get());
        }
    }

    /// In which order threads are looked at: first those that run, since they are
    /// at another place in a moment.
    fn turns(&self) -> Vec<usize> {
        let seats = &self.seats.all;
        let mut turns: Vec<usize> = (0..seats.len()).collect();
        turns.sort_by_key(|&at| seats[at].noted.and_then(state_of) != Some(ThreadState::Running));
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
            state.books.write_statistics(&self.sampler.statistics);
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
        let complete = self.seats.refresh(jvm, settings, &started, |seat| sampler.forget(seat));
        if !complete {
            self.sampler.changed.store(true, Release);
        }
        // Nobody has seen the others.
        lock(&sampler.ended).retain(|&java_id, _| self.seats.has(java_id));
        let Some(mut state) = self.state() else { return };
        for seat in self.seats.all.iter().filter(|seat| !seat.wanted && !seat.is_carrier) {
            sampler.leave_out(&mut state, seat.java_id);
        }
    }

    fn remove(&mut self, which: impl Fn(&Seat) -> bool) {
        let sampler = self.sampler;
        let jvm = (sampler.recorder, self.java);
        self.seats.remove(jvm, which, &mut |seat| sampler.forget(seat));
    }
}

impl Sampler {
    /// The shared state; `None` when something else is asked for by now.
    fn state_under(&'static self, generation: u64) -> Option<MutexGuard<'static, State>> {
        let state = lock(&self.state);
        (!state.ended && state.recording && state.generation == generation).then_some(state)
    }

    /// A thread has ended, or is looked at no more.
    fn forget(&self, seat: &Seat) {
        let ended = lock(&self.ended).remove(&seat.java_id);
        let mut state = lock(&self.state);
        if let Some(Ended { at_ns, cpu_ns }) = ended {
            let life_ns = seat.started_ns.map(|started_ns| at_ns.saturating_sub(started_ns));
            state.books.finish(seat.java_id, life_ns, cpu_ns);
        }
        state.books.close(&self.statistics, seat.java_id);
        if let Some(occupant) = &seat.occupant {
            state.books.flush(&self.statistics, occupant.java_id);
        }
        drop(state);
        self.recorder.forget_ended(seat.java_id);
    }

    /// A thread is not among those that are sampled, unless by request.
    fn leave_out(&self, state: &mut State, java_id: i64) {
        let State { books, requests, .. } = state;
        if books.is_of_all(java_id) {
            match requests.has(java_id) {
                true => books.set_of_all(java_id, false),
                false => books.close(&self.statistics, java_id),
            }
        }
    }
}
