//! Cycles in the order of locks: tables of philosophers that eat in turn.

use crate::support::{Jdk, Program, Recording, Report, list, number, on_jdks, text_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

on_jdks!(philosophers: one, everywhere two);

const MONITOR: &str = "tyrion.truth.Philosophers$MonitorFork";
const LOCK: &str = "java.util.concurrent.locks.ReentrantLock";

fn philosophers(jdk: &Jdk) {
    let recording = Program::truth(jdk, "philosophers").traced().record();
    let report = Report::of(&recording.log);
    let order = report.section("lock-order");
    assert_eq!((text_of(order, "lacking"), &order["complete"]), ("", &true.into()));
    // Tables of the same forks are one entry: the three of monitors alone, that
    // of locks, and that of both.
    let mut found = BTreeMap::new();
    for cycle in list(order, "cycles") {
        check_cycle(&recording, cycle);
        let key = classes(list(cycle, "edges").iter().map(|edge| &edge["outer"]));
        found.insert(key, number(cycle, "cycles"));
    }
    let expected: BTreeMap<Vec<&str>, u64> =
        [(vec![LOCK; 4], 1), (vec![LOCK, LOCK, MONITOR, MONITOR], 1), (vec![MONITOR; 4], 3)].into();
    assert_eq!(found, expected, "{order:#}");
    check_harmless(order);
}

fn classes<'v>(locks: impl Iterator<Item = &'v Value>) -> Vec<&'v str> {
    let mut classes: Vec<&str> = locks.map(|it| text_of(&it["lock"], "class")).collect();
    classes.sort_unstable();
    classes
}

fn table_of<'a>(recording: &'a Recording, thread: &str) -> &'a Value {
    let tables = list(&recording.said, "tables");
    let has = |table: &&Value| list(table, "threads").iter().any(|name| name == thread);
    tables.iter().find(has).unwrap_or_else(|| panic!("no table of {thread}"))
}

/// Four threads of one table, each with a fork that the one before wants.
fn check_cycle(recording: &Recording, cycle: &Value) {
    let edges = list(cycle, "edges");
    assert_eq!((number(cycle, "locks"), number(cycle, "longest"), edges.len()), (4, 4, 4));
    assert_eq!(cycle["by_name"], false);
    let table = table_of(recording, text_of(&edges[0], "thread"));
    assert_eq!(table["can_deadlock"], true, "{cycle}");
    let threads: BTreeSet<&str> = edges.iter().map(|edge| text_of(edge, "thread")).collect();
    let at_table = list(table, "threads").iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(threads, at_table);
    let mut forks: Vec<u64> =
        list(table, "forks").iter().map(|hash| hash.as_u64().unwrap()).collect();
    for (edge, next) in edges.iter().zip(edges.iter().cycle().skip(1)) {
        let (outer, inner) = (&edge["outer"], &edge["inner"]);
        assert_eq!(
            (&inner["hash"], &inner["lock"]),
            (&next["outer"]["hash"], &next["outer"]["lock"])
        );
        assert_eq!(number(edge, "threads"), 1, "{edge}");
        check_fork(outer, edge, "outer_stack");
        check_fork(inner, edge, "inner_stack");
        assert_eq!(edge["outer_stack_known"], true, "{edge}");
        // Of a ReentrantLock the program cannot tell the hash of its sync.
        if outer["kind"] == "monitor" {
            let hash = number(outer, "hash");
            let at = forks.iter().position(|fork| *fork == hash);
            forks.remove(at.unwrap_or_else(|| panic!("{hash} is not of {table}")));
        } else {
            assert_ne!(number(outer, "hash"), 0, "{edge}");
        }
    }
    assert!(forks.iter().all(|hash| *hash == 0), "{forks:?} are not in {cycle}");
}

fn check_fork(lock: &Value, edge: &Value, stack: &str) {
    let (class, kind, method) = match text_of(&lock["lock"], "class") {
        MONITOR => (MONITOR, "monitor", "tyrion.truth.Philosophers$MonitorFork.take"),
        _ => (LOCK, "lock", "tyrion.truth.Philosophers$LockFork.take"),
    };
    assert_eq!((text_of(&lock["lock"], "class"), text_of(lock, "kind")), (class, kind));
    let call = format!("{method}(Philosophers.java:");
    assert!(text_of(lock, "place").starts_with(&call), "{lock}");
    let frames: Vec<&str> = list(edge, stack).iter().map(|frame| frame.as_str().unwrap()).collect();
    assert!(frames[0].starts_with(&call), "{stack}: {edge}");
    assert!(frames.iter().any(|it| it.contains("Philosophers$Seat.eat(")), "{stack}: {edge}");
    assert!(frames.last().unwrap().starts_with("java.lang.Thread.run"), "{stack}: {edge}");
}

/// Gated tables, and the one with a single guest. Where the last one takes the
/// forks the other way round there is no cycle at all.
fn check_harmless(order: &Value) {
    let mut found: BTreeMap<(&str, Vec<&str>), u64> = BTreeMap::new();
    for cycle in list(order, "harmless") {
        let reason = text_of(cycle, "reason");
        let thread = if reason == "one-thread" { "alone-1" } else { "" };
        assert_eq!(text_of(cycle, "thread"), thread, "{cycle}");
        let gates = list(cycle, "gates").len();
        assert_eq!(gates, usize::from(reason == "gate"), "{cycle}");
        let key = (reason, classes(list(cycle, "locks").iter()));
        *found.entry(key).or_default() += number(cycle, "cycles");
    }
    let expected: BTreeMap<(&str, Vec<&str>), u64> = [
        (("gate", vec![LOCK; 4]), 1),
        (("gate", vec![LOCK, LOCK, MONITOR, MONITOR]), 1),
        (("gate", vec![MONITOR; 4]), 2),
        (("one-thread", vec![MONITOR; 4]), 1),
    ]
    .into();
    assert_eq!(found, expected, "{order:#}");
}
