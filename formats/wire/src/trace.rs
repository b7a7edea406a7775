//! What trace mode records besides waits: how often locks were taken, how
//! long they were held, who made others wait, and what was taken within what.
//!
//! An *acquisition* is an outermost one: a lock that its owner takes once
//! more is *reentrant*, and counted apart. A *hold* goes from an acquisition
//! to the release, without what `Object.wait` or `Condition.await` take of
//! it. An *instance* is one lock object, by its identity hash.
//!
//! Acquisitions are summed in an [`AcquisitionCell`] for each thread, *place*
//! (see [`Definition::Place`](crate::def::Definition::Place)) and class of
//! the lock. [`Hold`], [`Holds`], [`Instance`], [`Blame`] and [`Nest`] are records
//! of events chunks: [`event::decode`](crate::event::decode) reads them, and
//! their thread is the one that the chunk's other records are of there.
//!
//! `Hold`, each of `Holds`, `Blame` and `Nest` tell the time since the previous
//! record of the chunk that has a time: a wait, a sample or one of these.

mod cell;
mod held;
mod holds;
mod record;

pub use cell::{
    AcquisitionCell, BURSTS_CELL_LEN, Bursts, CELL_LEN, OWN_BITS, field, measured, one_in_of,
};
pub use held::{Held, HeldIter, HeldList};
pub use holds::{HoldBatch, Holds, HoldsIter, MAX_HOLD_LEN};
pub use record::*;

/// The mean time, in ns, from a look at a release to the moment from which the next
/// release is looked at, unless the recording tells another: see [`Blame`].
pub const LOOK_NS: u64 = 50_000;
/// Where twice as many threads as these or more wait for a lock, releases are looked at
/// more rarely, in proportion.
pub const USUAL_WAITERS: usize = 64;
/// What the two probes of an acquisition take where that was not measured, in ns: between
/// a loop's 5 and a database's 40 to 150.
pub const USUAL_PAIR_NS: u64 = 30;

pub(crate) use holds::CODE_HOLDS;

#[cfg(test)]
mod tests;
