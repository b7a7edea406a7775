//! The flame graphs of a page, from the stacks that `convert --to collapsed` writes.

use std::io;
use tyrion_converters::outputs::{By, Metric, OutputOptions, collapsed};
use tyrion_model::profile::Profile;
use tyrion_report::render::html::Flame;

/// The title of what thread dumps have.
const DUMPED: &str = "Threads, by state";

/// The flame graphs that a profile has something for. Thread dumps have samples alone, which
/// stand for no time.
///
/// # Errors
/// When one cannot be made.
pub fn flames(profile: &Profile, are_dumps: bool) -> io::Result<Vec<Flame>> {
    let holds = profile.acquisitions.iter().any(|row| row.hold_ns > 0);
    let wait = OutputOptions { by_thread: true, ..OutputOptions::default() };
    let by_holder = OutputOptions { by: Some(By::Holder), ..wait.clone() };
    let by_waker = OutputOptions { by: Some(By::Waker), ..wait.clone() };
    let hold = OutputOptions { metric: Some(Metric::Hold), ..wait.clone() };
    let by_state = OutputOptions { by: Some(By::State), ..wait.clone() };
    let cpu = OutputOptions { metric: Some(Metric::Cpu), ..wait.clone() };
    let computes = profile.samples.iter().any(|sample| sample.cpu_ns > 0);
    let known = [
        (
            if are_dumps { DUMPED } else { "Real time, by state" },
            1,
            !profile.samples.is_empty(),
            by_state,
        ),
        ("CPU time", 0, computes, cpu),
        ("Waits, by who waited", 0, !profile.waits.is_empty(), wait),
        ("Waits, by who held the lock", 0, !profile.blames.is_empty(), by_holder),
        ("Waits, by who ended them", 0, !profile.wakes.is_empty(), by_waker),
        ("Holds", 0, holds, hold),
    ];
    let mut flames = Vec::new();
    for (title, thread_at, _, options) in known.into_iter().filter(|(_, _, known, _)| *known) {
        let mut flame = Flame::new(title, thread_at);
        if title == DUMPED {
            flame = flame.counting(["thread in a dump", "threads in dumps"]);
        }
        collapsed::stream(profile, &options, &mut flame)?;
        flames.push(flame);
    }
    flames.retain(|flame| !flame.is_empty());
    Ok(flames)
}
