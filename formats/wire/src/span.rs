//! What a thread did by its tracing, and what the owner of a lock did.
//!
//! A [`Span`] is a record of events chunks behind a wait or a hold, which was in that span. An
//! [`Operation`] stands behind a wait, and says in which group the lock's owner was when the
//! wait began. Neither has a time of its own, so a reader that skips them loses nothing else.

use crate::fields::record;

/// The span of a trace, as W3C Trace Context has its ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The halves of the trace's id, the more significant one first; 0 for that of the chunk's
    /// span record before: no trace has the id 0.
    pub trace: [u64; 2],
    /// The span's id.
    pub id: u64,
}

/// The length of a span's id.
const ALONE: usize = 8;
/// The same with its trace's.
const WITH_TRACE: usize = 24;

impl Span {
    /// None: no span has the id 0.
    pub const NONE: Span = Span { trace: [0; 2], id: 0 };
    /// Of the record of earlier agents, whose ids are behind a code and a length.
    pub(crate) const CODE: u8 = 11;
    /// The lowest bits of the first byte; the others are the length of what follows.
    pub(crate) const TYPE: u8 = 3;
    /// The longest encoding, in bytes.
    pub const MAX_LEN: usize = 1 + WITH_TRACE;

    /// Whether it is one.
    pub fn is_some(&self) -> bool {
        self.id != 0
    }

    /// Appends the whole record, its first byte included. Ids are random: they are written
    /// as they are, in the order in which they are read.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let is_same = self.trace == [0; 2];
        let len = if is_same { ALONE } else { WITH_TRACE };
        out.push((len as u8) << 2 | Self::TYPE);
        out.extend(self.id.to_be_bytes());
        if !is_same {
            out.extend(self.trace.iter().flat_map(|half| half.to_be_bytes()));
        }
    }

    /// Reads the record at the front: it and its length. No other lengths are taken, so that
    /// few bytes of what is damaged are.
    pub(crate) fn decode_record(bytes: &[u8]) -> Option<(Span, usize)> {
        let (&first, rest) = bytes.split_first()?;
        let len = usize::from(first >> 2);
        let is_known = first & 3 == Self::TYPE && (len == ALONE || len == WITH_TRACE);
        let payload = rest.get(..len).filter(|_| is_known)?;
        Some((Span::decode(payload)?, 1 + len))
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Span> {
        let (&id, rest) = payload.split_first_chunk()?;
        let id = u64::from_be_bytes(id);
        if rest.is_empty() {
            return Some(Span { id, ..Span::NONE });
        }
        let (&high, rest) = rest.split_first_chunk()?;
        let &low = rest.first_chunk()?;
        Some(Span { trace: [u64::from_be_bytes(high), u64::from_be_bytes(low)], id })
    }

    /// The trace's id, in hexadecimal digits as everywhere.
    pub fn trace_text(&self) -> String {
        format!("{:016x}{:016x}", self.trace[0], self.trace[1])
    }

    /// The span's own id likewise.
    pub fn id_text(&self) -> String {
        format!("{:016x}", self.id)
    }
}

/// In which group the owner of a lock was when a wait for it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Stack id of the group.
    pub stack: u32,
    /// Site id of the wait: kind, waiter's stack and lock.
    pub site: u32,
    /// How long the thread has waited, in ns.
    pub wait_ns: u64,
}

record!(Operation = 12 { stack: u32, site: u32, wait_ns: u64 });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Record, decode},
        fields::TYPE_MISC,
    };
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_round_trip(trace: [u64; 2], id: u64, is_same: bool) {
            let span = Span { trace: if is_same { [0; 2] } else { trace }, id };
            let mut bytes = Vec::new();
            span.encode(&mut bytes);
            prop_assert!(bytes.len() <= Span::MAX_LEN);
            prop_assert_eq!(decode(&bytes), Some((Record::Note(span.into()), bytes.len())));
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..cut]), None);
            }
        }

        #[test]
        fn operations_round_trip(ids: [u32; 2], wait_ns: u64) {
            let [stack, site] = ids;
            let operation = Operation { stack, site, wait_ns };
            let mut bytes = Vec::new();
            operation.encode(&mut bytes);
            prop_assert_eq!(decode(&bytes), Some((Record::Note(operation.into()), bytes.len())));
        }
    }

    #[test]
    fn ids_are_shown_as_they_are_written() {
        let span = Span { trace: [0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c], id: 0xb7ad };
        assert_eq!(span.trace_text(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.id_text(), "000000000000b7ad");
        let mut bytes = Vec::new();
        span.encode(&mut bytes);
        assert_eq!(bytes[9..13], [0x0a, 0xf7, 0x65, 0x19]);
    }

    /// With its ids, a span takes 25 bytes, and 9 of those in another one of its trace.
    #[test]
    fn spans_are_short() {
        for (trace, len) in [([1, 2], 25), ([0; 2], 9)] {
            let span = Span { trace, id: 3 };
            let mut bytes = Vec::new();
            span.encode(&mut bytes);
            assert_eq!(bytes.len(), len);
            // Earlier agents had a code and a length before them.
            let mut earlier = vec![Span::CODE << 2 | TYPE_MISC, len as u8 - 1];
            earlier.extend(&bytes[1..]);
            let note = Record::Note(span.into());
            assert_eq!(decode(&earlier), Some((note, earlier.len())));
        }
    }

    #[test]
    fn other_lengths_are_no_spans() {
        let known =
            (0..64).filter(|len| decode(&[&[len << 2 | 3][..], &[1; 64]].concat()).is_some());
        assert_eq!(known.collect::<Vec<u8>>(), [8, 24]);
    }
}
