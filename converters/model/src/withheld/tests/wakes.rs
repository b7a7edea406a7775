//! Who ended waits that are not for a lock.

use super::*;
use regex::Regex;
use tyrion_wire::wake::Wake;

const GIVE: [&str; 2] = ["com.acme.Worker.run:30", "com.acme.Pool.give:60"];

impl Story {
    /// A wait that another thread ended, in a stack that may be the empty one.
    pub(super) fn woken(
        &mut self,
        thread: &str,
        waits: (&[&str], WaitKind, &str),
        (from_ms, to_ms): (u64, u64),
        (waker, waking): (&str, &[&str]),
    ) {
        self.waits(thread, waits, (from_ms, to_ms), Outcome::Granted);
        let (frames, kind, lock) = waits;
        let (site, stack) = (self.site(frames, kind, lock), self.stack(waking));
        let (waker, _) = self.thread(waker);
        let (_, lane) = self.thread(thread);
        let wait_ns = (to_ms - from_ms) * MS;
        self.log.note(lane, 0, Wake { waker, stack, site, wait_ns, late_ns: 7 }).unwrap();
    }
}

/// Three take turns with one connection, as [`borrowers`] do; the one who gave it back
/// ended the wait of the next one, and was not asked for its stack in the last turn. One
/// wait for a monitor has a waker, too, which no log of the agent would have.
fn log() -> Recording {
    let mut story = Story::new(1_000);
    for turn in 0..20 {
        for thread in 0..3 {
            let from = 10 + 3 * turn + thread;
            let waits = (&BORROW[..], WaitKind::ObjectWait, "pool");
            let waking = if turn == 19 { &[][..] } else { &GIVE };
            let waker = format!("worker-{}", (thread + 2) % 3);
            story.woken(&format!("worker-{thread}"), waits, (from, from + 2), (&waker, waking));
        }
    }
    let monitor = (&BORROW[..2], WaitKind::Monitor, "pool");
    story.woken("worker-1", monitor, (500, 501), ("worker-2", &GIVE));
    story.finish()
}

/// Waker, how many frames its stack has, how often and how long in ms.
fn told(logs: &[Recording], filter: &Filter) -> Vec<(String, usize, u64, u64)> {
    let found = Withheld::find(logs, filter);
    let names = Names(&logs[0]);
    let told = |wakes: &OtherWakes| {
        let place = &found.places()[wakes.place as usize].place;
        assert_eq!(place.at, "com.acme.Pool.borrow(Pool.java:42)");
        let frames = names.frames(wakes.stack).count();
        (names.thread(wakes.waker), frames, wakes.count, wakes.wait_ns / MS)
    };
    found.wakes(0).iter().map(told).collect()
}

#[test]
fn wakes_are_summed_by_place() {
    let logs = [log()];
    let mut expected: Vec<(String, usize, u64, u64)> = Vec::new();
    for worker in ["worker-0", "worker-1", "worker-2"] {
        expected.push((worker.to_owned(), 0, 1, 2));
        expected.push((worker.to_owned(), 2, 19, 38));
    }
    let sorted = |mut told: Vec<(String, usize, u64, u64)>| {
        told.sort_unstable();
        told
    };
    assert_eq!(sorted(told(&logs, &Filter::default())), expected);
    let found = Withheld::find(&logs, &Filter::default());
    assert!(found.wakes(1).is_empty(), "there is no such log");
}

/// The filter chooses the waits, so a thread is the one that waits.
#[test]
fn filters_choose_among_the_waits() {
    let logs = [log()];
    let of = |filter: Filter| {
        let told = told(&logs, &filter);
        told.iter().fold((0, 0), |sum, it| (sum.0 + it.2, sum.1 + it.3))
    };
    let thread = Some(Regex::new("worker-1").unwrap());
    let one = Filter { thread, ..Filter::default() };
    assert_eq!(of(one.clone()), (20, 40));
    assert!(told(&logs, &one).iter().all(|it| it.0 == "worker-0"), "who gives it back before");
    assert_eq!(of(Filter { lock: Some(Regex::new("Object").unwrap()), ..one.clone() }), (20, 40));
    assert_eq!(of(Filter { lock: Some(Regex::new("Other").unwrap()), ..one }), (0, 0));
    assert_eq!(of(Filter { min_wait_ns: 3 * MS, ..Filter::default() }), (0, 0));
    let until = Some(moment("15ms").unwrap());
    assert_eq!(of(Filter { until, ..Filter::default() }), (3, 6));
}

/// They are those that a profile of the same waits has, whatever the number of workers.
#[test]
fn the_profile_has_the_same_wakes() {
    let logs = [log()];
    let filter = Filter { kinds: Kinds::withheld(), ..Filter::default() };
    let profile = aggregate(&logs, &filter, &|_| {}).profile;
    let of_profile = profile.wakes.iter().map(|it| (it.count, it.blamed_ns));
    let add = |sum: (u64, u64), it: (u64, u64)| (sum.0 + it.0, sum.1 + it.1);
    let pool = |jobs| rayon::ThreadPoolBuilder::new().num_threads(jobs).build().unwrap();
    let [one, four] = [1, 4].map(|jobs| pool(jobs).install(|| Withheld::find(&logs, &filter)));
    assert_eq!(one.wakes(0), four.wakes(0));
    let told = one.wakes(0).iter().map(|it| (it.count, it.wait_ns)).fold((0, 0), add);
    assert_eq!(told, of_profile.fold((0, 0), add));
    assert_eq!(told, (60, 120 * MS));
}

/// Made-up ids take no memory.
#[test]
fn what_is_not_defined_is_unknown() {
    let mut story = Story::new(1_000);
    borrowers(&mut story, 4, 0);
    let site = story.site(&BORROW, WaitKind::ObjectWait, "pool");
    let (_, lane) = story.thread("worker-1");
    for (waker, site) in [(u32::MAX, site), (1, u32::MAX)] {
        let wake = Wake { waker, stack: u32::MAX, site, wait_ns: 5, late_ns: u64::MAX };
        story.log.note(lane, 0, wake).unwrap();
    }
    let found = Withheld::find(&[story.finish()], &Filter::default());
    let [wakes] = found.wakes(0) else { panic!("{:?}", found.wakes(0)) };
    assert_eq!((wakes.waker, wakes.stack, wakes.count, wakes.wait_ns), (0, 0, 1, 5));
}
