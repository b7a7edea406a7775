//! How long locks are held, against what the programs measure inside.

use crate::support::{Jdk, Program, Recording, TraceLog, ms, on_jdks};
use serde_json::Value;
use std::collections::BTreeSet;

on_jdks!(every_hold_measured: newest, everywhere three);
on_jdks!(a_sample_measured: one, everywhere two);
on_jdks!(every_hold_a_record: one);

/// A busy machine may disturb what a scenario stages.
const ATTEMPTS: usize = 4;
/// The same, for a sample: a hold that was disturbed spoils its site's run.
const SAMPLE_ATTEMPTS: usize = 10;
/// How many of a cell's first holds are measured.
const FIRST: u64 = 10_240;
/// Of the clock readings, ours and the program's, which stand between.
const CLOCKS: f64 = 0.05;

fn sites(recording: &Recording) -> &Vec<Value> {
    recording.said["sites"].as_array().expect("sites")
}

fn number(site: &Value, key: &str) -> u64 {
    site[key].as_u64().unwrap_or_else(|| panic!("no {key} in {site}"))
}

fn every_hold_measured(jdk: &Jdk) {
    let program = Program::truth(jdk, "holds").traced().option("--hold=all").preferred().alone();
    let mut wrong = wrong_holds(&program.record());
    // A machine that does something else just between two clock readings is
    // not to be met each time.
    for _ in 1..ATTEMPTS {
        if wrong.is_empty() {
            break;
        }
        eprintln!("once more: {wrong:?}");
        wrong = wrong_holds(&program.record());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Holds of the scenario `holds` that are more than 5 % off.
fn wrong_holds(recording: &Recording) -> Vec<String> {
    let traced = recording.traced();
    let mut wrong = Vec::new();
    for site in sites(recording) {
        let class = site["class"].as_str().unwrap();
        let (held_ns, longest_ns) = traced.held(class);
        for (what, got, expected, more) in [
            ("acquisitions", traced.taken(class).acquisitions, number(site, "count"), 0),
            ("hold", held_ns, number(site, "hold_ns"), 0),
            // What the agent does at a first acquisition may be in that hold.
            ("longest", longest_ns, number(site, "max_ns"), ms(1)),
        ] {
            let (low, high) = (expected as f64 * (1.0 - CLOCKS), expected as f64 * (1.0 + CLOCKS));
            if !(low..=high + more as f64).contains(&(got as f64)) {
                wrong.push(format!("{class}: {what} {got}, expected {expected}"));
            }
        }
    }
    wrong
}

fn every_hold_a_record(jdk: &Jdk) {
    let program = Program::truth(jdk, "holds 50").traced();
    let recording = program.option("--hold=all").option("--events=all").record();
    let traced = TraceLog::of_kinds(&recording.log, &["acquisitions", "hold"]);
    for site in sites(&recording) {
        let class = site["class"].as_str().unwrap();
        let records = traced.at_class("hold", class);
        assert_eq!(records.len() as u64, number(site, "count"), "{class}");
        let sum: u64 = records.iter().map(|record| record["hold_ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, traced.held(class).0, "{class}: records and cells");
    }
}

/// Behind the first ones one in 64 is measured, at random: the sum is estimated from n / 64 of the n
/// holds, so its relative standard error is their coefficient of variation
/// times √(64 / n). Five times that is exceeded once in a million, or, should
/// the sample be far from normal, by Chebyshev's inequality in one of 25.
///
/// A hold during which the machine did something else has nothing to do with
/// that: it lasts a thousand times as long, and counts 64 times if it is met.
/// The program tells such holds apart. If the agent's longest is one of them,
/// one was met, and the run is repeated; if not, the sample is one of the
/// others.
fn a_sample_measured(jdk: &Jdk) {
    let program = Program::truth(jdk, "sampled-holds").traced().preferred().alone();
    // What disturbs a hold only makes it longer, and 64 times when it is one of
    // those measured; an estimate that is wrong is wrong each time. A site's run
    // is its own: one that was disturbed says nothing of another.
    let mut right = BTreeSet::new();
    let mut told = Vec::new();
    for _ in 0..SAMPLE_ATTEMPTS {
        let recording = program.record();
        let traced = recording.traced();
        let disturbed = disturbed(&recording);
        let mut wrong = Vec::new();
        for site in sites(&recording) {
            let class = site["class"].as_str().unwrap().to_owned();
            if !disturbed.contains(&class) {
                match wrong_sample(&traced, site) {
                    Some(why) => wrong.push(why),
                    None => drop(right.insert(class)),
                }
            }
        }
        if right.len() >= sites(&recording).len() - 1 && wrong.is_empty() {
            return;
        }
        told.push(format!("disturbed: {disturbed:?}; wrong: {}", wrong.join("; ")));
    }
    panic!("right: {right:?}\n{}", told.join("\n"));
}

/// The classes in which the agent met a hold that the machine disturbed.
fn disturbed(recording: &Recording) -> Vec<String> {
    let traced = recording.traced();
    let classes = sites(recording).iter().map(|site| (site["class"].as_str().unwrap(), site));
    classes
        .filter(|(class, site)| traced.held(class).1 >= number(site, "outlier_means_over_ns"))
        .map(|(class, _)| class.to_owned())
        .collect()
}

fn wrong_sample(traced: &TraceLog, site: &Value) -> Option<String> {
    let class = site["class"].as_str().unwrap();
    let (count, outliers) = (number(site, "count"), number(site, "outliers"));
    assert_eq!(traced.taken(class).acquisitions, count, "{class}");
    let usual_ns = (number(site, "hold_ns") - number(site, "outliers_ns")) as f64;
    let expected = usual_ns * count as f64 / (count - outliers) as f64;
    let variation = number(site, "variation_permille") as f64 / 1000.0;
    let bound = CLOCKS + 5.0 * variation * (64.0 / count as f64).sqrt();
    let off = traced.held(class).0 as f64 / expected - 1.0;
    // A profiler that measures all of them is no test of its sampling.
    let cells = traced.at_class("acquisitions", class);
    let measured: u64 = cells.iter().map(|cell| number(cell, "measured")).sum();
    // The first ones are all measured.
    let one_in = (count - FIRST) as f64 / measured.saturating_sub(FIRST).max(1) as f64;
    eprintln!("{class}: {off:+.4} off, of at most {bound:.4}; one in {one_in:.1} measured");
    let right = off.abs() <= bound && (50.0..80.0).contains(&one_in);
    (!right).then(|| {
        format!(
            "{class}: {off:+.4} off, of at most {bound:.4}; one in {one_in:.1} measured; {site}"
        )
    })
}
