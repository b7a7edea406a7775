//! What stdout can show.

use std::io::{self, IsTerminal, Write};
use terminal_size::{Width, terminal_size_of};
use tyrion_converters::harmless;
use tyrion_report::render::{
    json,
    text::{Style, WIDTH},
};

/// How to draw on stdout: in colour on a terminal, unless its user does not
/// want it (no-color.org); no wider than the terminal.
pub fn style() -> Style {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return Style::default();
    }
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let width = terminal_size_of(stdout).map_or(WIDTH, |(Width(width), _)| width.into());
    Style { width, coloured: !unwanted && !dumb }
}

/// Writes lines of text as a terminal may have them: names of the program's
/// own could hold what terminals take for orders.
pub struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        if bytes.iter().all(is_plain) {
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
pub struct Escaped<W>(pub W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        if bytes.iter().all(is_plain) {
            return self.0.write(bytes);
        }
        // What is formatted comes in whole pieces of text.
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(json::escaped(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
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
        let mut out = Escaped(Vec::new());
        let record = serde_json::json!({ "name": "wörker \u{1b}[31m\u{9b}2J\u{202e}" });
        writeln!(out, "{record}").unwrap();
        let text = String::from_utf8(out.0).unwrap();
        assert_eq!(text, "{\"name\":\"wörker \\u001b[31m\\u009b2J\\u202e\"}\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), record);
    }
}
