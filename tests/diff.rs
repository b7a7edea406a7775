//! `tyrion diff`: a program before and after its hot lock was striped, which
//! measures its own waits.

use crate::support::{
    Jdk, Program, Recording, assert_between, assert_near, err, list, needs, number, on_jdks, run,
    share, stdout_of, text, text_of, tyrion,
};
use serde_json::Value;
use std::process::Command;

on_jdks!(a_striped_lock: one, everywhere two);

/// What the diff says must be what the program measured but for this part.
const OFF: f64 = 0.1;
const HOT: &str = "tyrion.truth.Striped$Stripe";

/// A program and its log.
struct DiffLog(Recording);

impl DiffLog {
    fn record(jdk: &Jdk, stripes: u32) -> DiffLog {
        DiffLog(Program::truth(jdk, &format!("striped {stripes}")).traced().alone().record())
    }

    /// What the program says of a lock, found by its class or by the class of
    /// the field that it is in.
    fn lock(&self, lock: &Value) -> Option<&Value> {
        let mut locks = list(&self.0.said, "locks").iter();
        locks.find(|said| {
            let class = text_of(said, "class");
            let field = format!("{}.lock", class.trim_start_matches("tyrion.truth."));
            class == text_of(lock, "class") || field == text_of(lock, "name")
        })
    }

    fn wait_ns(&self, lock: &Value) -> f64 {
        self.lock(lock).map_or(0.0, |said| number(said, "wait_ns") as f64)
    }

    fn acquisitions(&self, lock: &Value) -> f64 {
        self.lock(lock).map_or(0.0, |said| number(said, "acquisitions") as f64)
    }

    fn log(&self) -> &str {
        text(&self.0.log)
    }
}

fn diff(options: &[&str], before: &DiffLog, after: &DiffLog) -> Value {
    let mut command = tyrion();
    command.args(["diff", "--json", "--top=0"]).args(options).args([before.log(), after.log()]);
    serde_json::from_str(&stdout_of(&mut command)).unwrap()
}

fn a_striped_lock(jdk: &Jdk) {
    let (before, after) = (DiffLog::record(jdk, 1), DiffLog::record(jdk, 16));
    let by_second = diff(&[], &before, &after);
    assert_eq!(by_second["per"], "second");
    // What the program waited, for each second of its recording.
    check(&by_second, &before, &after, |side, lock| match side {
        0 => before.wait_ns(lock) / seconds(&by_second["before"]),
        _ => after.wait_ns(lock) / seconds(&by_second["after"]),
    });
    let by_acquisition = diff(&["--per-acquisition"], &before, &after);
    assert_eq!(by_acquisition["per"], "acquisition");
    check(&by_acquisition, &before, &after, |side, lock| match side {
        0 => before.wait_ns(lock) / before.acquisitions(lock),
        _ => after.wait_ns(lock) / after.acquisitions(lock),
    });
    check_conditions(&before, &after);
    check_pictures(&before, &after);
    check_back(&by_second, &diff(&[], &after, &before));
}

fn seconds(side: &Value) -> f64 {
    number(side, "recorded_ns") as f64 / 1e9
}

/// `rate` is how long threads waited for a lock, for each second or
/// acquisition, by their own account.
fn check(diff: &Value, before: &DiffLog, after: &DiffLog, rate: impl Fn(usize, &Value) -> f64) {
    for (side, recording) in [("before", before), ("after", after)] {
        let recorded = &diff[side];
        assert_eq!(recorded["logs"], serde_json::json!([recording.log()]));
        let info = recording.0.info();
        assert_eq!(recorded["recorded_ns"], info["duration_ns"], "{side}");
    }
    let hot = &list(diff, "locks")[0];
    assert_eq!((text_of(&hot["lock"], "class"), text_of(hot, "kind")), (HOT, "monitor"));
    assert_eq!(text_of(hot, "state"), "both");
    assert_eq!(&diff["most_improved"], hot);
    for (index, side) in ["before", "after"].into_iter().enumerate() {
        let recording = [before, after][index];
        let (told, lock) = (&hot[side], &hot["lock"]);
        assert_near(side, number(told, "wait_ns") as f64, recording.wait_ns(lock), OFF);
        assert_eq!(number(told, "acquisitions") as f64, recording.acquisitions(lock), "{side}");
        assert_near(side, share(told, "rate_ns"), rate(index, lock), OFF);
    }
    let (was, is) = (rate(0, &hot["lock"]), rate(1, &hot["lock"]));
    assert_near("improvement", share(hot, "change_rate_ns"), is - was, OFF);
    assert_near("improvement", share(hot, "change_share"), is / was - 1.0, OFF);
    assert!(is < was / 2.0, "striping did not help: {was}, {is}");
    check_others(diff, before, after);
    let stack = &list(diff, "stacks")[0];
    assert_eq!(stack["lock"], hot["lock"]);
    let call = format!("{HOT}.keep(Striped.java:");
    assert!(text_of(stack, "place").starts_with(&call), "{stack}");
    assert!(list(stack, "stack").iter().any(|it| it.as_str().unwrap().contains("$Client.run(")));
}

/// A lock that is there on both sides, one that is gone, and one that came.
fn check_others(diff: &Value, before: &DiffLog, after: &DiffLog) {
    for (class, state) in [("Ledger.lock", "both"), ("Before", "vanished"), ("After", "appeared")] {
        let name = format!("Striped${class}");
        let is_it = |lock: &&Value| {
            lock["lock"]["class"] == format!("tyrion.truth.{name}")
                || lock["lock"]["name"] == name.as_str()
        };
        let lock = list(diff, "locks").iter().find(is_it).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(text_of(lock, "state"), state, "{lock}");
        for (side, recording) in [("before", before), ("after", after)] {
            match recording.lock(&lock["lock"]) {
                None => assert!(lock[side].is_null(), "{side}: {lock}"),
                Some(said) => {
                    let [least, most] = ["least_wait_ns", "wait_ns"].map(|key| number(said, key));
                    assert_between(&name, number(&lock[side], "wait_ns"), least, most);
                }
            }
        }
    }
    assert!(number(diff, "appeared") >= 1 && number(diff, "vanished") >= 1, "{diff}");
}

/// Worse by more than a tenth is a failure, better is not.
fn check_conditions(before: &DiffLog, after: &DiffLog) {
    let status = |from: &DiffLog, to: &DiffLog| {
        let condition = "wait_per_second_ns > +10%";
        let output = run(["diff", "--fail-if", condition, from.log(), to.log()]);
        (output.status.code(), err(&output))
    };
    assert_eq!(status(before, after).0, Some(0));
    let (code, stderr) = status(after, before);
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("wait_per_second_ns"), "{stderr}");
    let failed = run(["report", "--fail-if", "lock_contentions > 10", before.log()]);
    assert_eq!(failed.status.code(), Some(4), "{}", err(&failed));
    assert!(err(&failed).contains("Stripe"), "{}", err(&failed));
    let passed = run(["report", "--fail-if", "p99_wait_ns > 1m", before.log()]);
    assert_eq!(passed.status.code(), Some(0), "{}", err(&passed));
}

fn check_pictures(before: &DiffLog, after: &DiffLog) {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("diff.svg");
    let logs = [before.log(), after.log()];
    stdout_of(tyrion().args(["diff", "--to", "flamegraph", "-o"]).arg(&svg).args(logs));
    let svg = std::fs::read_to_string(&svg).unwrap();
    assert!(svg.contains("<svg") && svg.contains("Striped$Stripe.keep"), "{svg}");
    if !needs(&["go"]) {
        return;
    }
    stdout_of(tyrion().args(["diff", "--to", "pprof", "-o"]).arg(folder.path()).args(logs));
    let mut pprof = Command::new("go");
    pprof.args(["tool", "pprof", "-top", "-diff_base"]);
    let top = stdout_of(
        pprof.arg(folder.path().join("before.pb.gz")).arg(folder.path().join("after.pb.gz")),
    );
    // Most changed first; the first word is by how much.
    let (_, rows) = top.split_once("cum%\n").unwrap_or_else(|| panic!("no table: {top}"));
    let first = rows.lines().next().unwrap_or_default().trim_start();
    assert!(
        first.starts_with('-') && first.ends_with("tyrion.truth.Striped$Stripe [monitor]"),
        "{top}"
    );
}

/// The other way round everything is the other way round.
fn check_back(there: &Value, back: &Value) {
    let change = |diff: &Value| {
        let locks = list(diff, "locks").iter();
        let mut changes: Vec<(Value, f64)> = locks
            .map(|lock| (lock["lock"].clone(), lock["change_rate_ns"].as_f64().unwrap()))
            .collect();
        changes.sort_by_key(|(lock, _)| lock.to_string());
        changes
    };
    let turned: Vec<(Value, f64)> =
        change(there).into_iter().map(|(lock, ns)| (lock, -ns)).collect();
    assert_eq!(change(back), turned);
    assert_eq!((&there["appeared"], &there["vanished"]), (&back["vanished"], &back["appeared"]));
    assert_eq!(text_of(&back["most_worsened"]["lock"], "class"), HOT);
}
