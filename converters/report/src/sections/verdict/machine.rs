//! The processors, and how much of them the program used.

use super::super::overview::process_cpu_ns;
use crate::{Findings, findings::processors};
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_model::profile::State;
use tyrion_wire::cost;

/// From this share on, all processors are in use.
const SATURATED: f64 = 0.85;
/// From this share on, threads sometimes do not get a processor, perhaps while they hold a
/// lock.
const BUSY: f64 = 0.7;
/// Threads have to wait for processors if this many times as many want to run as do,
const STARVED: f64 = 1.5;
/// and so many more.
const STARVED_THREADS: f64 = 0.5;

/// So many threads that want to run are many.
const CROWD: f64 = 4.0;
/// They are a crowd if there are so many for each processor.
const CROWDED: f64 = 3.0;

/// The processors, and how much of them the program used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Machine {
    /// The number of processors that the JVM saw.
    pub(super) processors: Option<u64>,
    /// The CPU time of the process, the agent's and the JVM's own included, in ns;
    /// `None` if it is not known for the reported time.
    pub(super) cpu_ns: Option<u64>,
    /// The time in which it used that, in ns.
    pub(super) recorded_ns: u64,
    /// How many threads wanted to run on average, from samples.
    pub(super) runnable: Option<f64>,
    /// The share of the machine's processors that was in use, by any process.
    pub(super) machine_share: Option<f64>,
}

impl Machine {
    pub(super) fn of(findings: &Findings<'_>) -> Machine {
        let logs = findings.logs;
        let is_whole =
            are_whole(logs) && logs.iter().all(|log| !findings.filter.window(log).limits_time());
        // Several programs may have run on machines of different sizes.
        let known: Option<Vec<u64>> = logs.iter().map(processors).collect();
        Machine {
            processors: known.and_then(|all| all.into_iter().min()),
            cpu_ns: process_cpu_ns(logs).filter(|_| is_whole),
            recorded_ns: logs.iter().map(Recording::recorded_ns).fold(0, u64::saturating_add),
            runnable: runnable(findings),
            machine_share: machine_share(logs).filter(|_| is_whole),
        }
    }

    #[cfg(test)]
    pub(super) fn with(processors: u64, cpu_ns: u64, recorded_ns: u64) -> Machine {
        let (processors, cpu_ns) = (Some(processors), Some(cpu_ns));
        Machine { processors, cpu_ns, recorded_ns, ..Machine::default() }
    }

    /// How many processors it kept busy on average.
    pub(super) fn cores(&self) -> Option<f64> {
        let cpu_ns = self.cpu_ns.filter(|_| self.recorded_ns != 0)?;
        Some(cpu_ns as f64 / self.recorded_ns as f64)
    }

    /// The share of the processors' time that it used.
    pub(super) fn share(&self) -> Option<f64> {
        Some(self.cores()? / self.processors? as f64)
    }

    /// Whether all processors were in use, by this or by other programs, as far as that
    /// is known.
    pub(super) fn is_saturated(&self) -> bool {
        let is_high = |share: Option<f64>| share.is_some_and(|share| share >= SATURATED);
        is_high(self.share()) || is_high(self.machine_share) || self.is_starved()
    }

    /// Whether processors are what this program lacks, by its own figures: others that want
    /// them are none of its doing, and fewer threads would not help.
    pub(super) fn is_short_of_processors(&self) -> bool {
        self.is_used_up() || self.is_busy() && self.is_starved()
    }

    /// Whether far more of its threads want to run than there are processors, of which it uses
    /// as much as it gets: then whoever has a lock waits for a processor, too.
    pub(super) fn is_crowded(&self) -> bool {
        let (Some(runnable), Some(processors)) = (self.runnable, self.processors) else {
            return false;
        };
        // Such a crowd is in its own way, whoever else is there.
        (self.is_short_of_processors() || self.is_saturated())
            && runnable >= CROWDED * processors as f64
    }

    /// Whether this program used all processors.
    pub(super) fn is_used_up(&self) -> bool {
        self.share().is_some_and(|share| share >= SATURATED)
    }

    /// Whether this program used so much of the processors that its threads had to wait for
    /// one now and then.
    pub(super) fn is_busy(&self) -> bool {
        self.share().is_some_and(|share| share >= BUSY)
    }

    /// Whether threads had to wait for processors, as samples show.
    fn is_starved(&self) -> bool {
        let Some((runnable, cores)) = self.runnable.zip(self.cores()) else { return false };
        runnable >= STARVED * cores && runnable >= cores + STARVED_THREADS
    }

    /// "1.95 of 2 processors", as far as that is known.
    pub(super) fn used(&self) -> Option<String> {
        let cores = self.cores()?;
        Some(match self.processors {
            Some(1) => format!("{cores:.2} of 1 processor"),
            Some(count) => format!("{cores:.2} of {count} processors"),
            None => format!("{cores:.2} processors"),
        })
    }
}

/// How many threads wanted to run on average, if there are samples.
fn runnable(findings: &Findings<'_>) -> Option<f64> {
    let duration_ns = findings.axis.duration_ns.max(1) as f64;
    let running_ns = findings.aggregate.state(State::Running).wall_ns as f64;
    let seen_ns = findings.snapshots.of_state(State::Running) as f64;
    match findings.profile().has_samples {
        true => Some(running_ns / duration_ns),
        // Snapshots are few: only many threads are told from chance.
        false => Some(seen_ns / duration_ns).filter(|threads| *threads >= CROWD),
    }
}

/// The share of the machine's processors that was in use, if all logs have it.
fn machine_share(logs: &[Recording]) -> Option<f64> {
    let (mut busy_ns, mut all_ns) = (0u64, 0u64);
    for log in logs {
        let statistics = log.statistics();
        busy_ns = busy_ns.saturating_add(*statistics.get(cost::MACHINE_BUSY)?);
        all_ns = all_ns.saturating_add(*statistics.get(cost::MACHINE_ALL)?);
    }
    (all_ns != 0).then(|| busy_ns as f64 / all_ns as f64)
}

/// Whether all files of each recording are present: CPU time counts from its start.
fn are_whole(logs: &[Recording]) -> bool {
    let mut files: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for log in logs {
        let facts = log.facts();
        let Some(recording) = facts.metadata("recording") else { continue };
        let number = facts.metadata("file-number").and_then(|number| number.parse().ok());
        let (count, last) = files.entry(recording).or_default();
        *count += 1;
        *last = (*last).max(number.unwrap_or(0));
    }
    files.values().all(|&(count, last)| count == last.saturating_add(1))
}
