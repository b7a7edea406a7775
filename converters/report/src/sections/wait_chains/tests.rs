//! What is told of chains.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    render::text::{self, Style},
    testing::{Crafted, found},
};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Kinds};
use tyrion_wire::WaitKind;

const RUN: [&str; 1] = ["a.Main.run:5"];
const CACHE: (WaitKind, (&str, &str)) = (WaitKind::Lock, ("a.Lock", "Cache.lock"));
const TABLE: (WaitKind, (&str, &str)) = (WaitKind::Lock, ("a.Lock", "Table.lock"));

/// Two wait 40 ms and 20 ms for a third one, which waits for a fourth one for the
/// last 30 ms of it; all end within some µs.
fn logs() -> [Recording; 1] {
    let mut log = Crafted::new(50_000_000);
    log.wait("db-1", &RUN, TABLE, 30_000_000, "flusher");
    log.wait("http-1", &RUN, CACHE, 40_000_000, "db-1");
    log.wait("http-2", &RUN, CACHE, 20_000_000, "db-1");
    log.wait("http-2", &RUN, (WaitKind::Monitor, ("a.Other", "")), 1_000, "");
    [log.finish("a.log")]
}

fn all() -> ReportOptions {
    ReportOptions { top: 0, ..ReportOptions::default() }
}

#[test]
fn sums_are_those_of_the_chains() {
    let (logs, filter) = (logs(), Filter::default());
    let findings = found(&logs, &filter);
    let chains = WaitChains::of(&findings, &all());
    assert_eq!((chains.charged.waits, chains.charged.wait_ns, chains.pending), (3, 90_000_000, 0));
    let by_end = [
        chains.charged.direct_ns,
        chains.charged.chained_ns,
        chains.charged.ring_ns,
        chains.charged.waiting_ns,
        chains.charged.unknown_ns,
        chains.charged.not_followed_ns,
    ];
    // http-1 waits 10 ms less 1 µs before db-1 does, and 1 µs after it; http-2 2 µs
    // after it.
    let before_ns = 10_000_000;
    let direct_ns = 30_000_000 + before_ns + 2_000;
    assert_eq!(by_end, [direct_ns, 90_000_000 - direct_ns, 0, 0, 0, 0]);
    assert_eq!(chains.charged.longest, 2);
    let shown =
        chains.charged.chains.iter().map(|chain| (chain.steps.len(), &*chain.end, chain.waits));
    assert_eq!(shown.collect::<Vec<_>>(), [(2, "flusher", 2), (1, "flusher", 1), (1, "db-*", 2)]);
    assert_eq!(
        chains.charged.chains.iter().map(|chain| chain.wait_ns).sum::<u64>(),
        chains.charged.wait_ns
    );
    let ends: Vec<_> =
        chains.charged.ends.iter().map(|end| (&*end.threads, end.through_ns)).collect();
    assert_eq!(ends, [("flusher", chains.charged.chained_ns), ("db-*", 0)]);
    let step = &chains.charged.chains[0].steps[1];
    assert_eq!((&*step.waiting, &*step.lock.name, step.kind), ("db-*", "Table.lock", "lock"));
    // Most of it was before the log began: from then on db-1 waits for 1 µs, http-1
    // for 2 µs and http-2 for 3 µs, for db-1 itself as soon as that does not wait.
    let [phase] = &chains.phases[..] else { panic!("{:?}", chains.phases) };
    assert_eq!((phase.start_ns, phase.duration_ns), (0, 50_000_000));
    assert_eq!((phase.wait_ns, phase.chained_ns), (6_000, 2_000));
    assert_eq!((phase.first, phase.first_ns), (Some(2), 3_000));
    let lacking = (SECTION.answer)(&findings, &all()).lacking;
    assert!(lacking.starts_with("1 µs of waiting for locks is not included: "), "{lacking}");
}

/// What is charged and what is not are together what the report says of all locks.
#[test]
fn sums_agree_with_those_of_the_report() {
    let mut log = Crafted::new(100_000_000);
    log.pass(60_000_000);
    log.wait("db-1", &RUN, TABLE, 30_000_000, "flusher");
    log.wait("http-1", &RUN, CACHE, 40_000_000, "db-1");
    log.wait("http-2", &RUN, (WaitKind::Monitor, ("a.Other", "")), 5_000_000, "");
    log.wait("idle", &RUN, (WaitKind::Condition, ("a.Queue", "")), 7_000_000, "");
    log.still_waits(("http-3", &RUN[..]), CACHE, "db-1", 90_000_000);
    let logs = [log.finish("a.log")];
    let only = |kinds: &str| Filter { kinds: Kinds::parse(kinds).unwrap(), ..Filter::default() };
    for filter in [Filter::default(), only("lock"), only("monitor"), only("condition")] {
        let findings = found(&logs, &filter);
        let chains = WaitChains::of(&findings, &all());
        let (_, contention_ns) = findings.aggregate.contention().total();
        let ended_ns = chains.charged.wait_ns - chains.pending_ns;
        assert_eq!(ended_ns + chains.unowned_ns, contention_ns, "{:?}", filter.kinds);
        let by_end = [chains.charged.direct_ns, chains.charged.chained_ns, chains.charged.ring_ns];
        assert_eq!(by_end.iter().sum::<u64>(), chains.charged.wait_ns, "{chains:?}");
        let by_chain = chains.charged.chains.iter().map(|chain| chain.wait_ns).sum::<u64>();
        let by_root = chains.charged.ends.iter().map(|end| end.wait_ns).sum::<u64>();
        let by_phase = chains.phases.iter().map(|phase| phase.wait_ns).sum::<u64>();
        assert_eq!([by_chain, by_root, by_phase], [chains.charged.wait_ns; 3]);
    }
    let filter = Filter::default();
    let chains = WaitChains::of(&found(&logs, &filter), &all());
    assert_eq!((chains.charged.waits, chains.pending, chains.pending_ns), (3, 1, 10_000_000));
    assert_eq!((chains.charged.wait_ns, chains.unowned_ns), (80_000_000, 5_000_000));
}

#[test]
fn rows_are_cut() {
    let (logs, filter) = (logs(), Filter::default());
    let options = ReportOptions { top: 1, ..ReportOptions::default() };
    let chains = WaitChains::of(&found(&logs, &filter), &options);
    assert_eq!((chains.charged.chains.len(), chains.charged.left_out), (1, 2));
    assert_eq!((chains.charged.ends.len(), chains.charged.ends_left_out), (1, 1));
    assert_eq!(chains.charged.wait_ns, 90_000_000, "of all");
}

#[test]
fn the_text_has_those_who_wait_below_those_whom_they_wait_for() {
    let (logs, filter) = (logs(), Filter::default());
    let findings = found(&logs, &filter);
    let answer = (SECTION.answer)(&findings, &all());
    assert!(answer.advises);
    let text = text::view(&answer.view, &Style::default());
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| *line == "Who waits for whom").unwrap();
    assert_eq!(
        lines[at + 1..],
        [
            "80 ms  88.9 %  flusher runs",
            "80 ms  88.9 %    db-* waits for Table.lock (a.Lock)",
            "50 ms  55.6 %      http-* waits for Cache.lock (a.Lock)",
            "10 ms  11.1 %  db-* runs",
            "10 ms  11.1 %    http-* waits for Cache.lock (a.Lock)",
        ]
    );
}

#[test]
fn without_owners_it_says_so() {
    let mut log = Crafted::new(1_000_000);
    log.wait("http-2", &RUN, CACHE, 1_000, "");
    let (logs, filter) = ([log.finish("a.log")], Filter::default());
    let findings = found(&logs, &filter);
    let answer = (SECTION.answer)(&findings, &all());
    let text = text::view(&answer.view, &Style::default());
    assert!(!answer.advises && text.starts_with("No wait has a known owner"), "{text}");
}

/// Whatever kinds are asked for, the parts are all that is charged, and together with what
/// is not charged that is all waits for locks.
#[test]
fn parts_add_up_whatever_kinds_are_asked_for() {
    let mut log = Crafted::new(200_000_000);
    log.pass(100_000_000);
    log.wait("flusher", &RUN, (WaitKind::ObjectWait, ("a.Queue", "")), 10_000_000, "http-1");
    log.wait("db-1", &RUN, TABLE, 30_000_000, "flusher");
    log.wait("db-2", &RUN, (WaitKind::LockReacquire, TABLE.1), 15_000_000, "");
    log.wait("db-3", &RUN, (WaitKind::LockReacquire, TABLE.1), 15_000_000, "flusher");
    log.wait("http-1", &RUN, CACHE, 40_000_000, "db-1");
    log.wait("http-2", &RUN, CACHE, 20_000_000, "http-1");
    let logs = [log.finish("a.log")];
    for (kinds, ns) in [(Kinds::all(), 120_000_000), (Kinds::contention(), 90_000_000)] {
        let filter = Filter { kinds, ..Filter::default() };
        let chains = WaitChains::of(&found(&logs, &filter), &all());
        let Charged { direct_ns, chained_ns, ring_ns, waiting_ns, late_ns, .. } = chains.charged;
        let Charged { unknown_ns, not_followed_ns, wait_ns, .. } = chains.charged;
        let parts =
            [direct_ns, chained_ns, ring_ns, waiting_ns, late_ns, unknown_ns, not_followed_ns];
        assert_eq!(parts.iter().sum::<u64>(), wait_ns, "{parts:?}");
        assert!(waiting_ns != 0 && chained_ns != 0, "{parts:?}");
        assert_eq!(wait_ns - chains.pending_ns + chains.unowned_ns, ns);
    }
}
