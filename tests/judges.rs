//! What others read of the recordings that `tyrion convert --to jfr` writes: JDK Mission Control's
//! libraries and async-profiler's converter, which `tests/setup/judges.sh` gets, and Tyrion itself;
//! and what the Firefox Profiler's command line, from `tests/setup/firefox.sh`, does of `firefox`.

use crate::support::{
    Jdk, collapsed_sum, dump, err, on_jdks, out, root, run, skip, stdout_of, text, tyrion, wait_for,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

on_jdks!(mission_control_says_the_same: one);
on_jdks!(the_converter_of_async_profiler_says_the_same: one);
on_jdks!(the_report_says_the_same: one, everywhere two);
on_jdks!(one_recording_is_of_one_jvm: one);
on_jdks!(the_profiler_of_firefox_says_the_same: everywhere one);

/// How often, and how long.
type Sums = BTreeMap<String, (u64, u64)>;

/// What a judge takes at most. One that reads on and on never ends.
const MOST: Duration = Duration::from_secs(120);

fn judge(name: &str) -> Option<PathBuf> {
    let file = root().join("target/judges").join(name);
    if !file.exists() {
        let setup = if name.starts_with("firefox") { "firefox" } else { "judges" };
        skip(&format!("{}: run tests/setup/{setup}.sh", file.display()));
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
    let unsure: Vec<&&str> =
        rules.iter().filter(|rule| rule.contains("not be determined")).collect();
    assert!(unsure.is_empty(), "{unsure:?}");
    assert!(!told.contains("\nfailed\t"), "{told}");
    blocking_is_the_same(&told, &converted);
}

/// What Mission Control's rule on blocked threads works out is in the log: how long all were
/// blocked, and by which class, or as which thread, most often. It tells so where threads were
/// blocked for more than a fifth of the time in sum, as tellers of the bank are.
fn blocking_is_the_same(told: &str, converted: &Converted) {
    let begin = "value\tJavaBlocking\t";
    let values: BTreeMap<&str, &str> =
        told.lines().filter_map(|line| line.strip_prefix(begin)?.split_once('\t')).collect();
    let sums = |key: &dyn Fn(&Value) -> &Value| -> Sums {
        let mut sums = converted.waits(|wait| match event(wait) {
            "jdk.JavaMonitorEnter" => key(wait).as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        });
        sums.remove("");
        sums
    };
    let threads = sums(&|wait| &wait["thread"]);
    let ns: u64 = threads.values().map(|(_, ns)| ns).sum();
    assert_eq!(values.get("totalBlockedTime"), Some(&&*ns.to_string()), "{told}");
    let mut of_classes = Sums::new();
    for (lock, sum) in sums(&|wait| &wait["lock"]) {
        let class = lock.rsplit_once('#').map_or(&*lock, |(class, _)| class).to_owned();
        add(&mut of_classes, class, sum);
    }
    let (of, most) = match values.get("mostBlockedClass") {
        Some(class) => (&of_classes, class),
        None => (&threads, values.get("mostBlockedThread").unwrap()),
    };
    let (count, ns) = of.get(*most).copied().unwrap_or_default();
    assert_eq!(of.values().map(|(count, _)| *count).max(), Some(count), "{most} of {of:?}");
    let [told_count, told_ns] = ["mostBlockedCount", "mostBlockedTime"].map(|key| values[key]);
    assert_eq!((told_count, told_ns), (&*count.to_string(), &*ns.to_string()), "{most}");
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

/// A profile in the Firefox Profiler's command line, which asks a process that keeps it.
struct FirefoxSession<'f> {
    cli: PathBuf,
    folder: &'f Path,
    daemon: Child,
}

impl FirefoxSession<'_> {
    /// Its own way to start the process gives up after half a second.
    fn load<'f>(cli: PathBuf, folder: &'f Path, file: &Path) -> FirefoxSession<'f> {
        let mut daemon = firefox(&cli, folder, &["--daemon", text(file), "--session", "judge"]);
        daemon.stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = daemon.spawn().unwrap();
        let session = FirefoxSession { cli, folder, daemon };
        wait_for("profile in the Firefox Profiler", || {
            let asked = firefox(&session.cli, folder, &["status", "--session", "judge"]).output();
            asked.unwrap().status.success().then_some(())
        });
        session
    }

    fn json(&self, args: &[&str]) -> Value {
        let args = [args, &["--json", "--session", "judge"]].concat();
        let told = out(&judged(&mut firefox(&self.cli, self.folder, &args), self.folder));
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"))
    }
}

impl Drop for FirefoxSession<'_> {
    fn drop(&mut self) {
        _ = self.daemon.kill();
        _ = self.daemon.wait();
    }
}

fn firefox(cli: &Path, folder: &Path, args: &[&str]) -> Command {
    let mut node = Command::new("node");
    node.arg(cli).args(args).env("PROFILER_CLI_SESSION_DIR", folder);
    // No server is asked for names.
    node.env("PROFILER_CLI_NO_SYMBOLICATE", "1");
    node
}

/// The waits of each thread by kind, as markers and as weights of samples.
fn the_profiler_of_firefox_says_the_same(jdk: &Jdk) {
    let cli = "firefox/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js";
    let Some(cli) = judge(cli) else { return };
    let converted = Converted::record(jdk, "contention");
    let folder = converted.folder.path();
    let file = folder.join("bank.json.gz");
    let args = ["convert", "--to", "firefox", "--kind", "all", "-o", text(&file)];
    let said = run(args.into_iter().chain([text(&converted.log)]));
    assert!(said.status.success(), "{}", err(&said));
    let session = FirefoxSession::load(cli, folder, &file);
    let ns = |ms: f64| (ms * 1e6).round() as u64;
    let (mut markers, mut samples) = (Sums::new(), BTreeMap::new());
    for thread in session.json(&["thread", "list"])["threads"].as_array().unwrap() {
        let [handle, name] = ["threadHandle", "name"].map(|key| thread[key].as_str().unwrap());
        let told = session.json(&["thread", "markers", "--limit", "0", "--thread", handle]);
        for kind in told["byType"].as_array().unwrap() {
            let count = kind["count"].as_u64().unwrap();
            let ms = kind["durationStats"]["avg"].as_f64().unwrap() * count as f64;
            let key = format!("{name}\t{}", kind["markerName"].as_str().unwrap());
            add(&mut markers, key, (count, ns(ms)));
        }
        let told = session.json(&["thread", "samples", "--include-idle", "--thread", handle]);
        let total = told["categoryBreakdown"]["totalSamples"].as_f64().unwrap();
        samples.insert(name.to_owned(), ns(total));
    }
    let text = |wait: &Value, key: &str| wait[key].as_str().unwrap_or_default().to_owned();
    let key = |wait: &Value| format!("{}\t{}", text(wait, "thread"), text(wait, "kind"));
    assert_eq!(markers, converted.waits(key));
    let threads = converted.waits(|wait| text(wait, "thread"));
    let threads: BTreeMap<String, u64> =
        threads.into_iter().map(|(thread, (_, ns))| (thread, ns)).collect();
    assert_eq!(samples, threads);
}
