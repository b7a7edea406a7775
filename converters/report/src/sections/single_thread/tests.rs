use super::*;
use crate::sections::scenario::{Scenario, with};
use regex::Regex;
use serde_json::json;
use tyrion_model::filter::{Filter, duration_ns, moment};
use tyrion_wire::{
    WaitKind,
    trace::{AcquisitionCell, Held, Instance},
};

fn found(logs: &[Recording], filter: &Filter) -> SingleThread {
    with(logs, filter, |findings| single_thread(findings, &ReportOptions::default()))
}

/// A cell whose holds took 10 ns each, all of them measured.
fn cell(held: Held, acquisitions: u64) -> AcquisitionCell {
    AcquisitionCell {
        place: held.place,
        class: held.class,
        acquisitions,
        first_count: acquisitions,
        first_ns: 10 * acquisitions,
        ..AcquisitionCell::default()
    }
}

/// Buffers of ann's and of bob's own; counters, of which they share one.
fn buffers_and_counters(filter: &Filter) -> SingleThread {
    let mut scenario = Scenario::new(&[("identity", "true")]);
    let [ann, bob] = ["ann", "bob"].map(|name| scenario.thread(name));
    let (buffer, counter) = (scenario.class("a/Buffer"), scenario.class("a/Counter"));
    let append = scenario.place("a/Buffer.append", 5, WaitKind::Monitor, "this");
    let length = scenario.place("a/Buffer.length", 9, WaitKind::Monitor, "this");
    let count = scenario.place("a/Main.count", 3, WaitKind::Monitor, "Main.counter");
    let buffer = |place, hash| Held { place, class: buffer, hash };
    let counter = |hash| Held { place: count, class: counter, hash };
    for held in [buffer(append, 1), buffer(append, 2), counter(4), counter(5)] {
        scenario.takes(ann, held);
    }
    for held in [buffer(append, 3), counter(4)] {
        scenario.takes(bob, held);
    }
    for (thread, cell) in [
        (ann, cell(buffer(append, 0), 100)),
        (ann, cell(buffer(length, 0), 7)),
        (bob, cell(buffer(append, 0), 50)),
        (ann, cell(counter(0), 20)),
        (bob, cell(counter(0), 30)),
    ] {
        scenario.acquires(thread, &cell);
    }
    found(&[scenario.log("buffers.log")], filter)
}

#[test]
fn locks_of_one_thread_are_told_by_place() {
    let place = |class: &str, name: &str, place: &str, objects: [u64; 4], whole: bool| {
        json!({
            "lock": {"name": name, "class": class, "id": 0}, "kind": "monitor", "place": place,
            "instances": objects[0], "private_instances": objects[1],
            "shared_instances": objects[2], "threads": objects[3], "whole_class": whole,
        })
    };
    let with_counts = |mut place: serde_json::Value, counts: [u64; 3], hold_ns: [u64; 2]| {
        place["acquisitions"] = counts[0].into();
        place["private_acquisitions"] = counts[1].into();
        place["unknown_acquisitions"] = counts[2].into();
        for which in ["", "private_", "unknown_"] {
            place[format!("{which}acquisitions_error")] = 0.into();
        }
        (place["hold_ns"], place["private_hold_ns"]) = (hold_ns[0].into(), hold_ns[1].into());
        place
    };
    let append = place("a.Buffer", "", "a.Buffer.append(Buffer.java:5)", [3, 3, 0, 2], true);
    let length = place("a.Buffer", "", "a.Buffer.length(Buffer.java:9)", [0, 0, 0, 0], true);
    let counter =
        place("a.Counter", "Main.counter", "a.Main.count(Main.java:3)", [2, 1, 1, 1], false);
    let expected = json!({
        "totals": {
            "instances": 5, "private_instances": 4, "shared_instances": 1, "virtual_instances": 0,
            "acquisitions": 207, "private_acquisitions": 157, "unknown_acquisitions": 20,
            "acquisitions_error": 0, "private_acquisitions_error": 0,
            "unknown_acquisitions_error": 0, "private_hold_ns": 1_570, "unidentified": 0,
        },
        "places": [
            with_counts(append, [150, 150, 0], [1_500, 1_500]),
            // Ann's 20 are of either counter, bob's 30 of the shared one.
            with_counts(counter, [50, 0, 20], [500, 0]),
            with_counts(length, [7, 7, 0], [70, 70]),
        ],
        "left_out": 0,
    });
    let found = buffers_and_counters(&Filter::default());
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
    assert!(format!("{:?}", view(&found)).contains("a.Buffer.append(Buffer.java:5)"));
}

#[test]
fn filters_choose_threads_locks_and_kinds() {
    let regex = |text: &str| Some(Regex::new(text).unwrap());
    let bob = buffers_and_counters(&Filter { thread: regex("bob"), ..Filter::default() });
    let totals = |it: &SingleThread| {
        let totals = &it.totals;
        (totals.private_instances, totals.shared_instances, totals.private_acquisitions)
    };
    assert_eq!(totals(&bob), (1, 1, Some(50)), "whether a lock is shared depends on all threads");
    let counters = buffers_and_counters(&Filter { lock: regex("counter"), ..Filter::default() });
    assert_eq!(totals(&counters), (1, 1, Some(0)));
    // Acquisitions have no times.
    for filter in [
        Filter { since: Some(moment("1ns").unwrap()), ..Filter::default() },
        Filter { min_wait_ns: duration_ns("1s").unwrap(), ..Filter::default() },
    ] {
        assert_eq!(totals(&buffers_and_counters(&filter)), (4, 1, None));
    }
}

/// A place where nothing was counted.
fn place0() -> SingleThreadPlace {
    SingleThreadPlace {
        private_acquisitions: Some(0),
        unknown_acquisitions: Some(0),
        private_hold_ns: Some(0),
        ..SingleThreadPlace::default()
    }
}

#[test]
fn what_cannot_be_told_is_not() {
    let mut scenario = Scenario::new(&[]);
    let [ann, virtual_ones] = [scenario.thread("ann"), scenario.thread_of(0, "virtual")];
    let class = scenario.class("a/Buffer");
    let place = scenario.place("a/Buffer.append", 5, WaitKind::Monitor, "this");
    let held = |hash| Held { place, class, hash };
    scenario.takes(ann, held(1));
    scenario.takes(virtual_ones, held(2));
    scenario.acquires(ann, &cell(held(0), 10));
    scenario.acquires(virtual_ones, &cell(held(0), 20));
    let other = scenario.class("a/Other");
    let other = Held { place, class: other, hash: 3 };
    scenario.takes(ann, other);
    scenario.acquires(ann, &AcquisitionCell { unidentified: 4, ..cell(other, 5) });
    let found = found(&[scenario.log("x")], &Filter::default());
    let totals = &found.totals;
    assert_eq!(
        (totals.private_instances, totals.virtual_instances, totals.unidentified),
        (2, 1, 4)
    );
    assert_eq!((totals.private_acquisitions, totals.unknown_acquisitions), (Some(10), Some(25)));
    assert!(found.places.iter().all(|place| !place.whole_class));
    // None is known to be of one thread, which is not that none is.
    let place = SingleThreadPlace {
        unknown_acquisitions: Some(3),
        private_acquisitions: Some(0),
        ..place0()
    };
    let cells = |place: SingleThreadPlace| {
        let found = SingleThread { places: vec![place], ..SingleThread::default() };
        table(&found).rows[0].cells[6..9].to_vec()
    };
    assert_eq!(cells(place), [TableCell::Unknown, TableCell::Count(3), TableCell::Unknown]);
    assert_eq!(cells(place0()), [TableCell::Count(0), TableCell::Count(0), TableCell::Ns(0)]);
}

#[test]
fn locks_that_were_counted_elsewhere_are_no_zeros() {
    let told = |(instances, private_instances, shared_instances)| {
        let place =
            SingleThreadPlace { instances, private_instances, shared_instances, ..place0() };
        let found = SingleThread { places: vec![place], ..SingleThread::default() };
        let cells = table(&found).rows[0].cells[3..6].to_vec();
        let found = SingleThread {
            totals: SingleThreadTotals { instances: 1, ..SingleThreadTotals::default() },
            ..found
        };
        let explained = view(&found).parts.contains(&Part::Text(ELSEWHERE.to_owned()));
        (cells, explained)
    };
    const NONE: TableCell = TableCell::Unknown;
    assert_eq!(told((0, 0, 0)), (vec![NONE; 3], true));
    assert_eq!(told((2, 0, 2)), (vec![NONE, TableCell::Count(2), NONE], true));
    let (cells, explained) = told((3, 1, 2));
    assert!(cells[..2] == [TableCell::Count(1), TableCell::Count(2)] && !explained);
}

#[test]
fn an_instance_is_shared_if_the_files_of_a_recording_say_so() {
    let file = |recording: &str, java_id: u64| {
        let mut scenario = Scenario::new(&[("recording", recording)]);
        let thread = scenario.thread_of(java_id, "ann");
        // Ids differ from file to file.
        for other in 0..java_id {
            scenario.class(&format!("a/Other{other}"));
        }
        let class = scenario.class("a/Buffer");
        let place = scenario.place("a/Buffer.append", 5, WaitKind::Monitor, "this");
        scenario.takes(thread, Held { place, class, hash: 1 });
        scenario.log("x")
    };
    for (logs, expected) in [
        ([file("a", 1), file("a", 2)], (1, 0, 1)),
        ([file("a", 1), file("a", 1)], (1, 1, 0)),
        ([file("a", 1), file("b", 2)], (2, 2, 0)),
    ] {
        let totals = found(&logs, &Filter::default()).totals;
        let told = (totals.instances, totals.private_instances, totals.shared_instances);
        assert_eq!(told, expected);
    }
}

#[test]
fn what_another_thread_took_before_is_shared_though_its_record_is_missing() {
    let mut scenario = Scenario::new(&[]);
    let ann = scenario.thread("ann");
    let class = scenario.class("a/Buffer");
    let place = scenario.place("a/Buffer.append", 5, WaitKind::Monitor, "this");
    scenario.instance(ann, Instance { hash: 1, class, place, shared: true });
    scenario.acquires(ann, &cell(Held { place, class, hash: 0 }, 10));
    let found = found(&[scenario.log("x")], &Filter::default());
    let totals = &found.totals;
    assert_eq!((totals.private_instances, totals.shared_instances), (0, 1));
    assert_eq!((totals.private_acquisitions, found.places.len()), (Some(0), 0));
}

#[test]
fn what_is_lacking_is_said() {
    let lacking = |logs: &[Recording], filter: &Filter| {
        with(logs, filter, |findings| answer(findings, &ReportOptions::default()).lacking)
    };
    let open = Filter::default();
    assert!(lacking(&[], &open).starts_with("needs --mode trace"));
    let without = [Scenario::new(&[("identity", "false")]).log("x")];
    assert!(lacking(&without, &open).starts_with("needs --identity true"));
    let logs = [Scenario::new(&[]).log("x")];
    assert_eq!(lacking(&logs, &open), "");
    let timed = Filter { since: Some(moment("1s").unwrap()), ..Filter::default() };
    assert!(lacking(&logs, &timed).contains("--since"));
}
