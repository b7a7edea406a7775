//! What stdout can show.

use std::io::{self, IsTerminal, Write};
use terminal_size::{Width, terminal_size_of};
use tyrion_converters::describe::printable;
use tyrion_report::render::text::{Style, WIDTH};

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
            self.0.write_all(printable(text).as_bytes())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_for_terminals_are_not_printed() {
        let mut out = Printable(Vec::new());
        let name = "wörker \u{1b}[31m\u{9b}2J\r";
        writeln!(out, "thread {name}\nnext").unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "thread wörker _[31m_2J_\nnext\n");
    }
}
