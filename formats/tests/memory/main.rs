//! Files that are made to take much memory take no more than
//! [`limits`](tyrion_formats::limits) says, and no more steps than fit their length.
//!
//! A test binary of its own: its allocator counts.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod collapsed;
mod counting;
mod event_log;
mod gzip;
mod jfr;
mod original;
mod pprof;
mod thread_dump;

use counting::AllocationCounts;
use std::{
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tyrion_formats::{Error, INPUTS, Recording, limits};

/// All allocations of the process are counted, so nothing else may run meanwhile.
static ALONE: Mutex<()> = Mutex::new(());

/// A file that is made to take much.
#[derive(Clone)]
struct MemoryCase {
    name: &'static str,
    bytes: Vec<u8>,
    /// A part of what must be told, where something has to be left out.
    told: Option<&'static str>,
}

impl MemoryCase {
    fn new(name: &'static str, bytes: Vec<u8>) -> MemoryCase {
        MemoryCase { name, bytes, told: None }
    }

    /// The same, of a file of which not all is read.
    fn told(self, told: &'static str) -> MemoryCase {
        MemoryCase { told: Some(told), ..self }
    }
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads all cases of an input, and says which of them take more than they may.
fn check(input: &str, cases: impl FnOnce() -> Vec<MemoryCase>) {
    let _alone = alone();
    let wrong: Vec<String> = cases().into_iter().flat_map(|case| check_one(input, case)).collect();
    assert!(wrong.is_empty(), "{input}:\n{}", wrong.join("\n"));
}

fn check_one(input: &str, MemoryCase { name, bytes, told }: MemoryCase) -> Vec<String> {
    let len = bytes.len();
    let (spent, recording) = read(bytes);
    let recording = recording.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(recording.facts().format, input, "{name}");
    let mut wrong = beyond(name, input, len, &spent);
    // What is made of other files is a log, in memory or in a temporary file.
    let written = recording.file_len();
    if written > limits::memory(input).of(len as u64) {
        wrong.push(format!("{name}: {written} bytes of log were made of {len}"));
    }
    let mut damage = recording.damage().iter().map(ToString::to_string);
    if let Some(told) = told
        && !damage.any(|it| it.contains(told))
    {
        wrong.push(format!("{name}: it is not told that there are {told}"));
    }
    wrong
}

/// What is wrong with what reading a file took.
fn beyond(name: &str, input: &str, len: usize, spent: &AllocationCounts) -> Vec<String> {
    let most = limits::memory(input).of(len as u64);
    println!("{input:16} {name:44} {len:>9} {:>10} {most:>10} {:>9}", spent.peak, spent.count);
    let mut wrong = Vec::new();
    if spent.peak as u64 > most {
        wrong.push(format!("{name}: {} bytes for a file of {len}, not {most}", spent.peak));
    }
    // Steps are not counted, but hardly any is without an allocation for long.
    let steps = 10_000 + len;
    if spent.count > steps {
        wrong.push(format!("{name}: {} allocations for a file of {len}", spent.count));
    }
    wrong
}

/// Reads a file as commands do: maps it, and decodes all records and names.
fn read(bytes: Vec<u8>) -> (AllocationCounts, Result<Recording, Error>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    drop(bytes);
    counting::of(|| {
        let recording = Recording::open(file.path())?;
        std::hint::black_box(decode(&recording));
        Ok(recording)
    })
}

#[test]
fn each_input_has_a_bound() {
    for input in INPUTS {
        assert!(limits::memory(input.name).bytes > 0, "{}", input.name);
    }
}

/// Decodes all there is: how many things that are.
fn decode(recording: &Recording) -> usize {
    let chunks = recording.event_chunks().iter();
    let events = chunks.filter_map(|chunk| recording.events(chunk).ok());
    let mut found = events.map(|mut events| events.records().count()).sum::<usize>();
    let cells = recording.cell_chunks().iter();
    found += cells.flat_map(|chunk| recording.cells(chunk)).count();
    let sums = recording.acquisition_chunks().iter();
    found += sums.flat_map(|chunk| recording.acquisitions(chunk)).count();
    let defined = recording.definitions();
    found += defined.strings().iter().map(|(id, _)| recording.text(id).len()).sum::<usize>();
    found += defined.stacks().groups().map(|(_, name)| recording.text(name).len()).sum::<usize>();
    found += recording.pending().len() + recording.counters().len();
    found + recording.collections().len() + recording.statistics().len()
}
