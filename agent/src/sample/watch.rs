//! The thread that takes the snapshots.

use super::{
    Sampler, Settings, State,
    books::Moment,
    pace::Pace,
    requests::Due,
    seats::{Seat, Seats},
};
use crate::{
    clock,
    jvm::{Java, Ti, threads::Extension},
    sync::lock,
    threads::Thread,
};
use jvmti_bindings::sys::{
    jni::jthread,
    jvmti::{jvmtiError, jvmtiFrameInfo},
};
use std::{
    sync::{
        Arc, MutexGuard,
        atomic::Ordering::{Relaxed, Release},
    },
    time::Duration,
};
use tyrion_wire::sample::ThreadState;

/// How long to wait when nothing is due.
const PATIENCE: Duration = Duration::from_secs(1);
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
    statistics_ns: u64,
    due: Vec<Due>,
    /// Those whose stacks are asked for together.
    subjects: Vec<Subject>,
    frames: Vec<jvmtiFrameInfo>,
}

/// What there is to do.
enum Task {
    /// A look at all threads.
    Snapshot,
    /// A look at those that are due by request.
    Requested,
}

/// A thread whose stack is asked for.
struct Subject {
    java_id: i64,
    /// A global reference that is kept elsewhere.
    thread: jthread,
    known: Arc<Thread>,
    now: Moment,
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
        sampler.statistics.own_ns.fetch_add(cpu_ns - before_ns, Relaxed);
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
            statistics_ns: clock::now_ns(),
            due: Vec::new(),
            subjects: Vec::new(),
            // One more than wanted tells whether a stack was cut.
            frames: vec![frame; sampler.recorder.depth() + 1],
        }
    }

    /// Waits until there is something to do; `None` when there is not.
    fn next(&mut self) -> Option<Task> {
        let Sampler { wake, recorder, .. } = self.sampler;
        let mut state = lock(&self.sampler.state);
        loop {
            for reference in state.requests.take_ended() {
                self.java.drop_global(reference);
            }
            let log = recorder.log();
            if state.ended || !state.has_work() || log.is_closed() || log.is_dead() {
                state.watched = false;
                return None;
            }
            if self.generation != state.generation {
                self.begin_again(&state);
            }
            let now_ns = clock::now_ns();
            if self.settings.is_some() && self.next_ns <= now_ns {
                return Some(Task::Snapshot);
            }
            let requested_ns = state.requests.next_ns().filter(|_| state.recording);
            if requested_ns.is_some_and(|next_ns| next_ns <= now_ns) {
                state.requests.take_due(now_ns, &mut self.pace, &mut self.due);
                return Some(Task::Requested);
            }
            let snapshot_ns = self.settings.is_some().then_some(self.next_ns);
            let next_ns = snapshot_ns.into_iter().chain(requested_ns).min();
            let patience = next_ns.map_or(PATIENCE, |ns| Duration::from_nanos(ns - now_ns));
            let woken = wake.wait_timeout(state, patience);
            state = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    /// Something else is asked for than before.
    fn begin_again(&mut self, state: &State) {
        self.generation = state.generation;
        self.settings = state.on().cloned();
        self.previous_ns = None;
        self.next_ns = clock::now_ns();
        self.sampler.changed.store(true, Release);
        if self.settings.is_none() {
            self.drop_seats();
        }
    }

    fn drop_seats(&mut self) {
        let jvm = (self.sampler.recorder, self.java);
        self.seats.remove(jvm, |_| true, &mut |_| {});
    }

    /// The shared state; `None` when something else is asked for meanwhile.
    fn state(&self) -> Option<MutexGuard<'static, State>> {
        let state = lock(&self.sampler.state);
        (!state.ended && state.recording && state.generation == self.generation).then_some(state)
    }

    /// Looks at all threads.
    fn snapshot(&mut self) {
        let Some(settings) = self.settings.clone() else { return };
        let begun_ns = clock::now_ns();
        self.next_ns = self.pace.next_ns(self.next_ns, begun_ns, settings.period_ns);
        self.refresh(&settings);
        let mut ended = Vec::new();
        for at in 0..self.seats.all.len() {
            if self.look_at(at, &settings).is_none() {
                ended.push(self.seats.all[at].java_id);
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
            self.sampler.changed(&mut state);
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

    /// Looks at one thread, or notes that its stack is to be asked for; `None`
    /// when it has ended.
    fn look_at(&mut self, at: usize, settings: &Settings) -> Option<()> {
        let seat = &self.seats.all[at];
        let runs_others = seat.is_carrier && self.virtual_thread.is_some();
        if !seat.wanted && !runs_others {
            return Some(());
        }
        let (java_id, thread) = (seat.java_id, seat.thread.get());
        let now = self.moment(thread)?;
        let known = Arc::clone(seat.known.as_ref()?);
        let started_ns = seat.started_ns;
        {
            let Some(mut state) = self.state() else { return Some(()) };
            let books = &mut state.books;
            if !books.is_of_all(java_id) {
                books.open(java_id, self.first_sight(started_ns, now), true);
            }
            let mut still =
                || self.exact_cpu && books.still(&self.sampler.statistics, java_id, now);
            if self.previous_ns.is_none() || still() {
                return Some(());
            }
        }
        let jvm = (self.sampler.recorder, self.java);
        let seat = &mut self.seats.all[at];
        seat.check_name(jvm, settings);
        if seat.is_carrier && self.look_at_occupant(at, settings, now) {
            return Some(());
        }
        if self.seats.all[at].wanted {
            let subject = Subject { java_id, thread, known, now };
            if self.at_once {
                self.subjects.push(subject);
            } else {
                self.walk(&subject)?;
            }
        }
        Some(())
    }

    /// Now, and the CPU time that a thread has used; `None` when it has ended.
    /// Its stack is asked for after that: should it run meanwhile, it is seen to
    /// have run next time.
    fn moment(&self, thread: jthread) -> Option<Moment> {
        let at_ns = clock::now_ns();
        match self.ti.cpu_ns(thread) {
            Ok(cpu_ns) => Some(Moment { at_ns, cpu_ns: Some(cpu_ns) }),
            Err(error) if has_ended(error) => None,
            // The JVM does not tell it of virtual threads.
            Err(_) => Some(Moment { at_ns, cpu_ns: None }),
        }
    }

    /// From when on a thread is charged that is seen for the first time.
    fn first_sight(&self, started_ns: Option<u64>, now: Moment) -> Moment {
        match (self.previous_ns, started_ns) {
            (Some(previous_ns), Some(started_ns)) if started_ns >= previous_ns => {
                Moment { at_ns: started_ns, cpu_ns: Some(0) }
            }
            (Some(previous_ns), _) => Moment { at_ns: previous_ns, ..now },
            (None, _) => now,
        }
    }

    /// Looks at the virtual thread that a carrier runs; `false` when there is
    /// none.
    fn look_at_occupant(&mut self, at: usize, settings: &Settings, now: Moment) -> bool {
        let Some(function) = self.virtual_thread else { return false };
        let jvm = (self.sampler.recorder, self.java);
        let seat = &mut self.seats.all[at];
        let carrier_id = seat.java_id;
        let thread = self.ti.virtual_thread(function, seat.thread.get());
        let before = seat.occupant.as_ref().map(|occupant| occupant.java_id);
        if thread.is_null() {
            seat.vacate(jvm);
        }
        let occupant = (!thread.is_null()).then(|| seat.occupy(jvm, thread, settings)).flatten();
        let occupant = occupant.map(|o| (o.java_id, Arc::clone(&o.known), o.wanted));
        let now_id = occupant.as_ref().map(|&(java_id, ..)| java_id);
        if let Some(before) = before.filter(|_| before != now_id)
            && let Some(mut state) = self.state()
        {
            state.books.flush(&self.sampler.statistics, before);
        }
        let found = occupant.is_some();
        match occupant {
            Some((java_id, known, wanted)) => {
                let subject = Subject { java_id, thread, known, now };
                self.walk_occupant(&subject, carrier_id, wanted);
            }
            None if !self.seats.all[at].wanted => self.pass_over(carrier_id, now),
            None => {}
        }
        self.java.drop_local(thread);
        found
    }

    /// The carrier's time is the virtual thread's, unless that one's time is
    /// accounted for by itself.
    fn walk_occupant(&mut self, subject: &Subject, carrier_id: i64, wanted: bool) {
        let by_itself = self.state().is_some_and(|state| state.books.knows(subject.java_id));
        let looked = (wanted || by_itself).then(|| self.look(subject.thread)).flatten();
        let Some((thread_state, count)) = looked else {
            return self.pass_over(carrier_id, subject.now);
        };
        if by_itself {
            let now = Moment { cpu_ns: None, ..subject.now };
            let alone = Subject { known: Arc::clone(&subject.known), now, ..*subject };
            self.seen(&alone, subject.java_id, thread_state, count);
            self.pass_over(carrier_id, subject.now);
        } else {
            self.seen(subject, carrier_id, thread_state, count);
        }
    }

    fn pass_over(&self, java_id: i64, now: Moment) {
        if let Some(mut state) = self.state() {
            state.books.pass_over(java_id, now);
        }
    }

    /// Asks for a thread's stack; `None` when it has ended.
    fn walk(&mut self, subject: &Subject) -> Option<()> {
        let (state, count) = self.look(subject.thread)?;
        self.seen(subject, subject.java_id, state, count);
        Some(())
    }

    /// A thread's state and how many frames its stack has; `None` when it has
    /// ended. State and stack are of the same moment, as near as can be.
    fn look(&mut self, thread: jthread) -> Option<(ThreadState, usize)> {
        let mut state = self.ti.state(thread).ok()??;
        let mut count = 0;
        for _ in 0..2 {
            count = match self.ti.stack_of(thread, 0, &mut self.frames) {
                Ok(count) => count,
                Err(error) if has_ended(error) => return None,
                Err(_) => {
                    self.sampler.statistics.unseen.fetch_add(1, Relaxed);
                    0
                }
            };
            let before = std::mem::replace(&mut state, self.ti.state(thread).ok()??);
            if before == state {
                break;
            }
        }
        Some((state, count))
    }

    /// A thread was seen, whose time is that of another one if it is virtual.
    fn seen(&mut self, subject: &Subject, timeline: i64, state: ThreadState, count: usize) {
        let sampler = self.sampler;
        sampler.statistics.walks.fetch_add(1, Relaxed);
        let Some(mut shared) = self.state() else { return };
        let (known, frames) = (&subject.known, &mut self.frames[..count]);
        let with = (&sampler.statistics, self.java);
        shared.books.seen(with, timeline, (known, state), frames, subject.now);
    }

    /// Asks for the stacks that were put off, in one safepoint.
    fn look_at_subjects(&mut self) {
        if self.subjects.is_empty() {
            return;
        }
        let subjects = std::mem::take(&mut self.subjects);
        let threads: Vec<_> = subjects.iter().map(|subject| subject.thread).collect();
        let (ti, depth) = (self.ti, self.frames.len());
        let asked = ti.stacks_of(&threads, depth, |nth, state, frames| {
            // What has ended is noticed when its CPU time is asked for.
            let (Some(state), Some(subject)) = (state, subjects.get(nth)) else { return };
            let count = frames.len().min(self.frames.len());
            self.frames[..count].copy_from_slice(&frames[..count]);
            self.seen(subject, subject.java_id, state, count);
        });
        if asked.is_err() {
            self.sampler.statistics.unseen.fetch_add(subjects.len() as u64, Relaxed);
        }
        self.subjects = subjects;
        self.subjects.clear();
    }

    /// Looks at the threads that are due by request.
    fn look_at_requested(&mut self) {
        let due = std::mem::take(&mut self.due);
        for due in &due {
            if self.look_at_request(due).is_none() {
                let mut state = lock(&self.sampler.state);
                state.requests.end_of_thread(due.java_id);
                state.books.close(&self.sampler.statistics, due.java_id);
            }
        }
        self.look_at_subjects();
        self.due = due;
        self.due.clear();
    }

    fn look_at_request(&mut self, due: &Due) -> Option<()> {
        let now = self.moment(due.thread)?;
        {
            let Some(mut state) = self.state() else { return Some(()) };
            if !state.requests.has(due.java_id) {
                return Some(());
            }
            let books = &mut state.books;
            if !books.knows(due.java_id) {
                // After a pause.
                books.open(due.java_id, now, false);
                return Some(());
            }
            if self.exact_cpu && books.still(&self.sampler.statistics, due.java_id, now) {
                return Some(());
            }
        }
        let known = Arc::clone(&due.known);
        let subject = Subject { java_id: due.java_id, thread: due.thread, known, now };
        if self.at_once {
            self.subjects.push(subject);
            return Some(());
        }
        self.walk(&subject)
    }
}

/// Whether a thread has ended, by what JVMTI says.
fn has_ended(error: jvmtiError) -> bool {
    // After the JVM's end, too, nobody is there any more.
    matches!(
        error,
        jvmtiError::THREAD_NOT_ALIVE | jvmtiError::INVALID_THREAD | jvmtiError::WRONG_PHASE
    )
}

impl Sampler {
    /// A thread has ended, or is looked at no more.
    fn forget(&self, seat: &Seat) {
        let mut state = lock(&self.state);
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
