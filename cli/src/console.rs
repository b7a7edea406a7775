//! What every command says beside its output, and in which colours: options that
//! all commands have.

use crate::system;
use clap::{Args, ColorChoice, ValueEnum};
use std::{
    ffi::{OsStr, OsString},
    io::{self, IsTerminal},
    sync::OnceLock,
};

/// The options.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ConsoleArgs {
    /// Say nothing on stderr but what is wrong: no notes, and no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = HEADING)]
    quiet: bool,
    /// Say on stderr what is done, and how long it took; twice, also which passes over
    /// logs were made
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = HEADING)]
    verbose: u8,
    /// When to use colours; auto: on a terminal, unless NO_COLOR is set or TERM is
    /// dumb
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t,
          help_heading = HEADING)]
    color: When,
}

/// What the options stand under in the help.
const HEADING: &str = "Messages";

/// When to do what suits terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    // No documentation here: with some for each value, clap lays out all help as
    // paragraphs.
    #[default]
    Auto,
    Always,
    Never,
}

static CONSOLE: OnceLock<ConsoleArgs> = OnceLock::new();

/// Has all messages be as the user wants them; of several calls the first counts.
pub fn set(args: ConsoleArgs) {
    // Only `main` calls it, and once.
    let _ = CONSOLE.set(args);
}

fn console() -> ConsoleArgs {
    CONSOLE.get().copied().unwrap_or_default()
}

/// Whether notes and progress are unwanted.
pub fn is_quiet() -> bool {
    console().quiet
}

/// Whether each step is to be told.
pub fn is_verbose() -> bool {
    console().verbose != 0
}

/// Whether the parts of a step are to be told, too.
pub fn is_very_verbose() -> bool {
    console().verbose > 1
}

/// Whether somebody watches stderr who wants to see progress.
pub fn shows_progress() -> bool {
    !is_quiet() && io::stderr().is_terminal()
}

/// Whether a report has a chart below the verdict.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ChartArgs {
    /// When text has a chart below the verdict: what threads waited for over time, as in
    /// the page; auto: on a terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, conflicts_with = "json")]
    chart: When,
}

impl ChartArgs {
    /// Whether to draw it where it is known whether that is a terminal.
    pub fn is_wanted(self, is_terminal: bool) -> bool {
        match self.chart {
            When::Always => true,
            When::Never => false,
            When::Auto => is_terminal,
        }
    }

    /// Whether it was asked for, and not only because of a terminal.
    pub fn is_asked_for(self) -> bool {
        self.chart == When::Always
    }
}

/// Whether to use colours on a stream of which it is known whether it is a
/// terminal.
pub fn is_coloured(is_terminal: bool) -> bool {
    console().color.is_wanted(is_terminal, |name| std::env::var_os(name))
}

impl When {
    /// Whether to use colours. See <https://no-color.org>: the variable counts where it is
    /// not empty, and less than an option.
    fn is_wanted(self, is_terminal: bool, var: impl Fn(&str) -> Option<OsString>) -> bool {
        let is_unwanted = || var("NO_COLOR").is_some_and(|value| !value.is_empty());
        let shows_them = || system::shows_colours(var("TERM"));
        match self {
            When::Always => true,
            When::Never => false,
            When::Auto => is_terminal && !is_unwanted() && shows_them(),
        }
    }
}

/// How help and errors about a command line are coloured, which are there before
/// its options have been read.
pub fn color_choice(words: &[OsString]) -> ColorChoice {
    let own = words.iter().skip(1).take_while(|word| *word != "--");
    let mut choice = ColorChoice::Auto;
    let mut is_next = false;
    for word in own {
        let value = match word.to_str() {
            Some(value) if is_next => Some(value),
            Some(word) => word.strip_prefix("--color="),
            None => None,
        };
        choice = match value {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            Some("auto") => ColorChoice::Auto,
            _ => choice,
        };
        is_next = word == OsStr::new("--color");
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(color: When, is_terminal: bool, vars: &[(&str, &str)]) -> bool {
        color.is_wanted(is_terminal, |name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn colours_are_for_terminals_that_show_them() {
        let term = ("TERM", "xterm");
        assert!(wanted(When::Auto, true, &[term]));
        assert!(wanted(When::Auto, true, &[term, ("NO_COLOR", "")]));
        assert!(!wanted(When::Auto, true, &[term, ("NO_COLOR", "1")]));
        assert!(!wanted(When::Auto, false, &[term]));
        assert!(!wanted(When::Auto, true, &[("TERM", "dumb")]) && !wanted(When::Auto, true, &[]));
        assert!(wanted(When::Always, false, &[("NO_COLOR", "1")]));
        assert!(!wanted(When::Never, true, &[term]));
    }

    #[test]
    fn charts_are_for_terminals_unless_asked_for() {
        for (chart, on_terminal, elsewhere) in
            [(When::Auto, true, false), (When::Always, true, true), (When::Never, false, false)]
        {
            let chart = ChartArgs { chart };
            assert_eq!((chart.is_wanted(true), chart.is_wanted(false)), (on_terminal, elsewhere));
        }
    }

    #[test]
    fn help_is_coloured_as_asked_for() {
        let choice = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            color_choice(&words)
        };
        assert_eq!(choice("tyrion report"), ColorChoice::Auto);
        assert_eq!(choice("tyrion --color=never report"), ColorChoice::Never);
        assert_eq!(choice("tyrion report --color always"), ColorChoice::Always);
        assert_eq!(choice("tyrion report --color x --color"), ColorChoice::Auto);
        assert_eq!(choice("tyrion record -- x --color=never"), ColorChoice::Auto);
    }
}
