//! What is taken outside of bursts, and which cells it is of.
//!
//! Outside of bursts a place counts how often a thread takes locks there, and no more.
//! What class they are of, and whether the thread had them already, the bursts tell: the
//! number is divided among the cells of the thread and place in the ratio of what the
//! burst behind it has counted in each. Nearly always there is one. So the totals of a
//! place are exact, and only that ratio is estimated.

use super::{
    Slot,
    series::{Watched, Weight},
};
use crate::trace::memory::Outside;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::atomic::Ordering::Relaxed,
};

/// So many bursts a thread's cells are waited for; then others that take locks at the
/// place have to do. A thread may live too shortly to have any.
const PATIENCE: u32 = 16;
/// Of a burst that has counted less, the beginning would matter: what is taken again then
/// seems to be taken for the first time.
const MANY: u64 = 256;
/// The threads that do not have cells are looked at in turn: one in so many at a time.
const TURNS: usize = 16;

/// How much of what was counted outside of bursts cells have been given.
#[derive(Default)]
pub struct Division {
    given: HashMap<(Slot, usize), Given>,
    turn: usize,
    /// The threads that lived at the last look, by their Java ids.
    lived: HashSet<i64>,
    /// All that was given.
    pub total: u64,
}

#[derive(Default)]
struct Given {
    /// How many acquisitions.
    taken: u64,
    /// For how many bursts some have had no cell.
    waits: u32,
}

/// The cells of a place.
#[derive(Default)]
struct OfPlace {
    /// By the low bits of their threads' ids.
    by_row: HashMap<usize, Vec<usize>>,
    /// Those of virtual threads, whose ids may have any low bits.
    of_virtual: Vec<usize>,
    all: Vec<usize>,
}

impl Division {
    /// A burst has ended, or with `is_last` there will be none: gives the cells of these
    /// places what is theirs. `living` are the threads' Java ids: what one has taken that
    /// lives now is not of another that has ended and had the same low bits.
    pub fn divide(
        &mut self,
        cells: &mut [Watched],
        slots: &BTreeSet<Slot>,
        outside: &[Outside],
        living: HashSet<i64>,
        is_last: bool,
    ) {
        let lived = std::mem::replace(&mut self.lived, living);
        let is_known = |id: i64| id == 0 || lived.contains(&id) || self.lived.contains(&id);
        let places = by_place(cells, slots, outside.len(), is_known);
        self.turn = (self.turn + 1) % TURNS;
        for (&slot, of_place) in &places {
            for (row, counts) in outside.iter().enumerate() {
                let is_due = is_last
                    || row % TURNS == self.turn
                    || of_place.by_row.contains_key(&row)
                    || !of_place.of_virtual.is_empty();
                if is_due {
                    let now = counts[usize::from(slot)].load(Relaxed);
                    self.give(cells, of_place, (slot, row), now, is_last);
                }
            }
        }
    }

    fn give(
        &mut self,
        cells: &mut [Watched],
        of_place: &OfPlace,
        (slot, row): (Slot, usize),
        now: u64,
        is_last: bool,
    ) {
        if now == 0 {
            return;
        }
        let given = self.given.entry((slot, row)).or_default();
        let taken = now.saturating_sub(given.taken);
        if taken == 0 {
            return;
        }
        let none = Vec::new();
        let own = of_place.by_row.get(&row).unwrap_or(&none);
        let sum = |members: &[usize], of: Weight| {
            members.iter().fold(0, |sum: u64, &nth| sum.saturating_add(cells[nth].weight(of)))
        };
        let of_virtual = &of_place.of_virtual;
        let ways = [
            (own, Weight::Burst),
            (own, Weight::Counted),
            (of_virtual, Weight::Burst),
            (of_virtual, Weight::Counted),
            (&of_place.all, Weight::Others),
        ];
        let found = ways.into_iter().find_map(|(members, weight)| {
            let all = sum(members, weight);
            let least = if weight == Weight::Burst { MANY } else { 1 };
            (all >= least).then_some((members, weight, all))
        });
        let Some((members, weight, all)) = found else { return };
        if weight == Weight::Others {
            given.waits += 1;
            if given.waits < PATIENCE && !is_last {
                return;
            }
        }
        (given.taken, given.waits) = (now, 0);
        self.total = self.total.saturating_add(taken);
        for &nth in members {
            cells[nth].add(taken, weight, all);
        }
    }
}

fn by_place(
    cells: &[Watched],
    slots: &BTreeSet<Slot>,
    rows: usize,
    is_known: impl Fn(i64) -> bool,
) -> BTreeMap<Slot, OfPlace> {
    let mut places: BTreeMap<Slot, OfPlace> =
        slots.iter().map(|&slot| (slot, OfPlace::default())).collect();
    for (nth, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.is_fit) {
        let Some(of_place) = places.get_mut(&cell.slot) else { continue };
        of_place.all.push(nth);
        match cell.owner {
            0 => of_place.of_virtual.push(nth),
            id if !is_known(id) => {}
            id => of_place.by_row.entry(id as usize & (rows - 1)).or_default().push(nth),
        }
    }
    places
}
