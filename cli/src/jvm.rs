//! JVMs: starting them with the agent, and speaking to those that run.

pub mod attach;
pub mod launch;
pub mod names;
pub mod process;
pub mod shim;
