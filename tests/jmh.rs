//! The profiler for JMH, with a benchmark whose answers are known.

use crate::{
    agent_jar::{jar, made_jar},
    support::{Jdk, alone, err, on_jdks, out, output, root, skip, text},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

on_jdks!(a_benchmark_whose_answers_are_known: one, everywhere all);
on_jdks!(no_shell_reads_what_is_given: one);

/// A library that the setup gets, or `None` after a message.
pub fn library(name: &str) -> Option<PathBuf> {
    let file = root().join("target/java-libraries").join(name);
    if !file.is_file() {
        skip(&format!("{}: run tests/setup/java-libraries.sh", file.display()));
    }
    Some(file).filter(|file| file.is_file())
}

/// JMH, the profiler, the agent and the benchmark, as a class path.
fn class_path(folder: &Path) -> Option<String> {
    let agent = jar()?;
    let mut all = Vec::new();
    for name in [
        "org.openjdk.jmh-jmh-core-1.37.jar",
        "org.openjdk.jmh-jmh-generator-annprocess-1.37.jar",
        "net.sf.jopt-simple-jopt-simple-5.0.4.jar",
        "org.apache.commons-commons-math3-3.6.1.jar",
    ] {
        all.push(text(&library(name)?).to_owned());
    }
    let profiler = made_jar(folder, "tyrion-jmh.jar", "jmh")?;
    all.extend([text(agent).to_owned(), text(&profiler).to_owned()]);
    let benchmark = folder.join("classes");
    fs::create_dir(&benchmark).unwrap();
    let mut compile = Command::new(root().join("target/jdks/javac"));
    // The benchmarks are what JMH's processor of annotations makes of them.
    compile.args(["--release", "8", "-nowarn", "-cp", &all.join(":"), "-d", text(&benchmark)]);
    compile.arg(root().join("packaging/jmh-check/src/main/java/check/Ledger.java"));
    let compiled = output(&mut compile);
    assert!(compiled.status.success(), "{}", err(&compiled));
    all.push(text(&benchmark).to_owned());
    Some(all.join(":"))
}

/// JMH, also if another one runs on this machine.
fn jmh(jdk: &Jdk, folder: &Path, class_path: &str) -> Command {
    let mut java = Command::new(jdk.java());
    java.current_dir(folder).args(["-Djmh.ignoreLock=true", "-cp", class_path]);
    java.arg("org.openjdk.jmh.Main");
    java
}

fn a_benchmark_whose_answers_are_known(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let Some(class_path) = class_path(folder.path()) else { return };
    let [results, logs] = ["jmh.json", "logs"].map(|name| folder.path().join(name));
    // They are given anew with each iteration, also those that cannot change.
    let command = env!("CARGO_BIN_EXE_tyrion");
    let options = format!("tyrion:mode=trace;depth=32;dir={};tyrion={command}", text(&logs));
    let mut java = jmh(jdk, folder.path(), &class_path);
    java.args(["-prof", &options, "-rf", "json", "-rff", text(&results)]);
    java.args(["-f", "1", "-i", "2", "-p", "holdMillis=4", "book|mixed"]);
    let turn = alone();
    let run = output(&mut java);
    drop(turn);
    assert!(run.status.success(), "{}", err(&run));
    assert!(out(&run).contains("Ledger.lock (ReentrantLock#"), "{}", out(&run));
    let mut judge = Command::new("python3");
    judge.arg(root().join("packaging/jmh-check/judge.py"));
    judge.args([command, "trace"]).args([&results, &logs]);
    let judged = output(judge.args(["book:4", "mixed:4"]));
    assert!(judged.status.success(), "{}\n{}", err(&judged), out(&run));
}

/// The command, the folder and the names of benchmarks are no text of a shell.
fn no_shell_reads_what_is_given(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let Some(class_path) = class_path(folder.path()) else { return };
    let mut java = jmh(jdk, folder.path(), &class_path);
    java.args(["-f", "1", "-wi", "0", "-i", "1", "-r", "100ms", "-p", "holdMillis=2", "book"]);
    java.args(["-prof", "tyrion:dir=a $(touch b);tyrion=$(touch c)"]);
    let run = output(&mut java);
    assert!(run.status.success(), "{}", err(&run));
    assert!(out(&run).contains("no command $(touch c) to read logs"), "{}", out(&run));
    let [log] = &fs::read_dir(folder.path().join("a $(touch b)")).unwrap().collect::<Vec<_>>()[..]
    else {
        panic!("one log")
    };
    let log = log.as_ref().unwrap().path();
    let report = crate::support::run(["report", text(&log)]);
    assert!(out(&report).contains("Ledger.lock"), "{}", out(&report));
    let all = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = all.filter(|name| name == "b" || name == "c").collect();
    assert!(names.is_empty(), "{names:?}");
}
