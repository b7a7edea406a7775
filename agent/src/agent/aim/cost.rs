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

/// A window has so many parts, an odd number, and a lock costs what it does in the middle one of
/// these, ordered by what it costs: when a program starts, threads wait for each other for a
/// moment, and never again.
pub const PARTS: usize = 5;
/// A lock that nobody has got in so many of the last parts may never be given back: if nobody
/// takes it, there is nothing to trace.
const LAST_PARTS: usize = 2;

type Parts = [u64; PARTS];

/// What it costs in a window in which each part is as the middle one, ns.
fn usual(parts: &Parts) -> u64 {
    let mut parts = *parts;
    parts.sort_unstable();
    parts[PARTS / 2].saturating_mul(PARTS as u64)
}

fn add_parts(sums: &mut Parts, more: &Parts) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

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
    parts: Parts,
    ended: [bool; PARTS],
}

impl Guilty {
    fn is_given_back(&self) -> bool {
        self.ended[PARTS - LAST_PARTS..].contains(&true)
    }

    /// All that the waits cost, ns.
    fn all_ns(&self) -> u64 {
        self.parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part))
    }
}

/// What is known of one place.
struct At {
    place: Place,
    name: CodeName,
    parts: Parts,
    /// In which parts waits have ended.
    ended: [bool; PARTS],
}

/// Who waits at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    /// The thread, by its Java id.
    pub thread: i64,
    /// Since when, monotonic ns.
    pub start_ns: u64,
    /// The number of the place where it takes the lock.
    pub place: u32,
    /// The lock, by its id in the log.
    pub lock: u32,
}

/// A wait that goes on, as far as is known.
#[derive(Clone, Copy)]
struct Waiting {
    start_ns: u64,
    place: u32,
    /// Whether it was not seen at the last look: threads in the middle of an event are left out.
    is_missed: bool,
}

/// What waits have cost in a window.
#[derive(Default)]
pub struct Costs {
    places: BTreeMap<u32, At>,
    /// One place at which each lock was waited for, by the lock's id.
    of_lock: HashMap<u32, u32>,
    /// The waits of the last look, by thread.
    waiting: HashMap<i64, Waiting>,
    /// Pairs of places that take the same lock.
    same: BTreeSet<(u32, u32)>,
    all_ns: u64,
    cpu_ns: u64,
    length_ns: u64,
}

impl Costs {
    /// Adds who waits at this moment, and at which places, if locks are traced there. The moment is
    /// in a part of the window, and stands for so long, ns. Those who waited before, and are not
    /// among them twice, have what they waited for.
    pub fn look(
        &mut self,
        waiters: impl Iterator<Item = (Waiter, Option<Place>)>,
        (part, span_ns): (usize, u64),
    ) {
        let part = part.min(PARTS - 1);
        let mut before = std::mem::take(&mut self.waiting);
        for (waiter, place) in waiters {
            self.all_ns = self.all_ns.saturating_add(span_ns);
            if !self.knows(&waiter, place) {
                continue;
            }
            let Waiter { thread, start_ns, place, .. } = waiter;
            let known = before.remove(&thread);
            if let Some(ended) = known.filter(|it| (it.start_ns, it.place) != (start_ns, place)) {
                self.ends(&ended, part);
            }
            if let Some(at) = self.places.get_mut(&place) {
                at.parts[part] = at.parts[part].saturating_add(span_ns);
            }
            self.waiting.insert(thread, Waiting { start_ns, place, is_missed: false });
        }
        for (thread, wait) in before {
            match wait.is_missed {
                true => self.ends(&wait, part),
                false => _ = self.waiting.insert(thread, Waiting { is_missed: true, ..wait }),
            }
        }
    }

    fn ends(&mut self, wait: &Waiting, part: usize) {
        if let Some(at) = self.places.get_mut(&wait.place) {
            at.ended[part] = true;
        }
    }

    /// Whether locks are traced where somebody waits; notes the place, and the lock.
    fn knows(&mut self, waiter: &Waiter, place: Option<Place>) -> bool {
        let Some(place) = place else { return false };
        let Some(name) = CodeName::of(&place.class, &place.taken) else { return false };
        let &Waiter { place: number, lock, .. } = waiter;
        self.places.entry(number).or_insert(At {
            place,
            name,
            parts: [0; PARTS],
            ended: [false; PARTS],
        });
        if lock != id::UNKNOWN {
            let first = *self.of_lock.entry(lock).or_insert(number);
            if first != number {
                self.same.insert((first, number));
            }
        }
        true
    }

    /// The window is over.
    pub fn end(&mut self, begun: &Window, ended: &Window) {
        self.length_ns = ended.mono_ns.saturating_sub(begun.mono_ns);
        self.cpu_ns = ended.cpu_ns.saturating_sub(begun.cpu_ns);
    }

    /// Waits for a lock have cost nothing.
    pub fn leave_out(&mut self, lock: &Guilty) {
        self.all_ns = self.all_ns.saturating_sub(lock.all_ns());
        self.places.retain(|number, _| !lock.numbers.contains(number));
    }

    /// The locks that cost most, at most so many, if those that are not known yet cost more than
    /// so many percent of the time in which the program was busy.
    pub fn guilty(
        &self,
        limit_percent: u32,
        known: &BTreeSet<CodeName>,
        most: usize,
    ) -> Vec<Guilty> {
        let (mut locks, stuck): (Vec<Guilty>, Vec<Guilty>) =
            self.locks().into_iter().partition(Guilty::is_given_back);
        locks.retain(|lock| lock.names.is_disjoint(known));
        let stuck_ns = stuck.iter().fold(0, |sum: u64, lock| sum.saturating_add(lock.all_ns()));
        let waits_ns = self.all_ns.saturating_sub(stuck_ns);
        let cost_ns = locks.iter().fold(0, |sum: u64, lock| sum.saturating_add(lock.cost_ns));
        let busy_ns = self.cpu_ns.saturating_add(waits_ns).max(self.length_ns);
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
                parts: [0; PARTS],
                ended: [false; PARTS],
            });
            lock.names.insert(at.name.clone());
            lock.places.push(at.place.clone());
            lock.numbers.insert(*number);
            add_parts(&mut lock.parts, &at.parts);
            lock.ended.iter_mut().zip(at.ended).for_each(|(any, one)| *any |= one);
            lock.cost_ns = usual(&lock.parts);
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

    fn waiter(thread: i64, start_ms: u64, place: u32, lock: u32) -> Waiter {
        Waiter { thread, start_ns: start_ms * MS, place, lock }
    }

    /// Each a wait in each part, of a fifth of the time.
    fn costs(waits: &[(&str, u32, u32, u64)], cpu_ms: u64, length_ms: u64) -> Costs {
        let mut costs = Costs::default();
        for part in 0..PARTS {
            let start_ms = length_ms * part as u64 / PARTS as u64;
            for (nth, &(name, number, lock, ms)) in waits.iter().enumerate() {
                let waiter = waiter(nth as i64, start_ms, number, lock);
                costs.look([(waiter, place(name))].into_iter(), (part, ms * MS / PARTS as u64));
            }
        }
        costs.look([].into_iter(), (PARTS - 1, 0));
        costs.look([].into_iter(), (PARTS - 1, 0));
        costs.end(&window(0, 0), &window(length_ms, cpu_ms));
        costs
    }

    fn window(ms: u64, cpu_ms: u64) -> Window {
        Window { mono_ns: ms * MS, cpu_ns: cpu_ms * MS }
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
        unknown.look([(waiter(9, 0, 0, 7), None)].into_iter(), (0, 60 * MS));
        assert!(names(&unknown, 5, &none).is_empty());
    }

    /// In a window of 1000 ms and as many looks, at each of which the threads wait since then.
    fn guilty_at(waits: impl Fn(u64) -> Vec<(i64, u64)>, cpu_ms: u64) -> Vec<String> {
        let mut costs = Costs::default();
        for now_ms in 0..1000 {
            let waiters = waits(now_ms)
                .into_iter()
                .map(|(thread, start_ms)| (waiter(thread, start_ms, 1, 1), place("a/Cache.one")));
            costs.look(waiters, (now_ms as usize / 200, MS));
        }
        costs.end(&window(0, 0), &window(1000, cpu_ms));
        names(&costs, 5, &BTreeSet::new())
    }

    #[test]
    fn what_is_over_at_once_is_not_guilty() {
        let until =
            |end_ms: u64| move |now_ms| if now_ms < end_ms { vec![(1, now_ms)] } else { vec![] };
        assert!(guilty_at(until(400), 0).is_empty());
        assert_eq!(guilty_at(until(700), 0), ["a.Cache.one"]);
        // Now and then, for 10 ms in each part.
        let often = |now_ms| if now_ms % 200 < 10 { vec![(1, now_ms)] } else { vec![] };
        assert_eq!(guilty_at(often, 900), ["a.Cache.one"]);
        assert!(guilty_at(often, 1000).is_empty());
    }

    #[test]
    fn what_is_not_given_back_is_not_guilty() {
        assert!(guilty_at(|_| vec![(1, 0), (2, 0)], 0).is_empty());
        // A deadlock, at any moment but the last ones.
        for stuck_ms in 0..590 {
            let waits = |now_ms: u64| vec![(1, now_ms.min(stuck_ms)), (2, now_ms.min(stuck_ms))];
            assert!(guilty_at(waits, 0).is_empty(), "at {stuck_ms} ms");
        }
        // A thread that is not seen once has not got it, but one that is not seen any more.
        let missed = |now_ms: u64| if now_ms % 100 == 7 { vec![] } else { vec![(1, 0)] };
        assert!(guilty_at(missed, 0).is_empty());
        let gone = |now_ms| if now_ms < 900 { vec![(1, 0)] } else { vec![] };
        assert_eq!(guilty_at(gone, 0), ["a.Cache.one"]);
    }

    /// Two hundred threads queue, and one of them gets the lock each 100 ms.
    #[test]
    fn a_long_queue_is_guilty() {
        let queue = |now_ms: u64| {
            let got = now_ms / 100;
            (got..got + 200).map(|thread| (thread as i64, 0)).collect()
        };
        assert_eq!(guilty_at(queue, 2000), ["a.Cache.one"]);
    }

    #[test]
    fn threads_that_are_stuck_do_not_hide_other_locks() {
        let mut costs = costs(&[("a/Cache.one", 1, 1, 60)], 1000, 1000);
        for part in 0..PARTS {
            let stuck = (waiter(9, 0, 2, 2), place("a/Other.stuck"));
            costs.look([stuck].into_iter(), (part, 200 * MS));
        }
        assert_eq!(names(&costs, 5, &BTreeSet::new()), ["a.Cache.one"]);
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
