//! What several tests need.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![allow(dead_code)] // each test file uses a part of it

use std::fmt::Write;
use tyrion_formats::{
    ChunkRef, Damage, Entry, Note, Noted, Recording,
    wire::{def::Definition, trace::AcquisitionCell},
};

/// The repository's root.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Everything in a log, as text.
pub fn dump(log: &Recording) -> String {
    let mut out = String::new();
    let text = &mut out;
    let facts = log.facts();
    writeln!(text, "header version={} state={}", facts.version, facts.state.name()).unwrap();
    writeln!(
        text,
        "  wall_ns={} mono_ns={} end_ns={} used_len={} pid={} threshold_ns={} depth={} dropped={}+{}",
        facts.start_wall_ns,
        facts.start_ns,
        facts.end_ns,
        facts.used_len,
        facts.pid,
        facts.threshold_ns,
        facts.depth,
        facts.dropped_contention,
        facts.dropped_other,
    )
    .unwrap();
    for (key, value) in &facts.metadata {
        writeln!(text, "  {key}={value}").unwrap();
    }
    log.for_each_definition(|found| {
        let line = match &found.definition {
            Definition::String { id, text } => {
                format!("String {{ id: {id}, text: {:?} }}", String::from_utf8_lossy(text))
            }
            // Fields that came later are left out where they are 0, as in the log.
            other => {
                format!("{other:?}").replace(", place: 0 }", " }").replace(", bytecode: 0 }", " }")
            }
        };
        writeln!(text, "{:#x} {line}", found.offset).unwrap();
    });
    for chunk in log.event_chunks() {
        dump_events(log, chunk, text);
    }
    for cell in log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)) {
        let buckets: Vec<(usize, u32)> =
            cell.histogram.iter().copied().enumerate().filter(|(_, count)| *count != 0).collect();
        let owner = match cell.owner {
            0 => String::new(),
            owner => format!(" owner={owner}"),
        };
        let group = match cell.group {
            0 => String::new(),
            group => format!(" group={group}"),
        };
        writeln!(
            text,
            "cell thread={} site={}{owner}{group} first_ns={} last_ns={} count={} sum_ns={} max_ns={} \
             {buckets:?}",
            cell.thread,
            cell.site,
            cell.first_ns,
            cell.last_ns,
            cell.count,
            cell.sum_ns,
            cell.max_ns,
        )
        .unwrap();
    }
    for cell in log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk)) {
        dump_acquisitions(log, &cell, text);
    }
    for pending in log.pending() {
        let pending = format!("{pending:?}");
        writeln!(text, "{}", pending.replace(", seen_ns: 0, flags: 0 }", " }")).unwrap();
    }
    for counters in log.counters() {
        writeln!(text, "{counters:?}").unwrap();
    }
    for damage in log.damage() {
        writeln!(text, "{damage}").unwrap();
    }
    out
}

fn dump_acquisitions(log: &Recording, cell: &AcquisitionCell, text: &mut String) {
    let buckets: Vec<(usize, u32)> =
        cell.histogram.iter().copied().enumerate().filter(|(_, count)| *count != 0).collect();
    let (first, first_ns) = (cell.first_count, cell.first_ns);
    let (sampled, sampled_ns) = (cell.sampled_count, cell.sampled_ns);
    writeln!(
        text,
        "acquisitions thread={} place={} class={} {} reentrant={} failed={} \
         first={first}:{first_ns} sampled={sampled}:{sampled_ns} max_ns={} unidentified={} \
         estimated_ns={} {buckets:?}",
        cell.thread,
        cell.place,
        cell.class,
        cell.acquisitions,
        cell.reentrant,
        cell.failed,
        cell.max_ns,
        cell.unidentified,
        log.hold_mode().estimate_ns(cell),
    )
    .unwrap();
}

fn dump_events(log: &Recording, chunk: &ChunkRef, text: &mut String) {
    let (lane, sequence) = (chunk.lane, chunk.sequence);
    writeln!(text, "{:#x} events of lane {lane}, chunk {sequence}", chunk.offset).unwrap();
    let mut events = match log.events(chunk) {
        Ok(events) => events,
        Err(damage) => return writeln!(text, "{damage}").unwrap(),
    };
    for entry in events.records() {
        let event = match entry {
            Entry::Wait(event) => event,
            Entry::Note(noted) => {
                let Noted { thread, mut at_ns, record } = noted;
                let what = match record {
                    Note::Sample(sample) => format!("{sample:?}"),
                    Note::Holder(holder) => format!("{holder:?}"),
                    Note::Wake(wake) => {
                        at_ns = noted.with(wake).woken_ns();
                        format!("{wake:?}")
                    }
                    other => format!("{other:?}").replace("], flags: 0 }", "] }"),
                };
                writeln!(text, "thread={thread} at_ns={at_ns} {what}").unwrap();
                continue;
            }
        };
        writeln!(
            text,
            "thread={} start_ns={} wait_ns={} site={} {} owner={} parks={}",
            event.thread,
            event.start_ns,
            event.wait_ns(),
            event.site,
            event.outcome.name(),
            event.owner,
            event.parks,
        )
        .unwrap();
    }
    if let Some(damage) = events.damage() {
        writeln!(text, "{damage}").unwrap();
    }
}

/// Number of records that can be decoded, and what is damaged in all.
pub fn decode(log: &Recording) -> (usize, Vec<Damage>) {
    let mut damage = log.damage().to_vec();
    let mut count = 0;
    for chunk in log.event_chunks() {
        match log.events(chunk) {
            Ok(mut events) => {
                count += events.records().count();
                damage.extend(events.damage());
            }
            Err(other) => damage.push(other),
        }
    }
    (count, damage)
}

/// A frozen log's bytes.
pub fn frozen(name: &str) -> Vec<u8> {
    let path = format!("{ROOT}/testdata/logs/{name}");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Where the first chunk of a log stands.
pub fn header_len(bytes: &[u8]) -> usize {
    tyrion_formats::wire::header::Header::decode(bytes).unwrap().header_len as usize
}

/// What the recordings of Flight Recorder in `testdata/jfr` are called.
pub const RECORDED: [&str; 3] = ["jdk11", "jdk25", "async-profiler"];

/// The path of one of them.
pub fn recorded_path(name: &str) -> std::path::PathBuf {
    std::path::Path::new(ROOT).join(format!("testdata/jfr/{name}.jfr.gz"))
}

/// The bytes of one of them, unpacked.
pub fn recorded(name: &str) -> Vec<u8> {
    let file = std::fs::File::open(recorded_path(name)).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes).unwrap();
    bytes
}

/// The bytes of another tool's file.
pub fn of_other_tools(name: &str) -> Vec<u8> {
    let path = format!("{ROOT}/testdata/inputs/{name}");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of other tools.
pub const OTHER_TOOLS: [(&str, &str); 9] = [
    ("original-2014.log", "original-tyrion"),
    ("original-2013.log", "original-tyrion"),
    ("async-profiler.collapsed", "collapsed"),
    ("offcpu.folded", "collapsed"),
    ("go-mutex.pb.gz", "pprof"),
    ("go-mutex.txt", "pprof-text"),
    ("go-block.txt", "pprof-text"),
    ("go-mutex.raw", "pprof-text"),
    ("go-block.traces", "pprof-text"),
];
