use super::*;
use crate::sections::scenario::{START_NS, Scenario, with};
use crate::view::Part;
use regex::Regex;
use serde_json::json;
use tyrion_wire::trace::Held;

const KIND: WaitKind = WaitKind::Monitor;

/// A wait that has not ended.
fn pending(thread: u32, (lock, owner): (u32, u32), start_ns: u64, stack: u32) -> Pending {
    Pending { thread, kind: KIND, stack, lock, owner, start_ns, seen_ns: 9_000, flags: 0 }
}

fn found(logs: &[Recording], filter: &Filter) -> StillWaiting {
    with(logs, filter, |findings| still_waiting(findings, &ReportOptions::default()))
}

#[test]
fn a_deadlock_comes_first_and_then_who_is_behind_it() {
    let mut scenario = Scenario::new(&[]);
    let [ann, bob, cid, dan, eve] =
        ["ann", "bob", "cid", "dan", "eve"].map(|name| scenario.thread(name));
    let stack = scenario.stack(&[("a/Bank.transfer", 14), ("a/Teller.run", 7)]);
    let [from, to, other] = ["from", "to", "other"].map(|name| scenario.lock("a/Account", name, 0));
    scenario.pending(pending(dan, (other, eve), 1_000, stack));
    scenario.pending(pending(ann, (to, bob), 5_000, stack));
    scenario.pending(pending(bob, (from, ann), 6_000, stack));
    scenario.pending(pending(cid, (from, ann), 9_000, stack));
    let logs = [scenario.log("killed.log")];
    let found = found(&logs, &Filter::default());
    let stack = json!(["a.Bank.transfer(Bank.java:14)", "a.Teller.run(Teller.java:7)"]);
    let wait =
        |thread: &str, (lock, name): (u32, &str), start_ns: u64, owner: &str, state: &str| {
            json!({
                "log": "killed.log", "thread": thread, "kind": "monitor",
                "lock": {"name": name, "class": "a.Account", "id": lock},
                "since_ns": start_ns, "waited_ns": 9_000 - start_ns, "owner": owner,
                "owner_known_by": "seen", "owner_seen_before_ns": 0, "state": state, "stack": stack,
            })
        };
    let ring = [
        wait("ann", (to, "to"), 5_000, "bob", "deadlock"),
        wait("bob", (from, "from"), 6_000, "ann", "deadlock"),
    ];
    let expected = json!({
        "deadlocks": [
            {"log": "killed.log", "since_ns": 6_000, "lasted_ns": 3_000, "threads": ring},
        ],
        "deadlocks_left_out": 0, "possible_deadlocks": [], "possible_deadlocks_left_out": 0,
        "waiting": [
            ring[0], ring[1],
            wait("cid", (from, "from"), 9_000, "ann", "behind-deadlock"),
            wait("dan", (other, "other"), 1_000, "eve", "lock"),
        ],
        "left_out": 0, "idle": [], "idle_left_out": 0,
        "threads": 4, "blocked_threads": 4, "deadlocked_threads": 2, "unfinished_logs": 1,
    });
    assert_eq!(serde_json::to_value(&found).unwrap(), expected);
    let drawn = format!("{:?}", view(&found));
    assert!(drawn.contains("A deadlock of 2 threads"), "{drawn}");
    assert!(drawn.contains("waited at least") && drawn.contains("its last record"), "{drawn}");
}

/// Two threads take two monitors the other way round; nobody could ask who has
/// them, but both left a record of what they held.
fn told_by_nesting(at_ns: u64, inner_hash: u32) -> StillWaiting {
    let mut scenario = Scenario::new(&[]);
    let [ann, bob] = ["ann", "bob"].map(|name| scenario.thread(name));
    let class = scenario.class("a/Account");
    let outer = scenario.place("a/Bank.transfer", 12, KIND, "from");
    let inner = scenario.place("a/Bank.transfer", 14, KIND, "to");
    let stack = scenario.stack(&[("a/Bank.transfer", 14)]);
    let held = |place, hash| Held { place, class, hash };
    let [one, two] =
        [(70, "one"), (71, "two")].map(|(hash, it)| scenario.lock("a/Account", it, hash));
    // What went before: bob held something else.
    scenario.nest(bob, 1, (held(inner, 70), stack), &[held(outer, 99)]);
    scenario.nest(ann, at_ns, (held(inner, inner_hash), stack), &[held(outer, 70)]);
    scenario.nest(bob, at_ns, (held(inner, 70), stack), &[held(outer, 71)]);
    scenario.pending(pending(ann, (two, 0), 5_000, stack));
    scenario.pending(pending(bob, (one, 0), 5_000, stack));
    found(&[scenario.log("killed.log")], &Filter::default())
}

#[test]
fn owners_are_known_by_what_they_held_when_they_began_to_wait() {
    let by = |found: &StillWaiting| -> Vec<&'static str> {
        found.waiting.iter().map(|it| it.owner_known_by).collect()
    };
    let now = told_by_nesting(5_500, 71);
    assert_eq!((now.deadlocks.len(), by(&now)), (1, vec!["nesting"; 2]));
    let owners: Vec<&str> = now.waiting.iter().map(|it| it.owner.as_str()).collect();
    assert_eq!(owners, ["bob", "ann"]);
    let earlier = told_by_nesting(4_000, 71);
    assert_eq!((earlier.deadlocks.len(), by(&earlier)), (0, vec!["earlier-nesting"; 2]));
    assert_eq!(earlier.possible_deadlocks.len(), 1);
    // It was another lock that ann took then.
    let other = told_by_nesting(5_500, 98);
    assert_eq!((other.deadlocks.len(), by(&other)), (0, vec!["nesting", ""]));
}

#[test]
fn the_files_of_a_recording_tell_each_wait_once() {
    let file = |number: &str, java_ids: &[u64]| {
        let mut scenario = Scenario::new(&[("recording", "a"), ("file-number", number)]);
        let lock = scenario.lock("a/Account", "", 0);
        for &java_id in java_ids {
            let thread = scenario.thread_of(java_id, &format!("thread of {number}"));
            scenario.pending(pending(thread, (lock, 0), 10 * java_id, 0));
        }
        scenario.log(number)
    };
    let logs = [file("8", &[1, 2]), file("7", &[2, 3])];
    let found = found(&logs, &Filter::default());
    let mut told: Vec<_> = found.waiting.iter().map(|it| (it.since_ns, it.log.as_str())).collect();
    told.sort_unstable();
    assert_eq!(told, [(10, "8"), (20, "8"), (30, "7")]);
}

#[test]
fn the_idle_are_told_in_crowds() {
    let mut scenario = Scenario::new(&[]);
    let stack = scenario.stack(&[("java/lang/Object.wait", 0), ("a/Pool.await", 3)]);
    let lock = scenario.lock("a/Pool", "", 0);
    for number in 1..=12 {
        let thread = scenario.thread(&format!("worker-{number:02}"));
        let idle =
            Pending { kind: WaitKind::ObjectWait, ..pending(thread, (lock, 0), number, stack) };
        scenario.pending(idle);
    }
    let logs = [scenario.log("killed.log")];
    let all = found(&logs, &Filter::default());
    assert_eq!(
        (all.threads, all.blocked_threads, all.waiting.len(), all.idle.len()),
        (12, 0, 0, 1)
    );
    let idle = &all.idle[0];
    assert_eq!((idle.kind, idle.class.as_str(), idle.count), ("object-wait", "a.Pool", 12));
    assert_eq!(
        (idle.longest_ns, idle.threads.len(), idle.threads[0].as_str()),
        (11, 10, "worker-01")
    );
    let view = format!("{:?}", view(&all));
    assert!(view.contains("a.Pool.await(Pool.java:3)") && view.contains("and 2 more"), "{view}");
    let kinds = Kinds::parse("monitor").unwrap();
    assert_eq!(found(&logs, &Filter { kinds, ..Filter::default() }).idle, []);
}

#[test]
fn filters_ask_for_threads_and_locks() {
    let mut scenario = Scenario::new(&[]);
    let [ann, bob] = ["ann", "bob"].map(|name| scenario.thread(name));
    let [from, to] = ["from", "to"].map(|name| scenario.lock("a/Account", name, 0));
    scenario.pending(pending(ann, (to, bob), 1, 0));
    scenario.pending(pending(bob, (from, ann), 2, 0));
    let logs = [scenario.log("killed.log")];
    let count = |filter: Filter| {
        let found = found(&logs, &filter);
        (found.deadlocks.len(), found.waiting.len(), found.deadlocked_threads)
    };
    let regex = |text: &str| Some(Regex::new(text).unwrap());
    // The whole deadlock, if one who is in it is asked for.
    assert_eq!(count(Filter { thread: regex("ann"), ..Filter::default() }), (1, 1, 2));
    assert_eq!(count(Filter { lock: regex("^to$"), ..Filter::default() }), (1, 1, 2));
    assert_eq!(count(Filter { thread: regex("cid"), ..Filter::default() }), (0, 0, 0));
    let kinds = Kinds::parse("lock").unwrap();
    assert_eq!(count(Filter { kinds, ..Filter::default() }), (0, 0, 0));
}

/// What was true when waits began says nothing of the end, unless the owner has waited since.
#[test]
fn who_may_have_run_is_in_no_deadlock() {
    let found = |seen_ns: u64| {
        let mut scenario = Scenario::new(&[]);
        let [ann, bob] = ["ann", "bob"].map(|name| scenario.thread(name));
        let [from, to] = ["from", "to"].map(|name| scenario.lock("a/Account", name, 0));
        scenario.pending(Pending { seen_ns, ..pending(ann, (to, bob), 5_000, 0) });
        scenario.pending(Pending { seen_ns: 0, ..pending(bob, (from, ann), 6_000, 0) });
        let found = found(&[scenario.log("killed.log")], &Filter::default());
        let known = found.waiting.iter().map(|it| (it.owner_known_by, it.state)).collect();
        let known: Vec<(&str, &str)> = known;
        (found.deadlocks.len(), found.possible_deadlocks.len(), known)
    };
    let (may_be, is_one) = ("possible-deadlock", "deadlock");
    assert_eq!(found(0), (0, 1, vec![("wait", may_be), ("wait", may_be)]));
    assert_eq!(found(5_500), (0, 1, vec![("seen", may_be), ("wait", may_be)]));
    assert_eq!(found(6_500), (1, 0, vec![("seen", is_one), ("wait", is_one)]));
}

#[test]
fn rows_that_are_cut_off_are_told() {
    let mut scenario = Scenario::new(&[]);
    let names = ["ann", "bob", "cid", "dan"];
    let [ann, bob, cid, dan] = names.map(|name| scenario.thread(name));
    let [from, to] = ["from", "to"].map(|name| scenario.lock("a/Account", name, 0));
    for (thread, on) in [(ann, (to, bob)), (bob, (from, ann)), (cid, (to, bob)), (dan, (to, bob))] {
        scenario.pending(pending(thread, on, 1, 0));
    }
    let logs = [scenario.log("killed.log")];
    let left_out = |top: usize| {
        let options = ReportOptions { top, ..ReportOptions::default() };
        let found = with(&logs, &Filter::default(), |it| still_waiting(it, &options));
        let tables = view(&found).parts.into_iter().filter_map(|part| match part {
            Part::Table(table) => Some((table.title, table.rows.len(), table.left_out)),
            _ => None,
        });
        tables
            .skip(1)
            .map(|(title, rows, left_out)| {
                assert_eq!(title, "Waiting for a lock");
                (rows, left_out)
            })
            .collect::<Vec<_>>()
    };
    // Those of the deadlock come first, and stand in its own table.
    assert_eq!([1, 2, 3, 0].map(left_out), [[(0, 2)], [(0, 2)], [(1, 1)], [(2, 0)]]);
}

#[test]
fn who_waits_at_an_orderly_end_is_told() {
    let mut scenario = Scenario::ended(&[], START_NS + 100);
    let lock = scenario.lock("a/Pool", "", 0);
    let [ann, bob] = ["ann", "bob"].map(|name| scenario.thread(name));
    scenario.pending(Pending { kind: WaitKind::Park, ..pending(ann, (lock, 0), 10, 0) });
    scenario.pending(pending(bob, (lock, 0), 20, 0));
    let found = found(&[scenario.log("ended.log")], &Filter::default());
    let drawn = format!("{:?}", view(&found));
    assert!(!drawn.contains("at least"), "{drawn}");
    assert_eq!((found.threads, found.idle.len(), found.unfinished_logs), (2, 1, 0));
    assert_eq!((found.waiting[0].thread.as_str(), found.waiting[0].waited_ns), ("bob", 80));
}
