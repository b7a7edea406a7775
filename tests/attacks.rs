//! Attacks on who looks at another user's process: what root reads, writes or
//! removes must never be up to that user.
//!
//! Each of them is tried on every command that takes a process id. They need
//! root's rights, as only with those there is something to be won.

pub mod actor;
mod answers;
pub mod jail;
mod listing;
mod place;
mod races;
mod roots;
mod sockets;
pub mod stage;
mod triggers;
