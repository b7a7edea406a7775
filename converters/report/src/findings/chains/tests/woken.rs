//! Chains through those who end waits.

use super::*;
use tyrion_model::withheld::Verdict;
use tyrion_wire::wake::Wake;

impl Story {
    /// As [`Story::new`], of an agent that records who ends waits.
    fn with_wakers(length_ms: u64) -> Story {
        let mut story = Story::new(length_ms);
        let mut options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        options.header.mono_ns = START_NS;
        options.header.end_ns = START_NS + length_ms * MS;
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        options.header.metadata = vec![pair("recording", "r"), pair("wakers", "true")];
        story.log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        story
    }

    /// Where a thread waits until there is room in a queue, for no lock: it is kept from
    /// its work.
    fn room(&mut self, lock: &str) -> u32 {
        let mut stack = 0;
        for (class, method) in [("a/Main", "run"), ("java/util/concurrent/Queue", "put")] {
            let class = self.log.class(class, "Main.java").unwrap();
            let method = self.log.method(class, method, "()V", 1).unwrap();
            stack = self.log.stack(stack, method, 7).unwrap();
        }
        let lock = self.lock(lock);
        self.log.site(WaitKind::ObjectWait, stack, lock).unwrap()
    }

    /// A wait at a site, which another thread ended so long before its end.
    fn woken(
        &mut self,
        thread: &str,
        site: u32,
        (from_ms, to_ms): (u64, u64),
        (waker, late_ms): (&str, u64),
    ) {
        let (_, lane) = self.thread(thread);
        let (end_ns, wait_ns) = (START_NS + to_ms * MS, (to_ms - from_ms) * MS);
        let wait = tyrion_formats::write::Wait { end_ns, wait_ns, site, ..Default::default() };
        self.log.wait(lane, wait).unwrap();
        if !waker.is_empty() {
            let (waker, _) = self.thread(waker);
            let wake = Wake { waker, stack: 0, site, wait_ns, late_ns: late_ms * MS };
            self.log.note(lane, 0, wake).unwrap();
        }
    }
}

/// What is told of waits for locks, and of others.
fn told_of(logs: &[Recording], filter: &Filter) -> [Vec<String>; 2] {
    let chains = found(logs, filter, 1_000).chains;
    let WithheldChains { waits, wait_ns, chains: others } = chains.withheld.clone();
    let others = WaitChains { waits, wait_ns, chains: others, ..WaitChains::default() };
    [told(&chains), told(&others)]
}

/// One waits for room that another one makes, who waits for a lock that a third one has
/// meanwhile.
fn queue() -> Recording {
    let mut story = Story::with_wakers(100);
    let room = story.room("queue");
    story.waits("db-1", "Db.lock", (15, 35), "flusher");
    story.woken("http-1", room, (10, 50), ("db-1", 5));
    story.finish()
}

#[test]
fn waits_for_no_lock_are_charged_to_the_end_of_their_chain() {
    let logs = [queue()];
    let [locks, others] = told_of(&logs, &Filter::default());
    assert_eq!(locks, ["db-* Db.lock > flusher runs 1 20"], "nothing of the others");
    assert_eq!(
        others,
        [
            "http-* queue > db-* Db.lock > flusher runs 1 20",
            "http-* queue > db-* runs 1 15",
            "http-* queue > http-* late 1 5",
        ]
    );
    let (filter, kinds) = (Filter::default(), tyrion_model::filter::Kinds::all());
    let all = Filter { kinds, ..filter };
    assert_eq!(told_of(&logs, &all), [locks, others], "whatever kinds are asked for");
}

#[test]
fn the_filter_chooses_among_them() {
    let logs = [queue()];
    let count = |filter: Filter| found(&logs, &filter, 20).chains.withheld.waits;
    let thread = |name: &str| Some(Regex::new(name).unwrap());
    assert_eq!(count(Filter { thread: thread("http"), ..Filter::default() }), 1);
    assert_eq!(count(Filter { thread: thread("db"), ..Filter::default() }), 0);
    assert_eq!(count(Filter { lock: thread("queue"), ..Filter::default() }), 1);
    assert_eq!(count(Filter { lock: thread("Db"), ..Filter::default() }), 0);
    assert_eq!(count(Filter { min_wait_ns: 41 * MS, ..Filter::default() }), 0);
}

/// A latch has no owner, but somebody counts it down.
#[test]
fn locks_whose_owner_is_not_known_are_charged_to_who_ended_the_waits() {
    let mut story = Story::with_wakers(100);
    let latch = story.site(WaitKind::Lock, "Latch.sync");
    let queue = story.room("queue");
    story.woken("db-1", queue, (20, 30), ("flusher", 0));
    story.woken("http-1", latch, (10, 50), ("db-1", 0));
    story.woken("http-2", latch, (10, 20), ("", 0));
    let logs = [story.finish()];
    let chains = found(&logs, &Filter::default(), 1_000).chains;
    assert_eq!((chains.waits, chains.wait_ns, chains.of_locks_ns), (1, 40 * MS, 40 * MS));
    assert_eq!(
        told(&chains),
        [
            "http-* Latch.sync > db-* runs 1 30",
            "http-* Latch.sync > db-* queue > flusher runs 1 10",
        ]
    );
}

/// Who waits for work has no lock any more, whoever brings it.
#[test]
fn an_owner_that_waits_for_work_is_not_followed() {
    let told_with = |owner: &str| {
        let mut story = Story::with_wakers(100);
        let (work, latch) = (story.site(WaitKind::Park, "work"), story.site(WaitKind::Lock, "L"));
        story.woken("db-1", work, (20, 30), ("client", 0));
        match owner {
            "" => story.woken("http-1", latch, (10, 50), ("db-1", 0)),
            owner => story.waits("http-1", "L", (10, 50), owner),
        }
        told_of(&[story.finish()], &Filter::default())[0].clone()
    };
    assert_eq!(told_with("db-1"), ["http-* L > db-* runs 1 30", "http-* L > db-* waits 1 10"]);
    assert_eq!(
        told_with(""),
        ["http-* L > db-* runs 1 30", "http-* L > db-* work > client runs 1 10"],
        "the work came first"
    );
}

/// Who ended a wait may stand in the next chunk.
#[test]
fn nothing_is_lost_between_chunks() {
    let mut story = Story::with_wakers(10_000);
    let (room, latch) = (story.room("queue"), story.site(WaitKind::Lock, "L"));
    for nth in 0..2_000 {
        let span = (4 * nth, 4 * nth + 3);
        story.woken("http-1", room, span, ("db-1", 1));
        story.woken("http-2", latch, span, ("db-1", 1));
    }
    let (logs, filter) = ([story.finish()], Filter::default());
    assert!(logs[0].event_chunks().len() > 15, "chunks");
    let findings = found(&logs, &filter, 1_000);
    let chains = &findings.chains;
    assert_eq!((chains.withheld.waits, chains.withheld.wait_ns), (2_000, 6_000 * MS));
    let all = findings.other_waits.total(Verdict::Withheld);
    assert_eq!((all.count, all.wait_ns), (2_000, 6_000 * MS));
    // Whether a wait for a lock in another chunk has an owner is not known.
    assert!((1_950..=2_000).contains(&chains.waits), "{}", chains.waits);
    assert_eq!(chains.wait_ns, chains.waits * 3 * MS);
    assert_eq!(chains.of_locks_ns, chains.wait_ns);
}

/// All that is charged, in all.
fn charged_ns(chains: &[WaitChain]) -> u64 {
    chains.iter().map(|chain| chain.wait_ns).sum()
}

/// Waits of a few threads, by locks, at a queue and for work: thread, what for, from when
/// and how long, owner, and waker with how late that is.
type StoryWait = (u64, usize, (u64, u64), u64, (u64, u64));

fn random_story(mut waits: Vec<StoryWait>) -> Recording {
    waits.sort_by_key(|(.., (from, long), _, _)| from + long);
    let mut story = Story::with_wakers(140);
    let name = |nth: u64| match nth {
        5 => String::new(),
        nth => format!("{}-{nth}", ["a", "b"][nth as usize % 2]),
    };
    for (thread, what, (from, long), owner, (waker, late)) in waits {
        let (thread, span) = (name(thread), (from, from + long));
        match what {
            0 | 1 => story.waits(&thread, ["L", "M"][what], span, &name(owner)),
            what => {
                let site = match what {
                    2 => story.site(WaitKind::Lock, "L"),
                    3 => story.site(WaitKind::ObjectWait, "L"),
                    _ => story.room("queue"),
                };
                story.woken(&thread, site, span, (&name(waker), late));
            }
        }
    }
    story.finish()
}

fn random_waits() -> impl Strategy<Value = Vec<StoryWait>> {
    vec((0..5u64, 0..6usize, (0..90u64, 1..40u64), 0..6u64, (0..6u64, 0..9u64)), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Both parts add up, each by itself, and to the same with any number of workers and
    /// with any room.
    #[test]
    fn parts_add_up_in_all_ways(
        waits in random_waits(), phase_ms in 1..60u64, room in 1..40usize,
    ) {
        let (logs, filter) = ([random_story(waits)], Filter::default());
        let pool = |jobs| rayon::ThreadPoolBuilder::new().num_threads(jobs).build().unwrap();
        let [one, four] = [1, 4].map(|jobs| {
            pool(jobs).install(|| found(&logs, &filter, phase_ms))
        });
        prop_assert_eq!(&one.chains, &four.chains);
        prop_assert_eq!(&one.other_waits.places, &four.other_waits.places);
        check_sums(&one.chains);
        let withheld = &one.chains.withheld;
        prop_assert_eq!(charged_ns(&withheld.chains), withheld.wait_ns);
        let of_places = one.other_waits.of(Verdict::Withheld);
        let wakers = of_places.flat_map(|(_, waits)| waits.wakers.iter().map(|it| it.waits));
        let woken = wakers.fold((0, 0), |sum, it| (sum.0 + it.count, sum.1 + it.wait_ns));
        prop_assert_eq!((withheld.waits, withheld.wait_ns), woken, "as the places say");
        let contention_ns = one.aggregate.contention().total().1;
        prop_assert!(one.chains.of_locks_ns <= contention_ns);
        // With little room, whoever finds what first.
        let axis = Axis::of(&logs, &filter, phase_ms * MS);
        let judged = (&axis, &one.other_waits.judged);
        let of_few = || {
            find_with(room, &logs, &filter, judged)
        };
        let [few, four_of_few] = [1, 4].map(|jobs| pool(jobs).install(of_few));
        prop_assert_eq!(&few, &four_of_few);
        check_sums(&few);
        prop_assert_eq!(charged_ns(&few.withheld.chains), withheld.wait_ns);
        prop_assert_eq!((few.withheld.waits, few.waits), (withheld.waits, one.chains.waits));
    }
}
