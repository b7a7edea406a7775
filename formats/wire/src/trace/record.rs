//! The records that trace mode adds to events chunks.
//!
//! Each is a record of type 2, `code << 2 | 2`, a varint length, and a payload
//! of varints. Readers that do not know a code skip it, and ignore what
//! follows the fields that they know.

use super::{Held, HeldList};
use crate::fields::{FieldReader, put, record};

/// Bits of a [`Hold`]'s flags.
pub mod hold_flag {
    /// One of the first few holds of its thread and place, each of which is
    /// measured; otherwise one that the sampling chose.
    pub const FIRST: u64 = 1;
    /// Recorded for its span alone, since it was long: no sample of holds.
    pub const IN_SPAN: u64 = 2;
}

/// Bits of a [`Nest`]'s flags.
pub mod nest_flag {
    /// The inner lock was taken by a try that does not wait for ever: `tryLock`.
    pub const TRIED: u64 = 1;
}

/// A hold that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// From the chunk's previous record with a time to the release, in ns.
    pub delta_ns: u64,
    /// How long the lock was held, in ns.
    pub hold_ns: u64,
    /// Place id of the acquisition.
    pub place: u32,
    /// Class id of the lock object.
    pub class: u32,
    /// Stack id of the acquisition, 0 when it was not taken.
    pub stack: u32,
    /// The instance's hash, 0 when unknown.
    pub hash: u32,
    /// Bits of [`hold_flag`]; readers ignore the others.
    pub flags: u64,
}

/// A thread has taken an instance for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// The instance's hash, never 0.
    pub hash: u32,
    /// Class id of the lock object.
    pub class: u32,
    /// Place id of the acquisition.
    pub place: u32,
    /// Another thread has taken it before.
    pub shared: bool,
}

/// A thread has released a lock that another one waited for, and is charged
/// with (a part of) its wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    /// From the chunk's previous record with a time to the release, in ns.
    pub delta_ns: u64,
    /// What the thread is charged of the waiter's time, for all its releases since the
    /// record before, in ns.
    pub charged_ns: u64,
    /// Site id of the wait: kind, waiter's stack and lock.
    pub site: u32,
    /// Thread id of the waiter.
    pub waiter: u32,
    /// Stack id of the release: the holder's.
    pub stack: u32,
    /// Place id of the holder's acquisition, 0 when unknown.
    pub place: u32,
}

/// A thread has taken a lock while it held others, for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nest<'a> {
    /// From the chunk's previous record with a time to the acquisition, in ns.
    pub delta_ns: u64,
    /// The lock that was taken.
    pub inner: Held,
    /// Stack id of its acquisition.
    pub stack: u32,
    /// The locks that were held, outermost first.
    pub outer: HeldList<'a>,
    /// Bits of [`nest_flag`]; readers ignore the others.
    pub flags: u64,
}

record!(Hold = 2 { delta_ns: u64, hold_ns: u64, place: u32, class: u32, stack: u32, hash: u32, flags: u64 });

impl Hold {
    /// Whether it is one of the first few, each of which is measured.
    pub fn is_first(&self) -> bool {
        self.flags & hold_flag::FIRST != 0
    }
}

record!(Instance = 3 { hash: u32, class: u32, place: u32, shared: bool });

record!(Blame = 4 { delta_ns: u64, charged_ns: u64, site: u32, waiter: u32, stack: u32, place: u32 });

impl<'a> Nest<'a> {
    pub(crate) const CODE: u8 = 5;

    /// Appends the whole record, code and length included. A record must fit
    /// a chunk: a writer bounds the number of outer locks.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let held = |held: Held| [held.place, held.class, held.hash].map(u64::from);
        let fields = std::iter::once(self.delta_ns)
            .chain(held(self.inner))
            .chain([u64::from(self.stack), self.outer.len() as u64])
            .chain(self.outer.iter().flat_map(held))
            // They came later: where they are 0, they are left out.
            .chain((self.flags != 0).then_some(self.flags));
        put(out, Self::CODE, fields);
    }

    pub(crate) fn decode(payload: &'a [u8]) -> Option<Nest<'a>> {
        let mut f = FieldReader(payload);
        let (delta_ns, inner, stack) = (f.u64()?, Held::read(&mut f)?, f.u32()?);
        let outer = HeldList::read(&mut f)?;
        Some(Nest { delta_ns, inner, stack, outer, flags: f.later_u64()? })
    }

    /// Whether the inner lock was taken by a try that does not wait for ever.
    pub fn is_tried(&self) -> bool {
        self.flags & nest_flag::TRIED != 0
    }
}
