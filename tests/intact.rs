//! Programs to which hardly anything may happen that would not happen without the agent: a heap
//! without room, class loaders that find little, owners that have ended, a JVM that notes what
//! it loads.

use crate::support::{
    Jdk, Program, classes, err, needs, on_jdks, ours, output, pending, root, text, tyrion, wait_for,
};
use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

on_jdks!(no_room_in_the_heap: extremes, everywhere all);
on_jdks!(no_room_once_attached: one, everywhere all);
on_jdks!(a_loader_that_finds_little: ends, everywhere all);
on_jdks!(an_owner_that_has_ended: one, everywhere all);
on_jdks!(training_for_a_cache: newest, everywhere since(21));
on_jdks!(virtual_threads_are_told_of_later: newest, everywhere since(21));

/// The first release that makes AOT caches by itself.
const MAKES_CACHES: u32 = 25;

/// Takes locks where there is no room for anything, at places that have run before, or not.
fn full_heap(jdk: &Jdk, passed: &str) -> Program {
    let program = Program::class(jdk, &format!("tyrion.subjects.FullHeap{passed}"));
    let flags = ["-Xmx24m", "-XX:+UseSerialGC", "-XX:-UseGCOverheadLimit"];
    flags.into_iter().fold(program, |program, flag| program.flag(flag.to_owned()))
}

fn no_room_in_the_heap(jdk: &Jdk) {
    for passed in ["", " passed"] {
        let program = full_heap(jdk, passed);
        for (mode, program) in [("trace", program.clone().traced()), ("contention", program)] {
            let folder = tempfile::tempdir().unwrap();
            let exceptions = folder.path().join("exceptions");
            let flag = format!("-Xlog:exceptions=info:file={}", exceptions.display());
            let logs = jdk.major >= 17;
            let recording = if logs { program.flag(flag) } else { program }.record();
            assert_eq!(recording.number("threw"), 0, "{mode}{passed}: {}", recording.said);
            // Those, too, that the probes catch: a JVM may be told to end at the first one.
            let said =
                if logs { std::fs::read_to_string(exceptions).unwrap() } else { String::new() };
            let own = said.contains("in 'java/lang/Tyrion");
            assert!(!own, "{mode}{passed}: {said}");
            if mode == "trace" {
                let own = "tyrion.subjects.FullHeap$Method";
                let least = if passed.is_empty() { 1001 } else { 2002 };
                assert_eq!(recording.traced().taken(own).acquisitions, least, "{passed}");
            }
        }
    }
}

fn no_room_once_attached(jdk: &Jdk) {
    let recording = full_heap(jdk, "").traced().attached().record();
    assert_eq!(recording.number("threw"), 0, "{}", recording.said);
    let taken = recording.traced().taken("tyrion.subjects.FullHeap$Method");
    assert_eq!(taken.acquisitions, 1001);
}

/// What probes call is not found: there are none, and the log says how many methods lack them.
fn a_loader_that_finds_little(jdk: &Jdk) {
    let recording = Program::class(jdk, "tyrion.subjects.Choosy").traced().record();
    assert_eq!(recording.number("taken"), 1000);
    let left = recording.info()["trace"]["statistics"]["left.class loader"].clone();
    assert_eq!(left, 1, "{}", recording.info()["trace"]["statistics"]);
}

/// A library by which a thread takes a monitor without giving it back.
fn abandoning(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("abandoning.c"), folder.join("abandoning.so"));
    // The JNI's table has MonitorEnter as its 218th function.
    let code = "int Java_tyrion_subjects_Abandoned_enter(void ***env, void *type, void *lock) {\n\
                    return ((int (*)(void ***, void *)) (*env)[217])(env, lock);\n\
                }\n";
    std::fs::write(&source, code).unwrap();
    let mut cc = Command::new("cc");
    let built = output(cc.args(["-shared", "-fPIC", "-o"]).args([&library, &source]));
    assert!(built.status.success(), "{}", err(&built));
    library
}

/// Nobody who asks the JVM for such an owner survives the answer on JDK 17.
fn an_owner_that_has_ended(jdk: &Jdk) {
    if !needs(&["cc"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = abandoning(folder.path());
    let main = format!("tyrion.subjects.Abandoned {}", library.display());
    for options in [&["--mode=contention"][..], &["--mode=trace"], &["--mode=contention+sample"]] {
        let go = folder.path().join("go");
        let program = Program::class(jdk, &main).flag(format!("-Dtruth.go={}", go.display()));
        let program = options.iter().fold(program, |program, option| program.option(option));
        let mut running = program.start();
        running.await_line("waits");
        // It is looked for every half second.
        wait_for("third look", || {
            let waits = pending(&running.log);
            let wait = waits.iter().find(|wait| wait.thread == "waiter")?;
            (wait.wait_ns > 1_500_000_000).then_some(())
        });
        File::create(&go).unwrap();
        let output = running.finish();
        assert!(output.status.success(), "{options:?}: {}\n{}", output.status, err(&output));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("still waits: true"), "{options:?}: {said}");
        std::fs::remove_file(go).unwrap();
    }
}

/// The program in a jar: a cache has no classes of folders.
fn packed(folder: &Path) -> PathBuf {
    let jar = folder.join("app.jar");
    let javac = root().join("target/jdks/javac").canonicalize().unwrap();
    let mut pack = Command::new(javac.with_file_name("jar"));
    pack.args(["--create", "--file", text(&jar), "-C", text(&classes()), "."]);
    assert!(output(&mut pack).status.success());
    jar
}

/// A JVM that makes an AOT cache at its end fails to once classes of the JDK have probes.
fn training_for_a_cache(jdk: &Jdk) {
    if jdk.major < MAKES_CACHES {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let jar = packed(folder.path());
    let cache = folder.path().join("app.aot");
    let training = |scenario: &str| {
        let _ = std::fs::remove_file(&cache);
        Program::in_jar(jdk, &jar, scenario).flag(format!("-XX:AOTCacheOutput={}", text(&cache)))
    };
    let log = folder.path().join("test.log");
    let recorded = output(&mut training("holder-lock").record_command(&log));
    assert!(recorded.status.success() && cache.is_file(), "{}", err(&recorded));
    let waits = crate::support::waits(&log);
    assert!(waits.iter().any(|wait| wait.thread == "waiter"), "{waits:?}");
    let waits = training("holder-lock").attached().record().long_contentions();
    assert!(waits.iter().any(|wait| wait.thread == "waiter"), "{waits:?}");
    assert!(cache.is_file());
    let with_cache = Program::in_jar(jdk, &jar, "holder-lock");
    let waits =
        with_cache.flag(format!("-XX:AOTCache={}", text(&cache))).record().long_contentions();
    assert!(waits.iter().any(|wait| wait.thread == "waiter"), "{waits:?}");
    // Trace mode is declined, from the start or later.
    let log = folder.path().join("declined.log");
    let declined = output(&mut training("holder-lock").traced().record_command(&log));
    assert!(declined.status.success() && cache.is_file(), "{}", err(&declined));
    let stderr = err(&declined);
    let said = ours(&stderr);
    assert!(said.iter().any(|line| line.contains("trace mode is not possible")), "{said:?}");
    assert!(!log.exists());
    let go = folder.path().join("go");
    let program = training("holder-lock").flag(format!("-Dtruth.go={}", go.display()));
    let mut running = program.start();
    running.await_line("ready");
    let pid = running.jvm().to_string();
    let attached = output(tyrion().args(["attach", &pid, "--mode", "trace"]));
    assert!(!attached.status.success());
    assert!(err(&attached).contains("trace mode is not possible"), "{}", err(&attached));
    File::create(&go).unwrap();
    assert!(running.finish().status.success() && cache.is_file());
}

/// While nothing is recorded, the JVM tells nothing of virtual threads; then it does.
fn virtual_threads_are_told_of_later(jdk: &Jdk) {
    for kind in ["monitor", "lock"] {
        let folder = tempfile::tempdir().unwrap();
        let go = folder.path().join("go");
        let program = Program::truth(jdk, &format!("virtual-two {kind}"));
        let program = program.flag(format!("-Dtruth.go={}", go.display()));
        let mut running = program.option("--enabled=false").start();
        running.await_line("ready");
        let pid = running.jvm().to_string();
        let attached = output(tyrion().args(["attach", &pid]));
        assert!(attached.status.success(), "{}", err(&attached));
        File::create(&go).unwrap();
        assert!(running.finish().status.success());
        let waits = crate::support::waits(&running.log);
        let wait = waits.iter().find(|wait| wait.thread == "vwaiter" && wait.kind == kind);
        assert!(wait.is_some(), "{kind}: {waits:?}");
    }
}
