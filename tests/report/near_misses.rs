//! Near misses, staged, and what must not be taken for them.

use crate::support::{Jdk, Program, Report, list, ms, number, on_jdks, text_of};
use serde_json::Value;
use std::ops::RangeInclusive;

on_jdks!(near_misses: one, everywhere two);

const NEAR_NS: u64 = ms(1);
const WIDER_NS: u64 = ms(50);
/// How often "main" takes each lock first.
const WARMING: u64 = 100;

fn near_misses(jdk: &Jdk) {
    let program = Program::truth(jdk, "near-misses").traced().preferred().alone();
    let program = program.option("--events=all").option("--hold=all").option("--threshold=0");
    let recording = program.record();
    let report = Report::of(&recording.log);
    let found = report.section("near-misses");
    assert_eq!((text_of(found, "lacking"), number(found, "near_ns")), ("", NEAR_NS));
    assert_eq!(number(&found["totals"], "folded_waits"), 0, "{}", found["totals"]);
    let wider = Report::with(&[&recording.log], &["--section=near-misses", "--near=50ms"]);
    for lock in list(&recording.said, "locks") {
        let near = entry(found, lock);
        if text_of(lock, "distance") == "near" {
            let certain = *within(lock, NEAR_NS).start();
            assert!(certain >= recording.number("times"), "too busy a machine: {lock}");
            let near = near.unwrap_or_else(|| panic!("no {lock}: {found:#}"));
            check_near(near, lock, number(&found["totals"], "untimed"));
        } else {
            assert!(near.is_none(), "{near:?} is {lock}");
        }
        check_wider(entry(wider.section("near-misses"), lock), lock);
    }
    // What waited is told where it belongs.
    let contended: Vec<&Value> =
        list(&recording.said, "locks").iter().filter(|it| it["distance"] == "contended").collect();
    for lock in contended {
        let of_class = entry_of(list(report.section("contended"), "locks"), lock);
        assert_eq!(number(of_class.unwrap(), "contended"), times(lock), "{of_class:?}");
    }
}

fn gaps<'v>(lock: &'v Value, key: &str) -> impl Iterator<Item = u64> + use<'v> {
    list(lock, key).iter().map(|gap| gap.as_u64().unwrap())
}

fn times(lock: &Value) -> u64 {
    list(lock, "least_ns").len() as u64
}

/// How many entries were within a time of the exit before: certainly, and
/// possibly.
fn within(lock: &Value, near_ns: u64) -> RangeInclusive<u64> {
    let count = |key: &str| gaps(lock, key).filter(|gap| *gap < near_ns).count() as u64;
    count("most_ns")..=count("least_ns")
}

/// The entry of a lock of the program: a monitor's has its class, that of a
/// ReentrantLock the name of the field.
fn entry_of<'v>(entries: &'v [Value], lock: &Value) -> Option<&'v Value> {
    let class = text_of(lock, "class");
    let field = format!("{}.lock", class.trim_start_matches("tyrion.truth."));
    entries.iter().find(|it| it["lock"]["class"] == class || it["lock"]["name"] == field.as_str())
}

fn entry<'v>(found: &'v Value, lock: &Value) -> Option<&'v Value> {
    entry_of(list(found, "locks"), lock)
}

fn check_near(near: &Value, lock: &Value, untimed: u64) {
    let expected = number(near, "near_misses");
    assert!(within(lock, NEAR_NS).contains(&expected), "{untimed} untimed, {near}: {lock}");
    // On JDK 17 a monitor that only methods take is not told apart at first.
    // Holds that are told late have no time of their own: as many may be left out.
    let possible =
        |all: u64| (all.saturating_sub(untimed)..=all).contains(&number(near, "entries"));
    let entries = [2 * times(lock), WARMING + 2 * times(lock)];
    assert!(untimed < 10 && entries.into_iter().any(possible), "{untimed} {near}");
    assert_eq!((number(near, "contended"), number(near, "instances")), (0, 1), "{near}");
    let shortest = number(near, "shortest_gap_ns");
    let possible = gaps(lock, "least_ns").min().unwrap()..=gaps(lock, "most_ns").min().unwrap();
    assert!(possible.contains(&shortest), "{shortest} is not in {possible:?}");
    let p50 = number(near, "p50_gap_ns");
    assert!((shortest..NEAR_NS).contains(&p50), "{near}");
    let [pair] = list(near, "pairs") else { panic!("{near}") };
    let told = (text_of(pair, "left_by"), text_of(pair, "taken_by"), number(pair, "near_misses"));
    assert_eq!(told, ("early", "late", expected));
    let [places] = list(near, "places") else { panic!("{near}") };
    let call = format!("{}.pass(NearMisses.java:", text_of(lock, "class"));
    for key in ["before", "after"] {
        assert!(text_of(places, key).starts_with(&call), "{places}");
    }
    assert_eq!(number(places, "near_misses"), expected, "{places}");
}

/// Within 50 ms all exits of the other thread are near: those of "early", and
/// those of "late" before it; unless the entry waited.
fn check_wider(wider: Option<&Value>, lock: &Value) {
    let wider = wider.unwrap_or_else(|| panic!("none for {lock}"));
    let is_pair = |pair: &&Value| pair["left_by"] == "early" && pair["taken_by"] == "late";
    let pair = list(wider, "pairs").iter().find(is_pair);
    if text_of(lock, "distance") == "contended" {
        assert!(pair.is_none(), "{wider}");
        assert_eq!(number(wider, "contended"), times(lock), "{wider}");
    } else {
        let told = number(pair.unwrap(), "near_misses");
        assert!(within(lock, WIDER_NS).contains(&told), "{wider}: {lock}");
    }
}
