//! The lines before the costs.

use super::{PartContext, parts::ThreadPart, stale::MAGIC};
use crate::outputs::{
    By,
    facts::{self, RowKinds},
    rows::RowColumn,
};
use std::fmt::Write;
use tyrion_model::profile::{Profile, Run, Thread};

/// KCacheGrind recognises a file by the first `events:` in its first 2047 bytes,
/// which must begin a line.
const MAX_BYTES: usize = 2047;

/// The header of a part.
pub(super) fn of_part(shared: &PartContext<'_>, part: &ThreadPart) -> String {
    let profile = shared.profile;
    let run = profile.runs.get(part.run as usize);
    let mut header = start();
    if let Some(run) = run {
        // KCacheGrind takes two commands in one profile for an error.
        if profile.runs.iter().all(|other| other.program == run.program) {
            field(&mut header, "cmd", &run.program);
        }
        field(&mut header, "pid", &run.pid.to_string());
        // Runs are sections of a process to KCacheGrind, and tell processes of
        // one id apart.
        field(&mut header, "part", &(part.run + 1).to_string());
        field(&mut header, "thread", &part.number.to_string());
    }
    field(&mut header, "desc", &format!("Trigger: {}", facts::cut(&part.name)));
    field(&mut header, "desc", &threads(profile, part));
    if let Some(run) = run {
        run_facts(&mut header, run);
    }
    end(header, shared)
}

/// The header of one part that holds all threads.
pub(super) fn merged(shared: &PartContext<'_>) -> String {
    let profile = shared.profile;
    let mut header = start();
    if let [run] = &profile.runs[..] {
        field(&mut header, "cmd", &run.program);
        field(&mut header, "pid", &run.pid.to_string());
        run_facts(&mut header, run);
    } else {
        field(
            &mut header,
            "desc",
            &format!("Log: {}", facts::cut(&facts::summary(profile, &shared.kinds))),
        );
    }
    end(header, shared)
}

fn start() -> String {
    format!("{MAGIC}{}\n", env!("CARGO_PKG_VERSION"))
}

fn run_facts(header: &mut String, run: &Run) {
    for (name, value) in facts::of_run(run) {
        field(header, "desc", &format!("{name}: {value}"));
    }
}

/// Who the part's threads are.
fn threads(profile: &Profile, part: &ThreadPart) -> String {
    match part.threads[..] {
        [thread] => format!("Thread: {}", traits(&profile.threads[thread as usize])),
        ref threads => format!("Threads: {}", threads.len()),
    }
}

fn traits(thread: &Thread) -> String {
    let mut text = format!("id {}", thread.java_id);
    if !thread.group.is_empty() {
        let _ = write!(text, ", group {}", thread.group);
    }
    if thread.is_virtual {
        text.push_str(", virtual");
    }
    if thread.daemon {
        text.push_str(", daemon");
    }
    text
}

/// Adds a line, if it fits and says anything.
fn field(header: &mut String, name: &str, value: &str) {
    let value = tyrion_model::harmless::text(value).replace("events:", "events :");
    if !value.is_empty() {
        let _ = writeln!(header, "{name}: {}", facts::cut(&value));
    }
}

fn end(mut header: String, shared: &PartContext<'_>) -> String {
    if let Some(estimated) = facts::estimated(&shared.profile.taken()) {
        field(&mut header, "desc", &format!("Acquisitions: {estimated}"));
    }
    header.push_str("positions: line\n");
    let event = |&column| event(column, shared.by, &shared.kinds);
    let events: Vec<(&str, &str)> = shared.columns.iter().map(event).collect();
    for (name, long_name) in &events {
        let _ = writeln!(header, "event: {name} : {long_name}");
    }
    let names: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(header, "events: {}", names.join(" "));
    debug_assert!(header.len() <= MAX_BYTES, "{} bytes of header", header.len());
    header
}

/// What a column is called, in short and for people.
fn event(column: RowColumn, by: By, kinds: &RowKinds) -> (&'static str, &'static str) {
    match (column, by) {
        (RowColumn::WaitNs, By::Holder) => ("Wait_ns", "Wait time by holder (ns)"),
        (RowColumn::WaitNs, By::Waker) => ("Wait_ns", "Wait time by who ended it (ns)"),
        (RowColumn::WaitNs, _) => ("Wait_ns", "Wait time (ns)"),
        (RowColumn::Count, By::Holder) => ("Contentions", "Contended acquisitions by holder"),
        (RowColumn::Count, By::Waker) => ("Waits", "Waits by who ended them"),
        (RowColumn::Count, _) if kinds.is_contention_only() => {
            ("Contentions", "Contended acquisitions")
        }
        (RowColumn::Count, _) => ("Waits", "Waits"),
        (RowColumn::Acquisitions, _) => ("Acquisitions", "Acquisitions"),
        (RowColumn::AcquisitionsError, _) => {
            ("Acquisitions_error", "Standard error of acquisitions")
        }
        (RowColumn::Reentrant, _) => ("Reentrant", "Reentrant acquisitions"),
        (RowColumn::ReentrantError, _) => {
            ("Reentrant_error", "Standard error of reentrant acquisitions")
        }
        (RowColumn::HoldNs, _) => ("Hold_ns", "Hold time (ns)"),
        (RowColumn::BlamedNs, _) => ("Blamed_ns", "Wait time of others (ns)"),
        (RowColumn::WallNs, _) => ("Wall_ns", "Wall time, sampled (ns)"),
        (RowColumn::CpuNs, _) => ("Cpu_ns", "CPU time, sampled (ns)"),
        (RowColumn::BlockedNs, _) => ("Blocked_ns", "Blocked time, sampled (ns)"),
        (RowColumn::Samples, _) => ("Samples", "Samples"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::OutputOptions;
    use tyrion_model::profile::{AcquisitionRow, Lock, Stack};

    #[test]
    fn long_names_leave_room_for_the_events() {
        let long = "events: \n".repeat(1_000);
        let run = Run {
            program: long.clone(),
            jvm: long.clone(),
            log: long.clone(),
            threshold_ns: 1,
            hold: long.clone(),
            period_ns: 1,
            ..Run::default()
        };
        let thread = Thread { name: long.clone(), group: long.clone(), ..Thread::default() };
        let acquisition = AcquisitionRow {
            thread: 0,
            stack: 0,
            lock: 0,
            kind: tyrion_wire::WaitKind::Monitor,
            acquisitions: u64::MAX,
            acquisitions_error: u64::MAX,
            reentrant: 0,
            reentrant_error: 1,
            hold_ns: 0,
        };
        let profile = Profile {
            acquisitions: vec![acquisition],
            locks: vec![Lock::default()],
            runs: vec![run],
            threads: vec![thread],
            stacks: vec![Stack::default()],
            has_acquisitions: true,
            has_blame: true,
            has_samples: true,
            ..Profile::default()
        };
        let options = OutputOptions { by: Some(By::Holder), ..OutputOptions::default() };
        let shared = PartContext::new(&profile, &options).unwrap();
        let part = ThreadPart { run: 0, number: 1, name: long, threads: vec![0], rows: Vec::new() };
        for header in [of_part(&shared, &part), merged(&shared)] {
            assert!(header.len() <= MAX_BYTES);
            assert_eq!(header.find("events:"), header.find("\nevents:").map(|at| at + 1));
        }
    }
}
