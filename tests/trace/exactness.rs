//! Acquisitions are counted, not estimated: to the last one.

use crate::support::{
    AcquisitionSum, Jdk, Program, Recording, TraceLog, classes, err, on_jdks, output, root,
    stdout_of, text, tyrion,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

on_jdks!(one_thread: extremes, everywhere all);
on_jdks!(four_threads: newest, everywhere two);
on_jdks!(sixteen_threads: newest, everywhere all);
on_jdks!(whatever_else_is_recorded: everywhere two);
on_jdks!(virtual_threads: newest, everywhere since(21));
on_jdks!(permits_that_others_give_back: two);
on_jdks!(conversions_of_stamps: ends, everywhere all);
on_jdks!(interpreted_and_compiled: everywhere two);
on_jdks!(where_monitors_are_kept: everywhere newest);
on_jdks!(every_collector: newest, everywhere three);
on_jdks!(class_data_sharing: one, everywhere two);
on_jdks!(whatever_ids_threads_have: ends, everywhere all);
on_jdks!(more_threads_than_there_is_room_for: everywhere only(21));

/// Three million acquisitions in all, with a heap that leaves no room for
/// waste.
fn one_thread(jdk: &Jdk) {
    check(&small(jdk, "counts 1"));
}

fn four_threads(jdk: &Jdk) {
    check(&small(jdk, "counts 4"));
}

fn sixteen_threads(jdk: &Jdk) {
    check(&small(jdk, "counts 16"));
}

fn small(jdk: &Jdk, scenario: &str) -> Program {
    Program::truth(jdk, scenario).traced().flag("-Xmx64m".to_owned())
}

fn whatever_else_is_recorded(jdk: &Jdk) {
    for options in [
        &["--hold=none", "--identity=false"][..],
        &["--hold=all"],
        &["--events=all"],
        &["--hold=1/1000", "--threshold=0", "--depth=3"],
    ] {
        let mut program = small(jdk, "counts 6 30000");
        for option in options {
            program = program.option(option);
        }
        check(&program);
    }
}

/// A thread that has a StampedLock in one mode and gets it in another one gives the first
/// one up.
fn conversions_of_stamps(jdk: &Jdk) {
    let recording = small(jdk, "conversions 300").record();
    let traced = recording.traced();
    let class = recording.said["class"].as_str().unwrap();
    let mut taken: BTreeMap<String, AcquisitionSum> = BTreeMap::new();
    for record in traced.at_class("acquisitions", class) {
        let kind = record["kind"].as_str().unwrap().to_owned();
        *taken.entry(kind).or_default() += AcquisitionSum::from_json(record);
    }
    let said = |key: &str| recording.number(key);
    let reads =
        AcquisitionSum { acquisitions: said("reads"), reentrant: said("reads_again"), failed: 0 };
    let writes =
        AcquisitionSum { acquisitions: said("writes"), reentrant: 0, failed: said("failed") };
    let expected = [("lock-read".to_owned(), reads), ("lock-write".to_owned(), writes)];
    assert_eq!(taken, expected.into());
    // Each hold ended.
    let cells = traced.at_class("acquisitions", class);
    let measured: u64 = cells.iter().map(|cell| cell["measured"].as_u64().unwrap()).sum();
    assert_eq!(measured, said("reads") + said("writes"));
}

/// Their numbers stand together: there may be millions of them.
fn virtual_threads(jdk: &Jdk) {
    let program = small(jdk, "counts 12 30000").flag("-Dtruth.virtual=true".to_owned());
    let recording = program.record();
    let traced = recording.traced();
    for kind in recording.said["kinds"].as_array().expect("kinds") {
        let class = kind["class"].as_str().unwrap();
        assert_eq!(traced.taken(class), AcquisitionSum::from_json(kind), "{class}");
    }
}

/// Its own releases never come, so they must not fill what a thread seems to hold.
fn permits_that_others_give_back(jdk: &Jdk) {
    let recording = Program::truth(jdk, "permits 1000").traced().record();
    let class = recording.said["class"].as_str().unwrap();
    assert_eq!(recording.traced().taken(class), AcquisitionSum::from_json(&recording.said));
    let (hold_ns, _) = recording.traced().held(class);
    assert!(hold_ns > 0, "the lock's holds are measured as ever");
}

/// In the object's header, which may be compact, or in a table: both are the defaults
/// of JDK 27.
fn where_monitors_are_kept(jdk: &Jdk) {
    const DIAGNOSTIC: &str = "-XX:+UnlockDiagnosticVMOptions";
    for flags in [
        &["-XX:+UseCompactObjectHeaders"][..],
        &[DIAGNOSTIC, "-XX:+UseObjectMonitorTable"],
        &[DIAGNOSTIC, "-XX:+UseObjectMonitorTable", "-XX:+UseCompactObjectHeaders"],
    ] {
        check(&with_flags(small(jdk, "counts 4 30000"), flags));
    }
}

fn every_collector(jdk: &Jdk) {
    let mut collectors = vec!["Serial", "Parallel", "G1"];
    if jdk.major >= 17 {
        collectors.push("Z");
    }
    for collector in collectors {
        let flag = format!("-XX:+Use{collector}GC");
        let program = Program::truth(jdk, "counts 4 20000").traced();
        check(&program.flag("-Xmx256m".to_owned()).flag(flag));
    }
}

/// Classes come from the JDK's archive, from none, or from the program's own.
fn class_data_sharing(jdk: &Jdk) {
    check(&small(jdk, "counts 3 20000").flag("-Xshare:off".to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let (archive, jar) = (folder.path().join("app.jsa"), folder.path().join("app.jar"));
    // An archive takes no classes from folders.
    let javac = root().join("target/jdks/javac").canonicalize().unwrap();
    let mut pack = std::process::Command::new(javac.with_file_name("jar"));
    pack.args(["--create", "--file", text(&jar), "-C", text(&classes()), "."]);
    assert!(output(&mut pack).status.success());
    let program = |scenario: &str| Program::in_jar(jdk, &jar, scenario);
    let dump = program("counts 1 10");
    let dump = dump.flag(format!("-XX:ArchiveClassesAtExit={}", archive.display()));
    let line = dump.command_line();
    let dumped = output(std::process::Command::new(&line[0]).args(&line[1..]));
    assert!(dumped.status.success() && archive.exists(), "{}", err(&dumped));
    let flag = format!("-XX:SharedArchiveFile={}", archive.display());
    check(&program("counts 3 20000").traced().flag(flag));
}

fn with_flags(program: Program, flags: &[&str]) -> Program {
    flags.iter().fold(program, |program, flag| program.flag((*flag).to_owned()))
}

/// Those that live long stand where the ids of others say that these are.
fn whatever_ids_threads_have(jdk: &Jdk) {
    let program = Program::truth(jdk, "thread-ids").traced();
    // Before that there were no modules.
    let recording = match jdk.major < 9 {
        true => program.record(),
        false => program.flag("--add-opens=java.base/java.lang=ALL-UNNAMED".to_owned()).record(),
    };
    assert!(recording.number("last_id") > 1 << 40);
    let class = recording.said["class"].as_str().unwrap();
    assert_eq!(recording.traced().taken(class), AcquisitionSum::from_json(&recording.said));
    assert_eq!(untraced(&recording), 0);
}

/// More virtual threads at once than have room are counted themselves.
fn more_threads_than_there_is_room_for(jdk: &Jdk) {
    let recording = Program::truth(jdk, "virtual-crowd").traced().record();
    let class = recording.said["class"].as_str().unwrap();
    let threads = recording.number("threads");
    let untraced = untraced(&recording);
    assert!((threads - 65_536..threads).contains(&untraced), "{untraced} of {threads}");
    // The last one came too late.
    assert_eq!(recording.traced().taken(class).acquisitions, threads - untraced);
    let info = stdout_of(tyrion().arg("info").arg(&recording.log));
    assert!(info.contains("for lack of room: acquisitions are missing"), "{info}");
    let report = stdout_of(tyrion().arg("report").arg(&recording.log));
    assert!(report.contains("acquisitions are missing"), "{report}");
}

fn untraced(recording: &Recording) -> u64 {
    let info = recording.info();
    info.pointer("/trace/statistics/threads.untraced").and_then(Value::as_u64).expect("untraced")
}

fn interpreted_and_compiled(jdk: &Jdk) {
    for flag in ["-Xint", "-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"] {
        check(&small(jdk, "counts 3 20000").flag(flag.to_owned()));
    }
}

#[track_caller]
fn check(program: &Program) {
    let recording = program.record();
    check_counts(&recording.said, &recording.traced());
    assert_eq!(recording.info()["complete"], true);
}

/// Compares every number that the scenario `counts` told.
#[track_caller]
pub fn check_counts(said: &Value, traced: &TraceLog) {
    let mut wrong = Vec::new();
    let kinds = said["kinds"].as_array().expect("kinds");
    assert!(!kinds.is_empty());
    for kind in kinds {
        let (name, class) = (kind["kind"].as_str().unwrap(), kind["class"].as_str().unwrap());
        let mut expected: BTreeMap<String, AcquisitionSum> = BTreeMap::new();
        for thread in kind["threads"].as_array().unwrap() {
            let name = thread["thread"].as_str().unwrap().to_owned();
            *expected.entry(name).or_default() += AcquisitionSum::from_json(thread);
        }
        expected.retain(|_, taken| *taken != AcquisitionSum::default());
        let got = traced.taken_by_thread(class);
        let threads: BTreeSet<&String> = got.keys().chain(expected.keys()).collect();
        for thread in threads.into_iter().filter(|name| got.get(*name) != expected.get(*name)) {
            let (got, expected) = (got.get(thread), expected.get(thread));
            wrong.push(format!("{name}, {thread}: {got:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
