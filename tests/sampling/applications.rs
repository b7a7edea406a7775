//! A database, sampled: the same totals everywhere.

use super::outputs::samples;
use crate::support::{
    Jdk, Program, Recording, Report, callgrind_parts, callgrind_sums, collapsed_sum,
    flamegraph_root, needs, number, on_jdks, pprof_sums, stdout_of, subject_jar, tyrion,
};
use serde_json::Value;
use std::collections::BTreeMap;

on_jdks!(with_trace: one);
on_jdks!(alone: newest);

const CLIENTS: usize = 8;

fn with_trace(jdk: &Jdk) {
    let Some(recording) = record(jdk, "trace+sample") else { return };
    let info = recording.info();
    assert!(number(&info["trace"]["taken"], "acquisitions") > 10_000, "{info}");
    assert!(number(&info["totals"], "contentions") > 0, "{info}");
    check(&recording);
}

fn alone(jdk: &Jdk) {
    let Some(recording) = record(jdk, "sample") else { return };
    assert_eq!(recording.waits().len(), 0, "waits though nobody asked for them");
    check(&recording);
}

fn record(jdk: &Jdk, mode: &str) -> Option<Recording> {
    let jar = subject_jar("hsqldb.jar")?;
    if !needs(&["go"]) {
        return None;
    }
    let bank = format!("tyrion.subjects.JdbcBank jdbc:hsqldb:mem:bank {CLIENTS} 1.5 0.5");
    let program = Program::class(jdk, &bank).jar(&jar);
    let program = program.option(&format!("--mode={mode}")).option("--period=10ms");
    let recording = program.record();
    assert_eq!(recording.said["balanced"], true, "{}", recording.said);
    Some(recording)
}

/// The sums of what was sampled.
#[derive(Debug, Default, PartialEq, Eq)]
struct SampledTotals {
    wall_ns: u64,
    cpu_ns: u64,
    snapshots: u64,
}

fn check(recording: &Recording) {
    let samples = samples(&recording.log);
    let sum = |key: &str| samples.iter().map(|sample| number(sample, key)).sum();
    let totals =
        SampledTotals { wall_ns: sum("wall_ns"), cpu_ns: sum("cpu_ns"), snapshots: sum("count") };
    assert!(totals.snapshots > 100 && totals.cpu_ns > 0, "{totals:?}");
    // As read, blocked are more than those whom the JVM calls so.
    let blocked_ns = collapsed_sum(&convert(recording, "collapsed", "blocked"));
    assert!((1..totals.wall_ns).contains(&blocked_ns), "{blocked_ns} of {totals:?}");
    check_info(recording, &totals, blocked_ns);
    check_outputs(recording, &totals, blocked_ns);
    check_tree(recording, &totals);
}

fn convert(recording: &Recording, format: &str, metric: &str) -> String {
    let mut convert = tyrion();
    convert.args(["convert", "--to", format, "--metric", metric, "--state", "all", "-o", "-"]);
    stdout_of(convert.arg(&recording.log))
}

fn check_info(recording: &Recording, totals: &SampledTotals, blocked_ns: u64) {
    let info = recording.info();
    let sampled = &info["sampling"];
    let got = SampledTotals {
        wall_ns: number(sampled, "wall_ns"),
        cpu_ns: number(sampled, "cpu_ns"),
        snapshots: number(sampled, "samples"),
    };
    assert_eq!(got, *totals, "info");
    assert_eq!(number(&sampled["shown_as"]["blocked"], "wall_ns"), blocked_ns, "{sampled}");
}

fn check_outputs(recording: &Recording, totals: &SampledTotals, blocked_ns: u64) {
    let folder = tempfile::tempdir().unwrap();
    let all = ["convert", "--to", "all", "--state", "all", "-o"];
    stdout_of(tyrion().args(all).arg(folder.path()).arg(&recording.log));

    let mut parts: BTreeMap<String, u64> = BTreeMap::new();
    for part in callgrind_parts(&folder.path().join("out.callgrind")) {
        for (event, sum) in callgrind_sums(&part) {
            *parts.entry(event).or_default() += sum;
        }
    }
    let wall_cpu = [("wall", totals.wall_ns), ("cpu", totals.cpu_ns)];
    for (event, expected) in
        [("Wall_ns", totals.wall_ns), ("Cpu_ns", totals.cpu_ns), ("Blocked_ns", blocked_ns)]
    {
        assert_eq!(parts.get(event), Some(&expected), "callgrind: {event}");
    }
    let sums = pprof_sums(&folder.path().join("locks.pb.gz"));
    for (sample, expected) in wall_cpu {
        let sum = sums.get(&format!("{sample}/nanoseconds"));
        assert_eq!(sum, Some(&expected), "pprof: {sample}: {sums:?}");
    }
    for (metric, expected) in wall_cpu.into_iter().chain([("blocked", blocked_ns)]) {
        assert_eq!(collapsed_sum(&convert(recording, "collapsed", metric)), expected, "{metric}");
        let svg = folder.path().join("metric.svg");
        std::fs::write(&svg, convert(recording, "flamegraph", metric)).unwrap();
        assert_eq!(flamegraph_root(&svg), expected, "flame graph: {metric}");
    }
    let mut by_state = tyrion();
    by_state.args(["convert", "--to", "collapsed", "--by", "state", "--state", "all", "-o", "-"]);
    let by_state = stdout_of(by_state.args(["--metric", "wall"]).arg(&recording.log));
    assert_eq!(collapsed_sum(&by_state), totals.wall_ns, "by state");
}

/// Whole stacks, and stacks cut down.
fn check_tree(recording: &Recording, totals: &SampledTotals) {
    for packages in [&[][..], &["--packages=org.hsqldb,tyrion.subjects"][..]] {
        let options = ["--section=tree", "--state=all"];
        let options = [&options[..], packages].concat();
        let report = Report::with(&[&recording.log], &options);
        let tree = report.section("tree");
        assert_eq!(number(tree, "wall_ns"), totals.wall_ns, "{packages:?}");
        assert_eq!(number(tree, "cpu_ns"), totals.cpu_ns, "{packages:?}");
        let groups = tree["intervals"][0]["groups"].as_array().unwrap();
        let roots = |group: &Value| -> u64 {
            let nodes = group["nodes"].as_array().unwrap().iter();
            nodes.filter(|node| node["depth"] == 0).map(|node| number(node, "cumulative_ns")).sum()
        };
        for group in groups {
            assert_eq!(roots(group), number(group, "wall_ns"), "{packages:?}: {group}");
        }
        let all: u64 = groups.iter().map(|group| number(group, "wall_ns")).sum();
        assert_eq!(all, totals.wall_ns, "{packages:?}");
        assert!(groups.iter().any(|group| number(group, "thread_count") == CLIENTS as u64));
    }
}
