//! Tyrion's agent: a JVMTI library that writes who waits for which lock into
//! the event log.
//!
//! `agentpath`/attach → [`agent`] (life) → [`callbacks`] (what the JVM calls)
//! → [`recorder`] (waits) → [`lane`] and [`dictionary`] (records and
//! definitions) → [`log`] (mapped file).

mod agent;
mod calibrate;
mod callbacks;
mod clock;
mod dictionary;
mod entry;
mod juc;
mod jvm;
mod lane;
mod log;
mod metadata;
mod nature;
mod options;
mod recorder;
mod sync;
mod threads;
