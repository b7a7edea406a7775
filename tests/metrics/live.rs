//! Programs that run: what is served is what the log then has, to the nanosecond.

use super::served::{MetricsServer, OPEN, samples, sum};
use crate::support::{
    Jdk, Program, err, info, number, on_jdks, output, run, sample_log, text, tyrion, wait_for,
};
use serde_json::Value;
use std::{collections::BTreeMap, io::Read, path::Path, process::Command};

on_jdks!(a_storm: newest, everywhere two);
on_jdks!(threads_that_wait: one);
on_jdks!(in_trace_mode: one);

const COUNTERS: [&str; 4] = [
    "tyrion_waits_total",
    "tyrion_wait_seconds_total",
    "tyrion_wait_duration_seconds_bucket",
    "tyrion_wait_duration_seconds_sum",
];

/// What is served of a log that has ended is what `info` says.
fn check_totals(served: &str, log: &Path) -> Value {
    let info = info(log);
    let totals = &info["totals"];
    assert_eq!(sum(served, "tyrion_waits_total", ""), number(totals, "contentions"));
    assert_eq!(sum(served, "tyrion_wait_seconds_total", ""), number(totals, "wait_ns"));
    for (kind, of_kind) in info["kinds"].as_object().unwrap() {
        if of_kind["contention"] == true {
            let label = format!("kind=\"{kind}\"");
            let (count, wait_ns) = (number(of_kind, "count"), number(of_kind, "wait_ns"));
            assert_eq!(sum(served, "tyrion_waits_total", &label), count, "{kind}");
            assert_eq!(sum(served, "tyrion_wait_seconds_total", &label), wait_ns, "{kind}");
        }
    }
    let histogram = |end: &str| sum(served, &format!("tyrion_wait_duration_seconds_{end}"), "");
    let all = sum(served, "tyrion_wait_duration_seconds_bucket", "le=\"+Inf\"");
    assert_eq!((histogram("count"), all), (number(totals, "contentions"), histogram("count")));
    assert_eq!(histogram("sum"), number(totals, "wait_ns"));
    let dropped = sum(served, "tyrion_dropped_waits_total", "contention=\"true\"");
    assert_eq!(dropped, number(totals, "dropped"));
    info
}

/// So many waits are enough to end a program.
const ENOUGH: u64 = 1_000;

/// Scrapes while a program runs and to its end. No counter ever shrinks. `seen` is called
/// when that was done twice and enough was seen.
fn follow(served: &MetricsServer, seen: impl Fn()) {
    let (mut scrapes, mut before) = (0, BTreeMap::<String, u64>::new());
    let mut is_told = false;
    wait_for("end", || {
        let text = served.scrape();
        for name in COUNTERS {
            for (labels, value) in samples(&text, name) {
                let earlier = before.insert(format!("{name}{labels}"), value).unwrap_or(0);
                assert!(value >= earlier, "{name}{labels}: {earlier}, then {value}");
            }
        }
        scrapes += 1;
        let waits: u64 = samples(&text, "tyrion_waits_total").values().sum();
        if !is_told && scrapes > 1 && waits > ENOUGH {
            is_told = true;
            seen();
        }
        let ended = "tyrion_recording_state{tyrion_recording_state=\"ended\"} 1";
        text.contains(ended).then_some(())
    });
}

/// By the process and by its log, with waits that are folded.
fn a_storm(jdk: &Jdk) {
    // It ends when it was looked at.
    let mut running = Program::truth(jdk, "storm 3600 monitor").pinned().start();
    let jvm = running.jvm();
    let pid = jvm.to_string();
    let by_pid = MetricsServer::new(&pid, &[]);
    let by_log = MetricsServer::new(text(&running.log), &[]);
    follow(&by_pid, || running.signal(jvm, "TERM"));
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(128 + 15), "{}", err(&ended));
    // A wait may still be written when the log is closed already.
    let last = by_pid.last();
    let info = check_totals(&last, &running.log);
    check_totals(&by_log.last(), &running.log);
    assert!(number(&info["totals"], "folded") != 0 || number(&info["totals"], "contentions") > 100);
    let storm = samples(&last, "tyrion_waits_total").into_keys();
    let storm = storm.filter(|labels| labels.contains("Storm$Target)\",kind=\"monitor\""));
    assert_eq!(storm.count(), 1, "{last}");
    assert!(!last.contains("tyrion_threads_waiting"), "nothing waits any more: {last}");
    let cpu = sum(&last, "tyrion_agent_cpu_seconds_total", "");
    assert_eq!(cpu, number(&info["own_cpu"], "own_ns"));
    for (served, signal) in [(by_pid, "-INT"), (by_log, "-TERM")] {
        let (said, status) = served.end(signal);
        assert!(status.success(), "{signal}: {status}");
        assert!(said.contains("the recording has ended; its last values are served"), "{said}");
    }
}

/// They wait until they have been seen.
fn threads_that_wait(jdk: &Jdk) {
    let mut running = Program::truth(jdk, "deadlock lock others").start();
    running.await_line("deadlocked");
    let pid = running.jvm().to_string();
    let served = MetricsServer::new(&pid, &[]);
    let waiting = wait_for("a thread that waits", || {
        let text = served.scrape();
        let waiting = samples(&text, "tyrion_threads_waiting").values().sum::<u64>();
        (waiting >= 2).then_some(text)
    });
    assert!(waiting.contains(&format!("pid=\"{pid}\"")), "{waiting}");
    assert!(waiting.contains("program=\"tyrion.truth.Truth\""), "{waiting}");
    running.kill_jvm();
}

/// All holds are measured, so that nothing is estimated.
fn in_trace_mode(jdk: &Jdk) {
    let program = Program::truth(jdk, "storm 3 lock").pinned().traced().option("--hold=all");
    let mut running = program.start();
    let pid = running.jvm().to_string();
    let served = MetricsServer::new(&pid, &[]);
    follow(&served, || ());
    assert!(running.finish().status.success());
    // A wait may still be written when the log is closed already.
    let last = served.last();
    let info = check_totals(&last, &running.log);
    let taken = &info["trace"]["taken"];
    assert_eq!(sum(&last, "tyrion_acquisitions_total", ""), number(taken, "acquisitions"));
    assert_eq!(sum(&last, "tyrion_hold_seconds_total", ""), number(taken, "hold_ns"));
    assert_eq!(taken["hold_is_exact"], true);
    // A lock is called the same before and after the log has told of all its places.
    let taken = samples(&last, "tyrion_acquisitions_total").into_keys();
    let slashed: Vec<&str> = taken.filter(|labels| labels.contains("java/")).collect();
    assert_eq!(slashed, [""; 0]);
}

#[test]
fn a_log_that_has_ended() {
    let log = sample_log();
    let served = MetricsServer::new(text(&log), &[]);
    let text = served.scrape();
    check_totals(&text, &log);
    let (said, status) = served.end("-TERM");
    assert!(status.success() && said.contains("the recording has ended"), "{said}");
    // Fewer series, the same sums.
    let few = MetricsServer::new(log.to_str().unwrap(), &["--max-locks=0"]).scrape();
    check_totals(&few, &log);
    assert_eq!(samples(&few, "tyrion_waits_total").len(), 5, "{few}");
    let all = MetricsServer::new(log.to_str().unwrap(), &["--kind=all"]).scrape();
    let kinds = info(&log)["kinds"].as_object().unwrap().clone();
    let count: u64 = kinds.values().map(|kind| number(kind, "count")).sum();
    assert_eq!(sum(&all, "tyrion_waits_total", ""), count);
}

#[test]
fn the_client_chooses_the_format() {
    let served = MetricsServer::new(text(&sample_log()), &[]);
    let open = served.ask("GET", "/metrics", &[&format!("Accept: {OPEN}")]);
    assert!(open.head.contains(
        "\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
    ));
    let plain = served.ask("GET", "/metrics", &[]);
    assert!(plain.head.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    let plain = String::from_utf8(plain.body).unwrap();
    assert!(plain.contains("# TYPE tyrion_waits_total counter\n") && !plain.contains("# EOF"));
    let head = served.ask("HEAD", "/metrics", &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.head.contains(&format!("\r\nContent-Length: {}\r\n", plain.len())));
    let packed = served.ask("GET", "/metrics", &["Accept-Encoding: gzip"]);
    assert!(packed.head.contains("\r\nContent-Encoding: gzip\r\n"), "{}", packed.head);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text.gz");
    std::fs::write(&file, &packed.body).unwrap();
    let unpacked = Command::new("gzip").arg("-dc").arg(&file).output().unwrap();
    assert_eq!(String::from_utf8(unpacked.stdout).unwrap(), plain);
}

#[test]
fn what_cannot_be_served_is_refused() {
    let log = sample_log();
    let served = MetricsServer::new(text(&log), &[]);
    let taken = format!("--listen=127.0.0.1:{}", served.port);
    let missing = log.with_file_name("missing.log");
    for (arguments, status, said) in [
        (&["metrics", text(&log), taken.as_str()][..], 1, "another program listens there"),
        (&["metrics", text(&log), "--listen=192.0.2.1:0"], 1, "no network of this machine"),
        (&["metrics", text(&log), "--listen=9464"], 2, "such as 127.0.0.1:9464"),
        (&["metrics", text(&log), "--max-locks=10001"], 2, "10001"),
        (&["metrics", text(&log), "--kind=withheld"], 2, "withheld"),
        (&["metrics", "-", "--listen=127.0.0.1:0"], 2, "stdin cannot be followed"),
        (&["metrics", text(&missing), "--listen=127.0.0.1:0"], 1, "missing.log"),
        (&["metrics", &std::process::id().to_string(), "--listen=127.0.0.1:0"], 1, "process"),
    ] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(status), "{arguments:?}: {}", err(&refused));
        assert!(err(&refused).contains(said), "{arguments:?}: {}", err(&refused));
    }
    let foreign = log.with_file_name("../jfr/jdk25.jfr.gz");
    let refused = output(tyrion().args(["metrics", "--listen=127.0.0.1:0"]).arg(foreign));
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("metrics only follows Tyrion's own logs"), "{}", err(&refused));
}

/// IPv6, where this machine has it; a warning where others can reach the port.
#[test]
fn other_addresses_are_for_those_who_ask_for_them() {
    for (listen, warns) in [("[::1]:0", false), ("0.0.0.0:0", true)] {
        if listen.starts_with('[') && std::net::TcpListener::bind(listen).is_err() {
            eprintln!("skipped: this machine has no IPv6");
            continue;
        }
        let mut command = tyrion();
        command.args(["metrics", text(&sample_log()), "--listen", listen, "--interval=50ms"]);
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let (mut said, mut some) = (String::new(), [0; 4096]);
        // The last of its lines.
        while !said.contains("its last values are served") {
            let read = stderr.read(&mut some).unwrap();
            assert_ne!(read, 0, "{said}");
            said += &String::from_utf8_lossy(&some[..read]);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(said.contains("warning: whoever reaches 0.0.0.0:"), warns, "{said}");
    }
}
