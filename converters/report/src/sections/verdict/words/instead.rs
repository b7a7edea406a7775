//! The words for what takes the time instead of locks.

use super::{
    super::{Activity, Instead, machine::Machine},
    both, name,
};
use crate::{Findings, cells::percent, findings::short_names::ShortNames};
use tyrion_model::units::{counted, duration};

/// What takes the time instead.
pub(super) fn what(instead: &Instead, machine: &Machine, short: &ShortNames) -> String {
    let used = machine.used();
    let most = match instead.place_share {
        Some(share) => {
            let place = both(&instead.place, short);
            format!("; most in {} ({})", place.trim_end_matches(','), percent(share))
        }
        None => String::new(),
    };
    let used = used.map(|used| format!(": it used {used}")).unwrap_or_default();
    let line = match instead.activity {
        Activity::FewProcessors => {
            let want = instead.runnable_threads.unwrap_or(0.0);
            let get = machine.used().unwrap_or_default();
            format!("Instead, {want:.1} threads want to run, and get {get}")
        }
        Activity::Computing | Activity::ComputingOnSome => {
            format!("Instead, it computes{used}")
        }
        Activity::Native => "Instead, it is in native code, in I/O most likely".to_owned(),
        Activity::Sleeping => "Instead, it sleeps".to_owned(),
        Activity::Waiting => {
            format!("Instead, it waits, for work or for its own threads{used}")
        }
        Activity::Idle => format!("Instead, it waits for work{used}"),
        Activity::AllBusy => format!(
            "Instead, {} are all busy, and hardly ever free for what comes next",
            name(&instead.busy)
        ),
        Activity::Unknown if instead.runnable_threads.is_some() => {
            "Instead, its threads do several things, none of them most of the time".to_owned()
        }
        Activity::Unknown => {
            let used = machine.used().filter(|_| machine.is_saturated());
            let used = used.map(|used| format!("; no processor was free, and it used {used}"));
            format!("What takes its time instead was not recorded{}", used.unwrap_or_default())
        }
    };
    format!("{line}{most}.")
}

/// The sources of this knowledge.
pub(super) fn sources(findings: &Findings<'_>, machine: &Machine) -> String {
    let notes = &findings.aggregate.notes;
    let waits = if let Some(locks) = findings.unrecorded_locks() {
        format!("Waits for {locks} were not recorded.")
    } else if notes.unknown_below_ns != 0 {
        format!("Waits below {} are not known.", duration(notes.unknown_below_ns))
    } else if notes.sampled_per_ns != 0 {
        format!("Waits were sampled, one per {} of waiting.", duration(notes.sampled_per_ns))
    } else if notes.dropped_contention != 0 {
        format!("{} had no room in the log.", counted(notes.dropped_contention, "lock wait"))
    } else {
        "Exact: every wait for a lock is counted.".to_owned()
    };
    let cpu = machine.cpu_ns.map(|ns| format!(" CPU time: {}, by the system.", duration(ns)));
    let places = match findings.profile().sample_totals() {
        (0, ..) => String::new(),
        (samples, ..) => format!(" Places: {}.", counted(samples, "sample")),
    };
    format!("{waits}{}{places}", cpu.unwrap_or_default())
}

/// What to do about it.
pub(super) fn todo(instead: &Instead) -> String {
    let has_samples = instead.runnable_threads.is_some();
    match instead.activity {
        Activity::FewProcessors => {
            "→ Less work or more processors help, more threads do not; a CPU profile shows where."
        }
        Activity::Computing if has_samples => {
            "→ Profile its CPU time: less work, or more processors."
        }
        Activity::ComputingOnSome if has_samples => {
            "→ Profile its CPU time, and look for work that other threads could do."
        }
        Activity::Native => "→ Look at what it reads, writes or calls there.",
        Activity::AllBusy => "→ Have more of these threads, or let them take less time there.",
        Activity::Sleeping if instead.is_free => {
            "→ There is nothing to do: no wait holds it up. Where it sleeps is its own choice."
        }
        Activity::Sleeping => "→ Look at why it sleeps there.",
        Activity::Waiting if has_samples => "→ Look at what they wait for there.",
        Activity::Idle => "→ There is nothing to do.",
        Activity::Unknown if has_samples => "→ Look at the tree, group by group of threads.",
        _ => "→ Record samples, too: they show where.",
    }
    .to_owned()
}
