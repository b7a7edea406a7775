//! Samples that somebody takes for a while: `tyrion sample`.
//!
//! Afterwards the JVM is to be as it was found. The agent sees to that itself,
//! since whoever asked for the sample may be killed before it ends.

use crate::{
    agent, clock,
    jvm::Vm,
    options::{DEFAULT_PERIOD_NS, NamePattern, Options, SampleOptions},
    recorder::Recorder,
    sample,
    sync::lock,
};
use jvmti_bindings::sys::jni::JNIEnv;
use std::{
    fmt::Write,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};
use tyrion_wire::header::State;

/// Held while a command is obeyed: one at a time.
pub static LEASES: Mutex<Leases> = Mutex::new(Leases::none());
/// What is sampled as long as nobody says otherwise, if anything.
static LASTING: Mutex<Option<SampleOptions>> = Mutex::new(None);
/// Leases have changed.
static CHANGED: Condvar = Condvar::new();

/// A sample that is being taken.
struct Lease {
    number: u64,
    /// When it is over at the latest, monotonic ns.
    until_ns: u64,
}

/// The samples that are being taken.
pub struct Leases {
    leases: Vec<Lease>,
    /// Of the last one.
    number: u64,
    /// Whether the JVM was recorded when the first of them began.
    recorded: bool,
    /// How they are taken, if it is their way and not the lasting one.
    own: Option<SampleOptions>,
    /// A thread sees to it that they end.
    watched: bool,
}

impl Leases {
    const fn none() -> Leases {
        Leases { leases: Vec::new(), number: 0, recorded: false, own: None, watched: false }
    }

    /// Whether one is being taken in a way that others can use, too.
    fn can_be_joined(&self) -> bool {
        sample::period_ns().is_some() && !self.own.as_ref().is_some_and(|own| own.once)
    }

    /// Takes one down: its number.
    fn add(&mut self, length: Duration, recorded: bool) -> u64 {
        if self.leases.is_empty() {
            self.recorded = recorded;
        }
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        self.number += 1;
        let until_ns = clock::now_ns().saturating_add(length_ns);
        self.leases.push(Lease { number: self.number, until_ns });
        CHANGED.notify_all();
        self.number
    }

    /// Strikes out those that are over: whether these were the last.
    fn strike(&mut self, is_over: impl Fn(&Lease) -> bool) -> bool {
        let had = !self.leases.is_empty();
        self.leases.retain(|lease| !is_over(lease));
        CHANGED.notify_all();
        had && self.leases.is_empty()
    }

    /// Samples as before, or no more.
    fn restore_settings(&mut self) {
        if self.own.take().is_none() {
            return;
        }
        match &*lock(&LASTING) {
            Some(lasting) => sample::start(lasting),
            None => sample::stop(),
        }
    }

    /// Leaves the JVM as it was before the first of them. What somebody has
    /// switched off since stays off.
    fn restore(&mut self, recorder: &'static Recorder, env: *mut JNIEnv) -> Result<(), String> {
        let switched = if self.recorded { Ok(()) } else { agent::switch(recorder, env, false) };
        self.restore_settings();
        switched
    }
}

/// A sample begins: what the answer says of it. `before` is the state in which
/// the JVM was found.
pub fn begin(
    leases: &mut Leases,
    vm: Vm,
    options: &Options,
    before: &str,
    length: Duration,
) -> Result<String, String> {
    if !leases.watched {
        agent::thread("tyrion-lease", move || watch(vm))?;
        leases.watched = true;
    }
    let is_new = before == "new";
    let joined = !is_new && leases.can_be_joined();
    // What another sample has switched on does not count.
    let before = match (leases.leases.is_empty(), leases.recorded) {
        (true, _) => before,
        (false, true) => State::Recording.name(),
        (false, false) => State::Paused.name(),
    };
    let mut answer = format!("before={before}\njoined={joined}\n");
    if joined {
        // Nobody else's sample changes because of ours.
        let names = current_names(leases);
        let _ = writeln!(answer, "threads={}", names.replace(['\n', '\r'], " "));
    } else {
        if !is_new {
            sample::start(&options.sampling);
        }
        leases.own = Some(options.sampling.clone());
    }
    let number = leases.add(length, before == State::Recording.name());
    let _ = writeln!(answer, "sample={number}");
    Ok(answer)
}

/// Which threads are sampled, as a pattern.
fn current_names(leases: &Leases) -> String {
    let lasting = lock(&LASTING);
    let current = leases.own.as_ref().or(lasting.as_ref());
    let pattern = current.and_then(|options| options.threads.as_ref());
    pattern.map(NamePattern::as_str).unwrap_or_default().to_owned()
}

/// A sample is over: whether it was not before.
///
/// # Errors
/// In words, what the JVM did not want.
pub fn end(
    leases: &mut Leases,
    number: u64,
    recorder: &'static Recorder,
    env: *mut JNIEnv,
) -> Result<bool, String> {
    let known = leases.leases.iter().any(|lease| lease.number == number);
    if leases.strike(|lease| lease.number == number) {
        leases.restore(recorder, env)?;
    }
    Ok(known)
}

/// The user has stopped recording: samples end with it.
pub fn stopped(leases: &mut Leases) {
    leases.strike(|_| true);
    leases.restore_settings();
}

/// The user has asked for a recording, to last.
pub fn started(leases: &mut Leases, options: &Options) {
    match options.mode {
        Some(mode) => {
            leases.strike(|_| true);
            leases.own = None;
            set_lasting(mode.sample.then_some(&options.sampling));
        }
        // Sampling goes on as it is, and what is recorded besides goes on after.
        None => leases.recorded = options.enabled,
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

/// Ends samples that nobody has ended in time.
fn watch(vm: Vm) {
    let watched = std::panic::catch_unwind(|| {
        let mut leases = lock(&LEASES);
        loop {
            let now_ns = clock::now_ns();
            let Some(next_ns) = leases.leases.iter().map(|lease| lease.until_ns).min() else {
                // `begin` starts another thread.
                leases.watched = false;
                return;
            };
            if next_ns > now_ns {
                let left = Duration::from_nanos(next_ns - now_ns);
                let waited = CHANGED.wait_timeout(leases, left);
                leases = waited.unwrap_or_else(PoisonError::into_inner).0;
            } else if leases.strike(|lease| lease.until_ns <= now_ns) {
                let restored = vm.with_thread(|env| match agent::recorder() {
                    Some(recorder) => leases.restore(recorder, env),
                    None => Ok(()),
                });
                if let Some(Err(reason)) = restored {
                    agent::say(&format!("a sample that was left alone did not end: {reason}"));
                }
            }
        }
    });
    if watched.is_err() {
        agent::give_up("a mistake in the agent (a panic)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_restores() {
        let mut leases = Leases::none();
        let first = leases.add(Duration::from_secs(1), true);
        // What it finds is the first one's doing.
        let second = leases.add(Duration::MAX, false);
        assert!(leases.recorded && first != second);
        assert!(!leases.strike(|lease| lease.number == first));
        assert!(leases.strike(|lease| lease.number == second));
        assert!(!leases.strike(|_| true), "again");
        leases.add(Duration::ZERO, false);
        assert!(!leases.recorded);
        assert!(leases.strike(|lease| lease.until_ns <= clock::now_ns()));
    }

    #[test]
    fn what_is_not_said_stays() {
        set_lasting(Some(&SampleOptions { period_ns: Some(7), ..SampleOptions::default() }));
        set_lasting(Some(&SampleOptions { skip_daemon: Some(true), ..SampleOptions::default() }));
        let lasting = lock(&LASTING).clone().unwrap();
        assert_eq!((lasting.period_ns, lasting.skip_daemon), (Some(7), Some(true)));
        assert_eq!(lasting.threads.unwrap().as_str(), "");
        set_lasting(None);
        assert_eq!(*lock(&LASTING), None);
    }
}
