//! Tyrion's agent: a JVMTI library that writes who waits for which lock into
//! the event log.
//!
//! Each line knows what stands below it, and nothing above:
//!
//! - [`agent`] composes all of it: what the JVM calls, the agent's life
//! - [`contention`], [`trace`], [`sample`]: what is recorded; none knows the others
//! - [`recorder`]: what they share: threads and their pending waits, stacks
//! - [`log`]: records, definitions, and the mapped files that they are written to
//! - [`jvm`], [`options`]: what the JVM tells, and what the user asks for
//! - [`groups`], [`fingerprint`], and a few helpers

mod agent;
mod clock;
mod contention;
mod fingerprint;
mod groups;
mod jvm;
mod log;
mod message;
mod options;
mod own_cpu;
mod random;
mod recorder;
mod sample;
mod spawn;
mod sync;
mod table;
mod trace;
mod work;
