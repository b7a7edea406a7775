//! Waits by who had the lock.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::profile::{NO_OWNER, WaitRow};

impl Sample {
    /// A wait that began while a thread had the lock.
    fn owned(&mut self, thread: usize, site: usize, wait_ns: u64, owner: u32) {
        self.end_ns += 1_000;
        let (end_ns, site) = (self.end_ns, self.sites[site]);
        let wait = Wait { end_ns, wait_ns, site, owner, ..Wait::default() };
        self.log.wait(self.lanes[thread], wait).unwrap();
    }
}

const LOCK: usize = 1;

/// "main" waits for "teller-2" three times, once for itself as it seems, once for
/// nobody, and twice in a cell; "teller-1" for "main" once.
fn sample() -> Recording {
    let mut sample = Sample::new();
    sample.owned(0, LOCK, 10, 3);
    sample.owned(0, LOCK, 200, 3);
    sample.owned(0, LOCK, 30, 3);
    sample.owned(0, LOCK, 4, 1);
    sample.owned(0, LOCK, 500, 0);
    sample.cell(1, LOCK, START_NS, &[6, 1]);
    sample.owned(1, LOCK, 70, 1);
    sample.owned(1, LOCK, 8, u32::MAX);
    sample.wait(2, 0, 9);
    sample.finish()
}

/// Waiter, owner, how often, how long, and the longest.
fn rows(out: &Aggregate) -> Vec<(String, String, u64, u64, u64)> {
    let owner = |wait: &WaitRow| match out.profile.owners.get(wait.owner as usize) {
        Some(owner) => owner.label(),
        None => {
            assert_eq!(wait.owner, NO_OWNER);
            String::new()
        }
    };
    let waiter = |wait: &WaitRow| out.profile.thread_name(wait.thread);
    let row = |wait: &WaitRow| (waiter(wait), owner(wait), wait.count, wait.wait_ns, wait.max_ns);
    out.profile.waits.iter().map(row).collect()
}

fn split(logs: &[Recording], filter: &Filter, most: usize) -> (Aggregate, bool) {
    let before = run(logs, filter).profile;
    let (out, is_split) = aggregate_by_owner(logs, filter, most, &|_| {});
    assert_eq!(out.profile.check(), Ok(()));
    assert_eq!(out.profile.totals(), before.totals());
    assert!(is_split || out.profile == before);
    (out, is_split)
}

#[test]
fn waits_are_told_apart_by_owner() {
    let logs = [sample()];
    let (out, is_split) = split(&logs, &all(), 100);
    assert!(is_split);
    let row = |waiter: &str, owner: &str, count: u64, wait_ns: u64, max_ns: u64| {
        (waiter.to_owned(), owner.to_owned(), count, wait_ns, max_ns)
    };
    assert_eq!(
        rows(&out),
        [
            row("main", "main", 1, 4, 4),
            row("main", "teller-2", 3, 240, 200),
            row("main", "", 3, 507, 500),
            row("teller-1", "main", 1, 70, 70),
            row("teller-1", "", 1, 8, 70),
            row("teller-2", "", 1, 9, 9),
        ]
    );
    let owners: Vec<String> = out.profile.owners.iter().map(|it| it.label()).collect();
    assert_eq!(owners, ["main", "teller-2"]);
}

#[test]
fn filters_choose_waits_and_not_owners() {
    let logs = [sample()];
    let count = |filter: &Filter| {
        let (out, _) = split(&logs, filter, 100);
        let owned = rows(&out).into_iter().filter(|row| !row.1.is_empty());
        owned.fold((0, 0), |sum, row| (sum.0 + row.2, sum.1 + row.3))
    };
    assert_eq!(count(&Filter::default()), (5, 314));
    assert_eq!(count(&Filter { min_wait_ns: 30, ..all() }), (3, 300));
    let thread = Some(Regex::new("^teller").unwrap());
    assert_eq!(count(&Filter { thread, ..all() }), (1, 70));
    let lock = Some(Regex::new("Bank").unwrap());
    assert_eq!(count(&Filter { lock, ..all() }), (0, 0));
    let until = Some(moment("2us").unwrap());
    assert_eq!(count(&Filter { until, ..all() }), (1, 10));
}

#[test]
fn threads_of_two_logs_stay_apart() {
    let logs = [sample(), sample()];
    let (out, _) = split(&logs, &all(), 100);
    let runs: Vec<u32> = out.profile.owners.iter().map(|owner| owner.run).collect();
    assert_eq!(runs, [0, 0, 1, 1]);
    let half = rows(&out).len() / 2;
    assert_eq!(rows(&out)[..half], rows(&out)[half..]);
}

/// However many workers there are.
#[test]
fn too_many_sums_change_nothing() {
    let logs = [sample()];
    for workers in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| {
            assert!(!split(&logs, &all(), 2).1);
            assert!(split(&logs, &all(), 3).1);
        });
    }
}

#[test]
fn groups_of_owners_are_merged_with_those_of_waiters() {
    let logs = [sample()];
    let (out, _) = split(&logs, &all(), 100);
    let by = crate::grouping::Grouping::parse("s/.*/all/").unwrap();
    let profile = crate::grouping::group(out.profile.clone(), &by);
    assert_eq!(profile.check(), Ok(()));
    let sums: Vec<_> =
        profile.waits.iter().map(|wait| (wait.owner, wait.count, wait.wait_ns)).collect();
    assert_eq!(sums, [(NO_OWNER, 1, 9), (0, 5, 314), (NO_OWNER, 4, 515)]);
    assert_eq!(profile.owners.len(), 1);
}
