//! Recordings of Flight Recorder: what is read of them is what the JDK's own `jfr`
//! prints, and every command reads them.

use crate::support::{
    Jdk, callgrind_parts, callgrind_sums, collapsed_sum, dump, err, info, on_jdks, out, output,
    root, run, stdout_of, text, tyrion, wait_for,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

on_jdks!(sums_are_those_of_jfr: newest, everywhere since(11));
on_jdks!(every_command_reads_it: one);
on_jdks!(what_is_below_the_threshold_is_told: ends);
on_jdks!(the_use_of_processors_is_told: ends);
on_jdks!(virtual_threads_have_their_names: newest, everywhere since(21));
on_jdks!(pinned_threads_wait_once: since(21));
on_jdks!(what_is_converted_is_a_recording: newest, everywhere since(11));
on_jdks!(a_killed_jvm_leaves_what_was_flushed: newest, everywhere two);

/// What is recorded of every wait, and more.
const ALL: &str = "testdata/jfr/all.jfc";
const WAITS: [&str; 3] = ["jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadPark"];

/// A Java program that Flight Recorder records into a file, with these settings.
fn recorded(jdk: &Jdk, settings: &str, file: &Path) -> Command {
    let settings = match settings.ends_with(".jfc") {
        true => root().join(settings).display().to_string(),
        false => settings.to_owned(),
    };
    let mut java = Command::new(jdk.java());
    java.arg(format!(
        "-XX:StartFlightRecording=settings={settings},filename={},dumponexit=true",
        file.display()
    ));
    java.args(["-Xmx32m", "-XX:+UseSerialGC", "-cp"]).arg(jdk.classes());
    java
}

/// A recording of the demo.
struct Demo {
    _folder: TempDir,
    file: PathBuf,
}

impl Demo {
    fn record(jdk: &Jdk, settings: &str) -> Demo {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bank.jfr");
        let mut java = recorded(jdk, settings, &file);
        let done = output(java.args(["com.acme.bank.BankServer", "--seconds", "1"]));
        assert!(done.status.success(), "{}{}", out(&done), err(&done));
        Demo { _folder: folder, file }
    }
}

/// What there is of a sort of waits of a thread.
#[derive(Debug, Default, PartialEq, Eq)]
struct JfrSums {
    count: u64,
    wait_ns: u64,
    timed_out: u64,
    /// The names of those who had the lock or ended the wait, added up.
    others: BTreeMap<String, u64>,
}

/// By type of event and name of the thread.
type ByThread = BTreeMap<(String, String), JfrSums>;

/// The waits, as the JDK's own tool prints them.
fn printed(jdk: &Jdk, file: &Path) -> ByThread {
    let mut jfr = Command::new(jdk.jfr());
    jfr.args(["print", "--json", "--stack-depth", "1", "--events", &WAITS.join(",")]).arg(file);
    let printed: Value = serde_json::from_str(&stdout_of(&mut jfr)).unwrap();
    let mut sums = ByThread::new();
    for event in printed["recording"]["events"].as_array().unwrap() {
        let (of, values) = (event["type"].as_str().unwrap(), &event["values"]);
        let thread = values["eventThread"]["javaName"].as_str().unwrap();
        let sum = sums.entry((of.to_owned(), thread.to_owned())).or_default();
        sum.count += 1;
        sum.wait_ns += duration_ns(values["duration"].as_str().unwrap());
        sum.timed_out += u64::from(values["timedOut"] == true);
        let other = values["previousOwner"]["javaName"].as_str();
        if let Some(other) = other.or(values["notifier"]["javaName"].as_str()) {
            *sum.others.entry(other.to_owned()).or_default() += 1;
        }
    }
    sums
}

/// The same, as `tyrion dump` prints them.
fn read(file: &Path) -> ByThread {
    let of = |record: &Value| match record["kind"].as_str().unwrap() {
        "monitor" => "jdk.JavaMonitorEnter",
        "object-wait" => "jdk.JavaMonitorWait",
        _ => "jdk.ThreadPark",
    };
    let mut sums = ByThread::new();
    for record in dump(file, &["wait", "wake"]) {
        let is_wake = record["record"] == "wake";
        let thread = record[if is_wake { "waiter" } else { "thread" }].as_str().unwrap();
        let sum = sums.entry((of(&record).to_owned(), thread.to_owned())).or_default();
        let other = if is_wake { &record["thread"] } else { &record["owner"] };
        if let Some(other) = other.as_str() {
            *sum.others.entry(other.to_owned()).or_default() += 1;
        }
        if !is_wake {
            sum.count += 1;
            sum.wait_ns += record["wait_ns"].as_u64().unwrap();
            // Whether a park timed out, Flight Recorder does not say.
            let timed_out = record["outcome"] == "timed-out" && of(&record) != "jdk.ThreadPark";
            sum.timed_out += u64::from(timed_out);
        }
    }
    sums
}

/// `PT1M2.000000003S`.
fn duration_ns(text: &str) -> u64 {
    let mut ns = 0;
    let mut number = String::new();
    for char in text.strip_prefix("PT").unwrap().chars() {
        let unit_ns = match char {
            'H' => 3_600_000_000_000,
            'M' => 60_000_000_000,
            'S' => 1_000_000_000,
            _ => {
                number.push(char);
                continue;
            }
        };
        let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
        ns += whole.parse::<u64>().unwrap() * unit_ns;
        ns += format!("{part:0<9}").parse::<u64>().unwrap() * (unit_ns / 1_000_000_000);
        number.clear();
    }
    ns
}

/// How many events there are of a type, as `jfr summary` says.
fn summarized(jdk: &Jdk, file: &Path) -> BTreeMap<String, u64> {
    let mut jfr = Command::new(jdk.jfr());
    let summary = stdout_of(jfr.arg("summary").arg(file));
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    };
    summary.lines().filter_map(line).collect()
}

fn sums_are_those_of_jfr(jdk: &Jdk) {
    assert_eq!(duration_ns("PT1M2.003S"), 62_003_000_000);
    let demo = Demo::record(jdk, ALL);
    let (read, printed) = (read(&demo.file), printed(jdk, &demo.file));
    for (key, sums) in &printed {
        assert_eq!(read.get(key), Some(sums), "{key:?}");
    }
    assert_eq!(read.len(), printed.len());
    let of_tellers = |(of, thread): &(String, String)| {
        of == "jdk.JavaMonitorEnter" && thread.starts_with("teller-")
    };
    let contended: u64 =
        printed.iter().filter(|(key, _)| of_tellers(key)).map(|(_, sums)| sums.count).sum();
    assert!(contended > 0);

    let (info, counts) = (info(&demo.file), summarized(jdk, &demo.file));
    let count = |of: &str| counts.get(of).copied().unwrap_or(0);
    assert_eq!(info["events"], WAITS.iter().map(|of| count(of)).sum::<u64>());
    let samples = count("jdk.ExecutionSample") + count("jdk.NativeMethodSample");
    assert_eq!(info["sampling"]["records"], samples);
    assert_eq!(info["collections"]["count"], count("jdk.GCPhasePause"));
    assert_eq!(info["format"], "jfr", "{info:#}");
    assert_eq!(info["metadata"]["program"], "com.acme.bank.BankServer");
    assert_eq!(info["metadata"]["mode"], "contention+sample");
    assert_eq!((&info["threshold_ns"], &info["complete"]), (&0.into(), &true.into()));
    assert_eq!(info["damage"].as_array().unwrap().len(), 0);
    assert_eq!(info["file_bytes"], demo.file.metadata().unwrap().len());
    let jvm = info["metadata"]["jvm"].as_str().unwrap();
    assert!(jvm.contains(&format!("VM {}", jdk.major)), "{jvm}");
    // All kinds of locks that the program has are told apart.
    for kind in ["monitor", "lock-read", "semaphore", "condition"] {
        assert!(info["kinds"][kind]["count"].as_u64().unwrap() > 0, "{kind}: {info:#}");
    }
}

fn every_command_reads_it(jdk: &Jdk) {
    let demo = Demo::record(jdk, ALL);
    let (folder, file) = (demo.file.parent().unwrap(), text(&demo.file));
    let collapsed = ["convert", "--to", "collapsed", "-o", "-"];
    let told = stdout_of(tyrion().args(collapsed).arg(file));
    let sum = collapsed_sum(&told);
    assert_eq!(sum, info(&demo.file)["totals"]["wait_ns"].as_u64().unwrap());
    // In every output, and with any number of workers.
    let all = folder.join("all");
    std::fs::create_dir(&all).unwrap();
    for jobs in ["1", "3"] {
        stdout_of(tyrion().args([
            "convert",
            "--to",
            "all",
            "--jobs",
            jobs,
            "-o",
            text(&all),
            file,
        ]));
        let parts = callgrind_parts(&all.join("out.callgrind"));
        let parts = parts.iter().map(|part| callgrind_sums(part)["Wait_ns"]);
        assert_eq!(parts.sum::<u64>(), sum);
        let again = std::fs::read_to_string(all.join("waits.collapsed")).unwrap();
        assert!(again == told, "--jobs {jobs}");
    }
    // From a pipe, and compressed.
    let packed = folder.join("bank.jfr.gz");
    std::fs::write(&packed, output(Command::new("gzip").arg("-c").arg(file)).stdout).unwrap();
    assert!(stdout_of(tyrion().args(collapsed).arg(&packed)) == told);
    for source in [&demo.file, &packed] {
        assert!(from_pipe(&collapsed, std::fs::read(source).unwrap()) == told);
    }
    for command in [
        &["report"][..],
        &["report", "--json"],
        &["report", "--html", "-o", "-"],
        &["diff", file],
        &["dump"],
        &["info"],
        &["whatif", "--lock", "AuditLog"],
        &["convert", "--to", "flamegraph", "--by-thread", "-o", "-"],
    ] {
        let said = run(command.iter().chain([&file]));
        assert!(said.status.success(), "{command:?}: {}{}", out(&said), err(&said));
    }
    let report = stdout_of(tyrion().args(["report", file]));
    assert!(report.contains("AuditLog"), "{report}");
    for file in [file, text(&packed)] {
        let said = run(["top", "--once", file]);
        assert_eq!(said.status.code(), Some(1));
        assert!(err(&said).contains("top only follows Tyrion's own logs"), "{}", err(&said));
    }
}

/// What `tyrion` prints of a recording that comes from a pipe.
fn from_pipe(arguments: &[&str], recording: Vec<u8>) -> String {
    let mut tyrion = tyrion();
    tyrion.args(arguments).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = tyrion.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&recording).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    out(&output)
}

fn what_is_below_the_threshold_is_told(jdk: &Jdk) {
    let demo = Demo::record(jdk, "default");
    let file = text(&demo.file);
    let told = info(&demo.file);
    assert_eq!(told["threshold_ns"], 20_000_000);
    let thresholds = told["metadata"]["thresholds"].as_str().unwrap();
    for of in WAITS {
        assert!(thresholds.contains(&format!("{of} 20 ms")), "{thresholds}");
    }
    let said = stdout_of(tyrion().args(["info", file]));
    assert!(said.contains("20 ms (of shorter waits nothing is known)"), "{said}");
    let note = "waits shorter than 20 ms were not recorded, not even summed: totals lack them";
    assert!(said.contains(note), "{said}");
    let converted = run(["convert", "--to", "collapsed", "--kind", "all", "-o", "-", file]);
    assert!(err(&converted).contains(note), "{}", err(&converted));
    let report = run(["report", file]);
    assert!(err(&report).contains(note), "{}", err(&report));
    for to in [&["--json"][..], &["--html", "-o", "-"]] {
        let report = stdout_of(tyrion().arg("report").args(to).arg(file));
        assert!(report.contains(note), "{to:?}");
    }
}

const HOUR_MS: u64 = 3_600_000;

/// When the last of the events was that `jfr print` shows, in ms since the hour began.
fn last_in_the_hour_ms(printed: &str) -> Option<u64> {
    let time =
        printed.lines().filter_map(|line| line.trim().strip_prefix("startTime = ")).next_back()?;
    let time = time.split_whitespace().next()?;
    let mut parts = time.rsplit([':', '.']).map(|part| part.parse::<u64>().unwrap());
    let [ms, seconds, minutes] = [(); 3].map(|()| parts.next().unwrap());
    Some((minutes * 60 + seconds) * 1000 + ms)
}

fn the_use_of_processors_is_told(jdk: &Jdk) {
    let demo = Demo::record(jdk, "profile");
    let file = text(&demo.file);
    let printed = stdout_of(
        Command::new(jdk.jfr()).args(["print", "--events", "jdk.CPULoad"]).arg(&demo.file),
    );
    let report =
        stdout_of(tyrion().args(["report", "--json", "--section", "verdict,overview", file]));
    let report: Value = serde_json::from_str(&report).unwrap();
    let sections = &report["sections"];
    // The JVM measures once a second: of a short program only the beginning may be known, and
    // what is known of less than half is not taken for the whole.
    let log = &sections["overview"]["logs"][0];
    let [start_ns, duration_ns] =
        ["start_wall_ns", "duration_ns"].map(|it| log[it].as_u64().unwrap());
    let known_ms = last_in_the_hour_ms(&printed)
        .map_or(0, |last| (last + HOUR_MS - start_ns / 1_000_000 % HOUR_MS) % HOUR_MS);
    let is_told = sections["verdict"]["cpu_ns"].is_u64();
    assert_eq!(is_told, 2 * known_ms >= duration_ns / 1_000_000, "{printed}{sections}");
    assert!(sections["overview"]["cost"]["share"].is_null(), "no agent was there: {sections}");
    let said = stdout_of(tyrion().args(["report", "--section", "overview", file]));
    assert!(said.contains("not measured"), "{said}");
}

fn virtual_threads_have_their_names(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["monitor", "lock"] {
        let file = folder.path().join(format!("{kind}.jfr"));
        let mut java = recorded(jdk, ALL, &file);
        java.args(["tyrion.truth.Truth", "virtual-two", kind]);
        let done = output(&mut java);
        assert!(done.status.success(), "{}", err(&done));
        // Of a wait in which the thread left its carrier there is no event: of parks, and from
        // JDK 24 on of monitors.
        let is_told = kind == "monitor" && jdk.major < 24;
        let threads = dump(&file, &["thread"]);
        let thread = threads.iter().find(|thread| thread["name"] == "vwaiter");
        assert!(thread.is_some() || !is_told, "{kind}: {threads:#?}");
        assert!(thread.is_none_or(|thread| thread["virtual"] == true), "{thread:#?}");
        let waits = dump(&file, &["wait"]);
        let of_waiter = waits.iter().filter(|wait| wait["thread"] == "vwaiter");
        let kinds: Vec<&str> =
            of_waiter.clone().map(|wait| wait["kind"].as_str().unwrap()).collect();
        let may_lack = kinds.is_empty() && !is_told;
        assert!(may_lack || kinds.contains(&kind), "{kind}: {kinds:?}");
        let long = of_waiter.filter(|wait| wait["wait_ns"].as_u64().unwrap() > 50_000_000);
        assert!(long.count() <= 1, "{kind}: once, pinned or not");
    }
}

/// What two events tell of counts once.
fn pinned_threads_wait_once(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pinned.jfr");
    let done = output(recorded(jdk, ALL, &file).args(["tyrion.truth.Truth", "pinned"]));
    assert!(done.status.success(), "{}", err(&done));
    let told: Value = serde_json::from_str(out(&done).lines().last().unwrap()).unwrap();
    let waits = dump(&file, &["wait"]);
    let long = waits.iter().filter(|wait| {
        wait["thread"] == "vpinned" && wait["wait_ns"].as_u64().unwrap() > 50_000_000
    });
    let long: Vec<&Value> = long.collect();
    let [wait] = long[..] else { panic!("{long:#?}") };
    assert_eq!(wait["kind"], "park");
    assert!(wait["wait_ns"].as_u64() <= told["wait_ns"].as_u64(), "{wait:#} {told}");
    let pinned = info(&file)["metadata"]["pinned"].as_str().map(str::to_owned);
    assert!(pinned.is_some_and(|it| it.contains("of virtual threads on their carriers")));
}

/// JVM, log, recording: the JDK's own tool and our reader find in it what the log has.
fn what_is_converted_is_a_recording(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let [log, file] = ["bank.log", "bank.jfr"].map(|name| folder.path().join(name));
    let mut record = tyrion();
    record.args(["record", "--mode", "contention+sample", "--threshold", "50us", "-o"]).arg(&log);
    record.arg("--").arg(jdk.java()).arg("-cp").arg(jdk.classes());
    stdout_of(record.args(["com.acme.bank.BankServer", "--seconds", "1"]));
    let convert = ["convert", "--to", "jfr", "--kind", "all", "-o", text(&file), text(&log)];
    let said = run(convert);
    assert!(said.status.success(), "{}", err(&said));

    let (before, after) = (info(&log), info(&file));
    for what in ["kinds", "threshold_ns", "pid"] {
        assert_eq!(after[what], before[what], "{what}");
    }
    for what in ["contentions", "folded", "wait_ns"] {
        assert_eq!(after["totals"][what], before["totals"][what], "{what}");
    }
    // What threads waited for, and in which stacks, is the same, too.
    for more in [&["--kind", "all"][..], &["--metric", "wall"], &["--metric", "cpu", "--by-thread"]]
    {
        let collapsed = |from: &Path| {
            let convert = ["convert", "--to", "collapsed", "-o", "-"];
            stdout_of(tyrion().args(convert).args(more).arg(from))
        };
        assert!(!collapsed(&log).is_empty());
        assert_eq!(without_names(&collapsed(&file)), without_names(&collapsed(&log)), "{more:?}");
    }
    // The JDK's tool finds all waits that are events of their own.
    let sums = |by_thread: ByThread| -> BTreeMap<(String, String), (u64, u64)> {
        let sums = by_thread.into_iter().map(|(key, it)| (key, (it.count, it.wait_ns)));
        sums.filter(|(_, (count, _))| *count != 0).collect()
    };
    assert_eq!(sums(printed(jdk, &file)), sums(read(&log)));
    let events = summarized(jdk, &file);
    let kinds = before["kinds"].as_object().unwrap();
    let is_folded = kinds.values().any(|kind| kind["folded"] != 0);
    assert_eq!(events["tyrion.FoldedWaits"] != 0, is_folded, "{events:?}");
    assert_eq!(err(&said).contains("adds up single waits, without these sums"), is_folded);
    assert!(events["jdk.ThreadStart"] != 0, "{events:?}");
}

/// Lines of collapsed stacks without what the program calls the locks, which Flight Recorder's
/// format has as events of their own.
fn without_names(lines: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in lines.lines() {
        let (stack, ns) = line.rsplit_once(' ').unwrap();
        let stack = match stack.rsplit_once(';') {
            Some((above, lock)) if lock.starts_with('[') => {
                let class =
                    lock.rsplit_once('(').map_or(lock, |(_, class)| class.trim_end_matches(')'));
                format!("{above};{}", class.rsplit(' ').next().unwrap())
            }
            _ => stack.to_owned(),
        };
        *sums.entry(stack).or_default() += ns.parse::<u64>().unwrap();
    }
    sums
}

fn a_killed_jvm_leaves_what_was_flushed(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let mut java = recorded(jdk, ALL, &folder.path().join("never.jfr"));
    java.arg(format!("-XX:FlightRecorderOptions=repository={}", folder.path().display()));
    java.args(["com.acme.bank.BankServer", "--seconds", "60"]);
    let mut child = java.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let chunk = wait_for("chunk", || chunk_in(folder.path()));
    // It is flushed every second; before JDK 14 it is empty until it is full.
    let begin = Instant::now();
    wait_for("flush", || (begin.elapsed() > Duration::from_secs(4)).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = run([OsStr::new("info"), OsStr::new("--json"), chunk.as_os_str()]);
    let told: Value = serde_json::from_str(&out(&said)).unwrap();
    assert_eq!((&told["state"], &told["complete"]), (&"recording".into(), &false.into()));
    assert!(told["events"].as_u64().unwrap() > 0, "{told:#}");
    assert_eq!(told["metadata"]["program"], "com.acme.bank.BankServer");
}

/// The first chunk of a repository that is not empty.
fn chunk_in(repository: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(repository).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|path| {
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    });
    let is_chunk = |path: &PathBuf| {
        path.extension() == Some(OsStr::new("jfr")) && path.metadata().is_ok_and(|it| it.len() > 0)
    };
    files.into_iter().find(is_chunk)
}
