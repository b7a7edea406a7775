//! The command line of Tyrion, a lock profiler for the JVM.
// What only commands that need JVMs use, nobody uses elsewhere.
#![cfg_attr(windows, allow(dead_code))]

#[cfg(unix)]
mod agent;
#[cfg(unix)]
mod agent_options;
mod commands;
mod console;
mod files;
mod filters;
mod gzip;
mod inputs;
#[cfg(unix)]
mod jvm;
mod live;
mod logs;
mod outcome;
mod progress;
mod shell;
#[cfg(unix)]
mod signals;
#[cfg_attr(windows, path = "system/windows.rs")]
mod system;
mod terminal;
mod usage;

use std::{ffi::OsString, process::ExitCode, time::Instant};

fn main() -> ExitCode {
    system::prepare();
    tell_panics();
    let words: Vec<OsString> = std::env::args_os().collect();
    match commands::parse(&words) {
        Ok(cli) => {
            console::set(cli.console);
            let begin = Instant::now();
            let outcome = commands::run(cli.command);
            outcome::tell_step(|| format!("took {:.3} s", begin.elapsed().as_secs_f64()));
            outcome::exit_code(outcome)
        }
        Err(error) => usage::tell(&error, &words),
    }
}

/// Has a panic told as other errors are: its message may hold names that
/// terminals would take for orders. Who asks for a backtrace gets Rust's own.
fn tell_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|panic| {
            outcome::tell_error(&format!("a bug in tyrion, please report it: {panic}"));
        }));
    }
}
