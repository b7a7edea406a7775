//! Delay count and wait time over the threshold: the two metrics of Sun Studio.

use super::shared::{cut, lacking_singles};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::Delay,
    section::schema_of,
    view::{Column, Part, Row, Table, TableCell, View},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::HashMap};
use tyrion_model::units;

/// The section.
pub const SECTION: Section = Section {
    name: "delays",
    title: "Delays",
    means: "Waits of at least the threshold, by function and by thread: delay count and wait time.",
    advice: "Exclusive shows which function waits, inclusive on whose behalf: go down from the \
             first function of your own.",
    about: About::Locks,
    in_brief: InBrief::Never,
    schema: schema_of::<DelaysAnswer>,
    answer,
};

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DelaysAnswer {
    /// Shorter waits are not delays. Of several logs, this is the lowest threshold; in each log
    /// its own applies.
    pub threshold_ns: u64,
    /// How many delays there were.
    pub delays: u64,
    /// How long they took in all.
    pub wait_ns: u64,
    /// How many shorter waits there were in addition.
    pub shorter: u64,
    /// By function, most exclusive wait time first, then most inclusive.
    pub functions: Vec<DelayedFunction>,
    /// How many more functions there are.
    pub functions_left_out: usize,
    /// By thread, most wait time first.
    pub threads: Vec<DelayedThread>,
    /// How many more threads there are.
    pub threads_left_out: usize,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DelayedFunction {
    /// Its name with its class, `com.acme.Foo.bar`.
    pub function: String,
    /// Its descriptor, which tells overloads apart; may be empty.
    pub descriptor: String,
    /// Delays in whose stack it is the innermost frame.
    pub exclusive_delays: u64,
    /// How long those took.
    pub exclusive_wait_ns: u64,
    /// Delays in whose stack it is; each counts once, however often it is there.
    pub inclusive_delays: u64,
    /// How long those took.
    pub inclusive_wait_ns: u64,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DelayedThread {
    /// Its name.
    pub thread: String,
    /// `Thread.getId()`.
    pub java_id: u64,
    /// Its delays.
    pub delays: u64,
    /// How long they took.
    pub wait_ns: u64,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let delays = DelaysAnswer::of(findings, options);
    let json = serde_json::to_value(&delays).unwrap_or_default();
    let lacking = lacking_singles(findings);
    let view = if lacking.is_empty() { view(&delays) } else { View::default() };
    Answer { json, view, lacking, advises: delays.delays != 0 }
}

impl DelaysAnswer {
    /// From what was found.
    pub fn of(findings: &Findings<'_>, options: &ReportOptions) -> DelaysAnswer {
        let mut sum = Delay::default();
        findings.delays.stacks.iter().for_each(|(_, delay)| sum += *delay);
        let waits = findings.profile().waits.iter().filter(|wait| findings.shows(wait.kind));
        let all = waits.fold(0u64, |sum, wait| sum.saturating_add(wait.count));
        let thresholds = findings.logs.iter().map(|log| log.facts().threshold_ns);
        let mut functions = functions(findings);
        let mut threads = threads(findings);
        DelaysAnswer {
            threshold_ns: thresholds.min().unwrap_or(0),
            delays: sum.count,
            wait_ns: sum.wait_ns,
            shorter: all.saturating_sub(sum.count),
            functions_left_out: cut(&mut functions, options),
            functions,
            threads_left_out: cut(&mut threads, options),
            threads,
        }
    }
}

fn functions(findings: &Findings<'_>) -> Vec<DelayedFunction> {
    let profile = findings.profile();
    // Exclusive and inclusive.
    let mut sums: HashMap<u32, (Delay, Delay)> = HashMap::new();
    let mut seen: Vec<u32> = Vec::new();
    for &(stack, delay) in &findings.delays.stacks {
        seen.clear();
        seen.extend(profile.frames_of(stack).map(|frame| frame.function));
        if let Some(&innermost) = seen.first() {
            sums.entry(innermost).or_default().0 += delay;
        }
        seen.sort_unstable();
        seen.dedup();
        seen.iter().for_each(|&function| sums.entry(function).or_default().1 += delay);
    }
    let named = sums.into_iter().filter_map(|(function, (exclusive, inclusive))| {
        let function = profile.functions.get(function as usize)?;
        let name = match function.class.as_str() {
            "" => function.method.clone(),
            class => format!("{class}.{}", function.method),
        };
        Some(DelayedFunction {
            function: name,
            descriptor: function.descriptor.clone(),
            exclusive_delays: exclusive.count,
            exclusive_wait_ns: exclusive.wait_ns,
            inclusive_delays: inclusive.count,
            inclusive_wait_ns: inclusive.wait_ns,
        })
    });
    let mut functions: Vec<DelayedFunction> = named.collect();
    let order = |f: &DelayedFunction| Reverse((f.exclusive_wait_ns, f.inclusive_wait_ns));
    functions.sort_by(|a, b| {
        let names = || (&a.function, &a.descriptor).cmp(&(&b.function, &b.descriptor));
        order(a).cmp(&order(b)).then_with(names)
    });
    functions
}

fn threads(findings: &Findings<'_>) -> Vec<DelayedThread> {
    let profile = findings.profile();
    let thread = |&(thread, delay): &(u32, Delay)| DelayedThread {
        thread: profile.thread_name(thread),
        java_id: profile.threads.get(thread as usize).map_or(0, |thread| thread.java_id),
        delays: delay.count,
        wait_ns: delay.wait_ns,
    };
    let mut threads: Vec<DelayedThread> = findings.delays.threads.iter().map(thread).collect();
    threads.sort_by(|a, b| {
        let names = || (&a.thread, a.java_id).cmp(&(&b.thread, b.java_id));
        b.wait_ns.cmp(&a.wait_ns).then_with(names)
    });
    threads
}

fn view(delays: &DelaysAnswer) -> View {
    let sum = format!(
        "{} took {} or more, {} in all; shorter waits: {}.",
        units::counted(delays.delays, "wait"),
        units::duration(delays.threshold_ns),
        units::duration(delays.wait_ns),
        units::thousands(delays.shorter),
    );
    let mut parts = vec![Part::Text(sum)];
    if delays.delays != 0 {
        parts.push(Part::Table(functions_table(delays)));
        parts.push(Part::Table(threads_table(delays)));
    }
    View { parts }
}

fn functions_table(delays: &DelaysAnswer) -> Table {
    let row = |function: &DelayedFunction| Row {
        cells: vec![
            TableCell::name(&function.function),
            TableCell::Count(function.exclusive_delays),
            TableCell::Ns(function.exclusive_wait_ns),
            TableCell::Count(function.inclusive_delays),
            TableCell::Ns(function.inclusive_wait_ns),
        ],
        details: Vec::new(),
    };
    Table {
        title: "By function".to_owned(),
        columns: vec![
            Column::new("function", "a method on the waiting thread's stack", 0),
            Column::new("delays", "exclusive: it waits itself", 2),
            Column::new("wait", "exclusive: it waits itself", 0),
            Column::new("incl. delays", "inclusive: it waits, or what it calls does", 1),
            Column::new("incl. wait", "inclusive: it waits, or what it calls does", 0),
        ],
        rows: delays.functions.iter().map(row).collect(),
        left_out: delays.functions_left_out,
    }
}

fn threads_table(delays: &DelaysAnswer) -> Table {
    let row = |thread: &DelayedThread| Row {
        cells: vec![
            TableCell::name(&thread.thread),
            TableCell::Count(thread.delays),
            TableCell::Ns(thread.wait_ns),
        ],
        details: Vec::new(),
    };
    Table {
        title: "By thread".to_owned(),
        columns: vec![
            Column::new("thread", "who waited", 0),
            Column::new("delays", "how often", 0),
            Column::new("wait", "how long in all", 0),
        ],
        rows: delays.threads.iter().map(row).collect(),
        left_out: delays.threads_left_out,
    }
}
