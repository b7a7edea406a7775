//! Databases in trace mode: the same totals everywhere, and a log that grows
//! slowly.

use crate::support::{
    Jdk, Program, Recording, TraceLog, callgrind_parts, callgrind_sums, collapsed_sum,
    flamegraph_root, needs, on_jdks, pprof_sums, stdout_of, subject_jar, tyrion,
};
use serde_json::Value;
use std::collections::BTreeMap;

on_jdks!(hsqldb: newest, everywhere three);
on_jdks!(derby: everywhere two);

/// At the default, at full load.
const GROWTH_BYTES_PER_S: f64 = 1e6;

fn hsqldb(jdk: &Jdk) {
    record_and_compare(jdk, "hsqldb.jar", "jdbc:hsqldb:mem:bank");
}

fn derby(jdk: &Jdk) {
    record_and_compare(jdk, "derby.jar", "jdbc:derby:memory:bank;create=true");
}

fn record_and_compare(jdk: &Jdk, jar: &str, url: &str) {
    let Some(jar) = subject_jar(jar) else { return };
    if !needs(&["go"]) {
        return;
    }
    let bank = format!("tyrion.subjects.JdbcBank {url} 8 4 3");
    let recording = Program::class(jdk, &bank).jar(&jar).traced().record();
    assert_eq!(recording.said["balanced"], true, "{}", recording.said);
    let totals = InfoTotals::of(&recording.info());
    assert!(totals.acquisitions > 100_000, "{} acquisitions", totals.acquisitions);
    totals.check_dump(&recording);
    totals.check_outputs(&recording);
    check_growth(&recording);
}

/// What `info` says.
#[derive(Debug)]
struct InfoTotals {
    wait_ns: u64,
    contentions: u64,
    acquisitions: u64,
    reentrant: u64,
    hold_ns: u64,
    blamed_ns: u64,
}

impl InfoTotals {
    fn of(info: &Value) -> InfoTotals {
        let number = |path: &str| {
            info.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path}"))
        };
        assert_eq!(number("/totals/dropped"), 0);
        InfoTotals {
            wait_ns: number("/totals/wait_ns"),
            contentions: number("/totals/contentions"),
            acquisitions: number("/trace/taken/acquisitions"),
            reentrant: number("/trace/taken/reentrant"),
            hold_ns: number("/trace/taken/hold_ns"),
            blamed_ns: number("/trace/blame/blamed_ns"),
        }
    }

    /// The records themselves, added up.
    fn check_dump(&self, recording: &Recording) {
        let traced = TraceLog::of_kinds(&recording.log, &["acquisitions", "blame"]);
        // Outputs leave out how long a lock takes to come back after a
        // condition's await: who has it then does what the wait was for.
        let is_contention = |record: &&Value| record["kind"] != "lock-reacquire";
        let sum = |record: &str, key: &str| -> u64 {
            let records = traced.records(record).filter(is_contention);
            records.map(|record| record[key].as_u64().unwrap()).sum()
        };
        assert_eq!(sum("acquisitions", "acquisitions"), self.acquisitions, "acquisitions");
        assert_eq!(sum("acquisitions", "reentrant"), self.reentrant, "reentrant");
        assert_eq!(sum("acquisitions", "hold_ns"), self.hold_ns, "hold");
        assert_eq!(sum("blame", "blamed_ns"), self.blamed_ns, "blame");
    }

    fn check_outputs(&self, recording: &Recording) {
        let folder = tempfile::tempdir().unwrap();
        let convert = ["convert", "--to", "all", "-o"];
        stdout_of(tyrion().args(convert).arg(folder.path()).arg(&recording.log));

        let mut parts: BTreeMap<String, u64> = BTreeMap::new();
        for part in callgrind_parts(&folder.path().join("out.callgrind")) {
            for (event, sum) in callgrind_sums(&part) {
                *parts.entry(event).or_default() += sum;
            }
        }
        for (event, expected) in [
            ("Wait_ns", self.wait_ns),
            ("Contentions", self.contentions),
            ("Acquisitions", self.acquisitions),
            ("Hold_ns", self.hold_ns),
            ("Blamed_ns", self.blamed_ns),
        ] {
            assert_eq!(parts.get(event), Some(&expected), "callgrind: {event}");
        }

        let samples = pprof_sums(&folder.path().join("locks.pb.gz"));
        for (sample, expected) in [
            ("delay/nanoseconds", self.wait_ns),
            ("contentions/count", self.contentions),
            ("acquisitions/count", self.acquisitions),
            ("reentrant/count", self.reentrant),
            ("hold/nanoseconds", self.hold_ns),
            ("blamed/nanoseconds", self.blamed_ns),
        ] {
            assert_eq!(samples.get(sample), Some(&expected), "pprof: {sample}");
        }

        for (metric, expected) in [
            ("wait", self.wait_ns),
            ("acquisitions", self.acquisitions),
            ("hold", self.hold_ns),
            ("blame", self.blamed_ns),
        ] {
            let convert = ["convert", "--metric", metric, "-o", "-", "--to"];
            let collapsed = stdout_of(tyrion().args(convert).arg("collapsed").arg(&recording.log));
            assert_eq!(collapsed_sum(&collapsed), expected, "collapsed: {metric}");
            let graph = stdout_of(tyrion().args(convert).arg("flamegraph").arg(&recording.log));
            let svg = folder.path().join("metric.svg");
            std::fs::write(&svg, graph).unwrap();
            assert_eq!(flamegraph_root(&svg), expected, "flame graph: {metric}");
        }
        let by_holder = ["convert", "--by", "holder", "--to", "collapsed", "-o", "-"];
        let collapsed = stdout_of(tyrion().args(by_holder).arg(&recording.log));
        assert_eq!(collapsed_sum(&collapsed), self.blamed_ns, "by holder");
    }
}

fn check_growth(recording: &Recording) {
    let info = recording.info();
    let bytes = info["file_bytes"].as_u64().unwrap() as f64;
    let seconds = info["duration_ns"].as_u64().unwrap() as f64 / 1e9;
    eprintln!("{:.0} bytes a second", bytes / seconds);
    assert!(bytes / seconds < GROWTH_BYTES_PER_S, "{bytes} bytes in {seconds} s");
}
