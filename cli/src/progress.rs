//! A progress bar for long work: on stderr, and only on a terminal.

use crate::console;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A bar that counts bytes up to `total`; hidden when nobody watches.
pub fn bar(total: u64, what: &'static str) -> ProgressBar {
    shown(total, "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}", what.to_owned())
}

/// A bar that counts the ms of a time that passes; hidden when nobody watches.
pub fn of_time(time: Duration, what: String) -> ProgressBar {
    let total = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    shown(total, "{msg} {wide_bar} {elapsed} of {prefix}", what)
}

fn shown(total: u64, template: &str, what: String) -> ProgressBar {
    if !console::shows_progress() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(8));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
