//! Verdicts as reports have them.

use crate::said::Said;
use serde_json::json;

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

#[test]
fn what_is_said_is_told_in_short() {
    let said = Said::of(&json!({
        "kind": "lock", "name": "a.Log", "holder": "a.Log.write", "waiter": "a.Log.write",
        "advice": "shorten-hold", "certainty": "exact", "lines": [], "withheld": null,
    }));
    let held = "lock: a.Log, held by a.Log.write, waited for in a.Log.write; shorten-hold";
    assert_eq!(said.to_string(), held);
    let nothing = Said::of(&json!({ "kind": "idle", "advice": "nothing" }));
    assert_eq!(nothing.to_string(), "idle; nothing");
}
