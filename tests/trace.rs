//! Trace mode: programs whose right answer is known.

mod adaptive;
mod applications;
mod attaching;
mod blame;
pub mod exactness;
mod holds;
mod identity;
mod names;
mod nesting;
mod precise;
mod rewriting;
