//! Makes a recording of dumps: a sample of each thread in each dump, and of the last one what
//! threads wait for.

use super::{
    INPUT,
    frames::FrameTable,
    raw::{RawDump, RawLock, RawThread},
    resolve::{Resolved, resolve},
};
use crate::{
    error::Error,
    event_log::write::{LaneId, LogOptions},
    import::Importer,
    limits::MAX_DEPTH,
    recording::{DumpedThread, Lacks, Recording, ThreadDump},
};
use std::{collections::HashMap, io};
use tyrion_wire::{
    def::{id, thread_flag},
    header::Header,
    sample::{Sample, ThreadState},
    slot::{Pending, flag},
};

/// Between dumps that do not say when they were taken.
const UNKNOWN_GAP_NS: u64 = 1_000_000_000;

/// What tells a thread from others: its number, what the JVM has for it, its name.
type DumpThreadKey = (Option<u64>, String, String);

/// Writes dump after dump.
pub(super) struct DumpWriter {
    importer: Importer,
    lane: Option<LaneId>,
    threads: HashMap<DumpThreadKey, u32>,
    locks: HashMap<RawLock, u32>,
    /// By the file's frames: methods and lines.
    frames: HashMap<u32, (u32, u32)>,
    sources: HashMap<String, String>,
    /// Since when a thread has been where it is: its stack and lock.
    since: HashMap<u32, (u32, u32, u64)>,
    dumps: Vec<ThreadDump>,
    first_wall_ns: Option<u64>,
    lacks_times: bool,
}

impl DumpWriter {
    /// Begins with the first dump.
    pub(super) fn new(name: &str, first: &RawDump) -> io::Result<DumpWriter> {
        let header = Header {
            wall_ns: first.wall_ns.unwrap_or(0),
            mono_ns: 0,
            end_ns: 0,
            pid: first.pid.unwrap_or(0),
            depth: MAX_DEPTH,
            metadata: vec![
                ("mode".to_owned(), "sample".to_owned()),
                ("jvm".to_owned(), first.jvm.clone()),
            ],
            ..LogOptions::default().header
        };
        let (lane, threads, locks, frames, sources, since) = Default::default();
        Ok(DumpWriter {
            importer: Importer::new(INPUT, name, header)?,
            lane,
            threads,
            locks,
            frames,
            sources,
            since,
            dumps: Vec::new(),
            first_wall_ns: first.wall_ns,
            lacks_times: false,
        })
    }

    /// When a dump was taken, as far as that is known.
    fn moment(&mut self, wall_ns: Option<u64>) -> u64 {
        let last = self.dumps.last().map(|dump| dump.at_ns);
        let told =
            wall_ns.zip(self.first_wall_ns).map(|(now, first)| 1 + now.saturating_sub(first));
        self.lacks_times |= told.is_none();
        let next = last.map_or(1, |last| last.saturating_add(UNKNOWN_GAP_NS));
        // Clocks are set back.
        told.map_or(next, |told| told.max(last.unwrap_or(1)))
    }

    /// Writes a dump.
    pub(super) fn add(&mut self, raw: &RawDump, frames: &FrameTable) -> io::Result<()> {
        let at_ns = self.moment(raw.wall_ns);
        let resolved = resolve(raw, frames);
        let mut numbers = Vec::with_capacity(raw.threads.len());
        for thread in &raw.threads {
            numbers.push(self.thread(thread)?);
        }
        let mut threads = Vec::with_capacity(raw.threads.len());
        let told: Vec<u32> = told(raw, &numbers);
        for ((thread, found), &number) in raw.threads.iter().zip(resolved).zip(&numbers) {
            let dumped = self.dumped(thread, found, (number, &numbers), frames)?;
            self.sample(&dumped, at_ns)?;
            threads.push(dumped);
        }
        let (offset, wall_ns) = (raw.offset, raw.wall_ns);
        self.dumps.push(ThreadDump { at_ns, offset, wall_ns, threads, told_deadlocked: told });
        Ok(())
    }

    fn dumped(
        &mut self,
        thread: &RawThread,
        found: Resolved,
        (number, numbers): (u32, &[u32]),
        frames: &FrameTable,
    ) -> io::Result<DumpedThread> {
        let stack = self.stack(&thread.frames, frames)?;
        let lock = match &found.lock {
            Some(lock) => self.lock(lock)?,
            None => id::UNKNOWN,
        };
        let held: io::Result<Vec<u32>> = found.held.iter().map(|lock| self.lock(lock)).collect();
        let owners: Vec<u32> =
            found.owners.iter().filter_map(|&at| numbers.get(at).copied()).collect();
        Ok(DumpedThread {
            thread: number,
            state: found.state.unwrap_or(ThreadState::Other),
            is_timed: thread.state.is_timed,
            kind: found.kind,
            reenters: found.reenters,
            stack,
            lock,
            owners,
            owner_source: found.source,
            held: held?,
            held_by_frame: found.held_by_frame,
            cpu_ns: thread.cpu_ns,
            elapsed_ns: thread.elapsed_ns,
        })
    }

    fn sample(&mut self, dumped: &DumpedThread, at_ns: u64) -> io::Result<()> {
        let log = &mut self.importer.log;
        let lane = *self.lane.get_or_insert_with(|| log.lane(dumped.thread));
        log.switch(lane, dumped.thread)?;
        let sample = Sample {
            delta_ns: 0,
            // A sample is one: it stands for no time.
            wall_ns: 1,
            cpu_ns: 0,
            count: 1,
            state: dumped.state.code(),
            stack: dumped.stack,
            kind: dumped.kind.map_or(0, |kind| u32::from(kind.code())),
            lock: dumped.lock,
            owner: dumped.told_owner(),
        };
        log.note(lane, at_ns, sample)?;
        let place = (dumped.stack, dumped.lock);
        let since = self.since.entry(dumped.thread).or_insert((place.0, place.1, at_ns));
        if (since.0, since.1) != place {
            *since = (place.0, place.1, at_ns);
        }
        Ok(())
    }

    fn thread(&mut self, thread: &RawThread) -> io::Result<u32> {
        let key = (thread.id, thread.tid.clone(), thread.name.clone());
        if let Some(&known) = self.threads.get(&key) {
            return Ok(known);
        }
        let daemon = if thread.is_daemon { thread_flag::DAEMON } else { 0 };
        let is_virtual = if thread.is_virtual { thread_flag::VIRTUAL } else { 0 };
        // Readers tell threads apart by these.
        let unnumbered = (1 << 40) + self.threads.len() as u64;
        let java_id = thread.id.unwrap_or(unnumbered);
        let number = self.importer.log.thread(java_id, &thread.name, "", daemon | is_virtual)?;
        self.threads.insert(key, number);
        Ok(number)
    }

    fn lock(&mut self, lock: &RawLock) -> io::Result<u32> {
        if let Some(&known) = self.locks.get(lock) {
            return Ok(known);
        }
        let log = &mut self.importer.log;
        let of_class = lock.class.strip_prefix("java.lang.Class for ");
        let class = of_class.map_or(lock.class.as_str(), |_| "java.lang.Class");
        let class = log.class(&class.replace('.', "/"), "")?;
        let number = log.lock(class)?;
        if let Some(class) = of_class {
            log.lock_name(number, &format!("{class}.class"))?;
        }
        self.locks.insert(lock.clone(), number);
        Ok(number)
    }

    fn stack(&mut self, numbers: &[u32], frames: &FrameTable) -> io::Result<u32> {
        let most = MAX_DEPTH as usize - 2;
        let is_cut = numbers.len() > most;
        let mut stack = if is_cut { id::CUT_STACK } else { id::EMPTY_STACK };
        for &number in numbers.get(..most.min(numbers.len())).unwrap_or_default().iter().rev() {
            let (method, line) = self.frame(number, frames)?;
            stack = self.importer.log.stack(stack, method, line)?;
        }
        Ok(stack)
    }

    fn frame(&mut self, number: u32, frames: &FrameTable) -> io::Result<(u32, u32)> {
        if let Some(&known) = self.frames.get(&number) {
            return Ok(known);
        }
        let Some(frame) = frames.get(number) else { return Ok((id::UNKNOWN, 0)) };
        // A class is one, whichever of its frames says where its source is.
        let source = match self.sources.get(&frame.class) {
            Some(source) => source.clone(),
            None => {
                self.sources.insert(frame.class.clone(), frame.source.clone());
                frame.source.clone()
            }
        };
        let log = &mut self.importer.log;
        let class = log.class(&frame.class, &source)?;
        let known = (log.method(class, &frame.method, "", 0)?, frame.line);
        self.frames.insert(number, known);
        Ok(known)
    }

    /// Notes a damaged place.
    pub(super) fn add_damage(&mut self, offset: u64, what: &'static str) {
        self.importer.add_damage(offset, what, 0);
    }

    /// The recording.
    pub(super) fn finish(mut self, name: &str) -> Result<Recording, Error> {
        let io = |source| Error::Io { log: name.to_owned(), source };
        let last = self.dumps.last();
        self.importer.header.end_ns = last.map_or(1, |dump| dump.at_ns);
        for dumped in last.map_or(&[][..], |dump| &dump.threads) {
            let Some(kind) = dumped.kind else { continue };
            let pending = Pending {
                thread: dumped.thread,
                kind,
                stack: dumped.stack,
                lock: dumped.lock,
                owner: dumped.told_owner(),
                start_ns: self.since.get(&dumped.thread).map_or(0, |since| since.2),
                seen_ns: 0,
                flags: if dumped.reenters { flag::REENTERS } else { 0 },
            };
            self.importer.log.pending(&pending).map_err(io)?;
        }
        let count = ("dumps".to_owned(), self.dumps.len().to_string());
        self.importer.header.metadata.push(count);
        let lacks =
            Lacks { times: self.lacks_times, singles: true, durations: true, ..Lacks::default() };
        self.importer.set_lacks(lacks);
        let dumps = self.dumps;
        let recording = self.importer.finish()?;
        Ok(Recording { dumps, ..recording })
    }
}

/// The threads of the JVM's section on deadlocks.
fn told(raw: &RawDump, numbers: &[u32]) -> Vec<u32> {
    let mut by_name: HashMap<&str, u32> = HashMap::new();
    for (thread, &number) in raw.threads.iter().zip(numbers) {
        by_name.entry(&thread.name).or_insert(number);
    }
    raw.told.iter().filter_map(|told| by_name.get(&*told.thread).copied()).collect()
}
