//! Files of other tools, and Tyrion's own outputs, as inputs: every command reads them,
//! alone and with others, from files and from pipes, and what they do not tell is said.

use crate::support::{err, out, output, root, run, sample_log, stdout_of, text, tyrion};
use serde_json::Value;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

/// A file, what it is, how often and how long threads waited for locks, as far as it
/// tells, and what it does not tell.
type KnownFile = (&'static str, &'static str, KnownTotals, &'static [&'static str]);
type KnownTotals = (Option<u64>, Option<u64>);

const FILES: [KnownFile; 5] = [
    ("original-2014.log", "original-tyrion", (Some(1), Some(18_400_000)), &["stacks"]),
    ("original-2013.log", "original-tyrion", (None, None), &["waits", "stacks"]),
    (
        "async-profiler.collapsed",
        "collapsed",
        (Some(49), None),
        &["times", "single-waits", "durations"],
    ),
    (
        "offcpu.folded",
        "collapsed",
        (Some(1_750), None),
        &["times", "single-waits", "durations", "threads"],
    ),
    (
        "go-mutex.pb.gz",
        "pprof",
        (Some(15), Some(35_567_890)),
        &["times", "single-waits", "threads"],
    ),
];

fn file(name: &str) -> PathBuf {
    root().join("testdata/inputs").join(name)
}

fn info(words: &[&str]) -> Value {
    let info = stdout_of(tyrion().args(["info", "--json"]).args(words));
    serde_json::from_str(&info).unwrap()
}

fn totals(info: &Value) -> KnownTotals {
    let total = |key: &str| {
        let total = &info["totals"][key];
        assert!(total.is_u64() || total.is_null(), "{info:#}");
        total.as_u64()
    };
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
        let note = format!("note: {} ({format}) does not tell ", text(&path));
        assert!(said.contains(&note), "{name}: {said}");
    }
}

#[test]
fn every_command_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, _, (contentions, wait_ns), _) in FILES {
        let path = file(name);
        let path = text(&path);
        let (contentions, wait_ns) = (contentions.unwrap_or(0), wait_ns.unwrap_or(0));
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
    for what in ["does not tell when threads waited, nor which", "only sums of waits"] {
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
    assert!(err(&report).contains("does not tell when threads waited"), "{}", err(&report));
}

#[test]
fn options_say_what_a_file_does_not() {
    let offcpu = file("offcpu.folded");
    let offcpu = text(&offcpu);
    assert_eq!(totals(&info(&["--unit", "us", offcpu])), (Some(2), Some(1_750_000)));
    assert_eq!(totals(&info(&["--unit", "s", offcpu])), (Some(2), Some(1_750_000_000_000)));
    let note = "unit assumed: samples; --unit says otherwise";
    for command in [
        &["info", offcpu][..],
        &["report", offcpu],
        &["convert", "--to", "pprof", "-o", "-", offcpu],
    ] {
        let done = run(command);
        let said = String::from_utf8_lossy(&done.stdout).into_owned() + &err(&done);
        assert!(said.contains(note), "{command:?}: {said}");
    }
    assert!(!out(&run(["info", "--unit", "samples", offcpu])).contains(note));
    let go = file("go-mutex.pb.gz");
    let go = text(&go);
    assert_eq!(totals(&info(&["--sample-type", "contentions", go])), (Some(15), None));
    assert_eq!(totals(&info(&["--sample-type", "delay", go])), (Some(15), Some(35_567_890)));
    let none = run(["info", "--sample-type", "cpu", go]);
    let said = err(&none);
    assert_eq!(none.status.code(), Some(1), "{said}");
    assert!(said.contains("no sample type cpu") && said.contains("delay/nanoseconds"), "{said}");
    assert!(!said.contains("nothing of it") && !said.contains("offset"), "{said}");
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
            ("collapsed", (count, _)) => count.map(|count| count * 1_000),
            (_, (_, wait_ns)) => wait_ns,
        };
        let read = totals(&found).1;
        assert_eq!(read.is_some(), expected.is_some(), "{name}");
        let (read, expected) = (read.unwrap_or(0), expected.unwrap_or(0));
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
    let lists = |name: &str, sections: &str| {
        stdout_of(tyrion().args(["report", "--section", sections]).arg(file(name)))
    };
    let of_counts = lists("offcpu.folded", "contended,blockers");
    assert!(!of_counts.contains("No thread waited"), "{of_counts}");
    assert!(of_counts.contains("hottest waiter, 86 % of the waits"), "{of_counts}");
    let differ = |name: &str| stdout_of(tyrion().arg("diff").arg(file(name)).arg(file(FILES[3].0)));
    for text in [differ("offcpu.folded"), differ("go-mutex.pb.gz")] {
        assert!(text.contains("offcpu.folded: duration not known"), "{text}");
        assert!(text.contains("waits in each recording") && !text.contains(" ns"), "{text}");
    }
    let stackless = report("original-2014.log");
    let verdict = stackless.lines().take(5).collect::<Vec<_>>().join("\n");
    assert!(!verdict.contains("[synchronized]") && !verdict.contains("in ."), "{verdict}");
}

#[test]
fn filters_ask_nothing_that_a_file_does_not_tell() {
    let offcpu = file("offcpu.folded");
    let offcpu = text(&offcpu);
    let go = file("go-mutex.pb.gz");
    let go = text(&go);
    for filter in [["--since", "1s"], ["--until", "2020-01-01T00:00:00Z"], ["--min-wait", "1ms"]] {
        let words = ["report", "--section", "verdict", filter[0], filter[1], offcpu];
        let done = run(words);
        assert!(out(&done).contains("1,750 waits"), "{filter:?}: {}", out(&done));
        assert!(err(&done).contains(filter[0]), "{filter:?}: {}", err(&done));
        let words = ["dump", "--json", filter[0], filter[1], offcpu];
        assert_eq!(stdout_of(tyrion().args(words)).matches("\"fold\"").count(), 2, "{filter:?}");
    }
    // Each wait counts as long as the average of its stack: 12 took 2.88 ms.
    assert_eq!(totals(&info(&["--min-wait", "2300us", go])), (Some(12), Some(34_567_890)));
    assert_eq!(totals(&info(&["--min-wait", "2881us", go])), (Some(0), Some(0)));
    let long = run(["report", "--min-wait", "2300us", go]);
    assert!(!err(&long).contains("estimated"), "{}", err(&long));
}

#[test]
fn what_a_file_tells_is_shown_by_default() {
    let folder = tempfile::tempdir().unwrap();
    for (name, stem, total) in [
        ("offcpu.folded", "contentions", 1_750),
        ("async-profiler.collapsed", "contentions", 49),
        ("original-2013.log", "holds", 0),
        ("original-2014.log", "waits", 18_400_000),
    ] {
        let into = folder.path().join(name);
        stdout_of(tyrion().args(["convert", "--to", "all", "-o"]).args([&into, &file(name)]));
        for other in ["contentions", "holds", "waits"] {
            let picture = into.join(other).with_extension("svg");
            assert_eq!(picture.exists(), other == stem, "{name}: {other}");
        }
        let picture = std::fs::read_to_string(into.join(stem).with_extension("svg")).unwrap();
        assert!(!picture.contains("no waits"), "{name}");
        let stacks = into.join(stem).with_extension("collapsed");
        let sum = sum(&std::fs::read_to_string(stacks).unwrap());
        assert!(sum == total || total == 0 && sum > 0, "{name}: {sum}");
    }
    let next = stdout_of(tyrion().args(["report", "--section", "verdict"]).arg(file(FILES[3].0)));
    assert!(next.contains("--to flamegraph --metric contentions"), "{next}");
}

#[test]
fn info_tells_of_other_files_what_they_have() {
    let told = |name: &str| stdout_of(tyrion().arg("info").arg(file(name)));
    for (name, size) in [
        ("go-mutex.pb.gz", "15 waits in sums; "),
        ("offcpu.folded", "1,750 waits in sums; "),
        ("original-2014.log", "1 wait and "),
    ] {
        let told = told(name);
        assert!(told.contains(&format!("size          {size}")), "{told}");
    }
    for name in ["original-2013.log", "original-2014.log"] {
        let told = told(name);
        assert!(!told.contains("instrumented") && !told.contains("the JVM still runs"), "{told}");
    }
    assert!(!told("original-2013.log").contains("0 waits"), "{}", told("original-2013.log"));
}

#[test]
fn what_is_not_known_is_null() {
    let path = file("offcpu.folded");
    let report = stdout_of(tyrion().args(["report", "--json", text(&path)]));
    let report: Value = serde_json::from_str(&report).unwrap();
    for (of, told) in [("info", info(&[text(&path)])), ("report", report["logs"][0].clone())] {
        for key in ["pid", "start", "start_wall_ns", "duration_ns", "threshold_ns"] {
            assert_eq!(told.get(key), Some(&Value::Null), "{of}: {key}");
        }
    }
    let told = info(&[text(&path)]);
    assert_eq!((&told["threads"], &told["waiting"]), (&Value::Null, &Value::Null), "{told:#}");
    let page = stdout_of(tyrion().args(["report", "--html", "-o", "-", text(&path)]));
    assert!(!page.contains("1970") && !page.contains("pid 0"), "{page}");
    let words = ["convert", "--to", "flamegraph", "--metric", "contentions", "-o", "-"];
    let picture = stdout_of(tyrion().args(words).arg(&path));
    assert!(!picture.contains("pid 0") && !picture.contains("recorded 0 ns"), "{picture}");
}

#[test]
fn advice_can_be_followed() {
    let report = |name: &str| stdout_of(tyrion().arg("report").arg(file(name)));
    for name in ["go-mutex.pb.gz", "original-2013.log", "original-2014.log", "offcpu.folded"] {
        let told = report(name);
        assert!(!told.contains("--mode") && !told.contains("-- java"), "{name}: {told}");
    }
    let go = report("go-mutex.pb.gz");
    assert!(go.contains("released in") && !go.contains("waited for in"), "{go}");
    let stackless = report("original-2014.log");
    assert!(!stackless.contains("hottest waiter"), "{stackless}");
    assert!(!stackless.contains(".[synchronized]"), "{stackless}");
}

#[test]
fn owners_of_flight_recorder_are_previous_ones() {
    let report = |name: &str| {
        let path = root().join("testdata/jfr").join(name);
        stdout_of(tyrion().args(["report", "--section", "verdict,blockers"]).arg(path))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let jdk = report("jdk25.jfr.gz");
    assert!(jdk.contains("a previous owner, who need not have had it"), "{jdk}");
    for untrue in ["those of monitors, are not known", "for the holders of monitors"] {
        assert!(!jdk.contains(untrue), "{untrue}: {jdk}");
    }
    let nobody = report("async-profiler.jfr.gz");
    assert!(nobody.contains("Who held the locks is not known: no wait tells."), "{nobody}");
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
    let expected = expected.fold((0, 0), |sum, (count, wait_ns)| {
        (sum.0 + count.unwrap_or(0), sum.1 + wait_ns.unwrap_or(0))
    });
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
fn threads_of_different_files_have_different_names() {
    let paths = [file("offcpu.folded"), file("go-mutex.pb.gz")];
    let words = ["convert", "--to", "speedscope", "-o", "-", "--kind", "all", "--unit", "us"];
    let made = stdout_of(tyrion().args(words).args(&paths));
    let made: Value = serde_json::from_str(&made).unwrap();
    let names: Vec<&str> = made["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|profile| profile["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["unknown thread of log 1 (summed)", "unknown thread of log 2 (summed)"]);
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
