//! Many holds in one record: what `events=all` writes.
//!
//! What a thread takes in a short time are few locks, so the record lists these,
//! and each hold names its one by its number in the list: three to eight bytes a
//! hold, where a record of its own takes fifteen. These holds have no stack and
//! no flags.

use super::{Held, HeldIter, HeldList, Hold};
use crate::{
    fields::{FieldReader, TYPE_MISC},
    varint::{self, MAX_LEN},
};

pub(crate) const CODE_HOLDS: u8 = 7;

/// The longest encoding of a hold in a [`Holds`] and its lock, in bytes.
pub const MAX_HOLD_LEN: usize = 3 * MAX_ID_LEN + MAX_ID_LEN + 2 * MAX_LEN;
const MAX_ID_LEN: usize = 5;

/// The holds of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holds<'a> {
    locks: HeldList<'a>,
    /// `count` times three varints, all of which are present and fit.
    count: usize,
    bytes: &'a [u8],
}

/// The holds of a [`Holds`], in their order.
#[derive(Clone, Debug, Default)]
pub struct HoldsIter<'a> {
    locks: Vec<Held>,
    fields: FieldReader<'a>,
}

/// Holds that a writer collects for one record. Kept and cleared, it allocates
/// no more.
#[derive(Debug, Default)]
pub struct HoldBatch {
    locks: Vec<Held>,
    /// Each one's lock by its number, when it ended, and how long it was.
    holds: Vec<(u32, u64, u64)>,
    payload: Vec<u8>,
}

impl<'a> Holds<'a> {
    pub(crate) fn decode(payload: &'a [u8]) -> Option<Holds<'a>> {
        let mut fields = FieldReader(payload);
        let locks = HeldList::read(&mut fields)?;
        let count = fields.u64()?;
        // Each takes three bytes at least, so a huge count ends at once.
        let count = usize::try_from(count).ok().filter(|&count| count <= fields.0.len() / 3)?;
        let bytes = fields.0;
        for _ in 0..count {
            let (nth, ..) = hold(&mut fields)?;
            if nth as usize >= locks.len() {
                return None;
            }
        }
        let len = bytes.len() - fields.0.len();
        Some(Holds { locks, count, bytes: &bytes[..len] })
    }

    /// How many holds there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The locks that they are of.
    pub fn locks(&self) -> HeldIter<'a> {
        self.locks.iter()
    }

    /// The holds, in their order.
    pub fn iter(&self) -> HoldsIter<'a> {
        HoldsIter { locks: self.locks().collect(), fields: FieldReader(self.bytes) }
    }
}

impl<'a> IntoIterator for Holds<'a> {
    type Item = Hold;
    type IntoIter = HoldsIter<'a>;

    fn into_iter(self) -> HoldsIter<'a> {
        self.iter()
    }
}

/// Number of the lock, delta and duration.
#[inline]
fn hold(fields: &mut FieldReader<'_>) -> Option<(u32, u64, u64)> {
    Some((fields.u32()?, fields.u64()?, fields.u64()?))
}

impl HoldsIter<'_> {
    /// Whether there are no more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.fields.0.is_empty()
    }
}

impl Iterator for HoldsIter<'_> {
    type Item = Hold;

    #[inline]
    fn next(&mut self) -> Option<Hold> {
        let (nth, delta_ns, hold_ns) = hold(&mut self.fields)?;
        let &Held { place, class, hash } = self.locks.get(nth as usize)?;
        Some(Hold { delta_ns, hold_ns, place, class, hash, ..Hold::default() })
    }
}

impl HoldBatch {
    /// Forgets all holds and locks.
    pub fn clear(&mut self) {
        self.locks.clear();
        self.holds.clear();
    }

    /// Adds a lock: its number, for [`HoldBatch::push`]. The same one may be
    /// added twice.
    pub fn lock(&mut self, lock: Held) -> u32 {
        self.locks.push(lock);
        self.locks.len() as u32 - 1
    }

    /// Adds a hold of a lock by its number, that ended at a time, in ns, and
    /// how long it was.
    #[inline]
    pub fn push(&mut self, lock: u32, end_ns: u64, hold_ns: u64) {
        self.holds.push((lock, end_ns, hold_ns));
    }

    /// How many holds there are.
    pub fn len(&self) -> usize {
        self.holds.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.holds.is_empty()
    }

    /// When the first of the holds ended, in ns; `None` when there is none.
    pub fn first_ns(&self) -> Option<u64> {
        self.holds.first().map(|&(_, end_ns, _)| end_ns)
    }

    /// Appends the whole record, code and length included: the time that the
    /// next record counts from. `since_ns` is what this one counts from; a hold
    /// that ended before it, or before the hold in front of it, is written as
    /// if it had ended then.
    pub fn encode(&mut self, since_ns: u64, out: &mut Vec<u8>) -> u64 {
        let payload = &mut self.payload;
        payload.clear();
        varint::put(payload, self.locks.len() as u64);
        for lock in &self.locks {
            for field in [lock.place, lock.class, lock.hash] {
                varint::put(payload, field.into());
            }
        }
        varint::put(payload, self.holds.len() as u64);
        let mut now_ns = since_ns;
        for &(lock, end_ns, hold_ns) in &self.holds {
            varint::put(payload, lock.into());
            varint::put(payload, end_ns.saturating_sub(now_ns));
            varint::put(payload, hold_ns);
            now_ns = now_ns.max(end_ns);
        }
        out.push(CODE_HOLDS << 2 | TYPE_MISC);
        varint::put(out, payload.len() as u64);
        out.extend_from_slice(payload);
        now_ns
    }
}
