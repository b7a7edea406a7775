#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use crate::{
    Findings, ReportOptions,
    sections::{contended::Contended, overview::Overview},
    testing::{Crafted, found},
};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, duration_ns, moment};
use tyrion_wire::WaitKind;

const MS: u64 = 1_000_000;
const ACCOUNT: (WaitKind, (&str, &str)) = (WaitKind::Monitor, ("com.acme.Account", "Bank.account"));
const JOURNAL: (WaitKind, (&str, &str)) = (WaitKind::Lock, ("com.acme.Journal", "Bank.journal"));

/// Waits for an account that end 1, 2 and 3 µs after the start and took 4, 6 and 10 ms,
/// and one for the journal of 5 ms. Pauses before the start, of 2 and 3 ms.
fn bank() -> Recording {
    let mut log = Crafted::collected(1_000 * MS);
    let run = ["com.acme.Bank.run:7"];
    for (nth, wait_ns) in [4 * MS, 6 * MS, 10 * MS].into_iter().enumerate() {
        log.wait(&format!("teller-{nth}"), &run, ACCOUNT, wait_ns, "");
    }
    log.wait("teller-0", &run, JOURNAL, 5 * MS, "");
    // From 3 to 1 ms before the start, and from 8 to 5.
    log.collection(3 * MS, 2 * MS);
    log.collection(8 * MS, 3 * MS);
    log.finish("bank.log")
}

fn contended(found: &Findings<'_>) -> Vec<(&'static str, Option<u64>)> {
    let contended = Contended::of(found, &ReportOptions::default());
    contended.locks.iter().map(|lock| (lock.kind, lock.in_collections_ns)).collect()
}

#[test]
fn what_fell_into_pauses_is_told_by_lock() {
    let (logs, filter) = ([bank()], Filter::default());
    let found = found(&logs, &filter);
    // The second wait began 6 ms before its end, in the earlier pause.
    let of_account = 2 * MS + (2 * MS + MS - 2_000) + (2 * MS + 3 * MS);
    assert_eq!(contended(&found), [("monitor", Some(of_account)), ("lock", Some(2 * MS))]);
    let overview = Overview::of(&found);
    let collections = overview.collections.unwrap();
    assert_eq!((collections.count, collections.lost), (2, 0));
    assert_eq!((collections.pause_ns, collections.longest_pause_ns), (5 * MS, 3 * MS));
    assert_eq!(overview.in_collections_ns, Some(of_account + 2 * MS));
    assert_eq!(overview.wait_ns, 25 * MS, "totals are as ever");
}

#[test]
fn what_is_not_asked_for_is_not_counted() {
    let logs = [bank()];
    let long = Filter { min_wait_ns: duration_ns("5ms").unwrap(), ..Filter::default() };
    let of_account = (2 * MS + MS - 2_000) + (2 * MS + 3 * MS);
    assert_eq!(
        contended(&found(&logs, &long)),
        [("monitor", Some(of_account)), ("lock", Some(2 * MS))]
    );
    // From the third wait's end on; the pauses were before.
    let late = Filter { since: Some(moment("3us").unwrap()), ..Filter::default() };
    let late = found(&logs, &late);
    assert_eq!(contended(&late), [("monitor", Some(5 * MS)), ("lock", Some(2 * MS))]);
    assert_eq!(Overview::of(&late).collections.unwrap().count, 0);
}

#[test]
fn logs_that_do_not_tell_are_no_logs_without_collections() {
    let mut log = Crafted::new(1_000 * MS);
    log.wait("teller-1", &["com.acme.Bank.run:7"], ACCOUNT, 4 * MS, "");
    let (logs, filter) = ([log.finish("bank.log")], Filter::default());
    let found = found(&logs, &filter);
    assert_eq!(contended(&found), [("monitor", None)]);
    let overview = Overview::of(&found);
    assert_eq!((overview.collections, overview.in_collections_ns), (None, None));
}
