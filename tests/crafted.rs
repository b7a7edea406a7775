//! Logs that somebody made to have their readers take all memory: a few bytes
//! each for stacks whose frames have names of kilobytes.

use crate::support::{err, finish, text, tyrion_within};
use std::{
    fs::File,
    path::Path,
    process::{Output, Stdio},
};
use tempfile::TempDir;
use tyrion_formats::{
    wire::{
        WaitKind,
        def::id,
        sample::{Sample, ThreadState},
        slot::Pending,
        trace::{Held, Instance, Nest},
    },
    write::{LogOptions, LogWriter, Wait},
};

/// Far more than is needed, far less than what such a log asks for in words: that
/// is 1 GiB with deep stacks, 400 MiB with long names.
const MEMORY: [u64; 2] = [512 << 20, 256 << 20];
/// How deep the stacks are.
const FRAMES: u32 = 2400;
/// Every so many frames of the inner half there are a wait and a sample.
const STEP: u32 = 48;

/// A name as long as names can be.
fn long(start: &str) -> String {
    start.to_owned() + &"x".repeat(4096 - start.len())
}

fn writer(path: &Path, mode: &str) -> LogWriter<File> {
    let mut options = LogOptions::default();
    options.header.metadata = vec![("mode".to_owned(), mode.to_owned())];
    LogWriter::new(File::create(path).unwrap(), options).unwrap()
}

/// Deep stacks at which threads wait, still wait, and were sampled.
fn write_deep(path: &Path) {
    let mut log = writer(path, "contention+sample");
    let class = log.class(&long("com/acme/C"), &long("C.java")).unwrap();
    let method = log.method(class, &long("run"), "()V", 1).unwrap();
    let (lock, name) = (log.lock(class).unwrap(), long("thread"));
    let thread = log.thread(1, &name, &name, 0).unwrap();
    let lane = log.lane(thread);
    let mut stack = id::EMPTY_STACK;
    for line in 1..=FRAMES {
        stack = log.stack(stack, method, line).unwrap();
        if line < FRAMES / 2 || line % STEP != 0 {
            continue;
        }
        let at_ns = u64::from(line) * 1000;
        let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
        log.wait(lane, Wait { end_ns: at_ns, wait_ns: 500, site, ..Wait::default() }).unwrap();
        let state = ThreadState::Running as u32;
        let sample = Sample { wall_ns: 500, count: 1, stack, state, ..Sample::default() };
        log.note(lane, at_ns, sample).unwrap();
    }
    let kind = WaitKind::Monitor;
    for start_ns in 1..=20 {
        log.pending(&Pending {
            thread,
            kind,
            stack,
            lock,
            owner: 0,
            start_ns,
            seen_ns: 0,
            flags: 0,
        })
        .unwrap();
    }
    log.finish().unwrap();
}

/// Many places with long names, and many of them held at once.
fn write_nested(path: &Path) {
    let mut log = writer(path, "trace");
    let class = log.class(&long("com/acme/C"), &long("C.java")).unwrap();
    let method = log.method(class, &long("run"), "()V", 1).unwrap();
    let main = log.thread(1, "main", "main", 0).unwrap();
    let (lane, name) = (log.lane(main), long("Cache.lock"));
    let held: Vec<Held> = (1..=9000)
        .map(|line| {
            let place = log.place(method, line, WaitKind::Monitor, 0, &name).unwrap();
            let instance = Instance { hash: line, class, place, shared: false };
            log.note(lane, 0, instance).unwrap();
            Held { place, class, hash: line }
        })
        .collect();
    for (at_ns, outer) in held.chunks(3000).enumerate() {
        let nest = Nest { delta_ns: 0, inner: held[0], stack: 0, outer: outer.into(), flags: 0 };
        log.note(lane, at_ns as u64, nest).unwrap();
    }
    log.finish().unwrap();
}

fn written(write: fn(&Path)) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("crafted.log");
    write(&log);
    let len = log.metadata().unwrap().len();
    assert!(len < 600_000, "{len} bytes: a small log makes the point");
    folder
}

/// Runs a command on the log; nobody wants to see gigabytes of what it prints.
fn run(folder: &TempDir, memory: u64, command: &[&str]) -> Output {
    let mut tyrion = tyrion_within(memory);
    tyrion.args(command).arg(text(&folder.path().join("crafted.log")));
    tyrion.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    finish(tyrion.spawn().unwrap())
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn deep_stacks_take_no_memory() {
    let folder = written(write_deep);
    for command in [
        &["dump"][..],
        &["dump", "--json"],
        &["info", "--jobs", "2"],
        &["info", "--jobs", "2", "--json"],
        &["report", "--jobs", "2"],
        &["report", "--jobs", "2", "--json"],
        &["report", "--jobs", "2", "--html", "-o", "-"],
        &["convert", "--jobs", "2", "--to", "flamegraph", "-o", "-"],
        &["convert", "--jobs", "2", "--to", "pprof", "-o", "-"],
        &["convert", "--jobs", "2", "--to", "collapsed", "-o", "-"],
        &["top", "--once"],
    ] {
        let output = run(&folder, MEMORY[0], command);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{command:?}: {} {}",
            output.status,
            err(&output)
        );
    }
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn long_names_are_not_kept() {
    let folder = written(write_nested);
    for command in [&["dump"][..], &["dump", "--json"], &["info", "--jobs", "2"]] {
        let output = run(&folder, MEMORY[1], command);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{command:?}: {} {}",
            output.status,
            err(&output)
        );
    }
}
