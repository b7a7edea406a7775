//! `docs/report-json.md` names every field of the JSON, and no other.

use crate::made::root;
use serde::Serialize;
use serde_json::{Value, to_value};
use std::{collections::BTreeSet, fs};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Kinds};
use tyrion_report::{
    Collections, OwnCpu, Report, ReportOptions, SECTIONS, find,
    findings::{LockRef, LogFacts},
    render::json,
    sections::{
        blockers, contended, critical_sections, delays, dumps, lines, lock_order, near_misses,
        operations, overview, sampled, single_thread, still_waiting, timeline, tree, verdict,
        wait_chains, wakers, whatif, withheld,
    },
};

/// The chapter with this heading, up to the next one.
fn chapter(heading: &str) -> String {
    let text = fs::read_to_string(root().join("docs/report-json.md")).unwrap();
    let begin = format!("\n## {heading}\n");
    let (_, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("no chapter {heading}"));
    rest.split("\n## ").next().unwrap().to_owned()
}

/// All names of fields in a value, however deep.
fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.keys().cloned());
            fields.values().for_each(|value| names(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

fn report(log: &str, kinds: Kinds) -> Value {
    let path = root().join("testdata/logs").join(log);
    let logs = [Recording::from_bytes(log, fs::read(path).unwrap()).unwrap()];
    let filter = Filter { kinds, ..Filter::default() };
    let findings = find(&logs, &filter, &ReportOptions::default(), &|_| {});
    let report = Report::new("1.2.3", &findings, &ReportOptions::default(), &[]);
    serde_json::from_str(&json::write(&report)).unwrap()
}

/// The fields that entries of these types have, be there any or not.
fn of_types(section: &str) -> BTreeSet<String> {
    fn of<T: Default + Serialize>() -> Value {
        to_value(T::default()).unwrap()
    }
    let types = match section {
        "verdict" => vec![
            of::<verdict::Verdict>(),
            of::<verdict::Unanswered>(),
            of::<verdict::Pinned>(),
            of::<verdict::GroupLoss>(),
            of::<verdict::GuiltyLock>(),
            of::<verdict::Instead>(),
            of::<verdict::WithheldLoss>(),
            of::<verdict::Root>(),
            of::<withheld::WokenBy>(),
        ],
        "dumps" => vec![
            of::<dumps::DumpFindings>(),
            of::<dumps::StateRow>(),
            of::<dumps::DumpDeadlock>(),
            of::<dumps::DumpWaiter>(),
            of::<dumps::BlockedOn>(),
            of::<dumps::DumpHolder>(),
            of::<dumps::WaitingCrowd>(),
            of::<dumps::Unmoved>(),
            of::<dumps::IdleThreads>(),
            of::<dumps::CpuRow>(),
        ],
        "overview" => vec![
            of::<overview::Overview>(),
            of::<OwnCpu>(),
            of::<Collections>(),
            of::<LogFacts>(),
            of::<overview::ThreadTotals>(),
            of::<overview::PhaseRow>(),
            of::<overview::KindRow>(),
            of::<overview::WithheldTotals>(),
        ],
        "contended" => {
            vec![
                of::<contended::Contended>(),
                of::<contended::ContendedLock>(),
                of::<contended::ContendedInstance>(),
            ]
        }
        "blockers" => vec![
            of::<blockers::Blockers>(),
            of::<blockers::ThreadPair>(),
            of::<blockers::LockShare>(),
            of::<blockers::CodePair>(),
        ],
        "operations" => vec![
            of::<operations::Operations>(),
            of::<operations::OperationWaits>(),
            of::<operations::OperationLock>(),
            of::<operations::OperationHolder>(),
        ],
        "wakers" => vec![of::<wakers::Wakers>(), of::<wakers::WakerPair>()],
        "whatif" => {
            vec![of::<whatif::WhatIf>(), of::<whatif::WhatIfLock>(), of::<whatif::Gain>()]
        }
        "wait-chains" => vec![
            of::<wait_chains::WaitChains>(),
            of::<wait_chains::ChainEndRow>(),
            of::<wait_chains::ChainRow>(),
            of::<wait_chains::StepRow>(),
            of::<wait_chains::ChainPhase>(),
        ],
        "withheld" => vec![
            of::<withheld::WithheldWaits>(),
            of::<withheld::WithheldPlace>(),
            of::<withheld::WaitingGroup>(),
            of::<withheld::AwaitedObjects>(),
            of::<withheld::WokenBy>(),
            of::<withheld::PlaceEvidence>(),
        ],
        "single-thread" => {
            vec![of::<single_thread::SingleThread>(), of::<single_thread::SingleThreadPlace>()]
        }
        "critical-sections" => vec![
            of::<critical_sections::CriticalSections>(),
            of::<critical_sections::SectionPlace>(),
            of::<critical_sections::Holder>(),
            of::<critical_sections::Own>(),
            of::<critical_sections::SeenHold>(),
            of::<critical_sections::Meanwhile>(),
        ],
        "near-misses" => vec![
            of::<near_misses::NearMisses>(),
            of::<near_misses::NearMissLock>(),
            of::<near_misses::NearMissPair>(),
            of::<near_misses::NearMissPlaces>(),
        ],
        "lock-order" => vec![
            of::<lock_order::LockOrder>(),
            of::<lock_order::Cycle>(),
            of::<lock_order::Edge>(),
            of::<lock_order::OrderedLock>(),
            of::<lock_order::Harmless>(),
        ],
        "still-waiting" => vec![
            of::<still_waiting::StillWaiting>(),
            of::<still_waiting::Deadlock>(),
            of::<still_waiting::Waiting>(),
            of::<still_waiting::Idle>(),
        ],
        "delays" => {
            vec![
                of::<delays::DelaysAnswer>(),
                of::<delays::DelayedFunction>(),
                of::<delays::DelayedThread>(),
            ]
        }
        "timeline" => {
            vec![
                of::<timeline::WaitTimeline>(),
                of::<timeline::LockTimeline>(),
                of::<timeline::ThreadTimeline>(),
            ]
        }
        "lines" => vec![of::<lines::Lines>(), of::<lines::Line>(), of::<sampled::StateTimes>()],
        "tree" => vec![
            of::<tree::Trees>(),
            of::<tree::Interval>(),
            of::<tree::TreeGroup>(),
            of::<tree::TreeNode>(),
            of::<sampled::StateTimes>(),
        ],
        _ => panic!("add the types of {section} here"),
    };
    let mut found = BTreeSet::new();
    types.iter().for_each(|value| names(value, &mut found));
    found
}

#[test]
fn every_field_is_documented() {
    let common = chapter("The object");
    let is_in = |text: &str, name: &str| text.contains(&format!("`{name}`"));
    let mut in_lock = BTreeSet::new();
    names(&to_value(LockRef::default()).unwrap(), &mut in_lock);
    assert!(in_lock.iter().all(|name| is_in(&common, name)), "{in_lock:?}");

    let logs = [
        "v1-small.log",
        "v1-killed.log",
        "v1-trace.log",
        "v1-collections.log",
        "v1-wakers.log",
        "v1-spans.log",
    ];
    let kinds = [Kinds::contention(), Kinds::all()];
    let reports = logs.iter().flat_map(|log| kinds.map(|kinds| report(log, kinds)));
    let reports: Vec<Value> = reports.collect();
    let mut wrong = Vec::new();
    for section in SECTIONS {
        let text = chapter(section.name);
        let mut known = of_types(section.name);
        for report in &reports {
            names(&report["sections"][section.name], &mut known);
        }
        for name in &known {
            if !is_in(&text, name) && !is_in(&common, name) {
                wrong.push(format!("{}: `{name}` is not documented", section.name));
            }
        }
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        for (name, _) in rows {
            if !known.contains(name) {
                wrong.push(format!("{}: there is no `{name}`", section.name));
            }
        }
    }
    for report in &reports {
        let mut known = BTreeSet::new();
        known.extend(report.as_object().unwrap().keys().cloned());
        names(&report["logs"], &mut known);
        names(&report["options"], &mut known);
        let missing = known.iter().filter(|name| !is_in(&common, name));
        wrong.extend(missing.map(|name| format!("`{name}` is not documented")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_chapter_is_of_a_section() {
    let text = fs::read_to_string(root().join("docs/report-json.md")).unwrap();
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let sections = SECTIONS.iter().map(|section| section.name);
    let expected: Vec<&str> = ["The object"].into_iter().chain(sections).collect();
    assert_eq!(headings, expected);
}

#[test]
fn the_guide_names_every_section() {
    let guide = fs::read_to_string(root().join("docs/report.md")).unwrap();
    for section in SECTIONS {
        let name = section.name;
        let is_named =
            guide.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{name}`")));
        assert!(is_named, "docs/report.md does not say when to use {name}");
    }
}
