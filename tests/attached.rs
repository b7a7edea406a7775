//! The same truths as of an agent that was there from the start, told by one that
//! came later; and by native methods alone, which is how it sees parks before JDK 25.

use crate::{
    attaching::start_unrecorded,
    outcomes::{check_names, check_outcomes},
    support::{
        Jdk, Program, Report, assert_between, dump, err, info, ms, on_jdks, stdout_of, text,
        tyrion, waits,
    },
    truth::{check_holders, check_threads_together},
    virtual_threads::{MANY, check_many, check_two},
};
use std::time::{Duration, Instant};

on_jdks!(holders: newest, everywhere all);
on_jdks!(threads_together: ends, everywhere three);
on_jdks!(outcomes: extremes, everywhere all);
on_jdks!(names: extremes, everywhere all);
on_jdks!(conditions: ends, everywhere all);
on_jdks!(two_virtual_threads: since(21));
on_jdks!(many_virtual_threads: only(21), everywhere newest);
on_jdks!(natives_or_probes_alone: newest, everywhere three);
on_jdks!(waits_under_way: ends, everywhere all);
on_jdks!(waits_under_way_over_a_pause: one);
on_jdks!(a_log_tells_when_recording_begins: two);
on_jdks!(names_of_virtual_threads_locks: since(21));

fn attached(jdk: &Jdk, scenario: &str) -> Program {
    Program::truth(jdk, scenario).attached()
}

fn holders(jdk: &Jdk) {
    check_holders(|scenario| attached(jdk, scenario));
}

fn threads_together(jdk: &Jdk) {
    check_threads_together(|scenario| attached(jdk, scenario));
}

fn outcomes(jdk: &Jdk) {
    let recording = attached(jdk, "outcomes").record();
    check_outcomes(&recording);
    // Where changing a class throws all compiled code away, none is changed.
    let expected = if jdk.major < 25 { "natives" } else { "natives+probes" };
    assert_eq!(info(&recording.log)["metadata"]["parks"], expected);
    let report = Report::of(&recording.log);
    assert_eq!(report.section("overview")["logs"][0]["parks"], expected);
}

fn names(jdk: &Jdk) {
    check_names(&attached(jdk, "names").record());
}

/// When a condition was signalled, nobody tells: the wait for its lock is part of
/// the one for the condition, and nothing of it is lost.
fn conditions(jdk: &Jdk) {
    for variant in ["condition", "condition-timeout"] {
        let recording =
            attached(jdk, &format!("reacquire {variant}")).option("--parks=natives").record();
        let waits = recording.waits();
        let of_awaiter = waits.iter().filter(|wait| {
            wait.thread == "awaiter" && ["condition", "lock-reacquire"].contains(&&*wait.kind)
        });
        let total_ns: u64 = of_awaiter.map(|wait| wait.wait_ns).sum();
        let bound = |name: &str| {
            recording.number(&format!("idle_{name}_ns"))
                + recording.number(&format!("wait_{name}_ns"))
        };
        assert_between(variant, total_ns, bound("least"), bound("most"));
        assert!(total_ns >= ms(150), "{variant}: {total_ns}");
        assert_eq!(recording.long_contentions().len(), 0, "{variant}: {waits:?}");
    }
}

fn two_virtual_threads(jdk: &Jdk) {
    check_two(|scenario| attached(jdk, scenario).option("--parks=natives"));
}

fn many_virtual_threads(jdk: &Jdk) {
    check_many(&attached(jdk, &format!("virtual {MANY} lock")).option("--parks=natives"));
}

/// Each of the ways that is not the usual one.
fn natives_or_probes_alone(jdk: &Jdk) {
    for option in ["--parks=natives", "--parks=probes"] {
        let program = |scenario: &str| Program::truth(jdk, scenario).option(option);
        check_holders(program);
        check_outcomes(&program("outcomes").record());
        check_names(&program("names").record());
    }
}

/// What virtual threads wait for has the same name and kind, whichever way it is seen.
fn names_of_virtual_threads_locks(jdk: &Jdk) {
    for kind in ["lock", "stamped", "semaphore"] {
        let program = Program::truth(jdk, &format!("virtual-two {kind}"));
        let [by_both, by_probes, by_natives] = ["auto", "probes", "natives"].map(|parks| {
            let program = program.clone().option(&format!("--parks={parks}"));
            let recording = program.record();
            let waits = dump(&recording.log, &["wait"]);
            let wait = waits.iter().find(|wait| {
                wait["thread"] == "vwaiter" && wait["wait_ns"].as_u64() >= Some(ms(50))
            });
            let wait = wait.unwrap_or_else(|| panic!("{kind}: {waits:?}"));
            ["kind", "lock_name", "lock_class"].map(|key| wait[key].clone())
        });
        assert_eq!((&by_natives, &by_both), (&by_probes, &by_probes), "{kind}");
        assert!(
            by_natives[1].as_str().is_some_and(|name| name.contains("Guard")),
            "{by_natives:?}"
        );
    }
}

/// The program runs while an agent that is attached puts its probes in place: that is no
/// time of which the log tells, and shares are not of it.
fn a_log_tells_when_recording_begins(jdk: &Jdk) {
    let recording = attached(jdk, "counts 4 2000 lock").option("--mode=trace").record();
    let log = tyrion_formats::Recording::open(&recording.log).unwrap();
    let pauses = log.pauses();
    assert_eq!(pauses[0].start, log.start_ns(), "{pauses:?}");
    let length_ns = log.end_ns() - log.start_ns();
    assert!(log.recorded_ns() + (pauses[0].end - pauses[0].start) <= length_ns, "{pauses:?}");
    assert!(pauses[0].end > log.start_ns() + 1_000_000, "probes take longer: {pauses:?}");
    // All of it was in the seconds after that.
    let verdict = Report::of(&recording.log).section("verdict")["lines"].to_string();
    assert!(verdict.contains("Trace mode had just put its probes"), "{verdict}");
    let begun_ns = pauses[0].end - log.start_ns();
    for wait in recording.contentions().iter().filter(|wait| wait.record == "wait") {
        assert!(wait.start_ns + wait.wait_ns >= begun_ns, "{wait:?} {begun_ns}");
    }
}

/// The threads of the scenario "under-way", and how each waits.
pub const UNDER_WAY: [(&str, &str); 6] = [
    ("waiter-lock", "lock"),
    ("waiter-read", "lock-read"),
    ("waiter-semaphore", "semaphore"),
    ("waiter-condition", "condition"),
    ("waiter-latch", "park"),
    ("waiter-park", "park"),
];

/// What threads waited for before: each of these waits is there while it lasts, and
/// once when it is over, from the attach on.
fn waits_under_way(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let program = Program::truth(jdk, "under-way");
    let program = program.flag(format!("-Dtruth.until={}", until.display()));
    let mut running = start_unrecorded(&program, folder);
    running.await_line("waiting");
    let begin = Instant::now();
    let pid = running.id().to_string();
    stdout_of(tyrion().args(["attach", "--threshold=0", "-o", text(&running.log), &pid]));
    let report = Report::with(&[&running.log], &["--section=still-waiting", "--top=0"]);
    let waiting = report.section("still-waiting")["waiting"].as_array().unwrap().clone();
    for (thread, kind, class, owner) in [
        ("waiter-lock", "lock", "ReentrantLock", "holder"),
        ("waiter-read", "lock-read", "ReentrantReadWriteLock", "holder"),
        ("waiter-semaphore", "semaphore", "Semaphore", ""),
    ] {
        let found = waiting.iter().find(|it| it["thread"] == thread);
        let found = found.unwrap_or_else(|| panic!("no {thread}: {waiting:#?}"));
        assert_eq!((&found["kind"], &found["owner"]), (&kind.into(), &owner.into()), "{found}");
        assert!(found["lock"]["class"].as_str().unwrap().ends_with(class), "{found}");
        let innermost = found["stack"][0].as_str().unwrap();
        assert!(innermost.starts_with("java.util.concurrent.locks.LockSupport.park"), "{found}");
    }
    let idle = &info(&running.log)["waiting"]["idle"];
    assert!(idle.as_u64().unwrap() >= 3, "{idle}");
    std::fs::write(&until, "").unwrap();
    let output = running.finish();
    assert!(output.status.success(), "{}", err(&output));
    let most_ns = begin.elapsed().as_nanos() as u64;
    let all = waits(&running.log);
    for (thread, kind) in UNDER_WAY {
        let of_thread: Vec<_> = all.iter().filter(|wait| wait.thread == thread).collect();
        let found = of_thread.iter().filter(|wait| wait.kind == kind);
        assert_eq!(found.clone().map(|wait| wait.count).sum::<u64>(), 1, "{thread}: {all:?}");
        assert!(found.clone().all(|wait| wait.wait_ns <= most_ns), "{of_thread:?}");
    }
}

/// The same with a pause: what ends in it, and what goes on after it.
fn waits_under_way_over_a_pause(jdk: &Jdk) {
    for goes_on in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let until = folder.path().join("until");
        let program = Program::truth(jdk, "under-way");
        let program = program.flag(format!("-Dtruth.until={}", until.display()));
        let mut running = start_unrecorded(&program, folder);
        running.await_line("waiting");
        let pid = running.id().to_string();
        let log = running.log.clone();
        let attach = || {
            stdout_of(tyrion().args(["attach", "--threshold=0", "-o", text(&log), &pid]));
        };
        let mut begin = Instant::now();
        attach();
        stdout_of(tyrion().args(["stop", &pid]));
        let mut most_ns = begin.elapsed().as_nanos() as u64;
        std::thread::sleep(Duration::from_millis(700));
        if goes_on {
            begin = Instant::now();
            attach();
        }
        std::fs::write(&until, "").unwrap();
        assert!(running.finish().status.success());
        if goes_on {
            most_ns += begin.elapsed().as_nanos() as u64;
        }
        let all = waits(&log);
        for (thread, kind) in UNDER_WAY {
            let found = all.iter().filter(|wait| wait.thread == thread && wait.kind == kind);
            let (count, wait_ns) =
                found.fold((0, 0), |(count, ns), wait| (count + wait.count, ns + wait.wait_ns));
            assert!(count <= 1 || goes_on && count <= 2, "{thread}: {all:?}");
            assert!(count >= u64::from(goes_on), "{thread}: {all:?}");
            // The pause is no time that was recorded.
            assert!(wait_ns <= most_ns, "{thread}: {wait_ns} of {most_ns}: {all:?}");
        }
    }
}
