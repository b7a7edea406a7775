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
mod usage;

use clap::Parser;
use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    signals::bus::tell_cut_logs();
    let words: Vec<OsString> = std::env::args_os().collect();
    match commands::Cli::try_parse_from(&words) {
        Ok(cli) => outcome::exit_code(commands::run(cli.command)),
        Err(error) => usage::tell(&error, &words),
    }
}
