//! Why the agent does not do what is asked of it.

use crate::{jvm::JvmError, log::Trouble, spawn::NoThread, trace::TraceError};
use jvmti_bindings::sys::jvmti::jvmtiError;
use std::{io, path::Path};
use thiserror::Error;
use tyrion_harmless as harmless;

/// Why recording does not begin, or change. The user reads it as it is, in one line.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The JVM has refused something.
    #[error(transparent)]
    Jvm(#[from] JvmError),
    /// One of the agent's own threads is missing.
    #[error(transparent)]
    Thread(#[from] NoThread),
    /// Acquisitions cannot be counted in that way.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// This is no JVM that the agent knows.
    #[error("this JVM is not as expected: {0}")]
    UnknownJvm(JvmError),
    /// It does not tell of contended monitors.
    #[error("this JVM does not report contended monitors")]
    NoMonitors,
    /// It writes an archive of its classes, and would fail once these are changed.
    #[error(
        "this JVM makes {0}, which fails once classes have probes: trace mode is not possible, \
         contention mode is"
    )]
    Archives(&'static str),
    /// The current thread is unknown to the JVM.
    #[error("no JVM")]
    NoJvm,
    /// The JVM lets the agent's threads no longer in.
    #[error("the JVM takes no more threads")]
    NoMoreThreads,
    /// The agent has nothing to run in place of the JDK's native methods.
    #[error("nothing stands in for native methods")]
    NoStandIns,
    /// Trace mode is off, though it is wanted.
    #[error("trace mode could not begin; waits alone are recorded")]
    WaitsAlone,
    /// The options contradict each other, or what is recorded already.
    #[error("{0}")]
    Options(String),
    /// There can be no log where it is wanted.
    #[error("{0}")]
    Log(String),
    /// The agent itself has failed.
    #[error(
        "the agent has failed in this JVM{} and records nothing any more; please report that; \
         tyrion dump-threads still works",
        in_brackets(.why.as_deref())
    )]
    HasEnded {
        /// What has ended it, as far as that is known.
        why: Option<String>,
    },
    /// The disk is full.
    #[error(
        "there is no room for the log ({trouble}); {} when there is, or with a log where there \
         is room: tyrion attach -o",
        then(*.recording)
    )]
    NoRoom {
        /// What the log's file lacks.
        trouble: Trouble,
        /// Whether recording is on, so that it goes on by itself.
        recording: bool,
    },
    /// Whoever asked for it does not want it any more.
    #[error("given up: the JVM is as it was before")]
    GivenUp,
    /// A command is for an agent that is not there.
    #[error("the agent is not loaded")]
    NotLoaded,
    /// The agent is not there, though nothing has failed.
    #[error("the agent did not start")]
    NotStarted,
}

impl AgentError {
    /// What is wrong with the log of this path, which may be called anything.
    pub fn of_log(path: &Path, error: io::Error) -> AgentError {
        let what_to_do = match Trouble::of(&error) {
            Trouble::NoRoom(_) => {
                "; make room, or name a log where there is room (-o, or file= of the agent)"
            }
            Trouble::Broken(_) => "",
        };
        let reason = format!("{}: {error}{what_to_do}", path.display());
        AgentError::Log(harmless::text(&reason).into_owned())
    }
}

impl From<jvmtiError> for AgentError {
    fn from(error: jvmtiError) -> AgentError {
        AgentError::Jvm(JvmError::from(error))
    }
}

fn in_brackets(why: Option<&str>) -> String {
    why.map_or(String::new(), |why| format!(" ({why})"))
}

fn then(recording: bool) -> &'static str {
    if recording { "recording goes on" } else { "try again" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_reads_what_is_wrong_with_the_log() {
        let of = |why: Option<&str>| AgentError::HasEnded { why: why.map(str::to_owned) };
        let begins = "the agent has failed in this JVM";
        assert!(of(None).to_string().starts_with(&format!("{begins} and records nothing")));
        let why = of(Some("it has ended")).to_string();
        assert!(why.starts_with(&format!("{begins} (it has ended) and records nothing")), "{why}");
        for (recording, then) in [(true, "recording goes on"), (false, "try again")] {
            let trouble = Trouble::NoRoom("full".to_owned());
            assert_eq!(
                AgentError::NoRoom { trouble, recording }.to_string(),
                format!(
                    "there is no room for the log (full); {then} when there is, or with a log \
                     where there is room: tyrion attach -o"
                )
            );
        }
        let of = |error| AgentError::of_log(Path::new("a\nb"), error).to_string();
        let error = of(io::Error::other("is a folder"));
        assert!(error.ends_with(": is a folder") && !error.contains('\n'), "{error}");
        let error = of(io::Error::from_raw_os_error(libc::ENOSPC));
        assert!(error.contains("name a log where there is room"), "{error}");
    }
}
