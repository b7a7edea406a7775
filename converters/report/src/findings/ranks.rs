//! What the second pass counts apart: what the profile shows to be hot.

use super::groups::LockGroups;
use std::{cmp::Reverse, collections::HashMap};
use tyrion_model::{filter::Filter, profile::Profile};
use tyrion_wire::WaitKind;

/// The most lock groups and kinds with a distribution of their own.
const MAX_DISTRIBUTIONS: usize = 2_000;
/// The most rows in a timeline.
const MAX_ROWS: usize = 200;
/// The bands of the picture of the threads' time: the worst locks, and the others together.
pub(super) const BANDS: usize = 4;
/// Stands for what is not shown.
pub(super) const NONE: u32 = u32::MAX;

/// Whether sections about waits show those of this kind.
pub(super) fn shows(filter: &Filter, kind: WaitKind) -> bool {
    let about_locks = |kind: WaitKind| kind.is_contention() || kind == WaitKind::LockReacquire;
    let asked = |kind: &WaitKind| filter.kinds.contains(*kind);
    let any_about_locks = WaitKind::ALL.into_iter().filter(asked).any(about_locks);
    // Of a kind that is not asked for as such, the profile has those waits alone
    // that withhold work.
    let withheld_alone = !asked(&kind) && filter.kinds.may_take(kind);
    withheld_alone || asked(&kind) && (about_locks(kind) || !any_about_locks)
}

/// What is counted apart.
pub(super) struct Ranks {
    /// Lock groups and kinds with a distribution of their own, and its number;
    /// number 0 is that of all others.
    pub(super) distributions: HashMap<(u32, WaitKind), u16>,
    /// The lock groups of the timeline.
    pub(super) groups: Vec<u32>,
    /// The threads of the timeline, by their ids in the profile.
    pub(super) threads: Vec<u32>,
    /// The lock groups that threads waited for longest to take.
    pub(super) worst: Vec<u32>,
}

impl Ranks {
    pub(super) fn new(
        profile: &Profile,
        groups: &LockGroups,
        filter: &Filter,
        top: usize,
    ) -> Ranks {
        let mut kinds: HashMap<(u32, WaitKind), u64> = HashMap::new();
        let mut of_group = vec![0u64; groups.len()];
        let mut contended = vec![0u64; groups.len()];
        let mut of_thread = vec![0u64; profile.threads.len()];
        for wait in profile.waits.iter().filter(|wait| shows(filter, wait.kind)) {
            let group = groups.of(wait.lock);
            let kind = kinds.entry((group, wait.kind)).or_default();
            let sums = [
                Some(kind),
                of_group.get_mut(group as usize),
                of_thread.get_mut(wait.thread as usize),
            ];
            for sum in sums.into_iter().flatten() {
                *sum = sum.saturating_add(wait.wait_ns);
            }
            let sum = contended.get_mut(group as usize).filter(|_| wait.kind.is_contention());
            if let Some(sum) = sum {
                *sum = sum.saturating_add(wait.wait_ns);
            }
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_unstable_by_key(|(key, ns)| (Reverse(*ns), *key));
        kinds.truncate(MAX_DISTRIBUTIONS);
        let numbered = kinds.into_iter().zip(1..);
        let rows = if top == 0 { MAX_ROWS } else { top.min(MAX_ROWS) };
        Ranks {
            distributions: numbered.map(|((key, _), number)| (key, number)).collect(),
            groups: hottest(&of_group, rows),
            threads: hottest(&of_thread, rows),
            worst: hottest(&contended, BANDS - 1),
        }
    }

    /// The band of a lock group: its place among the worst, or that of all others.
    pub(super) fn band(&self, group: u32) -> u8 {
        self.worst.iter().position(|worst| *worst == group).unwrap_or(BANDS - 1) as u8
    }
}

/// The places of the greatest numbers that are not 0, the greatest first.
fn hottest(sums: &[u64], most: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sums.len() as u32).collect();
    order.retain(|&at| sums[at as usize] != 0);
    order.sort_by_key(|&at| (Reverse(sums[at as usize]), at));
    order.truncate(most);
    order
}
