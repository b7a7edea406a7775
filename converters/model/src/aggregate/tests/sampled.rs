//! Samples in, states and sums out.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    filter::States,
    profile::{NO_LOCK, SampleRow as Row},
};
use tyrion_wire::sample::{Sample as Record, ThreadState};

const MS: u64 = 1_000_000;

/// A log of which each method is a stack, and more can be made of them.
struct Sampled {
    sample: Sample,
    at_ns: u64,
}

impl Sampled {
    fn new(mode: &str) -> Sampled {
        let metadata = [("mode", mode), ("period", "50000000")];
        Sampled { sample: Sample::of(&metadata), at_ns: START_NS }
    }

    /// The stack of these frames, `class.method` outermost first, below a root.
    fn stack(&mut self, root: u32, frames: &[&str]) -> u32 {
        let log = &mut self.sample.log;
        frames.iter().fold(root, |parent, frame| {
            let (class, method) = frame.rsplit_once('.').unwrap();
            let class = log.class(&class.replace('.', "/"), "").unwrap();
            let method = log.method(class, method, "()V", 1).unwrap();
            log.stack(parent, method, 3).unwrap()
        })
    }

    /// A thread's next 50 ms.
    fn add(&mut self, thread: usize, state: ThreadState, stack: u32, cpu_ms: u64) {
        let kind_and_lock = (0, 0);
        self.add_wait(thread, state, stack, cpu_ms, kind_and_lock);
    }

    fn add_wait(
        &mut self,
        thread: usize,
        state: ThreadState,
        stack: u32,
        cpu_ms: u64,
        (kind, lock): (u32, u32),
    ) {
        self.at_ns += 50 * MS;
        let (wall_ns, cpu_ns, state) = (50 * MS, cpu_ms * MS, state.code());
        let record =
            Record { wall_ns, cpu_ns, count: 1, state, stack, kind, lock, ..Record::default() };
        self.sample.log.note(self.sample.lanes[thread], self.at_ns, record).unwrap();
    }

    fn finish(self) -> Recording {
        self.sample.finish()
    }
}

fn all_states() -> Filter {
    Filter { states: States::all(), ..Filter::default() }
}

/// The states of the rows with their real time in ms.
fn states(out: &Aggregate) -> Vec<(&'static str, u64)> {
    let mut sums: BTreeMap<State, u64> = BTreeMap::new();
    for row in &out.profile.samples {
        *sums.entry(row.state).or_default() += row.wall_ns / MS;
    }
    sums.into_iter().map(|(state, ms)| (state.name(), ms)).collect()
}

const TAKE: [&str; 4] = [
    "java.lang.Thread.run",
    "java.util.concurrent.ThreadPoolExecutor.getTask",
    "java.util.concurrent.locks.LockSupport.park",
    "jdk.internal.misc.Unsafe.park",
];
const LOCK: [&str; 5] = [
    "com.acme.Bank.pay",
    "java.util.concurrent.locks.ReentrantLock.lock",
    "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire",
    "java.util.concurrent.locks.LockSupport.park",
    "jdk.internal.misc.Unsafe.park",
];

#[test]
fn equal_samples_are_summed() {
    let mut sampled = Sampled::new("sample");
    let stack = sampled.stack(0, &["com.acme.Bank.pay"]);
    sampled.add(0, ThreadState::Running, stack, 40);
    sampled.add(0, ThreadState::Running, stack, 50);
    sampled.add(0, ThreadState::Sleeping, stack, 0);
    sampled.add(1, ThreadState::Running, stack, 10);
    let out = run(&[sampled.finish()], &Filter::default());
    let row = |thread, state, count, cpu_ms| Row {
        thread,
        stack: 1,
        state,
        lock: NO_LOCK,
        kind: None,
        count,
        wall_ns: count * 50 * MS,
        cpu_ns: cpu_ms * MS,
    };
    let expected = [
        row(0, State::Running, 2, 90),
        row(0, State::Sleeping, 1, 0),
        row(1, State::Running, 1, 10),
    ];
    assert_eq!(out.profile.samples, expected);
    assert!(out.profile.has_samples && out.profile.lacks_waits);
    assert_eq!(out.profile.runs[0].period_ns, 50 * MS);
    assert_eq!((out.sample_records, out.events), (4, 0));
    assert_eq!(out.state(State::Running).cpu_ns, 100 * MS);
}

#[test]
fn who_waits_for_work_is_hidden_and_told() {
    let mut sampled = Sampled::new("sample");
    let take = sampled.stack(0, &TAKE);
    // It may have run before it came to wait.
    sampled.add(0, ThreadState::Parked, take, 0);
    sampled.add(0, ThreadState::Parked, take, 20);
    let select = sampled.stack(0, &["com.acme.Loop.run", "sun.nio.ch.EPoll.wait"]);
    sampled.add(1, ThreadState::Native, select, 2);
    // But what is runnable may as well compute.
    sampled.add(1, ThreadState::Native, select, 3);
    sampled.add(2, ThreadState::Running, 0, 0);
    sampled.add(2, ThreadState::Running, 0, 30);
    let logs = [sampled.finish()];
    let out = run(&logs, &all_states());
    assert_eq!(states(&out), [("running", 50), ("native", 50), ("idle", 200)]);
    assert_eq!(out.notes.hidden_idle, SampleTotals::default());
    let out = run(&logs, &Filter::default());
    assert_eq!(states(&out), [("running", 50), ("native", 50)]);
    assert_eq!(out.profile.threads.len(), 2, "nothing of the first thread is shown");
    let hidden = SampleTotals { snapshots: 4, wall_ns: 200 * MS, cpu_ns: 22 * MS };
    assert_eq!((out.notes.hidden_idle, out.state(State::Idle)), (hidden, hidden));
    assert!(out.notes.lines()[0].contains("4 snapshots (200 ms)"), "{:?}", out.notes.lines());
    let states_alone = Filter { states: States::parse("native").unwrap(), ..Filter::default() };
    let out = run(&logs, &states_alone);
    assert_eq!(states(&out), [("native", 50)]);
    assert!(out.notes.lines().is_empty(), "asked for");
}

#[test]
fn parked_for_a_lock_is_blocked() {
    let mut sampled = Sampled::new("contention+sample");
    let lock = sampled.stack(0, &LOCK);
    let other = sampled.stack(0, &["com.acme.Bank.await", "jdk.internal.misc.Unsafe.park"]);
    let kind = |kind: WaitKind| u32::from(kind.code());
    // By the stack, by the agent's own events; these know better.
    sampled.add(0, ThreadState::Parked, lock, 0);
    sampled.add_wait(0, ThreadState::Parked, other, 0, (kind(WaitKind::Lock), 2));
    sampled.add_wait(0, ThreadState::Parked, lock, 0, (kind(WaitKind::LockReacquire), 1));
    sampled.add(0, ThreadState::Parked, other, 0);
    sampled.add(0, ThreadState::Running, lock, 0);
    sampled.add_wait(0, ThreadState::Blocked, other, 0, (kind(WaitKind::Monitor), 77));
    // A lock that others wait for, too, is one lock.
    sampled.sample.wait(1, 1, 10);
    let out = run(&[sampled.finish()], &all());
    assert_eq!(states(&out), [("running", 50), ("blocked", 150), ("parked", 100)]);
    let mut locks: Vec<String> = out
        .profile
        .samples
        .iter()
        .filter(|row| row.lock != NO_LOCK)
        .map(|row| format!("{} {}", row.state.name(), out.profile.lock_name(row.lock)))
        .collect();
    locks.sort();
    assert_eq!(locks, ["blocked int[]#2", "parked com.acme.Bank#1"]);
    assert_eq!(out.profile.lock_name(out.profile.waits[0].lock), "int[]#2");
    assert_eq!(out.profile.locks.len(), 2);
    assert!(!out.profile.lacks_waits);
}

#[test]
fn samples_are_split_by_the_span_that_is_asked_for() {
    let mut sampled = Sampled::new("sample");
    let stack = sampled.stack(0, &["com.acme.Bank.pay"]);
    for thread in [0, 1, 0, 1] {
        sampled.add(thread, ThreadState::Running, stack, 50);
    }
    let logs = [sampled.finish()];
    let wall_ms = |since: &str, until: &str| {
        let (since, until) = (moment(since).ok(), moment(until).ok());
        let out = run(&logs, &Filter { since, until, ..Filter::default() });
        out.profile.sample_totals().1 / MS
    };
    assert_eq!(wall_ms("0", "1s"), 200);
    assert_eq!((wall_ms("0", "110ms"), wall_ms("110ms", "1s")), (110, 90));
    assert_eq!((wall_ms("60ms", "80ms"), wall_ms("500ms", "1s")), (20, 0));
    let one = Filter { thread: Regex::new("teller-1").ok(), ..Filter::default() };
    assert_eq!(run(&logs, &one).profile.sample_totals().1, 100 * MS);
}

#[test]
fn locks_and_kinds_choose_among_samples() {
    let mut sampled = Sampled::new("contention+sample");
    let stack = sampled.stack(0, &LOCK);
    let kind = |kind: WaitKind| u32::from(kind.code());
    sampled.add(0, ThreadState::Running, stack, 50);
    sampled.add_wait(0, ThreadState::Parked, stack, 0, (kind(WaitKind::Lock), 1));
    sampled.add_wait(0, ThreadState::Parked, stack, 0, (kind(WaitKind::Condition), 1));
    // The JVM says that it is a monitor.
    sampled.add_wait(1, ThreadState::Blocked, stack, 0, (0, 2));
    sampled.add(1, ThreadState::Blocked, stack, 0);
    let logs = [sampled.finish()];
    let shown = |lock: Option<&str>, kinds: &str| {
        let lock = lock.and_then(|lock| Regex::new(lock).ok());
        let filter = Filter { lock, kinds: Kinds::parse(kinds).unwrap(), ..Filter::default() };
        let out = run(&logs, &filter);
        assert!(out.profile.has_samples);
        states(&out)
    };
    assert_eq!(shown(None, "contention"), [("running", 50), ("blocked", 150), ("parked", 50)]);
    assert_eq!(shown(Some("Bank"), "contention"), [("blocked", 50)]);
    assert_eq!(shown(Some("Bank"), "all"), [("blocked", 50), ("parked", 50)]);
    assert_eq!(shown(Some("int"), "contention"), [("blocked", 50)]);
    assert_eq!(shown(None, "monitor"), [("blocked", 100)]);
    assert_eq!(shown(None, "condition"), [("parked", 50)]);
    assert_eq!(shown(Some("none"), "all"), []);
    let out = run(&logs, &Filter { min_wait_ns: 1, ..Filter::default() });
    assert_eq!(out.profile.sample_totals().0, 5);
    assert!(out.notes.lines()[0].contains("--min-wait does not apply"));
}

/// Samples at places whose waits withhold work.
#[test]
fn withheld_waits_choose_among_samples() {
    let mut sampled = Sampled::new("contention+sample");
    let queue = |method: &str| format!("java.util.concurrent.ArrayBlockingQueue.{method}");
    let condition = u32::from(WaitKind::Condition.code());
    for method in ["put", "take"] {
        let stack = sampled.stack(0, &["com.acme.Work.run", &queue(method)]);
        let site = sampled.sample.log.site(WaitKind::Condition, stack, 1).unwrap();
        sampled.sample.sites.push(site);
        let nth = sampled.sample.sites.len() - 1;
        sampled.sample.wait(0, nth, 30 * MS);
        sampled.add_wait(0, ThreadState::Parked, stack, 0, (condition, 1));
    }
    let logs = [sampled.finish()];
    let shown = |kinds: &str| {
        let kinds = Kinds::parse(kinds).unwrap();
        let out = run(&logs, &Filter { kinds, states: States::all(), ..Filter::default() });
        (out.profile.totals(), states(&out))
    };
    assert_eq!(shown("withheld"), ((1, 30 * MS), vec![("parked", 50)]));
    assert_eq!(shown("idle"), ((2, 60 * MS), vec![("parked", 50), ("idle", 50)]));
}

#[test]
fn probes_are_not_where_threads_are() {
    let mut sampled = Sampled::new("trace+sample");
    let pay = sampled.stack(0, &["com.acme.Bank.pay"]);
    let probe = sampled.stack(pay, &["java.lang.TyrionTrace.acquired", "java.lang.Thread.self"]);
    let parks = sampled.stack(pay, &["java.lang.TyrionProbe.parkBegins"]);
    let inside = sampled.stack(probe, &["com.acme.Bank.step"]);
    let alone = sampled.stack(0, &["java.lang.TyrionTrace.acquired"]);
    for stack in [pay, probe, parks, inside, alone] {
        sampled.add(0, ThreadState::Running, stack, 50);
    }
    let out = run(&[sampled.finish()], &Filter::default());
    let rows: Vec<(usize, u64)> = out
        .profile
        .samples
        .iter()
        .map(|row| (out.profile.frames_of(row.stack).count(), row.wall_ns / MS))
        .collect();
    assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), 250);
    for row in [(0, 50), (1, 150), (4, 50)] {
        assert!(rows.contains(&row), "{row:?} in {rows:?}");
    }
}

#[test]
fn groups_are_roots_of_waits_and_samples() {
    let mut sampled = Sampled::new("contention+sample");
    let group = sampled.sample.log.group("GET /orders").unwrap();
    let stack = sampled.stack(group, &["com.acme.Bank.pay"]);
    let alone = sampled.stack(0, &["com.acme.Bank.pay"]);
    for stack in [stack, alone, group] {
        sampled.add(0, ThreadState::Running, stack, 50);
    }
    let site = sampled.sample.log.site(WaitKind::Monitor, stack, 1).unwrap();
    sampled.sample.sites.push(site);
    sampled.sample.wait(0, 4, 10);
    let out = run(&[sampled.finish()], &Filter::default());
    let groups = out.profile.groups_of_stacks();
    let of = |stack: u32| {
        let group = groups[stack as usize].map(|at| &out.profile.functions[at as usize]);
        group.map_or("none", |function| function.method.as_str())
    };
    let found: Vec<&str> = out.profile.samples.iter().map(|row| of(row.stack)).collect();
    assert_eq!(found, ["GET /orders", "GET /orders", "none"]);
    assert_eq!(of(out.profile.waits[0].stack), "GET /orders");
    assert!(out.profile.functions.iter().filter(|f| f.is_group()).count() == 1);
}

#[test]
fn logs_with_and_without_samples_are_told_apart() {
    let mut sampled = Sampled::new("sample");
    sampled.add(0, ThreadState::Running, 0, 50);
    let mut waits = Sample::new();
    waits.wait(0, 0, 10);
    let out = run(&[sampled.finish(), waits.finish()], &Filter::default());
    assert!(out.profile.has_samples && !out.profile.lacks_waits);
    assert_eq!(out.notes.without_samples, 1);
    let mut waits = Sample::new();
    waits.wait(0, 0, 10);
    let out = run(&[waits.finish()], &Filter::default());
    assert!(!out.profile.has_samples && out.notes.without_samples == 0);
}

proptest! {
    #[test]
    fn any_number_of_workers_gives_the_same(
        samples in vec((0usize..3, 1u32..8, 0usize..6, 0u64..60, 0u32..12, 0u32..4), 0..1_500),
        since_ms in prop_oneof![Just(None), (0u64..9_000).prop_map(Some)],
    ) {
        let mut sampled = Sampled::new("trace+sample");
        let group = sampled.sample.log.group("import").unwrap();
        let lock = sampled.stack(0, &LOCK);
        let stacks =
            [0, lock, sampled.stack(0, &TAKE), sampled.stack(group, &LOCK), group, 9_999];
        let mut expected = SampleTotals::default();
        let since_ns = since_ms.map_or(0, |ms| START_NS + ms * MS);
        for (thread, state, stack, cpu_ms, kind, lock) in samples {
            let state = ThreadState::from_code(state).unwrap();
            sampled.add_wait(thread, state, stacks[stack], cpu_ms, (kind, lock));
            let passed_ns = (sampled.at_ns.saturating_sub(since_ns)).min(50 * MS);
            let before = |of: u64| u128::from(of) * u128::from(50 * MS - passed_ns);
            let before = |of: u64| (before(of) / u128::from(50 * MS)) as u64;
            let after = |of: u64| of - before(of);
            expected.add(&SampleTotals {
                snapshots: if passed_ns > 0 { 1 } else { 0 },
                wall_ns: after(50 * MS),
                cpu_ns: after(cpu_ms * MS),
            });
        }
        let log = sampled.finish();
        let since = since_ms.map(|ms| crate::filter::Moment::AfterStart(ms * MS));
        let filter = Filter { since, ..all_states() };
        let results = [1, 2, 5].map(|workers| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            pool.install(|| run(std::slice::from_ref(&log), &filter))
        });
        for other in &results[1..] {
            prop_assert_eq!(&results[0].profile, &other.profile);
            prop_assert_eq!(&results[0].states, &other.states);
            prop_assert_eq!(&results[0].notes, &other.notes);
        }
        let SampleTotals { snapshots, wall_ns, cpu_ns } = expected;
        prop_assert_eq!(results[0].profile.sample_totals(), (snapshots, wall_ns, cpu_ns));
        let mut by_state = SampleTotals::default();
        results[0].states.iter().for_each(|totals| by_state.add(totals));
        prop_assert_eq!(by_state, expected);
        // What is hidden and what is shown is everything.
        let shown = run(std::slice::from_ref(&log), &Filter { states: States::default(), ..filter });
        let hidden = shown.notes.hidden_idle.wall_ns;
        prop_assert_eq!(shown.profile.sample_totals().1 + hidden, wall_ns);
    }
}
