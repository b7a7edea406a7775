//! Attacks on who looks at another user's process: what root reads, writes or
//! removes must never be up to that user.
//!
//! Each of them is tried on every command that takes a process id. They need
//! root's rights, as only with those there is something to be won.

mod actor;
mod answers;
mod place;
mod races;
mod roots;
mod sockets;
mod stage;
mod triggers;
