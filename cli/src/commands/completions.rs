//! `tyrion completions`.

use super::Cli;
use crate::outcome::{CommandResult, Completion, Failure};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;

/// Which shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tyrion completions bash > /etc/bash_completion.d/tyrion")]
pub struct CompletionsArgs {
    /// The shell to complete for
    shell: Shell,
}

/// Prints a completion script.
pub fn run(args: CompletionsArgs) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tyrion", &mut script);
    let written = std::io::stdout().write_all(&script);
    written.map(|()| Completion::Whole).map_err(|error| Failure::writing("stdout", &error))
}
