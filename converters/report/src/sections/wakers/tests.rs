//! Who ends waits, of known logs.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    Report,
    testing::{Crafted, found},
    view::Part,
};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Kinds};

const TURN: (WaitKind, (&str, &str)) =
    (WaitKind::Lock, ("java.util.concurrent.locks.ReentrantLock", "Cache.turn"));
const ORDERS: (WaitKind, (&str, &str)) = (WaitKind::Condition, ("a.Orders$Condition", ""));
const GET: [&str; 3] =
    ["a.Main.run:5", "a.Cache.get:12", "java.util.concurrent.locks.ReentrantLock.lock:300"];
const PUT: [&str; 3] =
    ["a.Main.run:6", "a.Cache.put:30", "java.util.concurrent.locks.ReentrantLock.unlock:400"];
const TAKE: [&str; 1] = ["a.Orders.take:7"];

fn logs() -> [Recording; 1] {
    let mut log = Crafted::with(1_000_000, &[("mode", "contention"), ("wakers", "true")]);
    for (waiter, wait_ns, waker, stack) in [
        ("http-1", 700, "writer-1", &PUT[..]),
        ("http-2", 200, "writer-2", &PUT),
        ("http-2", 30, "writer-2", &[]),
    ] {
        log.wait(waiter, &GET, TURN, wait_ns, "");
        log.wake((waiter, &GET), TURN, wait_ns, (waker, stack));
    }
    log.wait("http-1", &GET, TURN, 70, "");
    log.wait("http-1", &TAKE, ORDERS, 5_000, "");
    log.wake(("http-1", &TAKE), ORDERS, 5_000, ("http-2", &GET[..2]));
    [log.finish("a.log")]
}

/// Waiter's place, wakers, their place, how often and how long.
fn pair(pair: &WakerPair) -> (&str, &str, Option<&str>, u64, u64) {
    let WakerPair { charged, wakers, waker, .. } = pair;
    (&charged.waiter, wakers, waker.as_deref(), charged.waits, charged.wait_ns)
}

fn pairs(found: &Wakers) -> Vec<(&str, &str, Option<&str>, u64, u64)> {
    found.code.iter().map(pair).collect()
}

#[test]
fn waits_are_told_by_who_ended_them() {
    let logs = logs();
    let filter = Filter::default();
    let found = wakers(&found(&logs, &filter), &ReportOptions::default());
    assert_eq!((found.waits, found.wait_ns), (4, 1_000));
    assert_eq!((found.known_waits, found.known_ns, found.pairs), (3, 930, 2));
    let (get, put) = ("a.Cache.get(Cache.java:12)", "a.Cache.put(Cache.java:30)");
    assert_eq!(
        pairs(&found),
        [(get, "writer-*", Some(put), 2, 900), (get, "writer-*", None, 1, 30)]
    );
    let (first, waker_stack) = (&found.code[0].charged, &found.code[0].waker_stack);
    assert_eq!((first.kind, first.lock.name.as_str()), ("lock", "Cache.turn"));
    assert_eq!(first.wait_share, 900.0 / 930.0);
    assert_eq!((first.waiter_stack.len(), waker_stack.len()), (3, 3));
    assert!(found.code[1].waker_stack.is_empty());
}

#[test]
fn filters_choose() {
    let logs = logs();
    let of = |filter: &Filter| wakers(&found(&logs, filter), &ReportOptions::default());
    let all = of(&Filter { kinds: Kinds::all(), ..Filter::default() });
    assert_eq!((all.waits, all.known_ns, all.pairs), (5, 5_930, 3));
    assert_eq!((all.code[0].wakers.as_str(), all.code[0].charged.kind), ("http-*", "condition"));
    assert_eq!(of(&Filter { min_wait_ns: 100, ..Filter::default() }).known_ns, 900);
    let thread = Some(regex::Regex::new("^writer-2").unwrap());
    assert_eq!(of(&Filter { thread, ..Filter::default() }).known_ns, 230);
}

#[test]
fn top_cuts_the_list_and_no_totals() {
    let logs = logs();
    let filter = Filter::default();
    let findings = found(&logs, &filter);
    let options = ReportOptions { top: 1, ..ReportOptions::default() };
    let answer = answer(&findings, &options);
    assert_eq!(answer.json["code"].as_array().unwrap().len(), 1);
    assert_eq!((&answer.json["pairs"], &answer.json["known_ns"]), (&2.into(), &930.into()));
    let left_out = answer.view.parts.iter().find_map(|part| match part {
        Part::Table(table) => Some(table.left_out),
        _ => None,
    });
    assert_eq!(left_out, Some(1));
}

/// Where nothing is known, nothing is said unless it is asked for.
#[test]
fn it_is_shown_where_wakers_are_known() {
    let shows = |logs: &[Recording]| {
        let filter = Filter::default();
        let findings = found(logs, &filter);
        let report = Report::new("1", &findings, &ReportOptions::default(), &[]);
        report.sections.iter().any(|shown| shown.section.name == "wakers")
    };
    assert!(shows(&logs()));
    let mut log = Crafted::new(1_000_000);
    log.wait("http-1", &GET, TURN, 700, "");
    let without = [log.finish("b.log")];
    assert!(!shows(&without));
    let filter = Filter::default();
    let asked = answer(&found(&without, &filter), &ReportOptions::default());
    assert!(asked.lacking.contains("wakers=true"));
    assert_eq!((&asked.json["known_ns"], asked.advises), (&0.into(), false));
}
