use core::fmt;
use std::borrow::Cow;

/// A string as class files hold it: "modified UTF-8".
///
/// It differs from UTF-8 in two places: NUL takes two bytes, and a character outside the basic
/// plane is a pair of surrogates of three bytes each. Plain ASCII is the same in both, so names of
/// interest can be compared with a `&str` at no cost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JStr<'a>(&'a [u8]);

impl<'a> JStr<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes as they stand in the class file.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The string, decoded; what is not modified UTF-8 becomes `U+FFFD`.
    pub fn to_str_lossy(&self) -> Cow<'a, str> {
        // Valid UTF-8 is the same text in both encodings, except that it may hold four-byte
        // characters, which the JVM would not accept and which we need not reject.
        match core::str::from_utf8(self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(decode(self.0)),
        }
    }
}

impl PartialEq<str> for JStr<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == encode(other).as_ref()
    }
}

impl PartialEq<&str> for JStr<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Display for JStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str_lossy())
    }
}

impl fmt::Debug for JStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str_lossy(), f)
    }
}

/// Encodes `text` the way class files want it.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    let same = |c: char| c != '\0' && c <= '\u{ffff}';
    if text.chars().all(same) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut out = Vec::with_capacity(text.len() + 8);
    for unit in text.encode_utf16() {
        match unit {
            0x01..=0x7f => out.push(unit as u8),
            0 | 0x80..=0x7ff => out.extend([0xc0 | (unit >> 6) as u8, trail(unit)]),
            _ => out.extend([0xe0 | (unit >> 12) as u8, trail(unit >> 6), trail(unit)]),
        }
    }
    Cow::Owned(out)
}

fn trail(unit: u16) -> u8 {
    0x80 | (unit & 0x3f) as u8
}

fn decode(bytes: &[u8]) -> String {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((unit, tail)) = next_unit(rest) {
        units.push(unit);
        rest = tail;
    }
    String::from_utf16_lossy(&units)
}

/// The first UTF-16 unit of `bytes`; a byte that starts none counts as `U+FFFD`.
fn next_unit(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let low = |byte: u8| u16::from(byte & 0x3f);
    Some(match *bytes {
        [] => return None,
        [a @ 0x01..=0x7f, ref tail @ ..] => (u16::from(a), tail),
        [a @ 0xc0..=0xdf, b @ 0x80..=0xbf, ref tail @ ..] => {
            (u16::from(a & 0x1f) << 6 | low(b), tail)
        }
        [a @ 0xe0..=0xef, b @ 0x80..=0xbf, c @ 0x80..=0xbf, ref tail @ ..] => {
            (u16::from(a & 0xf) << 12 | low(b) << 6 | low(c), tail)
        }
        [_, ref tail @ ..] => (0xfffd, tail),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_what_utf8_writes_differently() {
        for text in ["", "java/lang/Object", "naïve €", "a\0b", "\u{1d11e} clef"] {
            let encoded = encode(text);
            assert_eq!(JStr::new(&encoded).to_str_lossy(), text);
            assert!(JStr::new(&encoded) == text);
        }
        assert_eq!(encode("\0").as_ref(), [0xc0, 0x80]);
        assert_eq!(encode("\u{1d11e}").len(), 6);
    }

    #[test]
    fn decodes_garbage_without_panicking() {
        assert_eq!(JStr::new(&[0xff, b'a', 0xe0, 0x80]).to_string(), "\u{fffd}a\u{fffd}\u{fffd}");
    }
}
