//! What stdout can show.

use crate::console;
use std::{
    fmt,
    io::{self, IsTerminal, Write},
};
use terminal_size::{Width, terminal_size_of};
use tyrion_model::harmless;
use tyrion_report::render::{
    json,
    text::{Style, WIDTH},
};

/// How to draw on stdout: in colour where the user wants it; no wider than the
/// terminal.
pub fn style() -> Style {
    let stdout = std::io::stdout();
    let coloured = console::is_coloured(stdout.is_terminal());
    if !stdout.is_terminal() {
        return Style { coloured, ..Style::default() };
    }
    let width = terminal_size_of(stdout).map_or(WIDTH, |(Width(width), _)| width.into());
    Style { width, coloured, ..Style::default() }
}

/// Writes lines of text as a terminal may have them: names of the program's
/// own could hold what terminals take for orders.
pub struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if harmless::is_plain(bytes.strip_suffix(b"\n").unwrap_or(bytes)) {
            return self.0.write(bytes);
        }
        // What is formatted comes in whole pieces of text.
        for line in String::from_utf8_lossy(bytes).split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            self.0.write_all(harmless::text(text).as_bytes())?;
            if text.len() < line.len() {
                self.0.write_all(b"\n")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes JSON as a terminal may have it, names and all: see [`json::escaped`].
pub struct EscapingWriter<W> {
    out: W,
    /// What is being formatted, kept for its memory.
    text: String,
}

impl<W: Write> EscapingWriter<W> {
    /// What writes to `out`.
    pub fn new(out: W) -> EscapingWriter<W> {
        EscapingWriter { out, text: String::new() }
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Whoever writes text does so in whole pieces of it.
        let text = String::from_utf8_lossy(bytes);
        self.out.write_all(json::escaped(&text).as_bytes())?;
        Ok(bytes.len())
    }

    /// A record at a time: JSON is formatted in pieces of a few bytes, and to look
    /// at each of them alone took a third longer.
    fn write_fmt(&mut self, record: fmt::Arguments<'_>) -> io::Result<()> {
        self.text.clear();
        fmt::write(&mut self.text, record).map_err(io::Error::other)?;
        self.out.write_all(json::escaped(&self.text).as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn orders_for_terminals_are_not_printed() {
        let mut out = Printable(Vec::new());
        let name = "wörker \u{1b}[31m\u{9b}2J\r";
        writeln!(out, "thread {name}\nnext").unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "thread wörker _[31m_2J_\nnext\n");
    }

    #[test]
    fn json_keeps_names_and_gives_no_orders() {
        let mut out = EscapingWriter::new(Vec::new());
        let record = serde_json::json!({ "name": "wörker \u{1b}[31m\u{9b}2J\u{202e}" });
        writeln!(out, "{record}").unwrap();
        let text = String::from_utf8(out.out).unwrap();
        assert_eq!(text, "{\"name\":\"wörker \\u001b[31m\\u009b2J\\u202e\"}\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), record);
    }
}
