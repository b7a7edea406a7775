//! Files of other tools, and Tyrion's own outputs, as inputs: every command reads them,
//! alone and with others, from files and from pipes, and what they do not tell is said.

use crate::support::{err, out, output, root, run, sample_log, stdout_of, text, tyrion};
use serde_json::Value;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

/// A file, what it is, how often and how long threads waited for locks, and what it does
/// not tell.
type Known = (&'static str, &'static str, (u64, u64), &'static [&'static str]);

const FILES: [Known; 5] = [
    ("original-2014.log", "original-tyrion", (1, 18_400_000), &["stacks"]),
    ("original-2013.log", "original-tyrion", (0, 0), &["waits", "stacks"]),
    ("async-profiler.collapsed", "collapsed", (49, 0), &["times", "single-waits", "durations"]),
    ("offcpu.folded", "collapsed", (1_750, 0), &["times", "single-waits", "durations", "threads"]),
    ("go-mutex.pb.gz", "pprof", (15, 35_567_890), &["times", "single-waits", "threads"]),
];

fn file(name: &str) -> PathBuf {
    root().join("testdata/inputs").join(name)
}

fn info(words: &[&str]) -> Value {
    let info = stdout_of(tyrion().args(["info", "--json"]).args(words));
    serde_json::from_str(&info).unwrap()
}

fn totals(info: &Value) -> (u64, u64) {
    let total = |key: &str| info["totals"][key].as_u64().unwrap();
    (total("contentions"), total("wait_ns"))
}

/// The sum of collapsed stacks.
fn sum(collapsed: &str) -> u64 {
    let number = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    collapsed.lines().map(number).sum()
}

/// Runs a command that reads these bytes from a pipe.
fn piped(words: &[&str], bytes: &[u8]) -> Output {
    let mut command = tyrion();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Who refuses its input closes it.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child.wait_with_output().unwrap()
}

#[test]
fn info_says_what_they_are_and_what_they_do_not_tell() {
    for (name, format, expected, lacks) in FILES {
        let path = file(name);
        let found = info(&[text(&path)]);
        assert_eq!((found["format"].as_str(), totals(&found)), (Some(format), expected), "{name}");
        let told: Vec<&str> =
            found["lacks"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(told, lacks, "{name}");
        assert_eq!(found["damage"].as_array().unwrap().len(), 0, "{name}");
        let said = stdout_of(tyrion().arg("info").arg(&path));
        assert!(said.contains("note: logs whose format has less: 1; they"), "{name}: {said}");
    }
}

#[test]
fn every_command_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, _, (contentions, wait_ns), _) in FILES {
        let path = file(name);
        let path = text(&path);
        for command in [
            &["info", path][..],
            &["dump", path],
            &["dump", "--json", path],
            &["report", path],
            &["report", "--json", path],
            &["report", "--html", "-o", "-", path],
            &["report", "--section", "timeline,delays,wait-chains,tree,lines,overview", path],
            &["convert", "--to", "all", "-o", text(folder.path()), path],
            &["convert", "--to", "flamegraph", "-o", "-", "--metric", "contentions", path],
            &["diff", path, path],
            &["diff", "--json", path, path],
        ] {
            let done = run(command);
            // There is no picture of the waits of a log without any.
            let is_without = contentions == 0 && command[0] != "info";
            assert!(done.status.success() || is_without, "{command:?}: {}", err(&done));
            assert!(!err(&done).contains("bug"), "{command:?}: {}", err(&done));
        }
        let of = |metric: &str| {
            let words = ["convert", "--to", "collapsed", "-o", "-", "--metric", metric];
            sum(&stdout_of(tyrion().args(words).arg(path)))
        };
        assert_eq!((of("contentions"), of("wait")), (contentions, wait_ns), "{name}");
        let bytes = std::fs::read(path).unwrap();
        let words = ["convert", "--to", "collapsed", "-o", "-", "--metric", "contentions", "-"];
        let done = piped(&words, &bytes);
        assert!(done.status.success(), "{name}: {}", err(&done));
        assert_eq!(sum(&out(&done)), contentions, "{name} from a pipe");
    }
}

#[test]
fn convert_and_report_say_what_is_not_known() {
    let path = file("go-mutex.pb.gz");
    let words = ["convert", "--to", "collapsed", "-o", "-"];
    let said = err(&output(tyrion().args(words).arg(&path)));
    for what in ["do not tell when threads waited", "only sums of waits", "which threads waited"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let words = ["report", "--section", "verdict,timeline,delays"];
    let report = output(tyrion().args(words).arg(&path));
    for what in [
        "of how much time is not known",
        "needs a log that tells when threads waited",
        "needs a log that tells how long single waits took",
    ] {
        assert!(out(&report).contains(what), "{what}: {}", out(&report));
    }
    // Notes go where those of convert go.
    assert!(err(&report).contains("do not tell when threads waited"), "{}", err(&report));
}

#[test]
fn options_say_what_a_file_does_not() {
    let offcpu = file("offcpu.folded");
    let offcpu = text(&offcpu);
    assert_eq!(totals(&info(&["--unit", "us", offcpu])), (2, 1_750_500));
    assert_eq!(totals(&info(&["--unit", "s", offcpu])), (2, 1_750_500_000_000));
    let go = file("go-mutex.pb.gz");
    let go = text(&go);
    assert_eq!(totals(&info(&["--sample-type", "contentions", go])), (15, 0));
    assert_eq!(totals(&info(&["--sample-type", "delay", go])), (15, 35_567_890));
    let none = run(["info", "--sample-type", "cpu", go]);
    let said = err(&none);
    assert_eq!(none.status.code(), Some(1), "{said}");
    assert!(said.contains("no sample type cpu") && said.contains("delay/nanoseconds"), "{said}");
    assert_eq!(run(["info", "--unit", "hours", offcpu]).status.code(), Some(2));
    let unused = run(["info", "--unit", "us", go]);
    assert!(err(&unused).contains("note: --unit is for collapsed files"), "{}", err(&unused));
}

#[test]
fn compressed_files_are_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format, expected, lacks) in FILES.into_iter().filter(|it| !it.0.ends_with(".gz")) {
        let path = folder.path().join("file.gz");
        let gzip = output(std::process::Command::new("gzip").arg("-nc").arg(file(name)));
        std::fs::write(&path, &gzip.stdout).unwrap();
        let found = info(&[text(&path)]);
        assert_eq!((found["format"].as_str(), totals(&found)), (Some(format), expected), "{name}");
        assert_eq!(found["lacks"].as_array().unwrap().len(), lacks.len(), "{name}");
        assert_eq!(found["damage"].as_array().unwrap().len(), 0, "{name}");
        let done = piped(&["info", "--json", "--unit", "us", "-"], &gzip.stdout);
        let found: Value = serde_json::from_str(&out(&done)).unwrap();
        let expected = match (format, expected) {
            ("collapsed", (count, _)) => count * 1_000,
            (_, (_, wait_ns)) => wait_ns,
        };
        let read = totals(&found).1;
        // A fraction of a µs is read, too.
        assert!((expected..expected + 1_000).contains(&read), "{name}: {read}");
    }
}

#[test]
fn reports_never_show_zero_for_what_is_not_known() {
    let report = |name: &str| stdout_of(tyrion().arg("report").arg(file(name)));
    let counts = report("offcpu.folded");
    assert!(counts.contains("1,750 waits; how long is not known"), "{counts}");
    assert!(!counts.contains("0 ns") && !counts.contains("(pid 0)"), "{counts}");
    let held = report("original-2013.log");
    for what in ["is not known: the log tells who held them", "Whether threads waited for locks"] {
        assert!(held.contains(what), "{what}: {held}");
    }
    assert!(!held.contains("no thread waited"), "{held}");
    let go = report("go-mutex.pb.gz");
    assert!(!go.contains("0 ns") && !go.contains("-- java"), "{go}");
    let stackless = report("original-2014.log");
    let verdict = stackless.lines().take(5).collect::<Vec<_>>().join("\n");
    assert!(!verdict.contains("[synchronized]") && !verdict.contains("in ."), "{verdict}");
}

#[test]
fn own_outputs_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let logs = ["v1-small.log", "v1-trace.log", "v1-wakers.log"];
    for log in logs.map(|name| root().join("testdata/logs").join(name)) {
        let log = text(&log);
        let expected = totals(&info(&[log, "--kind", "contention"]));
        let profile = folder.path().join("own.pb.gz");
        let profile = text(&profile);
        stdout_of(tyrion().args(["convert", "--to", "pprof", "-o", profile, log]));
        assert_eq!(totals(&info(&[profile])), expected, "{log}");
        let stacks = folder.path().join("own.collapsed");
        let stacks = text(&stacks);
        for by in [None, Some("--by-thread")] {
            let words = ["convert", "--to", "collapsed", "-o", stacks, log];
            stdout_of(tyrion().args(words).args(by));
            assert_eq!(totals(&info(&[stacks])).1, expected.1, "{log}");
        }
        // The same lines, whichever way.
        let lines = |file: &str| {
            stdout_of(tyrion().args([
                "convert",
                "--to",
                "collapsed",
                "-o",
                "-",
                "--by-thread",
                file,
            ]))
        };
        assert_eq!(lines(stacks), lines(log), "{log}");
        assert_eq!(lines(profile), lines(log), "{log}");
    }
}

#[test]
fn they_are_read_together() {
    let paths: Vec<PathBuf> =
        FILES.iter().map(|(name, ..)| file(name)).chain([sample_log()]).collect();
    let paths: Vec<&str> = paths.iter().map(|path| text(path)).collect();
    let expected = paths.iter().map(|path| totals(&info(&[*path, "--kind", "contention"])));
    let expected = expected.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let of = |metric: &str| {
        let words = ["convert", "--to", "collapsed", "-o", "-", "--metric", metric];
        sum(&stdout_of(tyrion().args(words).args(&paths)))
    };
    assert_eq!((of("contentions"), of("wait")), expected);
    let report: Value =
        serde_json::from_str(&stdout_of(tyrion().args(["report", "--json"]).args(&paths))).unwrap();
    let overview = &report["sections"]["overview"];
    assert_eq!(overview["wait_ns"].as_u64(), Some(expected.1), "{overview:#}");
    assert!(run(["diff", paths[2], paths[4]]).status.success());
    assert!(run(["diff", paths[5], paths[4]]).status.success());
}

#[test]
fn the_original_tells_of_holds_and_of_locks_of_one_thread() {
    let path = file("original-2014.log");
    let report = stdout_of(tyrion().args(["report", "--json"]).arg(&path));
    let report: Value = serde_json::from_str(&report).unwrap();
    let sections = &report["sections"];
    assert_eq!(sections["contended"]["locks"][0]["lock"]["class"], "com.acme.Bank$Ledger");
    assert_eq!(sections["contended"]["locks"][0]["contended"], 1);
    let single = sections["single-thread"]["places"].as_array().unwrap();
    assert!(single.iter().any(|it| it["lock"]["class"] == "com.acme.Config"), "{single:#?}");
    let cycles = sections["lock-order"]["cycles"].as_array().unwrap();
    assert_eq!(cycles.len(), 1, "{cycles:#?}");
    let words = ["convert", "--to", "collapsed", "-o", "-", "--metric", "hold"];
    assert_eq!(
        sum(&stdout_of(tyrion().args(words).arg(&path))),
        20_000_000 + 12_000_000 + 12_000_000 + 9_000 + 29_000 + 200_000
    );
}

#[test]
fn damaged_files_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let bad = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(file(name)).unwrap();
        change(&mut bytes);
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let cut = bad("go-mutex.pb.gz", &|bytes| bytes.truncate(bytes.len() - 10));
    let flipped = bad("original-2014.log", &|bytes| bytes[400] = 0);
    let line = bad("offcpu.folded", &|bytes| bytes.extend(b"nothing\n"));
    let check = |path: &Path, status: i32, said: &str| {
        for command in
            [&["info"][..], &["dump"], &["report"], &["convert", "--to", "pprof", "-o", "-"]]
        {
            let done = output(tyrion().args(command).arg(path));
            let stderr = err(&done);
            assert_eq!(done.status.code(), Some(status), "{command:?}: {stderr}");
            let is_told = |line: &str| line.contains("offset 0x") && line.contains(said);
            assert!(stderr.lines().any(is_told), "{command:?}: {stderr}");
        }
    };
    check(&cut, 3, "the compressed data are cut or damaged here");
    check(&flipped, 3, "no event; the line was left out");
    check(&line, 3, "no stack with a number");
}
