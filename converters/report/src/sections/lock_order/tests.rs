use super::*;
use crate::sections::scenario::{Scenario, with};
use regex::Regex;
use serde_json::json;
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Kinds};
use tyrion_wire::{WaitKind, trace::Held};

/// Accounts and what transfers between them: `transfer` takes one within the
/// other, at lines 12 and 14.
struct Bank {
    scenario: Scenario,
    class: u32,
    from: u32,
    to: u32,
    stack: u32,
}

impl Bank {
    fn new(metadata: &[(&str, &str)]) -> Bank {
        let mut scenario = Scenario::new(metadata);
        let class = scenario.class("a/Account");
        let from = scenario.place("a/Bank.transfer", 12, WaitKind::Monitor, "from");
        let to = scenario.place("a/Bank.transfer", 14, WaitKind::Monitor, "to");
        let stack = scenario.stack(&[("a/Bank.transfer", 14), ("a/Teller.run", 7)]);
        Bank { scenario, class, from, to, stack }
    }

    fn held(&self, place: u32, hash: u32) -> Held {
        Held { place, class: self.class, hash }
    }

    /// A thread transfers from an account to another one, holding a lock.
    fn transfer(&mut self, thread: u32, at_ns: u64, [from, to]: [u32; 2], gate: Option<Held>) {
        let (outer, inner) = (self.held(self.from, from), self.held(self.to, to));
        let held: Vec<Held> = gate.into_iter().chain([outer]).collect();
        self.scenario.nest(thread, at_ns, (inner, self.stack), &held);
    }
}

fn order(logs: &[Recording], filter: &Filter) -> LockOrder {
    with(logs, filter, |findings| lock_order(findings, &ReportOptions::default()))
}

#[test]
fn a_cycle_is_told_with_both_threads_and_stacks() {
    let mut bank = Bank::new(&[("identity", "true")]);
    let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
    let known = bank.scenario.lock("a/Account", "", 71);
    bank.transfer(ann, 5_000, [70, 71], None);
    bank.transfer(bob, 6_000, [71, 70], None);
    let found = order(&[bank.scenario.log("bank.log")], &Filter::default());
    let lock = |name: &str, id: u32, hash: u32, line: u32| {
        json!({
            "lock": {"name": name, "class": "a.Account", "id": id}, "hash": hash,
            "kind": "monitor", "place": format!("a.Bank.transfer(Bank.java:{line})"),
        })
    };
    let edge = |thread: &str, at_ns: u64, outer, inner| {
        json!({
            "log": "bank.log", "thread": thread, "threads": 1, "outer": outer, "inner": inner,
            "outer_stack": ["a.Bank.transfer(Bank.java:12)", "a.Teller.run(Teller.java:7)"],
            "outer_stack_known": true,
            "inner_stack": ["a.Bank.transfer(Bank.java:14)", "a.Teller.run(Teller.java:7)"],
            "also_held": [], "first_ns": at_ns,
        })
    };
    let expected = json!({
        "cycles": [{
            "locks": 2, "cycles": 1, "longest": 2, "by_name": false,
            "edges": [
                edge("bob", 6_000, lock("from", known, 71, 12), lock("to", 0, 70, 14)),
                edge("ann", 5_000, lock("from", 0, 70, 12), lock("to", known, 71, 14)),
            ],
        }],
        "left_out": 0, "harmless": [], "harmless_left_out": 0,
        "locks": 2, "edges": 2, "nestings": 2, "unidentified": 0, "complete": true,
    });
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
    let view = view(&found);
    let text = format!("{view:?}");
    assert!(text.contains("from → from#1 → from") || text.contains("from#1 → from → from#1"));
}

#[test]
fn a_gate_and_a_lone_thread_are_told_apart() {
    let mut bank = Bank::new(&[]);
    let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
    let place = bank.scenario.place("a/Bank.open", 3, WaitKind::Lock, "Bank.gate");
    let class = bank.scenario.class("java/util/concurrent/locks/ReentrantLock$NonfairSync");
    let gate = Some(Held { place, class, hash: 7 });
    bank.transfer(ann, 1, [70, 71], gate);
    bank.transfer(bob, 2, [71, 70], gate);
    bank.transfer(bob, 3, [80, 81], None);
    bank.transfer(bob, 4, [81, 80], None);
    let found = order(&[bank.scenario.log("bank.log")], &Filter::default());
    assert_eq!(found.cycles, []);
    let told: Vec<_> =
        found.harmless.iter().map(|it| (it.reason, it.cycles, it.locks.len())).collect();
    assert_eq!(told, [("gate", 1, 2), ("one-thread", 1, 2)]);
    assert_eq!(
        found.harmless[0].gates[0].label(),
        "Bank.gate (java.util.concurrent.locks.ReentrantLock)"
    );
    assert_eq!(found.harmless[1].thread, "bob");
}

#[test]
fn cycles_of_other_instances_are_one_entry() {
    let mut bank = Bank::new(&[]);
    let threads = ["ann", "bob", "cid"].map(|name| bank.scenario.thread(name));
    for (at, pair) in
        [[1, 2], [2, 1], [3, 4], [4, 3], [5, 6], [6, 7], [7, 5]].into_iter().enumerate()
    {
        bank.transfer(threads[at % 3], at as u64, pair.map(|hash| hash + 100), None);
    }
    let found = order(&[bank.scenario.log("bank.log")], &Filter::default());
    let told: Vec<_> = found.cycles.iter().map(|it| (it.locks, it.cycles, it.longest)).collect();
    assert_eq!(told, [(2, 3, 3)]);
}

#[test]
fn a_cycle_may_span_the_files_of_a_recording() {
    let file = |number: &str, recording: &str, pair: [u32; 2], java_id: u64| {
        let mut bank = Bank::new(&[("recording", recording), ("file-number", number)]);
        let thread = bank.scenario.thread_of(java_id, "ann");
        bank.transfer(thread, 1, pair, None);
        bank.scenario.log(number)
    };
    let cycles = |logs: [Recording; 2]| order(&logs, &Filter::default()).cycles.len();
    assert_eq!(cycles([file("0", "a", [1, 2], 10), file("1", "a", [2, 1], 11)]), 1);
    assert_eq!(cycles([file("0", "a", [1, 2], 10), file("1", "b", [2, 1], 11)]), 0);
    // The same thread.
    assert_eq!(cycles([file("0", "a", [1, 2], 10), file("1", "a", [2, 1], 10)]), 0);
}

#[test]
fn what_was_only_waited_for_counts() {
    let mut bank = Bank::new(&[]);
    let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
    bank.scenario.lock("a/Account", "Bank.vault", 71);
    bank.transfer(bob, 1, [71, 70], None);
    // Its place would be told behind the wait.
    bank.to = 0;
    bank.transfer(ann, 2, [70, 71], None);
    let found = order(&[bank.scenario.log("bank.log")], &Filter::default());
    let edges = &found.cycles[0].edges;
    let inner = &edges.iter().find(|edge| edge.thread == "ann").unwrap().inner;
    let told = (inner.kind, inner.lock.name.as_str(), inner.place.as_str());
    assert_eq!(told, ("monitor", "Bank.vault", "a.Bank.transfer(Bank.java:14)"));
}

#[test]
fn one_hash_of_two_classes_is_two_locks() {
    let mut bank = Bank::new(&[]);
    let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
    bank.transfer(ann, 1, [70, 71], None);
    bank.class = bank.scenario.class("a/Other");
    bank.transfer(bob, 2, [71, 70], None);
    assert_eq!(order(&[bank.scenario.log("bank.log")], &Filter::default()).cycles, []);
}

#[test]
fn without_identity_locks_go_by_name() {
    let told = |identity: &str| {
        let mut bank = Bank::new(&[("identity", identity)]);
        let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
        bank.transfer(ann, 1, [0, 0], None);
        (bank.from, bank.to) = (bank.to, bank.from);
        bank.transfer(bob, 2, [0, 0], None);
        let found = order(&[bank.scenario.log("bank.log")], &Filter::default());
        (found.cycles.iter().map(|it| it.by_name).collect::<Vec<_>>(), found.unidentified)
    };
    assert_eq!(told("false"), (vec![true], 0));
    assert_eq!(told("true"), (vec![], 2));
}

#[test]
fn filters_ask_for_one_who_takes_part() {
    let mut bank = Bank::new(&[]);
    let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
    bank.transfer(ann, 1, [70, 71], None);
    bank.transfer(bob, 2, [71, 70], None);
    let logs = [bank.scenario.log("bank.log")];
    let count = |filter: Filter| order(&logs, &filter).cycles.len();
    let regex = |text: &str| Some(Regex::new(text).unwrap());
    for (thread, expected) in [("^ann$", 1), ("^cid$", 0)] {
        assert_eq!(count(Filter { thread: regex(thread), ..Filter::default() }), expected);
    }
    for (lock, expected) in [("^from$", 1), ("^to$", 1), ("Account", 1), ("Bank", 0)] {
        assert_eq!(count(Filter { lock: regex(lock), ..Filter::default() }), expected, "{lock}");
    }
    for (kinds, expected) in [("monitor", 1), ("lock", 0)] {
        let kinds = Kinds::parse(kinds).unwrap();
        assert_eq!(count(Filter { kinds, ..Filter::default() }), expected);
    }
}

#[test]
fn recursion_has_an_outer_frame_for_each_lock() {
    let mut scenario = Scenario::new(&[]);
    let class = scenario.class("a/Node");
    let place = scenario.place("a/Node.walk", 5, WaitKind::Monitor, "this");
    let stack = scenario.stack(&[
        ("a/Node.walk", 5),
        ("a/Node.child", 9),
        ("a/Node.walk", 7),
        ("a/Node.walk", 6),
        ("a/Main.main", 2),
    ]);
    let [one, two] = ["one", "two"].map(|name| scenario.thread(name));
    let held = |hash| Held { place, class, hash };
    scenario.nest(one, 1, (held(3), stack), &[held(1), held(2)]);
    scenario.nest(two, 2, (held(1), stack), &[held(4), held(3)]);
    let found = order(&[scenario.log("nodes.log")], &Filter::default());
    // 1 → 3 and 3 → 1.
    let stacks: Vec<&[String]> =
        found.cycles[0].edges.iter().map(|edge| &edge.outer_stack[..]).collect();
    let (outermost, middle) = (
        ["a.Node.walk(Node.java:5)", "a.Main.main(Main.java:2)"],
        ["a.Node.walk(Node.java:5)", "a.Node.walk(Node.java:6)", "a.Main.main(Main.java:2)"],
    );
    assert!(stacks.contains(&&outermost.map(str::to_owned)[..]), "{stacks:?}");
    assert!(stacks.contains(&&middle.map(str::to_owned)[..]), "{stacks:?}");
}

#[test]
fn a_place_that_is_not_in_the_stack_stands_alone() {
    let mut bank = Bank::new(&[]);
    let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
    bank.from = bank.scenario.place("a/Cut.off", 3, WaitKind::Monitor, "from");
    bank.transfer(ann, 1, [70, 71], None);
    bank.transfer(bob, 2, [71, 70], None);
    let found = order(&[bank.scenario.log("bank.log")], &Filter::default());
    let edge = &found.cycles[0].edges[0];
    assert_eq!(
        (&edge.outer_stack[..], edge.outer_stack_known),
        (&["a.Cut.off(Cut.java:3)".to_owned()][..], false)
    );
}

#[test]
fn what_is_lacking_is_said() {
    let lacking = |logs: &[Recording]| {
        with(logs, &Filter::default(), |findings| {
            answer(findings, &ReportOptions::default()).lacking
        })
    };
    assert!(lacking(&[]).starts_with("needs --mode trace"));
    assert!(
        lacking(&[Scenario::new(&[("identity", "false")]).log("x")])
            .starts_with("needs --identity")
    );
    assert_eq!(lacking(&[Scenario::new(&[]).log("x")]), "");
}

#[test]
fn advice_is_for_cycles() {
    let advises = |second: [u32; 2]| {
        let mut bank = Bank::new(&[]);
        let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
        bank.transfer(ann, 1, [70, 71], None);
        bank.transfer(bob, 2, second, None);
        let logs = [bank.scenario.log("bank.log")];
        with(&logs, &Filter::default(), |it| answer(it, &ReportOptions::default()).advises)
    };
    assert_eq!([[71, 70], [70, 71]].map(advises), [true, false]);
}

#[test]
fn who_only_tries_waits_for_nothing() {
    let mut bank = Bank::new(&[("identity", "true")]);
    let [ann, bob] = ["ann", "bob"].map(|name| bank.scenario.thread(name));
    bank.transfer(ann, 5_000, [70, 71], None);
    // What is held after a try is as good as any.
    let (outer, inner) = (bank.held(bank.from, 71), bank.held(bank.to, 70));
    bank.scenario.tries(bob, 6_000, (inner, bank.stack), &[outer]);
    let found = order(&[bank.scenario.log("bank.log")], &Filter::default());
    assert_eq!((found.cycles.len(), found.harmless.len()), (0, 0));
    assert_eq!((found.locks, found.edges, found.nestings, found.unidentified), (2, 1, 2, 0));
}
