//! Sampling and the program: what is in the log when it is killed, and that it
//! does what it does without.

use super::outputs::{sampled_ns, samples};
use crate::support::{Jdk, Program, beside_others, err, info, ms, on_jdks, out, output, text};
use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

on_jdks!(killed: one);
on_jdks!(crowd: edges, everywhere all);
on_jdks!(no_class_is_changed: one);
on_jdks!(threads_left_out: one);
on_jdks!(many_threads: newest, everywhere three);

/// What may be lost of a JVM that is killed.
const LOST_NS: u64 = ms(1000);

const EIGHT: [&str; 8] = [
    "worker-1",
    "worker-2",
    "worker-3",
    "worker-4",
    "keeper-1",
    "reader-1",
    "selector-1",
    "pool-1-thread-1",
];

fn killed(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Shares 60 0");
    let mut running = program.option("--mode=sample").option("--period=20ms").start();
    running.await_line("acting");
    let begin = Instant::now();
    let jvm = running.jvm();
    std::thread::sleep(Duration::from_millis(2000));
    let lived_ns = begin.elapsed().as_nanos() as u64;
    running.signal(jvm, "KILL");
    let killed_ns = begin.elapsed().as_nanos() as u64;
    assert!(!running.finish().status.success());

    let info = info(&running.log);
    assert_eq!(info["complete"], false);
    assert_eq!(info["damage"].as_array().unwrap().len(), 0);
    let samples = samples(&running.log);
    for thread in EIGHT {
        let sampled_ns = sampled_ns(&samples, thread);
        eprintln!("{thread}: {sampled_ns} of {lived_ns} to {killed_ns}");
        // The line was some time on its way to us; threads may sit on a busy
        // machine for some periods.
        assert!(sampled_ns + LOST_NS + ms(200) >= lived_ns, "{thread}: {sampled_ns} of {lived_ns}");
        assert!(sampled_ns <= killed_ns + ms(1000), "{thread}: {sampled_ns} of {killed_ns}");
    }
}

/// Threads that come and go while they are looked at, as often as can be.
fn crowd(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Crowd 3000");
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("crowd.log");
    let line = program.command_line();
    let sampled = program.option("--mode=sample").option("--period=1ms");
    let (plain, recorded) = {
        let _turn = beside_others();
        let plain = output(Command::new(&line[0]).args(&line[1..]));
        (plain, output(&mut sampled.record_command(&log)))
    };
    assert_eq!(recorded.status.code(), Some(7), "{}", err(&recorded));
    assert_eq!(plain.status.code(), Some(7));
    assert_eq!(out(&recorded), out(&plain));
    assert_eq!(err(&recorded), err(&plain));
    let info = info(&log);
    assert_eq!(info["complete"], true);
    assert_eq!(info["damage"].as_array().unwrap().len(), 0);
    let samples = samples(&log);
    let of_members = |sample: &&serde_json::Value| {
        let thread = sample["thread"].as_str().unwrap();
        thread.starts_with("member-") || thread.starts_with("renamed-")
    };
    let members: BTreeSet<u64> =
        samples.iter().filter(of_members).map(|it| it["thread_id"].as_u64().unwrap()).collect();
    assert!(members.len() > 100, "{} of 3000 were seen", members.len());
    // Each was there for some milliseconds.
    let longest = samples.iter().filter(of_members).map(|it| it["wall_ns"].as_u64().unwrap()).max();
    assert!(longest < Some(ms(2000)), "{longest:?}");
}

/// The lines that HotSpot writes when an agent changes a class.
fn changes(jdk: &Jdk, mode: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let changes = folder.path().join("changes");
    let flag = format!("-Xlog:redefine+class*=info:file={}", text(&changes));
    let program = Program::class(jdk, "tyrion.sampling.Shares 0.5 0").flag(flag);
    let recording = program.option(&format!("--mode={mode}")).record();
    assert!(sampled_ns(&samples(&recording.log), "keeper-1") > 0 || mode == "contention");
    lines(&changes)
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count()
}

fn no_class_is_changed(jdk: &Jdk) {
    assert_eq!(changes(jdk, "sample"), 0);
    assert!(changes(jdk, "contention") > 0, "this would not be seen");
}

fn threads_left_out(jdk: &Jdk) {
    let names = |option: &str| -> BTreeSet<String> {
        let program = Program::class(jdk, "tyrion.sampling.Shares 0.5 0").option("--mode=sample");
        let recording = program.option("--period=10ms").option(option).record();
        let samples = samples(&recording.log);
        samples.iter().map(|sample| sample["thread"].as_str().unwrap().to_owned()).collect()
    };
    let workers = EIGHT.into_iter().filter(|name| name.starts_with("worker-"));
    assert_eq!(names("--threads=^worker-[0-9]$"), workers.map(str::to_owned).collect());
    let own = names("--skip-daemon");
    assert!(EIGHT.iter().all(|name| own.contains(*name)), "{own:?}");
    let daemons = ["Reference Handler", "Finalizer", "Signal Dispatcher", "Common-Cleaner"];
    assert!(!daemons.iter().any(|name| own.contains(*name)), "{own:?}");
    let all = names("--skip-daemon=false");
    assert!(daemons.iter().any(|name| all.contains(*name)), "{all:?}");
    assert!(!all.iter().any(|name| name == "tyrion"), "{all:?}");
}

/// However many threads there are, looks at them take no more than a fifth of one
/// CPU, and what they find is right.
fn many_threads(jdk: &Jdk) {
    let program = Program::class(jdk, "tyrion.sampling.Sleepers 2000 4000").alone();
    let recording = program.option("--mode=sample").option("--period=1ms").record();
    let sampling = &recording.info()["sampling"];
    let number = |key: &str| sampling[key].as_u64().unwrap();
    let slept_ns = recording.number("slept_ns");
    // What others do on the machine meanwhile counts, too.
    let recorded_ns = recording.info()["duration_ns"].as_u64().unwrap();
    assert!(number("own_cost_ns") < recorded_ns / 4, "{} of {recorded_ns}", number("own_cost_ns"));
    assert!(number("snapshots_put_off") > 20, "{sampling}");
    let samples = samples(&recording.log);
    let each_ns = sampled_ns(&samples, "sleeper") / recording.number("threads");
    assert!(each_ns + ms(200) > slept_ns, "{each_ns} of {slept_ns}");
}
