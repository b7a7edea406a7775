//! What `convert`, `info` and `dump` make of a log that needs no JVM.

use crate::support::{
    Sum, callgrind_parts, collapsed_sum, err, info, out, run, sample_log, stdout_of, text, tyrion,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    path::Path,
    process::{Command, Stdio},
};

/// The collapsed stacks of the sample log, with more arguments.
fn collapse(more: &[&str]) -> Command {
    let mut command = tyrion();
    command.args(["convert", "--to", "collapsed", "-o", "-"]).args(more).arg(sample_log());
    command
}

fn collapsed(more: &[&str]) -> String {
    stdout_of(&mut collapse(more))
}

/// The files in a folder and in those within.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let within = self::files(&entry.path()).into_iter();
            files.extend(within.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    files
}

#[test]
fn any_number_of_workers_writes_the_same_bytes() {
    let mut all = Vec::new();
    for jobs in ["1", "2", "7"] {
        for style in
            [&[][..], &["--lock-identity", "--by-thread"], &["--merged", "--metric", "contentions"]]
        {
            let folder = tempfile::tempdir().unwrap();
            let convert = ["convert", "--to", "all", "--jobs", jobs, "-o", text(folder.path())];
            stdout_of(tyrion().args(convert).args(style).arg(sample_log()));
            all.push((jobs, style, files(folder.path())));
        }
    }
    for (jobs, style, files) in &all {
        let (_, _, first) = all.iter().find(|(_, other, _)| other == style).unwrap();
        assert!(files.len() >= 4, "{:?}", files.keys());
        assert!(files == first, "--jobs {jobs} {style:?} differs");
    }
}

#[test]
fn default_names_are_those_of_the_documentation() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name) in [
        ("callgrind", "out.callgrind"),
        ("pprof", "locks.pb.gz"),
        ("flamegraph", "waits.svg"),
        ("collapsed", "waits.collapsed"),
        ("speedscope", "waits.speedscope.json"),
        ("firefox", "waits.firefox.json.gz"),
        ("perfetto", "waits.perfetto-trace"),
        ("jfr", "waits.jfr"),
        ("otlp", "locks.otlp"),
        ("parquet", "parquet/waits.parquet"),
    ] {
        let mut convert = tyrion();
        convert.current_dir(&folder).args(["convert", "--to", format]).arg(sample_log());
        stdout_of(&mut convert);
        assert!(folder.path().join(name).is_file(), "{name}");
    }
}

/// Options of single formats count for these, and what is no folder is refused.
#[test]
fn all_formats_are_written_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("new/results");
    let convert =
        ["convert", "--to", "all", "--icicle", "--invert", "--no-thread-label", "--merged", "-o"];
    let mut all = tyrion();
    let said = all.args(convert).arg(&results).arg(sample_log()).output().unwrap();
    assert_eq!(said.status.code(), Some(0), "{}", err(&said));
    let written = files(&results);
    let singly = |to: &str, style: &[&str]| {
        let path = folder.path().join("one");
        stdout_of(
            tyrion().args(["convert", "--to", to, "-o", text(&path)]).args(style).arg(sample_log()),
        );
        std::fs::read(path).unwrap()
    };
    for (to, name, style) in [
        ("callgrind", "out.merged.callgrind", &["--merged"][..]),
        ("pprof", "locks.pb.gz", &["--no-thread-label"]),
        ("flamegraph", "waits.svg", &["--icicle", "--invert"]),
        ("collapsed", "waits.collapsed", &[]),
    ] {
        assert!(written[name] == singly(to, style), "{name}");
        assert!(err(&said).contains(&format!("{}; open with: ", text(&results.join(name)))));
        let help = stdout_of(tyrion().args(["convert", "--help"]));
        assert!(help.contains(&format!("- {to}")) && help.contains("- all"), "{help}");
    }
    for target in [text(&folder.path().join("one")), "-"] {
        let output = run(["convert", "--to", "all", "-o", target, text(&sample_log())]);
        assert_eq!(output.status.code(), Some(2), "{target}");
        assert!(err(&output).contains("-o must name a folder"), "{}", err(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn several_logs_become_one_profile() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.log");
    std::fs::copy(sample_log(), &copy).unwrap();
    let both = collapsed(&[text(&copy)]);
    assert_eq!(collapsed_sum(&both), 2 * collapsed_sum(&collapsed(&[])));

    let log = sample_log();
    let (link, hard) = (folder.path().join("link.log"), folder.path().join("hard.log"));
    std::os::unix::fs::symlink(&log, &link).unwrap();
    std::fs::hard_link(&copy, &hard).unwrap();
    for (first, again) in [(&log, &log), (&log, &link), (&copy, &hard)] {
        let twice = run(["convert", "--to", "collapsed", "-o", "-", text(first), text(again)]);
        assert_eq!(twice.status.code(), Some(0), "{}", err(&twice));
        assert_eq!(twice.stdout, collapsed(&[]).as_bytes(), "counted once");
        assert!(err(&twice).contains("it is counted once"), "{}", err(&twice));
    }
}

#[test]
fn every_output_has_the_same_total() {
    let totals = info(&sample_log())["totals"].clone();
    let wait_ns = totals["wait_ns"].as_u64().unwrap();
    let count = totals["contentions"].as_u64().unwrap();
    assert_eq!(collapsed_sum(&collapsed(&[])), wait_ns);
    assert_eq!(collapsed_sum(&collapsed(&["--metric", "contentions"])), count);
    assert_eq!(collapsed_sum(&collapsed(&["--by-thread"])), wait_ns);
    for style in [&[][..], &["--max-parts", "1"], &["--no-lock-frame"], &["--lock-identity"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.callgrind");
        let convert = ["convert", "--to", "callgrind", "-o", text(&path)];
        stdout_of(tyrion().args(convert).args(style).arg(sample_log()));
        let mut sum = Sum::default();
        for part in callgrind_parts(&path) {
            sum += Sum::of_callgrind(&part);
        }
        assert_eq!(sum, Sum { wait_ns, count }, "{style:?}");
    }
}

/// `info`'s totals of the sample log, with a filter.
fn totals(filter: &[&str]) -> Value {
    let text = stdout_of(tyrion().args(["info", "--json"]).args(filter).arg(sample_log()));
    serde_json::from_str::<Value>(&text).unwrap()["totals"].clone()
}

#[test]
fn filters_take_what_they_say() {
    let all = totals(&[]);
    let (count, wait_ns) = (all["contentions"].as_u64(), all["wait_ns"].as_u64());
    let wait = |filter: &[&str]| collapsed_sum(&collapsed(filter));
    assert_eq!(Some(wait(&["--kind", "contention"])), wait_ns);
    // Taking a lock again after a condition is a kind apart.
    let apart = wait(&["--kind", "lock-reacquire"]);
    assert!(apart > 0);
    assert_eq!(wait(&["--kind", "all"]), wait(&["--kind", "contention,idle"]) + apart);
    let kinds = ["monitor", "lock", "lock-read", "lock-write", "semaphore"];
    let each: u64 = kinds.iter().map(|kind| wait(&["--kind", kind])).sum();
    assert_eq!(Some(each), wait_ns);

    let threads = ["^main$", "^virtual-40$", "^teller-1$"].map(|name| wait(&["--thread", name]));
    assert_eq!(Some(threads.iter().sum()), wait_ns);
    let nobody = ["convert", "--to", "flamegraph", "--thread", "nobody", "-o", "-"];
    let nobody = tyrion().args(nobody).arg(sample_log()).output().unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    assert!(nobody.stdout.is_empty(), "{}", out(&nobody));
    assert!(err(&nobody).contains("no waits passed the filters"), "{}", err(&nobody));
    // Not each of the numbers is that of a contended lock.
    let of_lock = |n: u32| {
        let output = collapse(&["--lock", &format!("Bank#{n}$")]).output().unwrap();
        match output.status.code() {
            Some(0) => collapsed_sum(&out(&output)),
            _ if err(&output).contains("no waits passed the filters") => 0,
            _ => panic!("{}", err(&output)),
        }
    };
    let locks: u64 = (1..=9).map(of_lock).sum();
    assert_eq!(Some(locks), wait_ns);

    let halves = [["--until", "2ms"], ["--since", "2ms"]].map(|half| totals(&half));
    let sum: u64 = halves.iter().map(|half| half["contentions"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), count);
    assert!(halves.iter().all(|half| half["contentions"].as_u64() > Some(0)), "{halves:?}");

    let long = totals(&["--min-wait", "500us"])["contentions"].as_u64();
    assert!(long > Some(0) && long < count, "{long:?}");
    let dumped = stdout_of(tyrion().args(["dump", "--min-wait", "500us"]).arg(sample_log()));
    assert!(dumped.lines().filter(|line| line.starts_with("wait ")).count() > 0);
}

#[test]
fn a_dash_is_stdin_and_stdout() {
    let from_stdin = tyrion()
        .args(["convert", "--to", "collapsed", "-o", "-", "-"])
        .stdin(File::open(sample_log()).unwrap())
        .output()
        .unwrap();
    assert!(from_stdin.status.success(), "{}", err(&from_stdin));
    assert_eq!(out(&from_stdin), collapsed(&[]));
    let info = tyrion().args(["info", "-"]).stdin(File::open(sample_log()).unwrap()).output();
    assert!(info.unwrap().status.success());

    let merged = ["convert", "--to", "callgrind", "--merged", "-o", "-"];
    assert!(stdout_of(tyrion().args(merged).arg(sample_log())).starts_with("# callgrind format"));
    for several in ["callgrind", "all"] {
        let output = run(["convert", "--to", several, "-o", "-", text(&sample_log())]);
        assert_eq!(output.status.code(), Some(2), "{several} is several files");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for command in [
        &["dump"][..],
        &["dump", "--json"],
        &["info"],
        &["convert", "--to", "flamegraph", "-o", "-"],
        &["convert", "--to", "speedscope", "-o", "-"],
        &["convert", "--to", "firefox", "-o", "-"],
        &["convert", "--to", "perfetto", "-o", "-"],
        &["convert", "--to", "jfr", "-o", "-"],
    ] {
        let mut tyrion = tyrion();
        tyrion.args(command).arg(sample_log()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = tyrion.spawn().unwrap();
        // Reads a little and closes the pipe.
        child.stdout.take().unwrap().read_exact(&mut [0; 16]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", output.status);
        let complaints: Vec<String> = err(&output)
            .lines()
            .filter(|line| !line.contains("note: "))
            .map(str::to_owned)
            .collect();
        assert_eq!(complaints, [""; 0], "{command:?}");
    }
}

#[test]
fn stale_parts_go_and_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.callgrind");
    let strange = folder.path().join("out.callgrind.999-01");
    std::fs::write(&strange, "# callgrind format\nversion: 1\ncreator: callgrind-3.19\n").unwrap();
    let convert = |more: &[&str]| {
        let to = ["convert", "--to", "callgrind", "-o", text(&path)];
        stdout_of(tyrion().args(to).args(more).arg(sample_log()));
        callgrind_parts(&path).len()
    };
    let all = convert(&[]);
    let fewer = convert(&["--thread", "main"]);
    assert!(fewer < all, "{fewer} of {all}");
    assert!(strange.is_file(), "not ours to remove");
}

#[test]
fn callgrind_annotate_reads_a_merged_file() {
    if !crate::support::needs(&["callgrind_annotate"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.callgrind");
    let merged = ["convert", "--to", "callgrind", "--merged", "-o", text(&path)];
    stdout_of(tyrion().args(merged).arg(sample_log()));
    let output = Command::new("callgrind_annotate").arg(&path).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", err(&output));
}
