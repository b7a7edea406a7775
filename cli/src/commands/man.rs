//! `tyrion man`.

use super::Cli;
use crate::outcome::{CommandResult, Completion, Failure};
use clap::CommandFactory;
use std::io::Write;

/// Prints the manual page, the commands' pages after the main one.
pub fn run() -> CommandResult {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let all = std::iter::once(command.clone()).chain(command.get_subcommands().cloned());
    for part in all.filter(|part| part.get_name() != "help") {
        let rendered = clap_mangen::Man::new(part).render(&mut page);
        rendered.map_err(|error| Failure::new(format!("the manual: {error}")))?;
    }
    let written = std::io::stdout().write_all(&page);
    written.map(|()| Completion::Whole).map_err(|error| Failure::writing("stdout", &error))
}
