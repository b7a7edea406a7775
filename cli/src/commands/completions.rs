//! `tyrion completions`.

use super::Cli;
use crate::outcome::{CommandResult, print};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

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
    print(script)
}
