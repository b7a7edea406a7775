//! What waiting for locks costs, by lock.
//!
//! A lock is known by what code calls it, and by its id in the log, if it has one: places
//! that were seen to take the same lock belong together.

use crate::clock;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tyrion_plan::{CodeName, Place};
use tyrion_wire::def::id;

/// Locks that cost less than this share of what all cost are not guilty.
const LEAST_SHARE: u64 = 10;

/// A window has so many parts, and a lock that is not waited for in most of them is not guilty:
/// when a program starts, threads wait for each other for a moment, and never again.
pub const PARTS: u32 = 5;
const LEAST_PARTS: u32 = 3;

/// A moment.
pub struct Window {
    /// Monotonic time, ns.
    pub mono_ns: u64,
    cpu_ns: u64,
}

impl Window {
    /// This one.
    pub fn begin() -> Window {
        Window { mono_ns: clock::now_ns(), cpu_ns: clock::process_cpu_ns() }
    }
}

/// A lock that costs too much.
#[derive(Debug)]
pub struct Guilty {
    /// What the log calls it.
    pub name: String,
    /// What code calls it.
    pub names: BTreeSet<CodeName>,
    /// Where threads have waited for it, and the numbers of these places.
    pub places: Vec<Place>,
    pub numbers: BTreeSet<u32>,
    cost_ns: u64,
    parts: u32,
    ended: u64,
}

impl Guilty {
    /// Whether threads have waited for it in most of the window, and there is something to
    /// count: a lock that is never given back is not taken.
    fn goes_on(&self) -> bool {
        self.parts.count_ones() >= LEAST_PARTS && self.ended != 0
    }
}

/// What is known of one place.
struct At {
    place: Place,
    name: CodeName,
    cost_ns: u64,
    /// A bit for each part of the window in which threads were seen to wait.
    parts: u32,
    /// How many waits were seen to end.
    ended: u64,
}

/// What waits have cost in a window.
#[derive(Default)]
pub struct Costs {
    places: BTreeMap<u32, At>,
    /// One place at which each lock was waited for, by the lock's id.
    of_lock: HashMap<u32, u32>,
    /// Since when and where each thread was waiting at the last look, by its Java id.
    waiting: HashMap<i64, (u64, u32)>,
    /// Pairs of places that take the same lock.
    same: BTreeSet<(u32, u32)>,
    all_ns: u64,
    cpu_ns: u64,
    length_ns: u64,
}

impl Costs {
    /// Adds the wait of one thread, for a lock with this id at the place of this number, in a part
    /// of the window.
    pub fn add(
        &mut self,
        place: Option<Place>,
        (number, lock): (u32, u32),
        (part, span_ns): (u32, u64),
    ) {
        self.all_ns = self.all_ns.saturating_add(span_ns);
        let Some(place) = place else { return };
        let Some(name) = CodeName::of(&place.class, &place.taken) else { return };
        let new = At { place, name, cost_ns: 0, parts: 0, ended: 0 };
        let at = self.places.entry(number).or_insert(new);
        at.cost_ns = at.cost_ns.saturating_add(span_ns);
        at.parts |= 1 << part.min(PARTS - 1);
        if lock != id::UNKNOWN {
            let first = *self.of_lock.entry(lock).or_insert(number);
            if first != number {
                self.same.insert((first, number));
            }
        }
    }

    /// Which threads wait at this moment, by their Java ids, since when, and at which places: the
    /// waits of the last look that are not among them have ended.
    pub fn look(&mut self, contending: impl Iterator<Item = (i64, u64, u32)>) {
        let waiting: HashMap<i64, (u64, u32)> =
            contending.map(|(thread, start_ns, place)| (thread, (start_ns, place))).collect();
        for (thread, wait) in std::mem::take(&mut self.waiting) {
            let at = self.places.get_mut(&wait.1).filter(|_| waiting.get(&thread) != Some(&wait));
            at.into_iter().for_each(|at| at.ended += 1);
        }
        self.waiting = waiting;
    }

    /// Waits for a lock have cost nothing.
    pub fn leave_out(&mut self, lock: &Guilty) {
        self.all_ns = self.all_ns.saturating_sub(lock.cost_ns);
        self.places.retain(|number, _| !lock.numbers.contains(number));
    }

    /// The window is over.
    pub fn end(&mut self, begun: &Window, ended: &Window) {
        self.length_ns = ended.mono_ns.saturating_sub(begun.mono_ns);
        self.cpu_ns = ended.cpu_ns.saturating_sub(begun.cpu_ns);
    }

    /// The locks that cost most, at most so many, if those that are not known yet, and were waited
    /// for in most of the window, cost more than so many percent of the time in which the program
    /// was busy.
    pub fn guilty(
        &self,
        limit_percent: u32,
        known: &BTreeSet<CodeName>,
        most: usize,
    ) -> Vec<Guilty> {
        let mut locks = self.locks();
        locks.retain(|lock| lock.goes_on() && lock.names.is_disjoint(known));
        let cost_ns = locks.iter().fold(0, |sum: u64, lock| sum.saturating_add(lock.cost_ns));
        let busy_ns = self.cpu_ns.saturating_add(self.all_ns).max(self.length_ns);
        let limit_ns = u128::from(busy_ns) * u128::from(limit_percent);
        if cost_ns == 0 || u128::from(cost_ns) * 100 < limit_ns {
            return Vec::new();
        }
        locks.retain(|lock| lock.cost_ns >= cost_ns / LEAST_SHARE);
        locks.sort_by(|a, b| (b.cost_ns, &a.name).cmp(&(a.cost_ns, &b.name)));
        locks.truncate(most);
        locks
    }

    /// Places that take the same lock, together.
    fn locks(&self) -> Vec<Guilty> {
        let mut group: BTreeMap<u32, u32> = self.places.keys().map(|&it| (it, it)).collect();
        let mut by_name: BTreeMap<&CodeName, u32> = BTreeMap::new();
        let of_names = self.places.iter().filter_map(|(&number, at)| {
            let first = *by_name.entry(&at.name).or_insert(number);
            (first != number).then_some((first, number))
        });
        let pairs: Vec<(u32, u32)> = of_names.chain(self.same.iter().copied()).collect();
        for (one, other) in pairs {
            let [Some(&one), Some(&other)] = [group.get(&one), group.get(&other)] else { continue };
            group.values_mut().filter(|it| **it == other).for_each(|it| *it = one);
        }
        let mut locks: BTreeMap<u32, Guilty> = BTreeMap::new();
        for (number, at) in &self.places {
            let Some(&group) = group.get(number) else { continue };
            let lock = locks.entry(group).or_insert_with(|| Guilty {
                name: at.name.to_string(),
                names: BTreeSet::new(),
                places: Vec::new(),
                numbers: BTreeSet::new(),
                cost_ns: 0,
                parts: 0,
                ended: 0,
            });
            lock.names.insert(at.name.clone());
            lock.places.push(at.place.clone());
            lock.numbers.insert(*number);
            lock.cost_ns = lock.cost_ns.saturating_add(at.cost_ns);
            lock.parts |= at.parts;
            lock.ended = lock.ended.saturating_add(at.ended);
        }
        locks.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_plan::taking::Taken;
    use tyrion_wire::{WaitKind, def::place_flag};

    const MS: u64 = 1_000_000;
    const LOCKS: usize = 2;

    fn place(name: &str) -> Option<Place> {
        Some(Place {
            class: "a/Cache".to_owned(),
            source_file: None,
            method: "run".to_owned(),
            descriptor: "()V".to_owned(),
            first_line: 1,
            line: 4,
            bytecode: Some(3),
            taken: Taken {
                kind: WaitKind::Monitor,
                flags: place_flag::FIELD,
                name: name.to_owned(),
            },
        })
    }

    fn costs(waits: &[(&str, u32, u32, u64)], cpu_ms: u64, length_ms: u64) -> Costs {
        let mut costs = Costs::default();
        for &(name, number, lock, ms) in waits {
            // A wait in each part, of a fifth of it.
            for part in 0..PARTS {
                costs.look([(1, u64::from(part), number)].into_iter());
                costs.add(place(name), (number, lock), (part, ms * MS / u64::from(PARTS)));
            }
        }
        let window = |ms: u64, cpu_ms: u64| Window { mono_ns: ms * MS, cpu_ns: cpu_ms * MS };
        costs.end(&window(0, 0), &window(length_ms, cpu_ms));
        costs
    }

    fn names(costs: &Costs, percent: u32, known: &BTreeSet<CodeName>) -> Vec<String> {
        costs.guilty(percent, known, LOCKS).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn what_costs_little_is_not_guilty() {
        let none = BTreeSet::new();
        let waits = [("a/Cache.one", 1, 1, 50)];
        assert_eq!(names(&costs(&waits, 950, 100), 5, &none), ["a.Cache.one"]);
        assert!(names(&costs(&waits, 951, 100), 5, &none).is_empty());
        // A program that does hardly anything.
        assert!(names(&costs(&waits, 0, 1001), 5, &none).is_empty());
        assert!(names(&costs(&[], 0, 100), 5, &none).is_empty());
        // What cannot be traced costs, too.
        let mut unknown = costs(&waits, 900, 100);
        unknown.add(None, (0, 7), (0, 60 * MS));
        assert!(names(&unknown, 5, &none).is_empty());
    }

    #[test]
    fn what_is_over_at_once_is_not_guilty() {
        let cost_in = |parts: &[u32], wait_of: fn(u32) -> u32| {
            let mut costs = Costs::default();
            for &part in parts {
                costs.look([(1, wait_of(part).into(), 1)].into_iter());
                costs.add(place("a/Cache.one"), (1, 1), (part, 100 * MS));
            }
            let window = |ms: u64| Window { mono_ns: ms * MS, cpu_ns: ms * MS };
            costs.end(&window(0), &window(1000));
            names(&costs, 5, &BTreeSet::new())
        };
        assert!(cost_in(&[0, 0, 1, 1, 1], |part| part).is_empty());
        assert_eq!(cost_in(&[0, 1, 4], |part| part), ["a.Cache.one"]);
        // One wait that does not end: the lock is not taken.
        assert!(cost_in(&[0, 1, 2, 3, 4], |_| 7).is_empty());
    }

    #[test]
    fn what_is_left_out_costs_nothing() {
        let none = BTreeSet::new();
        let waits = [("a/Server.turn", 1, 1, 5000), ("a/Cache.one", 2, 2, 50)];
        for (cpu_ms, expected) in [(950, &["a.Cache.one"][..]), (951, &[])] {
            let mut costs = costs(&waits, cpu_ms, 100);
            let guilty = costs.guilty(5, &none, LOCKS);
            assert_eq!(
                guilty.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
                ["a.Server.turn"]
            );
            costs.leave_out(&guilty[0]);
            assert_eq!(names(&costs, 5, &none), expected, "of {cpu_ms} ms");
        }
    }

    #[test]
    fn places_of_one_lock_are_one_and_the_worst_come_first() {
        let none = BTreeSet::new();
        let waits = [
            ("a/Cache.one", 1, 1, 30),
            ("a/Cache.one", 2, 9, 30),
            ("a/Cache.other", 3, 2, 20),
            // The same lock by another name.
            ("a/Pool.other", 4, 2, 50),
            ("a/Cache.third", 5, 3, 25),
            ("a/Cache.rare", 6, 4, 1),
        ];
        let all = costs(&waits, 100, 100);
        assert_eq!(names(&all, 5, &none), ["a.Cache.other", "a.Cache.one"]);
        let guilty = all.guilty(5, &none, 8);
        assert_eq!(guilty.iter().map(|it| it.places.len()).collect::<Vec<_>>(), [2, 2, 1]);
        // What is known by now is left alone.
        let known = guilty[0].names.clone();
        assert_eq!(names(&all, 5, &known), ["a.Cache.one", "a.Cache.third"]);
        assert!(names(&all, 60, &known).is_empty());
    }
}
