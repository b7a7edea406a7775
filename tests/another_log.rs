//! The log of a JVM that is recorded goes on in another file because the user
//! wants that.

use crate::{
    attached::UNDER_WAY,
    attaching::unrecorded,
    mode_changes::{WAITS, attach, await_more},
    rotation::{files, read_all},
    support::{
        Jdk, Program, Wait, assert_between, err, info, on_jdks, output, stdout_of, text, tyrion,
        waits,
    },
};
use serde_json::Value;
use std::time::Instant;

on_jdks!(waits_under_way_go_on: one, everywhere two);
on_jdks!(what_cannot_be_written: one);
on_jdks!(in_another_file_system: one);

/// A path that no two tests have, on a file system of its own.
fn elsewhere(name: &str) -> tempfile::TempDir {
    tempfile::Builder::new().prefix(name).tempdir_in("/dev/shm").unwrap()
}

/// Waits that began in the first log are recorded once, in the one in which they end.
fn waits_under_way_go_on(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let first = folder.path().join("first.log");
    let program = Program::truth(jdk, "under-way").option("--threshold=0");
    let program = program.flag(format!("-Dtruth.until={}", until.display()));
    let begin = Instant::now();
    let mut running = program.start_at(first.clone(), folder);
    running.await_line("waiting");
    let waiting = Instant::now();
    let second = first.with_file_name("second.log");
    let pid = running.jvm().to_string();
    let go_on = |options: &[&str]| {
        let mut attach = tyrion();
        attach.args(["attach", "--json", &pid]).args(options);
        let answer: Value = serde_json::from_str(&stdout_of(&mut attach)).unwrap();
        answer["log"].as_str().unwrap().to_owned()
    };
    assert_eq!(go_on(&["-o", text(&second)]), text(&second));
    assert_eq!(go_on(&["-o", text(&second)]), text(&second), "it is that one already");
    assert_eq!(files(&second).len(), 1);
    assert_eq!(go_on(&["--filesize=64k", "--filecount=1000"]), text(&second));
    assert_eq!(go_on(&["--filesize=64k", "--filecount=1000"]), text(&second), "nothing is new");
    assert_eq!(files(&second).len(), 2);
    // Of what is not said, nothing changes.
    assert_eq!(go_on(&["--filesize=128k"]), text(&second));
    let metadata = &info(&second)["metadata"];
    let sizes = (&metadata["filesize"], &metadata["filecount"]);
    assert_eq!(sizes, (&"131072".into(), &"1000".into()), "{metadata}");
    let least_ns = waiting.elapsed().as_nanos() as u64;
    std::fs::write(until, "").unwrap();
    let finished = running.finish();
    assert!(finished.status.success(), "{}", err(&finished));
    let most_ns = begin.elapsed().as_nanos() as u64;

    assert_eq!(files(&first), [first.as_path()], "it has no others");
    let of_first = info(&first);
    assert_eq!((&of_first["state"], &of_first["continued"]), (&"closed".into(), &true.into()));
    let all: Vec<_> = [first].into_iter().chain(files(&second)).collect();
    let totals = read_all(&all);
    assert_eq!((totals.contentions, totals.dropped), (totals.ended, 0));
    let of_waiters = |file| -> Vec<Wait> {
        waits(file).into_iter().filter(|wait| wait.thread.starts_with("waiter-")).collect()
    };
    assert!(all[..all.len() - 1].iter().all(|file| of_waiters(file).is_empty()));
    let ended = of_waiters(&second);
    for (thread, kind) in UNDER_WAY {
        let found: Vec<_> =
            ended.iter().filter(|wait| wait.thread == thread && wait.kind == kind).collect();
        let [wait] = found[..] else { panic!("{thread}: {ended:?}") };
        assert_between(thread, wait.wait_ns, least_ns, most_ns);
        // It parks for no object.
        let has_lock = thread != "waiter-park";
        assert_eq!(wait.lock_class != "[unknown]", has_lock, "{wait:?}");
        assert!(wait.stack.len() > 2, "{wait:?}");
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
