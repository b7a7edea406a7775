//! Who made others wait: stacks that the programs know to be guilty.

use crate::support::{Jdk, Program, Recording, TraceLog, assert_between, on_jdks};
use serde_json::Value;

on_jdks!(one_holder: everywhere three);
on_jdks!(two_holders: newest, everywhere two);
on_jdks!(long_and_short_holds: newest, everywhere all);

const KINDS: [&str; 7] = ["block", "method", "static", "lock", "write", "stamped", "semaphore"];
/// What was charged on a scenario's lock: in all, and to stacks with a method.
struct ChargeSums {
    all: u64,
    blames: Vec<Value>,
}

impl ChargeSums {
    fn of(recording: &Recording) -> ChargeSums {
        let class = format!("{}.", recording.said["class"].as_str().unwrap());
        let is_about = |blame: &&Value| {
            let stack = blame["waiter_stack"].as_array().unwrap();
            stack.iter().any(|frame| frame.as_str().unwrap().starts_with(&class))
        };
        let traced = TraceLog::of_kinds(&recording.log, &["blame"]);
        let blames: Vec<Value> = traced.records("blame").filter(is_about).cloned().collect();
        ChargeSums { all: sum(&mut blames.iter()), blames }
    }

    /// What was charged to those that took the lock in a method whose name begins so.
    fn taken_in(&self, method: &str) -> u64 {
        let is_there = |blame: &&Value| blame["at"].as_str().unwrap_or_default().contains(method);
        sum(&mut self.blames.iter().filter(is_there))
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

fn one_holder(jdk: &Jdk) {
    let mut wrong = Vec::new();
    for kind in KINDS {
        let recording = Program::truth(jdk, &format!("blame {kind} 3 40")).traced().record();
        let charged = ChargeSums::of(&recording);
        let (guilty_ns, waited_ns) = (charged.to(".guilty"), recording.number("all_wait_ns"));
        let least_ns = recording.number("guilty_ns");
        let all_ns = charged.all;
        eprintln!(
            "{kind}: {guilty_ns} guilty of {all_ns}, {least_ns} at the least, of {waited_ns}"
        );
        // All that they waited until the guilty one left is its fault.
        if guilty_ns < least_ns || all_ns > waited_ns {
            wrong.push(format!(
                "{kind}: {guilty_ns} ns of {all_ns} are the guilty holder's, of {least_ns} at the \
                 least and {waited_ns} in all"
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
        let charged = ChargeSums::of(&recording);
        let least_ns = ["guilty", "accomplice"].map(|who| recording.number(&format!("{who}_ns")));
        let waited_ns = recording.number("all_wait_ns");
        assert!(charged.all <= waited_ns, "{kind}: {} charged of {waited_ns}", charged.all);
        // What the one is to blame for is not the fault of the other.
        let own = [charged.to(".guilty"), charged.to(".accomplice")];
        assert_between(kind, own[0], least_ns[0], waited_ns - least_ns[1]);
        assert_between(kind, own[1], least_ns[1], waited_ns - least_ns[0]);
    }
}

/// Long and short holds that are taken equally often are charged by their length.
fn long_and_short_holds(jdk: &Jdk) {
    for (kind, count) in [("block", "full"), ("block", "adaptive"), ("lock", "full")] {
        let program = Program::truth(jdk, &format!("turns {kind} 1500 120 12")).traced();
        let recording = program.option(&format!("--count={count}")).record();
        let charged = ChargeSums::of(&recording);
        let own = [".guilty", ".accomplice"].map(|who| charged.taken_in(who));
        let held = ["guilty_ns", "accomplice_ns"].map(|who| recording.number(who));
        let shares = [own, held].map(|[long, short]| long as f64 / (long + short) as f64);
        let (charged, held) = (shares[0], shares[1]);
        eprintln!("{kind} {count}: {charged:.3} is charged to the long holds, they were {held:.3}");
        // By how often they are taken it would be 0.5. What it takes to take the lock counts
        // as part of a hold.
        assert!(charged > 0.75 && charged < held + 0.05, "{kind} {count}: {charged} of {held}");
    }
}
