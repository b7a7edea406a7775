//! Numbers and texts as Flight Recorder writes them.

use crate::limits::MAX_TEXT;

/// The most bytes of a number.
const LONGEST: usize = 9;

/// A place in some bytes, from which numbers and texts are read one after another.
/// What is read may be mapped from a file that another process changes, so texts
/// are copied before they are believed to be text.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteScan<'a> {
    /// May go on behind the end: numbers are read faster where eight bytes can be loaded.
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

/// A text as it stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RawText<'a> {
    /// None.
    #[default]
    Missing,
    /// Its key among the constants of `java.lang.String`.
    Key(u64),
    /// UTF-8, or nearly.
    Utf8(&'a [u8]),
    /// ISO 8859-1.
    Latin1(&'a [u8]),
    /// So many numbers, each a UTF-16 unit.
    Utf16(&'a [u8], usize),
}

impl<'a> ByteScan<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> ByteScan<'a> {
        ByteScan::within(bytes, 0, bytes.len())
    }

    /// From one place in the bytes to another.
    pub(super) fn within(bytes: &'a [u8], at: usize, end: usize) -> ByteScan<'a> {
        ByteScan { bytes, at, end: end.min(bytes.len()) }
    }

    /// Where the next byte stands in the bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// A number: seven bits a byte, least significant first, and eight in the ninth.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Option<u64> {
        if let Some(chunk) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*chunk);
            // Which numbers are short is foreseen, so that the next one need not wait for
            // this one's length.
            if word & 0x80 == 0 && self.at < self.end {
                self.at += 1;
                return Some(word & 0x7f);
            }
            if word & 0x8000 == 0 && self.at + 1 < self.end {
                self.at += 2;
                return Some(word & 0x7f | word >> 1 & 0x3f80);
            }
            let ends = !word & 0x8080_8080_8080_8080;
            let next = self.at + ends.trailing_zeros() as usize / 8 + 1;
            if ends != 0 && next <= self.end {
                // All bits up to the first byte without the high one.
                let used = word & (ends ^ ends.wrapping_sub(1));
                self.at = next;
                return Some(squeeze(used));
            }
        }
        self.long_number()
    }

    /// A number near the end, or of nine bytes.
    #[cold]
    fn long_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for nth in 0..LONGEST {
            let byte = u64::from(self.byte()?);
            if nth == LONGEST - 1 {
                return Some(number | byte << 56);
            }
            number |= (byte & 0x7f) << (7 * nth);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// As [`ByteScan::number`], for what counts things of one byte at least.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.left()).then_some(count)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at).filter(|_| self.at < self.end)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len).filter(|&end| end <= self.end)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// A text: how it is encoded, and so many bytes or numbers.
    pub(super) fn text(&mut self) -> Option<RawText<'a>> {
        Some(match self.byte()? {
            0 => RawText::Missing,
            1 => RawText::Utf8(b""),
            2 => RawText::Key(self.number()?),
            3 => {
                let len = self.count()?;
                RawText::Utf8(self.take(len)?)
            }
            4 => {
                let (count, start) = (self.count()?, self.at);
                for _ in 0..count {
                    self.number()?;
                }
                RawText::Utf16(self.bytes.get(start..self.at)?, count)
            }
            5 => {
                let len = self.count()?;
                RawText::Latin1(self.take(len)?)
            }
            _ => return None,
        })
    }
}

/// Eight groups of seven bits, pushed together.
#[inline(always)]
pub(super) fn squeeze(word: u64) -> u64 {
    let pairs = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4
}

impl RawText<'_> {
    /// The text, cut to [`MAX_TEXT`] bytes; `None` when it is missing or elsewhere. Many
    /// things may have the same long text, and each of them gets a copy.
    pub(super) fn to_text(self) -> Option<String> {
        // No more than is needed is decoded. A character has a byte at least.
        const MOST: usize = MAX_TEXT + 1;
        let text = match self {
            RawText::Missing | RawText::Key(_) => return None,
            RawText::Utf8(bytes) => {
                // Room for the rest of a character that goes on there.
                let bytes = &bytes[..bytes.len().min(MAX_TEXT + 4)];
                let copied = String::from_utf8(bytes.to_vec());
                let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                copied.unwrap_or_else(|error| lossy(error.as_bytes()))
            }
            RawText::Latin1(bytes) => {
                bytes.iter().take(MOST).map(|&byte| char::from(byte)).collect()
            }
            RawText::Utf16(bytes, count) => {
                let mut scan = ByteScan::new(bytes);
                let units = (0..count.min(MOST)).map_while(|_| Some(scan.number()? as u16));
                char::decode_utf16(units).map(|it| it.unwrap_or('\u{fffd}')).collect()
            }
        };
        Some(within(text, MAX_TEXT))
    }
}

/// The beginning of a text, of so many bytes at most.
pub(super) fn within(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A number as Flight Recorder writes it.
    pub(in super::super) fn put(mut number: u64, out: &mut Vec<u8>) {
        for _ in 0..LONGEST - 1 {
            if number < 0x80 {
                return out.push(number as u8);
            }
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    proptest! {
        #[test]
        fn numbers_round_trip(number: u64, cut in 0u32..64, tail in 0usize..12) {
            let number = number >> cut;
            let mut bytes = Vec::new();
            put(number, &mut bytes);
            let len = bytes.len();
            for cut in 0..len {
                prop_assert_eq!(ByteScan::new(&bytes[..cut]).number(), None);
            }
            bytes.resize(len + tail, 0xff);
            let mut scan = ByteScan::new(&bytes);
            prop_assert_eq!((scan.number(), scan.at()), (Some(number), len));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let mut scan = ByteScan::new(&bytes);
            while scan.text().map(RawText::to_text).is_some() {}
            let mut scan = ByteScan::new(&bytes);
            while scan.number().is_some() {}
            prop_assert!(scan.at() <= bytes.len());
        }
    }

    #[test]
    fn texts_of_all_encodings_are_read() {
        let bytes = [
            &[0, 1, 2, 9, 3, 3][..],
            "aä".as_bytes(),
            &[4, 3, b'a', 0xe4, 0x01, 0xac, 0x41],
            &[5, 2, b'b', 0xfc],
            &[6],
        ]
        .concat();
        let mut scan = ByteScan::new(&bytes);
        assert_eq!(scan.text(), Some(RawText::Missing));
        assert_eq!(scan.text().unwrap().to_text().as_deref(), Some(""));
        assert_eq!(scan.text(), Some(RawText::Key(9)));
        for expected in ["aä", "aä€", "bü"] {
            assert_eq!(scan.text().unwrap().to_text().as_deref(), Some(expected));
        }
        assert_eq!(scan.text(), None, "no encoding");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        // A character takes two bytes.
        for (before, kept) in [("", MAX_TEXT), ("a", MAX_TEXT - 1), ("ab", MAX_TEXT)] {
            let text = before.to_owned() + &"ä".repeat(MAX_TEXT);
            let utf8 = RawText::Utf8(text.as_bytes()).to_text().unwrap();
            assert!(utf8.len() == kept && text.starts_with(&utf8), "{before}: {}", utf8.len());
        }
        let latin1 = RawText::Latin1(&[0xe4; 2 * MAX_TEXT]).to_text().unwrap();
        assert_eq!(latin1, "ä".repeat(MAX_TEXT / 2));
    }
}
