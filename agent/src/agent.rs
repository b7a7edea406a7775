//! The one place that composes all the others: what the JVM calls, and the
//! agent's life.
//!
//! - [`entry`]: what the JVM calls first
//! - [`start`]: started with the JVM or attached to it, until it ends
//! - [`attach`]: commands to a running JVM, and [`timed_session`]: samples for a while
//! - [`callbacks`]: JVMTI's events and the probes' native methods
//! - [`api`]: what the program says by `tyrion-api.jar`
//! - [`junit`]: the same by `tyrion-junit.jar`
//! - [`itself`]: how Java 8 loads the agent for `tyrion-agent.jar`
//! - [`running`]: the modes that are at work, switched on and off
//! - [`aim`]: which locks are traced, in `mode=auto`
//! - [`instrument`]: which classes get whose probes; [`hooks`]: native methods in their
//!   place, and [`hooked`] what runs then
//! - [`children`]: the JVMs that this one starts are recorded, too
//! - [`error`]: why something of all that is not done
//! - [`telling`], [`before`]: whoever waits for a command, and what is left if nobody does
//! - [`metadata`], [`calibrate`], [`home`], [`owners`]: what a start needs

mod aim;
mod api;
mod attach;
mod before;
mod calibrate;
mod callbacks;
mod children;
mod entry;
mod error;
mod home;
mod hooked;
mod hooks;
mod instrument;
mod itself;
mod junit;
mod metadata;
mod owners;
mod running;
mod start;
mod telling;
mod timed_session;
