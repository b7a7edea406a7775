//! Recordings of Flight Recorder and async-profiler, as they were recorded: read as
//! ever, and survived whatever becomes of their bytes. Smaller ones, made by hand, are
//! cut at each byte in `formats/src/jfr/tests.rs`.

use crate::{common, golden_files};
use std::{collections::BTreeMap, fmt::Write};
use tyrion_formats::{Entry, Note, Recording, wire::WaitKind};

/// What is in a recording, in sums.
fn summary(log: &Recording) -> String {
    let mut out = String::new();
    let text = &mut out;
    let facts = log.facts();
    let (state, pid, threshold_ns) = (facts.state.name(), facts.pid, facts.threshold_ns);
    writeln!(text, "{} {state} pid={pid} threshold_ns={threshold_ns}", facts.format).unwrap();
    writeln!(text, "{} ns from {} on", log.end_ns() - log.start_ns(), facts.start_wall_ns).unwrap();
    for (key, value) in &facts.metadata {
        writeln!(text, "  {key}={value}").unwrap();
    }
    for pause in log.collections() {
        let from_ns = pause.start_ns - log.start_ns();
        writeln!(text, "collection from {from_ns}: {} ns", pause.end_ns - pause.start_ns).unwrap();
    }
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for chunk in log.event_chunks() {
        for entry in log.events(chunk).unwrap().records() {
            let (what, ns) = line(log, &entry);
            let sum = sums.entry(what).or_default();
            *sum = (sum.0 + 1, sum.1 + ns);
        }
    }
    for (what, (count, ns)) in sums {
        writeln!(text, "{what}: {count}, {ns} ns").unwrap();
    }
    for damage in log.damage() {
        writeln!(text, "{damage}").unwrap();
    }
    out
}

/// What a record is of, and for how long.
fn line(log: &Recording, entry: &Entry<'_>) -> (String, u64) {
    let defined = log.definitions();
    let thread = |id: u32| match defined.threads().get(id) {
        Some(thread) => {
            format!("{:?} of {:?}", log.text(thread.name), log.text(thread.group))
        }
        None => "-".to_owned(),
    };
    let top = |stack: u32| match defined.stacks().get(stack) {
        Some(frame) => {
            let method = defined.methods().get(frame.method).map(|it| log.text(it.name));
            format!("{}:{}", method.unwrap_or_default(), frame.line)
        }
        None => "-".to_owned(),
    };
    match entry {
        Entry::Wait(event) => {
            let site = defined.sites().get(event.site).unwrap();
            let class = defined.locks().get(site.lock).and_then(|&it| defined.classes().get(it));
            let class = class.map_or("-".into(), |class| log.text(class.name));
            let what = format!(
                "{} {} {class} at {} {} owner {}",
                thread(event.thread),
                site.kind.name(),
                top(site.stack),
                event.outcome.name(),
                thread(event.owner),
            );
            (what, event.wait_ns())
        }
        Entry::Note(noted) => match noted.record {
            Note::Wake(wake) => {
                let what = format!("{} woken by {}", thread(noted.thread), thread(wake.waker));
                (what, wake.wait_ns)
            }
            Note::Sample(sample) => {
                let state = noted.with(sample).state().name();
                let what = format!("{} {state} at {}", thread(noted.thread), top(sample.stack));
                (what, sample.wall_ns)
            }
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn recordings_are_read_as_ever() {
    let folder = common::recorded_path("x").parent().unwrap().to_owned();
    let mut files = golden_files::GoldenFiles::new();
    for name in common::RECORDED {
        // Packed, and as bytes in memory.
        let packed = Recording::open(&common::recorded_path(name)).unwrap();
        let read = Recording::from_bytes("it.jfr", common::recorded(name)).unwrap();
        assert_eq!(packed.damage(), []);
        assert_eq!(summary(&packed), summary(&read));
        assert_eq!(packed.file_len(), common::recorded(name).len() as u64);
        files.insert(format!("{name}.txt"), summary(&read));
    }
    golden_files::check_of(&folder, &files, |name| name.ends_with(".txt"));
}

/// All of the program is told apart: the demo waits for each of these.
#[test]
fn parks_are_told_apart() {
    for name in common::RECORDED {
        let log = Recording::open(&common::recorded_path(name)).unwrap();
        let kinds: Vec<WaitKind> =
            log.definitions().sites().iter().map(|(_, site)| site.kind).collect();
        for kind in [WaitKind::Monitor, WaitKind::Semaphore, WaitKind::LockRead] {
            assert!(kinds.contains(&kind), "{name}: {}", kind.name());
        }
    }
}

fn read(bytes: &[u8]) -> Option<(usize, usize)> {
    match Recording::from_bytes("hostile.jfr", bytes.to_vec()) {
        Ok(log) => {
            let (count, damage) = common::decode(&log);
            damage.iter().for_each(|damage| check_message(&damage.to_string()));
            Some((count, damage.len()))
        }
        Err(error) => {
            check_message(&error.to_string());
            None
        }
    }
}

/// A message must be one line with the file's name and an offset.
fn check_message(message: &str) {
    assert!(message.starts_with("hostile.jfr: offset 0x"), "{message}");
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn a_recording_that_is_cut_is_read_up_to_there() {
    for name in common::RECORDED {
        let bytes = common::recorded(name);
        let (all, damage) = read(&bytes).unwrap();
        assert!(all > 0 && damage == 0, "{name}: {all}, {damage}");
        for cut in (0..bytes.len()).step_by(1 + bytes.len() / 211).chain(0..80) {
            match read(&bytes[..cut]) {
                Some((count, damage)) => assert!(count <= all && damage > 0, "{name}, {cut}"),
                None => assert!(cut < 68, "{name}, {cut}"),
            }
        }
    }
}

#[test]
fn flipped_bits_are_survived() {
    for name in common::RECORDED {
        let mut bytes = common::recorded(name);
        let len = bytes.len();
        let header = (0..68 * 8).collect::<Vec<_>>();
        let others = (0..len * 8).step_by(1 + len * 8 / 401);
        for bit in header.into_iter().chain(others) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            read(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
