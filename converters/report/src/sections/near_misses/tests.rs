use super::*;
use crate::findings::near_misses::scan_in_spans;
use crate::sections::scenario::{Scenario, with};
use proptest::prelude::*;
use regex::Regex;
use tyrion_formats::Recording;
use tyrion_model::{
    filter::{Filter, moment},
    pass::{Order, made},
};
use tyrion_wire::{
    WaitKind,
    trace::{Held, Instance},
};

const ALL: [(&str, &str); 2] = [("events", "all"), ("hold", "all")];

fn found(logs: &[Recording], filter: &Filter, near_ns: u64) -> NearMisses {
    let options = ReportOptions { near_ns, ..ReportOptions::default() };
    with(logs, filter, |findings| {
        let scan = scan_in_spans(findings, near_ns, 4096).unwrap();
        near_misses(&scan, &options)
    })
}

/// Two threads and a lock.
struct Two {
    scenario: Scenario,
    threads: [u32; 2],
    held: Held,
}

impl Two {
    fn new(kind: WaitKind) -> Two {
        let mut scenario = Scenario::new(&ALL);
        let threads = ["ann", "bob"].map(|name| scenario.thread(name));
        let class = scenario.class("a/Cache");
        let place = scenario.place("a/Cache.get", 5, kind, "Cache.map");
        Two { scenario, threads, held: Held { place, class, hash: 7 } }
    }

    /// Each in turn takes it, from and to these times.
    fn take_turns(mut self, holds: &[(u64, u64)]) -> Recording {
        for (turn, &span) in holds.iter().enumerate() {
            self.scenario.holds(self.threads[turn % 2], self.held, span);
        }
        self.scenario.log("turns.log")
    }
}

#[test]
fn what_another_thread_took_before_is_no_lock_of_one_thread() {
    for (shared, entries) in [(true, 2), (false, 0)] {
        let mut two = Two::new(WaitKind::Monitor);
        let (ann, Held { place, class, hash }) = (two.threads[0], two.held);
        two.scenario.instance(ann, Instance { hash, class, place, shared });
        two.scenario.holds(ann, two.held, (100, 200));
        two.scenario.holds(ann, two.held, (300, 400));
        let found = found(&[two.scenario.log("x")], &Filter::default(), 400);
        assert_eq!(found.totals.entries, entries, "{shared}");
    }
}

#[test]
fn entries_shortly_after_anothers_exit_are_near_misses() {
    // Gaps: 400, 401, 0, 10 000, and 5 before the exit, by the clock.
    let holds = [
        (100, 200),
        (600, 700),
        (1_101, 1_200),
        (1_200, 1_300),
        (11_300, 11_400),
        (11_395, 11_500),
    ];
    let log = Two::new(WaitKind::Monitor).take_turns(&holds);
    let found = found(&[log], &Filter::default(), 400);
    let expected = serde_json::json!({
        "near_ns": 400,
        "totals": {
            "entries": 6, "near_misses": 3, "contended": 0, "folded_waits": 0,
            "unidentified": 0, "untimed": 0,
        },
        "locks": [{
            "lock": {"name": "Cache.map", "class": "a.Cache", "id": 0}, "kind": "monitor",
            "entries": 6, "near_misses": 3, "near_share": 0.5, "contended": 0, "folded_waits": 0,
            "instances": 1, "shortest_gap_ns": 0, "p50_gap_ns": 0,
            "pairs": [
                {"left_by": "ann", "taken_by": "bob", "near_misses": 3},
            ],
            "places": [{
                "before": "a.Cache.get(Cache.java:5)", "after": "a.Cache.get(Cache.java:5)",
                "near_misses": 3,
            }],
        }],
        "left_out": 0,
    });
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
    assert!(format!("{:?}", view(&found)).contains("3 of 6 entries"));
}

#[test]
fn one_who_waited_is_no_near_miss() {
    let mut two = Two::new(WaitKind::Monitor);
    let lock = two.scenario.lock("a/Cache", "Cache.map", 7);
    let [ann, bob] = two.threads;
    two.scenario.holds(ann, two.held, (100, 200));
    two.scenario.waits(bob, (WaitKind::Monitor, 0, lock), (150, 205));
    two.scenario.holds(bob, two.held, (210, 300));
    two.scenario.holds(ann, two.held, (310, 400));
    two.scenario.holds(bob, two.held, (410, 500));
    let found = found(&[two.scenario.log("waited.log")], &Filter::default(), 400);
    assert_eq!((found.totals.near_misses, found.totals.contended), (2, 1));
}

#[test]
fn readers_and_permits_do_not_meet() {
    let count = |kind, holds: &[(u64, u64)]| {
        let log = Two::new(kind).take_turns(holds);
        found(&[log], &Filter::default(), 400).totals.near_misses
    };
    let (apart, overlapping) = ([(100, 200), (300, 400)], [(100, 200), (150, 400)]);
    assert_eq!(count(WaitKind::LockRead, &apart), 0);
    assert_eq!(count(WaitKind::LockWrite, &apart), 1);
    assert_eq!(count(WaitKind::Semaphore, &apart), 1);
    assert_eq!(count(WaitKind::Semaphore, &overlapping), 0);
}

#[test]
fn what_one_thread_takes_and_what_has_no_time_is_left_out() {
    let mut two = Two::new(WaitKind::Monitor);
    let [ann, bob] = two.threads;
    let own = Held { hash: 8, ..two.held };
    two.scenario.takes(ann, own);
    two.scenario.holds(ann, own, (100, 200));
    two.scenario.holds(ann, Held { hash: 0, ..two.held }, (210, 220));
    two.scenario.holds(ann, two.held, (300, 400));
    // Released before what stands in front of it.
    two.scenario.holds(bob, two.held, (450, 500));
    two.scenario.holds(bob, two.held, (460, 500));
    let totals = found(&[two.scenario.log("x")], &Filter::default(), 400).totals;
    let told = (totals.entries, totals.near_misses, totals.unidentified, totals.untimed);
    assert_eq!(told, (2, 1, 1, 1));
}

#[test]
fn filters_ask_for_entries() {
    let holds = [(100, 200), (300, 400), (500, 600), (700, 800)];
    let logs = [Two::new(WaitKind::Monitor).take_turns(&holds)];
    let count = |filter: Filter| {
        let totals = found(&logs, &filter, 400).totals;
        (totals.entries, totals.near_misses)
    };
    let regex = |text: &str| Some(Regex::new(text).unwrap());
    assert_eq!(count(Filter { thread: regex("bob"), ..Filter::default() }), (2, 2));
    assert_eq!(count(Filter { lock: regex("Cache.map"), ..Filter::default() }), (4, 3));
    assert_eq!(count(Filter { lock: regex("other"), ..Filter::default() }), (0, 0));
    let since = Some(moment("500ns").unwrap());
    assert_eq!(count(Filter { since, ..Filter::default() }), (2, 2));
}

#[test]
fn logs_without_all_events_say_so() {
    for metadata in [&[][..], &[("events", "all")], &[("hold", "all")]] {
        let logs = [Scenario::new(metadata).log("x")];
        let answer =
            with(&logs, &Filter::default(), |findings| answer(findings, &ReportOptions::default()));
        assert!(answer.lacking.starts_with("needs --mode trace --events all"));
    }
}

/// A log is read once for sums, and once for all that needs the order of time or the sums.
#[test]
fn two_passes_are_enough() {
    let mut two = Two::new(WaitKind::Monitor);
    two.scenario.holds(two.threads[0], two.held, (100, 200));
    two.scenario.holds(two.threads[1], two.held, (300, 400));
    let name = "two-passes.log";
    with(&[two.scenario.log(name)], &Filter::default(), |findings| {
        let answer = answer(findings, &ReportOptions::default());
        assert_eq!(answer.json["totals"]["near_misses"], 1);
    });
    let orders = made().into_iter().filter(|pass| pass.log == name).map(|pass| pass.order);
    assert_eq!(orders.collect::<Vec<_>>(), [Order::ByThread, Order::InTime]);
}

/// Near misses by the rule, hold by hold: the last exit before, of any thread.
fn by_the_rule(holds: &[(u64, u64, usize)], near_ns: u64) -> u64 {
    let near = |&(from_ns, _, thread): &(u64, u64, usize)| {
        let exits = holds.iter().filter(|(_, to_ns, _)| *to_ns <= from_ns);
        let last = exits.max_by_key(|(_, to_ns, _)| *to_ns);
        last.is_some_and(|&(_, to_ns, other)| other != thread && from_ns - to_ns <= near_ns)
    };
    holds.iter().filter(|hold| near(hold)).count() as u64
}

proptest! {
    #[test]
    fn the_rule_holds_however_time_is_cut(
        steps in proptest::collection::vec((1u64..40, 1u64..40, 0usize..4), 0..600),
        near_ns in 0u64..50,
    ) {
        let mut now_ns = 0;
        let mut holds = Vec::new();
        for (gap_ns, hold_ns, thread) in steps {
            let from_ns = now_ns + gap_ns;
            now_ns = from_ns + hold_ns;
            holds.push((from_ns, now_ns, thread));
        }
        let mut scenario = Scenario::new(&ALL);
        let threads: Vec<u32> = (0..4).map(|at| scenario.thread(&format!("t{at}"))).collect();
        let class = scenario.class("a/Cache");
        let place = scenario.place("a/Cache.get", 5, WaitKind::Monitor, "");
        for &(from_ns, to_ns, thread) in &holds {
            scenario.holds(threads[thread], Held { place, class, hash: 7 }, (from_ns, to_ns));
        }
        let logs = [scenario.log("x")];
        let expected = by_the_rule(&holds, near_ns);
        for span_bytes in [1, 5_000, u64::MAX] {
            let scan = with(&logs, &Filter::default(), |findings| {
                scan_in_spans(findings, near_ns, span_bytes)
            });
            let sum: u64 = scan.unwrap().locks.iter().map(|(_, stats)| stats.near_misses).sum();
            prop_assert_eq!(sum, expected);
        }
    }
}
