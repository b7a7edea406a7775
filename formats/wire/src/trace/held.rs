//! Locks as records of trace mode name them.

use crate::fields::FieldReader;

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Held {
    /// Place id of the acquisition.
    pub place: u32,
    /// Class id of the lock object.
    pub class: u32,
    /// The instance's hash, 0 when unknown.
    pub hash: u32,
}

impl Held {
    pub(super) fn read(fields: &mut FieldReader<'_>) -> Option<Held> {
        Some(Held { place: fields.u32()?, class: fields.u32()?, hash: fields.u32()? })
    }
}

/// Some locks, of a [`Nest`](super::Nest) those that were held, outermost first:
/// made from a slice by a writer (`held.as_slice().into()`), still encoded for a
/// reader.
#[derive(Clone, Copy)]
pub struct HeldList<'a>(Form<'a>);

#[derive(Clone, Copy)]
enum Form<'a> {
    Plain(&'a [Held]),
    /// `count` times three varints, all of which are present and fit.
    Encoded {
        count: usize,
        bytes: &'a [u8],
    },
}

impl<'a> HeldList<'a> {
    /// How many locks there are.
    pub fn len(&self) -> usize {
        match self.0 {
            Form::Plain(list) => list.len(),
            Form::Encoded { count, .. } => count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The locks, in their order.
    pub fn iter(&self) -> HeldIter<'a> {
        HeldIter(self.0)
    }

    /// The next fields: a number, and so many locks.
    pub(super) fn read(fields: &mut FieldReader<'a>) -> Option<HeldList<'a>> {
        // Each takes three bytes at least, so a huge count ends at once.
        let count = fields.u64()?;
        let count = usize::try_from(count).ok().filter(|&count| count <= fields.0.len() / 3)?;
        let bytes = fields.0;
        for _ in 0..count {
            Held::read(fields)?;
        }
        let len = bytes.len() - fields.0.len();
        Some(HeldList(Form::Encoded { count, bytes: &bytes[..len] }))
    }
}

impl<'a> From<&'a [Held]> for HeldList<'a> {
    fn from(list: &'a [Held]) -> HeldList<'a> {
        HeldList(Form::Plain(list))
    }
}

impl PartialEq for HeldList<'_> {
    fn eq(&self, other: &HeldList<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for HeldList<'_> {}

impl std::fmt::Debug for HeldList<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for HeldList<'a> {
    type Item = Held;
    type IntoIter = HeldIter<'a>;

    fn into_iter(self) -> HeldIter<'a> {
        self.iter()
    }
}

/// The locks of a [`HeldList`], in their order.
#[derive(Clone)]
pub struct HeldIter<'a>(Form<'a>);

impl Iterator for HeldIter<'_> {
    type Item = Held;

    fn next(&mut self) -> Option<Held> {
        match &mut self.0 {
            Form::Plain(list) => {
                let (first, rest) = list.split_first()?;
                *list = rest;
                Some(*first)
            }
            Form::Encoded { bytes, .. } => {
                let mut fields = FieldReader(bytes);
                let held = Held::read(&mut fields)?;
                *bytes = fields.0;
                Some(held)
            }
        }
    }
}
