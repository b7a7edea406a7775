//! What a JVM was like before a command began, so that a command that is given up leaves it
//! as it was.

use super::{
    error::AgentError,
    running::{self, Set},
    timed_session::{self, TimedSessions},
};
use crate::{options::SampleOptions, recorder::Recorder};
use jvmti_bindings::sys::jni::JNIEnv;

/// What a JVM was like.
pub struct Before {
    is_wanted: bool,
    lasting: Option<SampleOptions>,
    threshold_ns: Option<u64>,
    set: Set,
}

impl Before {
    /// As it is now, with or without a recorder.
    pub fn now() -> Before {
        Before {
            is_wanted: running::recorder().is_some() && timed_session::is_wanted(),
            lasting: timed_session::lasting(),
            threshold_ns: running::recorder().map(Recorder::threshold_ns),
            set: running::set(),
        }
    }

    /// Makes it so again: what is recorded, and which classes have probes. The log stays.
    ///
    /// # Errors
    /// What the JVM refused.
    pub fn restore(
        self,
        recorder: &'static Recorder,
        env: *mut JNIEnv,
        sessions: &mut TimedSessions,
    ) -> Result<(), AgentError> {
        if !self.is_wanted {
            running::switch(recorder, env, false)?;
            timed_session::stopped(sessions);
        }
        if let Some(threshold_ns) = self.threshold_ns {
            running::set_threshold_ns(recorder, threshold_ns);
        }
        running::set_again(recorder, env, self.set)?;
        timed_session::last_again(sessions, self.lasting);
        Ok(())
    }
}
