//! Sections agree on which lock is which, where names do not tell.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::scenario::{Scenario, with};
use crate::{Answer, Findings, ReportOptions, Section};
use serde_json::Value;
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_model::filter::Filter;
use tyrion_wire::{WaitKind, trace::AcquisitionCell};

const MS: u64 = 1_000_000;

/// Two locks of one class that `match` calls `order`, on one line. Each of two threads
/// takes each a hundred times for a while, and waits for the first nine times, for the
/// second twice.
fn log() -> Recording {
    let mut scenario = Scenario::ended(&[("hold", "all")], 3_000 * MS);
    let threads = ["http-1", "http-2"].map(|name| scenario.thread(name));
    let class = scenario.class("java/lang/Object");
    let stack = scenario.stack(&[("a/Book.match", 12), ("a/Main.run", 5)]);
    for (bytecode, waits, hold_ns) in [(4, 9, 4 * MS), (41, 2, MS)] {
        let place = scenario.place_at("a/Book.match", (12, bytecode), WaitKind::Monitor, "order");
        let lock = scenario.lock("java/lang/Object", "order", 0);
        for (nth, &thread) in (0..).zip(&threads) {
            let mut cell = AcquisitionCell { place, class, ..AcquisitionCell::default() };
            (cell.acquisitions, cell.first_count) = (100, 100);
            (cell.first_ns, cell.max_ns) = (100 * hold_ns, hold_ns);
            scenario.acquires(thread, &cell);
            for wait in 0..waits {
                let from_ns = (u64::from(bytecode) + wait * 50 + nth * 20) * MS;
                let site = (WaitKind::Monitor, stack, lock);
                scenario.waits_at(thread, site, place, (from_ns, from_ns + 10 * MS));
            }
        }
    }
    scenario.log("book.log")
}

fn json(findings: &Findings<'_>, section: &Section) -> Value {
    let options = ReportOptions { top: 0, ..ReportOptions::default() };
    let Answer { json, .. } = (section.answer)(findings, &options);
    json
}

/// Some fields of each row, by the name of its lock.
fn rows<const N: usize>(rows: &Value, fields: [&str; N]) -> BTreeMap<String, [u64; N]> {
    let of = |row: &Value| {
        let name = row["lock"]["name"].as_str().unwrap().to_owned();
        (name, fields.map(|field| row[field].as_u64().unwrap()))
    };
    rows.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn locks_of_one_name_on_one_line_have_their_own_numbers_everywhere() {
    let names = ["order in Book.match, bytecode 4", "order in Book.match, bytecode 41"];
    let expected = |numbers: [[u64; 2]; 2]| -> BTreeMap<String, [u64; 2]> {
        names.iter().map(|name| (*name).to_owned()).zip(numbers).collect()
    };
    with(&[log()], &Filter::default(), |findings| {
        let contended = json(findings, &super::contended::SECTION);
        let found = rows(&contended["locks"], ["contended", "acquisitions"]);
        assert_eq!(found, expected([[18, 200], [4, 200]]));
        let found = rows(&contended["locks"], ["wait_ns", "hold_ns"]);
        assert_eq!(found, expected([[180 * MS, 800 * MS], [40 * MS, 200 * MS]]));
        let sections = json(findings, &super::critical_sections::SECTION);
        let found = rows(&sections["sites"], ["acquisitions", "hold_ns"]);
        assert_eq!(found, expected([[200, 800 * MS], [200, 200 * MS]]));
        let whatif = json(findings, &super::whatif::SECTION);
        let asked: Vec<&str> = whatif["locks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["lock"]["name"].as_str().unwrap())
            .collect();
        assert!(asked.iter().all(|name| names.contains(name)) && asked.len() == 2, "{whatif}");
    });
}

#[test]
fn outputs_tell_them_apart_too() {
    let profile = with(&[log()], &Filter::default(), |findings| findings.profile().clone());
    let names: Vec<&str> = profile.locks.iter().map(|lock| lock.name.as_str()).collect();
    for bytecode in [4, 41] {
        let name = format!("order in Book.match, bytecode {bytecode}");
        // One by its id, of waits, and one of all that are taken there.
        assert_eq!(names.iter().filter(|own| **own == name).count(), 2, "{names:?}");
    }
}
