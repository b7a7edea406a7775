//! Who ended a wait.
//!
//! A [`Wake`] is a record of events chunks, behind that of the wait; its thread, who
//! waited, is the one that the chunk's other records are of there. It has no time of
//! its own, so a reader that skips it loses nothing else.

use crate::fields::record;

/// Another thread has ended a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Thread id of who ended it.
    pub waker: u32,
    /// Stack id of the waker when it did, 0 when it was not taken.
    pub stack: u32,
    /// Site id of the wait: kind, waiter's stack and lock.
    pub site: u32,
    /// How long the thread had waited, in ns.
    pub wait_ns: u64,
    /// How long before its end the wait was ended, in ns: so long the thread took to go
    /// on.
    pub late_ns: u64,
}

record!(Wake = 8 { waker: u32, stack: u32, site: u32, wait_ns: u64, late_ns: u64 });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Record, decode};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wakes_round_trip(ids: [u32; 3], wait_ns: u64, late_ns: u64) {
            let [waker, stack, site] = ids;
            let wake = Wake { waker, stack, site, wait_ns, late_ns };
            let mut bytes = Vec::new();
            wake.encode(&mut bytes);
            prop_assert_eq!(decode(&bytes), Some((Record::Note(wake.into()), bytes.len())));
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..cut]), None);
            }
        }
    }

    #[test]
    fn a_usual_one_takes_twelve_bytes() {
        let wake = Wake { waker: 40, stack: 900, site: 90, wait_ns: 2_000_000, late_ns: 60_000 };
        let mut bytes = Vec::new();
        wake.encode(&mut bytes);
        assert_eq!(bytes.len(), 12);
    }
}
