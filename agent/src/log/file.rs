//! One file of the log: allocated ahead, mapped, and carved into chunks.

mod room;

pub use room::{RETRY, Trouble};

use super::{
    chunk::{Chunk, FIRST_CHUNK, LONGEST_CHUNK, MappedCell},
    region::{MAX_LEN, Region},
    seal,
};
use crate::sync::{lock, try_lock_for};
use room::{Growth, allocate};
use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{
            AtomicBool,
            Ordering::{Relaxed, Release},
        },
    },
    time::Duration,
};
use tyrion_wire::{
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN},
    header::{self, BLOCK, Header, RecordingState},
};

/// The file grows by this many bytes, if it has no limit or a great one.
const SEGMENT: u64 = 4 << 20;
/// By so many at least.
const LEAST_SEGMENT: u64 = 512 << 10;
/// How far a file may exceed its intended length if no other can be created.
const SPARE: usize = 64 << 20;
/// The end of what is mapped is for definitions of pauses alone: they are needed
/// when there is no room for anything else.
const RESERVE: usize = BLOCK;

/// How long a file becomes, and what follows from that.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// The intended length, approximately.
    limit: Option<u64>,
    /// It grows by this many bytes.
    segment: u64,
    /// The number of bytes allocated and mapped ahead of the last chunk.
    ahead: u64,
    /// The longest chunk: in a short file chunks are short, too.
    longest_chunk: usize,
    /// Longer it never becomes.
    longest: usize,
}

impl Sizes {
    fn new(limit: Option<u64>) -> Sizes {
        let segment = limit.map_or(SEGMENT, |limit| {
            (limit / 16).next_power_of_two().clamp(LEAST_SEGMENT, SEGMENT)
        });
        let longest_chunk = limit.map_or(LONGEST_CHUNK, |limit| {
            let share = usize::try_from(limit / 16).unwrap_or(LONGEST_CHUNK);
            (share / BLOCK * BLOCK).clamp(FIRST_CHUNK, LONGEST_CHUNK)
        });
        // Cells that Java code knows keep the addresses of each file that has
        // ended: there are not enough for ever with 256 GiB each.
        let longest = limit.and_then(|limit| usize::try_from(limit.saturating_mul(2)).ok());
        let longest = longest.map_or(MAX_LEN, |len| len.saturating_add(SPARE).min(MAX_LEN));
        Sizes { limit, segment, ahead: 2 * segment, longest_chunk, longest }
    }

    /// The same in a range of so many addresses, which may be fewer than wished for: a
    /// file that another one follows then ends when half of them are used.
    fn within(mut self, len: usize) -> Sizes {
        if len < self.longest {
            self.limit = self.limit.map(|limit| limit.min(len as u64 / 2));
            self.longest = len;
        }
        self
    }
}

/// A file of the log that is being written.
pub struct LogFile {
    file: File,
    region: Arc<Region>,
    header: MappedCell,
    sizes: Sizes,
    /// Where the first chunk stands.
    first: u64,
    carve: Mutex<Carve>,
    /// Held while the file changes its length.
    growth: Mutex<Growth>,
    sealed: Mutex<Vec<Chunk>>,
    wake: Condvar,
    closed: AtomicBool,
}

/// What chunks are carved from. Offsets are from the file's start, in bytes.
struct Carve {
    at: u64,
    mapped: u64,
    /// The intended length.
    full_at: u64,
    closed: bool,
    /// Chunks in use, by segment; `None` once the segment is unmapped.
    live: Vec<Option<u32>>,
}

impl LogFile {
    /// Starts a log in an empty file, that shall become about `limit` bytes long.
    ///
    /// # Errors
    /// When the file cannot be allocated or mapped.
    pub fn start(file: File, header: &Header, limit: Option<u64>) -> io::Result<LogFile> {
        let block = header.encode(crc32fast::hash);
        let sizes = Sizes::new(limit);
        let region = Arc::new(Region::reserve(sizes.longest)?);
        let sizes = sizes.within(region.length());
        let first = block.len() as u64;
        let mapped = (first + sizes.ahead).next_multiple_of(sizes.segment);
        allocate(&file, 0, mapped)?;
        region.map_file(&file, 0, mapped)?;
        let mut live = vec![Some(0); (mapped / sizes.segment) as usize];
        // The header block, which stays mapped.
        for segment in sizes.segments(0, first) {
            live[segment] = Some(1);
        }
        let full_at = sizes.limit.unwrap_or(u64::MAX);
        // SAFETY: the header block was just mapped and stays so, as `live` says.
        let cell = unsafe { MappedCell::new(Arc::clone(&region), 0, block.len()) };
        let log = LogFile {
            file,
            region,
            header: cell,
            sizes,
            first,
            carve: Mutex::new(Carve { at: first, mapped, full_at, closed: false, live }),
            growth: Mutex::default(),
            sealed: Mutex::new(Vec::new()),
            wake: Condvar::new(),
            closed: AtomicBool::new(false),
        };
        log.put_header(&block);
        Ok(log)
    }

    /// Writes the header block once more, for a file that was prepared some
    /// time ago; before anybody else knows the file. The metadata must be as
    /// long as before.
    pub fn begin(&self, header: &Header) {
        let block = header.encode(crc32fast::hash);
        if block.len() as u64 == self.first {
            self.put_header(&block);
        }
    }

    fn put_header(&self, block: &[u8]) {
        // SAFETY: the block is as long as the header block, which is mapped,
        // and which nobody else knows yet.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), self.region.at(0), block.len()) };
        self.header.u64_at(header::field::USED_LEN).store(self.first, Release);
    }

    /// The header block, for the fields that change.
    pub fn header(&self) -> &MappedCell {
        &self.header
    }

    /// Has the limit count from here on, if half of it is used up: that is what
    /// the file before has left to this one.
    pub fn settle(&self) {
        let mut carve = lock(&self.carve);
        if let Some(limit) = self.sizes.limit {
            carve.full_at = limit.max(carve.at + limit / 2);
        }
    }

    /// How long a writer's chunk shall be that has had `carved` before it, and
    /// needs room for a payload of `least` bytes.
    pub fn chunk_len(&self, carved: u32, least: usize) -> usize {
        let len = (FIRST_CHUNK << carved.min(8)).min(self.sizes.longest_chunk);
        // The longest definition, a text, does not fit the shortest chunk.
        len.max((least + HEADER_LEN).next_multiple_of(BLOCK))
    }

    /// Carves a chunk of about `len` bytes; `None` when the file is full,
    /// closed or broken, or the helper has not kept up.
    pub fn carve(&self, kind: ChunkKind, len: usize, of: Writer) -> Option<Chunk> {
        self.carve_before(RESERVE, kind, len, of)
    }

    /// Carves a chunk of definitions from what is kept for them: once, until the
    /// file has become longer.
    pub fn carve_reserve(&self, of: Writer) -> Option<Chunk> {
        self.carve_before(0, ChunkKind::Definitions, RESERVE, of)
    }

    fn carve_before(&self, kept: usize, kind: ChunkKind, len: usize, of: Writer) -> Option<Chunk> {
        let mut carve = lock(&self.carve);
        if carve.closed || carve.at + (len + kept) as u64 > carve.mapped {
            self.wake.notify_one();
            return None;
        }
        let (offset, end) = (carve.at, carve.at + len as u64);
        let header = ChunkHeader {
            kind: kind as u8,
            flags: 0,
            len: len as u32,
            committed: 0,
            sequence: of.sequence,
            lane: of.lane,
            thread: of.thread,
            checksum: 0,
            first_ns: of.first_ns,
        };
        let base = self.region.at(offset);
        // SAFETY: `offset..end` is mapped (below `mapped`) and was never
        // carved before; the chunk becomes its only owner.
        let chunk = unsafe {
            let bytes = header.encode();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), base, bytes.len());
            Chunk::new(Arc::clone(&self.region), len, offset)
        };
        if matches!(kind, ChunkKind::Acquisitions | ChunkKind::AcquisitionsInBursts) {
            // Their addresses are given to Java code, which nobody can ask to
            // give them back.
            self.region.keep(offset, len as u64);
        }
        for segment in self.sizes.segments(offset, end) {
            if let Some(Some(count)) = carve.live.get_mut(segment) {
                *count += 1;
            }
        }
        carve.at = end;
        self.header.u64_at(header::field::USED_LEN).store(end, Release);
        if carve.mapped - carve.at < self.sizes.ahead || carve.is_nearly_full() {
            self.wake.notify_one();
        }
        Some(chunk)
    }

    /// Takes a chunk that is full: it is sealed and unmapped later. One with
    /// cells is left as it is, since they may still be changed.
    pub fn retire(&self, chunk: Chunk) {
        if !chunk.has_cells() {
            lock(&self.sealed).push(chunk);
        }
    }

    /// Whether the log has ended in an orderly way.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Whether it is as long as it shall become.
    pub fn is_full(&self) -> bool {
        lock(&self.carve).is_full()
    }

    /// Whether it soon will be, so that the next file should be prepared.
    pub fn is_nearly_full(&self) -> bool {
        lock(&self.carve).is_nearly_full()
    }

    /// Whether an address is within this file's mapping.
    pub fn contains(&self, address: u64) -> bool {
        self.region.contains(address)
    }

    /// Whether there are chunks whose addresses were given to Java code.
    pub fn is_known_to_java(&self) -> bool {
        self.region.keeps_any()
    }

    /// Says in the log whether recording is on, unless the log has ended.
    pub fn set_state(&self, state: RecordingState) {
        let carve = lock(&self.carve);
        if !carve.closed {
            self.header.u32_at(header::field::STATE).store(state as u32, Release);
        }
    }

    /// Ends the log in an orderly way and cuts the file to its used length.
    /// Threads may go on writing into the chunks that they have.
    pub fn close(&self, end_ns: u64) {
        // A disk that hangs shall not hang the JVM's end: then the file stays
        // as long as it is.
        let growth = try_lock_for(&self.growth, Duration::from_secs(1));
        let mut carve = lock(&self.carve);
        if std::mem::replace(&mut carve.closed, true) {
            return;
        }
        self.closed.store(true, Relaxed);
        self.header.u64_at(header::field::END_NS).store(end_ns, Relaxed);
        self.header.u32_at(header::field::STATE).store(RecordingState::Closed as u32, Release);
        // Not fatal: the reader knows the used length from the header.
        if growth.is_some() {
            let _ = self.file.set_len(carve.at);
        }
    }

    /// Says in the file that the recording goes on in another one.
    pub fn note_continued(&self) {
        self.header.u32_at(header::field::CONTINUED).store(1, Relaxed);
    }

    /// Ends the file because another one goes on, and seals all its chunks:
    /// once nobody writes definitions or events into it any more.
    pub fn finish(&self, end_ns: u64) {
        self.seal_retired();
        let (used, has_ended) = {
            let carve = lock(&self.carve);
            (carve.at, carve.closed)
        };
        if has_ended {
            // It was closed, or lost: then nothing is known of what is there by now.
            return;
        }
        // Not fatal either: what is not sealed has no checksum, that is all.
        let _ = seal::chunks(&self.file, self.first, used);
        self.close(end_ns);
    }

    /// Waits until there is something to do for the helper; not for the file
    /// to become full, unless it `may_switch`.
    pub fn wait(&self, patience: Duration, may_switch: bool) {
        let carve = lock(&self.carve);
        let enough = carve.mapped - carve.at >= self.sizes.ahead;
        let full = may_switch && carve.is_full();
        if enough && !full && !carve.closed {
            drop(self.wake.wait_timeout(carve, patience));
        }
    }

    /// What the helper does time and again: looks whether the file is still
    /// there, allocates and maps ahead, seals what is full.
    ///
    /// # Errors
    /// The reason why the file cannot be written on.
    pub fn tend(&self) -> Result<(), Trouble> {
        self.check_file()?;
        let grown = self.grow();
        self.seal_retired();
        grown
    }

    /// Whether no folder has it any more.
    pub fn is_deleted(&self) -> bool {
        !self.region.faulted() && self.file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }

    /// Whether the file is to be found by this path.
    pub fn is_at(&self, path: &Path) -> bool {
        let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let there = path.symlink_metadata().map(identity);
        let ours = self.file.metadata().map(identity);
        // One that does not tell of itself is not said to be elsewhere.
        ours.map_or(true, |ours| there.is_ok_and(|there| there == ours))
    }

    fn check_file(&self) -> Result<(), Trouble> {
        let broken = |reason: &str| Err(Trouble::Broken(reason.to_owned()));
        if self.region.faulted() {
            return broken("the file was truncated or its disk failed");
        }
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|error| Trouble::Broken(error.to_string()))?;
        if metadata.nlink() == 0 {
            return broken("the file was deleted");
        }
        if metadata.len() < lock(&self.carve).at {
            return broken("the file was truncated");
        }
        Ok(())
    }

    /// Allocates and maps ahead. Where there was no room a moment ago, it does not
    /// look again.
    ///
    /// # Errors
    /// The reason why the file cannot become longer.
    pub fn grow(&self) -> Result<(), Trouble> {
        let mut growth = lock(&self.growth);
        match growth.rests(|| room::may_hold(&self.file, self.sizes.segment)) {
            Some(reason) => Err(Trouble::NoRoom(reason)),
            None => growth.note(self.make_longer()),
        }
    }

    /// The same, and looks in any case.
    ///
    /// # Errors
    /// The reason why the file cannot become longer.
    pub fn grow_now(&self) -> Result<(), Trouble> {
        let mut growth = lock(&self.growth);
        growth.note(self.make_longer())
    }

    /// The length is not changed by two at a time.
    fn make_longer(&self) -> Result<(), Trouble> {
        let Sizes { segment, ahead, longest, .. } = self.sizes;
        loop {
            let (at, mapped, closed) = {
                let carve = lock(&self.carve);
                (carve.at, carve.mapped, carve.closed)
            };
            if closed || mapped - at >= ahead {
                return Ok(());
            }
            if mapped + segment > longest as u64 {
                return Err(Trouble::Broken(self.sizes.end()));
            }
            allocate(&self.file, mapped, segment).map_err(|error| Trouble::of(&error))?;
            self.region
                .map_file(&self.file, mapped, segment)
                .map_err(|error| Trouble::Broken(error.to_string()))?;
            let mut carve = lock(&self.carve);
            carve.mapped = mapped + segment;
            carve.live.push(Some(0));
        }
    }

    /// Nothing more is carved; what was written stays.
    pub fn give_up(&self) {
        let mut carve = lock(&self.carve);
        carve.closed = true;
        self.header.u32_at(header::field::STATE).store(RecordingState::Broken as u32, Release);
    }

    /// Seals the chunks that are full, and unmaps what nobody uses any more.
    pub fn seal_retired(&self) {
        let retired = std::mem::take(&mut *lock(&self.sealed));
        for chunk in &retired {
            chunk.seal();
        }
        let done = self.release(&retired);
        // Outside the lock: unmapping takes time that writers would wait for.
        for segment in done {
            self.region.unmap(segment as u64 * self.sizes.segment, self.sizes.segment);
        }
    }

    /// Counts the chunks out of their segments: the segments that nothing
    /// points to any more.
    fn release(&self, chunks: &[Chunk]) -> Vec<usize> {
        let mut carve = lock(&self.carve);
        for chunk in chunks {
            let (offset, len) = chunk.extent();
            for segment in self.sizes.segments(offset, offset + len) {
                if let Some(Some(count)) = carve.live.get_mut(segment) {
                    *count -= 1;
                }
            }
        }
        let carved = (carve.at / self.sizes.segment) as usize;
        let mut done = Vec::new();
        for (segment, live) in carve.live.iter_mut().take(carved).enumerate() {
            if *live == Some(0) {
                *live = None;
                done.push(segment);
            }
        }
        done
    }
}

/// Whose chunk is carved: the fields that its header takes from the writer.
#[derive(Clone, Copy, Default)]
pub struct Writer {
    /// Number of the chunk among the writer's.
    pub sequence: u32,
    /// The lane, 0 for none.
    pub lane: u32,
    /// The thread that the chunk begins with, 0 for none.
    pub thread: u32,
    /// The time from which its first record counts, in ns.
    pub first_ns: u64,
}

impl Sizes {
    /// Why the file becomes no longer.
    fn end(&self) -> String {
        let mib = self.longest >> 20;
        let few = self.longest < MAX_LEN && self.limit.is_none();
        let why = if few { ": it gets no more addresses (ulimit -v)" } else { "" };
        format!("the file has reached its greatest length, {mib} MiB{why}")
    }

    /// The segments that a piece of the file lies in.
    fn segments(&self, offset: u64, end: u64) -> std::ops::RangeInclusive<usize> {
        (offset / self.segment) as usize..=((end - 1) / self.segment) as usize
    }
}

impl Carve {
    fn is_full(&self) -> bool {
        self.at >= self.full_at
    }

    /// Whether three quarters are used.
    fn is_nearly_full(&self) -> bool {
        self.at >= self.full_at - self.full_at / 4
    }
}

#[cfg(test)]
mod tests;
