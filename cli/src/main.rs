//! The command line of Tyrion, a lock profiler for the JVM.

mod agent_options;
mod commands;
mod files;
mod filters;
mod jvm;
mod logs;
mod outcome;
mod progress;
mod shell;
mod signals;
mod target;
mod terminal;
mod usage;

use clap::Parser;
use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    signals::bus::tell_cut_logs();
    tell_panics();
    let words: Vec<OsString> = std::env::args_os().collect();
    match commands::Cli::try_parse_from(&words) {
        Ok(cli) => outcome::exit_code(commands::run(cli.command)),
        Err(error) => usage::tell(&error, &words),
    }
}

/// Has a panic told as other errors are: its message may hold names that
/// terminals would take for orders. Who asks for a backtrace gets Rust's own.
fn tell_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|panic| {
            outcome::tell(&format!("a bug in tyrion, please report it: {panic}"));
        }));
    }
}
