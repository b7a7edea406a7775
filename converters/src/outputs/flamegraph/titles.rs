//! Frame titles in the units that people read.

use crate::outputs::units;
use std::io::{self, Write};

/// The name of the unit that is rewritten.
pub(super) const NANOSECONDS: &str = "ns";

const END: &[u8] = b"</title>";

/// Passes an SVG of inferno's on, the end of each title rewritten from
/// `(12,345,678 ns, 1.23%)` to `(12.3 ms, 1.23%)`. The widths of frames stand
/// in other attributes and stay in ns; the SVG's script cuts the last `(…)` off
/// a title to get at the name.
pub(super) struct TitleWriter<W: Write> {
    out: W,
    pending: Vec<u8>,
}

impl<W: Write> TitleWriter<W> {
    pub(super) fn new(out: W) -> Self {
        TitleWriter { out, pending: Vec::new() }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.pending)?;
        self.out.flush()
    }

    fn write_title(&mut self) -> io::Result<()> {
        let text = &self.pending[..self.pending.len() - END.len()];
        match rewritten(text) {
            Some((keep, end)) => {
                self.out.write_all(&text[..keep])?;
                self.out.write_all(end.as_bytes())?;
                self.out.write_all(END)?;
            }
            None => self.out.write_all(&self.pending)?,
        }
        self.pending.clear();
        Ok(())
    }
}

impl<W: Write> Write for TitleWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'>') {
            self.pending.extend_from_slice(piece);
            if self.pending.ends_with(END) {
                self.write_title()?;
            }
        }
        Ok(bytes.len())
    }

    /// Passes nothing on: half a title cannot be rewritten.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How much of a title stays, and its new end.
fn rewritten(title: &[u8]) -> Option<(usize, String)> {
    let open = title.iter().rposition(|&byte| byte == b'(')?;
    let inside = std::str::from_utf8(&title[open + 1..]).ok()?;
    let (number, rest) = inside.split_once(' ')?;
    let rest = rest.strip_prefix(NANOSECONDS)?;
    if !rest.starts_with(", ") {
        return None;
    }
    let wait_ns = number.replace(',', "").parse().ok()?;
    Some((open + 1, units::duration(wait_ns) + rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(pieces: &[&str]) -> String {
        let mut out = Vec::new();
        let mut titles = TitleWriter::new(&mut out);
        for piece in pieces {
            titles.write_all(piece.as_bytes()).unwrap();
        }
        titles.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nanoseconds_become_readable() {
        assert_eq!(
            pass(&["<title>all (12,345,678 ns, 100%)</title><rect/>"]),
            "<title>all (12.3 ms, 100%)</title><rect/>"
        );
        assert_eq!(
            pass(&["<title>", "a(1 ns, 2) (5 ns,", " 0.10%)", "</title", ">", "tail"]),
            "<title>a(1 ns, 2) (5 ns, 0.10%)</title>tail"
        );
    }

    #[test]
    fn other_titles_stay() {
        for title in ["", "x", "a (1 waits, 2%)", "a (b ns, 2%)", "a (1 ns)", "(", "(1 nsx, 2%)"] {
            let svg = format!("<title>{title}</title>");
            assert_eq!(pass(&[&svg]), svg);
        }
    }
}
