//! Who ended a wait.
//!
//! A [`Wake`] is a record of events chunks, behind that of the wait; its thread, who
//! waited, is the one that the chunk's other records are of there. It has no time of
//! its own, so a reader that skips it loses nothing else.

use crate::fields::{FieldReader, TYPE_MISC, record};

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

impl Wake {
    /// Reads the record at the front of `bytes`, as most are: the record and its length.
    /// `None` for all others, which are left to [`event::decode`](crate::event::decode).
    #[inline(always)]
    pub fn usual(bytes: &[u8]) -> Option<(Wake, usize)> {
        let (&[code, len], rest) = bytes.split_first_chunk()?;
        let len = usize::from(len);
        if code != Wake::CODE << 2 | TYPE_MISC || len >= 0x80 {
            return None;
        }
        // Beyond the record, too: whole words are read faster.
        let mut fields = FieldReader(rest);
        let wake = Wake::read(&mut fields)?;
        let is_within = rest.len() - fields.0.len() <= len && len <= rest.len();
        is_within.then_some((wake, 2 + len))
    }
}

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
            prop_assert_eq!(Wake::usual(&bytes), Some((wake, bytes.len())));
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..cut]), None);
                prop_assert_eq!(Wake::usual(&bytes[..cut]), None);
            }
        }

        #[test]
        fn usual_ones_are_what_any_are(mut bytes: [u8; 48], high in 0u8..9) {
            (bytes[0], bytes[1]) = (Wake::CODE << 2 | TYPE_MISC, bytes[1] % 40);
            // Make varints of all lengths.
            bytes[2..].iter_mut().for_each(|byte| if *byte % 8 >= high { *byte &= 0x7f });
            if let Some((wake, len)) = Wake::usual(&bytes) {
                prop_assert_eq!(decode(&bytes), Some((Record::Note(wake.into()), len)));
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
