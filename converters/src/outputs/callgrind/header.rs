//! The lines before the costs.

use super::{parts::Part, stale::MAGIC};
use crate::{
    outputs::facts,
    profile::{Profile, Run, Thread},
};
use std::fmt::Write;

/// KCacheGrind recognises a file by the first `events:` in its first 2047 bytes,
/// which must begin a line.
const MAX_BYTES: usize = 2047;

/// The header of a part.
pub(super) fn of_part(profile: &Profile, part: &Part) -> String {
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
    end(header, profile)
}

/// The header of one part that holds all threads.
pub(super) fn merged(profile: &Profile) -> String {
    let mut header = start();
    if let [run] = &profile.runs[..] {
        field(&mut header, "cmd", &run.program);
        field(&mut header, "pid", &run.pid.to_string());
        run_facts(&mut header, run);
    } else {
        field(&mut header, "desc", &format!("Log: {}", facts::cut(&facts::summary(profile))));
    }
    end(header, profile)
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
fn threads(profile: &Profile, part: &Part) -> String {
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
    let value = crate::names::printable(value).replace("events:", "events :");
    if !value.is_empty() {
        let _ = writeln!(header, "{name}: {}", facts::cut(&value));
    }
}

fn end(mut header: String, profile: &Profile) -> String {
    let (name, long_name) = match facts::is_contention_only(profile) {
        true => ("Contentions", "Contended acquisitions"),
        false => ("Waits", "Waits"),
    };
    let _ = write!(
        header,
        "positions: line\n\
         event: Wait_ns : Wait time (ns)\n\
         event: {name} : {long_name}\n\
         events: Wait_ns {name}\n"
    );
    debug_assert!(header.len() <= MAX_BYTES, "{} bytes of header", header.len());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_leave_room_for_the_events() {
        let long = "events: \n".repeat(1_000);
        let run = Run {
            program: long.clone(),
            jvm: long.clone(),
            log: long.clone(),
            threshold_ns: 1,
            ..Run::default()
        };
        let thread = Thread { name: long.clone(), group: long.clone(), ..Thread::default() };
        let profile = Profile { runs: vec![run], threads: vec![thread], ..Profile::default() };
        let part = Part { run: 0, number: 1, name: long, threads: vec![0], waits: Vec::new() };
        for header in [of_part(&profile, &part), merged(&profile)] {
            assert!(header.len() <= MAX_BYTES);
            assert_eq!(header.find("events:"), header.find("\nevents:").map(|at| at + 1));
        }
    }
}
