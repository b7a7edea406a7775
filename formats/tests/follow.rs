//! Logs that are read while they grow: every wait is told once.

use crate::common;
use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, OpenOptions},
    io::{Cursor, Write},
    os::unix::fs::FileExt,
};
use tempfile::NamedTempFile;
use tyrion_formats::{
    Begin, Changes, ChunkRef, Entry, Follower, HoldMode, Recording,
    wire::{
        WaitKind,
        cell::{BUCKETS, Cell},
        chunk::{self, HEADER_LEN},
        sample::Sample,
        slot::Pending,
        trace::{AcquisitionCell, Blame, Instance},
    },
    write::{LogOptions, LogWriter, Wait},
};

/// Where the header has its `used_len`.
const USED_LEN: u64 = 40;

/// A log of several lanes and many small chunks, with all that there can be.
fn sample(waits: u64) -> Vec<u8> {
    let options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    let class = log.class("com/acme/Bank", "Bank.java").unwrap();
    let method = log.method(class, "transfer", "(I)V", 20).unwrap();
    let lock = log.lock(class).unwrap();
    let mut lanes = Vec::new();
    for nth in 0..3 {
        let thread = log.thread(nth + 1, &format!("teller-{nth}"), "main", 0).unwrap();
        lanes.push((log.lane(thread), thread));
    }
    let place = log.place(method, 23, WaitKind::Monitor, 0, "Bank.lock").unwrap();
    for nth in 0..waits {
        let (lane, thread) = lanes[(nth * 7 % 3) as usize];
        let stack = log.stack(0, method, 20 + (nth / 50) as u32).unwrap();
        let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
        let end_ns = 1_000_000 + nth * 1_000;
        let owner = (nth % 4) as u32;
        log.wait(lane, Wait { end_ns, wait_ns: 500 + nth, site, owner, ..Wait::default() })
            .unwrap();
        if nth % 100 == 7 {
            log.switch(lane, thread).unwrap();
            log.note(lane, 0, Instance { hash: nth as u32 + 1, class, place, shared: false })
                .unwrap();
            let blame = Blame { charged_ns: nth, site, waiter: 1, ..Blame::default() };
            log.note(lane, end_ns + 10, blame).unwrap();
        }
        if nth % 30 == 4 {
            let seen = log.group(&format!("GET /{}", nth / 90)).unwrap();
            let seen = log.stack(seen, method, 23).unwrap();
            log.switch(lane, thread % 3 + 1).unwrap();
            let sample = Sample { wall_ns: nth, state: 1, stack: seen, ..Sample::default() };
            log.note(lane, end_ns + 20, sample).unwrap();
            log.switch(lane, thread).unwrap();
        }
        if nth % 20 == 3 {
            log.cell(lane, &cell(thread, site, end_ns, nth + 1)).unwrap();
        }
        if nth % 400 == 9 {
            let acquisitions = nth + 5;
            let taken = AcquisitionCell { thread, place, class, acquisitions, ..empty() };
            log.acquisitions(lane, &taken).unwrap();
        }
    }
    let kind = WaitKind::Monitor;
    log.pending(&Pending {
        thread: 1,
        kind,
        stack: 2,
        lock,
        owner: 2,
        start_ns: 7,
        seen_ns: 0,
        flags: 0,
    })
    .unwrap();
    log.finish().unwrap().into_inner()
}

fn empty() -> AcquisitionCell {
    AcquisitionCell::default()
}

fn cell(thread: u32, site: u32, first_ns: u64, count: u64) -> Cell {
    let (sum_ns, max_ns) = (count * 10, 15);
    let last_ns = first_ns + 900;
    Cell {
        thread,
        site,
        owner: 0,
        group: 0,
        first_ns,
        last_ns,
        count,
        sum_ns,
        max_ns,
        histogram: [0; BUCKETS],
    }
}

/// What was told, in an order of its own.
#[derive(Debug, Default, PartialEq, Eq)]
struct ChangeSums {
    entries: Vec<String>,
    /// Waits and their sum, by thread and site.
    folded: BTreeMap<(u32, u32), (u64, u64)>,
    /// By thread, place and class.
    acquired: BTreeMap<(u32, u32, u32), u64>,
}

impl ChangeSums {
    fn whole(log: &Recording) -> ChangeSums {
        let mut told = ChangeSums::default();
        for chunk in log.event_chunks() {
            let Ok(mut events) = log.events(chunk) else { continue };
            events.visit_all(|entry| told.entries.push(text(&entry)));
        }
        for cell in log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk)) {
            told.fold(cell.thread, cell.site, cell.count, cell.sum_ns);
        }
        for cell in log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk)) {
            *told.acquired.entry((cell.thread, cell.place, cell.class)).or_default() +=
                cell.acquisitions;
        }
        told.entries.sort();
        told
    }

    fn fold(&mut self, thread: u32, site: u32, count: u64, sum_ns: u64) {
        let folded = self.folded.entry((thread, site)).or_default();
        *folded = (folded.0 + count, folded.1 + sum_ns);
    }

    fn add(&mut self, changes: &Changes) {
        for change in &changes.cells {
            self.fold(change.cell.thread, change.cell.site, change.count, change.sum_ns);
        }
        for change in &changes.acquisitions {
            let cell = &change.cell;
            *self.acquired.entry((cell.thread, cell.place, cell.class)).or_default() +=
                change.acquisitions;
        }
    }

    /// Reads on, and returns how many records came.
    fn read_on(&mut self, follower: &mut Follower, now_ns: u64) -> usize {
        let before = self.entries.len();
        let changes = follower.read_on(now_ns, |entry| self.entries.push(text(&entry))).unwrap();
        self.add(&changes);
        self.entries.len() - before
    }

    fn sorted(mut self) -> ChangeSums {
        self.entries.sort();
        self
    }
}

fn text(entry: &Entry<'_>) -> String {
    format!("{entry:?}")
}

fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Definitions as the follower knows them, against those of a whole read.
fn compare_definitions(follower: &Follower, log: &Recording) {
    let (known, all) = (follower.recording().definitions(), log.definitions());
    assert_eq!(known.sites().iter().collect::<Vec<_>>(), all.sites().iter().collect::<Vec<_>>());
    assert_eq!(known.stacks().iter().collect::<Vec<_>>(), all.stacks().iter().collect::<Vec<_>>());
    let groups = known.stacks().groups().collect::<Vec<_>>();
    assert_eq!(groups, all.stacks().groups().collect::<Vec<_>>());
    assert_eq!(known.places().iter().collect::<Vec<_>>(), all.places().iter().collect::<Vec<_>>());
    for (id, thread) in all.threads().iter() {
        assert_eq!(known.threads().get(id), Some(thread));
        assert_eq!(follower.recording().text(thread.name), log.text(thread.name));
    }
    assert_eq!(follower.recording().pending(), log.pending());
    assert_eq!(follower.recording().facts(), log.facts());
}

#[test]
fn at_once_it_reads_what_a_whole_read_does() {
    let frozen = [
        "v1-tiny.log",
        "v1-small.log",
        "v1-killed.log",
        "v1-trace.log",
        "v1-holds.log",
        "v1-wakers.log",
        "v1-spans.log",
        "v1-traces.log",
        "v1-holders.log",
        "v1-looks.log",
    ];
    let logs = frozen.iter().map(|name| common::frozen(name)).chain([sample(3000)]);
    for bytes in logs {
        let file = file_of(&bytes);
        let log = Recording::open(file.path()).unwrap();
        let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
        let mut told = ChangeSums::default();
        told.read_on(&mut follower, u64::MAX);
        assert_eq!(told.read_on(&mut follower, u64::MAX), 0, "nothing comes twice");
        assert_eq!(told.sorted(), ChangeSums::whole(&log));
        compare_definitions(&follower, &log);
        assert_eq!(follower.last_ns(), log.end_ns());
        assert_eq!(follower.damage(), log.damage());
    }
}

/// How far a chunk may be written: after each of its records.
fn boundaries(log: &Recording, chunk: &ChunkRef) -> Vec<u32> {
    let mut events = log.events(chunk).unwrap();
    let mut ends = Vec::new();
    loop {
        ends.push((events.offset() - chunk.payload_at()) as u32);
        if events.records().next().is_none() {
            break;
        }
    }
    ends.push(chunk.committed);
    ends
}

/// A file that a whole log is copied to, as the agent would have written it.
struct GrowingFile {
    bytes: Vec<u8>,
    file: NamedTempFile,
    out: File,
    chunks: Vec<(ChunkRef, Vec<u32>)>,
    chance: u64,
}

impl GrowingFile {
    fn new(bytes: Vec<u8>) -> GrowingFile {
        let log = Recording::from_bytes("whole", bytes.clone()).unwrap();
        let start = common::header_len(&bytes);
        let file = file_of(&bytes[..start]);
        let out = OpenOptions::new().write(true).open(file.path()).unwrap();
        let events: HashMap<u64, Vec<u32>> = log
            .event_chunks()
            .iter()
            .map(|chunk| (chunk.offset, boundaries(&log, chunk)))
            .collect();
        let mut chunks = Vec::new();
        let mut at = start;
        while at < bytes.len() {
            let header = chunk::ChunkHeader::decode(&bytes[at..]).unwrap();
            let chunk = ChunkRef {
                offset: at as u64,
                first_ns: 0,
                len: header.len,
                committed: header.committed,
                sequence: header.sequence,
                lane: header.lane,
                thread: u32::from(header.kind), // so that lanes are of one kind here
                checksum: 0,
                sealed: header.flags != 0,
                whole: true,
                in_bursts: false,
            };
            let steps = events.get(&(at as u64)).cloned();
            let cells = (0..=header.committed / 256).map(|nth| nth * 256).collect();
            let is_cells = matches!(header.kind, 3 | 6);
            chunks.push((
                chunk,
                steps.unwrap_or(if is_cells { cells } else { vec![header.committed] }),
            ));
            at += header.len as usize;
        }
        GrowingFile { bytes, file, out, chunks, chance: 88_172_645_463_325_252 }
    }

    fn chance(&mut self, below: usize) -> usize {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance % below.max(1) as u64) as usize
    }

    /// Writes the first `carved` chunks; the last of each lane to `parts` of
    /// eight.
    fn write(&mut self, carved: usize, parts: usize) {
        let end = self.chunks.get(carved).map_or(self.bytes.len() as u64, |(next, _)| next.offset);
        // The file is allocated ahead.
        self.out.set_len(end + 20_000).unwrap();
        let mut open: HashMap<(u32, u32), usize> = HashMap::new();
        for (nth, (chunk, _)) in self.chunks[..carved].iter().enumerate() {
            open.insert((chunk.thread, chunk.lane), nth);
        }
        for nth in 0..carved {
            let (chunk, steps) = &self.chunks[nth];
            let is_open = open[&(chunk.thread, chunk.lane)] == nth;
            let committed =
                if is_open { steps[(steps.len() - 1) * parts / 8] } else { chunk.committed };
            let at = chunk.offset as usize;
            let mut header = self.bytes[at..at + HEADER_LEN].to_vec();
            header[chunk::field::COMMITTED..][..4].copy_from_slice(&committed.to_le_bytes());
            if is_open {
                header[chunk::field::FLAGS] = 0;
            }
            let payload = &self.bytes[at + HEADER_LEN..][..committed as usize];
            self.out.write_all_at(payload, chunk.offset + HEADER_LEN as u64).unwrap();
            self.out.write_all_at(&header, chunk.offset).unwrap();
        }
        self.out.write_all_at(&end.to_le_bytes(), USED_LEN).unwrap();
    }

    /// Writes all that is left, as an orderly end does.
    fn finish(&mut self) {
        self.out.write_all_at(&self.bytes, 0).unwrap();
        self.out.set_len(self.bytes.len() as u64).unwrap();
    }
}

#[test]
fn a_log_that_grows_is_told_once() {
    for seed in 1..6u64 {
        let mut growing = GrowingFile::new(sample(3000));
        growing.chance *= seed;
        growing.write(0, 0);
        let mut follower = Follower::open(growing.file.path(), Begin::Start).unwrap();
        let (mut told, mut carved, mut looks) = (ChangeSums::default(), 0, 0);
        while carved < growing.chunks.len() {
            carved += growing.chance(4).min(growing.chunks.len() - carved);
            let mut parts = 0;
            while parts < 8 {
                parts = (parts + growing.chance(5)).min(8);
                growing.write(carved, parts);
                if growing.chance(3) != 0 {
                    told.read_on(&mut follower, 0);
                    looks += 1;
                }
            }
        }
        growing.finish();
        told.read_on(&mut follower, 0);
        let log = Recording::open(growing.file.path()).unwrap();
        assert_eq!(told.sorted(), ChangeSums::whole(&log));
        compare_definitions(&follower, &log);
        assert_eq!(follower.damage(), []);
        assert!(looks > 20);
    }
}

#[test]
fn a_log_that_is_copied_byte_by_byte_is_told_once() {
    let bytes = sample(1000);
    let (mut at, mut told) = (5000, ChangeSums::default());
    let file = file_of(&bytes[..at]);
    let out = OpenOptions::new().write(true).open(file.path()).unwrap();
    let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
    while at < bytes.len() {
        let next = (at + 1021).min(bytes.len());
        out.write_all_at(&bytes[at..next], at as u64).unwrap();
        at = next;
        told.read_on(&mut follower, 0);
        assert_eq!(follower.damage().len(), usize::from(at < bytes.len()), "it is cut as yet");
    }
    let log = Recording::open(file.path()).unwrap();
    assert_eq!(told.sorted(), ChangeSums::whole(&log));
    compare_definitions(&follower, &log);
}

#[test]
fn what_had_ended_before_is_passed_over() {
    let bytes = sample(3000);
    let file = file_of(&bytes);
    let log = Recording::open(file.path()).unwrap();
    let whole = ChangeSums::whole(&log);
    // Waits end 1 µs apart, from 1 ms on; and all blames have a time.
    for since_ns in [0, 1_000_000, 2_500_000, 3_999_000, 9_000_000_000] {
        let mut follower = Follower::open(file.path(), Begin::At(since_ns)).unwrap();
        let mut told = ChangeSums::default();
        told.read_on(&mut follower, since_ns);
        let late: Vec<String> = {
            let mut late = Vec::new();
            for chunk in log.event_chunks() {
                log.events(chunk).unwrap().visit_all(|entry| {
                    if entry.at_ns() >= since_ns {
                        late.push(text(&entry));
                    }
                });
            }
            late.sort();
            late
        };
        let told = told.sorted();
        assert_eq!(told.entries, late);
        assert!(told.acquired.is_empty(), "they know no time");
        let folded = |told: &ChangeSums| told.folded.values().map(|(count, _)| count).sum::<u64>();
        let expected: u64 = log
            .cell_chunks()
            .iter()
            .flat_map(|chunk| log.cells(chunk))
            .filter(|cell| cell.first_ns >= since_ns)
            .map(|cell| cell.count)
            .sum();
        assert_eq!(folded(&told), expected);
        assert!(expected <= folded(&whole));
        compare_definitions(&follower, &log);
    }
}

/// Cells count on, and those that are a minute old are left alone.
#[test]
fn cells_tell_what_they_have_counted() {
    let file = file_of(&sample(3000));
    let log = Recording::open(file.path()).unwrap();
    let out = OpenOptions::new().write(true).open(file.path()).unwrap();
    let mut follower = Follower::open(file.path(), Begin::At(1 << 40)).unwrap();
    let mut told = ChangeSums::default();
    told.read_on(&mut follower, 10_000_000);
    assert_eq!(told, ChangeSums::default(), "all was there before");
    let chunk = log.cell_chunks().last().unwrap();
    let old = log.cells(chunk).next().unwrap();
    let mut histogram = old.histogram;
    histogram[5] += 1;
    for round in 1..4u64 {
        let new = Cell {
            count: old.count + round,
            sum_ns: old.sum_ns + 40 * round,
            max_ns: 20,
            histogram,
            ..old.clone()
        };
        let mut bytes = new.encode();
        // The version tells which copy holds; the codec fills the first one.
        bytes[0] = (2 * round) as u8;
        out.write_all_at(&bytes, chunk.payload_at()).unwrap();
        let changes = follower.read_on(10_000_000, |_| ()).unwrap();
        assert_eq!(changes.cells.len(), 1);
        let max_ns = if round == 1 { 20 } else { 40 };
        let change = &changes.cells[0];
        assert_eq!((change.count, change.sum_ns, change.max_ns), (1, 40, max_ns));
        assert_eq!(change.cell, new);
        assert_eq!(change.histogram[2..6], [0, 0, 0, u32::from(round == 1)]);
    }
    let taken = log.acquisition_chunks()[0];
    let mut cell = log.acquisitions(&taken).next().unwrap();
    cell.acquisitions += 1000;
    cell.sampled_count += 10;
    cell.sampled_ns += 700;
    out.write_all_at(&cell.encode(), taken.payload_at()).unwrap();
    let changes = follower.read_on(10_000_000, |_| ()).unwrap();
    let change = &changes.acquisitions[0];
    assert_eq!((change.acquisitions, change.measured, change.measured_ns), (1000, 10, 700));
    assert_eq!(changes.acquisitions.len(), 1);
    // Ten holds of 70 ns; before, none had been measured.
    let held_ns = change.held_ns(HoldMode::Sampled(64));
    assert_eq!(held_ns, 70 * cell.acquisitions);
    // The last hold ends after its acquisition was counted.
    cell.sampled_count += 1;
    cell.sampled_ns += 5;
    out.write_all_at(&cell.encode(), taken.payload_at()).unwrap();
    let changes = follower.read_on(10_000_000, |_| ()).unwrap();
    let change = &changes.acquisitions[0];
    assert_eq!((change.acquisitions, change.measured, change.measured_ns), (0, 1, 5));
    assert_eq!((change.held_ns(HoldMode::All), change.held_ns(HoldMode::Sampled(64))), (5, 0));
}

#[test]
fn damage_spoils_no_more_than_for_a_whole_read() {
    let bytes = sample(3000);
    let whole = Recording::from_bytes("whole", bytes.clone()).unwrap();
    let events = whole.event_chunks();
    let spoil = |at: u64, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at as usize..][..with.len()].copy_from_slice(with);
        let file = file_of(&bytes);
        let log = Recording::open(file.path()).unwrap();
        let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
        let mut told = ChangeSums::default();
        told.read_on(&mut follower, 0);
        assert_eq!(told.read_on(&mut follower, 0), 0);
        assert_eq!(told.sorted(), ChangeSums::whole(&log));
        assert!(!follower.damage().is_empty());
    };
    spoil(events[2].payload_at() + 40, &[0xff; 8]); // a checksum
    spoil(events[2].offset, &[0; 64]); // a header
    spoil(events[2].offset + 8, &0x3_0000u32.to_le_bytes()); // a length
    // A record, and no checksum that would tell.
    let mut bytes = bytes.clone();
    let at = events[1].offset as usize;
    bytes[at + chunk::field::FLAGS] = 0;
    bytes[at + HEADER_LEN + 400..][..64].fill(0xff);
    let file = file_of(&bytes);
    let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
    let mut told = ChangeSums::default();
    told.read_on(&mut follower, 0);
    assert_eq!(told.sorted(), ChangeSums::whole(&Recording::open(file.path()).unwrap()));
    assert_eq!(follower.damage().len(), 1);
}

#[test]
fn a_file_that_is_cut_ends_nothing() {
    let bytes = sample(1000);
    let file = file_of(&bytes);
    let out = OpenOptions::new().write(true).open(file.path()).unwrap();
    let mut follower = Follower::open(file.path(), Begin::Start).unwrap();
    let mut told = ChangeSums::default();
    told.read_on(&mut follower, 0);
    let all = told.entries.len();
    out.set_len(9000).unwrap();
    assert_eq!(told.read_on(&mut follower, 0), 0);
    assert_eq!(follower.damage().len(), 1);
    out.set_len(0).unwrap();
    assert!(follower.read_on(0, |_| ()).is_err());
    // And it may come back.
    out.write_all_at(&bytes, 0).unwrap();
    assert_eq!(told.read_on(&mut follower, 0), 0);
    assert_eq!(told.entries.len(), all);
    assert_eq!(follower.damage(), []);
    assert!(Follower::open(file.path().parent().unwrap(), Begin::Start).is_err());
}
