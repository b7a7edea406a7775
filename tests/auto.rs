//! `mode=auto`: the locks that cost much are traced for a while, and no other ones.

use crate::{
    attaching::start_unrecorded,
    mode_changes::{REDEFINED, WAITS, attach_to, await_more, redefined, take_step, total},
    support::{
        Jdk, Program, Report, RunningCommand, err, info, on_jdks, stdout_of, text, tyrion, wait_for,
    },
};
use serde_json::Value;
use std::path::Path;

on_jdks!(guilty_locks_are_traced_for_a_while: two);
on_jdks!(locks_of_the_jdk_are_traced_for_a_while: two);
on_jdks!(what_sees_waits_of_the_lock_stays: two);
on_jdks!(another_mode_takes_over: two);
on_jdks!(another_log_goes_on_with_it: one);
on_jdks!(attached_as_from_the_start: newest);
on_jdks!(recorded_from_the_start_in_another_mode: one);
on_jdks!(attached_where_it_would_cost_all_compiled_code: one);
on_jdks!(nothing_is_traced_without_a_guilty_lock: two);
on_jdks!(a_stop_takes_the_probes_back: two);
on_jdks!(the_end_of_the_jvm_ends_it: two);
on_jdks!(a_full_heap_keeps_no_probes: two);

const CLASS: &str = "tyrion.truth.Guilty";
/// How often the program takes a lock at a step.
const TIMES: u64 = 1000;
const AFTER: &str = "--auto-after=300ms";
/// Longer than any test.
const FOR_LONG: &str = "--auto-for=1h";
const SHORTLY: &str = "--auto-for=400ms";

/// The program, whose steps are files beside the log.
fn program(jdk: &Jdk, folder: &Path, kind: &str) -> Program {
    let told = text(&folder.join(REDEFINED)).to_owned();
    Program::truth(jdk, &format!("guilty {} {kind}", text(folder)))
        .flag("--add-opens=java.base/java.lang=ALL-UNNAMED".to_owned())
        .flag(format!("-Xlog:redefine+class+load=info:file={told}"))
}

/// The same, recorded from the start.
fn recorded(jdk: &Jdk, kind: &str, length: &str, flags: &[&str]) -> RunningCommand {
    let auto = ["--mode=auto", AFTER, length, "--holders=true"];
    recorded_with(jdk, kind, &auto, flags)
}

fn recorded_with(jdk: &Jdk, kind: &str, options: &[&str], flags: &[&str]) -> RunningCommand {
    let folder = tempfile::tempdir().unwrap();
    let mut program = program(jdk, folder.path(), kind);
    for option in options {
        program = program.option(option);
    }
    for flag in flags {
        program = program.flag((*flag).to_owned());
    }
    let log = folder.path().join("test.log");
    let running = program.start_at(log, folder);
    running.await_line("raging");
    running
}

/// Has the program do a step, to its end.
fn step(running: &RunningCommand, step: &str) {
    let said =
        |running: &RunningCommand| running.stdout().lines().filter(|line| *line == step).count();
    let before = said(running);
    take_step(running, step);
    wait_for(step, || (said(running) > before).then_some(()));
}

/// What was recorded, part by part.
fn modes(log: &Path) -> Vec<String> {
    let info = info(log);
    let spans = info["mode_spans"].as_array().unwrap();
    spans.iter().map(|span| span["mode"].as_str().unwrap().to_owned()).collect()
}

fn await_aim(running: &RunningCommand) {
    wait_for("aim", || modes(&running.log).contains(&"aimed".to_owned()).then_some(()));
}

fn await_end_of_aim(running: &RunningCommand) {
    let has_ended = || modes(&running.log).last().is_some_and(|mode| mode == "contention");
    await_aim(running);
    wait_for("end of aim", || has_ended().then_some(()));
}

/// How often the log says that locks were taken.
fn taken(log: &Path) -> u64 {
    info(log).pointer("/trace/taken/acquisitions").and_then(Value::as_u64).unwrap_or(0)
}

/// The class has changed twice, and calls no probes: they would count if they were there.
fn assert_no_probes(running: &RunningCommand) {
    wait_for("change back", || (redefined(running).get(CLASS) >= Some(&2)).then_some(()));
    step(running, "quiet");
    let before = taken(&running.log);
    step(running, "force");
    assert_eq!(taken(&running.log), before);
}

fn end(mut running: RunningCommand) -> RunningCommand {
    take_step(&running, "end");
    let ended = running.finish();
    assert!(ended.status.success(), "{}", err(&ended));
    running
}

/// Each acquisition counts while they are traced, and none of another lock of the class.
fn check_aimed(running: &RunningCommand, name: &str) {
    await_aim(running);
    step(running, "quiet");
    let before = taken(&running.log);
    step(running, "count");
    assert_eq!(taken(&running.log), before + TIMES);
    let info = info(&running.log);
    let changes = info["option_changes"].as_array().unwrap();
    let names = changes.iter().find(|change| change["option"] == "aimed").unwrap();
    assert_eq!(names["value"], name, "{info}");
}

/// What the report says of a lock that was traced for a while.
fn check_report(log: &Path, name: &str) {
    let report = Report::of(log);
    let contended = report.section("contended");
    // Threads may have waited for a class, too.
    let locks = contended["locks"].as_array().unwrap();
    let counted: Vec<_> = locks.iter().filter(|lock| !lock["acquisitions"].is_null()).collect();
    let [lock] = counted[..] else { panic!("{contended}") };
    assert_eq!(lock["lock"]["name"], name, "{lock}");
    assert!(lock["acquisitions"].as_u64().is_some_and(|taken| taken != 0), "{lock}");
    assert!(lock["mean_hold_ns"].as_u64().is_some_and(|ns| ns != 0), "{lock}");
    // Waits are of all of the time, so they are no share of the acquisitions.
    assert!(lock["miss_share"].is_null(), "{lock}");
    let (totals, apart) = (&contended["totals"], report.section("single-thread"));
    assert!(totals["acquisitions"].is_null(), "{totals}");
    assert_eq!(apart["places"].as_array().map(Vec::len), Some(0), "{apart}");
    let verdict = report.section("verdict");
    assert!(verdict["lock"]["traced_ns"].as_u64().is_some_and(|ns| ns != 0), "{verdict}");
}

fn guilty_locks_are_traced_for_a_while(jdk: &Jdk) {
    let running = recorded(jdk, "monitor", FOR_LONG, &[]);
    check_aimed(&running, "tyrion.truth.Guilty.hot");
    // Nothing else has changed, not even the JDK's locks beyond what waits need.
    let redefined_now = redefined(&running);
    assert_eq!(redefined_now.get(CLASS), Some(&1), "{redefined_now:?}");
    let (program, jdk_own): (Vec<_>, Vec<_>) =
        redefined_now.iter().partition(|(name, _)| name.starts_with("tyrion."));
    assert_eq!(program.len(), 1, "{program:?}");
    assert!(jdk_own.iter().all(|(_, times)| **times == 1), "{jdk_own:?}");
    drop(running);

    let running = recorded(jdk, "monitor", SHORTLY, &[]);
    await_end_of_aim(&running);
    assert_no_probes(&running);
    // It is known by now.
    step(&running, "rage");
    let running = end(running);
    assert_eq!(modes(&running.log), ["contention", "aimed", "contention"]);
    check_report(&running.log, "Guilty.hot");
}

fn locks_of_the_jdk_are_traced_for_a_while(jdk: &Jdk) {
    let running = recorded(jdk, "lock", FOR_LONG, &[]);
    check_aimed(&running, "tyrion.truth.Guilty.hotLock");
    drop(running);

    let running = recorded(jdk, "lock", SHORTLY, &[]);
    await_end_of_aim(&running);
    assert_no_probes(&running);
    step(&running, "rage");
    await_waits(&running);
    check_report(&end(running).log, "Guilty.hotLock");
}

fn await_waits(running: &RunningCommand) {
    await_more(&running.log, WAITS, total(&running.log, WAITS));
}

/// Where probes see waits, they share a class with those that count.
fn what_sees_waits_of_the_lock_stays(jdk: &Jdk) {
    let options = ["--mode=auto", AFTER, SHORTLY, "--parks=probes"];
    let running = recorded_with(jdk, "stamped", &options, &[]);
    await_end_of_aim(&running);
    assert_no_probes(&running);
    step(&running, "rage");
    await_waits(&running);
    end(running);
}

/// All locks are traced at a command, and single ones before and after that: each mode has
/// its probes, and no other ones.
fn another_mode_takes_over(jdk: &Jdk) {
    let running = recorded(jdk, "monitor", FOR_LONG, &[]);
    let change = |options: &[&str]| attach_to(&running, running.jvm(), options);
    await_aim(&running);
    change(&["--mode=contention"]);
    assert_no_probes(&running);

    change(&["--mode=trace"]);
    let before = taken(&running.log);
    step(&running, "count");
    assert!(taken(&running.log) >= before + 2 * TIMES);

    change(&["--mode=auto", SHORTLY]);
    step(&running, "rage");
    let expected = ["contention", "aimed", "contention", "trace", "contention", "aimed"];
    let expected = [&expected[..], &["contention"]].concat();
    wait_for("another aim", || (modes(&running.log) == expected).then_some(()));
    change(&["--mode=contention"]);
    assert_no_probes(&running);
    // Those of waits have been in a class that is no lock that was meant.
    step(&running, "stamped");
    step(&running, "rage");
    let stamped = |running: &RunningCommand| {
        let kinds = tyrion().args(["dump"]).arg(&running.log).output().unwrap().stdout;
        String::from_utf8_lossy(&kinds).contains("lock-write")
    };
    wait_for("waits", || stamped(&running).then_some(()));
    end(running);
}

/// The log goes on in another file while a lock is traced.
fn another_log_goes_on_with_it(jdk: &Jdk) {
    let mut running = recorded(jdk, "monitor", FOR_LONG, &[]);
    await_aim(&running);
    step(&running, "quiet");
    let (first, second) = (running.log.clone(), running.log.with_file_name("second.log"));
    let jvm = running.jvm().to_string();
    stdout_of(tyrion().args(["attach", "-o", text(&second), &jvm]));
    running.log.clone_from(&second);
    let before = taken(&second);
    step(&running, "count");
    assert_eq!(taken(&second), before + TIMES);
    stdout_of(tyrion().args(["stop", &jvm]));
    assert_no_probes(&running);
    let _running = end(running);
    assert_eq!(modes(&second), ["aimed", "contention"]);
    check_report(&first, "Guilty.hot");
    // What the second one says of the first part of it is in its metadata alone.
    let told = stdout_of(tyrion().args(["info", text(&second)]));
    assert!(told.contains("acquisitions and holds are those of 1 lock, in"), "{told}");
}

/// The program without an agent.
fn unrecorded(jdk: &Jdk, kind: &str) -> RunningCommand {
    let folder = tempfile::tempdir().unwrap();
    let running = start_unrecorded(&program(jdk, folder.path(), kind), folder);
    running.await_line("raging");
    running
}

fn attached_as_from_the_start(jdk: &Jdk) {
    let running = unrecorded(jdk, "monitor");
    let answer = attach_to(&running, running.id(), &["--mode=auto", AFTER, SHORTLY]);
    assert_eq!(answer["mode"], "auto", "{answer}");
    await_end_of_aim(&running);
    assert_no_probes(&running);
    assert!(taken(&running.log) > 0);
    // Trace mode has all locks afterwards, of all classes.
    step(&running, "rage");
    attach_to(&running, running.id(), &["--mode=trace"]);
    step(&running, "quiet");
    let before = taken(&running.log);
    step(&running, "count");
    assert!(taken(&running.log) >= before + 2 * TIMES);
    end(running);
}

/// The JVM knows from the start that classes may change, so that is cheap.
fn recorded_from_the_start_in_another_mode(jdk: &Jdk) {
    let running = recorded_with(jdk, "monitor", &["--mode=contention"], &[]);
    attach_to(&running, running.jvm(), &["--mode=auto", AFTER, SHORTLY]);
    await_end_of_aim(&running);
    assert_no_probes(&running);
    assert!(taken(&running.log) > 0);
    end(running);
}

fn attached_where_it_would_cost_all_compiled_code(jdk: &Jdk) {
    let running = unrecorded(jdk, "monitor");
    attach_to(&running, running.id(), &["--mode=auto", AFTER, SHORTLY]);
    await_windows(&running);
    assert_eq!(redefined(&running).get(CLASS), None);
    let said = running.stderr();
    let told = said.lines().filter(|line| line.contains("mode=auto records waits alone"));
    assert_eq!(told.count(), 1, "{said}");
}

/// Waits until locks that cost much would have been traced: there are two snapshots a second,
/// and a window is over in half a second, with looks at holders in three at most.
fn await_windows(running: &RunningCommand) {
    let snapshots = || {
        let records = tyrion().arg("dump").arg(&running.log).output().unwrap().stdout;
        let text = String::from_utf8_lossy(&records).into_owned();
        text.lines().filter(|line| line.starts_with("snapshot")).count()
    };
    wait_for("snapshots", || (snapshots() >= 8).then_some(()));
}

fn nothing_is_traced_without_a_guilty_lock(jdk: &Jdk) {
    // Locks of which probes would count nothing, whose holders have no work, and that nobody
    // takes any more.
    for kind in ["own", "turn", "turn-lock", "stuck"] {
        let running = check_never_aimed(jdk, kind);
        assert!(total(&running.log, WAITS) > 0, "{kind}");
    }
    let running = check_never_aimed(jdk, "none");
    let told = stdout_of(tyrion().args(["report", "--section", "contended"]).arg(&running.log));
    assert!(!told.contains("taken"), "{told}");
}

fn check_never_aimed(jdk: &Jdk, kind: &str) -> RunningCommand {
    let running = recorded(jdk, kind, SHORTLY, &[]);
    await_windows(&running);
    assert_eq!(redefined(&running).get(CLASS), None, "{kind}");
    let running = end(running);
    assert!(modes(&running.log).iter().all(|mode| mode == "contention"), "{kind}");
    assert_eq!(taken(&running.log), 0, "{kind}");
    running
}

fn a_stop_takes_the_probes_back(jdk: &Jdk) {
    let running = recorded(jdk, "monitor", FOR_LONG, &[]);
    await_aim(&running);
    let stopped = stdout_of(tyrion().args(["stop", &running.jvm().to_string()]));
    assert!(stopped.contains("paused"), "{stopped}");
    assert_no_probes(&running);
    end(running);
}

fn the_end_of_the_jvm_ends_it(jdk: &Jdk) {
    let running = recorded(jdk, "monitor", FOR_LONG, &[]);
    await_aim(&running);
    let running = end(running);
    assert_eq!(modes(&running.log), ["contention", "aimed"]);
    assert_eq!(info(&running.log)["state"], "closed");
    check_report(&running.log, "Guilty.hot");
}

fn a_full_heap_keeps_no_probes(jdk: &Jdk) {
    let flags = ["-Xmx24m", "-XX:+UseSerialGC", "-XX:-UseGCOverheadLimit"];
    let running = recorded(jdk, "monitor", "--auto-for=5s", &flags);
    await_aim(&running);
    take_step(&running, "fill");
    let filled = running.log.with_file_name("filled");
    wait_for("full heap", || {
        std::fs::metadata(&filled).is_ok_and(|it| it.len() != 0).then_some(())
    });
    await_end_of_aim(&running);
    step(&running, "free");
    assert_no_probes(&running);
    end(running);
}
