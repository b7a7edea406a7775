//! Timed sessions: samples that somebody takes for a while, with `tyrion sample`.
//!
//! Afterwards the JVM is to be as it was found. The agent sees to that itself,
//! since whoever asked for the sample may be killed before it ends.

use super::{
    error::AgentError,
    running::{give_up, recorder, switch},
};
use crate::{
    clock,
    jvm::Vm,
    message::{PANICKED, say},
    options::{DEFAULT_PERIOD_NS, Mode, NamePattern, Options, SampleOptions},
    recorder::Recorder,
    sample,
    spawn::{self, NoThread},
    sync::lock,
};
use jvmti_bindings::sys::jni::JNIEnv;
use std::{
    fmt::Write,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};
use tyrion_wire::header::RecordingState;

/// Held while a command is carried out: one at a time.
pub static TIMED_SESSIONS: Mutex<TimedSessions> = Mutex::new(TimedSessions::none());
/// What is sampled as long as nobody says otherwise, if anything.
static LASTING: Mutex<Option<SampleOptions>> = Mutex::new(None);
/// Whether the JVM is recorded as long as no sample is being taken: what the
/// user or the program has said last.
static WANTED: AtomicBool = AtomicBool::new(false);
/// Sessions have begun or ended.
static CHANGED: Condvar = Condvar::new();

/// A session that is going on.
struct TimedSession {
    number: u64,
    /// When it is over at the latest, monotonic ns.
    until_ns: u64,
}

/// The sessions that are going on.
pub struct TimedSessions {
    open: Vec<TimedSession>,
    /// Of the last one.
    number: u64,
    /// How they are taken, if it is their way and not the lasting one.
    own: Option<SampleOptions>,
    /// A thread sees to it that they end.
    watched: bool,
}

impl TimedSessions {
    const fn none() -> TimedSessions {
        TimedSessions { open: Vec::new(), number: 0, own: None, watched: false }
    }

    /// Whether one is being taken in a way that others can use, too.
    fn can_be_joined(&self) -> bool {
        sample::period_ns().is_some() && !self.own.as_ref().is_some_and(|own| own.once)
    }

    /// Adds one: its number.
    fn add(&mut self, length: Duration) -> u64 {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        self.number += 1;
        let until_ns = clock::now_ns().saturating_add(length_ns);
        self.open.push(TimedSession { number: self.number, until_ns });
        CHANGED.notify_all();
        self.number
    }

    /// Removes those that are over: whether these were the last.
    fn remove(&mut self, is_over: impl Fn(&TimedSession) -> bool) -> bool {
        let had = !self.open.is_empty();
        self.open.retain(|session| !is_over(session));
        CHANGED.notify_all();
        had && self.open.is_empty()
    }

    /// Samples as before, or no more.
    fn restore_settings(&mut self) {
        if self.own.take().is_some() {
            sample_lasting();
        }
    }

    /// Leaves the JVM as it was before the first of them, but for what the user
    /// or the program has said since.
    fn restore(&mut self, recorder: &'static Recorder, env: *mut JNIEnv) -> Result<(), AgentError> {
        let switched = switch_back(recorder, env);
        self.restore_settings();
        switched
    }
}

/// Notes whether the JVM is recorded when no sample is being taken. Takes no
/// lock: the program says so at any time.
pub fn set_wanted(on: bool) {
    WANTED.store(on, SeqCst);
}

/// Whether the JVM is recorded as long as no sample is being taken.
pub fn is_wanted() -> bool {
    WANTED.load(SeqCst)
}

/// Pauses recording that was on for samples alone.
fn switch_back(recorder: &'static Recorder, env: *mut JNIEnv) -> Result<(), AgentError> {
    if is_wanted() {
        return Ok(());
    }
    switch(recorder, env, false)?;
    // The program may have wanted it just now, and found it on.
    if is_wanted() { switch(recorder, env, true) } else { Ok(()) }
}

/// Samples what is to be sampled as long as nobody says otherwise.
fn sample_lasting() {
    match &*lock(&LASTING) {
        Some(lasting) => sample::start(lasting),
        None => sample::stop(),
    }
}

/// A sample begins: what the answer says of it. `is_new` says that the agent
/// was loaded for it.
///
/// # Errors
/// When no thread can see to it that the sample ends.
pub fn begin(
    sessions: &mut TimedSessions,
    vm: Vm,
    options: &Options,
    is_new: bool,
    length: Duration,
) -> Result<String, NoThread> {
    if !sessions.watched {
        spawn::thread("tyrion-session", move || watch(vm))?;
        sessions.watched = true;
    }
    let joined = !is_new && sessions.can_be_joined();
    let mut answer = format!("before={}\njoined={joined}\n", before(is_new));
    if joined {
        // Nobody else's sample changes because of ours.
        answer += &describe(&current(sessions));
    } else {
        if !is_new {
            sample::start(&options.sampling);
        }
        sessions.own = Some(options.sampling.clone());
    }
    let number = sessions.add(length);
    let _ = writeln!(answer, "sample={number}");
    Ok(answer)
}

/// The state in which a sample finds the JVM. What another sample has switched
/// on does not count.
fn before(is_new: bool) -> &'static str {
    match (is_new, is_wanted()) {
        (true, _) => "new",
        (false, true) => RecordingState::Recording.name(),
        (false, false) => RecordingState::Paused.name(),
    }
}

/// What is sampled now.
fn current(sessions: &TimedSessions) -> SampleOptions {
    sessions.own.clone().or_else(|| lock(&LASTING).clone()).unwrap_or_default()
}

/// Which threads are sampled, as the answer says it.
fn describe(options: &SampleOptions) -> String {
    let names = options.threads.as_ref().map_or("", NamePattern::as_str);
    let names = names.replace(['\n', '\r'], " ");
    format!("threads={names}\nskip-daemon={}\n", options.skip_daemon.unwrap_or(false))
}

/// A sample is over: whether it was not before. Who asked for it reads the log
/// now, and finds all that was seen so far, whoever else is still sampling.
///
/// # Errors
/// What the JVM did not want.
pub fn end(
    sessions: &mut TimedSessions,
    number: u64,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
) -> Result<bool, AgentError> {
    let known = sessions.open.iter().any(|session| session.number == number);
    if sessions.remove(|session| session.number == number) {
        sessions.restore(recorder, env)?;
    }
    sample::flush();
    Ok(known)
}

/// The user has stopped recording: samples end with it.
pub fn stopped(sessions: &mut TimedSessions) {
    set_wanted(false);
    sessions.remove(|_| true);
    sessions.restore_settings();
}

/// The user has asked for a recording, to last. If that is with a mode, samples
/// end, and with them what they alone had asked for. `usual` is the mode that counts where
/// none is asked for.
pub fn started(sessions: &mut TimedSessions, options: &Options, usual: Option<Mode>) {
    set_wanted(options.enabled);
    if let Some(mode) = options.mode {
        sessions.remove(|_| true);
        sessions.own = None;
        set_lasting(mode.sample.then_some(&options.sampling));
        sample_lasting();
    } else if let Some(mode) = usual {
        set_lasting(mode.sample.then_some(&options.sampling));
        if sessions.open.is_empty() {
            sample_lasting();
        }
    }
}

/// Notes what is sampled until the user says otherwise. What is not said stays
/// as it is.
pub fn set_lasting(options: Option<&SampleOptions>) {
    let mut lasting = lock(&LASTING);
    *lasting = options.map(|options| {
        let before = lasting.take().unwrap_or_default();
        let all = || NamePattern::parse("").ok();
        SampleOptions {
            period_ns: options.period_ns.or(before.period_ns).or(Some(DEFAULT_PERIOD_NS)),
            threads: options.threads.clone().or(before.threads).or_else(all),
            skip_daemon: options.skip_daemon.or(before.skip_daemon).or(Some(false)),
            once: options.once,
        }
    });
}

/// What is sampled until the user says otherwise.
pub fn lasting() -> Option<SampleOptions> {
    lock(&LASTING).clone()
}

/// The same as it was before.
pub fn last_again(sessions: &TimedSessions, before: Option<SampleOptions>) {
    *lock(&LASTING) = before;
    if sessions.open.is_empty() {
        sample_lasting();
    }
}

/// Whether there are samples as long as nobody says otherwise.
pub fn samples_lasting() -> bool {
    lock(&LASTING).is_some()
}

/// Ends samples that nobody has ended in time.
fn watch(vm: Vm) {
    let watched = std::panic::catch_unwind(|| {
        let mut sessions = lock(&TIMED_SESSIONS);
        loop {
            let now_ns = clock::now_ns();
            let Some(next_ns) = sessions.open.iter().map(|session| session.until_ns).min() else {
                // `begin` starts another thread.
                sessions.watched = false;
                return;
            };
            if next_ns > now_ns {
                let left = Duration::from_nanos(next_ns - now_ns);
                let waited = CHANGED.wait_timeout(sessions, left);
                sessions = waited.unwrap_or_else(PoisonError::into_inner).0;
            } else if sessions.remove(|session| session.until_ns <= now_ns) {
                let restored = vm.with_thread(|env| match recorder() {
                    Some(recorder) => sessions.restore(recorder, env),
                    None => Ok(()),
                });
                if let Some(Err(reason)) = restored {
                    say(&format!("an abandoned sample did not end: {reason}"));
                }
            }
        }
    });
    if watched.is_err() {
        give_up(PANICKED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_restores() {
        let mut sessions = TimedSessions::none();
        let first = sessions.add(Duration::from_secs(1));
        let second = sessions.add(Duration::MAX);
        assert_ne!(first, second);
        assert!(!sessions.remove(|session| session.number == first));
        assert!(sessions.remove(|session| session.number == second));
        assert!(!sessions.remove(|_| true), "again");
        sessions.add(Duration::ZERO);
        assert!(sessions.remove(|session| session.until_ns <= clock::now_ns()));
    }

    #[test]
    fn what_was_said_last_counts() {
        set_lasting(Some(&SampleOptions { period_ns: Some(7), ..SampleOptions::default() }));
        set_lasting(Some(&SampleOptions { skip_daemon: Some(true), ..SampleOptions::default() }));
        let lasting = lock(&LASTING).clone().unwrap();
        assert_eq!((lasting.period_ns, lasting.skip_daemon), (Some(7), Some(true)));
        assert_eq!(lasting.threads.as_ref().unwrap().as_str(), "");
        // What a sample asked for is of no account when the user says something.
        let mut sessions = TimedSessions::none();
        let own = SampleOptions { period_ns: Some(9), ..SampleOptions::default() };
        sessions.own = Some(own.clone());
        sessions.add(Duration::MAX);
        assert_eq!(current(&sessions), own);
        started(&mut sessions, &Options::parse("mode=sample").unwrap(), None);
        assert!(sessions.open.is_empty());
        assert_eq!(current(&sessions), lasting);
        assert_eq!(describe(&current(&sessions)), "threads=\nskip-daemon=true\n");
        started(&mut sessions, &Options::parse("mode=contention").unwrap(), None);
        assert_eq!(*lock(&LASTING), None);

        // A sample finds what was said last.
        assert_eq!((before(true), before(false)), ("new", "recording"));
        set_wanted(false);
        assert_eq!(before(false), "paused");
        started(&mut sessions, &Options::parse("threshold=0").unwrap(), None);
        assert_eq!(before(false), "recording");
        stopped(&mut sessions);
        assert_eq!(before(false), "paused");
    }
}
