//! Time and memory of every output on a large profile.
//!
//!     cargo run --release -p tyrion-converters --example figures
//!
//! `TYRION_FIGURES=callgrind` takes one output only.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "an example fails by panicking")]

use std::{
    fs,
    io::{self, Write},
    time::Instant,
};
use tyrion_converters::outputs::{FORMATS, Format, OutputOptions, Stream};
use tyrion_model::profile::{
    Frame, Function, Lock, NO_OWNER, Profile, Run, Stack, Thread, WaitRow,
};
use tyrion_wire::WaitKind;

const THREADS: u32 = 64;
const STACKS: u32 = 20_000;

/// How many calls the stacks are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Calls {
    /// A few from each method, as in programs.
    Few,
    /// Any from any: hardly a call is in two stacks, which no program does.
    All,
}

/// 64 threads that each wait in 20 000 stacks of 20 to 60 frames.
fn large_profile(calls: Calls) -> Profile {
    let mut profile = Profile {
        runs: vec![Run {
            log: "report.log".to_owned(),
            pid: 4242,
            program: "com.acme.Main".to_owned(),
            duration_ns: 60_000_000_000,
            ..Run::default()
        }],
        stacks: vec![Stack::default()],
        ..Profile::default()
    };
    for id in 0..THREADS {
        let name = format!("http-nio-8080-exec-{id}");
        profile.threads.push(Thread { java_id: id.into(), name, ..Thread::default() });
    }
    for id in 0..3_000 {
        profile.functions.push(Function {
            class: format!("com.acme.service.module{}.ServiceClass{}", id % 40, id / 10),
            method: format!("processRequest{}", id % 10),
            descriptor: "(Ljava/lang/String;I)V".to_owned(),
            source: format!("com/acme/service/module{}/ServiceClass{}.java", id % 40, id / 10),
            first_line: id % 10 * 50,
        });
        for line in 0..4 {
            profile.frames.push(Frame { function: id, line: id % 10 * 50 + line });
        }
    }
    for id in 1..=500 {
        let class = format!("com.acme.Lock{}", id % 50);
        profile.locks.push(Lock { run: 0, id, class, ..Lock::default() });
    }
    let leaves = add_stacks(&mut profile, calls);
    for thread in 0..THREADS {
        for &stack in &leaves {
            profile.waits.push(WaitRow {
                thread,
                stack,
                lock: stack % 500,
                kind: WaitKind::Monitor,
                owner: NO_OWNER,
                count: 3,
                wait_ns: u64::from(stack % 1_000) * 1_000,
                max_ns: 1_000_000,
            });
        }
    }
    profile.check().unwrap();
    profile
}

/// Stacks that share some of their callers, like those of a server: returns the
/// leaves.
fn add_stacks(profile: &mut Profile, calls: Calls) -> Vec<u32> {
    let mut random = 1u64;
    let mut next = |below: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut trunk = vec![0u32];
    for frame in 0..20 {
        profile.stacks.push(Stack { parent: trunk[frame], frame: frame as u32 });
        trunk.push(profile.stacks.len() as u32 - 1);
    }
    let mut leaves = Vec::new();
    for _ in 0..STACKS {
        let mut parent = trunk[5 + next(15)];
        for _ in 0..15 + next(25) {
            let frame = match calls {
                Calls::All => next(profile.frames.len()) as u32,
                Calls::Few => {
                    let caller = profile.stacks[parent as usize].frame;
                    (caller * 7 + 5 * next(4) as u32 + 1) % profile.frames.len() as u32
                }
            };
            profile.stacks.push(Stack { parent, frame });
            parent = profile.stacks.len() as u32 - 1;
        }
        leaves.push(parent);
    }
    leaves
}

/// Counts bytes.
struct Sink(u64);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line of `/proc/self/status` in MB.
fn memory_mb(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// What this process has had of the processors, in ms.
fn cpu_ms() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    // Fields 14 and 15 are user and system time in units of 10 ms.
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10
}

fn figure(format: &Format, what: &str, profile: &Profile, options: &OutputOptions) {
    // What is made of a timeline needs a log.
    let Stream::Sums(stream) = format.stream else { return };
    let folder = tempfile::tempdir().unwrap();
    // Forgets the peak so far.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before_mb = memory_mb("VmRSS");
    let (start, start_cpu_ms) = (Instant::now(), cpu_ms());
    let bytes = match format.files {
        Some(files) if !options.merged => files(profile, options, &folder.path().join("out"))
            .unwrap()
            .iter()
            .map(|file| fs::metadata(file).unwrap().len())
            .sum(),
        _ => {
            let mut sink = Sink(0);
            stream(profile, options, &mut sink).unwrap();
            sink.0
        }
    };
    println!(
        "{:12} {what:16} {:5.2} s, {:5.2} s of CPU, {:4} MB written, {:4} MB more memory at the peak",
        format.name,
        start.elapsed().as_secs_f64(),
        (cpu_ms() - start_cpu_ms) as f64 / 1_000.0,
        bytes / 1_000_000,
        memory_mb("VmHWM").saturating_sub(before_mb)
    );
}

fn main() {
    let only = std::env::var("TYRION_FIGURES").unwrap_or_default();
    for calls in [Calls::Few, Calls::All] {
        let profile = large_profile(calls);
        let (waits, nodes) = (profile.waits.len(), profile.stacks.len());
        println!("{calls:?} calls: {waits} waits, {nodes} stack nodes, {} MB", memory_mb("VmRSS"));
        for format in FORMATS.iter().filter(|format| format.name.contains(&only)) {
            for (what, options) in variants(format.name) {
                figure(format, what, &profile, &options);
            }
        }
    }
}

fn variants(format: &str) -> [(&'static str, OutputOptions); 2] {
    let plain = OutputOptions::default;
    let other = match format {
        "callgrind" => ("merged", OutputOptions { merged: true, ..plain() }),
        "pprof" => ("no thread label", OutputOptions { thread_label: false, ..plain() }),
        _ => ("by thread", OutputOptions { by_thread: true, ..plain() }),
    };
    [("", plain()), other]
}
