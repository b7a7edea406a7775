//! JVMs: starting them with the agent, and talking to those that run.

pub mod attach;
pub mod launch;
pub mod names;
pub mod shim;
