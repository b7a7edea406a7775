//! Pauses of the garbage collector: of programs that know when they had it collect.

use crate::support::{
    Jdk, Program, Recording, Report, assert_between, dump, err, info, list, number, on_jdks,
    output, stdout_of, text, tyrion,
};
use serde_json::Value;
use std::{fs::File, path::Path, process::Command};
use tyrion_formats::Collection;

on_jdks!(each_is_recorded: ends, everywhere all);
on_jdks!(each_is_recorded_when_attached: ends, everywhere all);
on_jdks!(checked_by_the_jvm: ends, everywhere all);
on_jdks!(each_collector_tells: ends, everywhere all);
on_jdks!(each_file_has_its_own: one, everywhere two);
on_jdks!(none_is_recorded_in_a_pause: one);

/// How often the program asks for a collection.
const TIMES: usize = 5;
/// Some collectors are experimental in some JDKs.
const UNLOCK: &str = "-XX:+UnlockExperimentalVMOptions";

/// With a heap that is large enough for no other collection.
fn program(jdk: &Jdk, scenario: &str) -> Program {
    ["-XX:+UseSerialGC", "-Xms256m", "-Xmn128m"]
        .iter()
        .fold(Program::truth(jdk, scenario), |program, flag| program.flag((*flag).to_owned()))
}

fn collecting(jdk: &Jdk) -> Program {
    program(jdk, &format!("collections {TIMES}"))
}

/// The pauses of a log, which are in order and do not overlap.
fn pauses(log: &Path) -> Vec<Collection> {
    let log = tyrion_formats::Recording::open(log).unwrap();
    assert_eq!((log.has_collections(), log.lost_collections()), (Some(true), 0));
    let in_order = |pair: &[Collection]| pair[0].end_ns <= pair[1].start_ns;
    let told = log.definitions().collections();
    assert!(told.windows(2).all(in_order), "{told:?}");
    assert!(told.iter().all(|it| it.start_ns < it.end_ns), "{told:?}");
    told.to_vec()
}

fn pause_ns<'p>(pauses: impl IntoIterator<Item = &'p Collection>) -> u64 {
    pauses.into_iter().map(|it| it.end_ns - it.start_ns).sum()
}

/// Those during a call, by the same clock.
fn during<'p>(pauses: &'p [Collection], call: &Value) -> Vec<&'p Collection> {
    let call = number(call, "start_ns")..=number(call, "end_ns");
    let is_in = |it: &&Collection| call.contains(&it.start_ns) && call.contains(&it.end_ns);
    pauses.iter().filter(is_in).collect()
}

/// Each call had the collector at work once, and all that is said of that agrees.
fn check(recording: &Recording) {
    let pauses = pauses(&recording.log);
    let calls = list(&recording.said, "calls");
    assert_eq!(calls.len(), TIMES);
    let of_calls: Vec<&Collection> = calls
        .iter()
        .flat_map(|call| {
            let found = during(&pauses, call);
            assert_eq!(found.len(), 1, "{call}: {pauses:?}");
            found
        })
        .collect();

    let info = recording.info();
    let told = &info["collections"];
    let longest_ns = pauses.iter().map(|it| it.end_ns - it.start_ns).max();
    assert_eq!(number(told, "count"), pauses.len() as u64);
    assert_eq!(number(told, "pause_ns"), pause_ns(&pauses));
    assert_eq!(Some(number(told, "longest_pause_ns")), longest_ns);
    let start_ns = tyrion_formats::Recording::open(&recording.log).unwrap().start_ns();
    let dumped = dump(&recording.log, &["collection"]);
    let dumped: Vec<(u64, u64)> =
        dumped.iter().map(|it| (number(it, "start_ns"), number(it, "pause_ns"))).collect();
    let expected = pauses.iter().map(|it| (it.start_ns - start_ns, it.end_ns - it.start_ns));
    assert_eq!(dumped, expected.collect::<Vec<_>>());

    // Each wait of the scenario lasts for a whole call.
    let report = Report::of(&recording.log);
    let overview = report.section("overview");
    assert_eq!(&overview["collections"], told);
    let locks = list(report.section("contended"), "locks");
    let of_program = |lock: &&Value| lock["lock"]["name"] == "Collected.door";
    let lock = locks.iter().find(of_program).unwrap_or_else(|| panic!("{locks:#?}"));
    assert_eq!(number(lock, "contended"), TIMES as u64);
    let fell_into_ns = number(lock, "in_collections_ns");
    assert_between("the lock", fell_into_ns, pause_ns(of_calls), pause_ns(&pauses));
    assert!(fell_into_ns < number(lock, "wait_ns"), "{lock}");
    let all_ns = number(overview, "in_collections_ns");
    assert_between("all locks", all_ns, fell_into_ns, number(overview, "wait_ns"));
}

fn each_is_recorded(jdk: &Jdk) {
    check(&collecting(jdk).record());
    check(&collecting(jdk).traced().record());
}

fn each_is_recorded_when_attached(jdk: &Jdk) {
    check(&collecting(jdk).attached().record());
    check(&collecting(jdk).attached().traced().record());
}

/// The JVM looks at each call that the agent makes of it.
fn checked_by_the_jvm(jdk: &Jdk) {
    let program = collecting(jdk).flag("-Xcheck:jni".to_owned()).traced();
    let mut running = program.start();
    let done = running.finish();
    assert!(done.status.success(), "{}", err(&done));
    let complaints = ["WARNING in native", "WARNING: JNI", "FATAL ERROR"];
    // The launcher of JDK 8 does that itself.
    let is_its_own = |line: &str| jdk.major == 8 && line.contains(" CallStaticObjectMethod");
    for said in [running.stdout(), err(&done)] {
        let complains = |line: &str| complaints.iter().any(|complaint| line.contains(complaint));
        assert!(!said.lines().any(|line| complains(line) && !is_its_own(line)), "{said}");
    }
    assert!(pauses(&running.log).len() >= TIMES);
}

/// Which collectors there are in a JVM, and how each tells of a call of `System.gc`: those
/// that work while the program runs have several short pauses.
fn each_collector_tells(jdk: &Jdk) {
    for collector in ["UseParallelGC", "UseG1GC", "UseZGC", "UseShenandoahGC"] {
        let flag = format!("-XX:+{collector}");
        let mut version = Command::new(jdk.java());
        version.args([UNLOCK, &flag, "-version"]);
        if !output(&mut version).status.success() {
            continue;
        }
        let program = Program::truth(jdk, &format!("collections {TIMES}"));
        let program = program.flag(UNLOCK.to_owned()).flag(flag);
        let recording = program.record();
        let pauses = pauses(&recording.log);
        for call in list(&recording.said, "calls") {
            assert!(!during(&pauses, call).is_empty(), "{collector} {call}: {pauses:?}");
        }
    }
}

/// A scenario of which each step is another file of one log.
fn each_file_has_its_own(jdk: &Jdk) {
    const STEPS: usize = 3;
    let folder = tempfile::tempdir().unwrap();
    let steps = folder.path().to_owned();
    let scenario = format!("collections {TIMES} {STEPS} {}", text(&steps));
    let first = steps.join("0.log");
    let mut running = program(jdk, &scenario).start_at(first.clone(), folder);
    let mut logs = vec![first];
    for step in 0..STEPS {
        if step != 0 {
            let log = steps.join(format!("{step}.log"));
            let pid = running.jvm().to_string();
            stdout_of(tyrion().args(["attach", &pid, "-o", text(&log)]));
            logs.push(log);
        }
        File::create(steps.join(step.to_string())).unwrap();
        running.await_line(&format!("collected {step}"));
    }
    let done = running.finish();
    assert!(done.status.success(), "{}", err(&done));
    let said: Value = serde_json::from_str(running.stdout().lines().last().unwrap()).unwrap();
    for (step, log) in logs.iter().enumerate() {
        let pauses = pauses(log);
        for call in list(&said, "calls") {
            let expected = usize::from(number(call, "step") == step as u64);
            assert_eq!(during(&pauses, call).len(), expected, "{step} {call}: {pauses:?}");
        }
    }
    // Together they are one recording.
    let paths: Vec<&Path> = logs.iter().map(|log| log.as_path()).collect();
    let report = Report::with(&paths, &["--section=overview"]);
    let count = number(&report.section("overview")["collections"], "count");
    let counts = logs.iter().map(|log| number(&info(log)["collections"], "count"));
    assert_eq!(count, counts.sum::<u64>());
}

fn none_is_recorded_in_a_pause(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let steps = folder.path().to_owned();
    let scenario = format!("collections {TIMES} 3 {}", text(&steps));
    let log = steps.join("a.log");
    let mut running = program(jdk, &scenario).start_at(log.clone(), folder);
    let step = |nth: usize| {
        File::create(steps.join(nth.to_string())).unwrap();
        running.await_line(&format!("collected {nth}"));
    };
    step(0);
    let pid = running.jvm().to_string();
    stdout_of(tyrion().args(["stop", &pid]));
    step(1);
    stdout_of(tyrion().args(["attach", &pid, "-o", text(&log)]));
    step(2);
    let done = running.finish();
    assert!(done.status.success(), "{}", err(&done));
    let said: Value = serde_json::from_str(running.stdout().lines().last().unwrap()).unwrap();
    let pauses = pauses(&log);
    for call in list(&said, "calls") {
        let expected = usize::from(number(call, "step") != 1);
        assert_eq!(during(&pauses, call).len(), expected, "{call}: {pauses:?}");
    }
}
