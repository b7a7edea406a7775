//! What goes wrong with the JVM.

use jvmti_bindings::sys::jvmti::jvmtiError;
use thiserror::Error;

/// What this JVM did not want, or lacks.
#[derive(Debug, Error)]
pub enum JvmError {
    /// A function of JVMTI has refused.
    #[error("JVMTI: {0:?}")]
    Jvmti(jvmtiError),
    /// So has JNI, in its words: the error itself may keep an exception of the program's.
    #[error("{0}")]
    Jni(String),
    /// A mistake in the agent.
    #[error("a panic")]
    Panic,
    /// The JVM does not find a native method in the agent's library.
    #[error("{name} cannot be linked: {reason}")]
    NotLinked {
        /// The method's name.
        name: String,
        /// What a call of it came to.
        reason: Box<JvmError>,
    },
    /// A class of the JDK does not register this native method by itself.
    #[error("{class}.{name} is unlike others")]
    NotRegistered {
        /// The class's internal name.
        class: &'static str,
        /// The method's name.
        name: String,
    },
    /// The JVM does not take another code for this native method.
    #[error("{class}.{name} cannot be replaced")]
    NotReplaced {
        /// The class's internal name.
        class: &'static str,
        /// The method's name.
        name: String,
    },
    /// The JVM does not take the code of a native method of the agent's own, or there is none.
    #[error("{class}.{name} cannot be bound")]
    NotBound {
        /// The class's internal name.
        class: String,
        /// The method's name.
        name: String,
    },
    /// There are no events for virtual threads that come to a carrier and leave it.
    #[error("this JVM does not tell of virtual threads")]
    NoMounts,
}

impl From<jvmtiError> for JvmError {
    fn from(error: jvmtiError) -> JvmError {
        JvmError::Jvmti(error)
    }
}
