use super::*;
use crate::live::feed::ChangeSink;
use std::io::{Cursor, Write};
use tempfile::NamedTempFile;
use tyrion_formats::{
    Begin, Follower,
    write::{LogOptions, LogWriter, Wait},
};

/// A log with a lock of each class that was waited for once, for so long.
struct ClassWaits {
    follower: Follower,
    delta: Delta,
    number: FileNumber,
}

impl ClassWaits {
    fn new(number: FileNumber, locks: &[(&str, u64)]) -> ClassWaits {
        let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
        let thread = log.thread(1, "main", "main", 0).unwrap();
        let lane = log.lane(thread);
        for (name, wait_ns) in locks {
            let class = log.class(name, "A.java").unwrap();
            let method = log.method(class, "a", "()V", 1).unwrap();
            let stack = log.stack(0, method, 2).unwrap();
            let lock = log.lock(class).unwrap();
            let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
            let end_ns = 1_000_000_000;
            log.wait(lane, Wait { end_ns, wait_ns: *wait_ns, site, ..Wait::default() }).unwrap();
        }
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&log.finish().unwrap().into_inner()).unwrap();
        let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
        let mut delta = Delta::default();
        let changes = follower.read_on(0, |entry| delta.add(number, &entry)).unwrap();
        delta.add_changes(number, follower.recording(), &changes);
        ClassWaits { follower, delta, number }
    }

    fn add_to(&self, totals: &mut MetricTotals, is_all: bool) {
        totals.add(&self.delta, &[(self.number, self.follower.recording())], is_all);
    }
}

fn totals(max_locks: usize) -> MetricTotals {
    MetricTotals::new(Kinds::contention(), max_locks)
}

/// Waits and their time by label.
fn seen(totals: &MetricTotals) -> Vec<(String, u64, u64)> {
    let of = |(name, sums): (&str, &OfKinds)| {
        let all = sums.all();
        (name.to_owned(), all.waits, all.wait_ns)
    };
    totals.locks().map(of).collect()
}

fn expected(rows: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    rows.iter().map(|&(name, waits, ns)| (name.to_owned(), waits, ns)).collect()
}

#[test]
fn a_lock_that_comes_to_matter_gets_a_series_and_keeps_it() {
    let mut totals = totals(4);
    ClassWaits::new(0, &[("A", 500), ("B", 1000), ("C", 10)]).add_to(&mut totals, false);
    let first = [("B", 1, 1000), ("A", 1, 500), ("other", 1, 10)];
    assert_eq!(seen(&totals), expected(&first), "half of the series are kept");
    // It does not matter yet.
    ClassWaits::new(1, &[("C", 5), ("A", 1)]).add_to(&mut totals, false);
    assert_eq!(seen(&totals)[1..], expected(&[("A", 2, 501), ("other", 2, 15)]));
    // It does now: what it had before stays where it was counted.
    ClassWaits::new(2, &[("C", 9000)]).add_to(&mut totals, false);
    let third = [("B", 1, 1000), ("A", 2, 501), ("C", 1, 9000), ("other", 2, 15)];
    assert_eq!(seen(&totals), expected(&third));
    ClassWaits::new(3, &[("D", 90_000), ("E", 80_000)]).add_to(&mut totals, false);
    ClassWaits::new(4, &[("E", 900_000), ("C", 1)]).add_to(&mut totals, false);
    let last = [
        ("B", 1, 1000),
        ("A", 2, 501),
        ("C", 2, 9001),
        ("D", 1, 90_000),
        ("other", 4, 15 + 980_000),
    ];
    assert_eq!(seen(&totals), expected(&last), "there is no room for a fifth");
    assert!(totals.others_ns.is_empty());
}

#[test]
fn a_log_that_has_ended_fills_all_series() {
    let mut totals = totals(3);
    let step = ClassWaits::new(0, &[("A", 1), ("B", 2), ("C", 3), ("D", 1_000_000)]);
    step.add_to(&mut totals, true);
    let rows = [("D", 1, 1_000_000), ("C", 1, 3), ("B", 1, 2), ("other", 1, 1)];
    assert_eq!(seen(&totals), expected(&rows));
    let lock = |id| totals.label_of(step.follower.recording(), id);
    assert_eq!((lock(1), lock(4), lock(77)), (OTHER, "D", OTHER));
}

#[test]
fn locks_may_have_no_series_at_all() {
    let mut totals = totals(0);
    ClassWaits::new(0, &[("A", 1), ("B", 2)]).add_to(&mut totals, true);
    assert_eq!(seen(&totals), expected(&[("other", 2, 3)]));
}

#[test]
fn a_class_may_be_called_as_the_others_are() {
    let mut totals = totals(10);
    ClassWaits::new(0, &[("A", 1), ("other", 2)]).add_to(&mut totals, true);
    assert_eq!(seen(&totals), expected(&[("A", 1, 1), ("other", 1, 2)]));
}

#[test]
fn long_names_are_shortened_and_stay_different() {
    let mut totals = totals(10);
    let name = |end: &str| format!("com/acme/{}{end}", "x".repeat(500));
    ClassWaits::new(0, &[(&name("A"), 1), (&name("B"), 2)]).add_to(&mut totals, true);
    let names: Vec<String> = seen(&totals).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.chars().count() <= LONGEST_NAME), "{names:?}");
    assert_ne!(names[0], names[1]);
}

#[test]
fn kinds_that_are_not_wanted_are_not_counted() {
    let mut totals = MetricTotals::new(Kinds::parse("lock").unwrap(), 10);
    ClassWaits::new(0, &[("A", 1)]).add_to(&mut totals, true);
    assert_eq!(seen(&totals), expected(&[("other", 0, 0)]));
    assert_eq!(totals.kinds().collect::<Vec<_>>(), [WaitKind::Lock]);
}

/// Whatever comes: series do not shrink, there are no more than allowed, what is
/// remembered is bounded, and the sum is that of all.
#[test]
fn series_only_grow_and_are_bounded() {
    let (max_locks, mut totals) = (6, totals(6));
    let mut random = 88_172_645_463_325_252_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (mut before, mut waits, mut wait_ns) = (Vec::new(), 0, 0);
    for round in 0..30 {
        let names: Vec<String> = (0..40).map(|_| format!("Lock{}", next() % 2000)).collect();
        let mut locks: Vec<(&str, u64)> =
            names.iter().map(|name| (name.as_str(), next() % 1000 + 1)).collect();
        locks.sort_unstable();
        locks.dedup_by_key(|(name, _)| *name);
        waits += locks.len() as u64;
        wait_ns += locks.iter().map(|(_, ns)| ns).sum::<u64>();
        ClassWaits::new(round, &locks).add_to(&mut totals, false);
        let now = seen(&totals);
        assert!(now.len() <= max_locks + 1 && totals.others_ns.len() <= max_locks * REMEMBERED);
        for (name, waits, ns) in &before {
            let (_, more, more_ns) = now.iter().find(|(other, ..)| other == name).unwrap();
            assert!(more >= waits && more_ns >= ns, "{name}");
        }
        assert_eq!((totals.all().waits, totals.all().wait_ns), (waits, wait_ns));
        before = now;
    }
    let histogram = totals.durations().find(|(kind, _)| *kind == WaitKind::Monitor).unwrap().1;
    assert_eq!((histogram.waits.iter().sum::<u64>(), histogram.wait_ns), (waits, wait_ns));
}
