//! Reads a log while it grows: each time what is new, and only that.

mod cells;
mod stream;

use super::{facts, load, scan, unread};
use crate::{
    bytes::Bytes,
    damage::{Damage, DamageList, Fault},
    error::Error,
    file::open_regular,
    recording::{ChunkRef, Definitions, Entry, Events, Recording, state},
};
pub use cells::{AcquisitionChange, CellChange};
use cells::{AcquisitionChunk, CellChunk};
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    path::Path,
};
use stream::ChunkStream;
use tyrion_wire::{
    chunk::{ChunkKind, HEADER_LEN},
    header::{BLOCK, Header},
};

/// Which waits a [`Follower`] tells that had ended before it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// All of them: from the log's start.
    Start,
    /// Those that ended at this monotonic time (ns) or later. What is older is
    /// passed over by its chunk headers, so that a log of gigabytes is not read
    /// for it. Cells that began earlier, and all acquisitions, count from now
    /// on.
    At(u64),
}

/// What cells have counted since the last look.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Of folded waits.
    pub cells: Vec<CellChange>,
    /// Of acquisitions.
    pub acquisitions: Vec<AcquisitionChange>,
}

/// Reads on in a log that is being written: every wait is told once.
///
/// Unlike a [`Recording`] that was opened it never looks behind the length that the header vouches
/// for, which is where the agent cuts the file at its end.
#[derive(Debug)]
pub struct Follower {
    log: Recording,
    header: Header,
    file: File,
    begin: Begin,
    /// Where the next chunk will stand.
    end: usize,
    definitions: Vec<ChunkStream>,
    events: Vec<ChunkStream>,
    cells: Vec<CellChunk>,
    acquisitions: Vec<AcquisitionChunk>,
    newest: Newest,
    damage: DamageList,
    looked: bool,
    last_ns: u64,
}

/// The sequence of the newest chunk of each kind and lane.
type Newest = HashMap<(ChunkKind, u32), u32>;

/// Whether another chunk goes on where this one ended: nothing more is
/// appended to it.
fn is_superseded(newest: &Newest, kind: ChunkKind, chunk: &ChunkRef) -> bool {
    newest.get(&(kind, chunk.lane)).is_some_and(|&newest| newest > chunk.sequence)
}

impl Follower {
    /// Opens a log, a regular file, and reads its header. It stays mapped, with
    /// what [`Recording::open`] says of files that are cut short meanwhile.
    ///
    /// # Errors
    /// When the file cannot be read, or is no log.
    pub fn open(path: &Path, begin: Begin) -> Result<Follower, Error> {
        let name = path.display().to_string();
        match open_regular(path) {
            Ok(file) => Follower::from_file(&name, file, begin),
            Err(source) => Err(Error::Io { log: name, source }),
        }
    }

    /// As [`Follower::open`], of a file that is open already; `name` stands in
    /// messages.
    ///
    /// # Errors
    /// As [`Follower::open`].
    pub fn from_file(name: &str, file: File, begin: Begin) -> Result<Follower, Error> {
        let (header, log) = unread(name, map(name, &file)?)?;
        let mut damage = DamageList::new(log.name.clone());
        log.damage.iter().for_each(|known| damage.add(known.offset, known.fault.clone(), 0));
        Ok(Follower {
            end: header.header_len as usize,
            last_ns: header.mono_ns,
            log,
            header,
            file,
            begin,
            definitions: Vec::new(),
            events: Vec::new(),
            cells: Vec::new(),
            acquisitions: Vec::new(),
            newest: HashMap::new(),
            damage,
            looked: false,
        })
    }

    /// The recording as of the last look: its facts, definitions, pending waits and
    /// counters. It lists no chunks, so it has no end of its own either; see
    /// [`Follower::last_ns`].
    pub fn recording(&self) -> &Recording {
        &self.log
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The last moment that anything in what was read tells of, monotonic ns.
    pub fn last_ns(&self) -> u64 {
        self.last_ns.max(self.header.end_ns)
    }

    /// What was found damaged so far. That the file is shorter than its header
    /// says is told as long as it is so.
    pub fn damage(&self) -> Vec<Damage> {
        let mut list = self.damage.clone();
        let (used, len) = (self.header.used_len, self.log.bytes.len() as u64);
        if used > len {
            list.add(len, Fault::Cut, used - len);
        }
        list.into_vec()
    }

    /// Reads what is new: hands what was recorded one by one to `take`, by
    /// lane and in order of time within a lane, and returns what cells have
    /// counted. `now_ns` is the time on the log's clock; it tells which cells
    /// will not change any more.
    ///
    /// # Errors
    /// When the file cannot be mapped any more, or is no log now.
    pub fn read_on(
        &mut self,
        now_ns: u64,
        mut take: impl FnMut(Entry<'_>),
    ) -> Result<Changes, Error> {
        let changes = self.look(now_ns)?;
        self.tell(&mut take)?;
        Ok(changes)
    }

    /// Looks how far everything was written that refers to definitions.
    fn look(&mut self, now_ns: u64) -> Result<Changes, Error> {
        self.find_chunks()?;
        if !self.looked {
            self.pass_over_old(now_ns);
        }
        for stream in &mut self.events {
            let superseded = is_superseded(&self.newest, ChunkKind::Events, stream.chunk());
            stream.look(&self.log.bytes, superseded);
        }
        let changes = self.count(now_ns);
        self.read_state();
        Ok(changes)
    }

    /// Reads definitions, and then the records up to where they were looked at.
    fn tell(&mut self, take: &mut dyn FnMut(Entry<'_>)) -> Result<(), Error> {
        self.find_chunks()?;
        self.read_definitions();
        self.read_events(take);
        self.looked = true;
        Ok(())
    }

    /// Takes the header up, and the chunks that were carved since the last time.
    fn find_chunks(&mut self) -> Result<(), Error> {
        let metadata = self.file.metadata();
        let io = |source| Error::Io { log: self.log.name.to_string(), source };
        if metadata.map_err(io)?.len() != self.log.bytes.len() as u64 {
            self.log.bytes = map(&self.log.name, &self.file)?;
        }
        // What is damaged of the header was told when it was read first.
        let mut told = DamageList::new(self.log.name.clone());
        self.header = load::header(&self.log.bytes, &self.log.name, &mut told)?;
        self.log.facts = facts(self.header.clone());
        let used = usize::try_from(self.header.used_len).unwrap_or(usize::MAX);
        let used = used.min(self.log.bytes.len());
        while self.end + HEADER_LEN <= used {
            let (at, source) = (self.end, &self.log.bytes);
            if let Some(header) = scan::header_at(source, at) {
                self.end = scan::end_of(source, at, &header, &mut self.damage);
                let chunk = ChunkRef::new(at, &header, source.len());
                if let Some(kind) = ChunkKind::from_code(header.kind) {
                    self.add(kind, chunk);
                }
            } else {
                self.end = scan::find_chunk(source, at + BLOCK, used).unwrap_or(used);
                self.damage.add(at as u64, Fault::NoChunk, (self.end - at) as u64);
            }
        }
        Ok(())
    }

    fn add(&mut self, kind: ChunkKind, chunk: ChunkRef) {
        let newest = self.newest.entry((kind, chunk.lane)).or_default();
        *newest = chunk.sequence.max(*newest);
        match kind {
            ChunkKind::Definitions => self.definitions.push(ChunkStream::new(chunk)),
            ChunkKind::Events => self.events.push(ChunkStream::new(chunk)),
            ChunkKind::Cells => self.cells.push(CellChunk::new(chunk)),
            ChunkKind::Acquisitions | ChunkKind::AcquisitionsInBursts => {
                self.acquisitions.push(AcquisitionChunk::new(chunk));
            }
            ChunkKind::Slots => self.log.chunks.slots.push(chunk),
            ChunkKind::Counters => self.log.chunks.counters.push(chunk),
        }
    }

    /// Forgets the chunks that hold only what is older than wanted. Times do
    /// not go back within a lane, so all of a chunk is older than the time from
    /// which the next one counts; and a lane's cells are of ascending age.
    fn pass_over_old(&mut self, now_ns: u64) {
        let Begin::At(since_ns) = self.begin else { return };
        let mut next_ns: HashMap<u32, u64> = HashMap::new();
        let mut events = std::mem::take(&mut self.events);
        events.reverse();
        events.retain(|stream| {
            let chunk = stream.chunk();
            let next_ns = next_ns.insert(chunk.lane, chunk.first_ns);
            next_ns.is_none_or(|next_ns| next_ns >= since_ns)
        });
        events.reverse();
        self.events = events;
        let mut done = HashSet::new();
        let mut cells = std::mem::take(&mut self.cells);
        cells.reverse();
        cells.retain_mut(|chunk| {
            let lane = chunk.chunk().lane;
            let wanted = !done.contains(&lane);
            if wanted && chunk.pass_over(&self.log.bytes, since_ns, now_ns) {
                done.insert(lane);
            }
            wanted
        });
        cells.reverse();
        self.cells = cells;
        for chunk in &mut self.acquisitions {
            chunk.changes(&self.log.bytes, &mut Vec::new());
        }
    }

    fn count(&mut self, now_ns: u64) -> Changes {
        let (source, newest) = (&self.log.bytes, &self.newest);
        let mut changes = Changes::default();
        self.cells.retain_mut(|chunk| {
            chunk.changes(source, &mut changes.cells);
            let superseded = is_superseded(newest, ChunkKind::Cells, chunk.chunk());
            !(superseded && chunk.is_final(now_ns))
        });
        for chunk in &mut self.acquisitions {
            chunk.changes(source, &mut changes.acquisitions);
        }
        let ends = changes.cells.iter().map(|change| change.cell.last_ns);
        self.last_ns = ends.fold(self.last_ns, u64::max);
        changes
    }

    /// Waits that have not ended, and counters, as they are now.
    fn read_state(&mut self) {
        let Recording { bytes: source, chunks, pending, counters, .. } = &mut self.log;
        for chunk in chunks.slots.iter_mut().chain(&mut chunks.counters) {
            stream::refresh(chunk, source);
        }
        *pending = state::pending(source, &chunks.slots);
        *counters = state::counters(source, &chunks.counters);
        let starts = pending.iter().map(|pending| pending.start_ns);
        self.last_ns = starts.fold(self.last_ns, u64::max);
    }

    fn read_definitions(&mut self) {
        let Follower { log, definitions, newest, damage, .. } = self;
        let Recording { bytes: source, definitions: known, .. } = log;
        definitions.retain_mut(|stream| {
            let superseded = is_superseded(newest, ChunkKind::Definitions, stream.chunk());
            stream.look(source, superseded);
            read_definitions(stream, source, known, damage);
            !stream.is_done()
        });
        self.last_ns = self.last_ns.max(self.log.definitions.last_at_ns);
    }

    fn read_events(&mut self, take: &mut dyn FnMut(Entry<'_>)) {
        let Follower { log, events, damage, last_ns, .. } = self;
        // What had ended before this one came is left out once.
        let since_ns = match self.begin {
            Begin::At(since_ns) if !self.looked => since_ns,
            _ => 0,
        };
        events.retain_mut(|stream| {
            read_events(stream, log, since_ns, damage, take);
            if stream.has_read() {
                *last_ns = stream.now_ns().max(*last_ns);
            }
            !stream.is_done()
        });
    }
}

fn map(name: &str, file: &File) -> Result<Bytes, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        let what = "not a regular file; name a log's file";
        return Err(Error::NoInput { log: name.to_owned(), what });
    }
    let len = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if len == 0 {
        return Err(Error::Empty { log: name.to_owned() });
    }
    Bytes::map(file, len).map_err(io)
}

fn read_definitions(
    stream: &mut ChunkStream,
    source: &Bytes,
    known: &mut Definitions,
    damage: &mut DamageList,
) {
    let Some((rest, payload)) = stream.rest(source, ChunkKind::Definitions, damage) else { return };
    let end = load::read_chunk(&rest, payload, damage, |found| known.add(&found));
    stream.advance(end, stream.thread(), 0);
}

fn read_events(
    stream: &mut ChunkStream,
    log: &Recording,
    since_ns: u64,
    damage: &mut DamageList,
    take: &mut dyn FnMut(Entry<'_>),
) {
    let Some((rest, payload)) = stream.rest(&log.bytes, ChunkKind::Events, damage) else { return };
    let mut events = Events::new(payload, rest, &log.name);
    events.visit_all(|entry| {
        if entry.at_ns() >= since_ns {
            take(entry);
        }
    });
    if let Some(torn) = events.damage() {
        damage.add(torn.offset, torn.fault, torn.skipped);
    }
    stream.advance(events.offset(), events.thread(), events.now_ns());
}

#[cfg(test)]
mod tests;
