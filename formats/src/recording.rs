//! A recording: what every input gives, and all that reads records asks.
//!
//! Its records are kept encoded as [`tyrion_wire`] does it, in chunks of a
//! thread each: an event log is mapped as it lies on disk, and what reads
//! another format encodes into memory ([`import`](crate::import)). So there is
//! one decoder, ten bytes or so a wait, and whoever reads a recording twice
//! decodes it twice without parsing the file again.

pub(crate) mod capabilities;
mod chunk;
mod collections;
mod definitions;
mod dumps;
mod entry;
mod events;
mod facts;
mod groups;
mod hold_mode;
mod kept;
mod modes;
mod options;
mod stacks;
pub(crate) mod state;
mod table;

pub use capabilities::{Capabilities, Lacks, Owners, ShortWaits};
pub use chunk::ChunkRef;
pub(crate) use chunk::Chunks;
pub use definitions::{
    ClassDef, Collection, Defined, Definitions, LockSite, MethodDef, ModeChange, Pause, Text,
    ThreadDef, ThreadSpan, WaitSite,
};
pub use dumps::{DumpedThread, HolderSource, ThreadDump};
pub use entry::{Entry, Event, Noted};
pub use events::{Events, Records, TakeRecords, visit_two};
pub use facts::Facts;
pub(crate) use groups::Groups;
pub use hold_mode::HoldMode;
pub use modes::{Aim, ModeSpan};
pub use options::OptionChange;
pub use stacks::{StackDef, Stacks};
pub use table::{DenseTable, SparseTable};

use crate::{
    bytes::Bytes,
    damage::{Damage, Fault},
};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    num::NonZeroU64,
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tyrion_wire::{
    cell::Cell,
    chunk::ChunkKind,
    slot::{Counters, Pending, Tally},
    trace::AcquisitionCell,
};

/// The bytes of chunks of events that were decoded since the program began.
static DECODED: AtomicU64 = AtomicU64::new(0);

/// How many bytes of chunks of events were decoded since the program began, whoever wanted
/// them: as often as all events were decoded so many times what the logs have.
pub fn decoded_bytes() -> u64 {
    DECODED.load(Relaxed)
}

/// What was recorded of one process: what it says of itself, what its ids stand
/// for, and where its records are.
#[derive(Debug)]
pub struct Recording {
    pub(crate) name: Arc<str>,
    pub(crate) bytes: Bytes,
    pub(crate) facts: Facts,
    pub(crate) chunks: Chunks,
    pub(crate) definitions: Definitions,
    pub(crate) pending: Vec<Pending>,
    pub(crate) counters: Vec<Counters>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) end_ns: OnceLock<u64>,
    /// From when to when the recording lasts that this is a file of, monotonic ns.
    pub(crate) whole: OnceLock<Range<u64>>,
    pub(crate) kept: kept::ReaderSlot,
    /// What alone is given, if not all is.
    pub(crate) groups: Option<Groups>,
    /// The thread dumps that it was made from.
    pub(crate) dumps: Vec<ThreadDump>,
    /// Length of the file that it was made from, in bytes.
    pub(crate) file_len: Option<u64>,
}

impl Recording {
    /// The log's name as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says of itself.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What it can tell at all.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            waits: !self.facts.lacks.waits
                && (!self.has_sampling() || self.modes().any(|mode| mode != "sample")),
            short_waits: self.facts.short_waits,
            acquisitions: self.is_trace(),
            holds: if self.is_trace() { self.hold_mode() } else { HoldMode::None },
            samples: self.has_sampling(),
            lacks: self.facts.lacks,
        }
    }

    /// Length of the file, in bytes; of a compressed one, of what was unpacked.
    pub fn file_len(&self) -> u64 {
        self.file_len.unwrap_or(self.bytes.len() as u64)
    }

    /// Whether nothing was written into it yet but what it says of itself.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.damage.is_empty()
    }

    /// What the ids stand for.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The text of a string id. Not defined: `[unknown]`. Bytes that are not
    /// UTF-8 are replaced. Of a mapped file it is a copy: whoever may write to
    /// the file could change the bytes after they were checked.
    pub fn text(&self, id: u32) -> Cow<'_, str> {
        if id == tyrion_wire::def::id::NO_STRING {
            return Cow::Borrowed("");
        }
        let bytes = self.definitions.strings.get(id).and_then(|text| {
            self.bytes.settled(usize::try_from(text.offset.get()).ok()?, text.len as usize)
        });
        match bytes {
            None => Cow::Borrowed(UNKNOWN),
            Some(bytes) if self.bytes.is_map() => Cow::Owned(text_of(bytes.to_vec())),
            Some(bytes) => String::from_utf8_lossy(bytes),
        }
    }

    /// The chunks with waits, with samples, and with what trace mode records one
    /// by one, in the order of the file.
    pub fn event_chunks(&self) -> &[ChunkRef] {
        &self.chunks.events
    }

    /// The waits of a chunk. Its checksum is checked first, so that the bytes
    /// are read once while they are near.
    ///
    /// # Errors
    /// When the checksum does not hold: all of the chunk has to be left out.
    pub fn events(&self, chunk: &ChunkRef) -> Result<Events<'_>, Damage> {
        let (at, len) = (chunk.payload_at() as usize, chunk.committed as usize);
        self.bytes.read_now(at, len);
        self.bytes.populate(at, len);
        let payload = self.bytes.settled(at, len).unwrap_or_default();
        if chunk.sealed && chunk.whole && crc32fast::hash(payload) != chunk.checksum {
            return Err(Damage {
                log: self.name.clone(),
                offset: chunk.offset,
                fault: Fault::Checksum { kind: ChunkKind::Events.name() },
                skipped: payload.len() as u64,
            });
        }
        DECODED.fetch_add(u64::from(chunk.committed), Relaxed);
        Ok(Events::new(payload, *chunk, &self.name).of(self.groups.as_ref()))
    }

    /// The waits of a chunk once more: its checksum held when [`Recording::events`]
    /// gave them, and they are mapped.
    pub fn events_again(&self, chunk: &ChunkRef) -> Events<'_> {
        let (at, len) = (chunk.payload_at() as usize, chunk.committed as usize);
        self.bytes.read_now(at, len);
        let payload = self.bytes.settled(at, len).unwrap_or_default();
        DECODED.fetch_add(u64::from(chunk.committed), Relaxed);
        Events::new(payload, *chunk, &self.name).of(self.groups.as_ref())
    }

    /// The chunks with cells, in the order of the file.
    pub fn cell_chunks(&self) -> &[ChunkRef] {
        &self.chunks.cells
    }

    /// The cells of a chunk that hold waits, as they are now.
    pub fn cells(&self, chunk: &ChunkRef) -> impl Iterator<Item = Cell> {
        let wants = |cell: &Cell| self.groups.as_ref().is_none_or(|it| it.has_site(cell.site));
        state::cells(&self.bytes, chunk).filter(wants)
    }

    /// The chunks with acquisition cells, in the order of the file.
    pub fn acquisition_chunks(&self) -> &[ChunkRef] {
        // They have no stacks, and so no groups.
        if self.groups.is_some() { &[] } else { &self.chunks.acquisitions }
    }

    /// The acquisition cells of a chunk that say anything, as they are now.
    /// Several may have the same thread, place and class; they add up. Their
    /// ids are those of definitions that may be lost.
    pub fn acquisitions(&self, chunk: &ChunkRef) -> impl Iterator<Item = AcquisitionCell> {
        state::acquisitions(&self.bytes, chunk)
    }

    /// Whether the log was recorded in trace mode: it says so, or has
    /// acquisition cells, which are not those of [single locks](Recording::is_aimed).
    pub fn is_trace(&self) -> bool {
        self.modes().any(|mode| mode == "trace")
            || !self.chunks.acquisitions.is_empty() && !self.is_aimed()
    }

    /// Whether threads were sampled from the start: the log's mode says so.
    /// There may be samples in any other log, too: the program can ask for
    /// them, and sampling can be switched on later.
    pub fn has_sampling(&self) -> bool {
        self.modes().any(|mode| mode == "sample")
    }

    /// What was recorded, at one time or another: `contention`, `trace`, `sample`, or
    /// several of them; [`Recording::mode_spans`] tells when. Nothing if the log does
    /// not say.
    pub fn modes(&self) -> impl Iterator<Item = &str> {
        self.all_modes().into_iter()
    }

    /// The mean time between two snapshots, in ns; `None` if the log does not
    /// say, as one that was not sampled from the start.
    pub fn period_ns(&self) -> Option<u64> {
        self.facts.metadata("period")?.parse().ok()
    }

    /// How holds were measured; sampled where that changed, as a whole, and when the
    /// log does not say.
    pub fn hold_mode(&self) -> HoldMode {
        let mode = match &self.option_values("hold")[..] {
            // Of earlier agents, trace mode that began later says so in a number.
            [] => self.statistics().get("hold.one-in").map(|&holds| HoldMode::one_in(holds)),
            [mode] => HoldMode::from_text(mode),
            _ => None,
        };
        mode.unwrap_or(HoldMode::Sampled(0))
    }

    /// What the agent told of itself in numbers, by key: the latest of each.
    pub fn statistics(&self) -> BTreeMap<String, u64> {
        let mut statistics = BTreeMap::new();
        // In the order of the log, since a key may have several string ids.
        for (key, value) in self.definitions.statistics() {
            statistics.insert(self.text(key).into_owned(), value);
        }
        statistics
    }

    /// The waits that had not ended when the log was opened.
    pub fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// The counters of the lanes when the log was opened.
    pub fn counters(&self) -> &[Counters] {
        &self.counters
    }

    /// What the agent counted in all lanes and in the header: lock
    /// contention, and all other kinds.
    pub fn tallies(&self) -> (Tally, Tally) {
        let mut contention = Tally { dropped: self.facts.dropped_contention, ..Tally::default() };
        let mut other = Tally { dropped: self.facts.dropped_other, ..Tally::default() };
        for counters in &self.counters {
            contention += counters.contention;
            other += counters.other;
        }
        (contention, other)
    }

    /// What was damaged, as far as opening the log has shown. Decoding events
    /// may show more.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The log's first moment, monotonic ns.
    pub fn start_ns(&self) -> u64 {
        self.facts.start_ns
    }

    /// The log's last moment, monotonic ns: its orderly end, or else the last
    /// moment that anything in it tells of.
    pub fn end_ns(&self) -> u64 {
        *self.end_ns.get_or_init(|| match self.facts.end_ns {
            0 => self.last_known_ns(),
            end_ns => end_ns.max(self.facts.start_ns),
        })
    }

    /// Says from when to when the whole recording lasts that this file is one of, monotonic
    /// ns. Of no effect the second time.
    pub fn set_whole(&self, whole: Range<u64>) {
        let _ = self.whole.set(whole);
    }

    /// From when to when the whole recording lasts, as far as that is known; else this log,
    /// monotonic ns.
    pub fn whole(&self) -> Range<u64> {
        self.whole.get().cloned().unwrap_or_else(|| self.start_ns()..self.end_ns())
    }

    /// When recording was on, monotonic ns: from the log's start to its end without
    /// its pauses, in the order of time; empty parts are left out.
    pub fn recorded(&self) -> Vec<Range<u64>> {
        let (start_ns, end_ns) = (self.start_ns(), self.end_ns());
        let pauses = self.all_pauses();
        let mut recorded = Vec::with_capacity(pauses.len() + 1);
        let mut from_ns = start_ns;
        for pause in pauses {
            recorded.push(from_ns..pause.start.min(end_ns));
            from_ns = from_ns.max(pause.start).max(pause.end);
        }
        recorded.push(from_ns..end_ns);
        recorded.retain(|part| part.start < part.end);
        recorded
    }

    /// When recording paused, monotonic ns, as far as that was during the log, in the
    /// order of time.
    pub fn pauses(&self) -> Vec<Range<u64>> {
        let (start_ns, end_ns) = (self.start_ns(), self.end_ns());
        let clipped = |ns: u64| ns.max(start_ns).min(end_ns);
        let pauses = self.all_pauses().into_iter();
        let pauses = pauses.map(|pause| clipped(pause.start)..clipped(pause.end));
        pauses.filter(|pause| pause.start < pause.end).collect()
    }

    /// As the log has them, in the order of time.
    fn all_pauses(&self) -> Vec<Range<u64>> {
        let end_ns = self.end_ns();
        let pauses = self.definitions.pauses().iter();
        let mut pauses: Vec<Range<u64>> = pauses
            .map(|pause| pause.from_ns..pause.to_ns.map_or(end_ns, NonZeroU64::get))
            .collect();
        pauses.sort_unstable_by_key(|pause| pause.start);
        pauses
    }

    /// How long recording was on, ns.
    pub fn recorded_ns(&self) -> u64 {
        self.recorded().iter().map(|part| part.end - part.start).fold(0, u64::saturating_add)
    }

    /// Says that the log lasts until now at least, a monotonic time in ns: for
    /// a log that is still written on this machine. Of no effect once
    /// [`Recording::end_ns`] was asked for, or when the log has ended.
    pub fn assume_end_ns(&self, now_ns: u64) {
        if self.facts.end_ns == 0 {
            let _ = self.end_ns.set(now_ns.max(self.last_known_ns()));
        }
    }

    /// Times never go back within a lane, so the last chunk of each lane that
    /// has records tells its last moment.
    fn last_known_ns(&self) -> u64 {
        let mut last: std::collections::HashMap<u32, &ChunkRef> = Default::default();
        for chunk in self.chunks.events.iter().filter(|chunk| chunk.committed != 0) {
            last.insert(chunk.lane, chunk);
        }
        let ends = last.values().filter_map(|chunk| {
            let mut events = self.events(chunk).ok()?;
            events.by_ref().for_each(drop);
            Some(events.now_ns())
        });
        let cells = self.chunks.cells.iter().flat_map(|chunk| self.cells(chunk));
        let folded = cells.map(|cell| cell.last_ns);
        let waiting = self.pending.iter().map(|pending| pending.start_ns);
        let others = [self.definitions.last_at_ns, self.facts.start_ns];
        ends.chain(folded).chain(waiting).chain(others).max().unwrap_or(0)
    }
}

/// What stands for a text, class, method, thread or lock whose definition is
/// lost.
pub const UNKNOWN: &str = "[unknown]";

/// Bytes as text; what is no UTF-8 is replaced.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use crate::write::{LogOptions, LogWriter};
    use std::{
        io::Cursor,
        os::unix::fs::FileExt,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
    };
    use tyrion_wire::def::Definition;

    /// Who wrote a log may go on changing it while it is shown.
    #[test]
    fn a_text_that_changes_is_text_all_the_same() {
        let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
        log.define(&Definition::String { id: 1, text: &[b'x'; 400] }).unwrap();
        let bytes = log.finish().unwrap().into_inner();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let log = Recording::open(file.path()).unwrap();
        let offset = log.definitions().strings().get(1).unwrap().offset.get() + 200;
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let file = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
                while !is_done.load(Relaxed) {
                    for byte in [b"\xf4", b"x", b"\x1b"] {
                        file.write_all_at(byte, offset).unwrap();
                    }
                }
            });
            for _ in 0..200_000 {
                let text = log.text(1);
                // What was checked stays as it was checked.
                assert!(std::str::from_utf8(text.as_bytes()).is_ok());
                assert!(matches!(text, Cow::Owned(_)), "lent from the file");
            }
            is_done.store(true, Relaxed);
        });
    }
}
