//! What recording cost.

use super::super::shared::share;
use crate::{Findings, OwnCpu, findings::all_lives_ns};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_wire::cost;

/// How long the agent's own work took, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The agent's part of the program's CPU time, from the start of each recording to its end,
    /// pauses excluded, whatever the filter; all recordings together. `null` if not all
    /// recordings have it. See [costs.md](costs.md).
    pub own_cpu: Option<OwnCpu>,
    /// Waits that ended, of all kinds, whatever the filter.
    pub waits: u64,
    /// How long recording them took, estimated: their number times the cost of one that the
    /// agent measured when it started. `null` if it did not measure.
    pub waits_ns: Option<u64>,
    /// The duration of the agent's own work, by kind of work: in trace mode `transform`,
    /// putting probes into classes, and `native`, what probes do outside of Java; `sample`,
    /// looking at threads.
    pub own_ns: BTreeMap<String, u64>,
    /// All of that as a share of the time that all threads lived, whatever the filter. `null`
    /// when that is not known, as when the earlier files of a recording are missing: `own_ns`
    /// counts from its start.
    pub share: Option<f64>,
    /// With `events=all`: holds without a record, because there was no room or the log had
    /// continued in another file.
    pub lost_records: u64,
    /// In trace mode: threads whose acquisitions are missing, because there was no room for
    /// them.
    pub untraced_threads: u64,
}

impl Cost {
    /// From what the logs tell of themselves.
    pub(super) fn of(findings: &Findings<'_>) -> Cost {
        let mut cost = Cost::default();
        for log in findings.logs {
            let (contention, other) = log.tallies();
            let waits = contention.ended.saturating_add(other.ended);
            cost.waits = cost.waits.saturating_add(waits);
            if let Some(each_ns) = of_a_wait_ns(log) {
                let ns = waits.saturating_mul(each_ns);
                cost.waits_ns = Some(cost.waits_ns.unwrap_or(0).saturating_add(ns));
            }
        }
        let last = last_files(findings.logs);
        cost.own_cpu = own_cpu(&last);
        for &(log, _) in &last {
            for (key, value) in log.statistics() {
                match key.as_str() {
                    "events.lost" => cost.lost_records = cost.lost_records.saturating_add(value),
                    "threads.untraced" => {
                        cost.untraced_threads = cost.untraced_threads.saturating_add(value);
                    }
                    _ => {}
                }
                if let Some(what) = key.strip_prefix("own.").and_then(|key| key.strip_suffix("_ns"))
                {
                    let sum = cost.own_ns.entry(what.to_owned()).or_default();
                    *sum = sum.saturating_add(value);
                }
            }
        }
        let lived_ns = Some(all_lives_ns(findings.logs)).filter(|&ns| ns != 0);
        // Of recordings that no agent made, nothing is measured, which is not a cost of nothing.
        let is_measured = cost.waits_ns.is_some() || !cost.own_ns.is_empty();
        let is_whole = cost.own_ns.is_empty() || last.iter().all(|(_, is_whole)| *is_whole);
        cost.share =
            lived_ns.filter(|_| is_whole && is_measured).map(|ns| share(cost.all_ns(), ns));
        cost
    }

    /// All that is known, in ns.
    pub(super) fn all_ns(&self) -> u64 {
        self.own_ns.values().fold(self.waits_ns.unwrap_or(0), |sum, ns| sum.saturating_add(*ns))
    }
}

/// The CPU time of all processes while they were recorded, in ns, where all logs tell it: those of
/// the agent, and recordings of Flight Recorder.
pub(crate) fn process_cpu_ns(logs: &[Recording]) -> Option<u64> {
    let last = last_files(logs);
    let each = last.iter().map(|(log, _)| log.statistics().get(cost::PROCESS).copied());
    each.reduce(|sum, ns| Some(sum?.saturating_add(ns?))).flatten()
}

/// That of all recordings, where all tell.
fn own_cpu(last: &[(&Recording, bool)]) -> Option<OwnCpu> {
    let known = last.iter().map(|(log, _)| {
        let statistics = log.statistics();
        OwnCpu::read(|key| statistics.get(key).copied())
    });
    known.reduce(|sum, own| Some(sum?.plus(own?))).flatten()
}

/// What the agent measured that an undelayed wait costs: it says so where it
/// says how the threshold came about.
fn of_a_wait_ns(log: &Recording) -> Option<u64> {
    let (_, cost) = log.facts().metadata("threshold")?.split_once(" costs ")?;
    cost.split_once(" ns").and_then(|(number, _)| number.parse().ok())
}

/// Statistics are totals since a recording began, so of its files the last one
/// counts. With each, whether the files before it are there as well.
fn last_files<'l>(logs: &'l [Recording]) -> Vec<(&'l Recording, bool)> {
    let mut files: BTreeMap<(&str, usize), BTreeMap<u64, &'l Recording>> = BTreeMap::new();
    for (at, log) in logs.iter().enumerate() {
        let facts = log.facts();
        let number = facts.metadata("file-number").and_then(|number| number.parse().ok());
        // A log of its own is the last of its recording.
        let key = match facts.metadata("recording") {
            Some(recording) => (recording, 0),
            None => ("", at),
        };
        files.entry(key).or_default().insert(number.unwrap_or(0), log);
    }
    let last = |files: BTreeMap<u64, &'l Recording>| {
        let (number, log) = files.last_key_value().map(|(number, log)| (*number, *log))?;
        Some((log, files.len() as u64 == number.saturating_add(1)))
    };
    files.into_values().filter_map(last).collect()
}
