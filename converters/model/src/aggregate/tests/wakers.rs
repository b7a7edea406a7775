//! Who ended waits.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::profile::BlameRow;
use tyrion_wire::wake::Wake;

impl Sample {
    /// A wait, and the thread that ended it, with a stack.
    fn woken(&mut self, thread: usize, site: usize, wait_ns: u64, by: (u32, u32)) {
        self.wait(thread, site, wait_ns);
        let (waker, stack) = by;
        let wake = Wake { waker, stack, site: self.sites[site], wait_ns, late_ns: 10 };
        self.log.note(self.lanes[thread], 0, wake).unwrap();
    }
}

/// Waker, the line of its innermost frame, lock's class, kind, how often and how long.
type NamedWake = (String, Option<u32>, String, &'static str, u64, u64);

fn wakes(out: &Aggregate) -> Vec<NamedWake> {
    let profile = &out.profile;
    let row = |wake: &BlameRow| {
        let line = profile.frames_of(wake.stack).next().map(|frame| frame.line);
        let lock = profile.locks[wake.lock as usize].class.clone();
        let waker = profile.thread_name(wake.thread);
        (waker, line, lock, wake.kind.name(), wake.count, wake.blamed_ns)
    };
    profile.wakes.iter().map(row).collect()
}

const MONITOR: usize = 0;
const LOCK: usize = 1;
const OBJECT_WAIT: usize = 3;

/// "main" ended four waits, one of them without its stack, and "teller-2" one.
fn sample() -> Recording {
    let mut sample = Sample::of(&[("wakers", "true")]);
    sample.woken(1, LOCK, 500, (1, 2));
    sample.woken(1, LOCK, 700, (1, 2));
    sample.woken(2, LOCK, 90, (1, 0));
    sample.woken(1, OBJECT_WAIT, 40, (1, 3));
    sample.woken(0, LOCK, 60, (3, 3));
    sample.wait(0, MONITOR, 1_000);
    sample.finish()
}

#[test]
fn waits_are_summed_by_who_ended_them() {
    let logs = [sample()];
    let out = run(&logs, &all());
    assert!(out.profile.has_wakers);
    let (main, teller) = ("main".to_owned(), "teller-2".to_owned());
    let (bank, ints) = ("com.acme.Bank".to_owned(), "int[]".to_owned());
    assert_eq!(
        wakes(&out),
        [
            (main.clone(), None, ints.clone(), "lock", 1, 90),
            (main.clone(), Some(7), ints.clone(), "lock", 2, 1_200),
            (main, Some(23), bank, "object-wait", 1, 40),
            (teller, Some(23), ints, "lock", 1, 60),
        ]
    );
    assert_eq!(out.profile.totals(), (6, 2_390), "waits are as ever");
}

#[test]
fn filters_choose_the_waits_and_the_wakers() {
    let logs = [sample()];
    let count = |filter: &Filter| -> (u64, u64) {
        let out = run(&logs, filter);
        wakes(&out).iter().fold((0, 0), |sum, wake| (sum.0 + wake.4, sum.1 + wake.5))
    };
    assert_eq!(count(&Filter::default()), (4, 1_350), "lock contention alone");
    assert_eq!(count(&Filter { min_wait_ns: 100, ..all() }), (2, 1_200));
    let thread = Some(Regex::new("^teller").unwrap());
    assert_eq!(count(&Filter { thread, ..all() }), (1, 60), "whose stacks are shown");
    let until = Some(moment("1us").unwrap());
    assert_eq!(count(&Filter { until, ..all() }), (0, 0));
    let until = Some(moment("2us").unwrap());
    assert_eq!(count(&Filter { until, ..all() }), (1, 500));
    let lock = Some(Regex::new("Bank").unwrap());
    assert_eq!(count(&Filter { lock, ..all() }), (1, 40));
}

/// Made-up ids take no memory, and nothing is charged to what is not known.
#[test]
fn what_is_not_defined_is_unknown() {
    let mut sample = Sample::of(&[]);
    sample.woken(1, LOCK, 500, (u32::MAX, u32::MAX));
    let wake = Wake { waker: 1, stack: 2, site: 999, wait_ns: 5, late_ns: u64::MAX };
    sample.log.note(sample.lanes[1], 0, wake).unwrap();
    let logs = [sample.finish()];
    let out = run(&logs, &all());
    assert!(out.profile.has_wakers, "there is one");
    let unknown = "[unknown]".to_owned();
    assert_eq!(wakes(&out), [(unknown, None, "int[]".to_owned(), "lock", 1, 500)]);
}
