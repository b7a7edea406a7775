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
//! - [`books`]: what is charged to whom, and written
//! - [`run`]: equal samples that become one record
//! - [`watch`]: the thread that takes the snapshots
//! - [`seats`]: the threads that it looks at
//! - [`requests`]: blocks of code that the program wants sampled
//! - [`pace`]: when the next snapshot is due

mod books;
mod pace;
mod requests;
mod run;
mod seats;
mod watch;

pub use requests::{begin, end};

use crate::{
    agent, clock,
    jvm::{Java, Vm},
    lane::Table,
    options::{DEFAULT_PERIOD_NS, NamePattern, SampleOptions},
    recorder::Recorder,
    spawn,
    sync::{lock, try_lock_for},
    volume::Volume,
};
use books::Books;
use jvmti_bindings::sys::jni::jthread;
use requests::Requests;
use std::{
    sync::{
        Condvar, Mutex, MutexGuard, OnceLock, TryLockError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

static SAMPLER: OnceLock<Sampler> = OnceLock::new();
/// So many threads that have just started, or ended, are remembered.
const STARTED_LIMIT: usize = 1 << 16;

/// What is sampled of all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    /// The mean time between snapshots, ns.
    period_ns: u64,
    threads: Option<NamePattern>,
    skip_daemon: bool,
    /// There is one snapshot only.
    once: bool,
}

impl Settings {
    fn new(options: &SampleOptions, before: Option<&Settings>) -> Settings {
        let threads = match &options.threads {
            None => before.and_then(|before| before.threads.clone()),
            Some(pattern) => Some(pattern.clone()).filter(|pattern| !pattern.as_str().is_empty()),
        };
        let period_ns = before.map_or(DEFAULT_PERIOD_NS, |before| before.period_ns);
        let skip_daemon = before.is_some_and(|before| before.skip_daemon);
        Settings {
            period_ns: options.period_ns.unwrap_or(period_ns),
            threads,
            skip_daemon: options.skip_daemon.unwrap_or(skip_daemon),
            once: options.once,
        }
    }

    /// Whether a thread is sampled, by its name and kind.
    fn wants(&self, name: &[u8], is_daemon: bool) -> bool {
        !(is_daemon && self.skip_daemon)
            && self.threads.as_ref().is_none_or(|pattern| pattern.matches(name))
    }
}

/// Numbers about sampling, for the log.
#[derive(Default)]
struct Statistics {
    snapshots: AtomicU64,
    records: AtomicU64,
    /// Samples whose thread had to be asked for its stack.
    walks: AtomicU64,
    /// Stacks that the JVM would not give.
    unseen: AtomicU64,
    /// Records that the log has no room for.
    lost: AtomicU64,
    /// Snapshots that came late, since others had taken too long.
    put_off: AtomicU64,
    /// CPU time of the thread that takes the snapshots, ns.
    own_ns: AtomicU64,
}

impl Statistics {
    fn values(&self) -> [(&'static str, u64); 7] {
        [
            ("samples.snapshots", self.snapshots.load(Relaxed)),
            ("samples.records", self.records.load(Relaxed)),
            ("samples.walks", self.walks.load(Relaxed)),
            ("samples.unseen", self.unseen.load(Relaxed)),
            ("samples.lost", self.lost.load(Relaxed)),
            ("samples.put_off", self.put_off.load(Relaxed)),
            ("own.sample_ns", self.own_ns.load(Relaxed)),
        ]
    }
}

/// The end of a thread.
#[derive(Clone, Copy)]
struct Ended {
    /// Monotonic ns.
    at_ns: u64,
    /// All the CPU time that it has used, ns.
    cpu_ns: u64,
}

/// What all threads that have to do with sampling share.
struct Sampler {
    recorder: &'static Recorder,
    vm: Vm,
    state: Mutex<State>,
    /// There is something else to do than before.
    wake: Condvar,
    /// Whether it matters that threads start and end.
    watching: AtomicBool,
    /// Whether any has since the list was asked for.
    changed: AtomicBool,
    /// When threads started, by their Java ids, monotonic ns.
    started: Mutex<Table<i64, u64>>,
    /// Threads that have ended, by their Java ids, until that is accounted for.
    ended: Mutex<Table<i64, Ended>>,
    /// The user knows that there is no thread that takes snapshots.
    told: AtomicBool,
    statistics: Statistics,
}

struct State {
    settings: Option<Settings>,
    /// Recording is not paused.
    recording: bool,
    /// The number of these settings: a snapshot under others is given up.
    generation: u64,
    /// There is a thread that takes snapshots.
    watched: bool,
    /// When that looks again what is due, unless it is woken, monotonic ns.
    awake_ns: u64,
    /// The JVM has ended, or the log.
    ended: bool,
    requests: Requests,
    books: Books,
}

impl State {
    /// What is sampled of all threads now.
    fn on(&self) -> Option<&Settings> {
        self.settings.as_ref().filter(|_| self.recording && !self.ended)
    }

    /// Whether there is anything to do for a thread that takes snapshots.
    fn has_work(&self) -> bool {
        self.on().is_some() || !self.requests.is_empty() && !self.ended
    }
}

/// Gets ready; nothing is sampled yet.
pub fn prepare(recorder: &'static Recorder, vm: Vm) {
    SAMPLER.get_or_init(|| Sampler {
        recorder,
        vm,
        state: Mutex::new(State {
            settings: None,
            recording: false,
            generation: 0,
            watched: false,
            awake_ns: 0,
            ended: false,
            requests: Requests::default(),
            books: Books::new(recorder),
        }),
        wake: Condvar::new(),
        watching: AtomicBool::new(false),
        changed: AtomicBool::new(false),
        started: Mutex::default(),
        ended: Mutex::default(),
        told: AtomicBool::new(false),
        statistics: Statistics::default(),
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
            state.books.close_others(&sampler.statistics, |_| false);
        }
        sampler.changed(state);
    }
}

/// The period in ns, if all threads are sampled now.
pub fn period_ns() -> Option<u64> {
    let state = lock(&SAMPLER.get()?.state);
    state.on().map(|settings| settings.period_ns)
}

/// How many samples are in the log.
pub fn records() -> u64 {
    SAMPLER.get().map_or(0, |sampler| sampler.statistics.records.load(Relaxed))
}

/// What is known is written, since somebody reads the log now. Sampling goes on.
pub fn flush() {
    let Some(sampler) = SAMPLER.get() else { return };
    lock(&sampler.state).books.leave(&sampler.statistics);
}

/// The JVM ends: what is known is written, and nothing more.
pub fn finish() {
    let Some(sampler) = SAMPLER.get() else { return };
    let Some(mut state) = try_lock_for(&sampler.state, Duration::from_secs(1)) else { return };
    state.ended = true;
    state.books.leave(&sampler.statistics);
    sampler.changed(state);
}

/// Leaves a volume: whether it has.
pub fn leave(from: &Volume) -> bool {
    let Some(sampler) = SAMPLER.get() else { return true };
    let mut state = match sampler.state.try_lock() {
        Ok(state) => state,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    if state.books.volume() == Some(from.number) {
        state.books.leave(&sampler.statistics);
    }
    true
}

/// A thread starts, the current one.
#[inline]
pub fn thread_starts(java: Java, thread: jthread) {
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
pub fn thread_ends(java: Java, thread: jthread) {
    if let Some(sampler) = SAMPLER.get().filter(|sampler| sampler.watching.load(Relaxed)) {
        let end = Ended { at_ns: clock::now_ns(), cpu_ns: clock::thread_cpu_ns() };
        let java_id = sampler.recorder.java_id(java, thread);
        let mut ended = lock(&sampler.ended);
        if ended.len() < STARTED_LIMIT {
            ended.insert(java_id, end);
        }
        drop(ended);
        sampler.changed.store(true, Release);
    }
}

impl Sampler {
    /// There is something else to do: sees to it that somebody does.
    fn changed(&'static self, mut state: MutexGuard<'_, State>) {
        state.generation += 1;
        self.watching.store(state.on().is_some(), Release);
        self.call_on(state, 0);
    }

    /// Sees to it that there is a thread that takes snapshots, if there are any
    /// to take, and that it looks what to do by then, in monotonic ns.
    fn call_on(&'static self, mut state: MutexGuard<'_, State>, by_ns: u64) {
        let mut failed = None;
        if state.has_work() && !state.watched {
            failed = spawn::thread("tyrion-sample", move || self.watch()).err();
            state.watched = failed.is_none();
        }
        if by_ns < state.awake_ns {
            self.wake.notify_all();
        }
        drop(state);
        if let Some(reason) = failed {
            self.tell(&reason);
        }
    }

    /// Tells the user why nothing is sampled, once: this can be as often as the
    /// program wants a block sampled.
    fn tell(&self, reason: &str) {
        if !self.told.swap(true, Relaxed) {
            agent::say(&format!("nothing is sampled: {reason}"));
        }
    }

    fn watch(&'static self) {
        let watched = std::panic::catch_unwind(|| {
            // SAFETY: the environment is this thread's, as long as it is attached.
            self.vm.with_thread(|env| watch::run(self, unsafe { Java::new(env) }))
        });
        // Not that the JVM took no more threads, or that it failed.
        if !matches!(watched, Ok(Some(()))) {
            let mut state = lock(&self.state);
            state.watched = false;
            state.settings = None;
            self.watching.store(false, Release);
            drop(state);
            self.tell("no thread for it");
        }
    }

    /// What is known of threads that only the snapshots of all were for.
    fn close_unrequested(&self, state: &mut State) {
        let State { books, requests, .. } = state;
        books.close_others(&self.statistics, |java_id| requests.has(java_id));
    }

    /// Whether threads have started or ended since this was asked before.
    fn take_changed(&self) -> bool {
        self.changed.swap(false, Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays_as_it_is() {
        let first = Settings::new(&SampleOptions::default(), None);
        assert_eq!((first.period_ns, first.skip_daemon), (DEFAULT_PERIOD_NS, false));
        let threads = NamePattern::parse("^a").unwrap();
        let options = SampleOptions {
            period_ns: Some(7),
            threads: Some(threads),
            skip_daemon: Some(true),
            once: true,
        };
        let second = Settings::new(&options, Some(&first));
        let third = Settings::new(&SampleOptions::default(), Some(&second));
        assert_eq!(third, Settings { once: false, ..second });
        let all = SampleOptions {
            threads: Some(NamePattern::parse("").unwrap()),
            skip_daemon: Some(false),
            ..SampleOptions::default()
        };
        let fourth = Settings::new(&all, Some(&third));
        assert_eq!((fourth.threads, fourth.skip_daemon), (None, false));
    }

    #[test]
    fn threads_are_chosen_by_name_and_kind() {
        let settings = Settings {
            period_ns: 1,
            threads: Some(NamePattern::parse("http").unwrap()),
            skip_daemon: true,
            once: false,
        };
        assert!(settings.wants(b"my-http-1", false));
        assert!(!settings.wants(b"my-http-1", true) && !settings.wants(b"main", false));
    }
}
