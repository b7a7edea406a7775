//! Who made others wait: stacks that the programs know to be guilty.

use crate::support::{Jdk, Program, Recording, Traced, on_jdks};
use serde_json::Value;

on_jdks!(one_holder: all);
on_jdks!(two_holders: two);

const KINDS: [&str; 7] = ["block", "method", "static", "lock", "write", "stamped", "semaphore"];
/// Waiters come and go, and waiting ends a little after the release.
const TOLERANCE: f64 = 0.1;

/// What was charged on a scenario's lock: in all, and to stacks with a method.
struct Charged {
    all: u64,
    blames: Vec<Value>,
}

impl Charged {
    fn of(recording: &Recording) -> Charged {
        let class = format!("{}.", recording.said["class"].as_str().unwrap());
        let is_about = |blame: &&Value| {
            let stack = blame["waiter_stack"].as_array().unwrap();
            stack.iter().any(|frame| frame.as_str().unwrap().starts_with(&class))
        };
        let traced = Traced::of_kinds(&recording.log, &["blame"]);
        let blames: Vec<Value> = traced.records("blame").filter(is_about).cloned().collect();
        Charged { all: sum(&mut blames.iter()), blames }
    }

    fn to(&self, method: &str) -> u64 {
        let has = |blame: &&Value| {
            let stack = blame["stack"].as_array().unwrap();
            stack.iter().any(|frame| frame.as_str().unwrap().contains(method))
        };
        sum(&mut self.blames.iter().filter(has))
    }
}

fn sum(blames: &mut dyn Iterator<Item = &Value>) -> u64 {
    blames.map(|blame| blame["blamed_ns"].as_u64().unwrap()).sum()
}

#[track_caller]
fn check_all(recording: &Recording, charged: &Charged, what: &str) {
    let waited = recording.number("wait_ns");
    let off = charged.all as f64 / waited as f64 - 1.0;
    assert!(off.abs() < TOLERANCE, "{what}: {} charged of {waited}: {off:+.3}", charged.all);
}

fn one_holder(jdk: &Jdk) {
    let mut wrong = Vec::new();
    for kind in KINDS {
        let recording = Program::truth(jdk, &format!("blame {kind} 3 40")).traced().record();
        let charged = Charged::of(&recording);
        let (guilty, waited) = (charged.to(".guilty"), recording.number("wait_ns"));
        let share = guilty as f64 / charged.all.max(1) as f64;
        let off = charged.all as f64 / waited as f64 - 1.0;
        eprintln!("{kind}: {share:.4} guilty; {off:+.4} charged of what was waited");
        // All of the waiters' time is somebody's fault.
        if share < 0.95 || off.abs() > TOLERANCE {
            wrong.push(format!(
                "{kind}: {share:.4} of the blame is the guilty holder's, {off:+.4} charged of {waited}"
            ));
        }
        for blame in &charged.blames {
            assert_ne!(blame["waiter"], blame["thread"], "{kind}: blames itself: {blame}");
        }
        let by_guilty = charged.blames.iter().find(|blame| blame["thread"] == "guilty");
        let at = by_guilty.and_then(|blame| blame["at"].as_str()).unwrap_or_default();
        if !at.contains(".guilty") {
            wrong.push(format!("{kind}: where the guilty took the lock: {at:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn two_holders(jdk: &Jdk) {
    for kind in ["block", "method", "lock", "write"] {
        let recording = Program::truth(jdk, &format!("blame {kind} 3 30 10")).traced().record();
        let charged = Charged::of(&recording);
        check_all(&recording, &charged, kind);
        let share = |method: &str| charged.to(method) as f64 / charged.all.max(1) as f64;
        let (guilty, accomplice) = (share(".guilty"), share(".accomplice"));
        assert!((0.68..0.82).contains(&guilty), "{kind}: {guilty:.3} of 30 ms in 40");
        assert!((0.18..0.32).contains(&accomplice), "{kind}: {accomplice:.3} of 10 ms in 40");
    }
}
