//! The records that trace mode adds to events chunks.
//!
//! Each is a record of type 2, `code << 2 | 2`, a varint length, and a payload
//! of varints. Readers that do not know a code skip it, and ignore what
//! follows the fields that they know.

use crate::{
    event::TYPE_MISC,
    fields::{Fields, put},
    varint,
};

/// Codes of the records.
pub(crate) const CODE_HOLD: u8 = 2;
pub(crate) const CODE_INSTANCE: u8 = 3;
pub(crate) const CODE_BLAME: u8 = 4;
pub(crate) const CODE_NEST: u8 = 5;

/// The longest encoding of a [`Hold`], in bytes.
pub const MAX_HOLD_LEN: usize = 2 + HOLD_FIELDS * varint::MAX_LEN;
const HOLD_FIELDS: usize = 7;

/// Bits of a [`Hold`]'s flags.
pub mod hold_flag {
    /// One of the first few holds of its thread and place, each of which is
    /// measured; otherwise one that the sampling chose.
    pub const FIRST: u64 = 1;
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
    /// The waiter's time since the later of its wait's start and the lock's
    /// previous release, in ns.
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

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Held {
    /// Place id of the acquisition.
    pub place: u32,
    /// Class id of the lock object.
    pub class: u32,
    /// The instance's hash, 0 when unknown.
    pub hash: u32,
}

impl Held {
    fn read(fields: &mut Fields<'_>) -> Option<Held> {
        Some(Held { place: fields.u32()?, class: fields.u32()?, hash: fields.u32()? })
    }
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
    pub outer: Outer<'a>,
}

/// The locks that were held at a [`Nest`], outermost first: made from a slice
/// by a writer (`held.as_slice().into()`), still encoded for a reader.
#[derive(Clone, Copy)]
pub struct Outer<'a>(Form<'a>);

#[derive(Clone, Copy)]
enum Form<'a> {
    Plain(&'a [Held]),
    /// So many times three varints, all of which are there and fit.
    Encoded {
        count: usize,
        bytes: &'a [u8],
    },
}

impl<'a> Outer<'a> {
    /// How many locks were held.
    pub fn len(&self) -> usize {
        match self.0 {
            Form::Plain(list) => list.len(),
            Form::Encoded { count, .. } => count,
        }
    }

    /// Whether no lock was held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The locks, outermost first.
    pub fn iter(&self) -> OuterIter<'a> {
        OuterIter(self.0)
    }

    /// The locks at the front of `bytes`; `None` when they are not all there.
    fn decode(count: u64, bytes: &'a [u8]) -> Option<Outer<'a>> {
        // Each takes three bytes at least, so a huge count ends at once.
        let count = usize::try_from(count).ok().filter(|&count| count <= bytes.len() / 3)?;
        let mut fields = Fields(bytes);
        for _ in 0..count {
            Held::read(&mut fields)?;
        }
        let len = bytes.len() - fields.0.len();
        Some(Outer(Form::Encoded { count, bytes: &bytes[..len] }))
    }
}

impl<'a> From<&'a [Held]> for Outer<'a> {
    fn from(list: &'a [Held]) -> Outer<'a> {
        Outer(Form::Plain(list))
    }
}

impl PartialEq for Outer<'_> {
    fn eq(&self, other: &Outer<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Outer<'_> {}

impl std::fmt::Debug for Outer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for Outer<'a> {
    type Item = Held;
    type IntoIter = OuterIter<'a>;

    fn into_iter(self) -> OuterIter<'a> {
        self.iter()
    }
}

/// The locks of an [`Outer`], outermost first.
#[derive(Clone)]
pub struct OuterIter<'a>(Form<'a>);

impl Iterator for OuterIter<'_> {
    type Item = Held;

    fn next(&mut self) -> Option<Held> {
        match &mut self.0 {
            Form::Plain(list) => {
                let (first, rest) = list.split_first()?;
                *list = rest;
                Some(*first)
            }
            Form::Encoded { bytes, .. } => {
                let mut fields = Fields(bytes);
                let held = Held::read(&mut fields)?;
                *bytes = fields.0;
                Some(held)
            }
        }
    }
}

impl Hold {
    fn fields(&self) -> [u64; HOLD_FIELDS] {
        let ids = [self.place, self.class, self.stack, self.hash].map(u64::from);
        let [place, class, stack, hash] = ids;
        [self.delta_ns, self.hold_ns, place, class, stack, hash, self.flags]
    }

    /// Appends the whole record, code and length included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put(out, CODE_HOLD, self.fields().into_iter());
    }

    /// Writes the whole record at the front of `out`: the number of bytes.
    /// What [`Hold::encode`] does, without a `Vec`.
    #[inline]
    pub fn write(&self, out: &mut [u8; MAX_HOLD_LEN]) -> usize {
        let mut at = 2;
        for field in self.fields() {
            at += varint::write(&mut out[at..], field).unwrap_or(0);
        }
        out[0] = CODE_HOLD << 2 | TYPE_MISC;
        // Seven varints of at most ten bytes: always below 128.
        out[1] = (at - 2) as u8;
        at
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Hold> {
        let mut f = Fields(payload);
        // Struct fields are evaluated in the order written: that of the log.
        Some(Hold {
            delta_ns: f.u64()?,
            hold_ns: f.u64()?,
            place: f.u32()?,
            class: f.u32()?,
            stack: f.u32()?,
            hash: f.u32()?,
            flags: f.u64()?,
        })
    }

    /// Whether it is one of the first few, each of which is measured.
    pub fn is_first(&self) -> bool {
        self.flags & hold_flag::FIRST != 0
    }
}

impl Instance {
    /// Appends the whole record, code and length included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let fields = [self.hash, self.class, self.place, self.shared.into()];
        put(out, CODE_INSTANCE, fields.into_iter().map(u64::from));
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Instance> {
        let mut f = Fields(payload);
        Some(Instance { hash: f.u32()?, class: f.u32()?, place: f.u32()?, shared: f.u64()? != 0 })
    }
}

impl Blame {
    /// Appends the whole record, code and length included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let times = [self.delta_ns, self.charged_ns];
        let ids = [self.site, self.waiter, self.stack, self.place];
        put(out, CODE_BLAME, times.into_iter().chain(ids.into_iter().map(u64::from)));
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Blame> {
        let mut f = Fields(payload);
        Some(Blame {
            delta_ns: f.u64()?,
            charged_ns: f.u64()?,
            site: f.u32()?,
            waiter: f.u32()?,
            stack: f.u32()?,
            place: f.u32()?,
        })
    }
}

impl<'a> Nest<'a> {
    /// Appends the whole record, code and length included. A record must fit
    /// a chunk: a writer bounds the number of outer locks.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let held = |held: Held| [held.place, held.class, held.hash].map(u64::from);
        let fields = std::iter::once(self.delta_ns)
            .chain(held(self.inner))
            .chain([u64::from(self.stack), self.outer.len() as u64])
            .chain(self.outer.iter().flat_map(held));
        put(out, CODE_NEST, fields);
    }

    pub(crate) fn decode(payload: &'a [u8]) -> Option<Nest<'a>> {
        let mut f = Fields(payload);
        let (delta_ns, inner, stack) = (f.u64()?, Held::read(&mut f)?, f.u32()?);
        let count = f.u64()?;
        Some(Nest { delta_ns, inner, stack, outer: Outer::decode(count, f.0)? })
    }
}

#[cfg(test)]
mod tests;
