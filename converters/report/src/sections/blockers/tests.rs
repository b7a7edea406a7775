//! Who blocks whom, of known logs.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    render::text,
    sections::contended,
    testing::{Crafted, found},
};
use tyrion_formats::{Hints, Recording, Unit};
use tyrion_model::filter::Filter;

const CACHE: (WaitKind, (&str, &str)) = (WaitKind::Monitor, ("java.lang.Object", "Cache.map"));
const TURN: (WaitKind, (&str, &str)) =
    (WaitKind::Lock, ("java.util.concurrent.locks.ReentrantLock", "Cache.turn"));
const GET: [&str; 2] = ["a.Main.run:5", "a.Cache.get:12"];
const PUT: [&str; 2] = ["a.Main.run:6", "a.Cache.put:30"];
const PARKED: [&str; 4] = [
    "a.Main.run:6",
    "a.Cache.put:30",
    "java.util.concurrent.locks.ReentrantLock.lock:300",
    "java.util.concurrent.locks.LockSupport.park:100",
];

fn traced() -> [Recording; 1] {
    let mut log = Crafted::traced(1_000_000);
    log.wait("http-1", &GET, CACHE, 700, "");
    log.wait("http-2", &GET, CACHE, 200, "");
    log.wait("http-2", &PARKED, TURN, 100, "writer");
    log.charge(("writer", &PUT), ("http-1", &GET), CACHE, 600);
    log.charge(("http-2", &GET), ("http-1", &GET), CACHE, 90);
    log.charge(("writer", &PUT), ("http-2", &GET), CACHE, 200);
    log.charge(("writer", &PUT), ("http-2", &PARKED), TURN, 100);
    [log.finish("a.log")]
}

/// It is not known how long these waits took, and so who waited longest.
#[test]
fn waits_of_unknown_length_are_waits() {
    let lines = b"a.Main.run;a.Get.it;[monitor] L 30\na.Main.run;a.Put.it;[monitor] L 10\n";
    let hints = Hints { unit: Some(Unit::Samples), ..Hints::default() };
    let logs = [Recording::from_reader_as("a.folded", &lines[..], &hints).unwrap()];
    let filter = Filter::default();
    let findings = found(&logs, &filter);
    let blockers = blockers(&findings, &ReportOptions::default());
    assert_eq!((blockers.waits, blockers.wait_ns), (40, 0));
    for section in [SECTION, contended::SECTION] {
        let view = (section.answer)(&findings, &ReportOptions::default()).view;
        let text = text::view(&view, &text::Style::default());
        assert!(!text.contains("No thread waited") && !text.contains(" 0 %"), "{text}");
        let is_contended = section.name == contended::SECTION.name;
        assert_eq!(text.contains("hottest waiter, 75 % of the waits"), is_contended, "{text}");
    }
}

#[test]
fn waits_are_charged_to_holders_in_trace_mode() {
    let logs = traced();
    let filter = Filter::default();
    let found = blockers(&found(&logs, &filter), &ReportOptions::default());
    assert_eq!(found.source, Source::Charged);
    assert_eq!((found.wait_ns, found.known_ns), (1_000, 990));
    assert_eq!((found.thread_pairs, found.code_pairs), (2, 3));
    let pair =
        |pair: &ThreadPair| (pair.waiters.clone(), pair.holders.clone(), pair.waits, pair.wait_ns);
    let pairs: Vec<_> = found.threads.iter().map(pair).collect();
    let http = || "http-*".to_owned();
    assert_eq!(pairs, [(http(), "writer".to_owned(), 3, 900), (http(), http(), 1, 90)]);
    assert_eq!(found.threads[0].wait_share, 900.0 / 990.0);
    let locks: Vec<_> =
        found.threads[0].locks.iter().map(|lock| (lock.lock.name.as_str(), lock.wait_ns)).collect();
    assert_eq!(locks, [("Cache.map", 800), ("Cache.turn", 100)]);
    let pair = &found.code[0];
    let code = &pair.charged;
    assert_eq!(code.waiter, "a.Cache.get(Cache.java:12)");
    assert_eq!(pair.holder.as_deref(), Some("a.Cache.put(Cache.java:30)"));
    assert_eq!((code.kind, code.waits, code.wait_ns), ("monitor", 2, 800));
    assert_eq!(pair.holder_stack, ["a.Cache.put(Cache.java:30)", "a.Main.run(Main.java:6)"]);
    assert_eq!(code.waiter_stack, ["a.Cache.get(Cache.java:12)", "a.Main.run(Main.java:5)"]);
    // The place is the program's, the stack is whole.
    assert_eq!(found.code[1].charged.waiter, "a.Cache.put(Cache.java:30)");
    assert_eq!(found.code[1].charged.waiter_stack.len(), 4);
    assert_eq!(found.code[2].charged.wait_ns, 90);
}

/// Two threads that take turns at a lock: whose release is charged is partly chance.
#[test]
fn charges_say_how_far_they_may_be_off() {
    let mut log = Crafted::traced(10_000_000_000);
    log.wait("http-1", &GET, CACHE, 1_000_000_000, "");
    log.charge(("writer-1", &PUT), ("http-1", &GET), CACHE, 500_000_000);
    log.charge(("reader-1", &GET), ("http-1", &GET), CACHE, 500_000_000);
    let (logs, filter) = ([log.finish("a.log")], Filter::default());
    let findings = found(&logs, &filter);
    let told = blockers(&findings, &ReportOptions::default());
    // 2 standard errors: 2 sqrt((1 + 1 / 3) * 50 us * 0.5 s * 0.5).
    assert_eq!(told.threads[0].wait_error_ns, Some(8_164_965));
    assert_eq!(told.threads[0].locks[0].wait_error_ns, Some(8_164_965));
    assert_eq!(told.code[1].wait_error_ns, Some(8_164_965));
    let text = text::view(&view::view(&told, &findings), &text::Style::default());
    assert!(text.contains("wait ±") && text.contains("8.16 ms"), "{text}");
}

#[test]
fn owners_are_told_without_trace_mode() {
    let mut log = Crafted::new(1_000_000);
    log.wait("http-1", &GET, CACHE, 700, "");
    log.wait("http-1", &PARKED, TURN, 50, "writer");
    log.wait("http-2", &PARKED, TURN, 70, "writer");
    log.wait("http-2", &PARKED, TURN, 30, "http-1");
    let logs = [log.finish("a.log")];
    let filter = Filter::default();
    let findings = found(&logs, &filter);
    let found = blockers(&findings, &ReportOptions::default());
    assert_eq!(found.source, Source::OwnerAtStart);
    assert_eq!((found.wait_ns, found.known_ns), (850, 150));
    let pairs: Vec<_> = found
        .threads
        .iter()
        .map(|pair| (pair.waiters.as_str(), pair.holders.as_str(), pair.waits, pair.wait_ns))
        .collect();
    assert_eq!(pairs, [("http-*", "writer", 2, 120), ("http-*", "http-*", 1, 30)]);
    let code = &found.code[0];
    assert_eq!(code.charged.waiter, "a.Cache.put(Cache.java:30)");
    assert_eq!((code.holder.as_deref(), code.holders.as_deref()), (None, Some("writer")));
    assert_eq!((code.charged.wait_ns, code.holder_stack.len()), (120, 0));
    assert!(
        answer(&findings, &ReportOptions::default())
            .lacking
            .starts_with("needs the agent's option")
    );
}

#[test]
fn top_cuts_lists_and_no_totals() {
    let logs = traced();
    let filter = Filter::default();
    let findings = found(&logs, &filter);
    let options = ReportOptions { top: 1, ..ReportOptions::default() };
    let found = blockers(&findings, &options);
    assert_eq!((found.threads.len(), found.code.len()), (1, 1));
    assert_eq!((found.thread_pairs, found.code_pairs, found.known_ns), (2, 3, 990));
    assert_eq!(found.threads[0].locks.len(), 1);
    let view = answer(&findings, &options).view;
    let left_out: Vec<usize> = view
        .parts
        .iter()
        .filter_map(|part| match part {
            crate::view::Part::Table(table) => Some(table.left_out),
            _ => None,
        })
        .collect();
    assert_eq!(left_out, [1, 2]);
}

#[test]
fn filters_choose() {
    let logs = traced();
    let lock = Some(regex::Regex::new("turn").unwrap());
    let filter = Filter { lock, ..Filter::default() };
    let found_turn = blockers(&found(&logs, &filter), &ReportOptions::default());
    assert_eq!((found_turn.wait_ns, found_turn.known_ns), (100, 100));
    let filter = Filter { min_wait_ns: 100, ..Filter::default() };
    let long = blockers(&found(&logs, &filter), &ReportOptions::default());
    assert_eq!(long.source, Source::OwnerAtStart, "charges come in parts");
    assert_eq!((long.wait_ns, long.known_ns), (1_000, 100));
}
