//! Beside agents of others, which `tests/setup/agents.sh` gets: before and after
//! Tyrion's on the command line, in both modes. The other one still does its work.

use crate::{
    outcomes::check_outcomes,
    support::{Jdk, Program, on_jdks, other_agent, text, wait_for},
    trace::exactness::check_counts,
};
use std::path::Path;

on_jdks!(jacoco: everywhere two);
on_jdks!(open_telemetry: everywhere two);
on_jdks!(block_hound: everywhere two);
on_jdks!(async_profiler: everywhere two);
on_jdks!(async_profiler_in_lock_classes: everywhere two);

/// What the recordings say is true, whichever agent comes first. `has_worked` is called
/// with the folder of each program that has ended, to look at what the other has written.
fn check_both(jdk: &Jdk, flags: impl Fn(&Path) -> Vec<String>, has_worked: impl Fn(&Path)) {
    check_with(jdk, ALL_KINDS, flags, has_worked);
}

/// Every kind of lock that the scenario `counts` knows.
const ALL_KINDS: &str = "counts 4 20000";

/// The same, with the scenario for trace mode.
fn check_with(
    jdk: &Jdk,
    counts: &str,
    flags: impl Fn(&Path) -> Vec<String>,
    has_worked: impl Fn(&Path),
) {
    for others_first in [false, true] {
        let in_folder = |program: Program, check: &dyn Fn(Program)| {
            let folder = tempfile::tempdir().unwrap();
            let flags = flags(folder.path());
            let program = flags.into_iter().fold(program, Program::flag);
            check(if others_first { program.others_first() } else { program });
            has_worked(folder.path());
        };
        in_folder(Program::truth(jdk, "outcomes"), &|program| check_outcomes(&program.record()));
        in_folder(Program::truth(jdk, counts).traced(), &|program| {
            let recording = program.record();
            check_counts(&recording.said, &recording.traced());
        });
    }
}

/// What the other agent has written tells of something.
fn assert_tells_of(file: &Path, text: &str) {
    let written = std::fs::read(file).unwrap();
    let tells = written.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(tells, "{}: nothing of {text} in {} bytes", file.display(), written.len());
}

/// It changes the program's classes.
fn jacoco(jdk: &Jdk) {
    let Some(jar) = other_agent("jacoco.jar") else { return };
    let file = |folder: &Path| folder.join("jacoco.exec");
    check_both(
        jdk,
        |folder| vec![format!("-javaagent:{}=destfile={}", text(&jar), text(&file(folder)))],
        |folder| assert_tells_of(&file(folder), "tyrion/truth/Truth"),
    );
}

/// It changes executors, and starts threads of its own.
fn open_telemetry(jdk: &Jdk) {
    let Some(jar) = other_agent("opentelemetry.jar") else { return };
    let mut flags: Vec<String> = ["traces", "metrics", "logs"]
        .map(|signal| format!("-Dotel.{signal}.exporter=none"))
        .to_vec();
    flags.push(format!("-javaagent:{}", text(&jar)));
    // Within the first acquisition of each kind of lock of java.util.concurrent a class is
    // loaded, for which this agent takes such a lock itself: so that acquisition is
    // counted with the JDK's class as its place, and that of a program's is one short.
    let monitors = "counts 4 20000 block method static thrown waits";
    check_with(jdk, monitors, |_| flags.clone(), |_| {});
}

/// It puts a Java method in place of each native one that blocks, parks among them.
fn block_hound(jdk: &Jdk) {
    let Some(jar) = other_agent("blockhound.jar") else { return };
    let flags = vec![
        "-XX:+AllowRedefinitionToAddDeleteMethods".to_owned(),
        format!("-javaagent:{}", text(&jar)),
    ];
    check_both(jdk, |_| flags.clone(), |_| {});
    // Here it comes later, as it does when a program asks for it.
    for mode in ["contention", "trace"] {
        let program = Program::class(jdk, "tyrion.agents.Blocking").jar(&jar);
        let program = program.flag(flags[0].clone()).flag("-Djdk.attach.allowAttachSelf".into());
        let recording = program.option(&format!("--mode={mode}")).record();
        assert_eq!(recording.said["refused"], "reactor.blockhound.BlockingOperationError");
    }
}

/// It walks stacks in signal handlers, and takes JVMTI's events of monitors, too.
fn async_profiler(jdk: &Jdk) {
    check_async_profiler(jdk, "cpu,lock=0");
}

/// It has a class retransformed in which Tyrion has probes, at the JVM's start.
fn async_profiler_in_lock_classes(jdk: &Jdk) {
    let event = "java.util.concurrent.locks.LockSupport.parkNanos";
    let Some(flag) = async_profiler_flag(event) else { return };
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let program = Program::truth(jdk, "outcomes").flag(flag(folder.path()));
    check_outcomes(&program.clone().others_first().record());
    // When it comes later it takes the probes away.
    let running = program.flag(format!("-Dtruth.go={}", text(&go))).start();
    wait_for("word of the probes", || {
        running.stderr().contains("LockSupport; they are there again").then_some(())
    });
    std::fs::write(go, "").unwrap();
    check_outcomes(&running.into_recording());
    assert_tells_of(&folder.path().join("other.jfr"), "tyrion/truth/");
}

fn check_async_profiler(jdk: &Jdk, event: &str) {
    let Some(flag) = async_profiler_flag(event) else { return };
    let has_worked = |folder: &Path| assert_tells_of(&folder.join("other.jfr"), "tyrion/truth/");
    check_both(jdk, |folder| vec![flag(folder)], has_worked);
}

/// The JVM's option with which it writes "other.jfr" into a folder.
fn async_profiler_flag(event: &str) -> Option<impl Fn(&Path) -> String> {
    let library = other_agent("libasyncProfiler.so")?;
    Some(move |folder: &Path| {
        let file = folder.join("other.jfr");
        format!("-agentpath:{}=start,event={event},jfr,file={}", text(&library), text(&file))
    })
}
