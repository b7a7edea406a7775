//! `tyrion sample --json`: what the tree shows, for machines.

use super::live::unrecorded;
use crate::support::{Jdk, on_jdks, stdout_of, tyrion};
use serde_json::Value;

on_jdks!(json: one);

fn json(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id().to_string();
    let sample = |more: &[&str]| -> Value {
        let mut sample = tyrion();
        sample.args(["sample", &pid, "--period=20ms", "--json"]).args(more);
        serde_json::from_str(&stdout_of(&mut sample)).unwrap()
    };
    let report = sample(&["--once", "--state=all"]);
    assert_eq!((&report["schema"], &report["logs"][0]["pid"]), (&1.into(), &running.id().into()));
    let tree = &report["sections"]["tree"];
    let intervals = tree["intervals"].as_array().unwrap();
    let groups = intervals.iter().flat_map(|it| it["groups"].as_array().unwrap());
    let workers: Vec<&Value> = groups.filter(|group| group["group"] == "worker-").collect();
    assert_eq!(workers.len(), 1, "{tree}");
    assert_eq!(workers[0]["thread_count"], 4, "{tree}");
    // That nobody was seen is an answer, too.
    let nobody = sample(&["--once", "--threads=^no-thread-is-called-so$"]);
    assert_eq!(nobody["sections"]["tree"]["samples"], 0, "{nobody}");
}
