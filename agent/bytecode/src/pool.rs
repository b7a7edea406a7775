use crate::reader::Reader;
use crate::{ClassError, JStr};

type Result<T> = core::result::Result<T, ClassError>;

/// Tags of the constants this crate reads or writes.
pub(crate) mod tag {
    pub(crate) const UTF8: u8 = 1;
    pub(crate) const INTEGER: u8 = 3;
    pub(crate) const LONG: u8 = 5;
    pub(crate) const DOUBLE: u8 = 6;
    pub(crate) const CLASS: u8 = 7;
    pub(crate) const STRING: u8 = 8;
    pub(crate) const FIELDREF: u8 = 9;
    pub(crate) const METHODREF: u8 = 10;
    pub(crate) const INTERFACE_METHODREF: u8 = 11;
    pub(crate) const NAME_AND_TYPE: u8 = 12;
    pub(crate) const INVOKE_DYNAMIC: u8 = 18;
}

/// A constant whose value means something to a reader.
pub(crate) enum Loadable<'a> {
    Class(JStr<'a>),
    Text(JStr<'a>),
}

/// A field or method named by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRef<'a> {
    /// Internal name of the class it is looked up in (or an array descriptor: `clone`).
    pub owner: JStr<'a>,
    /// Name of the member.
    pub name: JStr<'a>,
    /// Its descriptor.
    pub descriptor: JStr<'a>,
}

/// The constant pool of a class.
#[derive(Clone, Debug)]
pub struct ConstantPool<'a> {
    /// Entries by index, tag included; empty where no entry starts (index 0, the second half of
    /// a long or double).
    entries: Vec<&'a [u8]>,
    /// Offset of the first entry; the entries follow each other.
    start: usize,
}

impl<'a> ConstantPool<'a> {
    /// Reads `constant_pool_count` and the pool.
    pub(crate) fn parse(reader: &mut Reader<'a>) -> Result<Self> {
        let count = usize::from(reader.u2()?);
        Self::parse_entries(reader, count)
    }

    /// Reads a pool that is given without the class around it, as JVMTI's `GetConstantPool` does:
    /// `count` is one more than the number of its indices.
    pub fn from_entries(count: u16, entries: &'a [u8]) -> Result<Self> {
        Self::parse_entries(&mut Reader::new(entries, 0), usize::from(count))
    }

    fn parse_entries(reader: &mut Reader<'a>, count: usize) -> Result<Self> {
        let start = reader.offset();
        let no_entry: &[u8] = &[];
        let mut entries = vec![no_entry];
        while entries.len() < count {
            let offset = reader.offset();
            let mut peek = *reader;
            let tag = peek.u1()?;
            let length = match tag {
                tag::UTF8 => 3 + usize::from(peek.u2()?),
                tag::CLASS | tag::STRING | 16 | 19 | 20 => 3,
                15 => 4,
                tag::INTEGER | 4 | 9..=12 | 17 | tag::INVOKE_DYNAMIC => 5,
                tag::LONG | tag::DOUBLE => 9,
                _ => return Err(ClassError::BadConstantTag { offset, tag }),
            };
            entries.push(reader.bytes(length)?);
            if matches!(tag, tag::LONG | tag::DOUBLE) {
                entries.push(no_entry);
            }
        }
        Ok(Self { entries, start })
    }

    /// One more than the largest index.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// The offset of the first entry.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Every entry with its index, as its tag and what follows.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, u8, &'a [u8])> + '_ {
        let split = |(index, entry): (usize, &&'a [u8])| {
            let (&tag, payload) = entry.split_first()?;
            Some((index, tag, payload))
        };
        self.entries.iter().enumerate().filter_map(split)
    }

    /// Every method that it names.
    pub(crate) fn methods(&self) -> impl Iterator<Item = MemberRef<'a>> {
        let methods = self
            .entries()
            .filter(|(_, tag, _)| matches!(*tag, tag::METHODREF | tag::INTERFACE_METHODREF));
        methods.filter_map(|(index, ..)| self.member(u16::try_from(index).ok()?, self.start).ok())
    }

    /// The text at `index`, if there is one.
    pub fn text(&self, index: u16) -> Option<JStr<'a>> {
        self.utf8(index, self.start).ok()
    }

    /// What `ldc` of the constant `index` pushes, if it is the name of a class or a text.
    pub(crate) fn loadable(&self, index: u16) -> Option<Loadable<'a>> {
        let (tag, payload) = self.entries.get(usize::from(index))?.split_first()?;
        let text = self.utf8(Reader::new(payload, 0).u2().ok()?, 0);
        match *tag {
            tag::CLASS => Some(Loadable::Class(text.ok()?)),
            tag::STRING => Some(Loadable::Text(text.ok()?)),
            _ => None,
        }
    }

    /// The descriptor of the call site that an `invokedynamic` names, and the name of what it
    /// implements.
    pub(crate) fn dynamic(&self, index: u16, at: usize) -> Result<(JStr<'a>, JStr<'a>)> {
        let mut dynamic = self.payload(index, &[tag::INVOKE_DYNAMIC], at)?;
        let _bootstrap_method = dynamic.u2()?;
        let mut name_and_type = self.payload(dynamic.u2()?, &[tag::NAME_AND_TYPE], at)?;
        Ok((self.utf8(name_and_type.u2()?, at)?, self.utf8(name_and_type.u2()?, at)?))
    }

    /// The payload of the entry `index`, which must be one of `tags`; `at` says who asks.
    fn payload(&self, index: u16, tags: &[u8], at: usize) -> Result<Reader<'a>> {
        let entry = self.entries.get(usize::from(index)).and_then(|entry| entry.split_first());
        match entry {
            Some((tag, payload)) if tags.contains(tag) => Ok(Reader::new(payload, at)),
            _ => Err(ClassError::BadConstant { offset: at, index }),
        }
    }

    pub(crate) fn utf8(&self, index: u16, at: usize) -> Result<JStr<'a>> {
        let mut payload = self.payload(index, &[tag::UTF8], at)?;
        payload.u2()?;
        Ok(JStr::new(payload.rest()))
    }

    pub(crate) fn class_name(&self, index: u16, at: usize) -> Result<JStr<'a>> {
        let name = self.payload(index, &[tag::CLASS], at)?.u2()?;
        self.utf8(name, at)
    }

    pub(crate) fn member(&self, index: u16, at: usize) -> Result<MemberRef<'a>> {
        let kinds = [tag::FIELDREF, tag::METHODREF, tag::INTERFACE_METHODREF];
        let mut member = self.payload(index, &kinds, at)?;
        let owner = self.class_name(member.u2()?, at)?;
        let mut name_and_type = self.payload(member.u2()?, &[tag::NAME_AND_TYPE], at)?;
        let name = self.utf8(name_and_type.u2()?, at)?;
        let descriptor = self.utf8(name_and_type.u2()?, at)?;
        Ok(MemberRef { owner, name, descriptor })
    }
}
