//! What threads were doing, as trees of frames: perf-sampler's report.

mod build;
mod nodes;
mod show;
mod sums;
#[cfg(test)]
mod tests;

use super::sampled::{self, StateTimes};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section, findings::SampledInterval,
    section::schema_of,
};
use build::TreeBuilder;
use schemars::JsonSchema;
use serde::Serialize;

/// The section.
pub const SECTION: Section = Section {
    name: "tree",
    title: "Tree",
    means: "What threads were doing when they were sampled, by groups of threads: total is the \
            real time of a frame and of all that it calls, own that of the frame alone.",
    advice: "Go down from the largest total to where it splits; with --packages only your own code \
             and what it calls is left.",
    about: About::Samples,
    in_brief: InBrief::Never,
    schema: schema_of::<Trees>,
    answer,
};

/// The answer.
///
/// In the text, a group begins with `Aggregated thread: NAME. Max depth: D. Distinct threads: K
/// [names, ...]`, and before each frame are its total and own time in ms, which perf-sampler
/// calls cumulative and method time, and the two states with the largest shares. What blocked
/// threads were blocked on is a frame of its own, where that is known: `[lock] Cache.lock
/// (com.acme.Sync)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Trees {
    /// The rule that puts threads into groups, as `--group-by` has it.
    pub group_by: String,
    /// The packages that stacks are cut down to; none for whole stacks.
    pub packages: Vec<String>,
    /// The length of an interval: that of `--interval`, or a multiple of it; 0 if there is only
    /// one, which covers everything.
    pub interval_ns: u64,
    /// The names of the states whose samples are shown.
    pub states: Vec<&'static str>,
    /// How many snapshots of threads are shown.
    pub samples: u64,
    /// The real time that they represent.
    pub wall_ns: u64,
    /// The CPU time that the threads used meanwhile.
    pub cpu_ns: u64,
    /// The real time of idle threads that is not shown.
    pub idle_hidden_ns: u64,
    /// The intervals, in the order of time. The first begins with the first log; there are
    /// 1,000 at most.
    pub intervals: Vec<Interval>,
}

/// An interval. Real and CPU time belong to the interval in which they passed, and a snapshot
/// to the one in which the time that it represents ended. (A record combines up to a second of
/// equal snapshots; these are assumed to be evenly spaced.)
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The Unix time at which it begins.
    pub start_wall_ns: u64,
    /// How long it is.
    pub duration_ns: u64,
    /// How many snapshots of threads are shown.
    pub samples: u64,
    /// The real time that they represent: that of all groups added up.
    pub wall_ns: u64,
    /// The CPU time that the threads used meanwhile.
    pub cpu_ns: u64,
    /// The real time of idle threads that is not shown.
    pub idle_hidden_ns: u64,
    /// The groups of threads, most real time first.
    pub groups: Vec<TreeGroup>,
    /// How many more groups there are.
    pub left_out: usize,
}

/// A group of threads, or an activity that the program has named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TreeGroup {
    /// What the threads' names have in common, or the name that the program gave to the
    /// activity.
    pub group: String,
    /// Whether the program gave the name.
    pub given: bool,
    /// How many threads.
    pub thread_count: usize,
    /// Their names, sorted.
    pub threads: Vec<String>,
    /// The depth of the deepest stack, before it was cut down.
    pub max_depth: u32,
    /// How many snapshots.
    pub samples: u64,
    /// The real time that they stand for: that of all roots added up.
    pub wall_ns: u64,
    /// The CPU time that the threads used meanwhile.
    pub cpu_ns: u64,
    /// `wall_ns` by state.
    pub states: StateTimes,
    /// The frames, each before those that it called, most cumulative time first. Those without
    /// time of their own that called only one other frame are left out, unless `--zero` asks
    /// for them, they tell apart frames that look the same, or they say where a thread waited
    /// for a lock.
    pub nodes: Vec<TreeNode>,
}

/// A frame; its caller is the last one before it whose `depth` is less by 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TreeNode {
    /// In how many of the frames shown it is nested: 0 for a root.
    pub depth: usize,
    /// How many frames of its stack are outside of it.
    pub level: u32,
    /// The frame, `com.acme.Foo.bar(Foo.java:12)`; or the lock that threads were
    /// blocked on there, `[lock] Cache.lock (com.acme.Sync)`.
    pub frame: String,
    /// The real time in it and in what it called.
    pub cumulative_ns: u64,
    /// The real time in it alone.
    pub method_ns: u64,
    /// The CPU time in it and in what it called.
    pub cpu_ns: u64,
    /// How many snapshots found it.
    pub samples: u64,
    /// `cumulative_ns` by state.
    pub states: StateTimes,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let trees = Trees::of(findings, options);
    let json = serde_json::to_value(&trees).unwrap_or_default();
    let view = show::view(&trees);
    Answer { json, view, lacking: sampled::lacking(findings), advises: trees.wall_ns != 0 }
}

impl Trees {
    /// From what was found.
    pub fn of(findings: &Findings<'_>, options: &ReportOptions) -> Trees {
        let builder = TreeBuilder::new(findings.profile(), options);
        let intervals =
            findings.sampled.iter().map(|interval| of_interval(&builder, interval, options));
        let intervals: Vec<Interval> = intervals.collect();
        let sum = |of: fn(&Interval) -> u64| {
            intervals.iter().fold(0u64, |sum, interval| sum.saturating_add(of(interval)))
        };
        Trees {
            group_by: options.group_by.clone(),
            packages: options.packages.clone(),
            interval_ns: findings.interval_ns,
            states: sampled::states(findings.filter),
            samples: sum(|interval| interval.samples),
            wall_ns: sum(|interval| interval.wall_ns),
            cpu_ns: sum(|interval| interval.cpu_ns),
            idle_hidden_ns: sum(|interval| interval.idle_hidden_ns),
            intervals,
        }
    }
}

fn of_interval(
    builder: &TreeBuilder<'_>,
    interval: &SampledInterval,
    options: &ReportOptions,
) -> Interval {
    let mut groups = builder.groups(interval);
    let sum = |of: fn(&TreeGroup) -> u64| {
        groups.iter().fold(0u64, |sum, group| sum.saturating_add(of(group)))
    };
    let (samples, wall_ns, cpu_ns) =
        (sum(|group| group.samples), sum(|group| group.wall_ns), sum(|group| group.cpu_ns));
    let all = groups.len();
    if options.groups != 0 {
        groups.truncate(options.groups);
    }
    Interval {
        start_wall_ns: interval.start_wall_ns,
        duration_ns: interval.duration_ns,
        samples,
        wall_ns,
        cpu_ns,
        idle_hidden_ns: interval.idle_hidden_ns,
        left_out: all - groups.len(),
        groups,
    }
}
