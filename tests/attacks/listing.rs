//! `tyrion list`, which looks at all JVMs with root's rights, and `tyrion dump-threads`.

use super::{
    actor::{ActorPart, ProtocolAnswer},
    jail::give,
    stage::{Actor, NOBODY, STRANGER, Stage},
};
use crate::support::{err, finish, out, output_in_time, sample_log, tyrion_within, wait_for};
use serde_json::Value;
use std::{
    fs::Permissions,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Stdio,
};

/// What a JVM answers whom it gives a thread dump.
const DUMP: &str = "0\n2026-11-29 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 \
                    mixed mode):\n\n\"work\u{1b}]0;evil\u{7}er\u{202e}-1\" #12 prio=5 os_prio=0 \
                    tid=0x00007f0000000001 nid=0x11 runnable  [0x00007f0000001000]\n   \
                    java.lang.Thread.State: RUNNABLE\n\tat com.acme.\u{1b}[2JShop.serve(Shop.java:7)\
                    \n\n";

/// What `list` says of a process, as JSON and as text.
fn listed(stage: &Stage, jvm: &Actor) -> (Value, String) {
    let run = |args: &[&str]| {
        let mut tyrion = tyrion_within(1 << 30);
        let output = output_in_time(tyrion.arg("list").args(args).current_dir(stage.path("here")));
        stage.check(&format!("list {args:?}"), &output);
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    };
    let all: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let found = all["jvms"].as_array().unwrap().iter().find(|it| it["pid"] == jvm.id());
    let text = run(&[]);
    let line = text.lines().find(|line| line.starts_with(&format!("{} ", jvm.id()))).unwrap();
    (found.unwrap().clone(), line.to_owned())
}

/// A file of nobody's, or whoever has this id.
fn written(stage: &Stage, name: &str, bytes: &[u8], (uid, mode): (u32, u32)) -> PathBuf {
    let path = stage.home().join(name);
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    give(&path, uid);
    path
}

/// Others map files to write to them, too, and call them so.
#[test]
fn what_is_no_log_is_not_taken_for_one() {
    let Some(stage) = Stage::set() else { return };
    let bytes = std::fs::read(sample_log()).unwrap();
    let other = written(&stage, "app.log", &[b'x'; 8192], (NOBODY, 0o644));
    let log = written(&stage, "real.log", &bytes, (NOBODY, 0o600));
    let next = written(&stage, "real.log.next", &bytes, (NOBODY, 0o600));
    let part = |writes: &[&PathBuf]| ActorPart {
        writes: writes.iter().map(|path| (*path).clone()).collect(),
        ..stage.recorded_jvm()
    };
    let jvm = stage.play(&part(&[&other, &next]));
    let (known, line) = listed(&stage, &jvm);
    assert_eq!((&known["log"], &known["has_agent"]), (&Value::Null, &true.into()), "{known}");
    assert!(line.contains("loaded"), "{line}");
    let jvm = stage.play(&part(&[&other, &next, &log]));
    let (known, line) = listed(&stage, &jvm);
    assert_eq!(known["log"], log.to_str().unwrap());
    assert!(line.contains("real.log"), "{line}");
    // Without an agent there is no log of its own.
    let jvm = stage.play(&ActorPart { writes: vec![log], ..stage.jvm() });
    let (known, _) = listed(&stage, &jvm);
    assert_eq!((&known["log"], &known["has_agent"]), (&Value::Null, &false.into()), "{known}");
}

/// A library is code that runs: a file that is only called so makes no agent.
#[test]
fn what_is_only_called_like_the_agent_is_none() {
    let Some(stage) = Stage::set() else { return };
    let log = written(&stage, "a.log", &std::fs::read(sample_log()).unwrap(), (NOBODY, 0o644));
    let named = written(&stage, "libtyrion_agent.txt", &[0; 4096], (NOBODY, 0o644));
    let mut part = stage.jvm();
    part.maps.push(named);
    let jvm = stage.play(&ActorPart { writes: vec![log], ..part });
    let (known, _) = listed(&stage, &jvm);
    assert_eq!((&known["log"], &known["has_agent"]), (&Value::Null, &false.into()), "{known}");
}

/// What has the path of the log by now is not what is mapped, and is not looked into.
#[test]
fn the_log_that_is_mapped_counts() {
    let Some(mut stage) = Stage::set() else { return };
    let bytes = std::fs::read(sample_log()).unwrap();
    let secret = stage.keep("a.log", &bytes);
    let log = written(&stage, "a.log", &[0; 8192], (NOBODY, 0o644));
    for target in [&*secret, Path::new("/dev/zero"), &stage.path("root")] {
        let jvm = stage.play(&ActorPart { writes: vec![log.clone()], ..stage.recorded_jvm() });
        std::fs::rename(&log, stage.home().join("old")).unwrap();
        symlink(target, &log).unwrap();
        let (known, _) = listed(&stage, &jvm);
        assert_eq!(known["log"], Value::Null, "{target:?}");
        std::fs::remove_file(&log).unwrap();
        std::fs::rename(stage.home().join("old"), &log).unwrap();
    }
}

/// The file that says which JDK it is belongs to whoever has put the JDK there. Root reads of
/// it what the JVM's user could have read.
#[test]
fn a_release_is_read_where_its_user_could_read_it() {
    let Some(mut stage) = Stage::set() else { return };
    let version = b"JAVA_VERSION=\"7.7.7\"\n";
    let secret = stage.keep("release", version);
    let home = stage.home();
    std::fs::copy(stage.path("jvm/libjvm.so"), home.join("libjvm.so")).unwrap();
    let release = home.join("release");
    let part = ActorPart { maps: vec![home.join("libjvm.so")], ..stage.jvm() };
    let jvm = stage.play(&part);
    let told = || listed(&stage, &jvm).0["jdk"].clone();
    for target in [&*secret, Path::new("/dev/zero"), Path::new("/proc/self/environ"), &home] {
        symlink(target, &release).unwrap();
        give(&release, NOBODY);
        assert_eq!(told(), Value::Null, "{target:?}");
        std::fs::remove_file(&release).unwrap();
    }
    let name = std::ffi::CString::new(release.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o644) }, 0);
    give(&release, NOBODY);
    assert_eq!(told(), Value::Null, "a pipe");
    std::fs::remove_file(&release).unwrap();
    for (bytes, rights, expected) in [
        (&version[..], (NOBODY, 0o600), Value::from("7.7.7")),
        (version, (0, 0o644), Value::from("7.7.7")),
        (version, (0, 0o600), Value::Null),
        (version, (STRANGER, 0o644), Value::Null),
        (version, (NOBODY, 0o666), Value::Null),
        (b"JAVA_VERSION=\"1\x1b]0;evil\x07\"\n", (NOBODY, 0o644), Value::Null),
        (&[b'J'; 1 << 20], (NOBODY, 0o644), Value::Null),
    ] {
        written(&stage, "release", bytes, rights);
        assert_eq!(told(), expected, "{rights:?}");
        std::fs::remove_file(&release).unwrap();
    }
}

#[test]
fn a_thread_dump_gives_no_orders_to_terminals() {
    let Some(stage) = Stage::set() else { return };
    let answer = ProtocolAnswer::Text(DUMP.to_owned());
    let jvm = stage.play(&ActorPart { answer, listens: true, ..stage.jvm() });
    for more in [&[][..], &["--json"], &["-o", "-"]] {
        let command = [&["dump-threads", "-n", "2", "--every", "1ms"], more].concat();
        // As it is: what is kept for other tools.
        if more.contains(&"-") {
            let output = output_in_time(&mut stage.command(&command, jvm.id()));
            assert_eq!(out(&output), DUMP[2..].repeat(2));
        } else {
            assert!(!stage.worked(&command, jvm.id()).is_empty(), "{more:?}");
        }
    }
}

/// It is written with the rights of the JVM's user, and replaces no log.
#[test]
fn dumps_are_kept_where_its_user_may_write() {
    let Some(mut stage) = Stage::set() else { return };
    let secret = stage.keep("dumps.txt", b"precious");
    let answer = ProtocolAnswer::Text(DUMP.to_owned());
    let jvm = stage.play(&ActorPart { answer, listens: true, ..stage.jvm() });
    let link = stage.home().join("link.txt");
    for target in [secret, stage.path("root/new")] {
        symlink(&target, &link).unwrap();
        give(&link, NOBODY);
        let output =
            stage.run(&["dump-threads", "-n", "1", "-o", link.to_str().unwrap()], jvm.id());
        // The link may have been replaced: it is nobody's.
        assert!(!target.exists() || output.status.code().is_some(), "{}", err(&output));
        let _ = std::fs::remove_file(&link);
    }
    let bytes = std::fs::read(sample_log()).unwrap();
    let log = written(&stage, "a.log", &bytes, (NOBODY, 0o644));
    let command = ["dump-threads", "-n", "1", "-o", log.to_str().unwrap()];
    let refused = output_in_time(&mut stage.command(&command, jvm.id()));
    assert!(!refused.status.success() && err(&refused).contains("is a Tyrion log"));
    assert!(std::fs::read(&log).unwrap() == bytes, "a log was overwritten");
}

/// Whatever the JVM does: who interrupts gets what was taken until then.
#[test]
fn an_interrupt_leaves_the_dumps_that_were_taken() {
    let Some(stage) = Stage::set() else { return };
    let (first, answer) = (Some(DUMP.to_owned()), ProtocolAnswer::Never);
    let jvm = stage.play(&ActorPart { first, answer, listens: true, ..stage.jvm() });
    let mut dump = stage.command(&["dump-threads", "-n", "3", "--every", "1ms"], jvm.id());
    dump.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = dump.spawn().unwrap();
    let requests = || jvm.said().lines().filter(|line| line.starts_with("request")).count();
    wait_for("second request", || (requests() > 1).then_some(()));
    // SAFETY: sends a signal to a child that nobody has waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    let output = finish(child);
    assert!(output.status.success(), "{}: {}", output.status, err(&output));
    assert!(err(&output).contains("the report is of 1 dump"), "{}", err(&output));
    assert!(out(&output).contains("Shop.serve"), "{}", out(&output));
}
