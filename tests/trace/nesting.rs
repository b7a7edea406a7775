//! Which locks are taken while others are held.

use crate::support::{Jdk, Program, Recording, TraceLog, on_jdks};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

on_jdks!(pairs: extremes, everywhere all);
on_jdks!(pairs_without_identity: two);
on_jdks!(what_is_only_tried: ends, everywhere all);

const LOCK_CLASS: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";

/// The class of each lock that the program names.
fn classes(recording: &Recording) -> BTreeMap<String, String> {
    let locks = recording.said["locks"].as_array().unwrap().iter();
    let text = |lock: &Value, key: &str| lock[key].as_str().unwrap().to_owned();
    let mut classes: BTreeMap<String, String> =
        locks.map(|lock| (text(lock, "name"), text(lock, "class"))).collect();
    classes.insert("lock".to_owned(), LOCK_CLASS.to_owned());
    classes
}

/// What a record says: who took what while holding what, in classes.
fn nestings(traced: &TraceLog) -> Vec<(String, String, Vec<String>)> {
    let text = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
    let records = traced.records("nest").map(|nest| {
        let outer = nest["outer"].as_array().unwrap().iter();
        (
            text(nest, "thread"),
            text(nest, "lock_class"),
            outer.map(|lock| text(lock, "lock_class")).collect(),
        )
    });
    records.collect()
}

fn check(recording: &Recording) {
    let (classes, traced) = (classes(recording), recording.traced());
    let nestings = nestings(&traced);
    let mut expected: BTreeMap<String, Vec<(String, Vec<String>)>> = BTreeMap::new();
    for pair in recording.said["pairs"].as_array().unwrap() {
        let class = |name: &Value| classes[name.as_str().unwrap()].clone();
        let thread = pair["thread"].as_str().unwrap().to_owned();
        let outer = pair["outer"].as_array().unwrap().iter().map(class).collect();
        expected.entry(thread).or_default().push((class(&pair["inner"]), outer));
    }
    for (thread, mut pairs) in expected {
        // Locks inside the JDK are none of the program's.
        let own = nestings.iter().filter(|(name, inner, _)| {
            *name == thread && classes.values().any(|class| class == inner)
        });
        let mut got: Vec<_> = own.map(|(_, inner, outer)| (inner.clone(), outer.clone())).collect();
        // One pair may be told more than once, never another pair.
        got.sort();
        got.dedup();
        pairs.sort();
        assert_eq!(got, pairs, "{thread}");
    }
}

fn pairs(jdk: &Jdk) {
    let recording = Program::truth(jdk, "nesting").traced().record();
    check(&recording);
    let traced = recording.traced();
    let is_deep = |nest: &&Value| {
        let class = nest["lock_class"].as_str().unwrap();
        nest["thread"] == "deep" && class.starts_with("tyrion.truth.Nesting")
    };
    for nest in traced.records("nest").filter(is_deep) {
        assert_eq!(nest["stack_taken"], true, "{nest}");
        let stack = nest["stack"].as_array().unwrap();
        assert!(stack[0].as_str().unwrap().contains("Nesting"), "{nest}");
        assert!(stack.iter().any(|it| it.as_str().unwrap().contains(".takeDeep(")), "{nest}");
    }
    // Two locks of one class are told apart.
    let hash = |name: &str| {
        let locks = recording.said["locks"].as_array().unwrap();
        locks.iter().find(|lock| lock["name"] == name).unwrap()["hash"].clone()
    };
    let twins = traced.records("nest").find(|nest| nest["thread"] == "twins").unwrap();
    let got = (&twins["lock"], &twins["outer"][0]["lock"]);
    assert_ne!(got.0, got.1, "{twins}");
    // One that was met without a hash has none in the record.
    for (lock, name) in [(&twins["hash"], "right"), (&twins["outer"][0]["hash"], "left")] {
        assert!(*lock == hash(name) || *lock == 0, "{name}: {twins}");
    }
}

/// Whoever only tries to take a lock cannot be part of a deadlock. A pair of places at which
/// both is done is told twice.
fn what_is_only_tried(jdk: &Jdk) {
    let recording = Program::truth(jdk, "tried-nesting").traced().record();
    let traced = recording.traced();
    for nested in recording.said["nested"].as_array().unwrap() {
        let thread = &nested["thread"];
        // Locks inside the JDK are none of the program's, which takes no monitor: where a method
        // is linked, the JDK takes those of a map's bins.
        let of_thread = traced.records("nest").filter(|nest| {
            let class = nest["lock_class"].as_str().unwrap();
            let is_monitor = nest["kind"] == "monitor";
            nest["thread"] == *thread && class.starts_with("java.util.concurrent.") && !is_monitor
        });
        let tried: BTreeSet<bool> =
            of_thread.map(|nest| nest["tried"].as_bool().unwrap_or(false)).collect();
        let does = |key: &str| nested[key].as_bool().unwrap();
        assert_eq!(tried.contains(&true), does("tried"), "{thread}");
        assert_eq!(tried.contains(&false), does("waited"), "{thread}");
    }
}

fn pairs_without_identity(jdk: &Jdk) {
    let program = Program::truth(jdk, "nesting").traced();
    check(&program.option("--identity=false").record());
}
