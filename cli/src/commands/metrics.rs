//! `tyrion metrics`: the figures of a recording for Prometheus, while it is made.

mod besides;
mod families;
mod http;
#[cfg(test)]
mod tests;
mod text;
mod totals;
mod watched;

use crate::{
    live::{self, find},
    logs,
    outcome::{CommandResult, Completion, Failure, tell, tell_error},
    signals::Interrupts,
};
use clap::Args;
use http::{Page, Server};
use std::{sync::Arc, time::Duration};
use tyrion_model::filter::{FilterError, Kinds, duration_ns};
use watched::{FollowedLog, Options};

/// The shortest time between two looks.
const LEAST_INTERVAL_NS: u64 = 50_000_000;
/// More locks would be more series than a scrape should have.
const MOST_LOCKS: i64 = 10_000;

/// Which recording to serve, and where.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion metrics 4711                 # a JVM that is recorded, see tyrion attach
  tyrion metrics report.log --listen 127.0.0.1:9500
  curl -s http://127.0.0.1:9464/metrics

Reads the log while it is being written, which does not slow the program down, and
follows it when it rotates, or when another recording begins under its name. When the
program ends, its last values are served until SIGINT or SIGTERM. docs/metrics.md lists
the metrics, and has queries and alerts.")]
pub struct MetricsArgs {
    /// A log, or a JVM that is being recorded: its process id, or its main class
    /// or jar, or a part of these or of its arguments (a log whose name is a
    /// number: ./4711)
    #[arg(value_name = "LOG|PID|NAME")]
    target: String,
    /// Where to listen; port 0 is any that is free, which is told on stderr
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9464")]
    listen: String,
    /// At most so many locks have series of their own; all others are counted
    /// together as "other"
    #[arg(
        long,
        value_name = "N",
        default_value = "100",
        value_parser = clap::value_parser!(u16).range(0..=MOST_LOCKS)
    )]
    max_locks: u16,
    /// Time between two looks at the log
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    interval: u64,
    /// Only these kinds of waits, separated by commas, as for convert
    /// [default: contention]
    #[arg(long, value_name = "KINDS", value_parser = live::kinds)]
    kind: Option<Kinds>,
}

fn interval(text: &str) -> Result<u64, FilterError> {
    Ok(duration_ns(text)?.max(LEAST_INTERVAL_NS))
}

/// Serves a recording until somebody ends that.
pub fn run(args: MetricsArgs) -> CommandResult {
    let (files, path) = find::log(&args.target)?;
    // Before the log is read: a port in use is told at once.
    let server = Server::bind(&args.listen)?;
    let kinds = args.kind.unwrap_or_else(Kinds::contention);
    let options = Options { kinds, max_locks: args.max_locks.into() };
    let mut watched = FollowedLog::open(files, &path, options)?;
    let page = Arc::new(Page::new(watched.families()));
    let interrupts = Interrupts::hold()
        .map_err(|error| Failure::new(format!("signals cannot be held back: {error}")))?;
    let address = server.address();
    server.start(Arc::clone(&page))?;
    tell(&format!("listening on http://{address}/metrics"));
    if !address.ip().is_loopback() {
        tell_error(&format!(
            "warning: whoever reaches {address} can read the figures and the names of locks; \
             --listen 127.0.0.1:{} keeps them on this machine",
            address.port()
        ));
    }
    let mut told = false;
    loop {
        told = tell_end(&watched, told);
        if interrupts.wait(Duration::from_nanos(args.interval)) {
            return Ok(Completion::Whole);
        }
        watched.read()?;
        page.put(watched.families());
    }
}

/// Tells, once, that nothing more will come: whether it has.
fn tell_end(watched: &FollowedLog, told: bool) -> bool {
    let life = watched.life();
    if life.has_ended() && !told {
        tell(&format!(
            "note: the recording has {}; its last values are served until you stop this",
            match life.name() {
                "killed" => "ended, its JVM was killed",
                name => name,
            }
        ));
        logs::tell_damage(&watched.damage());
    }
    life.has_ended()
}
