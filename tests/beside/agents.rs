//! Beside agents of others, which `tests/setup/agents.sh` gets: before and after
//! Tyrion's on the command line, in both modes. The other one still does its work.

use crate::{
    outcomes::check_outcomes,
    support::{Jdk, Program, on_jdks, other_agent, text},
    trace::exactness::check_counts,
};
use std::path::Path;

on_jdks!(jacoco: everywhere two);
on_jdks!(open_telemetry: everywhere two);
on_jdks!(block_hound: everywhere two);
on_jdks!(async_profiler: everywhere two);
on_jdks!(async_profiler_in_lock_classes: everywhere two);

/// What the recordings say is true, whichever agent comes first. `said` is called with
/// the folder of each program that has ended, for a look at what the other has written.
fn check_both(jdk: &Jdk, flags: impl Fn(&Path) -> Vec<String>, has_worked: impl Fn(&Path)) {
    for others_first in [false, true] {
        let in_folder = |program: Program, check: &dyn Fn(Program)| {
            let folder = tempfile::tempdir().unwrap();
            let flags = flags(folder.path());
            let program = flags.into_iter().fold(program, Program::flag);
            check(if others_first { program.others_first() } else { program });
            has_worked(folder.path());
        };
        in_folder(Program::truth(jdk, "outcomes"), &|program| check_outcomes(&program.record()));
        in_folder(Program::truth(jdk, "counts 4 20000").traced(), &|program| {
            let recording = program.record();
            check_counts(&recording.said, &recording.traced());
        });
    }
}

fn assert_written(file: &Path, least_len: u64) {
    let len = file.metadata().unwrap().len();
    assert!(len >= least_len, "{}: {len} bytes", file.display());
}

/// It changes the program's classes.
fn jacoco(jdk: &Jdk) {
    let Some(jar) = other_agent("jacoco.jar") else { return };
    let file = |folder: &Path| folder.join("jacoco.exec");
    check_both(
        jdk,
        |folder| vec![format!("-javaagent:{}=destfile={}", text(&jar), text(&file(folder)))],
        |folder| assert_written(&file(folder), 500),
    );
}

/// It changes executors, and starts threads of its own.
fn open_telemetry(jdk: &Jdk) {
    let Some(jar) = other_agent("opentelemetry.jar") else { return };
    let mut flags: Vec<String> = ["traces", "metrics", "logs"]
        .map(|signal| format!("-Dotel.{signal}.exporter=none"))
        .to_vec();
    flags.push(format!("-javaagent:{}", text(&jar)));
    check_both(jdk, |_| flags.clone(), |_| {});
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
    check_async_profiler(jdk, "java.util.concurrent.locks.LockSupport.parkNanos");
}

fn check_async_profiler(jdk: &Jdk, event: &str) {
    let Some(library) = other_agent("libasyncProfiler.so") else { return };
    let file = |folder: &Path| folder.join("other.jfr");
    let flag = |folder: &Path| {
        format!(
            "-agentpath:{}=start,event={event},jfr,file={}",
            text(&library),
            text(&file(folder))
        )
    };
    check_both(jdk, |folder| vec![flag(folder)], |folder| assert_written(&file(folder), 1000));
}
