//! What others read of the recordings that `tyrion convert --to jfr` writes: JDK Mission Control's
//! libraries and async-profiler's converter, which `tests/setup/judges.sh` gets, and Tyrion itself.

use crate::support::{
    Jdk, collapsed_sum, dump, err, on_jdks, out, root, run, skip, stdout_of, text, tyrion,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};
use tempfile::TempDir;

on_jdks!(mission_control_says_the_same: one);
on_jdks!(the_converter_of_async_profiler_says_the_same: one);
on_jdks!(the_report_says_the_same: one, everywhere two);
on_jdks!(one_recording_is_of_one_jvm: one);

/// How often, and how long.
type Sums = BTreeMap<String, (u64, u64)>;

/// What a judge takes at most. One that reads on and on never ends.
const MOST: Duration = Duration::from_secs(120);

fn judge(name: &str) -> Option<PathBuf> {
    let file = root().join("target/judges").join(name);
    if !file.exists() {
        skip(&format!("{}: run tests/setup/judges.sh", file.display()));
        return None;
    }
    Some(file)
}

/// What a command prints, which is killed if it takes too long.
fn judged(command: &mut Command, folder: &Path) -> Output {
    let (told, said) = (folder.join("judge.out"), folder.join("judge.err"));
    command.stdout(std::fs::File::create(&told).unwrap());
    command.stderr(std::fs::File::create(&said).unwrap());
    let mut child = command.spawn().unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > MOST {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let [stdout, stderr] = [told, said].map(|file| std::fs::read(file).unwrap());
    let output = Output { status, stdout, stderr };
    assert!(status.success(), "{}{}", out(&output), err(&output));
    output
}

/// A log of the bank, and the recording that it becomes.
struct Converted {
    folder: TempDir,
    log: PathBuf,
    jfr: PathBuf,
}

impl Converted {
    fn record(jdk: &Jdk, mode: &str) -> Converted {
        let folder = tempfile::tempdir().unwrap();
        let [log, jfr] = ["bank.log", "bank.jfr"].map(|name| folder.path().join(name));
        let mut record = tyrion();
        record.args(["record", "--mode", mode, "--threshold", "0", "-o"]).arg(&log);
        record.arg("--").arg(jdk.java()).arg("-cp").arg(jdk.classes());
        stdout_of(record.args(["com.acme.bank.BankServer", "--seconds", "1"]));
        let said = run(["convert", "--to", "jfr", "--kind", "all", "-o", text(&jfr), text(&log)]);
        assert!(said.status.success(), "{}", err(&said));
        assert!(!err(&said).contains("sums"), "nothing was folded: {}", err(&said));
        Converted { folder, log, jfr }
    }

    /// The waits of the log by a key.
    fn waits(&self, key: impl Fn(&Value) -> String) -> Sums {
        let mut sums = Sums::new();
        for wait in dump(&self.log, &["wait"]) {
            add(&mut sums, key(&wait), (1, wait["wait_ns"].as_u64().unwrap()));
        }
        sums
    }
}

fn add(sums: &mut Sums, key: String, (count, ns): (u64, u64)) {
    let sum = sums.entry(key).or_default();
    *sum = (sum.0 + count, sum.1 + ns);
}

/// The type of event that a wait becomes.
fn event(wait: &Value) -> &'static str {
    match wait["kind"].as_str().unwrap() {
        "monitor" => "jdk.JavaMonitorEnter",
        "object-wait" => "jdk.JavaMonitorWait",
        _ => "jdk.ThreadPark",
    }
}

/// The classes of locks, the most waited for first. Locks of a class are told apart.
fn locks(sums: &Sums) -> Vec<(String, u64, u64)> {
    // Reports call what `java.util.concurrent` parks for by the lock that the program knows.
    let class = |key: &str| {
        let end =
            if key.starts_with("jdk.ThreadPark") { key.find('\t') } else { key.rfind(['#', '\t']) };
        end.and_then(|end| key.get(..end)).unwrap_or(key).to_owned()
    };
    let mut locks: Vec<_> =
        sums.iter().map(|(key, &(count, ns))| (class(key), count, ns)).collect();
    locks.sort_unstable();
    locks
}

fn mission_control_says_the_same(jdk: &Jdk) {
    let (Some(jmc), Some(classes)) = (judge("jmc"), judge("classes")) else { return };
    let converted = Converted::record(jdk, "contention");
    let path = format!("{}/*:{}", jmc.display(), classes.display());
    let mut java = Command::new(jdk.java());
    java.args(["-cp", &path, "JmcJudge"]).arg(&converted.jfr);
    let told = out(&judged(&mut java, converted.folder.path()));
    let of = |sort: &str| -> Sums {
        let mut sums = Sums::new();
        for line in told.lines().filter_map(|line| line.strip_prefix(&format!("{sort}\t"))) {
            let mut fields: Vec<&str> = line.split('\t').collect();
            let ns = fields.pop().unwrap().parse().unwrap();
            let count = fields.pop().unwrap().parse().unwrap();
            add(&mut sums, fields.join("\t"), (count, ns));
        }
        sums
    };
    let mut totals = of("total");
    totals.retain(|of, _| of.starts_with("jdk.JavaMonitor") || of == "jdk.ThreadPark");
    assert_eq!(totals, converted.waits(|wait| event(wait).to_owned()));
    let threads = converted
        .waits(|wait| format!("{}\t{}", event(wait), wait["thread"].as_str().unwrap_or_default()));
    assert_eq!(of("thread"), threads);
    let of_log = converted.waits(|wait| {
        let lock = &wait["lock"];
        format!("{}\t{}", event(wait), lock.as_str().unwrap())
    });
    assert_eq!(locks(&of("lock")), locks(&of_log));

    let rules: Vec<&str> = told.lines().filter(|line| line.starts_with("rule\t")).collect();
    assert!(rules.len() > 50, "{told}");
    assert!(!told.contains("\nfailed\t"), "{told}");
    // It is one of those that have something to say of such a recording.
    let blocking = rules.iter().find(|line| line.starts_with("rule\tJavaBlocking\t"));
    assert!(blocking.is_some_and(|line| !line.contains("\tNA\t")), "{blocking:?}");
}

fn the_converter_of_async_profiler_says_the_same(jdk: &Jdk) {
    let Some(converter) = judge("jfr-converter.jar") else { return };
    let converted = Converted::record(jdk, "contention+sample");
    let folder = converted.folder.path();
    let convert = |to: &str, options: &[&str]| {
        let file = folder.join(format!("judge.{to}"));
        let mut java = Command::new(jdk.java());
        java.arg("-jar").arg(&converter).args(["-o", to]).args(options);
        judged(java.arg(&converted.jfr).arg(&file), folder);
        std::fs::read_to_string(file).unwrap()
    };
    // `Object.wait` is no lock to it.
    let waits = converted.waits(|wait| event(wait).to_owned());
    let of_locks = || waits.iter().filter(|(of, _)| *of != "jdk.JavaMonitorWait");
    let counts = of_locks().map(|(_, (count, _))| count).sum::<u64>();
    let ns = of_locks().map(|(_, (_, ns))| ns).sum::<u64>();
    assert!(counts > 0);
    assert_eq!(collapsed_sum(&convert("collapsed", &["--lock"])), counts);
    assert_eq!(collapsed_sum(&convert("collapsed", &["--lock", "--total"])), ns);
    let picture = convert("html", &["--lock", "--total"]);
    assert!(picture.contains("AuditLog"), "{} bytes", picture.len());
}

/// The sections of a report.
fn sections(file: &Path) -> Value {
    let told = stdout_of(tyrion().args(["report", "--json"]).arg(file));
    serde_json::from_str::<Value>(&told).unwrap()["sections"].take()
}

/// Waits for locks by kind. Locks of a class are told apart by names, which are not read back.
fn contended(sections: &Value) -> Sums {
    let mut sums = Sums::new();
    for row in sections["contended"]["locks"].as_array().unwrap() {
        let number = |key: &str| row[key].as_u64().unwrap();
        add(&mut sums, row["kind"].to_string(), (number("contended"), number("wait_ns")));
    }
    assert!(!sums.is_empty());
    sums
}

/// What types of events can carry: what was waited for and how long, and what the verdict makes
/// of it.
fn the_report_says_the_same(jdk: &Jdk) {
    for mode in ["contention", "contention+sample"] {
        let converted = Converted::record(jdk, mode);
        let (before, after) = (sections(&converted.log), sections(&converted.jfr));
        assert_eq!(contended(&before), contended(&after), "{mode}");
        for key in ["kind", "wait_ns"] {
            assert!(!before["verdict"][key].is_null(), "{mode}: {key}");
            assert_eq!(before["verdict"][key], after["verdict"][key], "{mode}: {key}");
        }
    }
}

fn one_recording_is_of_one_jvm(jdk: &Jdk) {
    let (one, other) = (Converted::record(jdk, "contention"), Converted::record(jdk, "contention"));
    let folder = one.folder.path();
    let both = [text(&one.log), text(&other.log)];
    let file = folder.join("both.jfr");
    let said = run(["convert", "--to", "jfr", "-o", text(&file)].into_iter().chain(both));
    assert_eq!((said.status.code(), file.exists()), (Some(1), false), "{}", err(&said));
    assert!(err(&said).contains("is of one JVM, and these logs are of several"), "{}", err(&said));
    let all = folder.join("all");
    let said = run(["convert", "--to", "all", "-o", text(&all)].into_iter().chain(both));
    assert!(said.status.success(), "{}", err(&said));
    assert!(err(&said).contains("waits.jfr was not written"), "{}", err(&said));
    assert!(!all.join("waits.jfr").exists() && all.join("waits.perfetto-trace").exists());
}
