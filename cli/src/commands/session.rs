//! A JVM that is recorded or sampled for a while.

use super::attach::{Agent, AgentReply, LogPath, value};
use crate::{logs, outcome::Failure, signals::Interrupts};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Moment};

/// How often we look whether the JVM still runs.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// How long a JVM that answers no more may take to end.
const LEAVE: Duration = Duration::from_secs(1);

/// What a session leaves: a log, and which part of it is the session's.
#[derive(Clone, Default)]
pub(super) struct SessionLog {
    /// The log, by the JVM's path.
    pub(super) path: PathBuf,
    /// The same, by our path.
    pub(super) here: PathBuf,
    /// Since when it counts, monotonic ns, if the log is older or it matters.
    pub(super) from_ns: Option<u64>,
    /// Until when, if the log goes on or it matters.
    pub(super) until_ns: Option<u64>,
}

impl SessionLog {
    /// A log that rotates has another name from time to time.
    pub(super) fn note(&mut self, agent: &Agent, answer: &AgentReply, asked: Option<&LogPath>) {
        let path = value(answer, "log");
        if !path.is_empty() {
            self.path = PathBuf::from(path);
            self.here = agent.seen_here(answer, asked);
        }
    }

    /// Opens the files that have something of the session, the newest last.
    pub(super) fn open(&self, agent: &Agent) -> Result<Vec<Recording>, Failure> {
        logs::open_since(agent.files(), &self.path, self.from_ns)
    }

    /// What of these files is the session's.
    pub(super) fn filter(&self, files: &[Recording]) -> Filter {
        // The same moment in all files.
        let moment = |ns: u64| files.last().map(|log| Moment::Wall(logs::wall_ns(log, ns)));
        Filter {
            since: self.from_ns.and_then(moment),
            until: self.until_ns.and_then(moment),
            ..Filter::default()
        }
    }
}

/// Has signals end waits instead of this process, until `session` has ended: what it
/// returns.
pub(super) fn interruptible<T>(
    session: impl FnOnce(&Interrupts) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let interrupts =
        Interrupts::hold().map_err(|error| Failure::new(format!("signals: {error}")))?;
    session(&interrupts)
}

/// Waits for the time to pass, the user to interrupt, or the JVM to end. Every now and
/// then `tell` gets the time that has passed.
pub(super) fn wait(
    agent: &Agent,
    interrupts: &Interrupts,
    time: Duration,
    tell: impl Fn(Duration),
) {
    let begin = Instant::now();
    loop {
        let passed = begin.elapsed();
        let left = time.saturating_sub(passed);
        if left.is_zero() || interrupts.wait(left.min(LOOK)) || !agent.is_alive() {
            return;
        }
        tell(passed);
    }
}

/// Whether the JVM has ended. One that is about to answers no more.
pub(super) fn has_gone(agent: &Agent) -> bool {
    let deadline = Instant::now() + LEAVE;
    while agent.is_alive() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(LOOK / 4);
    }
    true
}
