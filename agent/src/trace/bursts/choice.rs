//! Which places are counted in bursts.

use super::{
    Slot,
    series::{Watched, is_fit},
    slot_of,
};
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// From so many acquisitions on a place may be counted in bursts.
const MANY: u64 = 1 << 20;
/// Where locks are held for longer than this, in ns, they cannot be taken so often that
/// counting them would matter; and holds are to be much shorter than a burst.
const LONG_NS: u64 = 20_000;

/// What is known of places.
#[derive(Default)]
pub struct Choice {
    slots: BTreeMap<Slot, About>,
    /// What is held since the first one is taken again at the second one.
    pairs: BTreeSet<(Slot, Slot)>,
}

#[derive(Default)]
struct About {
    /// How often locks were taken there, reentrant acquisitions included.
    taken: u64,
    /// Measured holds and their time, as of the latest look.
    holds: u64,
    held_ns: u64,
    /// A probe of a release there may not know its place.
    is_barred: bool,
}

impl Choice {
    /// Takes into account what a cell has counted.
    pub fn add(&mut self, cell: &mut Watched) {
        if cell.is_unpaired {
            // Others share its slot.
            self.slots.entry(cell.slot).or_default().is_barred = true;
        }
        if !cell.is_fit {
            return;
        }
        let more = cell.more();
        if more == 0 {
            return;
        }
        let about = self.slots.entry(cell.slot).or_default();
        about.taken = about.taken.saturating_add(more);
        let (holds, held_ns) = cell.holds();
        about.holds = about.holds.max(holds);
        about.held_ns = about.held_ns.max(held_ns);
    }

    /// What is held since `outer` is taken again at `inner`.
    pub fn pair(&mut self, trace: &Trace, outer: u32, inner: u32) {
        if self.pairs.insert((slot_of(outer), slot_of(inner))) {
            for place in [outer, inner].into_iter().filter(|&place| !is_fit(trace, place)) {
                self.slots.entry(slot_of(place)).or_default().is_barred = true;
            }
        }
    }

    /// The slots that are to be counted in bursts beside those that are, and those of
    /// them that must not be.
    pub fn decide(&mut self, current: &BTreeSet<Slot>) -> (Vec<Slot>, Vec<Slot>) {
        // What is taken again at a place that counts all must not be left out where it
        // is taken first.
        self.spread(|slots, outer, inner| {
            slots.get(&inner).is_some_and(|about| about.is_barred)
                && set(&mut slots.entry(outer).or_default().is_barred)
        });
        let mut wanted: BTreeSet<Slot> = current.clone();
        wanted.extend(self.slots.iter().filter(|(_, about)| about.is_hot()).map(|(&slot, _)| slot));
        wanted.retain(|slot| self.slots.get(slot).is_none_or(|about| !about.is_barred));
        // And what is taken again within a place is counted when that one is.
        loop {
            let follow = self.pairs.iter().filter(|(outer, _)| wanted.contains(outer));
            let more: Vec<Slot> =
                follow.map(|&(_, inner)| inner).filter(|inner| !wanted.contains(inner)).collect();
            if more.is_empty() {
                break;
            }
            wanted.extend(more);
        }
        let chosen = wanted.difference(current).copied().collect();
        let barred = current.difference(&wanted).copied().collect();
        (chosen, barred)
    }

    /// Applies `step` to all pairs until it changes nothing.
    fn spread(&mut self, step: impl Fn(&mut BTreeMap<Slot, About>, Slot, Slot) -> bool) {
        let Choice { slots, pairs, .. } = self;
        while pairs
            .iter()
            .fold(false, |changed, &(outer, inner)| step(slots, outer, inner) || changed)
        {}
    }
}

/// Whether it was not set before.
fn set(flag: &mut bool) -> bool {
    !std::mem::replace(flag, true)
}

impl About {
    fn is_hot(&self) -> bool {
        let is_short = self.held_ns.checked_div(self.holds).is_none_or(|mean| mean <= LONG_NS);
        self.taken >= MANY && is_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(taken: &[(Slot, u64)], pairs: &[(Slot, Slot)]) -> Choice {
        let about = |taken| About { taken, holds: 10, held_ns: 1_000, ..About::default() };
        Choice {
            slots: taken.iter().map(|&(slot, taken)| (slot, about(taken))).collect(),
            pairs: pairs.iter().copied().collect(),
        }
    }

    #[test]
    fn what_is_taken_often_and_held_shortly_is_chosen() {
        let mut choice = choice(&[(1, MANY), (2, MANY - 1), (3, MANY)], &[]);
        choice.slots.get_mut(&3).unwrap().held_ns = 10 * LONG_NS + 10;
        assert_eq!(choice.decide(&BTreeSet::new()), (vec![1], vec![]));
        assert_eq!(choice.decide(&BTreeSet::from([1])), (vec![], vec![]));
    }

    #[test]
    fn what_is_taken_again_within_goes_along() {
        let mut choice = choice(&[(1, MANY), (2, 5), (4, 5)], &[(1, 2), (2, 3), (4, 1)]);
        assert_eq!(choice.decide(&BTreeSet::new()), (vec![1, 2, 3], vec![]));
        // One that cannot: then nothing can in which it is taken.
        choice.slots.entry(3).or_default().is_barred = true;
        assert_eq!(choice.decide(&BTreeSet::from([1, 2, 3])), (vec![], vec![1, 2, 3]));
    }
}
