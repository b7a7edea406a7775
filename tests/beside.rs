//! Beside others in one JVM: Flight Recorder, JNI's checks, another agent.

mod agents;
mod retransformed;
mod suspended;

use crate::{
    outcomes::check_outcomes,
    support::{Jdk, Program, agent, on_jdks, text},
    trace::exactness::check_counts,
};

on_jdks!(flight_recorder: newest, everywhere three);
on_jdks!(jni_checks: ends);
on_jdks!(debugger: one, everywhere two);

/// Recorded by Flight Recorder at the same time, in both modes.
fn flight_recorder(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let flag = |name: &str| {
        let file = folder.path().join(name);
        format!("-XX:StartFlightRecording=settings=profile,filename={}", file.display())
    };
    // The recorder's own threads wait for each other.
    let waits = Program::truth(jdk, "outcomes").option("--exclude-threads=JFR*");
    check_outcomes(&waits.flag(flag("waits.jfr")).record());
    let counts = Program::truth(jdk, "counts 4 30000").traced().flag(flag("counts.jfr")).record();
    check_counts(&counts.said, &counts.traced());
    assert!(folder.path().join("counts.jfr").metadata().unwrap().len() > 10_000);
}

/// JNI's own checks have nothing to say of our calls.
fn jni_checks(jdk: &Jdk) {
    for option in ["--mode=contention", "--mode=trace", "--parks=natives"] {
        let program = Program::truth(jdk, "outcomes").flag("-Xcheck:jni".to_owned());
        let line = program.command_line();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("test.log");
        let options = option.trim_start_matches('-');
        let mut java = std::process::Command::new(&line[0]);
        java.arg(format!("-agentpath:{}=file={},{options}", text(&agent()), text(&log)));
        let done = crate::support::output(java.args(&line[1..]));
        assert!(done.status.success(), "{option}: {}", crate::support::err(&done));
        let said = [crate::support::out(&done), crate::support::err(&done)].concat();
        let warnings: Vec<&str> =
            said.lines().filter(|line| line.contains("WARNING in native method")).collect();
        assert_eq!(warnings, [""; 0], "{option}: {said}");
        assert!(!said.contains("FATAL ERROR in native method"), "{option}: {said}");
    }
}

/// With the debugger's agent loaded, whose threads and locks are the JVM's own.
fn debugger(jdk: &Jdk) {
    let flag = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0,quiet=y";
    let recording = Program::truth(jdk, "outcomes").flag(flag.to_owned()).record();
    check_outcomes(&recording);
}
