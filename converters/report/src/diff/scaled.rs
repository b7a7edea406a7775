//! The recordings before as they would be if as much had been recorded as
//! after: for pictures and profiles, whose numbers stand beside each other.

use super::{
    DiffError, Matching, Pair, Per,
    matching::StackNumbers,
    rates::{LockIdentity, Rates},
};
use crate::{Findings, findings::LockRef};
use std::collections::HashMap;
use tyrion_model::{
    profile::{Profile, WaitRow},
    units,
};
use tyrion_wire::WaitKind;

/// The profiles before and after: their waits alone, those before scaled to
/// what was recorded after.
///
/// # Errors
/// There is nothing to divide waits by.
pub fn scaled(pair: &Pair<'_>, per: Per) -> Result<[Profile; 2], DiffError> {
    let rates = pair.rates(per)?;
    let mut before = waits_of(pair.before);
    let mut factors = Factors { findings: pair.before, rates: &rates, known: HashMap::new() };
    for wait in &mut before.waits {
        let factor = factors.of(wait);
        wait.count = times(wait.count, factor);
        wait.wait_ns = times(wait.wait_ns, factor);
    }
    let to = match per {
        Per::Second => units::duration(pair.after.recorded_ns()),
        Per::Acquisition => "the acquisitions after".to_owned(),
        Per::Recording => return Ok([before, waits_of(pair.after)]),
    };
    for run in &mut before.runs {
        run.log = format!("{}, its waits scaled to {to}", run.log);
    }
    Ok([before, waits_of(pair.after)])
}

/// The profile with nothing in it but what sections about waits show, in stacks
/// as the program called them: the rest may be there on one side only, or
/// differ where the program does not.
fn waits_of(findings: &Findings<'_>) -> Profile {
    let called = StackNumbers::default().number(findings, Matching::Methods);
    let called = |stack: u32| called.get(stack as usize).copied().unwrap_or_default();
    let mut profile = findings.profile().clone();
    for stack in &mut profile.stacks {
        if called(stack.parent).is_empty() {
            stack.parent = 0;
        }
    }
    profile.waits.retain(|wait| findings.shows(wait.kind));
    for wait in &mut profile.waits {
        wait.stack = called(wait.stack).stack;
    }
    profile.waits.sort_unstable_by_key(key);
    profile.waits.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            kept.count = kept.count.saturating_add(next.count);
            kept.wait_ns = kept.wait_ns.saturating_add(next.wait_ns);
            kept.max_ns = kept.max_ns.max(next.max_ns);
        }
        same
    });
    (profile.has_acquisitions, profile.has_blame) = (false, false);
    profile.has_wakers = false;
    profile.acquisitions.clear();
    profile.sections.clear();
    profile.blames.clear();
    profile.wakes.clear();
    profile.operations.clear();
    profile.links.clear();
    profile
}

fn key(wait: &WaitRow) -> (u32, u32, u32, WaitKind) {
    (wait.thread, wait.stack, wait.lock, wait.kind)
}

/// Rounded; never more than fits.
fn times(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).round() as u64
}

/// The factors of locks, each worked out once.
struct Factors<'a> {
    findings: &'a Findings<'a>,
    rates: &'a Rates,
    known: HashMap<(u32, WaitKind), f64>,
}

impl Factors<'_> {
    fn of(&mut self, wait: &WaitRow) -> f64 {
        let group = self.findings.groups.of(wait.lock);
        *self.known.entry((group, wait.kind)).or_insert_with(|| {
            let LockRef { class, name, .. } = self.findings.groups.lock_ref(group);
            self.rates.factor(&LockIdentity { class, name, kind: wait.kind.name() })
        })
    }
}
