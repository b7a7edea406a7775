//! Tyrion's agent: a JVMTI library that writes who waits for which lock into
//! the event log.
//!
//! `agentpath`/attach → [`agent`] (life) → [`callbacks`] (what the JVM calls)
//! → [`recorder`] (waits), [`sample`] (what threads are doing) → [`lane`] and
//! [`dictionary`] (records and definitions, of one [`volume`] at a time) →
//! [`rotation`] and [`log`] (mapped files).

mod agent;
mod api;
mod calibrate;
mod callbacks;
mod children;
mod clock;
mod dictionary;
mod entry;
mod groups;
mod home;
mod jvm;
mod lane;
mod lease;
mod lock_names;
mod log;
mod metadata;
mod nature;
mod options;
mod recorder;
mod rotation;
mod sample;
mod spawn;
mod sync;
mod threads;
mod trace;
mod volume;
