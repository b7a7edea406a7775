//! A program with eight threads that spend known shares of their time in known
//! methods and states.

use super::{
    forebears,
    outputs::{StateRow, WATCHED, rows, samples, sum},
};
use crate::support::{Jdk, Program, Recording, list, number, on_jdks, text_of};
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

on_jdks!(alone: everywhere all);
on_jdks!(with_contention: everywhere two);

/// How far a share may be from the truth.
const OFF: f64 = 0.03;
/// How much more the share of CPU time may be wrong: at the end of each activity
/// what was used since the look before, half a period's in the mean, is charged to
/// the next.
const CARRIED: f64 = 0.02;
/// How wrong a sampler is that nobody disturbs.
const QUIET: f64 = 0.015;
/// How wrong it may be on a busy machine, with shares that are less exact.
const LOST: f64 = 0.05;
const STALL: Duration = Duration::from_millis(200);
const ATTEMPTS: usize = 3;
const SECONDS: &str = "5";
/// What a thread does less than this was not staged as it was meant to be.
const STAGED: f64 = 0.05;

/// A thread that computes looks at its clock, which is a native call, and at the
/// end of which a busy machine likes to take its CPU away.
const CLOCK: &str = "tyrion.sampling.Cpu.nanos";

/// A run.
struct ShareRun {
    recording: Recording,
    /// How wrong the sampler was that is no part of ours.
    disturbed: f64,
    /// The longest time for which this process was not let run.
    stalled: Duration,
}

impl ShareRun {
    /// Whether nobody could have told what threads were doing, because the
    /// machine stood still.
    fn is_lost(&self) -> bool {
        let is_lost = self.disturbed > LOST && self.stalled > STALL;
        if is_lost {
            eprintln!("skipped: the machine stood still for {:?}", self.stalled);
        }
        is_lost
    }
}

/// Sampling alone: what threads are blocked on, the frames tell.
fn alone(jdk: &Jdk) {
    let run = record(jdk, "sample");
    if !run.is_lost() {
        check(&run);
    }
    let unknown = |sample: &Value| sample["kind"].is_null() && sample["lock"].is_null();
    assert!(samples(&run.recording.log).iter().all(unknown), "a lock that nobody looked for");
}

/// Sampling while contention is recorded, which knows the locks.
fn with_contention(jdk: &Jdk) {
    let run = record(jdk, "contention+sample");
    if !run.is_lost() {
        check(&run);
    }
    check_lock(&run, "worker-3", "monitor", "java.lang.Object", None);
    let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    check_lock(&run, "worker-4", "lock", lock, Some("keeper-1"));
}

/// The run in which the sampler in plain Java was the least wrong: where a busy
/// machine keeps it from looking, it keeps everybody from looking.
fn record(jdk: &Jdk, mode: &str) -> ShareRun {
    let program = Program::class(jdk, &format!("tyrion.sampling.Shares {SECONDS} 20"));
    let program =
        program.option(&format!("--mode={mode}")).option("--period=20ms").preferred().alone();
    let mut best: Option<ShareRun> = None;
    for _ in 0..ATTEMPTS {
        let stalls = Stalls::watch();
        let recording = program.record();
        let stalled = stalls.longest();
        let disturbed = forebears::error(&recording);
        if best.as_ref().is_none_or(|run| disturbed < run.disturbed) {
            best = Some(ShareRun { recording, disturbed, stalled });
        }
        if disturbed <= QUIET {
            break;
        }
    }
    best.unwrap()
}

/// A thread that looks how long it is kept from running.
struct Stalls {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Stalls {
    fn watch() -> Stalls {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let (mut before, mut longest) = (Instant::now(), Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
                longest = longest.max(before.elapsed());
                before = Instant::now();
            }
            longest
        });
        Stalls { is_over, thread }
    }

    fn longest(self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn share(activity: &Value, key: &str, thread: &Value) -> f64 {
    number(activity, key) as f64 / number(thread, "lived_ns") as f64
}

/// The shares that are wrong.
pub struct Judge {
    off: f64,
    wrong: Vec<String>,
}

impl Judge {
    fn new(run: &ShareRun) -> Judge {
        let off = OFF + 2.0 * (run.disturbed - QUIET).max(0.0);
        eprintln!("disturbed by {:.4}, so each share within {off:.4}", run.disturbed);
        Judge { off, wrong: Vec::new() }
    }

    pub fn compare(&mut self, what: &str, got: f64, truth: f64) {
        self.compare_within(self.off, what, got, truth);
    }

    fn compare_within(&mut self, off: f64, what: &str, got: f64, truth: f64) {
        eprintln!("{what}: {got:.4}, truly {truth:.4}");
        if (got - truth).abs() > off {
            self.wrong.push(format!("{what}: {got:.4}, truly {truth:.4}"));
        }
    }

    #[track_caller]
    fn end(self) {
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
    }
}

fn check(run: &ShareRun) {
    for thread in list(&run.recording.said, "threads") {
        for activity in list(thread, "activities") {
            assert!(share(activity, "wall_ns", thread) >= STAGED, "{}", run.recording.said);
        }
    }
    let mut judge = Judge::new(run);
    check_threads(&mut judge, &run.recording);
    forebears::check(&mut judge, &run.recording);
    judge.end();
    forebears::check_report(&run.recording);
}

fn check_threads(judge: &mut Judge, recording: &Recording) {
    let wall = rows(&recording.log, "wall", &["--thread", WATCHED]);
    let cpu = rows(&recording.log, "cpu", &["--thread", WATCHED]);
    let threads = list(&recording.said, "threads");
    assert_eq!(threads.len(), 8, "{}", recording.said);
    for thread in threads {
        let name = text_of(thread, "thread");
        let is_own = |row: &StateRow| row.thread == name;
        let sampled_ns = sum(&wall, is_own);
        let lived = sampled_ns as f64 / number(thread, "lived_ns") as f64;
        judge.compare(&format!("{name} lived"), lived, 1.0);
        for activity in list(thread, "activities") {
            let (method, state) = (text_of(activity, "method"), text_of(activity, "state"));
            let frame = format!("{}.{method}", text_of(activity, "class"));
            let in_state =
                |row: &StateRow| row.state == state || state == "running" && row.is_in(CLOCK);
            let is_there = |row: &StateRow| is_own(row) && row.is_in(&frame) && in_state(row);
            let of_thread = |ns: u64| ns as f64 / sampled_ns.max(1) as f64;
            let what = format!("{name} {method} {state}");
            let truth = share(activity, "wall_ns", thread);
            judge.compare(&what, of_thread(sum(&wall, is_there)), truth);
            let truth = share(activity, "cpu_ns", thread);
            let what = format!("{what} cpu");
            let off = judge.off + CARRIED;
            judge.compare_within(off, &what, of_thread(sum(&cpu, is_there)), truth);
        }
    }
}

/// What a thread was blocked on is known, but for the odd moment.
fn check_lock(run: &ShareRun, thread: &str, kind: &str, class: &str, owner: Option<&str>) {
    let samples = samples(&run.recording.log);
    let of_kind = |sample: &&Value| sample["thread"] == thread && sample["kind"] == kind;
    let found: Vec<&Value> = samples.iter().filter(of_kind).collect();
    let is_known = |sample: &&&Value| {
        sample["lock_class"] == class && (owner.is_none() || sample["owner"].as_str() == owner)
    };
    let wall_ns = |sample: &Value| number(sample, "wall_ns");
    let waited_ns: u64 = found.iter().map(|sample| wall_ns(sample)).sum();
    let known_ns: u64 = found.iter().filter(is_known).map(|sample| wall_ns(sample)).sum();
    assert!(waited_ns > 0, "{thread}: {samples:#?}");
    assert!(known_ns as f64 >= 0.9 * waited_ns as f64, "{thread}: {found:#?}");
    let threads = list(&run.recording.said, "threads");
    let own = threads.iter().find(|it| it["thread"] == thread).unwrap();
    let truth = share(&list(own, "activities")[0], "wall_ns", own);
    let got = waited_ns as f64 / number(own, "lived_ns") as f64;
    let mut judge = Judge::new(run);
    judge.compare(&format!("{thread} {kind}"), got, truth);
    judge.end();
}
