//! What stdout can show.

use std::io::IsTerminal;
use terminal_size::{Width, terminal_size_of};
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
