//! Critical section pressure by phase, of a program that is quiet first and
//! contended then, and tells when each of its threads waited.

use crate::support::{Jdk, Program, Recording, Report, list, number, on_jdks, share};
use serde_json::Value;
use std::ops::Range;

on_jdks!(pressure: everywhere two);

/// The figures of both are taken at the same moments but for some µs; threads
/// of the JVM's own live, and are not idle, for some ms.
const OFF: f64 = 0.03;
const PHASE_NS: u64 = 200_000_000;

fn pressure(jdk: &Jdk) {
    let recording = Program::truth(jdk, "phases").alone().record();
    let report = Report::with(&[&recording.log], &["--phase=200ms", "--top=1"]);
    let overview = report.section("overview");
    let start_ns = number(overview, "start_wall_ns");
    assert_eq!(number(overview, "phase_ns"), PHASE_NS);
    let phases = list(overview, "phases");
    assert_eq!(phases.len() as u64, number(overview, "duration_ns").div_ceil(PHASE_NS));
    let within = |from: &str, to: &str, span: &Range<u64>| {
        recording.number(from) <= span.start && span.end <= recording.number(to)
    };
    let (mut quiet, mut contended) = (0, 0);
    for phase in phases {
        let begin = start_ns + number(phase, "start_ns");
        let span = begin..begin + number(phase, "duration_ns");
        if within("quiet_wall_ns", "contended_wall_ns", &span) {
            quiet += 1;
            assert!(share(phase, "pressure_share") < OFF, "{phase}");
        } else if within("contended_wall_ns", "over_wall_ns", &span) {
            contended += 1;
            check_contended(&recording, phase, &span);
        }
    }
    assert!(quiet >= 2 && contended >= 2, "{quiet}, {contended}: {}", recording.said);
    check_whole(&recording, overview);
}

/// How long threads waited in a span, by their own account.
fn waited_ns(recording: &Recording, span: &Range<u64>) -> u64 {
    let times = list(&recording.said, "waits").iter().flat_map(|thread| list(thread, "waits"));
    let times: Vec<u64> = times.map(|time| time.as_u64().unwrap()).collect();
    let overlap = |wait: &[u64]| {
        let (from, to) = (wait[0].max(span.start), (wait[0] + wait[1]).min(span.end));
        to.saturating_sub(from)
    };
    times.chunks_exact(2).map(overlap).sum()
}

fn check_contended(recording: &Recording, phase: &Value, span: &Range<u64>) {
    let waited_ns = waited_ns(recording, span);
    let busy = list(&recording.said, "busy").len() as u64;
    let expected = waited_ns as f64 / (busy * (span.end - span.start)) as f64;
    let got = share(phase, "pressure_share");
    eprintln!("pressure {got:.4}, expected {expected:.4}");
    assert!((got - expected).abs() < OFF, "{got}, expected {expected}: {phase}");
    assert!(got > 0.5, "most threads wait: {phase}");
}

fn check_whole(recording: &Recording, overview: &Value) {
    let sum = |key: &str| list(overview, "phases").iter().map(|it| number(it, key)).sum::<u64>();
    let threads = &overview["threads"];
    assert_eq!(number(threads, "idle_ns"), sum("idle_ns"));
    assert_eq!(number(threads, "lived_ns"), sum("thread_ns"));
    let pressure = sum("contended_ns") as f64 / (sum("thread_ns") - sum("idle_ns")) as f64;
    assert!((share(overview, "pressure_share") - pressure).abs() < 1e-9, "{overview}");
    let waited_ns = waited_ns(recording, &(0..u64::MAX)) as f64;
    let off = sum("contended_ns") as f64 / waited_ns - 1.0;
    assert!(off.abs() < OFF, "{off}");
    let worst = &list(overview, "phases")[number(overview, "worst_phase") as usize];
    let highest = list(overview, "phases").iter().filter_map(|it| it["pressure_share"].as_f64());
    assert_eq!(share(worst, "pressure_share"), highest.fold(0.0, f64::max));
}
