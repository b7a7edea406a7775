//! Figures agree, whoever tells them, and however many workers made them; and
//! bytes are hostile.

use crate::support::{
    Jdk, Program, Report, Sum, err, list, number, on_jdks, out, output, sample_log, stdout_of,
    tyrion,
};
use std::path::Path;

on_jdks!(cut_logs: newest);

/// A log's totals, told by `report`, `info` and a pprof profile; and the same
/// bytes for any number of workers.
pub fn check(log: &Path) {
    let report = Report::of(log);
    let totals = &crate::support::info(log)["totals"];
    let expected = Sum { wait_ns: number(totals, "wait_ns"), count: number(totals, "contentions") };
    let told = |section: &str, count: &str| {
        let section = report.section(section);
        let from = if section["totals"].is_object() { &section["totals"] } else { section };
        Sum { wait_ns: number(from, "wait_ns"), count: number(from, count) }
    };
    assert_eq!(told("overview", "contended"), expected);
    assert_eq!(told("contended", "contended"), expected);
    let kinds = list(report.section("overview"), "kinds").iter();
    let of_kind = |key: &str| kinds.clone().map(|kind| number(kind, key)).sum::<u64>();
    assert_eq!((of_kind("wait_ns"), of_kind("count")), (expected.wait_ns, expected.count));
    let locks = list(report.section("contended"), "locks").iter();
    assert_eq!(locks.map(|lock| number(lock, "wait_ns")).sum::<u64>(), expected.wait_ns);
    assert_eq!(number(report.section("blockers"), "wait_ns"), expected.wait_ns);
    check_pprof(log, expected);
    check_jobs(log);
}

fn check_pprof(log: &Path, expected: Sum) {
    let folder = tempfile::tempdir().unwrap();
    let pprof = folder.path().join("locks.pb.gz");
    stdout_of(tyrion().args(["convert", "--to", "pprof", "-o"]).arg(&pprof).arg(log));
    if crate::support::needs(&["go"]) {
        let sums = crate::support::pprof_sums(&pprof);
        assert_eq!(sums["delay/nanoseconds"], expected.wait_ns, "{sums:?}");
        assert_eq!(sums["contentions/count"], expected.count, "{sums:?}");
    }
}

fn check_jobs(log: &Path) {
    let with = |jobs: &str, format: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report");
        let mut command = tyrion();
        command.args(["report", "--jobs", jobs, "-o"]).arg(&file).args(format).arg(log);
        stdout_of(&mut command);
        std::fs::read(&file).unwrap()
    };
    for format in [&["--json"][..], &["--html"], &[]] {
        assert!(with("1", format) == with("4", format), "{format:?}");
    }
}

/// Of a log of trace mode, with nestings, holds and blame, cut anywhere: what
/// stands before the cut is used, and nothing panics.
fn cut_logs(jdk: &Jdk) {
    let program = Program::truth(jdk, "nesting").traced().option("--events=all");
    let whole = std::fs::read(program.option("--hold=all").record().log).unwrap();
    check_prefixes(&whole, 40);
}

#[test]
fn a_cut_sample() {
    check_prefixes(&std::fs::read(sample_log()).unwrap(), 20);
}

fn check_prefixes(whole: &[u8], times: usize) {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.log");
    for at in (0..whole.len()).step_by(whole.len() / times) {
        std::fs::write(&cut, &whole[..at]).unwrap();
        for format in ["--json", "--html", "--section=contended,lock-order,near-misses"] {
            let mut command = tyrion();
            let output = output(command.args(["report", "-o", "-", format]).arg(&cut));
            let (status, stderr) = (output.status.code(), err(&output));
            // Without a header there is no log; behind it, there is something.
            assert!(matches!(status, Some(1 | 3)), "{at:#x} {format}: {}\n{stderr}", output.status);
            assert!(stderr.contains("cut.log: offset 0x"), "{at:#x} {format}: {stderr}");
            assert!(!stderr.contains("panicked"), "{at:#x} {format}: {stderr}");
            assert_eq!(out(&output).is_empty(), status == Some(1), "{at:#x} {format}");
        }
    }
}

/// Contention mode answers what it can, and each section says what it lacks.
#[test]
fn what_a_log_without_trace_lacks() {
    let report = Report::of(&sample_log());
    let lacking = |name: &str| report.section(name)["lacking"].as_str().unwrap().to_owned();
    for name in ["contended", "blockers", "single-thread", "critical-sections", "lock-order"] {
        assert!(lacking(name).contains("--mode trace"), "{name}: {:?}", lacking(name));
    }
    assert!(lacking("near-misses").contains("--events all"), "{:?}", lacking("near-misses"));
    for name in ["delays", "timeline"] {
        assert_eq!(lacking(name), "", "{name}");
    }
}

/// `--top` cuts lists but no totals.
#[test]
fn rows_are_cut() {
    let log = sample_log();
    let (all, first) = (Report::of(&log), Report::with(&[&log], &["--top=1"]));
    let (all, first) = (all.section("contended"), first.section("contended"));
    assert_eq!(all["totals"], first["totals"]);
    assert_eq!(list(first, "locks").len(), 1);
    assert_eq!(list(first, "locks")[0]["lock"], list(all, "locks")[0]["lock"]);
    assert_eq!(number(first, "left_out"), list(all, "locks").len() as u64 - 1);
}
