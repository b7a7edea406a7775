//! The command that shows more.

use super::{Activity, Cause, Finding, GuiltyLock, Instead, Verdict};
use crate::{Findings, findings::LogFacts, shell::suggested};
use tyrion_model::harmless;

/// The number of logs that are named one by one.
const LOGS: usize = 3;
/// A longer command would not help.
const LONGEST: usize = 300;

/// The command to type.
pub(super) fn command(verdict: &Verdict, findings: &Findings<'_>) -> String {
    let facts = LogFacts::of_all(findings);
    let logs = logs(&facts);
    let is_trace = findings.is_trace();
    let command = match verdict.finding {
        Finding::Deadlock | Finding::StillWaiting => {
            format!("tyrion report --section still-waiting {logs}")
        }
        Finding::Unanswered => format!("tyrion report --section still-waiting,withheld {logs}"),
        Finding::Pinned => record(&facts, "contention+sample"),
        Finding::OtherWaits => format!("tyrion report --section withheld {logs}"),
        Finding::NotRecorded => record(&facts, "contention+sample"),
        Finding::NotLocks | Finding::LocksALittle => match &verdict.instead {
            Some(instead) if findings.profile().has_samples => shows(instead, &logs),
            _ => record(&facts, "contention+sample"),
        },
        Finding::Locks | Finding::Selected
            if verdict.lock.as_ref().is_some_and(is_ended_by_others) =>
        {
            format!("tyrion report --section wakers {logs}")
        }
        Finding::Locks | Finding::Selected | Finding::NotTimed if is_trace => {
            format!("tyrion report --section blockers,critical-sections {logs}")
        }
        Finding::Locks | Finding::Selected
            if verdict.lock.as_ref().is_some_and(|lock| lock.traced_ns.is_some()) =>
        {
            format!("tyrion report --section critical-sections,blockers {logs}")
        }
        // Profiles do not say of which program they are, nor that it runs in a JVM.
        Finding::NotTimed if facts.iter().all(|log| log.program.is_empty()) => {
            let metric = if findings.lacks_durations() { " --metric contentions" } else { "" };
            format!("tyrion convert --to flamegraph{metric} {logs}")
        }
        Finding::Locks | Finding::Selected | Finding::NotTimed => record(&facts, "trace"),
    };
    harmless::within(&command, LONGEST).into_owned()
}

/// Whether more is known of who ends the waits than of who holds the lock.
fn is_ended_by_others(lock: &GuiltyLock) -> bool {
    lock.cause == Cause::Unknown && lock.woken_by.is_some()
}

/// The command that shows samples of it.
fn shows(instead: &Instead, logs: &str) -> String {
    match instead.activity {
        Activity::FewProcessors | Activity::Computing | Activity::ComputingOnSome => {
            format!("tyrion convert --to flamegraph --metric cpu {logs}")
        }
        _ => format!("tyrion report --section tree --state all {logs}"),
    }
}

/// The command that records it again in another mode.
fn record(facts: &[LogFacts], mode: &str) -> String {
    let Some(first) = facts.first() else { return "tyrion profile PID".to_owned() };
    // What no JVM is known to have run is not recorded again.
    if facts.iter().all(|log| !log.has_modes) {
        return format!("tyrion report --top 20 {}", logs(facts));
    }
    // Such a JVM goes on, and nobody wants it to be started anew.
    if first.is_attached {
        let pid = first.pid.map_or_else(|| "PID".to_owned(), |pid| pid.to_string());
        return format!("tyrion profile --mode {mode} {pid}");
    }
    let jar = if first.program.ends_with(".jar") { "-jar " } else { "" };
    let program = match first.program.as_str() {
        "" => "…".to_owned(),
        program => suggested(program),
    };
    format!("tyrion record --mode {mode} -- java … {jar}{program}")
}

fn logs(facts: &[LogFacts]) -> String {
    let names: Vec<String> = facts.iter().take(LOGS).map(|log| suggested(&log.log)).collect();
    let more = if facts.len() > LOGS { " …" } else { "" };
    names.join(" ") + more
}
