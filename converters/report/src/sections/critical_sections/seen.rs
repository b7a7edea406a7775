//! In contention mode: which methods had locks when the agent looked at who had those that
//! others waited for, and what they did meanwhile.

use crate::{
    Findings,
    findings::{LockRef, names},
    sections::shared::share,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_model::profile::{BlameRow, Profile};
use tyrion_wire::WaitKind;

/// So many things that a method does meanwhile are told.
const MOST_MEANWHILE: usize = 3;

/// A method that had a lock while others waited for it. These are samples: holds for which
/// nobody waited are in none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SeenHold {
    /// The method that had the lock, `com.acme.Cache.load(Cache.java:40)`.
    pub place: String,
    /// What it had.
    pub lock: LockRef,
    /// What others waited for.
    pub kind: &'static str,
    /// In how many looks it was seen.
    pub looks: u64,
    /// For how much wait it is charged, in ns, estimated; see `blockers`.
    pub wait_ns: u64,
    /// What it did meanwhile, most often first: at most three.
    pub meanwhile: Vec<Meanwhile>,
}

/// What a method did while it had a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Meanwhile {
    /// Its innermost frame, `java.io.FileOutputStream.write(FileOutputStream.java)`.
    pub frame: String,
    /// The share of that wait in which it was there.
    pub share: f64,
}

/// Where a lock was held that others waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SeenHoldKey {
    place: String,
    /// The lock's group.
    group: u32,
    kind: WaitKind,
}

/// How often and for how much wait looks found a thread there, and what it did.
#[derive(Default)]
struct LookSums {
    looks: u64,
    wait_ns: u64,
    meanwhile: BTreeMap<String, u64>,
}

/// All of them, those for which most was waited first.
pub(super) fn seen(findings: &Findings<'_>) -> Vec<SeenHold> {
    let profile = findings.profile();
    if !profile.is_blame_sampled || findings.is_trace() {
        return Vec::new();
    }
    let mut sums: BTreeMap<SeenHoldKey, LookSums> = BTreeMap::new();
    let is_shown =
        |it: &&BlameRow| findings.shows(it.kind) && profile.frames_of(it.stack).next().is_some();
    for row in profile.blames.iter().filter(is_shown) {
        let place = names::holder_place(profile, row.stack, row.above);
        let key = SeenHoldKey { place, group: findings.groups.of(row.lock), kind: row.kind };
        let of = sums.entry(key).or_default();
        of.looks = of.looks.saturating_add(if row.free_ns == 0 { row.answers } else { 0 });
        of.wait_ns = of.wait_ns.saturating_add(row.blamed_ns);
        if let Some(frame) = meanwhile(profile, row) {
            let at = of.meanwhile.entry(frame).or_default();
            *at = at.saturating_add(row.blamed_ns);
        }
    }
    let mut all: Vec<SeenHold> =
        sums.into_iter().map(|(key, sums)| hold(findings, key, sums)).collect();
    // Stable, so that equal ones stay in the order of names.
    all.sort_by_key(|hold| Reverse(hold.wait_ns));
    all
}

/// Where it was; `None` where all that is known is where it has taken the lock, which it had
/// to wait for.
pub(crate) fn meanwhile(profile: &Profile, row: &BlameRow) -> Option<String> {
    let mut frames = profile.frames_of(row.stack).map(|at| names::frame(profile, at));
    match row.above {
        0 => frames.next().filter(|innermost| !names::is_machinery(innermost)),
        above => called(frames.take(above as usize)),
    }
}

/// What was called, innermost first: where a thread parks, that is what it waits in, such as a
/// queue's `take`, not that it parks.
fn called(frames: impl Iterator<Item = String>) -> Option<String> {
    let mut frames = frames.peekable();
    let mut innermost = frames.next()?;
    while names::is_machinery(&innermost)
        && let Some(outer) = frames.next_if(|outer| names::is_machinery(outer))
    {
        innermost = outer;
    }
    Some(innermost)
}

fn hold(findings: &Findings<'_>, key: SeenHoldKey, sums: LookSums) -> SeenHold {
    let SeenHoldKey { place, group, kind } = key;
    let LookSums { looks, wait_ns, meanwhile } = sums;
    let mut most: Vec<(String, u64)> = meanwhile.into_iter().collect();
    most.sort_by_key(|(_, ns)| Reverse(*ns));
    most.truncate(MOST_MEANWHILE);
    let does = |(frame, ns): (String, u64)| Meanwhile { frame, share: share(ns, wait_ns) };
    let meanwhile = most.into_iter().map(does).collect();
    let lock = LockRef { id: 0, ..findings.groups.lock_ref(group) };
    SeenHold { place, lock, kind: kind.name(), looks, wait_ns, meanwhile }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_parks_is_in_what_it_waits_for() {
        let of = |frames: &[&str]| called(frames.iter().map(|&frame| frame.to_owned()));
        let parks =
            ["jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.LockSupport.park"];
        let take = "java.util.concurrent.LinkedBlockingQueue.take";
        assert_eq!(of(&[&parks[..], &[take, "a.Store.next"]].concat()).as_deref(), Some(take));
        assert_eq!(of(&parks).as_deref(), Some(parks[1]), "the lock's owner itself parks");
        assert_eq!(of(&["a.Disk.write", parks[0]]).as_deref(), Some("a.Disk.write"));
        assert_eq!(of(&[]), None);
    }
}
