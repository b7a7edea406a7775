//! What `tyrion info` tells of samples: as they were recorded, idle threads in
//! whatever state they were.

use super::{fields, record_filter::RecordFilter};
use crate::commands::sample_filter::SampleFilter;
use rayon::prelude::*;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::{self, Write},
};
use tyrion_formats::{Entry, Note, Noted, Recording};
use tyrion_model::{
    aggregate::SampleTotals,
    filter::Filter,
    harmless,
    states::{State, StateReader},
    units,
};
use tyrion_wire::{sample::Sample, sample::ThreadState};

/// Keys of what the agent tells of sampling.
const SNAPSHOTS: &str = "samples.snapshots";
const RECORDS: &str = "samples.records";
const LOST: &str = "samples.lost";
const WALKS: &str = "samples.walks";
const UNSEEN: &str = "samples.unseen";
const PUT_OFF: &str = "samples.put_off";
const OWN: &str = "own.sample_ns";

/// What sampling recorded, as far as the filter wants it.
pub struct SampleSums {
    /// Records of samples, whatever the filter.
    pub records: u64,
    seen: ThreadStates,
    period_ns: Option<u64>,
    /// Whether there are only numbers of samples: a thread dump tells of one moment.
    lacks_durations: bool,
    /// Which threads, as the log has it.
    threads_regex: Option<String>,
    statistics: BTreeMap<String, u64>,
}

/// Some samples.
#[derive(Clone, Copy, Default)]
struct SampleCounts {
    /// Snapshots of a thread.
    samples: u64,
    wall_ns: u64,
    cpu_ns: u64,
}

impl SampleCounts {
    fn add(&mut self, other: SampleCounts) {
        self.samples = self.samples.saturating_add(other.samples);
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }

    fn fields(self, lacks_durations: bool) -> fields::Samples {
        let known_ns = |ns: u64| (!lacks_durations).then_some(ns);
        fields::Samples {
            samples: self.samples,
            wall_ns: known_ns(self.wall_ns),
            cpu_ns: known_ns(self.cpu_ns),
        }
    }
}

/// The threads that were sampled and what they were doing.
struct ThreadStates {
    all: SampleCounts,
    /// As the JVM told them, in the order of their codes.
    states: BTreeMap<ThreadState, SampleCounts>,
    /// As outputs show them.
    shown_as: BTreeMap<State, SampleCounts>,
    /// How many.
    threads: u64,
}

/// What the records of some chunks say.
#[derive(Default)]
struct SampleRecords {
    records: u64,
    states: HashMap<(ThreadState, State), SampleCounts>,
    threads: HashSet<u32>,
}

/// Sums the samples; `None` for a log that has none and is not one of sampling.
pub fn sum(log: &Recording, filter: &Filter) -> Option<SampleSums> {
    let statistics = log.statistics();
    // The agent counts what it writes; a log of waits alone need not be read
    // once more for it.
    if !log.has_sampling() && !statistics.contains_key(RECORDS) {
        return None;
    }
    let found = SampleRecords::read(log, filter);
    let records = found.records;
    Some(SampleSums {
        records,
        seen: found.seen(),
        period_ns: log.period_ns(),
        lacks_durations: log.facts().lacks.durations,
        threads_regex: log.facts().metadata("sample-threads").map(str::to_owned),
        statistics,
    })
}

impl SampleRecords {
    /// Reads all records, on all workers of the current rayon pool. Damage is
    /// told by whoever reads the waits.
    fn read(log: &Recording, filter: &Filter) -> SampleRecords {
        let (wanted, samples) = (RecordFilter::new(log, filter), SampleFilter::new(log, filter));
        let part = |sampled: &Noted<Sample>| {
            wanted.part(log, sampled).filter(|_| samples.is_wanted(sampled))
        };
        let chunks = log.event_chunks().par_iter();
        let found = chunks.fold(SampleRecords::default, |mut found, chunk| {
            if let Ok(mut events) = log.events(chunk) {
                events.visit_all(|entry| {
                    if let Entry::Note(noted) = entry
                        && let Note::Sample(sample) = noted.record
                    {
                        let sampled = noted.with(sample);
                        found.add(&sampled, part(&sampled), &samples.reader);
                    }
                });
            }
            found
        });
        found.reduce(SampleRecords::default, SampleRecords::merge)
    }

    /// Takes a record up, as far as it is wanted.
    fn add(
        &mut self,
        sampled: &Noted<Sample>,
        part: Option<SampleTotals>,
        reader: &StateReader<'_>,
    ) {
        self.records += 1;
        if let Some(SampleTotals { snapshots: samples, wall_ns, cpu_ns }) = part {
            let (sums, shown_as) =
                (SampleCounts { samples, wall_ns, cpu_ns }, reader.state(sampled));
            self.states.entry((sampled.state(), shown_as)).or_default().add(sums);
            self.threads.insert(sampled.thread);
        }
    }

    fn merge(mut self, other: SampleRecords) -> SampleRecords {
        self.records += other.records;
        for (states, sums) in other.states {
            self.states.entry(states).or_default().add(sums);
        }
        self.threads.extend(other.threads);
        self
    }

    fn seen(self) -> ThreadStates {
        let mut all = SampleCounts::default();
        let mut states: BTreeMap<ThreadState, SampleCounts> = BTreeMap::new();
        let mut shown_as: BTreeMap<State, SampleCounts> = BTreeMap::new();
        for ((told, read), sums) in self.states {
            all.add(sums);
            states.entry(told).or_default().add(sums);
            shown_as.entry(read).or_default().add(sums);
        }
        let threads = self.threads.len() as u64;
        ThreadStates { all, states, shown_as, threads }
    }
}

impl SampleSums {
    /// The object `sampling` of the JSON.
    pub fn fields(&self) -> fields::Sampling<'_> {
        let statistic = |key: &str| self.statistics.get(key).copied();
        let seen = &self.seen;
        fields::Sampling {
            period_ns: self.period_ns,
            threads_regex: self.threads_regex.as_deref(),
            snapshots: statistic(SNAPSHOTS),
            records: self.records,
            lost_records: statistic(LOST),
            stack_walks: statistic(WALKS),
            unseen_stacks: statistic(UNSEEN),
            snapshots_put_off: statistic(PUT_OFF),
            own_cost_ns: statistic(OWN),
            all: seen.all.fields(self.lacks_durations),
            states: by_name(&seen.states, ThreadState::name, self.lacks_durations),
            shown_as: by_name(&seen.shown_as, State::name, self.lacks_durations),
            threads: seen.threads,
        }
    }

    /// The row of the text report.
    pub fn to_text(&self, out: &mut String) -> fmt::Result {
        let mut text = match self.statistics.get(SNAPSHOTS) {
            Some(0) => "what the program asked for,".to_owned(),
            Some(&count) => units::counted(count, "snapshot"),
            None => "snapshots".to_owned(),
        };
        if let Some(period_ns) = self.period_ns {
            write!(text, ", one in {},", units::duration(period_ns))?;
        }
        write!(text, " of {}", units::counted(self.seen.threads, "thread"))?;
        if let Some(regex) = &self.threads_regex {
            write!(text, " (only those that match {})", harmless::name(regex))?;
        }
        for (key, what, why) in [
            (LOST, "record", "lost for lack of room"),
            (UNSEEN, "stack", "not provided by the JVM"),
            (PUT_OFF, "snapshot", "delayed, to cost less than a fifth of a CPU"),
        ] {
            match self.statistics.get(key) {
                None | Some(0) => {}
                Some(&count) => write!(text, "; {} {why}", units::counted(count, what))?,
            }
        }
        if let Some(&own_ns) = self.statistics.get(OWN) {
            write!(text, "; the agent took {} of CPU", units::duration(own_ns))?;
        }
        writeln!(out, "{:<13} {text}", "sampled")
    }

    /// The table of states.
    pub fn table(&self, out: &mut String) -> fmt::Result {
        let seen = &self.seen;
        let [state, samples, cpu, wall] = ["sampled state", "samples", "cpu", "wall"];
        out.push('\n');
        let mut row = |state: &str, samples: &str, cpu: &str, wall: &str| {
            let durations = match self.lacks_durations {
                true => String::new(),
                false => format!(" {cpu:>14} {wall:>14}"),
            };
            writeln!(out, "{state:<16} {samples:>14}{durations}")
        };
        row(state, samples, cpu, wall)?;
        let told = seen.states.iter().map(|(state, &sums)| (state.name(), sums));
        let idle = seen.shown_as.get(&State::Idle).map(|&sums| ("idle, of these", sums));
        for (state, sums) in told.chain(idle) {
            let (samples, cpu) = (units::thousands(sums.samples), units::duration(sums.cpu_ns));
            row(state, &samples, &cpu, &units::duration(sums.wall_ns))?;
        }
        Ok(())
    }
}

fn by_name<S: Copy>(
    states: &BTreeMap<S, SampleCounts>,
    name: fn(S) -> &'static str,
    lacks_durations: bool,
) -> BTreeMap<&'static str, fields::Samples> {
    states.iter().map(|(&state, sums)| (name(state), sums.fields(lacks_durations))).collect()
}
