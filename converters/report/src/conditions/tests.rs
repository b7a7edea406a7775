//! Conditions are understood, and hold where they do.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use proptest::prelude::*;

fn lock(name: &str, waits: u64, wait_ns: u64, p99_wait_ns: u64) -> LockFigures {
    LockFigures {
        lock: LockRef { name: name.to_owned(), class: "a.Foo".to_owned(), id: 0 },
        waits,
        wait_ns,
        max_wait_ns: 2 * p99_wait_ns,
        p99_wait_ns: Some(p99_wait_ns),
        ..LockFigures::default()
    }
}

fn figures() -> Figures {
    Figures {
        lost_share: Some(0.15),
        withheld_share: Some(0.25),
        recorded_ns: 2_000_000_000,
        waits: 110,
        wait_ns: 1_200_000_000,
        deadlocks: Some(0),
        locks: vec![
            lock("Cache.a", 100, 1_000_000_000, 6_000_000),
            lock("Cache.b", 10, 200_000_000, 9_000_000),
        ],
        ..Figures::default()
    }
}

/// What is said about a condition and one recording.
fn told(text: &str) -> String {
    text.parse::<Condition>().and_then(|condition| condition.check(&figures(), None)).map_or_else(
        |error| format!("error: {error}"),
        |held| held.map_or_else(|| "does not hold".to_owned(), |held| held.to_string()),
    )
}

#[test]
fn no_condition_is_met_by_what_is_not_known() {
    let counts = Figures { lacks_durations: true, ..figures() };
    for metric in METRICS.iter().filter(|metric| metric.name.contains("wait")) {
        let value = if metric.unit == Unit::Ns { "1ms" } else { "1" };
        let condition: Condition = format!("{} > {value}", metric.name).parse().unwrap();
        let said = condition.check(&counts, None);
        // Threads that wait are counted in dumps alone.
        let is_of_dumps = metric.name.ends_with("_waiters");
        let is_unknown = metric.unit == Unit::Ns || is_of_dumps;
        assert_eq!(said.is_err(), is_unknown, "{}: {said:?}", metric.name);
    }
    let condition: Condition = "contentions > 100".parse().unwrap();
    assert!(condition.check(&counts, None).unwrap().is_some());
}

#[test]
fn conditions_hold_or_not() {
    for (text, expected) in [
        ("p99_wait_ns > 5ms", "p99_wait_ns > 5ms: 9 ms at Cache.b (a.Foo), and 1 more lock"),
        ("p99_wait_ns>8000000", "p99_wait_ns > 8000000: 9 ms at Cache.b (a.Foo)"),
        ("  p99_wait_ns  >=  9ms ", "p99_wait_ns >= 9ms: 9 ms at Cache.b (a.Foo)"),
        ("p99_wait_ns > 9ms", "does not hold"),
        ("p99_wait_ns < 8ms", "p99_wait_ns < 8ms: 6 ms at Cache.a (a.Foo)"),
        ("mean_wait_ns == 10ms", "mean_wait_ns == 10ms: 10 ms at Cache.a (a.Foo)"),
        ("max_wait_ns<=12ms", "max_wait_ns <= 12ms: 12 ms at Cache.a (a.Foo)"),
        ("wait_ns > 1s200ms", "does not hold"),
        ("wait_ns > 1.1s", "wait_ns > 1.1s: 1.2 s"),
        ("wait_per_second_ns > 0.5s", "wait_per_second_ns > 0.5s: 600 ms"),
        ("wait_share > 10%", "wait_share > 10%: 15.0 %"),
        ("wait_share >= 0.15", "wait_share >= 0.15: 15.0 %"),
        ("wait_share > 15 %", "does not hold"),
        ("withheld_share > 20%", "withheld_share > 20%: 25.0 %"),
        ("contentions > 100", "contentions > 100: 110"),
        ("contentions_per_second > 54.5", "contentions_per_second > 54.5: 55"),
        ("deadlocks > 0", "does not hold"),
        ("dropped > 0", "does not hold"),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_condition_is_refused() {
    for (text, expected) in [
        ("", "`` is not a condition; write METRIC OP VALUE"),
        ("p99_wait_ns", "`p99_wait_ns` is not a condition"),
        ("p99_wait_ns 5ms", "is not a condition"),
        ("p99_wait_ns = 5ms", "is not a condition"),
        ("p99_wait_ns => 5ms", "is not a condition"),
        ("p99_wait_ns > ", "is not a condition"),
        ("p99_wait_ns > 5ms 3", "is not a condition"),
        ("p99_wait_ns > five", "is not a condition"),
        ("p99_wait_ns > > 5", "is not a condition"),
        ("p99_wait_ns > +-5ms", "is not a condition"),
        (
            "p98_wait_ns > 5ms",
            "`p98_wait_ns` is not a metric; metrics are p50_wait_ns, p99_wait_ns,",
        ),
        ("p99_wait_ns > 10%", "p99_wait_ns is a duration; write 5ms"),
        ("wait_share > 5ms", "wait_share is a share; write 10% or 0.1"),
        ("contentions > 5ms", "contentions is a number"),
        ("wait_ns > +10%", "is a change between two recordings"),
        ("miss_share > 10%", "needs a log of tyrion record --mode trace"),
        ("lock_miss_share > 10%", "needs a log of tyrion record --mode trace"),
    ] {
        let said = told(text);
        assert!(said.starts_with("error: ") && said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn what_is_not_known_is_no_success() {
    let condition: Condition = "wait_share > 10%".parse().unwrap();
    let error = condition.check(&Figures::default(), None).unwrap_err().to_string();
    assert!(error.contains("wait_share is not in these logs"), "{error}");
    let condition: Condition = "p99_wait_ns > 1".parse().unwrap();
    assert_eq!(condition.check(&Figures::default(), None), Ok(None), "no lock, no wait");
}

#[test]
fn what_is_known_of_no_lock_is_no_success() {
    // With --since there are no acquisitions, so no lock has any.
    let since = Figures { is_trace: true, ..figures() };
    for text in ["lock_miss_share > 0", "mean_hold_ns > 0", "hold_share < +5%", "miss_share > 0"] {
        let condition: Condition = text.parse().unwrap();
        let error = condition.check(&since, Some(&since)).unwrap_err().to_string();
        assert!(error.contains("leave out --since, --until and --min-wait"), "{text}: {error}");
    }
    // Of --hold none.
    let unmeasured = Figures { acquisitions: Some(1_000), ..since };
    let condition: Condition = "max_hold_ns > 0".parse().unwrap();
    let error = condition.check(&unmeasured, None).unwrap_err().to_string();
    assert!(error.contains("is not known for any lock"), "{error}");
}

#[test]
fn the_unknown_is_not_nothing() {
    let traced = Figures { is_trace: true, acquisitions: Some(1_000), ..figures() };
    let (mut before, mut after) = (traced.clone(), traced);
    after.locks.push(lock("Cache.new", 1, 1, 1));
    for lock in &mut after.locks {
        (lock.max_hold_ns, lock.acquisitions) = (Some(5_000), Some(10));
    }
    before.locks[1].max_hold_ns = Some(4_000);
    let check = |text: &str| {
        let condition: Condition = text.parse().unwrap();
        let held = condition.check(&after, Some(&before)).unwrap();
        held.map_or_else(String::new, |held| held.to_string())
    };
    let held = "max_hold_ns > +10%: 5 µs from 4 µs (+25.0 %) at Cache.b (a.Foo)";
    assert_eq!(check("max_hold_ns > +10%"), held, "nor is the hold of a lock nobody waited for");
    let held = "lock_miss_share > +1%: 10.0 % from nothing at Cache.new (a.Foo)";
    assert_eq!(check("lock_miss_share > +1%"), held);
}

#[test]
fn a_little_is_not_nothing() {
    let mut figures = Figures { is_trace: true, acquisitions: Some(1_000_000), ..figures() };
    figures.waits = 1;
    let condition: Condition = "miss_share > 0".parse().unwrap();
    let held = condition.check(&figures, None).unwrap().unwrap();
    assert_eq!(held.to_string(), "miss_share > 0: <0.1 %");
}

/// What is said about a condition when locks change from `figures()` to these.
fn changed(text: &str, after: &Figures) -> String {
    let condition: Condition = text.parse().unwrap();
    assert!(condition.is_change());
    let held = condition.check(after, Some(&figures())).unwrap();
    held.map_or_else(|| "does not hold".to_owned(), |held| held.to_string())
}

#[test]
fn changes_are_those_of_the_same_lock() {
    let mut after = figures();
    after.wait_ns = 1_500_000_000;
    after.locks = vec![
        lock("Cache.b", 10, 100_000_000, 3_000_000),
        lock("Cache.c", 10, 300_000_000, 30_000_000),
    ];
    for (text, expected) in [
        ("wait_ns > +20%", "wait_ns > +20%: 1.5 s from 1.2 s (+25.0 %)"),
        ("wait_ns > +25%", "does not hold"),
        ("wait_ns >= +300ms", "wait_ns >= +300ms: 1.5 s from 1.2 s (+25.0 %)"),
        ("p99_wait_ns > +10%", "p99_wait_ns > +10%: 30 ms from nothing at Cache.c (a.Foo)"),
        (
            "p99_wait_ns < -50%",
            "p99_wait_ns < -50%: 0 ns from 6 ms (-100.0 %) at Cache.a (a.Foo), and 1 more lock",
        ),
        (
            "p99_wait_ns <= -6ms",
            "p99_wait_ns <= -6ms: 3 ms from 9 ms (-66.7 %) at Cache.b (a.Foo), and 1 more lock",
        ),
        ("contentions > +0%", "does not hold"),
        ("contentions >= +0", "contentions >= +0: 110 from 110 (+0.0 %)"),
    ] {
        assert_eq!(changed(text, &after), expected, "{text}");
    }
}

#[test]
fn traces_tell_more() {
    let mut figures = Figures { is_trace: true, acquisitions: Some(1_000), ..figures() };
    figures.lock_order_cycles = Some(2);
    figures.locks[0].acquisitions = Some(200);
    figures.locks[0].hold_ns = Some(1_500_000_000);
    figures.locks[0].hold_share = Some(0.75);
    for (text, expected) in [
        ("miss_share > 10%", "miss_share > 10%: 11.0 %"),
        ("lock_miss_share > 10%", "lock_miss_share > 10%: 50.0 % at Cache.a (a.Foo)"),
        ("mean_hold_ns > 1ms", "mean_hold_ns > 1ms: 7.5 ms at Cache.a (a.Foo)"),
        ("hold_share > 70%", "hold_share > 70%: 75.0 % at Cache.a (a.Foo)"),
        ("lock_order_cycles > 0", "lock_order_cycles > 0: 2"),
    ] {
        let condition: Condition = text.parse().unwrap();
        let held = condition.check(&figures, None).unwrap().unwrap();
        assert_eq!(held.to_string(), expected, "{text}");
    }
    let cycles: Condition = "lock_order_cycles > 0".parse().unwrap();
    assert!(cycles.needs_orders());
}

#[test]
fn metrics_are_named_once_and_say_what_they_count() {
    for (at, metric) in METRICS.iter().enumerate() {
        assert!(METRICS[..at].iter().all(|other| other.name != metric.name), "{}", metric.name);
        assert_eq!(metric.name.ends_with("_ns"), metric.unit == Unit::Ns, "{}", metric.name);
        assert_eq!(metric.name.ends_with("_share"), metric.unit == Unit::Share, "{}", metric.name);
        assert!(metric.about.len() < 60, "{}", metric.name);
    }
}

proptest! {
    #[test]
    fn any_text_is_understood_or_refused(text in "\\PC{0,40}") {
        let _ = text.parse::<Condition>();
    }

    #[test]
    fn conditions_are_read_as_they_are_told(
        metric in 0..METRICS.len(),
        op in 0..Op::ALL.len(),
        sign in prop::option::of("[+-]"),
        number in 0u32..1_000_000,
        unit in 0usize..4,
        spaces in "[ \t]{0,3}",
    ) {
        let (metric, op) = (&METRICS[metric], Op::ALL[op]);
        let unit = match (metric.unit, unit) {
            (_, 0) => "",
            (Unit::Ns, at) => ["us", "ms", "s"][at - 1],
            (Unit::Share, _) => "%",
            (Unit::Count, _) => "",
        };
        let value = format!("{}{number}{unit}", sign.unwrap_or_default());
        let text = format!("{spaces}{}{spaces}{}{spaces}{value}{spaces}", metric.name, op.sign());
        let condition: Condition = text.parse().unwrap();
        prop_assert_eq!(condition.to_string(), format!("{} {} {value}", metric.name, op.sign()));
        let again: Condition = condition.to_string().parse().unwrap();
        prop_assert_eq!(again.limit, condition.limit);
        prop_assert_eq!(condition.is_change(), value.starts_with(['+', '-']));
    }

    #[test]
    fn what_holds_is_what_is_measured(p99s in prop::collection::vec(0u64..100, 0..20), limit in 0u64..100) {
        let locks: Vec<LockFigures> =
            (0..).zip(&p99s).map(|(at, &p99)| lock(&format!("l{at}"), 1, p99, p99)).collect();
        let figures = Figures { locks, ..Figures::default() };
        let condition: Condition = format!("p99_wait_ns > {limit}ns").parse().unwrap();
        let held = condition.check(&figures, None).unwrap();
        let above = p99s.iter().filter(|&&p99| p99 > limit).count();
        prop_assert_eq!(held.as_ref().map_or(0, |held| held.more + 1), above);
        if let Some(held) = held {
            let worst = p99s.iter().max().unwrap();
            prop_assert_eq!(held.measured, format!("{worst} ns"));
        }
    }
}

#[test]
fn metrics_are_documented() {
    let document = include_str!("../../../../docs/diff.md");
    for metric in METRICS {
        let of = if metric.is_of_locks() { "a lock" } else { "all" };
        let trace = if metric.needs_trace { "; trace mode" } else { "" };
        let row = format!("| `{}` | {of} | {}{trace} |\n", metric.name, metric.about);
        assert!(document.contains(&row), "docs/diff.md lacks: {row}");
    }
}
