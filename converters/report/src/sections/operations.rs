//! Which operations of the program lost time to which others.

#[cfg(test)]
mod tests;
mod view;

use super::shared::{cut, share};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section, findings::LockRef, section::schema_of,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_wire::WaitKind;

/// The section.
pub const SECTION: Section = Section {
    name: "operations",
    title: "Operations",
    means: "Which operations of the program (routes, jobs) waited for which locks, and in which \
            operations the threads were that had these.",
    advice: "Look at what the holding operation does while it has the lock.",
    about: About::Operations,
    in_brief: InBrief::Never,
    schema: schema_of::<Operations>,
    answer,
};

/// The answer.
///
/// An operation is what the program says that a thread is doing: a group of the API, or the span
/// of its tracing, by the span's name. Unless sections are selected, this one is shown if the
/// operation of any holder is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Operations {
    /// How it is known who held a lock.
    pub source: OperationSource,
    /// How often threads waited for locks.
    pub waits: u64,
    /// How long in all, in ns.
    pub wait_ns: u64,
    /// How much of that was in operations, in ns.
    pub named_ns: u64,
    /// How many operations waited, or other threads.
    pub operations: u64,
    /// The operations, most wait first.
    pub waiters: Vec<OperationWaits>,
}

/// How it is known in which operation a lock was held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperationSource {
    /// In trace mode, waits are charged, possibly in parts, to the threads that released the
    /// lock meanwhile.
    Charged,
    /// By the thread that had the lock when the wait began, or was first seen to have it; later
    /// holders are not known. So it is in contention mode, and with a filter on threads.
    #[default]
    OwnerAtStart,
}

/// The waits of an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OperationWaits {
    /// Its name; null for threads in none.
    pub operation: Option<String>,
    /// How many waits.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The share of all wait for locks.
    pub wait_share: f64,
    /// What it waited for, most wait first.
    pub locks: Vec<OperationLock>,
}

/// The waits of an operation for one lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OperationLock {
    /// The lock.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// How many waits.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// For how much of that the holder's operation is known, in ns.
    pub known_ns: u64,
    /// Who had it, most wait first.
    pub holders: Vec<OperationHolder>,
}

/// The waits for a lock that one operation had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OperationHolder {
    /// Its name.
    pub operation: String,
    /// How many waits.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The share of the waits of that operation for that lock.
    pub wait_share: f64,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let operations = operations(findings, options);
    Answer {
        json: serde_json::to_value(&operations).unwrap_or_default(),
        view: view::view(&operations, findings),
        lacking: lacking(&operations).to_owned(),
        advises: operations.named_ns != 0,
    }
}

fn lacking(operations: &Operations) -> &'static str {
    match operations.named_ns {
        0 if operations.waits != 0 => {
            "needs a program that says what its threads do: by tyrion-otel.jar, or Tyrion.group"
        }
        _ => "",
    }
}

fn source(findings: &Findings<'_>) -> OperationSource {
    let profile = findings.profile();
    let is_charged = profile.has_blame && !profile.is_blame_sampled;
    match is_charged && findings.filter.thread.is_none() {
        true => OperationSource::Charged,
        false => OperationSource::OwnerAtStart,
    }
}

/// How many waits, and how long they were in all.
#[derive(Clone, Copy, Default)]
struct Sum {
    waits: u64,
    wait_ns: u64,
}

impl Sum {
    fn add(&mut self, waits: u64, wait_ns: u64) {
        self.waits = self.waits.saturating_add(waits);
        self.wait_ns = self.wait_ns.saturating_add(wait_ns);
    }
}

#[derive(Default)]
struct OfLock {
    all: Sum,
    /// By the names of operations.
    holders: BTreeMap<String, Sum>,
}

/// By lock group and kind.
type OfLocks = BTreeMap<(u32, WaitKind), OfLock>;

/// Which operations lost time to which others.
pub fn operations(findings: &Findings<'_>, options: &ReportOptions) -> Operations {
    let profile = findings.profile();
    let groups = profile.groups_of_stacks();
    let name = |stack: u32| {
        let group = groups.get(stack as usize).copied().flatten()?;
        Some(profile.functions.get(group as usize)?.method.clone())
    };
    let mut all = Sum::default();
    let mut waiters: BTreeMap<Option<String>, OfLocks> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| findings.shows(wait.kind)) {
        all.add(wait.count, wait.wait_ns);
        let locks = waiters.entry(name(wait.stack)).or_default();
        let lock = locks.entry((findings.groups.of(wait.lock), wait.kind)).or_default();
        lock.all.add(wait.count, wait.wait_ns);
    }
    let source = source(findings);
    let held = match source {
        OperationSource::Charged => &profile.blames,
        OperationSource::OwnerAtStart => &profile.operations,
    };
    for held in held.iter().filter(|held| findings.shows(held.kind)) {
        let locks = waiters.get_mut(&name(held.waiter_stack));
        let key = (findings.groups.of(held.lock), held.kind);
        let lock = locks.and_then(|locks| locks.get_mut(&key));
        if let Some((lock, holder)) = lock.zip(name(held.stack)) {
            lock.holders.entry(holder).or_default().add(held.count, held.blamed_ns);
        }
    }
    let Sum { waits, wait_ns } = all;
    let mut out = Operations { source, waits, wait_ns, ..Operations::default() };
    out.operations = waiters.len() as u64;
    out.waiters = waiters
        .into_iter()
        .map(|(operation, locks)| operation_waits(findings, operation, locks, all.wait_ns))
        .collect();
    let named = out.waiters.iter().filter(|of| of.operation.is_some());
    out.named_ns = named.fold(0, |sum: u64, of| sum.saturating_add(of.wait_ns));
    // Stable, so that equal ones stay in the order of names.
    out.waiters.sort_by_key(|of| Reverse(of.wait_ns));
    cut(&mut out.waiters, options);
    for of in &mut out.waiters {
        cut(&mut of.locks, options);
        of.locks.iter_mut().for_each(|lock| _ = cut(&mut lock.holders, options));
    }
    out
}

fn operation_waits(
    findings: &Findings<'_>,
    operation: Option<String>,
    locks: OfLocks,
    all_ns: u64,
) -> OperationWaits {
    let mut sum = Sum::default();
    let mut out = OperationWaits { operation, ..OperationWaits::default() };
    for ((group, kind), lock) in locks {
        sum.add(lock.all.waits, lock.all.wait_ns);
        out.locks.push(operation_lock(findings.groups.lock_ref(group), kind, lock));
    }
    out.locks.sort_by_key(|lock| Reverse(lock.wait_ns));
    let Sum { waits, wait_ns } = sum;
    OperationWaits { waits, wait_ns, wait_share: share(wait_ns, all_ns), ..out }
}

fn operation_lock(lock: LockRef, kind: WaitKind, of: OfLock) -> OperationLock {
    let Sum { waits, wait_ns } = of.all;
    let holder = |(operation, sum): (String, Sum)| OperationHolder {
        operation,
        waits: sum.waits,
        wait_ns: sum.wait_ns,
        wait_share: share(sum.wait_ns, wait_ns),
    };
    let known_ns = of.holders.values().fold(0, |ns: u64, sum| ns.saturating_add(sum.wait_ns));
    let mut holders: Vec<OperationHolder> = of.holders.into_iter().map(holder).collect();
    holders.sort_by_key(|holder| Reverse(holder.wait_ns));
    OperationLock { lock, kind: kind.name(), waits, wait_ns, known_ns, holders }
}
