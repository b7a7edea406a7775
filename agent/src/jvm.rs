//! The JVM's side: JVMTI and JNI behind functions that return plain values.

pub mod agents;
pub mod code;
mod error;
pub mod finder;
pub mod java;
mod library;
mod loaded;
pub mod loaders;
pub mod monitors;
pub mod natives;
pub mod old;
pub mod peek;
pub mod queues;
pub mod setup;
pub mod threads;
pub mod ti;
pub mod versions;
pub mod virtual_threads;
pub mod vm;
pub mod walk;

pub use error::JvmError;
pub use java::{Global, Java, Local, Object, Weak};
pub use ti::Ti;
pub use vm::Vm;
pub use walk::Walker;
