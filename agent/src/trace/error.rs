//! Why acquisitions are not counted.

use crate::{jvm::JvmError, spawn::NoThread};
use jvmti_bindings::sys::jvmti::jvmtiError;
use thiserror::Error;

/// What trace mode lacks to begin, or to do what is asked of it.
#[derive(Debug, Error)]
pub enum TraceError {
    /// There is no memory for something.
    #[error("no memory for {0}")]
    NoMemory(&'static str),
    /// The current thread is unknown to the JVM.
    #[error("no JVM")]
    NoJvm,
    /// The class that probes call is not there.
    #[error("trace mode has not begun")]
    NotBegun,
    /// The JVM has refused something.
    #[error(transparent)]
    Jvm(#[from] JvmError),
    /// One of the agent's own threads is missing.
    #[error(transparent)]
    Thread(#[from] NoThread),
}

impl From<jvmtiError> for TraceError {
    fn from(error: jvmtiError) -> TraceError {
        TraceError::Jvm(JvmError::from(error))
    }
}
