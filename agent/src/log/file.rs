//! One file of the log: allocated ahead, mapped, and carved into chunks.

use super::{
    chunk::{Chunk, FIRST_CHUNK, LONGEST_CHUNK, MappedCell},
    region::{MAX_LEN, Region},
    seal,
};
use crate::sync::{lock, try_lock_for};
use std::{
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
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
    growth: Mutex<()>,
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
        let first = block.len() as u64;
        let mapped = (first + sizes.ahead).next_multiple_of(sizes.segment);
        allocate(&file, 0, mapped)?;
        region.map_file(&file, 0, mapped)?;
        let mut live = vec![Some(0); (mapped / sizes.segment) as usize];
        // The header block, which stays mapped.
        for segment in sizes.segments(0, first) {
            live[segment] = Some(1);
        }
        let full_at = limit.unwrap_or(u64::MAX);
        // SAFETY: the header block was just mapped and stays so, as `live` says.
        let cell = unsafe { MappedCell::new(Arc::clone(&region), 0, block.len()) };
        let log = LogFile {
            file,
            region,
            header: cell,
            sizes,
            first,
            carve: Mutex::new(Carve { at: first, mapped, full_at, closed: false, live }),
            growth: Mutex::new(()),
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
        let mut carve = lock(&self.carve);
        if carve.closed || carve.at + len as u64 > carve.mapped {
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
        if kind == ChunkKind::Acquisitions {
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
        let used = lock(&self.carve).at;
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
    pub fn tend(&self) -> Result<(), String> {
        self.check_file()?;
        self.grow()?;
        self.seal_retired();
        Ok(())
    }

    fn check_file(&self) -> Result<(), String> {
        if self.region.faulted() {
            return Err("the file was truncated or its disk failed".to_owned());
        }
        let metadata = self.file.metadata().map_err(|error| error.to_string())?;
        if metadata.nlink() == 0 {
            return Err("the file was deleted".to_owned());
        }
        if metadata.len() < lock(&self.carve).at {
            return Err("the file was truncated".to_owned());
        }
        Ok(())
    }

    /// Allocates and maps ahead.
    ///
    /// # Errors
    /// The reason why the file cannot become longer.
    pub fn grow(&self) -> Result<(), String> {
        let _growth = lock(&self.growth);
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
                let mib = longest >> 20;
                return Err(format!("the file has reached its greatest length, {mib} MiB"));
            }
            allocate(&self.file, mapped, segment)
                .and_then(|()| self.region.map_file(&self.file, mapped, segment))
                .map_err(|error| error.to_string())?;
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

/// Makes the file longer, with its blocks on the disk: a store into a hole
/// could find the disk full, and that is a SIGBUS.
fn allocate(file: &File, offset: u64, len: u64) -> io::Result<()> {
    // SAFETY: the descriptor is open; the kernel checks the rest.
    let failed = unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, len as i64) };
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::testing::header;
    use std::{path::Path, sync::atomic::AtomicU64};

    fn create(path: &Path) -> File {
        File::options().read(true).write(true).create_new(true).open(path).unwrap()
    }

    #[test]
    fn chunks_stand_back_to_back_and_close_cuts_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let log = LogFile::start(create(&path), &header(), None).unwrap();
        let mut first = log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
        let second = log.carve(ChunkKind::Cells, 8192, Writer::default()).unwrap();
        assert!(first.append(b"abc"));
        assert_eq!(second.extent(), (8192, 8192));
        log.retire(first);
        log.seal_retired();
        log.close(9);
        assert!(log.carve(ChunkKind::Events, 4096, Writer::default()).is_none());
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes.len(), 16384);
        let read = ChunkHeader::decode(&bytes[4096..]).unwrap();
        assert_eq!((read.committed, read.checksum), (3, crc32fast::hash(b"abc")));
        let header = Header::decode(&bytes).unwrap();
        assert_eq!((header.state, header.end_ns), (RecordingState::Closed, 9));
    }

    #[test]
    fn the_file_grows_and_full_segments_are_unmapped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let log = LogFile::start(create(&path), &header(), None).unwrap();
        for round in 0..600 {
            let chunk = log.carve(ChunkKind::Events, 65536, Writer::default());
            log.retire(chunk.unwrap_or_else(|| panic!("round {round}")));
            log.grow().unwrap();
            log.seal_retired();
        }
        let carve = lock(&log.carve);
        assert!(carve.live[0].is_some(), "the header block stays");
        assert!(carve.live[1..9].iter().all(Option::is_none));
    }

    #[test]
    fn a_truncated_file_ends_the_log_but_not_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let log = LogFile::start(create(&path), &header(), None).unwrap();
        let mut chunk = log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert!(chunk.append(b"abc"), "survives the SIGBUS");
        assert!(log.tend().unwrap_err().contains("truncated"));
        log.give_up();
        assert!(log.carve(ChunkKind::Events, 4096, Writer::default()).is_none());
    }

    #[test]
    fn a_finished_file_is_sealed_to_the_last_chunk() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let log = LogFile::start(create(&path), &header(), Some(65536)).unwrap();
        let kinds = [ChunkKind::Events, ChunkKind::Cells, ChunkKind::Definitions];
        let mut chunks = kinds.map(|kind| log.carve(kind, 4096, Writer::default()).unwrap());
        assert!(chunks.iter_mut().all(|chunk| chunk.append(b"abc")));
        assert!(!log.is_nearly_full());
        for _ in 0..12 {
            log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
        }
        assert!(log.is_full());
        log.finish(9);
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes.len(), 65536);
        let sealed = |nth: usize| {
            let chunk = ChunkHeader::decode(&bytes[4096 * (nth + 1)..]).unwrap();
            (chunk.flags, chunk.checksum)
        };
        let checksum = crc32fast::hash(b"abc");
        assert_eq!([sealed(0), sealed(1), sealed(2)], [(1, checksum), (0, 0), (1, checksum)]);
    }

    #[test]
    fn cells_keep_their_file_mapped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let log = LogFile::start(create(&path), &header(), Some(65536)).unwrap();
        let mut chunk = log.carve(ChunkKind::Cells, 4096, Writer::default()).unwrap();
        let cell = chunk.append_cell(&[0; 16]).unwrap();
        assert!(chunk.append_kept::<AtomicU64>(&[0; 8]).is_none(), "Java gets none of these");
        // It has cells, so its segment must stay.
        log.retire(chunk);
        while let Some(chunk) = log.carve(ChunkKind::Events, 4096, Writer::default()) {
            log.retire(chunk);
        }
        log.seal_retired();
        log.finish(9);
        drop(log);
        cell.u64_at(8).store(7, Relaxed);
        assert_eq!(std::fs::read(path).unwrap()[4096 + 64 + 8], 7);
        let outside = std::panic::AssertUnwindSafe(|| cell.u64_at(16).load(Relaxed));
        assert!(std::panic::catch_unwind(outside).is_err());
    }

    #[test]
    fn cells_that_java_knows_outlive_their_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let log = LogFile::start(create(&path), &header(), Some(65536)).unwrap();
        let mut chunk = log.carve(ChunkKind::Acquisitions, 8192, Writer::default()).unwrap();
        let cell = chunk.append_kept::<[AtomicU64; 32]>(&[0; 256]).unwrap();
        cell[2].store(7, Relaxed);
        log.finish(9);
        drop((chunk, log));
        // Java code may come late.
        cell[2].store(8, Relaxed);
        assert_eq!(cell[2].load(Relaxed), 8);
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes[4096 + 64 + 16], 7, "the file has the value of before");
    }
}
