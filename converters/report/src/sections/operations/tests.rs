//! Operations of known logs.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{testing::found, view::Part};
use std::{io::Cursor, path::Path};
use tyrion_formats::{
    Recording,
    wire::{
        cell::Cell,
        def::id,
        span::{Operation, Span},
    },
    write::{LogOptions, LogWriter, Wait},
};
use tyrion_model::filter::Filter;

fn frozen() -> Recording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/logs/v1-spans.log");
    Recording::open(&path).unwrap()
}

#[test]
fn waits_are_told_by_what_holders_did() {
    let logs = [frozen()];
    let filter = Filter::default();
    let findings = found(&logs, &filter);
    let found = operations(&findings, &ReportOptions::default());
    assert_eq!((found.waits, found.wait_ns, found.named_ns), (4, 6_006_000, 6_006_000));
    let [of] = &found.waiters[..] else { panic!("{found:?}") };
    assert_eq!((of.operation.as_deref(), of.waits), (Some("GET /price"), 4));
    let [lock] = &of.locks[..] else { panic!("{of:?}") };
    assert_eq!((lock.kind, lock.wait_ns, lock.known_ns), ("monitor", 6_006_000, 6_006_000));
    let holders: Vec<_> =
        lock.holders.iter().map(|it| (it.operation.as_str(), it.waits, it.wait_ns)).collect();
    assert_eq!(holders, [("POST /import", 4, 6_006_000)], "the folded wait, too");
    let view = answer(&findings, &ReportOptions::default()).view;
    let Some(Part::Lines(lines)) = view.parts.get(1) else { panic!("{view:?}") };
    assert_eq!(
        lines[..],
        ["GET /price waited 6.01 ms for com.acme.PriceCache#1, 100 % held by POST /import"]
    );
}

/// A thread that waits in no operation, and holders of which nothing is known.
#[test]
fn what_is_not_known_is_said() {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    let class = log.class("a/Cache", "Cache.java").unwrap();
    let get = log.method(class, "get", "()V", 20).unwrap();
    let job = log.group("evil\u{1b}[31mjob").unwrap();
    let import = log.group("import").unwrap();
    let stacks = [log.stack(id::EMPTY_STACK, get, 22).unwrap(), log.stack(job, get, 22).unwrap()];
    let lock = log.lock(class).unwrap();
    let sites = stacks.map(|stack| log.site(WaitKind::Monitor, stack, lock).unwrap());
    let thread = log.thread(31, "a-1", "main", 0).unwrap();
    let lane = log.lane(thread);
    let mut wait = |site: u32, end_ns: u64, wait_ns: u64, held: bool| {
        log.wait(lane, Wait { end_ns, wait_ns, site, ..Wait::default() }).unwrap();
        if held {
            log.note(lane, 0, Operation { stack: import, site, wait_ns }).unwrap();
            // What is made up makes no operation.
            log.note(lane, 0, Operation { stack: 999, site, wait_ns }).unwrap();
            log.note(lane, 0, Operation { stack: import, site: 999, wait_ns }).unwrap();
            log.note(lane, 0, Span { trace: [0; 2], id: 7 }).unwrap();
        }
    };
    wait(sites[0], 2_000, 100, true);
    wait(sites[1], 3_000, 300, true);
    wait(sites[1], 4_000, 100, false);
    let cell = Cell {
        thread,
        site: sites[0],
        owner: 0,
        group: 999,
        first_ns: 4_000,
        last_ns: 4_100,
        count: 1,
        sum_ns: 50,
        max_ns: 50,
        histogram: [0; 40],
    };
    log.cell(lane, &cell).unwrap();
    let bytes = log.finish().unwrap().into_inner();
    let logs = [Recording::from_bytes("a.log", bytes).unwrap()];
    let filter = Filter::default();
    let findings = found(&logs, &filter);
    let found = operations(&findings, &ReportOptions::default());
    assert_eq!((found.wait_ns, found.named_ns), (550, 400));
    let waiters: Vec<_> =
        found.waiters.iter().map(|of| (of.operation.is_some(), of.wait_ns)).collect();
    assert_eq!(waiters, [(true, 400), (false, 150)]);
    let lock = &found.waiters[0].locks[0];
    assert_eq!((lock.known_ns, lock.holders[0].wait_share), (300, 0.75));
    let view = format!("{:?}", answer(&findings, &ReportOptions::default()).view);
    assert!(!view.contains('\u{1b}') && !view.contains("\\u{1b}"), "{view}");
    assert!(view.contains("75 % held by import"), "{view}");
}
