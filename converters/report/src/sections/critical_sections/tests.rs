//! Critical sections of known logs.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::testing::{Crafted, found};
use tyrion_model::filter::Filter;
use tyrion_wire::trace::AcquisitionCell;

const CACHE: (WaitKind, (&str, &str)) = (WaitKind::Monitor, ("java.lang.Object", "Cache.map"));
const TURN: (WaitKind, (&str, &str)) =
    (WaitKind::Lock, ("java.util.concurrent.locks.ReentrantLock", "Cache.turn"));

#[test]
fn sections_are_told_by_place_and_by_thread() {
    let mut log = Crafted::traced(10_000);
    log.take("main", "a.Cache.get:12", CACHE, &[100, 100, 1_000]);
    log.take("http-1", "a.Cache.get:12", CACHE, &[300]);
    log.take("http-1", "a.Cache.put:30", TURN, &[50, 70]);
    let failed = AcquisitionCell { failed: 5, reentrant: 2, ..AcquisitionCell::default() };
    log.cell("http-1", "a.Cache.put:30", TURN, failed);
    let logs = [log.finish("a.log")];
    let filter = Filter::default();
    let told = critical_sections(&found(&logs, &filter), &ReportOptions::default());
    let counts = told.total;
    assert_eq!((counts.acquisitions, counts.reentrant, counts.failed), (6, 2, 5));
    assert_eq!((counts.hold_ns, counts.mean_hold_ns, counts.measured), (1_620, Some(270), 6));
    assert_eq!(counts.longest_hold_ns, Some(1_000));
    assert_eq!((told.site_count, told.thread_count, told.thread_ns), (2, 2, Some(20_000)));

    let site = &told.sites[0];
    assert_eq!(site.place, "a.Cache.get(Cache.java:12)");
    assert_eq!(
        (site.lock.label().as_str(), site.kind),
        ("Cache.map (java.lang.Object)", "monitor")
    );
    assert_eq!((site.threads, site.counts.acquisitions, site.counts.hold_ns), (2, 4, 1_500));
    assert_eq!(site.thread_share, Some(0.075));
    // To a power of two: 64 to 127, and the last one is known.
    let p50_ns = site.p50_hold_ns.unwrap();
    assert!((64..128).contains(&p50_ns), "{p50_ns}");
    assert_eq!(site.p99_hold_ns, Some(1_000));

    let holder = &told.threads[1];
    assert_eq!((holder.thread.as_str(), holder.counts.hold_ns), ("http-1", 420));
    assert_eq!(holder.thread_share, Some(0.042));
    let own: Vec<_> =
        holder.sections.iter().map(|own| (own.place.as_str(), own.counts.hold_ns)).collect();
    assert_eq!(own, [("a.Cache.get(Cache.java:12)", 300), ("a.Cache.put(Cache.java:30)", 120)]);
    assert_eq!(holder.sections[1].counts.failed, 5);
    assert_eq!(holder.sections[0].thread_share, Some(0.03));
}

#[test]
fn what_was_not_measured_is_not_known() {
    let mut log = Crafted::traced(10_000);
    let cell = AcquisitionCell { acquisitions: 7, ..AcquisitionCell::default() };
    log.cell("main", "a.Cache.get:12", CACHE, cell);
    let logs = [log.finish("a.log")];
    let filter = Filter::default();
    let told = critical_sections(&found(&logs, &filter), &ReportOptions::default());
    let site = &told.sites[0];
    assert_eq!((site.counts.acquisitions, site.counts.mean_hold_ns), (7, None));
    assert_eq!(
        (site.p50_hold_ns, site.counts.longest_hold_ns, site.thread_share),
        (None, None, None)
    );
}

#[test]
fn contention_mode_knows_nothing_of_them() {
    let mut log = Crafted::new(10_000);
    log.wait("main", &["a.Main.run:1"], CACHE, 5, "");
    let logs = [log.finish("a.log")];
    let filter = Filter::default();
    let told = answer(&found(&logs, &filter), &ReportOptions::default());
    assert!(told.lacking.starts_with("needs --mode trace"), "{}", told.lacking);
    assert!(told.view.parts.is_empty());
    assert_eq!(told.json["sites"].as_array().unwrap().len(), 0);
}

#[test]
fn time_filters_leave_them_out() {
    let mut log = Crafted::traced(10_000);
    log.take("main", "a.Cache.get:12", CACHE, &[100]);
    let logs = [log.finish("a.log")];
    let filter = Filter { min_wait_ns: 5, ..Filter::default() };
    let told = answer(&found(&logs, &filter), &ReportOptions::default());
    assert!(told.lacking.contains("leave out --since"), "{}", told.lacking);
}

#[test]
fn top_cuts_lists_and_no_totals() {
    let mut log = Crafted::traced(10_000);
    for thread in 0..5u64 {
        let frame = format!("a.Cache.get:{thread}");
        log.take(&format!("http-{thread}"), &frame, CACHE, &[100 + thread]);
    }
    let logs = [log.finish("a.log")];
    let filter = Filter::default();
    let options = ReportOptions { top: 2, ..ReportOptions::default() };
    let told = critical_sections(&found(&logs, &filter), &options);
    assert_eq!((told.sites.len(), told.threads.len()), (2, 2));
    assert_eq!((told.site_count, told.thread_count, told.total.hold_ns), (5, 5, 510));
    assert_eq!(told.sites[0].place, "a.Cache.get(Cache.java:4)");
}

#[test]
fn names_decide_among_equals() {
    let mut log = Crafted::traced(10_000);
    for thread in [3, 1, 4, 2] {
        let frame = format!("a.Cache.get:{thread}");
        log.take(&format!("http-{thread}"), &frame, CACHE, &[100]);
    }
    let logs = [log.finish("a.log")];
    let filter = Filter::default();
    let options = ReportOptions { top: 2, ..ReportOptions::default() };
    let told = critical_sections(&found(&logs, &filter), &options);
    let threads: Vec<&str> = told.threads.iter().map(|it| it.thread.as_str()).collect();
    let places: Vec<&str> = told.sites.iter().map(|it| it.place.as_str()).collect();
    assert_eq!(threads, ["http-1", "http-2"]);
    assert_eq!(places, ["a.Cache.get(Cache.java:1)", "a.Cache.get(Cache.java:2)"]);
}
