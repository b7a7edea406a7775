//! Waits that a filter takes or leaves, folded ones too.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;

#[test]
fn threads_and_locks_are_filtered_by_what_people_see() {
    let mut sample = Sample::new();
    sample.log.rename(1, "late name", 5).unwrap();
    sample.wait(0, 0, 1);
    sample.wait(1, 1, 2);
    sample.wait(2, 0, 4);
    sample.cell(2, 0, START_NS, &[8]);
    let logs = [sample.finish()];
    let total = |thread: Option<&str>, lock: Option<&str>| {
        let regex = |text: &str| Regex::new(text).unwrap();
        let filter = Filter { thread: thread.map(regex), lock: lock.map(regex), ..all() };
        run(&logs, &filter).profile.totals().1
    };
    assert_eq!(total(None, None), 15);
    assert_eq!(total(Some("^late name$"), None), 1);
    assert_eq!(total(Some("^main$"), None), 0);
    assert_eq!(total(Some("teller-"), None), 14);
    assert_eq!(total(None, Some("Bank")), 13);
    assert_eq!(total(None, Some("^com.acme.Bank$")), 13);
    assert_eq!(total(None, Some("^com.acme.Bank#1$")), 13);
    assert_eq!(total(None, Some(r"^int\[\]#2$")), 2);
    assert_eq!(total(Some("teller"), Some("Bank")), 12);
    assert_eq!(total(None, Some("#3")), 0);
}

#[test]
fn spans_take_waits_by_their_end_and_add_up() {
    let mut sample = Sample::new();
    for wait_ns in 1..=10 {
        sample.wait(0, 0, wait_ns);
    }
    let logs = [sample.finish()];
    let total = |since: Option<&str>, until: Option<&str>| {
        let parse = |text| moment(text).unwrap();
        let filter = Filter { since: since.map(parse), until: until.map(parse), ..all() };
        run(&logs, &filter).profile.totals()
    };
    assert_eq!(total(None, None), (10, 55));
    // The n-th wait ended n µs after the start.
    assert_eq!(total(None, Some("4us")), (3, 6));
    assert_eq!(total(Some("4us"), None), (7, 49));
    assert_eq!(total(Some("4us"), Some("6us")), (2, 9));
    assert_eq!(total(Some("-2us"), None), (3, 27), "8, 9 and 10 µs");
    let second = "2023-11-14T22:13:20";
    assert_eq!(total(Some(second), None), (10, 55));
    assert_eq!(total(Some(&format!("{second}.000004Z")), None), (7, 49));
    assert_eq!(total(None, Some("2023-11-14T22:13:19Z")), (0, 0));
}

#[test]
fn folded_waits_count_as_recorded_ones_do() {
    let mut sample = Sample::new();
    sample.wait(0, 0, 50_000);
    sample.cell(1, 0, START_NS, &[100, 200]);
    sample.cell(1, 0, START_NS + 60_000_000_000, &[300]);
    sample.cell(1, 3, START_NS, &[7]);
    let out = run(&[sample.finish()], &all());
    assert_eq!(out.profile.waits.len(), 2);
    let monitor = out.kind(WaitKind::Monitor);
    assert_eq!((monitor.recorded, monitor.recorded_ns), (1, 50_000));
    assert_eq!((monitor.folded, monitor.folded_ns), (3, 600));
    assert_eq!((out.events, out.folded), (1, 4));
    assert_eq!(out.profile.waits[0].max_ns, 50_000);
}

#[test]
fn spans_take_folded_waits_by_the_middle_of_their_cell() {
    let mut sample = Sample::new();
    // Their middles are 5 s, 65 s and 125 s after the start.
    for (nth, wait_ns) in [(0, 1), (1, 2), (2, 4)] {
        sample.cell(1, 0, START_NS + nth * 60_000_000_000, &[wait_ns]);
    }
    let logs = [sample.finish()];
    let span = |since: &str, until: &str| {
        let since = Some(moment(since).unwrap());
        let until = Some(moment(until).unwrap());
        let out = run(&logs, &Filter { since, until, ..all() });
        (out.profile.totals().1, out.notes.straddling.count, out.notes.resolution_ns)
    };
    assert_eq!(span("0", "200s"), (7, 0, 0));
    assert_eq!(span("20s", "100s"), (2, 0, 0));
    assert_eq!(span("4s", "100s"), (3, 1, 10_000_000_000));
    assert_eq!(span("6s", "66s"), (2, 2, 10_000_000_000));
}

#[test]
fn long_folded_waits_are_taken_exactly_or_estimated_within_bounds() {
    let waits = [1_000, 3_000, 3_500, 9_000];
    let mut sample = Sample::new();
    sample.cell(1, 0, START_NS, &waits);
    let logs = [sample.finish()];
    let long = |min: &str| {
        let out = run(&logs, &Filter { min_wait_ns: duration_ns(min).unwrap(), ..all() });
        (out.profile.totals(), out.notes.estimated.count)
    };
    assert_eq!(long("0"), ((4, 16_500), 0));
    assert_eq!(long("512ns"), ((4, 16_500), 0), "all are in higher buckets");
    assert_eq!(long("9001ns"), ((0, 0), 0), "the longest is shorter");
    let ((count, ns), estimated) = long("2048ns");
    assert_eq!((count, estimated), (3, 3), "whole buckets are counted exactly");
    assert!((11_096..=16_500).contains(&ns), "{ns}");
    let ((count, ns), _) = long("3us");
    assert!((1..=3).contains(&count) && (9_000..=16_500).contains(&ns), "{count} {ns}");
    assert_eq!(long("9us").0.0, 1);
}

/// Waits of collapsed stacks as `ns` or `samples`: 10 of thread `a`, 300 of `b`.
fn stacks(unit: Unit) -> Recording {
    let lines = b"[a];A.run;[monitor] L 10\n[b];A.run;[monitor] L 300\n".to_vec();
    let hints = Hints { unit: Some(unit), ..Hints::default() };
    Recording::from_reader_as("a.folded", Cursor::new(lines), &hints).unwrap()
}

#[test]
fn what_a_log_does_not_tell_is_not_asked_of_it() {
    let logs = [stacks(Unit::Samples)];
    let since = Filter { since: Some(moment("1s").unwrap()), ..all() };
    let until = Filter { until: Some(moment("2020-01-01T00:00:00Z").unwrap()), ..all() };
    let long = Filter { min_wait_ns: 1, ..all() };
    for filter in [&since, &until, &long] {
        let out = run(&logs, filter);
        assert_eq!(out.profile.totals(), (310, 0), "{filter:?}");
        assert_eq!(out.notes.straddling, Lost::default());
    }
    let is_told = |filter| run(&logs, filter).notes.lines().join("\n").contains("--min-wait does");
    assert!(is_told(&long) && !is_told(&since));
}

#[test]
fn waits_known_as_a_sum_count_as_their_average() {
    let logs = [stacks(Unit::Ns)];
    let long = |min_wait_ns| {
        let out = run(&logs, &Filter { min_wait_ns, ..all() });
        assert_eq!(out.notes.estimated, Lost::default());
        out.profile.totals()
    };
    assert_eq!([10, 11, 300, 301].map(long), [(2, 310), (1, 300), (1, 300), (0, 0)]);
}

proptest! {
    #[test]
    fn estimates_stay_within_what_is_possible(
        waits in vec(0u64..1 << 42, 1..30), min_ns in 1u64..1 << 42
    ) {
        let mut sample = Sample::new();
        sample.cell(1, 0, START_NS, &waits);
        let out = run(&[sample.finish()], &Filter { min_wait_ns: min_ns, ..all() });
        let (count, ns) = out.profile.totals();
        let longest = waits.iter().copied().max().unwrap_or(0);
        prop_assert_eq!(count == 0, longest < min_ns);
        prop_assert!(count <= waits.len() as u64 && ns <= waits.iter().sum());
        prop_assert!(count == 0 || ns >= longest);
    }
}
