//! The command line of Tyrion, a lock profiler for the JVM.

mod agent_options;
mod commands;
mod files;
mod filters;
mod jvm;
mod logs;
mod outcome;
mod progress;
mod signals;
mod target;
mod terminal;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    signals::bus::tell_cut_logs();
    let cli = commands::Cli::parse();
    outcome::exit_code(commands::run(cli.command))
}
