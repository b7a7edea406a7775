//! `tyrion man`.

use super::Cli;
use crate::outcome::{CommandResult, Failure, print};
use clap::CommandFactory;

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
    print(page)
}
