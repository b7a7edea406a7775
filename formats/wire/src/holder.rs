//! What a thread did that had a lock which another one waited for.
//!
//! The record follows that of the wait; its thread, who waited, is the one that the
//! chunk's other records are of there. It has no time of its own, so a reader that skips it
//! loses nothing else.

use crate::fields::{Fields, put};

/// Code of the record.
pub(crate) const CODE_HOLDER: u8 = 9;
/// One wait, in the unit of [`Holder::stands_for`].
pub const ONE_WAIT: u64 = 256;

/// What the owner of a lock did while a thread waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Thread id of the owner.
    pub owner: u32,
    /// Its stack.
    pub stack: u32,
    /// How many of its frames, the innermost ones, were called by the one that has taken
    /// the lock; 0 also where that one is not known.
    pub above: u32,
    /// What it was doing, the code of a [`ThreadState`](crate::sample::ThreadState).
    pub state: u32,
    /// Site id of the wait: kind, waiter's stack and lock.
    pub site: u32,
    /// How long the thread waited, in ns.
    pub wait_ns: u64,
    /// For how many waits this one stands, in parts of [`ONE_WAIT`].
    pub stands_for: u64,
}

impl Holder {
    /// Appends the whole record, code and length included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let ids = [self.owner, self.stack, self.above, self.state, self.site].map(u64::from);
        put(out, CODE_HOLDER, ids.into_iter().chain([self.wait_ns, self.stands_for]));
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Holder> {
        let mut f = Fields(payload);
        // Struct fields are evaluated in the order written: that of the log.
        Some(Holder {
            owner: f.u32()?,
            stack: f.u32()?,
            above: f.u32()?,
            state: f.u32()?,
            site: f.u32()?,
            wait_ns: f.u64()?,
            stands_for: f.u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Record, decode};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn holders_round_trip(ids: [u32; 5], wait_ns: u64, stands_for: u64) {
            let [owner, stack, above, state, site] = ids;
            let holder = Holder { owner, stack, above, state, site, wait_ns, stands_for };
            let mut bytes = Vec::new();
            holder.encode(&mut bytes);
            prop_assert_eq!(decode(&bytes), Some((Record::Holder(holder), bytes.len())));
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..cut]), None);
            }
        }
    }
}
