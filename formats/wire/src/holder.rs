//! What a thread did that had a lock which another one waited for.
//!
//! The agent looks at random moments, so the record has a time, as a sample has; its thread,
//! who waited, is the one that the chunk's other records are of there.

use crate::fields::record;

/// How many owners were asked what they do, as a statistic of the log.
pub const ASKED: &str = "holders.asked";
/// How many of them had released the lock meanwhile, so that their stack tells nothing.
pub const GONE: &str = "holders.gone";
/// What looking has taken, in ns of CPU time.
pub const CPU_NS: &str = "holders.cpu_ns";
/// The state of no owner: nobody had the lock at that moment.
pub const FREE: u32 = 0;

/// What the owner of a lock did while a thread waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// From the chunk's previous record that has a time to the look, in ns.
    pub delta_ns: u64,
    /// Thread id of the owner; 0 if it was not seen.
    pub owner: u32,
    /// Its stack; 0 if it had released the lock before the stack was known, or is a virtual
    /// thread.
    pub stack: u32,
    /// How many of its frames, the innermost ones, were called by the one that has taken
    /// the lock; 0 also where that one is not known.
    pub above: u32,
    /// What it was doing, the code of a [`ThreadState`](crate::sample::ThreadState). Without
    /// an owner [`FREE`] if nobody had the lock, or else 7: it was not seen, mostly because
    /// the wait was over first.
    pub state: u32,
    /// Site id of the wait: kind, waiter's stack and lock.
    pub site: u32,
    /// For how much wait this moment stands, in ns.
    pub stands_for_ns: u64,
}

record!(Holder = 9 {
    delta_ns: u64, owner: u32, stack: u32, above: u32, state: u32, site: u32, stands_for_ns: u64
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Record, decode};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn holders_round_trip(ids: [u32; 5], delta_ns: u64, stands_for_ns: u64) {
            let [owner, stack, above, state, site] = ids;
            let holder = Holder { delta_ns, owner, stack, above, state, site, stands_for_ns };
            let mut bytes = Vec::new();
            holder.encode(&mut bytes);
            prop_assert_eq!(decode(&bytes), Some((Record::Note(holder.into()), bytes.len())));
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..cut]), None);
            }
        }
    }
}
