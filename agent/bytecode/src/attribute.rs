use crate::pool::ConstantPool;
use crate::reader::Reader;
use crate::{ClassError, JStr};

type Result<T> = core::result::Result<T, ClassError>;

/// An attribute of a method or of its code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) name_index: u16,
    pub(crate) name: JStr<'a>,
    pub(crate) contents: Reader<'a>,
}

/// A list of attributes, known to be complete.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'c, 'a> {
    pool: &'c ConstantPool<'a>,
    count: u16,
    list: Reader<'a>,
}

impl<'c, 'a> Attributes<'c, 'a> {
    /// Reads a list of attributes with the count in front.
    pub(crate) fn parse(pool: &'c ConstantPool<'a>, reader: &mut Reader<'a>) -> Result<Self> {
        let count = reader.u2()?;
        let list = *reader;
        for _ in 0..count {
            next(pool, reader)?;
        }
        Ok(Self { pool, count, list })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Attribute<'a>> + use<'c, 'a> {
        let (pool, mut list) = (self.pool, self.list);
        // `parse` has been through the list, so none of them fails.
        (0..self.count).map_while(move |_| next(pool, &mut list).ok())
    }

    /// The contents of the attribute `name`, which may stand only once.
    pub(crate) fn sole(&self, name: &str) -> Result<Option<Reader<'a>>> {
        let mut found = self.iter().filter(|attribute| attribute.name == name);
        let first = found.next();
        match found.next() {
            Some(second) => {
                Err(ClassError::DuplicateAttribute { offset: second.contents.offset() })
            }
            None => Ok(first.map(|attribute| attribute.contents)),
        }
    }
}

/// Reads one attribute.
fn next<'a>(pool: &ConstantPool<'a>, reader: &mut Reader<'a>) -> Result<Attribute<'a>> {
    let offset = reader.offset();
    let name_index = reader.u2()?;
    let name = pool.utf8(name_index, offset)?;
    let length = reader.length()?;
    Ok(Attribute { name_index, name, contents: reader.sub(length)? })
}
