//! Writes JSON that is too long to be kept in memory as a value.

use std::io::{self, Write};

/// Writes a string, escaped.
pub(super) fn string(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// A duration or moment in ns as a number of milliseconds, exactly: `12.345678`.
pub(super) fn ms(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000, ns % 1_000_000);
    match rest {
        0 => whole.to_string(),
        _ => format!("{whole}.{}", format!("{rest:06}").trim_end_matches('0')),
    }
}

/// Writes the elements of an array, or the fields of an object, with commas between
/// them.
#[derive(Default)]
pub(super) struct Commas {
    any: bool,
}

impl Commas {
    /// Writes a comma unless the first element follows.
    pub(super) fn next(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::replace(&mut self.any, true) { out.write_all(b",") } else { Ok(()) }
    }
}

/// Writes an array of numbers, or of what else displays as JSON.
pub(super) fn array<T: std::fmt::Display>(
    out: &mut dyn Write,
    elements: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let mut commas = Commas::default();
    out.write_all(b"[")?;
    for element in elements {
        commas.next(out)?;
        write!(out, "{element}")?;
    }
    out.write_all(b"]")
}

/// Writes an array of equal elements.
pub(super) fn repeated(out: &mut dyn Write, element: &str, len: usize) -> io::Result<()> {
    array(out, std::iter::repeat_n(element, len))
}

/// A number, or null.
pub(super) fn or_null<T: std::fmt::Display>(number: Option<T>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_exact() {
        for (ns, text) in [
            (0, "0"),
            (1, "0.000001"),
            (999_999, "0.999999"),
            (1_000_000, "1"),
            (12_345_600, "12.3456"),
            (u64::MAX, "18446744073709.551615"),
        ] {
            assert_eq!(ms(ns), text);
        }
    }

    #[test]
    fn arrays_are_json() {
        let mut out = Vec::new();
        array(&mut out, [1, 2]).unwrap();
        array(&mut out, [0; 0]).unwrap();
        repeated(&mut out, "null", 2).unwrap();
        string(&mut out, "a\"\n\u{1}é").unwrap();
        out.extend(or_null(Some(7)).bytes().chain(or_null(None::<u8>).bytes()));
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "[1,2][][null,null]\"a\\\"\\n\\u0001é\"7null");
    }
}
