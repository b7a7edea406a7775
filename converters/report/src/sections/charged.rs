//! Waits at places in the code, and whom they are charged to: what the sections on
//! those who held locks and on those who ended waits have in common.

use super::shared::share;
use crate::{
    Findings,
    findings::{LockRef, names},
    view::{Detail, Row, TableCell},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use tyrion_wire::WaitKind;

/// Waits at a place in the code that are charged to others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ChargedWaits {
    /// Where the thread waited: the innermost frame outside `java.util.concurrent`.
    pub waiter: String,
    /// What the thread waited for.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// How many waits, or parts of them.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The share of all wait for which a holder, or who ended the wait, is known.
    pub wait_share: f64,
    /// The whole stack at the waiter's place with the most wait, innermost frame
    /// first.
    pub waiter_stack: Vec<String>,
}

/// Such waits under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges {
    waits: u64,
    wait_ns: u64,
    /// By the stacks of the waiter and of the other one.
    stacks: BTreeMap<(u32, u32), u64>,
    /// How many answers these are estimated from, and the sum of the squares of what each
    /// stands for, in ns².
    answers: u64,
    squares: f64,
}

/// What tells them from others: the waiter's place, lock group and kind.
pub(super) type WaiterKey = (String, u32, WaitKind);

impl Charges {
    /// Adds waits with these stacks of the waiter and of the other one.
    pub(super) fn add(&mut self, waits: u64, wait_ns: u64, stacks: (u32, u32)) {
        self.waits = self.waits.saturating_add(waits);
        self.wait_ns = self.wait_ns.saturating_add(wait_ns);
        let of_stacks = self.stacks.entry(stacks).or_default();
        *of_stacks = of_stacks.saturating_add(wait_ns);
    }

    /// They are estimated from so many answers.
    pub(super) fn add_answers(&mut self, answers: u64, error_ns: u64) {
        self.answers = self.answers.saturating_add(answers);
        self.squares += (error_ns as f64).powi(2);
    }

    /// The sum of the squares of what each answer stands for, in ns².
    pub(super) fn squares(&self) -> f64 {
        self.squares
    }

    /// How long they were in all, in ns.
    pub(super) fn wait_ns(&self) -> u64 {
        self.wait_ns
    }

    /// All of them, and the other one's stack that goes with the waiter's; it is empty
    /// where it is not known. The share is of `known_ns`.
    pub(super) fn finish(
        self,
        findings: &Findings<'_>,
        (waiter, group, kind): WaiterKey,
        known_ns: u64,
    ) -> (ChargedWaits, Vec<String>) {
        let Charges { waits, wait_ns, stacks, .. } = self;
        let hottest = stacks.iter().max_by_key(|(stacks, ns)| (**ns, Reverse(**stacks)));
        let (waiter_stack, other_stack) = hottest.map_or((0, 0), |(stacks, _)| *stacks);
        let stack = |stack: u32| names::stack(findings.profile(), stack);
        let charged = ChargedWaits {
            waiter,
            lock: findings.groups.lock_ref(group),
            kind: kind.name(),
            waits,
            wait_ns,
            wait_share: share(wait_ns, known_ns),
            waiter_stack: stack(waiter_stack),
        };
        (charged, stack(other_stack))
    }
}

/// The places of stacks of the profile, each worked out once.
pub(super) struct PlaceNames<'f> {
    findings: &'f Findings<'f>,
    known: HashMap<(u32, u32), String>,
}

impl<'f> PlaceNames<'f> {
    pub(super) fn new(findings: &'f Findings<'f>) -> PlaceNames<'f> {
        PlaceNames { findings, known: HashMap::new() }
    }

    /// The innermost frame outside of `java.util.concurrent`; empty for no stack.
    pub(super) fn of(&mut self, stack: u32) -> String {
        self.of_holder(stack, 0)
    }

    /// The frame that has taken a lock, which has called so many others, if that is known.
    pub(super) fn of_holder(&mut self, stack: u32, above: u32) -> String {
        let place = || names::holder_place(self.findings.profile(), stack, above);
        self.known.entry((stack, above)).or_insert_with(place).clone()
    }
}

/// A row of waits: `others` says whom they are charged to, and `stack` where that one
/// was, below this title.
pub(super) fn row(
    charged: &ChargedWaits,
    others: impl IntoIterator<Item = TableCell>,
    (title, stack): (&str, &[String]),
) -> Row {
    let detail = |title: &str, lines: &[String]| Detail::of_names(title.to_owned(), lines);
    let stacks = [("hottest waiter", &charged.waiter_stack[..]), (title, stack)];
    let stacks = stacks.into_iter().filter(|(_, stack)| !stack.is_empty());
    let details = stacks.map(|(title, stack)| detail(title, stack)).collect();
    let mut cells = vec![TableCell::name(&charged.waiter)];
    cells.extend(others);
    cells.extend([
        TableCell::name(&format!("[{}] {}", charged.kind, charged.lock.label())),
        TableCell::Count(charged.waits),
        TableCell::Ns(charged.wait_ns),
        TableCell::Share(charged.wait_share),
    ]);
    Row { cells, details }
}

/// A name of whom waits are charged to, if it is known.
pub(super) fn known(name: Option<&String>) -> TableCell {
    name.map_or(TableCell::Unknown, |name| TableCell::name(name))
}
