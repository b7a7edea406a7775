//! Recordings of Flight Recorder: what is read of them is what the JDK's own `jfr`
//! prints.

use crate::support::{Jdk, classes, on_jdks, output, root, run, out, stdout_of, tyrion};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

on_jdks!(sums_are_those_of_jfr: ends, everywhere all);

const EVENTS: &str = "jdk.JavaMonitorEnter,jdk.JavaMonitorWait,jdk.ThreadPark";

/// A recording of the demo with every wait in it.
fn record(jdk: &Jdk, folder: &Path) -> PathBuf {
    let file = folder.join("bank.jfr");
    let settings = root().join("tests/bench/locks.jfc");
    let mut java = Command::new(jdk.java());
    java.arg(format!(
        "-XX:StartFlightRecording=settings={},filename={},dumponexit=true",
        settings.display(),
        file.display()
    ));
    java.arg("-cp").arg(classes()).args(["com.acme.bank.BankServer", "--seconds", "2"]);
    let done = output(&mut java);
    assert!(done.status.success(), "{}", out(&done));
    file
}

/// Count and duration in ns of each type of event, as `jfr` prints them.
fn printed(file: &Path) -> BTreeMap<String, (u64, u64)> {
    let mut jfr = Command::new("jfr");
    let printed = stdout_of(jfr.args(["print", "--json", "--events", EVENTS]).arg(file));
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let mut sums = BTreeMap::<String, (u64, u64)>::new();
    for event in printed["recording"]["events"].as_array().unwrap() {
        let sum = sums.entry(event["type"].as_str().unwrap().to_owned()).or_default();
        sum.0 += 1;
        sum.1 += duration_ns(event["values"]["duration"].as_str().unwrap());
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

fn sums_are_those_of_jfr(jdk: &Jdk) {
    assert_eq!(duration_ns("PT1M2.003S"), 62_003_000_000);
    let folder = tempfile::tempdir().unwrap();
    let file = record(jdk, folder.path());
    let info = stdout_of(tyrion().args(["info", "--json"]).arg(&file));
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["format"], "jfr", "{info:#}");
    assert_eq!(info["metadata"]["program"], "com.acme.bank.BankServer");
    let mut read = BTreeMap::<&str, (u64, u64)>::new();
    for (kind, sums) in info["kinds"].as_object().unwrap() {
        let of = match kind.as_str() {
            "monitor" => "jdk.JavaMonitorEnter",
            "object-wait" => "jdk.JavaMonitorWait",
            _ => "jdk.ThreadPark",
        };
        let sum = read.entry(of).or_default();
        sum.0 += sums["count"].as_u64().unwrap();
        sum.1 += sums["wait_ns"].as_u64().unwrap();
    }
    read.retain(|_, (count, _)| *count != 0);
    let printed = printed(&file);
    let printed: BTreeMap<&str, (u64, u64)> =
        printed.iter().map(|(name, sums)| (name.as_str(), *sums)).collect();
    assert_eq!(read, printed);
    assert!(printed["jdk.JavaMonitorEnter"].0 > 0 && printed["jdk.ThreadPark"].0 > 0);
    // All kinds of locks that the program has are told apart.
    for kind in ["monitor", "lock-read", "semaphore", "condition"] {
        assert!(info["kinds"][kind]["count"].as_u64().unwrap() > 0, "{kind}: {info:#}");
    }
    check_outputs(&file, info["totals"]["wait_ns"].as_u64().unwrap());
}

/// Every command reads it, and says what is not known.
fn check_outputs(file: &Path, wait_ns: u64) {
    let collapsed = stdout_of(tyrion().args(["convert", "--to", "collapsed", "-o", "-"]).arg(file));
    let sum: u64 = collapsed.lines().map(|it| it.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, wait_ns);
    for command in [&["report"][..], &["dump"], &["report", "--json"]] {
        let said = run(command.iter().map(|it| it.as_ref()).chain([file.as_os_str()]));
        assert!(said.status.success(), "{command:?}: {}", out(&said));
    }
}
