//! The lines of a text, whatever became of it on its way: written as UTF-16, cut at the width
//! of a console, with the line ends of Windows.

use crate::limits::thread_dump::MAX_LINE;
use std::borrow::Cow;

/// A console that cuts lines has so many columns at least.
const LEAST_WIDTH: usize = 78;
/// So many lines that end at one column show that they were cut there.
const CUT_LINES: usize = 3;
/// So much of a text shows whether its lines are cut.
const SAMPLE: usize = 1 << 16;

/// A text that was UTF-16 or has a mark of its byte order becomes UTF-8 without one; other
/// bytes stay as they are.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| -> Vec<u8> {
        let pairs = rest.chunks_exact(2);
        let units = pairs.map(|pair| {
            unit([pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)])
        });
        let chars = char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER));
        chars.collect::<String>().into_bytes()
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(rest),
        [0xff, 0xfe, rest @ ..] => Cow::Owned(wide(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(wide(rest, u16::from_be_bytes)),
        _ => Cow::Borrowed(bytes),
    }
}

/// Where a place of the decoded text stands in the file.
pub(super) fn offset_in_file(bytes: &[u8], decoded: &[u8], at: u64) -> u64 {
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => at.saturating_add(3),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            let before = decoded.get(..usize::try_from(at).unwrap_or(usize::MAX));
            let text = String::from_utf8_lossy(before.unwrap_or(decoded));
            2 + 2 * text.encode_utf16().count() as u64
        }
        _ => at,
    }
}

/// The lines of a text, each with where it begins. Those that a console has cut are whole
/// again; ends of lines are taken off.
#[derive(Clone)]
pub(super) struct TextLines<'t> {
    text: &'t [u8],
    at: usize,
    /// At how many columns lines were cut.
    width: Option<usize>,
}

impl<'t> TextLines<'t> {
    pub(super) fn new(text: &'t [u8]) -> TextLines<'t> {
        TextLines { text, at: 0, width: width(text) }
    }

    /// The next line as it is in the file, without its end, and where the one behind it is.
    fn raw(&self, at: usize) -> Option<(&'t [u8], usize)> {
        let rest = self.text.get(at..).filter(|rest| !rest.is_empty())?;
        let len = rest.iter().position(|&byte| byte == b'\n');
        let line = rest.get(..len.unwrap_or(rest.len())).unwrap_or(rest);
        let next = at + line.len() + usize::from(len.is_some());
        Some((line.strip_suffix(b"\r").unwrap_or(line), next))
    }

    /// Whether a line goes on in the next one.
    fn is_cut(&self, line: &[u8], next: &[u8]) -> bool {
        let is_full = self.width.is_some_and(|width| columns(line) == width);
        let start = next.trim_ascii_start();
        let is_new = start.is_empty()
            || next.starts_with(b"\"")
            || next.len() != start.len() && (start.starts_with(b"at ") || start.starts_with(b"- "))
            || next.starts_with(b"   java.lang.Thread.State");
        is_full && !is_new
    }
}

impl<'t> Iterator for TextLines<'t> {
    type Item = (u64, Cow<'t, str>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at as u64;
        let (line, next) = self.raw(self.at)?;
        self.at = next;
        let shown = |line: &'t [u8]| {
            String::from_utf8_lossy(line.get(..MAX_LINE.min(line.len())).unwrap_or_default())
        };
        let mut whole = shown(line);
        let mut last = line;
        while let Some((more, next)) = self.raw(self.at).filter(|it| self.is_cut(last, it.0)) {
            if whole.len() > MAX_LINE {
                break;
            }
            whole.to_mut().push_str(&shown(more));
            (last, self.at) = (more, next);
        }
        Some((start, whole))
    }
}

fn columns(line: &[u8]) -> usize {
    line.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// The column at which a console has cut lines: the longest are all of one length.
fn width(text: &[u8]) -> Option<usize> {
    let sample = text.get(..SAMPLE).unwrap_or(text);
    let (mut longest, mut count) = (0, 0);
    for line in sample.split(|&byte| byte == b'\n') {
        let len = columns(line.strip_suffix(b"\r").unwrap_or(line));
        if len > longest {
            (longest, count) = (len, 0);
        }
        count += usize::from(len == longest);
    }
    ((LEAST_WIDTH..=240).contains(&longest) && count >= CUT_LINES).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<String> {
        TextLines::new(text).map(|(_, line)| line.into_owned()).collect()
    }

    #[test]
    fn lines_are_whole_whatever_ends_them() {
        assert_eq!(lines(b"a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(lines(b""), Vec::<String>::new());
        let long = "x".repeat(80);
        let cut = format!("{long}\r\ny\r\n{long}\r\n  at z\r\n{long}\r\n\r\n");
        assert_eq!(lines(cut.as_bytes())[0], format!("{long}y"));
        assert_eq!(lines(cut.as_bytes())[2], "  at z");
    }

    #[test]
    fn wide_texts_are_decoded_and_places_found_again() {
        let wide: Vec<u8> = [0xff, 0xfe, b'a', 0, 0xe4, 0, b'b', 0].into();
        let text = decoded(&wide);
        assert_eq!(&*text, "aäb".as_bytes());
        assert_eq!(offset_in_file(&wide, &text, 3), 6);
        assert_eq!(offset_in_file(b"ab", b"ab", 1), 1);
        assert_eq!(&*decoded(b"\xef\xbb\xbfa"), b"a");
    }
}
