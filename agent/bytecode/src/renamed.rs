//! A class made for another JDK: with other names in its constants.

use crate::pool::{ConstantPool, tag};
use crate::reader::Reader;
use crate::{ClassError, JStr};

/// In front of the constants: the magic number, and the version in two halves.
const MAJOR_VERSION_AT: usize = 6;
const CONSTANTS_AT: usize = 8;

/// A class file whose texts name some classes by other names, in whatever descriptor they stand,
/// and that has another version. Nothing else changes: what it calls must be there.
///
/// # Errors
/// It is no class file, or a text becomes too long.
pub fn renamed(class: &[u8], version: u16, names: &[(&str, &str)]) -> Result<Vec<u8>, ClassError> {
    let head = Reader::new(class, 0).bytes(CONSTANTS_AT)?;
    let mut reader = Reader::new(&class[CONSTANTS_AT..], CONSTANTS_AT);
    let pool = ConstantPool::parse(&mut reader)?;
    let mut bytes = head.to_vec();
    bytes[MAJOR_VERSION_AT..].copy_from_slice(&version.to_be_bytes());
    bytes.extend(u16::try_from(pool.count()).unwrap_or(u16::MAX).to_be_bytes());
    for (index, tag, payload) in pool.entries() {
        bytes.push(tag);
        let text = u16::try_from(index).ok().filter(|_| tag == tag::UTF8);
        match text.and_then(|index| with_names(pool.text(index)?, names)) {
            Some(text) => {
                let too_long =
                    ClassError::Truncated { offset: reader.offset(), wanted: text.len() };
                let len = u16::try_from(text.len()).map_err(|_| too_long)?;
                bytes.extend(len.to_be_bytes());
                bytes.extend(text.as_bytes());
            }
            None => bytes.extend(payload),
        }
    }
    bytes.extend(reader.rest());
    Ok(bytes)
}

/// The text with other names, if it has any of those.
fn with_names(text: JStr<'_>, names: &[(&str, &str)]) -> Option<String> {
    let text = std::str::from_utf8(text.as_bytes()).ok()?;
    let renamed = names.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new));
    (renamed != text).then_some(renamed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::ClassFile;

    const NAMES: &[u8] = include_bytes!("../tests/data/java17/Names.class");

    #[test]
    fn names_and_the_version_are_others() {
        let other = renamed(NAMES, 52, &[("java/lang/Object", "a/B")]).unwrap();
        let (before, after) = (ClassFile::parse(NAMES).unwrap(), ClassFile::parse(&other).unwrap());
        assert_eq!((other[7], before.methods().count()), (52, after.methods().count()));
        let has = |bytes: &[u8], name: &str| {
            bytes.windows(name.len()).any(|window| window == name.as_bytes())
        };
        assert!(has(NAMES, "java/lang/Object") && !has(&other, "java/lang/Object"));
        assert!(has(&other, "a/B"));
        assert_eq!(renamed(NAMES, u16::from(NAMES[7]), &[]).unwrap(), NAMES);
        assert!(renamed(&NAMES[..100], 52, &[]).is_err() && renamed(&[], 52, &[]).is_err());
    }
}
