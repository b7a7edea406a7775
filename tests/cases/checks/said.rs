//! Verdicts as reports have them.

use crate::said::Said;
use serde_json::{Value, json};

#[test]
fn codes_are_taken_as_they_are() {
    let said = Said::of(&json!({
        "kind": "wait", "name": "Pool.borrow", "holder": null, "waiter": ["A.run", "B.run"],
        "advice": "larger-pool", "certainty": "exact", "lines": ["One.", "Two."],
        "withheld": { "lost_share": 0.5 },
    }));
    assert_eq!(said.kind, "wait");
    assert_eq!((said.name, said.holder), (vec!["Pool.borrow".to_owned()], Vec::new()));
    assert_eq!(said.waiter, ["A.run", "B.run"]);
    assert_eq!((said.advice, said.certainty), (vec!["larger-pool".to_owned()], "exact".into()));
    assert_eq!((said.withheld_share, said.lines.len()), (0.5, 2));
}

/// A verdict with a lock, and a cause.
fn lock(cause: &str, todo: &str) -> Value {
    json!({
        "finding": "locks", "lines": ["Waiting.", format!("→ {todo}"), "Next: before"],
        "withheld": null,
        "lock": {
            "lock": { "class": "a.Log", "name": "", "id": 1 }, "kinds": ["monitor"],
            "holder": "a.Log.write(Log.java:1)", "holders": "", "meanwhile": "a.Disk.sync",
            "waiter": "a.Log.write(Log.java:1)", "certainty": "exact", "cause": cause,
            "woken_by": null,
        },
    })
}

fn told(verdict: &Value) -> String {
    Said::of(verdict).to_string()
}

#[test]
fn fields_of_a_lock_become_codes() {
    let held = ": a.Log, held by a.Log.write(Log.java:1), waited for in a.Log.write(Log.java:1)";
    let long = lock("long-holds", "Hold it for less time: move out.");
    assert_eq!(told(&long), format!("lock{held}; shorten-hold"));
    assert!(Said::of(&long).holder.contains(&"a.Disk.sync".to_owned()));
    let starved = lock("owner-not-running", "Run fewer threads, or add processors: held 1 µs.");
    assert_eq!(told(&starved), format!("processors{held}; fewer-threads or more-processors"));
    let permits = lock("few-permits", "Give it more permits, or give them back sooner.");
    assert_eq!(told(&permits), format!("wait{held}; larger-pool or return-sooner"));
}

#[test]
fn other_findings_become_kinds() {
    let of = |finding: &str, rest: Value| {
        let mut verdict = json!({ "finding": finding, "lines": [] });
        verdict.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        told(&verdict)
    };
    assert_eq!(of("deadlock", json!({ "waiting": ["left"] })), "deadlock, held by left");
    let withheld = json!({ "place": "a.Pool.take", "woken_by": { "threads": "w-*", "at": null } });
    let other = of("other-waits", json!({ "withheld": withheld }));
    assert_eq!(other, "wait: a.Pool.take, held by w-*, waited for in a.Pool.take");
    let instead = |activity: &str| of("not-locks", json!({ "instead": { "activity": activity } }));
    assert_eq!(instead("idle"), "idle");
    assert_eq!(instead("native"), "outside");
    assert_eq!(instead("computing"), "computes");
    assert_eq!(instead("few-processors"), "processors; more-processors");
    assert_eq!(instead("waiting"), "unclear", "for work, or for its own threads");
    assert_eq!(of("not-recorded", json!({})), "unclear");
}
