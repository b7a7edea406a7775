//! The log of a JVM that is recorded goes on in another file because the user
//! wants that.

use crate::{
    attaching::unrecorded,
    mode_changes::{WAITS, attach, await_more},
    rotation::{files, read_all},
    support::{
        Jdk, Program, assert_between, err, info, ms, on_jdks, output, stdout_of, text, tyrion,
        wait_for, waits,
    },
};

on_jdks!(waits_under_way_go_on: one, everywhere two);
on_jdks!(what_cannot_be_written: one);
on_jdks!(in_another_file_system: one);

/// A path that no two tests have, on a file system of its own.
fn elsewhere(name: &str) -> tempfile::TempDir {
    tempfile::Builder::new().prefix(name).tempdir_in("/dev/shm").unwrap()
}

/// Waits that began in the first log are recorded once, in the one in which they end.
fn waits_under_way_go_on(jdk: &Jdk) {
    let program = Program::truth(jdk, "outlast 8").option("--threshold=0");
    let mut running = program.pinned().start();
    let first = running.log.clone();
    let second = first.with_file_name("second.log");
    wait_for("waits under way", || {
        let mut info = tyrion();
        info.args(["info", "--json", "--thread", "^waiter-"]).arg(&first);
        let output = output(&mut info);
        let info: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        (info["waiting"]["contention"] == 4).then_some(())
    });
    let pid = running.jvm().to_string();
    let go_on = |options: &[&str]| {
        let mut attach = tyrion();
        attach.args(["attach", "--json", &pid]).args(options);
        let answer: serde_json::Value = serde_json::from_str(&stdout_of(&mut attach)).unwrap();
        answer["log"].as_str().unwrap().to_owned()
    };
    assert_eq!(go_on(&["-o", text(&second)]), text(&second));
    assert_eq!(go_on(&["-o", text(&second)]), text(&second), "it is that one already");
    assert_eq!(files(&second).len(), 1);
    assert_eq!(go_on(&["--filesize=64k", "--filecount=1000"]), text(&second));
    let finished = running.finish();
    assert!(finished.status.success(), "{}", err(&finished));
    let said = finished.stdout.split(|&byte| byte == b'\n').rev().find(|line| !line.is_empty());
    let said: serde_json::Value = serde_json::from_slice(said.unwrap()).unwrap();

    let later = files(&second);
    assert!(later.len() > 1, "{later:?}");
    assert_eq!(files(&first), [first.as_path()], "it has no others");
    let of_first = info(&first);
    assert_eq!((&of_first["state"], &of_first["continued"]), (&"closed".into(), &true.into()));
    let all: Vec<_> = [first.clone()].into_iter().chain(later.iter().cloned()).collect();
    let totals = read_all(&all);
    assert_eq!((totals.contentions, totals.dropped), (totals.ended, 0));
    let long = |file| {
        let of_waiters = |wait: &crate::support::Wait| {
            wait.thread.starts_with("waiter-") && wait.wait_ns > ms(1000)
        };
        waits(file).into_iter().filter(of_waiters).collect::<Vec<_>>()
    };
    assert!(long(&first).is_empty());
    let found: Vec<_> = later.iter().flat_map(|file| long(file)).collect();
    assert_eq!(found.len(), 4, "{found:?}");
    for wait in &found {
        let kind = wait.thread.strip_prefix("waiter-").unwrap();
        let told = |bound: &str| said[format!("{kind}_{bound}_ns")].as_u64().unwrap();
        assert_between(kind, wait.wait_ns, told("least"), told("wait"));
        assert!(!wait.stack.is_empty() && wait.lock_class != "[unknown]", "{wait:?}");
    }
}

/// It goes on in the log that it has.
fn what_cannot_be_written(jdk: &Jdk) {
    let running = unrecorded(jdk);
    attach(&running, &["--mode=contention", "--threshold=0"]);
    let pid = running.id().to_string();
    let precious = running.log.with_file_name("precious.txt");
    std::fs::write(&precious, "precious").unwrap();
    let missing = running.log.with_file_name("no such folder").join("a.log");
    for (path, reason) in [(&precious, "is not a Tyrion log"), (&missing, "No such file")] {
        let refused = output(tyrion().args(["attach", &pid, "-o"]).arg(path));
        assert_eq!(refused.status.code(), Some(1));
        assert!(err(&refused).contains(reason), "{}", err(&refused));
    }
    assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
    let status = stdout_of(tyrion().args(["status", "--json", &pid]));
    assert!(status.contains(text(&running.log)), "{status}");
    await_more(&running.log, WAITS, info(&running.log)["totals"]["contentions"].as_u64().unwrap());
}

/// The log of a sample cannot be renamed to there.
fn in_another_file_system(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id().to_string();
    stdout_of(tyrion().args(["sample", &pid, "--duration", "300ms"]));
    let folder = elsewhere("tyrion-test");
    let log = folder.path().join("a.log");
    let answer = stdout_of(tyrion().args(["attach", "--threshold=0", "-o", text(&log), &pid]));
    assert!(answer.contains(text(&log)), "{answer}");
    await_more(&log, WAITS, 0);
}
