//! Whoever answers on `.java_pidN` need not be the JVM, and need not answer as
//! one.

use super::{
    actor::{ActorPart, ActorReply, ProtocolAnswer, Quit},
    stage::{ASKING, Actor, NOBODY, STRANGER, Stage},
};
use crate::support::{err, finish, wait_for};
use std::{
    os::unix::{
        fs::{lchown, symlink},
        net::UnixListener,
        process::{CommandExt, ExitStatusExt},
    },
    path::PathBuf,
    process::Stdio,
};

fn recording() -> ActorReply {
    ActorReply::Text("state=recording\nlog=/tmp/squatter.log\nbefore=new\n".to_owned())
}

fn socket(pid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/.java_pid{pid}"))
}

/// Who listens in the place of this process.
fn squatter(stage: &Stage, uid: u32, pid: u32) -> Actor {
    let part =
        ActorPart { uid, folder: stage.path("here"), listens: true, poses_as: pid, ..stage.jvm() };
    stage.play(&ActorPart { reply: recording(), ..part })
}

#[test]
fn a_squatters_socket_is_refused() {
    let Some(stage) = Stage::set() else { return };
    let jvm = stage.play(&stage.recorded_jvm());
    // Another user; the JVM's user, but another process; root.
    for uid in [STRANGER, NOBODY, 0] {
        let squatter = squatter(&stage, uid, jvm.id());
        for command in ASKING {
            let said = stage.refused(command, jvm.id());
            assert!(said.contains("is not its socket"), "{command:?} of {uid}: {said}");
        }
        assert!(!squatter.has_said("request"), "{uid}: {}", squatter.said());
        assert!(!jvm.has_said("asked"), "{uid}");
        drop(squatter);
        std::fs::remove_file(socket(jvm.id())).unwrap();
    }
}

/// The socket's file is the JVM's user's, but who listens is another user.
#[test]
fn the_owner_of_the_file_is_not_enough() {
    let Some(stage) = Stage::set() else { return };
    let jvm = stage.play(&stage.recorded_jvm());
    let squatter = squatter(&stage, STRANGER, jvm.id());
    lchown(socket(jvm.id()), Some(NOBODY), Some(NOBODY)).unwrap();
    for command in ASKING {
        let said = stage.refused(command, jvm.id());
        assert!(
            said.contains(&format!("process {} of user", squatter.id())),
            "{command:?}: {said}"
        );
    }
    assert!(!squatter.has_said("request"), "{}", squatter.said());
}

#[test]
fn what_is_no_socket_is_refused() {
    let Some(stage) = Stage::set() else { return };
    let jvm = stage.play(&stage.recorded_jvm());
    let path = socket(jvm.id());
    let listener = UnixListener::bind(stage.path("root-socket")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let makers: [(&str, &dyn Fn()); 4] = [
        ("a link to root's socket", &|| symlink(stage.path("root-socket"), &path).unwrap()),
        ("a link to root's file", &|| symlink(stage.secret(), &path).unwrap()),
        ("a file", &|| std::fs::write(&path, "").unwrap()),
        ("a folder", &|| std::fs::create_dir(&path).unwrap()),
    ];
    for (what, make) in makers {
        make();
        lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        for command in ASKING {
            let said = stage.refused(command, jvm.id());
            assert!(said.contains("is not its socket"), "{what}, {command:?}: {said}");
        }
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
    }
    assert!(listener.accept().is_err(), "somebody has connected to root's socket");
}

/// One that others may write to is none of a JVM's.
#[test]
fn an_open_socket_is_refused() {
    let Some(stage) = Stage::set() else { return };
    let jvm = stage.play(&ActorPart { listens: true, reply: recording(), ..stage.recorded_jvm() });
    let path = socket(jvm.id());
    wait_for("socket", || path.exists().then_some(()));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(&path, mode).unwrap();
    for command in ASKING {
        let said = stage.refused(command, jvm.id());
        assert!(said.contains("is not its socket"), "{command:?}: {said}");
    }
    assert!(!jvm.has_said("request"));
}

#[test]
fn answers_that_no_jvm_gives_are_refused() {
    let Some(stage) = Stage::set() else { return };
    for (answer, expected) in [
        (ProtocolAnswer::Endless, "too long"),
        (ProtocolAnswer::Text(String::new()), "without an answer"),
        (
            ProtocolAnswer::Text("1\nno \u{1b}]0;evil\u{7}\u{202e}\u{9b}31m\n".to_owned()),
            "the JVM refuses",
        ),
        (ProtocolAnswer::Text("0\nreturn code: \u{1b}[2J\u{202e}\n".to_owned()), "cannot load"),
        (ProtocolAnswer::End, "without an answer"),
    ] {
        for command in ASKING {
            let part = ActorPart { answer: answer.clone(), listens: true, ..stage.recorded_jvm() };
            let jvm = stage.play(&part);
            let said = stage.refused(command, jvm.id());
            let is_dump = command[0] == "dump-threads" && expected == "cannot load";
            let expected = if is_dump { "not a recording" } else { expected };
            assert!(said.contains(expected), "{answer:?}, {command:?}: {said}");
            assert!(jvm.has_said("request"), "{answer:?}, {command:?}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}

/// Who listens, but lets nobody in, is not waited for without end.
#[test]
fn a_crowd_before_the_socket_is_not_waited_for() {
    let Some(stage) = Stage::set() else { return };
    let part = ActorPart { listens: true, is_crowded: true, ..stage.recorded_jvm() };
    let jvm = stage.play(&part);
    std::thread::scope(|scope| {
        for command in ASKING {
            let (stage, jvm) = (&stage, &jvm);
            scope.spawn(move || {
                let said = stage.refused(command, jvm.id());
                assert!(said.contains("does not answer"), "{command:?}: {said}");
            });
        }
    });
}

/// Whatever the other side does, the user can end it.
#[test]
fn an_interrupt_ends_a_sample_that_nobody_answers() {
    let Some(stage) = Stage::set() else { return };
    let part = ActorPart { listens: true, answer: ProtocolAnswer::Never, ..stage.recorded_jvm() };
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let jvm = stage.play(&part);
        let mut sample = stage.command(&["sample", "--duration", "100ms"], jvm.id());
        sample.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Tests may run where signals are ignored, as in the background of a script.
        let heed = move || {
            // SAFETY: sets what the signal does in the child alone.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes one system call.
        unsafe { sample.pre_exec(heed) };
        let sample = sample.spawn().unwrap();
        wait_for("request", || jvm.has_said("request").then_some(()));
        // SAFETY: sends a signal to a child that nobody has waited for.
        unsafe { libc::kill(sample.id() as libc::pid_t, signal) };
        let output = finish(sample);
        // It has ended what it did, and then itself by that signal.
        assert_eq!(output.status.signal(), Some(signal), "{}", err(&output));
        assert!(!jvm.exchanges()[0].exists(), "it is left behind");
    }
}

/// An interrupt that comes when the JVM is about to record ends nothing: the user is told how.
#[test]
fn an_interrupt_that_is_too_late_is_told() {
    let Some(stage) = Stage::set() else { return };
    for nth in 0.. {
        let file = stage.path(&format!("here/answer-{nth}"));
        let answer = ProtocolAnswer::After(file.clone());
        let part = ActorPart { answer, listens: true, reply: recording(), ..stage.recorded_jvm() };
        let jvm = stage.play(&part);
        let mut attach = stage.command(&["attach"], jvm.id());
        attach.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let attach = attach.spawn().unwrap();
        wait_for("request", || jvm.has_said("request").then_some(()));
        // SAFETY: sends a signal to a child that nobody has waited for.
        unsafe { libc::kill(attach.id() as libc::pid_t, libc::SIGTERM) };
        std::fs::write(&file, "").unwrap();
        let output = finish(attach);
        if output.status.success() {
            let stop = format!("tyrion stop {} ends what has begun", jvm.id());
            assert!(err(&output).contains(&stop), "{}", err(&output));
            return;
        }
        // It came in time: that took longer than a second.
        assert!(nth < 50 && output.status.signal() == Some(libc::SIGTERM), "{}", err(&output));
    }
}

/// The kernel tells who began to listen: that may have ended since.
#[test]
fn who_inherits_a_socket_is_not_the_jvm() {
    let Some(stage) = Stage::set() else { return };
    for command in ASKING {
        let part = ActorPart { quit: Quit::Bequeath, reply: recording(), ..stage.recorded_jvm() };
        let jvm = stage.play(&part);
        let said = stage.refused(command, jvm.id());
        assert!(said.contains(&format!("process {} has ended", jvm.id())), "{command:?}: {said}");
        assert!(!jvm.has_said("request"), "{command:?}: {}", jvm.said());
    }
}
