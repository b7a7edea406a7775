//! What is said of waits that are not for a lock.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    render::text::{self, Style},
    sections::{
        overview::Overview,
        scenario::{Scenario, with},
    },
};
use regex::Regex;
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::aggregate,
    filter::{Filter, Kinds},
};

const MS: u64 = 1_000_000;

/// Three workers take turns with what a pool has one of, 60 waits of 2 ms; a
/// reader waits in its loop, 10 waits of 5 ms; and one waits 1 ms for a monitor.
fn logs() -> [Recording; 1] {
    let mut it = Scenario::ended(&[], 1_100_000_000);
    let wait = ("java/lang/Object.wait", 300);
    let borrow = it.stack(&[wait, ("a/Pool.borrow", 42), ("a/Worker.run", 20)]);
    let read = it.stack(&[wait, ("a/Inbox.next", 7), ("a/Reader.run", 8)]);
    let enter = it.stack(&[("a/Worker.run", 25)]);
    let pool = it.lock("a/Pool", "", 0);
    let inbox = it.lock("a/Inbox", "", 0);
    let monitor = it.lock("java/lang/Object", "Worker.count", 0);
    let workers = ["worker-1", "worker-2", "worker-3"].map(|name| it.thread(name));
    let reader = it.thread("reader");
    for turn in 0..20 {
        for (nth, &worker) in (0..).zip(&workers) {
            let from = (3 * turn + nth) * MS;
            it.waits(worker, (WaitKind::ObjectWait, borrow, pool), (from, from + 2 * MS));
        }
    }
    for turn in 0..10 {
        let from = 9 * turn * MS;
        it.waits(reader, (WaitKind::ObjectWait, read, inbox), (from, from + 5 * MS));
    }
    it.waits(workers[0], (WaitKind::Monitor, enter, monitor), (90 * MS, 91 * MS));
    [it.log("a.log")]
}

fn all() -> ReportOptions {
    ReportOptions { top: 0, ..ReportOptions::default() }
}

fn found(filter: &Filter) -> (WithheldWaits, Overview) {
    with(&logs(), filter, |findings| (WithheldWaits::of(findings, &all()), Overview::of(findings)))
}

#[test]
fn each_place_is_told_with_its_reason() {
    let (found, overview) = found(&Filter::default());
    assert_eq!((found.waits, found.wait_ns), (60, 120 * MS));
    assert_eq!((found.idle_waits, found.idle_wait_ns), (10, 50 * MS));
    assert_eq!((found.unclear_waits, found.unclear_wait_ns), (0, 0));
    let [place] = &found.places[..] else { panic!("{found:?}") };
    assert_eq!(place.place, "a.Pool.borrow(Pool.java:42)");
    assert_eq!((&*place.calls, &*place.root), ("java.lang.Object.wait", "a.Worker.run"));
    assert_eq!((place.verdict, place.why), ("withheld", "one-another"));
    assert_eq!((place.waits, place.wait_ns, place.max_wait_ns), (60, 120 * MS, 2 * MS));
    assert_eq!((place.threads, &place.kinds[..]), (3, &["object-wait"][..]));
    let group = WaitingGroup { threads: "worker-*".to_owned(), waits: 60, wait_ns: 120 * MS };
    assert_eq!(place.groups, [group]);
    let [object] = &place.objects[..] else { panic!("{place:?}") };
    assert_eq!((object.lock.label(), object.waits), ("a.Pool".to_owned(), 60));
    let hottest = place.hottest.as_ref().unwrap();
    assert_eq!((hottest.wait_share, hottest.stack.len()), (1.0, 3));
    let evidence = &place.evidence;
    assert_eq!((evidence.ended, evidence.waiters, evidence.elsewhere), (60, 3, 1));
    assert_eq!((evidence.most_at_once, evidence.of_threads, evidence.all_share), (2, 3, 0.0));
    let [other] = &found.others[..] else { panic!("{found:?}") };
    assert_eq!((other.verdict, other.why), ("idle", "loop"));
    // The overview counts it apart.
    assert_eq!(overview.contended, 1);
    assert_eq!((overview.withheld.waits, overview.withheld.wait_ns), (60, 120 * MS));
    assert_eq!(overview.withheld.most_in, place.place);
    let lived_ns = overview.threads.lived_ns as f64;
    assert_eq!(overview.lost_share, MS as f64 / lived_ns);
    assert_eq!(overview.withheld_share, (120 * MS) as f64 / lived_ns);
    assert_eq!(found.lost_share, overview.withheld_share);
    assert_eq!(overview.threads.idle_ns, 170 * MS, "of the idle kinds");
}

/// What is judged does not depend on the filter, what is counted does.
#[test]
fn the_filter_chooses_among_the_waits() {
    let one = Filter { thread: Some(Regex::new("worker-2").unwrap()), ..Filter::default() };
    let (found_of_one, overview) = found(&one);
    assert_eq!((found_of_one.waits, found_of_one.wait_ns), (20, 40 * MS));
    assert_eq!(found_of_one.places[0].evidence.waiters, 3);
    assert_eq!((overview.withheld.waits, overview.phases[0].withheld_ns), (20, 40 * MS));
    let other = Filter { lock: Some(Regex::new("Inbox").unwrap()), ..Filter::default() };
    let (found_of_other, overview) = found(&other);
    assert_eq!((found_of_other.waits, found_of_other.idle_waits), (0, 10));
    assert_eq!((overview.withheld_share, overview.withheld.most_in.as_str()), (0.0, ""));
    let long = Filter { min_wait_ns: 3 * MS, ..Filter::default() };
    let (found_of_long, overview) = found(&long);
    assert_eq!((found_of_long.waits, found_of_long.idle_waits), (0, 10));
    assert_eq!(overview.withheld_share, 0.0);
}

/// Whoever asks for them gets them in all sections, and in the profile.
#[test]
fn they_are_a_kind_of_their_own() {
    let (logs, withheld) = (logs(), Filter { kinds: Kinds::withheld(), ..Filter::default() });
    let profile = aggregate(&logs, &withheld, &|_| {}).profile;
    assert_eq!(profile.totals(), (60, 120 * MS));
    let (found_of_them, overview) = found(&withheld);
    assert_eq!((found_of_them.waits, found_of_them.wait_ns), profile.totals());
    let kinds: Vec<_> = overview.kinds.iter().map(|kind| (kind.kind, kind.count)).collect();
    assert_eq!(kinds, [("object-wait", 60), ("condition", 0), ("park", 0)]);
    let contended = |filter: &Filter| {
        with(&logs, filter, |findings| {
            crate::sections::contended::Contended::of(findings, &all()).totals.contended
        })
    };
    assert_eq!(contended(&withheld), 60);
    let both = Filter { kinds: Kinds::parse("contention,withheld").unwrap(), ..withheld };
    assert_eq!(contended(&both), 61);
    assert_eq!(contended(&Filter { kinds: Kinds::all(), ..both }), 1, "those for locks");
}

#[test]
fn the_text_says_what_is_counted_and_why() {
    let text = with(&logs(), &Filter::default(), |findings| {
        let answer = (SECTION.answer)(findings, &all());
        assert!(answer.advises);
        text::view(&answer.view, &Style::default())
    });
    for line in [
        "60 waits, not for locks, kept threads from work for 120 ms in all.",
        "    counted: of 3 threads that wait here at most 2 did at once: they waited for one another",
        "    threads worker-*",
        "    for a.Pool",
        "Not counted",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.lines().any(|line| line.starts_with("a.Pool.borrow(Pool.java:42)")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("a.Inbox.next") && line.contains("loop")));
}

/// Three workers take turns with what a pool has one of, each woken by who gives it back;
/// the first ones without a stack. A reader's waits nobody is known to have ended.
fn woken(metadata: &[(&str, &str)]) -> [Recording; 1] {
    let mut it = Scenario::ended(metadata, 1_100_000_000);
    let wait = ("java/lang/Object.wait", 300);
    let borrow = it.stack(&[wait, ("a/Pool.borrow", 42), ("a/Worker.run", 20)]);
    let give = it.stack(&[("a/Pool.giveBack", 60), ("a/Worker.run", 30)]);
    let pool = it.lock("a/Pool", "", 0);
    let workers = ["worker-1", "worker-2", "worker-3"].map(|name| it.thread(name));
    for turn in 0..20 {
        for (nth, &worker) in (0..).zip(&workers) {
            let from = (3 * turn + nth) * MS;
            let waker = workers[(nth as usize + 2) % 3];
            let waking = if turn == 0 { 0 } else { give };
            let waits = (WaitKind::ObjectWait, borrow, pool);
            it.woken(worker, waits, (from, from + 2 * MS), (waker, waking));
        }
    }
    [it.log("a.log")]
}

#[test]
fn who_ended_the_waits_is_told() {
    let logs = woken(&[("wakers", "true")]);
    with(&logs, &Filter::default(), |findings| {
        let found = WithheldWaits::of(findings, &all());
        let place = &found.places[0];
        assert_eq!((place.woken, place.woken_ns), (60, 120 * MS));
        let told = |by: &WokenBy| (by.threads.clone(), by.at.clone(), by.waits, by.stack.len());
        let group = || "worker-*".to_owned();
        let at = Some("a.Pool.giveBack(Pool.java:60)".to_owned());
        let told: Vec<_> = place.wakers.iter().map(told).collect();
        assert_eq!(told, [(group(), at, 57, 2), (group(), None, 3, 0)]);
        assert_eq!(place.wakers[0].wait_share, 57.0 / 60.0);
        let answer = (SECTION.answer)(findings, &all());
        assert_eq!(answer.lacking, "");
        let text = text::view(&answer.view, &Style::default());
        let line = "    woken by worker-* in a.Pool.giveBack, 95.0 % of the wait\n";
        assert!(text.contains(line), "{text}");
        let one = ReportOptions { top: 1, ..ReportOptions::default() };
        let cut = WithheldWaits::of(findings, &one);
        assert_eq!((cut.places[0].wakers.len(), cut.places[0].woken), (1, 60));
    });
    let filter = Filter { thread: Some(Regex::new("worker-2").unwrap()), ..Filter::default() };
    let of_one = with(&logs, &filter, |findings| WithheldWaits::of(findings, &all()));
    assert_eq!((of_one.places[0].waits, of_one.places[0].woken), (20, 20), "who waits");
}

/// What it takes to know who ended waits.
#[test]
fn what_is_lacking_is_said() {
    let lacking = |logs: &[Recording]| {
        with(logs, &Filter::default(), |findings| (SECTION.answer)(findings, &all()).lacking)
    };
    assert!(lacking(&logs()).contains("wakers=true"));
    let mut it = Scenario::new(&[("mode", "contention"), ("wakers", "true")]);
    let put = it.stack(&[("java/util/concurrent/Queue.put", 3), ("a/Worker.run", 20)]);
    let (worker, queue) = (it.thread("worker-1"), it.lock("a/Queue", "", 0));
    it.waits(worker, (WaitKind::ObjectWait, put, queue), (0, MS));
    assert!(lacking(&[it.log("a.log")]).contains("--mode trace"));
}

#[test]
fn without_such_waits_it_says_so() {
    let mut it = Scenario::ended(&[], 1_100_000_000);
    let (thread, stack) = (it.thread("a"), it.stack(&[("a/Worker.run", 25)]));
    let lock = it.lock("a/Lock", "", 0);
    it.waits(thread, (WaitKind::Monitor, stack, lock), (MS, 2 * MS));
    with(&[it.log("a.log")], &Filter::default(), |findings| {
        let answer = (SECTION.answer)(findings, &all());
        let text = text::view(&answer.view, &Style::default());
        assert!(!answer.advises && text.starts_with("No thread is known"), "{text}");
        assert_eq!(Overview::of(findings).withheld, Default::default());
    });
}
