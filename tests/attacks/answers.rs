//! What the attacker gives for the agent's answer, and where it says that the
//! log is.

use super::{
    actor::{ActorPart, ActorReply, ProtocolAnswer},
    stage::{NOBODY, Stage, TALKING},
};
use crate::support::{err, out, sample_log};
use std::{
    collections::BTreeSet,
    os::unix::fs::{chown, symlink},
    path::{Path, PathBuf},
};

fn answering(stage: &Stage, reply: ActorReply) -> ActorPart {
    ActorPart { reply, listens: true, ..stage.recorded_jvm() }
}

#[test]
fn only_a_file_is_an_answer() {
    let Some(stage) = Stage::set() else { return };
    for (reply, expected) in [
        (ActorReply::Link(stage.secret()), "not a regular file"),
        (ActorReply::Link("/dev/zero".into()), "not a regular file"),
        (ActorReply::Link("/proc/self/environ".into()), "not a regular file"),
        (ActorReply::Fifo, "not a regular file"),
        (ActorReply::Folder, "not a regular file"),
        (ActorReply::Zeros(1 << 40), "too long"),
        (ActorReply::Zeros(4096), "does not come from Tyrion's agent"),
        (ActorReply::Text("state=recording\n".repeat(101)), "does not come from Tyrion's agent"),
        (
            ActorReply::Text("state=recording\nevil\n".to_owned()),
            "does not come from Tyrion's agent",
        ),
        (ActorReply::Text("st\u{1b}[2Jate=x\n".to_owned()), "does not come from Tyrion's agent"),
        (ActorReply::Text(String::new()), "does not come from Tyrion's agent"),
        (ActorReply::Text("error=\u{1b}]0;evil\u{7}\u{202e}\u{9b}31m\n".to_owned()), "evil"),
    ] {
        let jvm = stage.play(&answering(&stage, reply.clone()));
        for command in TALKING {
            let said = stage.refused(command, jvm.id());
            assert!(said.contains(expected), "{reply:?}, {command:?}: {said}");
        }
    }
}

#[test]
fn an_answer_gives_no_orders_to_terminals() {
    let Some(stage) = Stage::set() else { return };
    let evil = "state=\u{1b}]0;evil\u{7}\u{9b}2J\u{202e}recording\nlog=/\u{1b}[31m\rx\n";
    let jvm = stage.play(&answering(&stage, ActorReply::Text(evil.to_owned())));
    for command in [&["status"][..], &["stop"], &["attach"], &["status", "--json"]] {
        assert!(stage.worked(command, jvm.id()).contains("evil"), "{command:?}");
    }
    stage.refused(&["sample", "--duration", "100ms"], jvm.id());
}

/// What the agent says of its log is a path of the JVM's, and the JVM's user's
/// rights have to do to read it. It is never removed.
#[test]
fn the_log_that_an_answer_names_is_not_removed_or_told() {
    let Some(mut stage) = Stage::set() else { return };
    let log = stage.keep("a.log", &std::fs::read(sample_log()).unwrap());
    let links = stage.home();
    symlink(&log, links.join("link.log")).unwrap();
    symlink("/dev/zero", links.join("zero.log")).unwrap();
    for path in [
        log.clone(),
        stage.secret(),
        links.join("link.log"),
        links.join("zero.log"),
        stage.zero(),
        stage.path("root/../root/a.log"),
        stage.path("root"),
    ] {
        let is_there = || path.symlink_metadata().is_ok();
        let reply =
            format!("state=recording\nlog={}\nbefore=new\nsample=1\nended=true\n", path.display());
        let part = answering(&stage, ActorReply::Text(reply));
        // Once it has gone, nobody needs a log that nobody has named.
        let jvm = stage.play(&ActorPart { answers: 1, ..part.clone() });
        stage.refused(&["sample", "--duration", "100ms"], jvm.id());
        assert!(is_there(), "{path:?} was removed");
        let jvm = stage.play(&part);
        for command in TALKING {
            let output = stage.run(command, jvm.id());
            assert!(is_there(), "{path:?} was removed");
            let is_sample = command[0] == "sample";
            assert_eq!(output.status.success(), !is_sample, "{command:?} {path:?}");
            assert!(!is_sample || out(&output).is_empty(), "{path:?}: {}", out(&output));
        }
    }
}

/// A log of nobody's own, which is what it says, is read, and stays.
#[test]
fn the_log_that_it_may_read_is_shown() {
    let Some(stage) = Stage::set() else { return };
    let log = stage.path("here/a.log");
    std::fs::copy(sample_log(), &log).unwrap();
    let reply = format!("log={}\nbefore=new\nsample=1\n", log.display());
    let jvm = stage.play(&answering(&stage, ActorReply::Text(reply)));
    let output = stage.run(&["sample", "--duration", "100ms"], jvm.id());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(std::fs::read(&log).unwrap(), std::fs::read(sample_log()).unwrap());
}

/// `top` reads the log that the JVM has mapped: by the time it is opened its
/// path may lead elsewhere.
#[test]
fn a_mapped_log_is_not_mistaken() {
    let Some(mut stage) = Stage::set() else { return };
    let secret = stage.keep("a.log", &std::fs::read(sample_log()).unwrap());
    let log = stage.home().join("a.log");
    for target in [&*secret, Path::new("/dev/zero"), &stage.path("root")] {
        std::fs::write(&log, std::fs::read(sample_log()).unwrap()).unwrap();
        chown(&log, Some(NOBODY), None).unwrap();
        let jvm = stage.play(&ActorPart { writes: vec![log.clone()], ..stage.recorded_jvm() });
        let shown = stage.worked(&["top", "--once", "--interval", "50ms"], jvm.id());
        assert!(!shown.is_empty(), "without an attack it is shown");
        std::fs::remove_file(&log).unwrap();
        symlink(target, &log).unwrap();
        let said = stage.refused(&["top", "--once", "--interval", "50ms"], jvm.id());
        assert!(said.contains("cannot be read"), "{target:?}: {said}");
        std::fs::remove_file(&log).unwrap();
    }
}

/// What it has mounted is mounted for itself alone: by the same path there is
/// something else for everybody else.
#[test]
fn a_mapped_log_is_looked_for_where_it_is() {
    let Some(mut stage) = Stage::set() else { return };
    let secret = stage.keep("a.log", &std::fs::read(sample_log()).unwrap());
    let (real, seen) = (stage.folder("real", 0o755), stage.folder("seen", 0o755));
    std::fs::write(real.join("a.log"), [0; 8192]).unwrap();
    chown(real.join("a.log"), Some(NOBODY), None).unwrap();
    symlink(secret, seen.join("a.log")).unwrap();
    let part = ActorPart { mounts: vec![(real, seen.clone())], ..stage.recorded_jvm() };
    let jvm = stage.play(&ActorPart { writes: vec![seen.join("a.log")], ..part });
    let said = stage.refused(&["top", "--once", "--interval", "50ms"], jvm.id());
    assert!(said.contains("cannot be read"), "{said}");
}

#[test]
fn nothing_is_left_behind() {
    let Some(stage) = Stage::set() else { return };
    let recording = ActorReply::Text("state=recording\nlog=/x\n".to_owned());
    for reply in
        [recording, ActorReply::Link(stage.secret()), ActorReply::Fifo, ActorReply::Zeros(1 << 20)]
    {
        let jvm = stage.play(&answering(&stage, reply.clone()));
        for command in TALKING {
            stage.run(command, jvm.id());
        }
        let exchanges = jvm.exchanges();
        assert!(exchanges.len() >= TALKING.len(), "{}", jvm.said());
        let names: BTreeSet<&PathBuf> = exchanges.iter().collect();
        assert_eq!(names.len(), exchanges.len(), "{exchanges:?}: one was used twice");
        for folder in exchanges {
            assert!(!folder.exists(), "{reply:?}: {folder:?} is left behind");
        }
    }
}

#[test]
fn long_answers_are_shortened() {
    let Some(stage) = Stage::set() else { return };
    let long = "x".repeat(60_000);
    for (reply, command, longest) in [
        (format!("state={long}\n"), &["status"][..], 5_000),
        (format!("log={long}\n"), &["attach", "-o", "a.log"], 5_000),
        (format!("log={long}\nbefore=recording\n"), &["sample", "--once", "-o", "a.log"], 5_000),
        (format!("error={long}\n"), &["stop"], 1_000),
        (format!("{}=x\n", long), &["status"], 1_000),
    ] {
        let jvm = stage.play(&answering(&stage, ActorReply::Text(reply)));
        let output = stage.run(command, jvm.id());
        let said = out(&output) + &err(&output);
        let widest = said.lines().map(|line| line.chars().count()).max();
        assert!(widest > Some(0) && widest < Some(longest), "{command:?}: {widest:?}");
    }
    let answer = ProtocolAnswer::Text(format!("1\n{long}\n"));
    let jvm = stage.play(&ActorPart { answer, ..answering(&stage, ActorReply::Nothing) });
    assert!(stage.refused(&["status"], jvm.id()).chars().count() < 1_000);
}
