//! Locks that one thread only takes: a program that knows which.

use crate::support::{Jdk, Program, Report, list, number, on_jdks, text_of};
use serde_json::Value;

on_jdks!(lonely: everywhere two);
on_jdks!(shared: one, everywhere two);

/// The place of a class of the program.
fn place_in<'v>(section: &'v Value, class: &str) -> Option<&'v Value> {
    let mut places = list(section, "places").iter();
    places.find(|place| text_of(place, "place").starts_with(&format!("{class}.take(")))
}

fn numbers<const N: usize>(value: &Value, keys: [&str; N]) -> [u64; N] {
    keys.map(|key| number(value, key))
}

fn lonely(jdk: &Jdk) {
    let recording = Program::truth(jdk, "lonely").traced().option("--hold=all").record();
    let report = Report::of(&recording.log);
    let found = report.section("single-thread");
    assert_eq!(text_of(found, "lacking"), "");
    for class in list(&recording.said, "classes") {
        check_class(found, class);
    }
    let totals = &found["totals"];
    let [all, private, shared, is_virtual] = numbers(
        totals,
        ["instances", "private_instances", "shared_instances", "virtual_instances"],
    );
    assert_eq!((all, is_virtual), (private + shared, 0), "{totals}");
    let statistic = recording.traced().statistic("instances");
    assert_eq!(statistic, Some(all), "{totals}");
    assert_eq!(number(totals, "unidentified"), 0, "{totals}");
}

fn check_class(found: &Value, class: &Value) {
    let name = text_of(class, "class");
    let [instances, lonely, taken, lonely_taken, least_ns, most_ns] = numbers(
        class,
        [
            "instances",
            "lonely",
            "acquisitions",
            "lonely_acquisitions",
            "lonely_least_ns",
            "lonely_most_ns",
        ],
    );
    let place = place_in(found, name);
    if lonely == 0 {
        assert!(place.is_none(), "{place:?}");
        return;
    }
    let place = place.unwrap_or_else(|| panic!("no {name}: {found:#}"));
    let told =
        numbers(place, ["instances", "private_instances", "shared_instances", "acquisitions"]);
    assert_eq!(told, [instances, lonely, instances - lonely, taken], "{place}");
    let threads = if lonely == instances { 4 } else { 2 };
    assert_eq!(number(place, "threads"), threads, "{place}");
    let counted = numbers(place, ["private_acquisitions", "unknown_acquisitions"]);
    if place["kind"] == "monitor" {
        assert_eq!(counted, [lonely_taken, 0], "{place}");
        assert_eq!(place["whole_class"], lonely == instances, "{place}");
        let held_ns = number(place, "private_hold_ns");
        assert!((least_ns..=most_ns).contains(&held_ns), "{place}: {class}");
    } else {
        // The threads share a barrier, and in it another lock of this class:
        // which of them was taken is counted by class alone.
        assert_eq!((counted, &place["whole_class"]), ([0, lonely_taken], &false.into()));
        assert_eq!(text_of(&place["lock"], "class"), "java.util.concurrent.locks.ReentrantLock");
    }
}

/// Of 1 000 locks 37 are shared.
fn shared(jdk: &Jdk) {
    for kind in ["block", "lock"] {
        let recording = Program::truth(jdk, &format!("shared {kind}")).traced().record();
        let report = Report::of(&recording.log);
        let found = report.section("single-thread");
        let class = text_of(&recording.said, "class");
        let place = place_in(found, class).unwrap_or_else(|| panic!("{found:#}"));
        let [locks, shared] = ["locks", "shared"].map(|key| recording.number(key));
        let told = numbers(place, ["instances", "private_instances", "shared_instances"]);
        assert_eq!(told, [locks, locks - shared, shared], "{place}");
        assert_eq!((locks, shared), (1000, 37));
        let [threads, acquisitions] = ["threads", "acquisitions"].map(|key| recording.number(key));
        assert_eq!(numbers(place, ["threads", "acquisitions"]), [threads, acquisitions]);
        // Each thread takes both sorts, at one place.
        let counted = numbers(place, ["private_acquisitions", "unknown_acquisitions"]);
        assert_eq!(counted, [0, acquisitions], "{place}");
        assert_eq!(place["whole_class"], false);
    }
}
