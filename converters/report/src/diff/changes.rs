//! Works out what changed.

use super::{
    Amount, Change, LockAmount, LockChange, Measure, Pair, Presence, StackChange,
    matching::{Matching, StackNumbers},
    rates::{Denominators, LockIdentity, Rates},
};
use crate::{
    Findings,
    conditions::{Figures, LockFigures, change},
    findings::{LockRef, names},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use tyrion_wire::WaitKind;

/// Waits before they are divided.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WaitTotals {
    pub(super) waits: u64,
    pub(super) wait_ns: u64,
    pub(super) max_ns: u64,
}

impl WaitTotals {
    pub(super) fn add(&mut self, other: WaitTotals) {
        self.waits = self.waits.saturating_add(other.waits);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// What stacks are hot by.
    fn of(self, measure: Measure) -> u64 {
        match measure {
            Measure::Wait => self.wait_ns,
            Measure::Contentions => self.waits,
        }
    }

    pub(super) fn amount(self, divisor: Option<f64>, measure: Measure) -> Amount {
        let of_ns = divisor.filter(|_| measure == Measure::Wait);
        Amount {
            waits: self.waits,
            wait_ns: self.wait_ns,
            max_wait_ns: self.max_ns,
            rate_waits: divisor.map(|divisor| self.waits as f64 / divisor),
            rate_ns: of_ns.map(|divisor| self.wait_ns as f64 / divisor),
        }
    }
}

/// The change from one amount to another. What is not there has waited for
/// nothing.
pub(super) fn changed<T>(
    [before, after]: [Option<T>; 2],
    measure: Measure,
    amount: fn(&T) -> &Amount,
) -> Change<T> {
    let rates = |rate: fn(&Amount) -> Option<f64>| {
        let rate = |side: &Option<T>| side.as_ref().map_or(Some(0.0), |side| rate(amount(side)));
        rate(&before).zip(rate(&after))
    };
    let (ns, waits) = (rates(|it| it.rate_ns), rates(|it| it.rate_waits));
    let change_of = |rates: Option<(f64, f64)>| rates.map(|(was, is)| is - was);
    let (compared, change_rate_ns) = match measure {
        Measure::Wait => (ns, change_of(ns)),
        Measure::Contentions => (waits, None),
    };
    let change_rate_waits = change_of(waits);
    let share = compared.map(|(was, is)| change(was, is));
    let state = match (&before, &after) {
        (None, Some(_)) => Presence::Appeared,
        (Some(_), None) => Presence::Vanished,
        _ => Presence::Both,
    };
    let change_share = share.filter(|share| share.is_finite());
    Change { state, before, after, change_rate_ns, change_rate_waits, change_share }
}

/// For sorting: the greatest changes first, unknown ones last.
pub(super) fn magnitude<T>(change: &Change<T>) -> Reverse<(bool, u64)> {
    // Positive numbers sort by their bits.
    let by = change.known_by();
    Reverse((by.is_some(), by.map_or(0, |by| by.abs().to_bits())))
}

/// How all waits changed.
pub(super) fn total([before, after]: &[Figures; 2], rates: &Rates) -> Change<Amount> {
    let side = |figures: &Figures, rate: &Denominators| {
        let max_ns = figures.locks.iter().map(|lock| lock.max_wait_ns).max().unwrap_or(0);
        let sums = WaitTotals { waits: figures.waits, wait_ns: figures.wait_ns, max_ns };
        Some(sums.amount(Some(rate.total()), rates.measure))
    };
    let sides = [side(before, &rates.before), side(after, &rates.after)];
    changed(sides, rates.measure, |amount| amount)
}

/// How the waits for each lock changed, the greatest change first.
pub(super) fn locks([before, after]: &[Figures; 2], rates: &Rates) -> Vec<LockChange> {
    let mut both: BTreeMap<LockIdentity, [Option<LockAmount>; 2]> = BTreeMap::new();
    for (side, figures, rate) in [(0, before, &rates.before), (1, after, &rates.after)] {
        for lock in &figures.locks {
            let key = LockIdentity::of(lock);
            let amount = lock_amount(lock, rate.of_lock(&key), rates.measure);
            both.entry(key).or_default()[side] = Some(amount);
        }
    }
    let change = |(lock, sides): (LockIdentity, [Option<LockAmount>; 2])| {
        let LockIdentity { class, name, kind } = lock;
        let change = changed(sides, rates.measure, |lock: &LockAmount| &lock.amount);
        LockChange { lock: LockRef { name, class, id: 0 }, kind, change }
    };
    let mut changes: Vec<LockChange> = both.into_iter().map(change).collect();
    // Stable: what is equal stays in the order of names.
    changes.sort_by_key(|lock| magnitude(&lock.change));
    changes
}

fn lock_amount(lock: &LockFigures, divisor: Option<f64>, measure: Measure) -> LockAmount {
    let percentile = |ns: Option<u64>| ns.filter(|_| measure == Measure::Wait);
    let sums = WaitTotals { waits: lock.waits, wait_ns: lock.wait_ns, max_ns: lock.max_wait_ns };
    let held = lock.hold_ns.zip(lock.acquisitions);
    LockAmount {
        amount: sums.amount(divisor, measure),
        p50_wait_ns: percentile(lock.p50_wait_ns),
        p99_wait_ns: percentile(lock.p99_wait_ns),
        acquisitions: lock.acquisitions,
        acquisitions_error: lock.acquisitions_error,
        mean_hold_ns: held.and_then(|(hold_ns, taken)| hold_ns.checked_div(taken)),
    }
}

/// The waits in a stack on one side, and the profile's stack with most of them.
#[derive(Clone, Copy, Debug, Default)]
struct InStack {
    sums: WaitTotals,
    hottest: (u64, u32),
}

/// How the waits in each stack changed, the greatest change first.
pub(super) fn stacks(pair: &Pair<'_>, matching: Matching, rates: &Rates) -> Vec<StackChange> {
    let mut shared = StackNumbers::default();
    let mut both: BTreeMap<(LockIdentity, u32), [Option<InStack>; 2]> = BTreeMap::new();
    for (side, findings) in [(0, pair.before), (1, pair.after)] {
        for (key, stack) in in_stacks(findings, (matching, rates.measure), &mut shared) {
            both.entry(key).or_default()[side] = Some(stack);
        }
    }
    let mut changes: Vec<StackChange> = both
        .into_iter()
        .map(|((key, _), [before, after])| {
            let (was, is) = (rates.before.of_lock(&key), rates.after.of_lock(&key));
            let (findings, shown) = match (after, before) {
                (Some(after), _) => (pair.after, after),
                (None, before) => (pair.before, before.unwrap_or_default()),
            };
            let stack = names::stack(findings.profile(), shown.hottest.1);
            let measure = rates.measure;
            let amount = |side: Option<InStack>, rate| Some(side?.sums.amount(rate, measure));
            let sides = [amount(before, was), amount(after, is)];
            let LockIdentity { class, name, kind } = key;
            StackChange {
                place: stack.first().cloned().unwrap_or_default(),
                lock: LockRef { name, class, id: 0 },
                kind,
                change: changed(sides, measure, |amount| amount),
                stack,
            }
        })
        .collect();
    let name = |change: &StackChange| (change.place.clone(), change.stack.clone());
    changes.sort_by(|a, b| {
        magnitude(&a.change).cmp(&magnitude(&b.change)).then_with(|| name(a).cmp(&name(b)))
    });
    changes
}

/// The waits of one side by lock and stack.
fn in_stacks(
    findings: &Findings<'_>,
    (matching, measure): (Matching, Measure),
    shared: &mut StackNumbers,
) -> HashMap<(LockIdentity, u32), InStack> {
    let profile = findings.profile();
    let called = shared.number(findings, matching);
    // By the profile's own ids first: there are as many waits as threads share
    // stacks, but names are long.
    let mut sums: BTreeMap<(u32, WaitKind, u32), WaitTotals> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| findings.shows(wait.kind)) {
        let group = findings.groups.of(wait.lock);
        let (waits, wait_ns, max_ns) = (wait.count, wait.wait_ns, wait.max_ns);
        let sum = sums.entry((group, wait.kind, wait.stack)).or_default();
        sum.add(WaitTotals { waits, wait_ns, max_ns });
    }
    let mut stacks: HashMap<(LockIdentity, u32), InStack> = HashMap::new();
    for ((group, kind, stack), sum) in sums {
        let called = called.get(stack as usize).copied().unwrap_or_default();
        let LockRef { name, class, .. } = findings.groups.lock_ref(group);
        let of_stack = stacks
            .entry((LockIdentity { class, name, kind: kind.name() }, called.number))
            .or_default();
        of_stack.sums.add(sum);
        if sum.of(measure) > of_stack.hottest.0 || of_stack.hottest.1 == 0 {
            of_stack.hottest = (sum.of(measure), called.stack);
        }
    }
    stacks
}
