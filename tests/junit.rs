//! The extension of JUnit 5 and 6, and the rule of 4, with tests whose answers are known.

use crate::{
    agent_jar::{jar, made_jar},
    jmh::library,
    support::{Jdk, err, on_jdks, out, output, root, text},
};
use std::{collections::BTreeMap, fs, path::Path, process::Command};
use tempfile::TempDir;

on_jdks!(tests_fail_for_what_their_threads_wait_for: one, everywhere all);
on_jdks!(tests_at_the_same_time_are_told_apart: extremes, everywhere all);
on_jdks!(what_the_program_names_is_no_expression: one);
on_jdks!(without_the_agent_tests_are_skipped_or_fail: extremes, everywhere all);

/// JUnit 5, which Java 8 has, or 6.
const FIVE: &str = "org.junit.platform-junit-platform-console-standalone-1.11.4.jar";
const SIX: &str = "org.junit.platform-junit-platform-console-standalone-6.0.0.jar";

/// The answers of `JupiterTests`, by test.
const JUPITER: [(&str, &str); 12] = [
    ("failsForContention()", "may not wait 1 ms or longer for locks like Cache:"),
    ("failsForItsOwnReason()", "its own reason"),
    ("failsForItsOwnWait()", "may wait 50 ms for locks like Cache.*:"),
    ("failsForTheLastThingThatItDoes()", "may wait 50 ms for locks like Cache.*:"),
    ("failsForTheWaitOfAThreadThatItStarts()", "may wait 50 ms for locks like Cache.*:"),
    ("failsForARing()", "may not take locks in a ring:"),
    ("repetition 1 of 2", "may not take locks in a ring:"),
    ("repetition 2 of 2", "may not take locks in a ring:"),
    ("passesForAnotherLock()", ""),
    ("passesForItMayWaitLonger()", ""),
    ("passesWithoutARing()", ""),
    ("passesWithoutContention()", ""),
];
const RULE: [(&str, &str); 4] = [
    ("failsForContentionAsItsClassSays", "may not wait 1 ms or longer for locks like Cache:"),
    ("failsForTheWaitOfAThreadThatItStarts", "may wait 50 ms for locks like Cache.*:"),
    ("failsForARing", "may not take locks in a ring:"),
    ("passes", ""),
];
const PARALLEL: [(&str, &str); 5] = [
    ("failsForARing()", "may not take locks in a ring:"),
    ("failsForItsOwnWait()", "may wait 50 ms for locks like Cache.*:"),
    ("failsForTheWaitOfAThreadThatItStarts()", "may wait 50 ms for locks like Cache.*:"),
    ("failsForTheWaitOfAVirtualThreadThatItStarts()", "may wait 50 ms for locks like Cache.*:"),
    ("passesBesideThem()", ""),
];

/// A class path with tests, in a folder where they run.
struct Tests {
    folder: TempDir,
    class_path: Vec<String>,
}

/// How a test ended, and what it said.
struct Ended {
    is: char,
    said: String,
}

impl Tests {
    /// `None` after a message.
    fn new(junit: &str) -> Option<Tests> {
        Tests::with_agent(junit, jar()?)
    }

    fn with_agent(junit: &str, agent: &Path) -> Option<Tests> {
        let folder = tempfile::tempdir().unwrap();
        let extension = made_jar(folder.path(), "tyrion-junit.jar", "junit")?;
        let mut jars = vec![extension, agent.to_owned(), root().join("agent/java/tyrion-api.jar")];
        for name in [junit, "junit-junit-4.13.2.jar", "org.hamcrest-hamcrest-core-1.3.jar"] {
            jars.push(library(name)?);
        }
        let mut class_path: Vec<String> = jars.iter().map(|jar| text(jar).to_owned()).collect();
        let classes = folder.path().join("classes");
        fs::create_dir(&classes).unwrap();
        let mut compile = Command::new(root().join("target/jdks/javac"));
        let release = if junit == SIX { "17" } else { "8" };
        compile.args(["--release", release, "-g", "-nowarn", "-cp", &class_path.join(":")]);
        let sources = fs::read_dir(root().join("testdata/junit/tested")).unwrap();
        compile.args(["-d", text(&classes)]).args(sources.map(|it| it.unwrap().path()));
        let compiled = output(&mut compile);
        assert!(compiled.status.success(), "{}", err(&compiled));
        class_path.push(text(&classes).to_owned());
        Some(Tests { folder, class_path })
    }

    /// How many logs the extension has begun.
    fn own_logs(&self) -> usize {
        let names = fs::read_dir(self.folder.path()).unwrap().map(|it| it.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("tyrion-tests-")).count()
    }

    /// Runs a class of tests: how each ended.
    fn run(&self, jdk: &Jdk, class: &str, options: &[&str]) -> BTreeMap<String, Ended> {
        let reports = self.folder.path().join("reports");
        let mut java = Command::new(jdk.java());
        java.current_dir(self.folder.path()).args(["-cp", &self.class_path.join(":")]);
        java.arg(format!("-Dtyrion.command={}", env!("CARGO_BIN_EXE_tyrion")));
        java.args(options).arg("org.junit.platform.console.ConsoleLauncher");
        java.args(["execute", "--disable-banner", "--disable-ansi-colors", "--details=tree"]);
        java.args(["--select-class", &format!("tested.{class}"), "--reports-dir", text(&reports)]);
        let run = output(&mut java);
        let tree = out(&run);
        assert!(matches!(run.status.code(), Some(0 | 1)), "{tree}{}", err(&run));
        ended(tree.split("\nFailures (").next().unwrap_or_default())
    }
}

/// What a printed tree says of tests: `│  ├─ name() ✘ why`, and on further lines more of it.
fn ended(tree: &str) -> BTreeMap<String, Ended> {
    let mut all = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in tree.lines() {
        let of_tree = line.trim_start_matches(['│', ' ']);
        let Some(test) = of_tree.strip_prefix("├─ ").or(of_tree.strip_prefix("└─ ")) else {
            if let Some(Ended { said, .. }) = last.as_ref().and_then(|name| all.get_mut(name)) {
                said.push_str(&format!("\n{of_tree}"));
            }
            continue;
        };
        let mark = test.char_indices().find(|(_, c)| ['✔', '✘', '■', '↷'].contains(c));
        let Some((at, is)) = mark else { continue };
        // What takes long is told with its time.
        let name = test[..at].trim();
        let name = match name.strip_suffix(" ms").and_then(|timed| timed.rsplit_once(' ')) {
            Some((name, _)) => name.to_owned(),
            None => name.to_owned(),
        };
        let said = test[at + is.len_utf8()..].trim().to_owned();
        all.insert(name.clone(), Ended { is, said });
        last = Some(name);
    }
    all
}

/// Each test ended as it must; what fails for a wait names the place and the holder.
fn judge(all: &BTreeMap<String, Ended>, expected: &[(&str, &str)]) {
    for (test, reason) in expected {
        let told =
            || all.iter().map(|(name, it)| format!("{name} {}\n", it.said)).collect::<String>();
        let Some(Ended { is, said }) = all.get(*test) else { panic!("no {test}:\n{}", told()) };
        let is_good = if reason.is_empty() { *is == '✔' } else { *is == '✘' };
        assert!(is_good && said.contains(reason), "{test} {is} {said}");
        let facts: &[&str] = match *reason {
            _ if test.ends_with("ThatItStarts()") || test.ends_with("ThatItStarts") => {
                &["Cache.cacheLock", "waited for in Cache.get", "Cache.makeStartedWait"]
            }
            reason if reason.starts_with("may wait") => {
                &["Cache.cacheLock", "waited for in Cache.get", "held in Cache.hold"]
            }
            reason if reason.contains("may not wait") => &["Cache.cacheLock", "which worker had"],
            reason if reason.contains("ring") => {
                &["other way round took inner", "held outer", "Cache.takeBoth(Cache.java:"]
            }
            _ => &[],
        };
        for fact in facts {
            assert!(said.contains(fact), "{test} does not say {fact}: {said}");
        }
    }
}

fn tests_fail_for_what_their_threads_wait_for(jdk: &Jdk) {
    let Some(tests) = Tests::new(FIVE) else { return };
    judge(&tests.run(jdk, "JupiterTests", &[]), &JUPITER);
    assert_eq!(tests.own_logs(), 1);
    // Whoever has the agent already keeps that, and its log.
    let agent = format!("-javaagent:{}=file=mine.log", text(jar().unwrap()));
    judge(&tests.run(jdk, "RuleTests", &[&agent]), &RULE);
    assert!(tests.folder.path().join("mine.log").is_file());
    assert_eq!(tests.own_logs(), 1);
    if jdk.major >= 17 {
        let Some(tests) = Tests::new(SIX) else { return };
        judge(&tests.run(jdk, "JupiterTests", &[]), &JUPITER);
    }
}

/// Threads of the same name, waits at the same places, at the same time.
fn tests_at_the_same_time_are_told_apart(jdk: &Jdk) {
    let Some(tests) = Tests::new(FIVE) else { return };
    let parallel = "-Djunit.jupiter.execution.parallel";
    let all = tests.run(
        jdk,
        "ParallelTests",
        &[
            &format!("{parallel}.enabled=true"),
            &format!("{parallel}.config.strategy=fixed"),
            &format!("{parallel}.config.fixed.parallelism=5"),
        ],
    );
    judge(&all, &PARALLEL);
}

/// Neither the command nor the log is read by a shell, and the log's name is no option.
fn what_the_program_names_is_no_expression(jdk: &Jdk) {
    let Some(tests) = Tests::new(FIVE) else { return };
    let all = tests.run(jdk, "RuleTests", &["-Dtyrion.options=file=--kind $(touch b).log"]);
    judge(&all, &RULE);
    let all = tests.run(jdk, "RuleTests", &["-Dtyrion.command=$(touch b)"]);
    let [Ended { is, said }] = ["passes"].map(|name| &all[name]);
    let reason = "tyrion: no command $(touch b) to read logs (tyrion.command=PATH)";
    assert!(*is == '■' && said.contains(reason), "{is} {said}");
    assert!(!tests.folder.path().join("b").exists());
}

fn without_the_agent_tests_are_skipped_or_fail(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    // As on a system for which there is none.
    let Some(agent) = made_jar(folder.path(), "none.jar", "other-libc=/dev/null") else { return };
    let Some(tests) = Tests::with_agent(FIVE, &agent) else { return };
    for (setting, ends_as) in [("skip", '■'), ("fail", '✘')] {
        let missing = format!("-Dtyrion.missing={setting}");
        for (class, of_class) in [("JupiterTests", JUPITER.as_slice()), ("RuleTests", &RULE)] {
            let all = tests.run(jdk, class, &[&missing]);
            for (test, _) in of_class {
                let Ended { is, said } = &all[*test];
                let is_told = said.contains("tyrion: there is no agent for ");
                assert!(*is == ends_as && is_told, "{setting}: {test} {is} {said}");
            }
        }
    }
}
