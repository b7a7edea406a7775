//! Recordings made by hand, whole and damaged.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod chunks;
mod damaged;
mod maker;
mod samples;
mod types;
mod waits;

use super::{chunk::HEADER_LEN, scan::tests::put, *};
use crate::{Damage, Entry, Event, Fault, Note, Noted};
use maker::{ChunkMaker, text, texts};
use types::*;
use tyrion_wire::{WaitKind, sample::ThreadState};

fn small() -> Vec<u8> {
    let mut maker = ChunkMaker::new(1_000_000_000);
    maker.enter(1_000, 200, 1, 2);
    maker.numbers(OTHER, &[1_100, 0]);
    maker.enter(1_400, 20, 2, 0);
    maker.park((2_000, 600), 2, 4, i64::MIN);
    maker.park((3_000, 2_000), 2, 1, 1_000);
    // It began before the chunk did.
    maker.enter(900, 300, 2, 1);
    maker.finish()
}

fn open(bytes: Vec<u8>) -> Recording {
    read("it.jfr", bytes.into()).unwrap()
}

/// All records, in the order of their chunks.
fn entries(recording: &Recording) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    for chunk in recording.event_chunks() {
        found.extend(recording.events(chunk).unwrap().records());
    }
    found
}

fn name(recording: &Recording, thread: u32) -> String {
    let name = recording.definitions().threads().get(thread).map(|thread| thread.name);
    name.map_or("-".into(), |name| recording.text(name).into_owned())
}

/// Each wait as text, in the order of threads and times.
fn waits(recording: &Recording) -> Vec<String> {
    let defined = recording.definitions();
    let thread = |id: u32| name(recording, id);
    let mut found: Vec<(String, Event)> = Vec::new();
    for entry in entries(recording) {
        if let Entry::Wait(event) = entry {
            found.push((thread(event.thread), event));
        }
    }
    found.sort_by_key(|(name, event)| (name.clone(), event.end_ns));
    let line = |(name, event): (String, Event)| {
        let site = defined.sites().get(event.site).unwrap();
        let lock = defined.locks().get(site.lock).and_then(|lock| defined.classes().get(*lock));
        let lock = lock.map_or("-".into(), |class| recording.text(class.name));
        let mut stack = Vec::new();
        let mut at = site.stack;
        while let Some(frame) = defined.stacks().get(at) {
            let method = defined.methods().get(frame.method).unwrap();
            stack.push(format!("{}:{}", recording.text(method.name), frame.line));
            at = frame.parent;
        }
        format!(
            "{name} {} {}..{} {} {} {lock} {}{}",
            site.kind.name(),
            event.start_ns,
            event.end_ns,
            event.outcome.name(),
            thread(event.owner),
            stack.join("<"),
            if at == 1 { "<cut" } else { "" },
        )
    };
    found.into_iter().map(line).collect()
}

const SMALL: [&str; 5] = [
    "main monitor 1000000000..1000000100 granted worker com/acme/Foo bar:42",
    "main lock 1000000500..1000000800 granted - java/util/concurrent/locks/ReentrantLock$NonfairSync park:0<acquire:0<bar:43<cut",
    "main lock 1000001000..1000002000 timed-out - com/acme/Foo park:0<acquire:0<bar:43<cut",
    "worker monitor 999999950..1000000100 granted main com/acme/Foo bar:42",
    "worker monitor 1000000200..1000000210 granted - com/acme/Foo bar:42",
];
