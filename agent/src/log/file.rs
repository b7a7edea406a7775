//! The log's file: allocated ahead, mapped, and carved into chunks.

use super::{
    chunk::{Chunk, Place},
    region::{self, Region},
};
use crate::{
    clock,
    sync::{lock, try_lock_for},
};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex,
        atomic::{
            AtomicBool,
            Ordering::{Relaxed, Release},
        },
    },
    time::Duration,
};
use tyrion_wire::{
    chunk::{ChunkHeader, ChunkKind},
    header::{self, Header, State},
};

/// The file grows by this many bytes.
const SEGMENT: u64 = 4 << 20;
/// So many bytes ahead of the last chunk are allocated and mapped.
const AHEAD: u64 = 2 * SEGMENT;

/// A log that is being written.
pub struct LogFile {
    path: PathBuf,
    file: File,
    region: Region,
    header: Place,
    carve: Mutex<Carve>,
    /// Held while the file changes its length.
    growth: Mutex<()>,
    sealed: Mutex<Vec<Chunk>>,
    wake: Condvar,
    dead: AtomicBool,
    closed: AtomicBool,
}

/// What chunks are carved from. Offsets are from the file's start, in bytes.
struct Carve {
    at: u64,
    mapped: u64,
    closed: bool,
    /// Chunks in use, by segment; `None` once the segment is unmapped.
    live: Vec<Option<u32>>,
}

/// Opens the file that a log is written to.
///
/// A file that a living JVM writes to is left alone, and so is any existing
/// one unless `overwrite`: then the process id goes into the name.
///
/// # Errors
/// As `open(2)`, or when the path names something else than a regular file.
pub fn create(path: &Path, overwrite: bool) -> io::Result<(File, PathBuf)> {
    let open = |path: &Path| OpenOptions::new().read(true).write(true).create_new(true).open(path);
    let existing = match open(path) {
        Ok(file) => return locked(file, path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => path,
        Err(error) => return Err(error),
    };
    if !std::fs::metadata(existing)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if !is_log_or_empty(existing)? {
        return Err(io::Error::other("exists and is no Tyrion log; not replaced"));
    }
    let free = OpenOptions::new().write(true).open(existing)?.try_lock().is_ok();
    if overwrite && free {
        // A new file instead of truncating: whoever reads the old log keeps it.
        std::fs::remove_file(existing)?;
        return locked(open(existing)?, existing);
    }
    let mut name = existing.file_stem().unwrap_or_default().to_os_string();
    name.push(format!(".{}", std::process::id()));
    if let Some(extension) = existing.extension() {
        name.push(".");
        name.push(extension);
    }
    let own = existing.with_file_name(name);
    locked(open(&own)?, &own)
}

fn is_log_or_empty(path: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    File::open(path)?.take(header::MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok(first.is_empty() || first == header::MAGIC)
}

fn locked(file: File, path: &Path) -> io::Result<(File, PathBuf)> {
    // Only a sign for others; file systems without locks work too.
    let _ = file.try_lock();
    Ok((file, std::path::absolute(path)?))
}

impl LogFile {
    /// Starts a log in an empty file.
    ///
    /// # Errors
    /// When the file cannot be allocated or mapped.
    pub fn start(file: File, path: PathBuf, header: &Header) -> io::Result<LogFile> {
        let block = header.encode(crc32fast::hash);
        let region = Region::reserve()?;
        let first = block.len() as u64;
        let mapped = (first + AHEAD).next_multiple_of(SEGMENT);
        allocate(&file, 0, mapped)?;
        region::guard(region)?;
        region.map_file(&file, 0, mapped)?;
        // SAFETY: the header block was just mapped and stays so: its segment
        // counts as live below.
        let place = unsafe {
            std::ptr::copy_nonoverlapping(block.as_ptr(), region.at(0), block.len());
            Place::new(region.at(0))
        };
        place.u64_at(header::field::USED_LEN).store(first, Release);
        let mut live = vec![Some(0); (mapped / SEGMENT) as usize];
        live[0] = Some(1);
        Ok(LogFile {
            path,
            file,
            region,
            header: place,
            carve: Mutex::new(Carve { at: first, mapped, closed: false, live }),
            growth: Mutex::new(()),
            sealed: Mutex::new(Vec::new()),
            wake: Condvar::new(),
            dead: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }

    /// The log's path, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The header block, for the fields that change.
    pub fn header(&self) -> Place {
        self.header
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
            Chunk::new(base, len, offset)
        };
        for segment in segments(offset, end) {
            if let Some(Some(count)) = carve.live.get_mut(segment) {
                *count += 1;
            }
        }
        carve.at = end;
        self.header.u64_at(header::field::USED_LEN).store(end, Release);
        if carve.mapped - carve.at < AHEAD {
            self.wake.notify_one();
        }
        Some(chunk)
    }

    /// Takes a chunk that is full: it is sealed and unmapped later.
    pub fn retire(&self, chunk: Chunk) {
        lock(&self.sealed).push(chunk);
    }

    /// Whether the log can no longer be written on.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Relaxed)
    }

    /// Whether the log has ended in an orderly way.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Says in the log whether recording is on, unless the log has ended.
    pub fn set_state(&self, state: State) {
        let carve = lock(&self.carve);
        if !carve.closed {
            self.header.u32_at(header::field::STATE).store(state as u32, Release);
        }
    }

    /// Ends the log in an orderly way and cuts the file to its used length.
    /// Threads may go on writing into the chunks that they have.
    pub fn close(&self) {
        // A disk that hangs shall not hang the JVM's end: then the file stays
        // as long as it is.
        let growth = try_lock_for(&self.growth, Duration::from_secs(1));
        let mut carve = lock(&self.carve);
        if std::mem::replace(&mut carve.closed, true) {
            return;
        }
        self.closed.store(true, Relaxed);
        self.header.u64_at(header::field::END_NS).store(clock::now_ns(), Relaxed);
        self.header.u32_at(header::field::STATE).store(State::Closed as u32, Release);
        // Not fatal: the reader knows the used length from the header.
        if growth.is_some() {
            let _ = self.file.set_len(carve.at);
        }
    }

    /// What the helper thread does for ever: allocates and maps ahead, seals
    /// what is full, and looks whether the file is still there. Returns when
    /// the log is closed, or with the reason why it cannot be written on.
    pub fn keep(&self) -> Option<String> {
        loop {
            {
                let carve = lock(&self.carve);
                let enough = carve.mapped - carve.at >= AHEAD;
                if enough && !carve.closed {
                    let waited = self.wake.wait_timeout(carve, Duration::from_millis(200));
                    drop(waited);
                }
            }
            if lock(&self.carve).closed {
                return None;
            }
            if let Err(reason) = self.check_file().and_then(|()| self.grow()) {
                self.give_up();
                return Some(reason);
            }
            self.seal_retired();
        }
    }

    fn check_file(&self) -> Result<(), String> {
        if region::faulted() {
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

    fn grow(&self) -> Result<(), String> {
        let _growth = lock(&self.growth);
        loop {
            let (at, mapped, closed) = {
                let carve = lock(&self.carve);
                (carve.at, carve.mapped, carve.closed)
            };
            if closed || mapped - at >= AHEAD {
                return Ok(());
            }
            if mapped + SEGMENT > region::LEN as u64 {
                return Err("the log has reached its greatest length, 256 GiB".to_owned());
            }
            allocate(&self.file, mapped, SEGMENT)
                .and_then(|()| self.region.map_file(&self.file, mapped, SEGMENT))
                .map_err(|error| error.to_string())?;
            let mut carve = lock(&self.carve);
            carve.mapped = mapped + SEGMENT;
            carve.live.push(Some(0));
        }
    }

    /// Recording stops for good; what was written stays.
    pub fn give_up(&self) {
        self.dead.store(true, Relaxed);
        let mut carve = lock(&self.carve);
        carve.closed = true;
        self.header.u32_at(header::field::STATE).store(State::Broken as u32, Release);
    }

    fn seal_retired(&self) {
        let retired = std::mem::take(&mut *lock(&self.sealed));
        for chunk in &retired {
            chunk.seal();
        }
        let done = self.release(&retired);
        // Outside the lock: unmapping takes time that writers would wait for.
        for segment in done {
            self.region.unmap(segment as u64 * SEGMENT, SEGMENT);
        }
    }

    /// Counts the chunks out of their segments: the segments that nothing
    /// points to any more.
    fn release(&self, chunks: &[Chunk]) -> Vec<usize> {
        let mut carve = lock(&self.carve);
        for chunk in chunks {
            let (offset, len) = chunk.extent();
            for segment in segments(offset, offset + len) {
                if let Some(Some(count)) = carve.live.get_mut(segment) {
                    *count -= 1;
                }
            }
        }
        let carved = (carve.at / SEGMENT) as usize;
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

fn segments(offset: u64, end: u64) -> std::ops::RangeInclusive<usize> {
    (offset / SEGMENT) as usize..=((end - 1) / SEGMENT) as usize
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

    fn header() -> Header {
        Header {
            version: header::VERSION,
            header_len: 0,
            wall_ns: 1,
            mono_ns: 1,
            end_ns: 0,
            used_len: 0,
            state: State::Recording,
            pid: 1,
            threshold_ns: 0,
            depth: 1,
            dropped_contention: 0,
            dropped_other: 0,
            metadata: Vec::new(),
        }
    }

    #[test]
    fn chunks_stand_back_to_back_and_close_cuts_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let (file, path) = create(&dir.path().join("a.log"), true).unwrap();
        let log = LogFile::start(file, path.clone(), &header()).unwrap();
        let mut first = log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
        let second = log.carve(ChunkKind::Cells, 8192, Writer::default()).unwrap();
        assert!(first.append(b"abc"));
        assert_eq!(second.extent(), (8192, 8192));
        log.retire(first);
        log.seal_retired();
        log.close();
        assert!(log.carve(ChunkKind::Events, 4096, Writer::default()).is_none());
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(bytes.len(), 16384);
        let read = ChunkHeader::decode(&bytes[4096..]).unwrap();
        assert_eq!((read.committed, read.checksum), (3, crc32fast::hash(b"abc")));
        assert_eq!(Header::decode(&bytes).unwrap().state, State::Closed);
    }

    #[test]
    fn the_file_grows_and_full_segments_are_unmapped() {
        let dir = tempfile::tempdir().unwrap();
        let (file, path) = create(&dir.path().join("a.log"), true).unwrap();
        let log = LogFile::start(file, path, &header()).unwrap();
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
    fn a_file_in_use_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("a.log");
        let (first, path) = create(&wanted, true).unwrap();
        assert_eq!(path, wanted);
        let (_second, path) = create(&wanted, true).unwrap();
        assert!(path.to_string_lossy().ends_with(&format!("a.{}.log", std::process::id())));
        std::fs::remove_file(path).unwrap();
        drop(first);
        assert_eq!(create(&wanted, true).unwrap().1, wanted);
        assert_ne!(create(&wanted, false).unwrap().1, wanted);
        std::fs::write(&wanted, "precious").unwrap();
        assert!(create(&wanted, true).is_err(), "no log, so it is not replaced");
        assert!(create(Path::new("/dev/null"), true).is_err());
    }

    #[test]
    fn a_truncated_file_ends_the_log_but_not_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let (file, path) = create(&dir.path().join("a.log"), true).unwrap();
        let log = LogFile::start(file, path.clone(), &header()).unwrap();
        let mut chunk = log.carve(ChunkKind::Events, 4096, Writer::default()).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert!(chunk.append(b"abc"), "survives the SIGBUS");
        assert!(log.keep().unwrap().contains("truncated"));
        assert!(log.is_dead());
        assert!(log.carve(ChunkKind::Events, 4096, Writer::default()).is_none());
    }
}
