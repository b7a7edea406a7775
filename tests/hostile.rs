//! Programs, logs and command lines with names that give orders to terminals,
//! turn the direction of reading, or have thousands of characters. No output
//! has them as they are but JSON, and that escaped.

pub mod log;

use crate::support::{
    Jdk, Program, Sum, agent, beside_others, callgrind_sums, classes, collapsed_sum, err, needs,
    on_jdks, out, output, pprof_sums, text, tyrion,
};
use log::{EVIL, long};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Output},
};

on_jdks!(threads_may_be_called_anything: ends, everywhere three);
on_jdks!(a_path_of_any_bytes: one);

/// What must not reach a reader, told without the code under test.
fn forbidden(char: char) -> bool {
    (char.is_control() && char != '\n')
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(char, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(char, '\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Fails if there is such a character, or a long name, in a text.
#[track_caller]
fn check(what: &str, text: &str) {
    if let Some(line) = text.lines().find(|line| line.contains(forbidden)) {
        let char = line.chars().find(|char| forbidden(*char));
        panic!("{what}: {char:?} in {:?}", line.chars().take(2_000).collect::<String>());
    }
    assert!(!text.contains(&"x".repeat(500)), "{what}: a long name");
}

/// Runs a command: its stdout. Neither that nor its stderr may do harm.
#[track_caller]
fn said(command: &mut Command) -> String {
    let output = output(command);
    check(&format!("stderr of {command:?}"), &err(&output));
    assert!(matches!(output.status.code(), Some(0)), "{command:?}: {}", err(&output));
    out(&output)
}

pub fn in_folder(folder: &Path, line: &str) -> Command {
    let mut command = tyrion();
    command.current_dir(folder).args(line.split(' '));
    command
}

/// All texts in a JSON value, keys too.
fn texts(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(into.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| texts(value, into)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            into.insert(key.clone());
            texts(value, into);
        }),
        _ => {}
    }
}

/// The texts of lines of JSON, or of one value, in which nothing may do harm.
#[track_caller]
fn json_texts(what: &str, json: &str) -> BTreeSet<String> {
    assert!(!json.contains(forbidden), "{what}: not escaped");
    let mut found = BTreeSet::new();
    for value in serde_json::Deserializer::from_str(json).into_iter::<Value>() {
        texts(&value.unwrap(), &mut found);
    }
    found
}

#[test]
fn no_output_has_a_hostile_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    log::write(&folder.join("a.log"));
    for (line, width) in [
        ("info a.log", 4_000),
        ("dump a.log", 20_000),
        ("top --once a.log", 500),
        ("report a.log", 400),
        ("report --section tree,lines a.log", 400),
        ("diff a.log a.log", 400),
        ("convert --to collapsed -o - a.log", 20_000),
        ("convert --to collapsed --by-thread --lock-identity -o - a.log", 20_000),
        ("convert --to collapsed --metric hold -o - a.log", 20_000),
        ("convert --to collapsed --metric wall --by state -o - a.log", 20_000),
        ("convert --to collapsed --packages com.acme --group-by name -o - a.log", 20_000),
        ("convert --to callgrind --merged -o - a.log", 1_000),
        ("convert --to flamegraph --by-thread -o - a.log", 20_000),
        ("diff --to flamegraph -o - a.log a.log", 20_000),
        ("report --html -o - a.log", usize::MAX),
    ] {
        let shown = said(&mut in_folder(folder, line));
        check(line, &shown);
        assert!(!shown.is_empty(), "{line}");
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest < Some(width), "{line}: {widest:?} columns");
    }
}

#[test]
fn json_has_names_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    log::write(&folder.join("a.log"));
    let program = format!("program {EVIL}");
    let lock = format!("Cache.lock{EVIL}");
    let thread = format!("waiter {EVIL}");
    let group = format!("[group GET /{EVIL}]");
    let long = long("a");
    for (line, expected) in [
        // It names no threads and no locks.
        ("info --json a.log", [&program; 3]),
        ("dump --json a.log", [&lock, &thread, &group]),
        ("top --once --json a.log", [&program, &lock, &thread]),
        ("report --json a.log", [&program, &lock, &thread]),
        ("diff --json a.log a.log", [&lock, &lock, &long]),
    ] {
        let texts = json_texts(line, &said(&mut in_folder(folder, line)));
        for name in expected {
            assert!(texts.contains(name), "{line}: no {name:?}");
        }
    }
}

#[test]
fn numbers_agree_whatever_the_names() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    log::write(&folder.join("a.log"));
    for (to, file) in [("callgrind --merged", "c"), ("collapsed", "t"), ("pprof", "p")] {
        let line = format!("convert --kind contention --to {to} -o {file} a.log");
        check(&line, &said(&mut in_folder(folder, &line)));
    }
    // 12 waits, and 2 that were folded.
    let expected = Sum { wait_ns: 12 * 250_000 + 12 + 30, count: 14 };
    let callgrind = callgrind_sums(&folder.join("c"));
    assert_eq!(
        (callgrind["Wait_ns"], callgrind["Contentions"]),
        (expected.wait_ns, expected.count)
    );
    let collapsed = std::fs::read_to_string(folder.join("t")).unwrap();
    assert_eq!(collapsed_sum(&collapsed), expected.wait_ns);
    let packed = std::fs::File::open(folder.join("p")).unwrap();
    let pprof = output(Command::new("gzip").arg("-dc").stdin(packed)).stdout;
    let long = "x".repeat(500);
    for name in ["\u{202e}", "\u{1b}[31m", "\u{2028}", "\u{e0041}", "\u{feff}", &long] {
        let found = pprof.windows(name.len()).any(|bytes| bytes == name.as_bytes());
        assert!(!found, "pprof: {name:?}");
    }
    if needs(&["go"]) {
        let pprof = pprof_sums(&folder.join("p"));
        assert_eq!(pprof["delay/nanoseconds"], expected.wait_ns);
    }
    // Names that differ in the middle are of different threads, methods and locks.
    let line = "convert --to collapsed --by-thread -o - a.log";
    let lines = said(&mut in_folder(folder, line));
    let of = |nth: usize| -> BTreeSet<&str> {
        lines.lines().map(|line| line.split(';').nth(nth).unwrap()).collect()
    };
    assert_eq!((of(0).len(), of(2).len()), (4, 2), "threads and methods");
    let last = lines.lines().map(|line| line.rsplit(';').next().unwrap());
    let locks: BTreeSet<&str> = last.map(|line| line.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(locks.len(), 3);
}

#[test]
fn files_may_be_called_anything() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let name = format!("{}.log", EVIL.replace('\0', ""));
    log::write(&folder.join(&name));
    let page = folder.join(format!("{name}.html"));
    for arguments in [
        vec!["info"],
        vec!["dump"],
        vec!["report"],
        vec!["top", "--once"],
        vec!["report", "--html", "-o", text(&page)],
        vec!["convert", "--to", "callgrind", "-o", text(&page)],
        vec!["convert", "--to", "collapsed", "-o", text(&page)],
    ] {
        let mut command = tyrion();
        command.current_dir(folder).args(&arguments).arg(&name);
        check(&format!("{arguments:?}"), &said(&mut command));
    }
    for format in ["info", "report", "top --once"] {
        let mut command = in_folder(folder, &format!("{format} --json"));
        let texts = json_texts(format, &said(command.arg(&name)));
        assert!(texts.iter().any(|text| text.ends_with(&name)), "{format}");
    }
    std::fs::write(folder.join(&name), "no log").unwrap();
    for arguments in [&["info"][..], &["report"], &["convert", "--to", "pprof"]] {
        let output = output(tyrion().current_dir(folder).args(arguments).arg(&name));
        check(&format!("{arguments:?}"), &err(&output));
        assert_eq!(err(&output).lines().count(), 1, "{arguments:?}");
    }
}

#[test]
fn wrong_arguments_give_no_orders() {
    let evil = EVIL.replace('\0', "");
    let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(OsString::from).collect() };
    for arguments in [
        words(&[&format!("--{evil}")]),
        words(&[&evil]),
        words(&["convert", "--to", &evil, "x"]),
        words(&["convert", "--thread", &format!("({evil}"), "x"]),
        words(&["report", "--fail-if", &evil, "x"]),
        words(&["info", &evil]),
        words(&["top", &evil]),
        words(&["attach", &evil]),
        words(&["record", "-o", "a\u{1b}[31m.log", "--", "true"]),
        words(&["record", "--", &evil]),
        vec!["top".into(), OsStr::from_bytes(b"\xff\x1b[31m").to_owned()],
        vec!["info".into(), OsStr::from_bytes(b"\xff\x1b[31m").to_owned()],
    ] {
        let output: Output = output(tyrion().args(&arguments));
        assert!(!output.status.success(), "{arguments:?}");
        assert_eq!(out(&output), "");
        check(&format!("{arguments:?}"), &err(&output));
    }
}

/// What the program says its threads are called: a name for each wait.
fn threads_may_be_called_anything(jdk: &Jdk) {
    let recording = Program::truth(jdk, "hostile-names").option("--threshold=0").record();
    let names: Vec<String> = recording.said["names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    assert!(names.len() > 5 && names.iter().any(|name| name.contains('😀')), "{names:?}");
    let folder = recording.log.parent().unwrap();
    for line in ["info", "dump", "top --once", "report", "convert --to collapsed --by-thread -o -"]
    {
        let line = format!("{line} {}", text(&recording.log));
        check(&line, &said(&mut in_folder(folder, &line)));
    }
    for line in ["dump --json", "top --once --top 0 --json"] {
        let line = format!("{line} {}", text(&recording.log));
        let texts = json_texts(&line, &said(&mut in_folder(folder, &line)));
        for name in &names {
            assert!(texts.contains(name), "{line}: no {name:?}");
        }
    }
}

/// `file=` is taken as it is, by `record` and by hand; or refused.
fn a_path_of_any_bytes(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join(OsStr::from_bytes(b"a\xff\xfe,b\\.log"));
    let _turn = beside_others();
    let output = output(&mut Program::truth(jdk, "holder-monitor").record_command(&log));
    assert!(output.status.success(), "{}", err(&output));
    assert!(log.is_file(), "record: {:?}", names_in(folder.path()));

    let by_hand = |file: &[u8]| {
        let mut option = OsString::from("-agentpath:");
        option.push(agent());
        option.push("=file=");
        option.push(OsStr::from_bytes(file));
        let mut java = Command::new(jdk.java());
        java.current_dir(&folder).arg(option).arg("-cp").arg(classes());
        super::support::output(java.args(["tyrion.truth.Truth", "holder-monitor"]))
    };
    let output = by_hand(b"by-hand\xe9.log");
    assert!(output.status.success(), "{}", err(&output));
    assert!(folder.path().join(OsStr::from_bytes(b"by-hand\xe9.log")).is_file());

    let before = names_in(folder.path());
    let output = by_hand(b"c\x1b[31m\nstate=x.log");
    assert!(output.status.success(), "the program runs all the same");
    check("the agent", &err(&output));
    assert!(err(&output).contains("control characters"), "{}", err(&output));
    assert_eq!(names_in(folder.path()), before, "nothing was recorded");
    // What it does not know it names.
    let output = by_hand(b"d.log,\x1b]0;x\x07\xc2\x9b=\xe2\x80\xae");
    check("the agent", &err(&output));
    assert!(err(&output).contains("unknown option"), "{}", err(&output));
}

fn names_in(folder: &Path) -> BTreeSet<OsString> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}
