//! Another agent has the JDK's lock classes retransformed after Tyrion has: its change
//! of them and Tyrion's probes are there together.

use crate::{
    outcomes::check_outcomes,
    support::{
        Jdk, Program, RunningCommand, TraceLog, Wait, load_java_agent, on_jdks, retransformer,
        stdout_of, text, tyrion, wait_for, waits,
    },
    trace::exactness::check_counts,
};
use std::path::Path;

on_jdks!(at_the_start: one, everywhere three);
on_jdks!(later: one, everywhere three);
on_jdks!(in_trace_mode: one, everywhere three);
on_jdks!(in_the_middle_of_locks: one, everywhere three);
on_jdks!(while_trace_mode_is_off: one, everywhere three);

/// Classes of the scenario `counts`.
const COUNTED: &str = "tyrion.truth.CountedBlock,tyrion.truth.CountedMethod";

fn at_the_start(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let agent = format!("-javaagent:{}", text(&retransformer(folder.path())));
    for program in [
        Program::truth(jdk, "outcomes").flag(agent.clone()),
        Program::truth(jdk, "outcomes").flag(agent).others_first(),
    ] {
        let recording = program.record();
        check_outcomes(&recording);
        let waits = recording.long_contentions();
        assert!(waits.iter().all(is_in_renamed_file), "{waits:?}");
    }
}

/// The other agent comes when the program runs, and takes the probes away.
fn later(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let program = Program::truth(jdk, "outcomes").flag(format!("-Dtruth.go={}", text(&go)));
    let running = program.start();
    running.await_line("ready");
    come_later(&running, folder.path());
    std::fs::write(go, "").unwrap();
    check_outcomes(&running.into_recording());
}

/// Loads the agent, and waits until both changes of the JDK's classes are there.
fn come_later(running: &RunningCommand, folder: &Path) {
    load_java_agent(running.jvm(), &retransformer(folder), "");
    running.await_line("retransformed");
    wait_for("park that both agents have seen", || {
        let parks = waits(&running.log).into_iter().filter(|wait| wait.thread == "pulse");
        parks.into_iter().any(|park| is_in_renamed_file(&park)).then_some(())
    });
}

/// Whether the method that parks is as the other agent has left it, where the JDK tells
/// the source files of its classes.
fn is_in_renamed_file(wait: &Wait) -> bool {
    !wait.stack[0].contains(".java:")
}

/// Also in classes of the program.
fn in_trace_mode(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let agent = format!("-javaagent:{}={COUNTED}", text(&retransformer(folder.path())));
    let program = Program::truth(jdk, "counts 4 20000").traced().flag(agent);
    for program in [program.clone(), program.others_first()] {
        let recording = program.record();
        check_counts(&recording.said, &recording.traced());
    }
}

/// While threads take locks in these classes, and hold them.
fn in_the_middle_of_locks(jdk: &Jdk) {
    for (kind, class) in [("monitor", "MonitorHammer"), ("lock", "LockHammer")] {
        let class = format!("tyrion.truth.Storm${class}");
        let folder = tempfile::tempdir().unwrap();
        let until = folder.path().join("until");
        let program = Program::truth(jdk, &format!("storm 600 {kind}")).traced();
        let running = program.flag(format!("-Dtruth.until={}", text(&until))).start();
        running.await_line("raging");
        load_java_agent(running.jvm(), &retransformer(folder.path()), &class);
        running.await_line("retransformed");
        std::fs::write(until, "").unwrap();
        let recording = running.into_recording();
        let taken = recording.traced().taken(&class);
        assert_eq!(taken.acquisitions, recording.number("total_acquisitions"), "{kind}");
    }
}

/// Trace mode's probes lie still, and come back to life where they still are.
fn while_trace_mode_is_off(jdk: &Jdk) {
    let class = "tyrion.truth.Storm$MonitorHammer";
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let program = Program::truth(jdk, "storm 600 monitor").traced();
    let running = program.flag(format!("-Dtruth.until={}", text(&until))).start();
    running.await_line("raging");
    let pid = running.jvm().to_string();
    let change = |mode: &str| stdout_of(tyrion().args(["attach", "--mode", mode, &pid]));
    change("contention");
    load_java_agent(running.jvm(), &retransformer(folder.path()), class);
    running.await_line("retransformed");
    let taken = || TraceLog::of(&running.log).taken(class).acquisitions;
    change("trace");
    let before = taken();
    wait_for("acquisitions", || (taken() > before).then_some(()));
    std::fs::write(until, "").unwrap();
    let recording = running.into_recording();
    let taken = recording.traced().taken(class);
    assert!(taken.acquisitions <= recording.number("total_acquisitions"), "{taken:?}");
}
