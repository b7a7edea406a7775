//! One line of collapsed stacks.

use crate::limits::MAX_LINE;
use std::borrow::Cow;

/// A stack with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StackLine<'a> {
    /// Its frames, joined by `;`. What was no UTF-8 is replaced.
    pub(super) stack: Cow<'a, str>,
    whole: u64,
    /// Digits after a point; may be empty.
    part: &'a str,
}

impl<'a> StackLine<'a> {
    /// Of a line with or without its end; `None` if it is none.
    pub(super) fn of(line: &'a [u8]) -> Option<StackLine<'a>> {
        let line = trimmed(line);
        if line.len() > MAX_LINE || is_comment(line) || !is_text(line) {
            return None;
        }
        let at = line.iter().rposition(|&byte| byte == b' ' || byte == b'\t')?;
        let (stack, number) = line.split_at(at);
        let number = str::from_utf8(number.get(1..)?).ok()?;
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        // A number of digits alone is no name.
        let names_any = stack.iter().any(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
        if whole.is_empty() || !is_digits(whole) || !is_digits(part) || !names_any {
            return None;
        }
        let stack = String::from_utf8_lossy(stack.trim_ascii_end());
        // More than fits is told when it is scaled.
        Some(StackLine { stack, whole: whole.parse().unwrap_or(u64::MAX), part })
    }

    /// Whether another number stands before it, as `difffolded.pl` writes.
    pub(super) fn has_two_numbers(&self) -> bool {
        let before = self.stack.rsplit_once([' ', '\t']).filter(|_| self.stack.contains(';'));
        before.is_some_and(|(_, last)| last.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Whether the number is no whole one.
    pub(super) fn has_fraction(&self) -> bool {
        self.part.bytes().any(|digit| digit != b'0')
    }

    /// The number times a factor, rounded down; `None` if that is too large.
    pub(super) fn scaled(&self, factor: u64) -> Option<u64> {
        if self.whole == u64::MAX {
            return None;
        }
        let whole = self.whole.checked_mul(factor)?;
        // No unit has more than nine digits behind its point.
        let part = self.part.get(..self.part.len().min(9)).unwrap_or_default();
        let scale = 10u128.pow(part.len() as u32);
        let part = part.parse::<u128>().unwrap_or(0) * u128::from(factor) / scale;
        whole.checked_add(u64::try_from(part).ok()?)
    }
}

/// A frame without what tools append to say how it was compiled, and that.
pub(super) fn without_suffix(frame: &str) -> (&str, &str) {
    let is_one =
        |suffix: &str| matches!(suffix, "_[j]" | "_[i]" | "_[k]" | "_[0]" | "_[1]" | "_[w]");
    match frame.len().checked_sub(4).and_then(|at| frame.split_at_checked(at)) {
        Some((name, suffix)) if is_one(suffix) => (name, suffix),
        _ => (frame, ""),
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// As `# comment`, which flamegraph.pl leaves out, too.
fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"# ")
}

/// Whether nothing stands in a line, or a comment.
pub(super) fn is_blank(line: &[u8]) -> bool {
    let line = trimmed(line);
    is_comment(line) || line.iter().all(u8::is_ascii_whitespace)
}

/// Whether these bytes are text.
pub(super) fn is_text(line: &[u8]) -> bool {
    line.iter().all(|&byte| byte >= b' ' && byte != 0x7f || byte == b'\t')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_stack_and_a_number() {
        for (text, stack, ns) in [
            ("a;b 12\n", "a;b", 12),
            ("a;b 12\r\n", "a;b", 12),
            ("a b;c d\t7", "a b;c d", 7),
            ("a;b 1.5", "a;b", 1),
            ("[main tid=3];java/lang/Thread.run_[j] 0", "[main tid=3];java/lang/Thread.run_[j]", 0),
        ] {
            let line = StackLine::of(text.as_bytes()).unwrap();
            assert_eq!((&*line.stack, line.scaled(1)), (stack, Some(ns)), "{text}");
        }
        for text in ["", "\n", "a", "a;b", "a;b x", "a;b -1", "12 3", "# a 1", "a;\x01b 1", "a 1e3"]
        {
            assert_eq!(StackLine::of(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_none() {
        let line = |len: usize| [vec![b'a'; len - 2], b" 1".to_vec()].concat();
        assert!(
            StackLine::of(&line(MAX_LINE)).is_some()
                && StackLine::of(&line(MAX_LINE + 1)).is_none()
        );
    }

    #[test]
    fn numbers_are_scaled() {
        let scaled = |text: &str, factor| StackLine::of(text.as_bytes()).unwrap().scaled(factor);
        assert_eq!(scaled("a 1.25", 1_000), Some(1_250));
        assert_eq!(scaled("a 0.9999999999", 1_000_000_000), Some(999_999_999));
        assert_eq!(scaled("a 3", 1_000_000_000), Some(3_000_000_000));
        assert_eq!(scaled("a 18446744073709551614", 1), Some(u64::MAX - 1));
        assert_eq!(scaled("a 18446744073709551616", 1), None);
        assert_eq!(scaled("a 18446744073709551", 1_000_000), None);
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        let has = |text: &str| StackLine::of(text.as_bytes()).unwrap().has_fraction();
        assert_eq!([has("a 1"), has("a 1.00"), has("a 1.05")], [false, false, true]);
    }

    #[test]
    fn suffixes_are_known() {
        assert_eq!(without_suffix("a/B.c_[j]"), ("a/B.c", "_[j]"));
        assert_eq!(without_suffix("a/B.c"), ("a/B.c", ""));
        assert_eq!(without_suffix("żó_[x]"), ("żó_[x]", ""));
        assert_eq!(without_suffix("ż"), ("ż", ""));
    }
}
