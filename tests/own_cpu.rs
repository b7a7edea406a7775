//! What Tyrion says that it takes of the program's CPU time: the process's is compared
//! with what the kernel says, and all commands say the same.

use crate::{
    attaching::unrecorded,
    support::{
        Jdk, Program, Report, RunningCommand, err, info, number, on_jdks, out, run, share,
        stdout_of, text, text_of, tyrion, wait_for,
    },
};
use serde_json::Value;
use std::path::{Path, PathBuf};

on_jdks!(attached_and_paused: everywhere two);
on_jdks!(over_many_files: one);
on_jdks!(probes_count_in_trace_mode_alone: one, everywhere two);
on_jdks!(few_probes_are_timed: one, everywhere two);

/// The kernel counts in steps of 10 ms, and two of its sums may be a step apart.
const STEPS_NS: u64 = 30_000_000;
/// So many waits, each with two callbacks or more, that some of them were measured: of
/// one in 64, none of 4 000 would be chosen once in 10²⁷.
const MANY: u64 = 2_000;

/// The CPU time of a process so far, as the kernel has it.
fn cpu_ns(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, behind_name) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = behind_name.split(' ').collect();
    // User and system time, in ticks of the interface with programs.
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    ticks * 10_000_000
}

fn await_cpu(pid: u32, ns: u64) {
    let until_ns = cpu_ns(pid) + ns;
    wait_for("CPU time", || (cpu_ns(pid) >= until_ns).then_some(()));
}

fn await_waits(log: &Path, count: u64) {
    let waits = || info(log).pointer("/totals/contentions").and_then(Value::as_u64);
    wait_for("waits", || (log.exists() && waits()? >= count).then_some(()));
}

fn ask(command: &str, running: &RunningCommand, more: &[&str]) -> Value {
    let pid = running.id().to_string();
    let said = stdout_of(tyrion().args([command, "--json"]).args(more).arg(&pid));
    serde_json::from_str(&said).unwrap()
}

/// The parts make the whole.
#[track_caller]
fn checked(own: &Value) -> &Value {
    assert!(own.is_object(), "{own}");
    let parts = ["callbacks_ns", "threads_ns"].map(|part| number(own, part));
    let probes = own["probes_ns"].as_u64().unwrap_or(0);
    assert_eq!(number(own, "own_ns"), parts.iter().sum::<u64>() + probes, "{own}");
    let expected = number(own, "own_ns") as f64 / number(own, "process_ns") as f64;
    assert!((share(own, "share") - expected).abs() < 1e-12, "{own}");
    assert!(expected > 0.0 && expected < 1.0, "{own}");
    own
}

fn of_report(logs: &[&Path]) -> Value {
    let report = Report::with(logs, &["--section=overview"]);
    report.section("overview")["cost"]["own_cpu"].clone()
}

/// All commands say the same of a log that does not grow.
fn check_agreement(log: &Path) -> Value {
    let own = info(log)["own_cpu"].clone();
    checked(&own);
    assert_eq!(of_report(&[log]), own);
    let top = stdout_of(tyrion().args(["top", "--once", "--json"]).arg(log));
    assert_eq!(serde_json::from_str::<Value>(&top).unwrap()["own_cpu"], own);
    let line = format!(" % of the program's {} of CPU time, estimated (callbacks ", cpu_text(&own));
    let commands: [&[&str]; 3] = [&["info"], &["report", "--section=overview"], &["top", "--once"]];
    for command in commands {
        let said = stdout_of(tyrion().args(command).arg(log));
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&line), "{command:?}: no {line:?} in {said}");
    }
    let page =
        stdout_of(tyrion().args(["report", "--html", "-o", "-", "--section=overview"]).arg(log));
    assert!(page.contains(" of CPU time, estimated (callbacks "), "{page}");
    own
}

fn cpu_text(own: &Value) -> String {
    tyrion_model::units::duration(number(own, "process_ns"))
}

fn attached_and_paused(jdk: &Jdk) {
    let running = unrecorded(jdk);
    let pid = running.id();
    let before_ns = cpu_ns(pid);
    ask("attach", &running, &["-o", text(&running.log), "--threshold=0"]);
    let recorded_from_ns = cpu_ns(pid);
    await_waits(&running.log, MANY);
    await_cpu(pid, 1_000_000_000);
    let recorded_to_ns = cpu_ns(pid);
    assert_eq!(ask("stop", &running, &[])["state"], "paused");
    let after_ns = cpu_ns(pid);

    let own = check_agreement(&running.log);
    assert_eq!(ask("status", &running, &[])["own_cpu"], own);
    let process_ns = number(&own, "process_ns");
    let least_ns = recorded_to_ns - recorded_from_ns;
    let most_ns = after_ns - before_ns;
    assert!(
        process_ns + STEPS_NS >= least_ns && process_ns <= most_ns + STEPS_NS,
        "{process_ns}, not {least_ns} to {most_ns}"
    );
    assert!(number(&own, "callbacks_ns") > 0 && number(&own, "threads_ns") > 0, "{own}");
    assert_eq!(own["probes_ns"], Value::Null, "there are none");
    let said = out(&run(["status", &pid.to_string()]));
    assert!(said.contains("tyrion itself ") && !said.contains("cpu_"), "{said}");

    // What passes in a pause does not count.
    await_cpu(pid, 500_000_000);
    assert_eq!(ask("status", &running, &[])["own_cpu"], own);
    let from_ns = cpu_ns(pid);
    ask("attach", &running, &[]);
    await_cpu(pid, 300_000_000);
    ask("stop", &running, &[]);
    let most_ns = cpu_ns(pid) - from_ns;
    let again = check_agreement(&running.log);
    let more_ns = number(&again, "process_ns") - process_ns;
    assert!(more_ns <= most_ns + STEPS_NS, "{more_ns} of {most_ns}");
    assert!(number(&again, "own_ns") >= number(&own, "own_ns"), "{own} {again}");
}

/// The files of a rotating log.
fn files_of(log: &Path) -> Vec<PathBuf> {
    let name = log.file_name().unwrap().to_str().unwrap();
    let files = std::fs::read_dir(log.parent().unwrap()).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(name)).collect()
}

fn over_many_files(jdk: &Jdk) {
    let told = tempfile::tempdir().unwrap();
    let until = told.path().join("until");
    let program =
        Program::truth(jdk, "storm 600 lock").flag(format!("-Dtruth.until={}", text(&until)));
    let mut running = program.option("--threshold=0").option("--filesize=64k").start();
    wait_for("three files", || (files_of(&running.log).len() > 2).then_some(()));
    std::fs::write(&until, "").unwrap();
    let output = running.finish();
    assert!(output.status.success(), "{}", err(&output));
    let said: Value = serde_json::from_str(out(&output).lines().last().unwrap()).unwrap();
    let storm_ns = number(&said, "process_cpu_ns");
    let mut files = files_of(&running.log);
    let number_of = |path: &Path| {
        let number = info(path)["metadata"].clone();
        text_of(&number, "file-number").parse::<u64>().unwrap()
    };
    files.sort_by_key(|path| number_of(path));
    let told: Vec<Value> = files.iter().map(|path| info(path)["own_cpu"].clone()).collect();
    for pair in told.windows(2) {
        for key in ["process_ns", "threads_ns"] {
            assert!(number(&pair[0], key) <= number(&pair[1], key), "{key}: {told:?}");
        }
    }
    // The last one's are those of the whole recording, whichever files are left.
    let last = checked(told.last().unwrap());
    assert!(number(last, "process_ns") + STEPS_NS >= storm_ns, "{last}: less than {storm_ns}");
    let paths: Vec<&Path> = files.iter().map(|path| &**path).collect();
    assert_eq!(of_report(&paths), *last);
    assert_eq!(of_report(&paths[paths.len() - 1..]), *last);
}

fn probes_count_in_trace_mode_alone(jdk: &Jdk) {
    let counts = "counts 4 2000 block lock";
    let traced = Program::truth(jdk, counts).traced().record();
    let own = check_agreement(&traced.log);
    assert!(number(&own, "probes_ns") > 0, "{own}");
    // Its locks are free, and to record nothing takes next to nothing.
    let plain = Program::truth(jdk, "storm 1 monitor").record();
    assert_eq!(check_agreement(&plain.log)["probes_ns"], Value::Null);
}

/// All holds of the outer lock are measured; what is taken within them is not.
fn few_probes_are_timed(jdk: &Jdk) {
    let recording = Program::class(jdk, "tyrion.truth.Around 2000 500").traced().record();
    let inner = recording.number("inner");
    assert_eq!(inner, 1_000_000);
    let timed = number(&recording.info()["trace"]["statistics"], "probes.timed");
    assert!((1..inner / 50).contains(&timed), "{timed} of {inner}");
}
