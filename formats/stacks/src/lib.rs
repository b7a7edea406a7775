//! What the names of a stack's methods say of its thread.
//!
//! The agent asks whether who has a lock waits for work, and all that reads its logs asks it of
//! every stack: the rules are the same.
#![forbid(unsafe_code)]

mod jdk;
mod rules;

pub use jdk::is_jdk;
pub use rules::{Role, Says, passes_on, read, role, takes_input};
