//! Lanes: who writes waits into the log, one OS thread at a time.
//!
//! A lane owns its chunks, its cells and its caches, so that writing a wait
//! takes no lock. When an OS thread ends, the next new one takes its lane over
//! with all that is in it; so a million short threads need no more lanes than
//! were alive at once.

mod notes;

use crate::{
    clock,
    fingerprint::Fingerprint,
    log::{Chunk, Generation, Log, LogFile, MappedCell, Writer, dictionary::StackRef},
    sync::lock,
    table::Table,
};
use notes::NOTED_LEN;
use std::sync::{
    Arc, Mutex, MutexGuard, TryLockError,
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
};
use tyrion_wire::{
    Outcome,
    cell::{self, Cell},
    chunk::ChunkKind,
    event::{self, MAX_WAIT_LEN, WaitRecord},
    slot::Counters,
    span::Span,
    trace::HoldBatch,
};

/// The room needed for any record other than a wait; with less, a lane takes
/// another chunk.
const MISC_ROOM: usize = 256;
/// So many owners of a lock have cells of their own for each thread and site.
const MOST_OWNERS: u8 = 8;
/// A lane forgets what is in its tables beyond this many entries. Forgotten
/// cells stay in the log, and sites are looked up again.
const TABLE_LIMIT: usize = 1024;

/// A wait that has ended, ready to be written.
#[derive(Clone, Copy)]
pub struct EndedWait {
    /// The waiter's id in the log.
    pub thread: u32,
    /// Kind, stack and lock.
    pub site: u32,
    /// Whether the kind is lock contention.
    pub contention: bool,
    /// Start, monotonic ns.
    pub start_ns: u64,
    /// End, monotonic ns.
    pub end_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The owner's id in the log, 0 when unknown.
    pub owner: u32,
    /// Number of parks, where known.
    pub parks: u64,
    /// The stack id of the group that the owner was in, 0 for none.
    pub group: u32,
    /// The span that the waiter was in.
    pub span: Span,
}

/// What a lane knows about waits of a thread at a site, for one owner, below the
/// threshold.
enum Fold {
    /// It was written once as a record of its own. Most pairs come only once,
    /// and a record is a twentieth of a cell.
    Once,
    /// It has a cell.
    Cell(OpenCell),
}

struct OpenCell {
    mapped: MappedCell,
    first_ns: u64,
    version: u32,
}

/// A stack that is known by the code of its frames.
pub struct Walked {
    /// The second half of the code's fingerprint.
    pub second: u64,
    /// The stack.
    pub stack: StackRef,
    /// What tells its frames apart from others, whatever their code.
    pub print: Fingerprint,
}

/// One writer. All that it has, but for its number, is of one file of the log.
#[derive(Default)]
pub struct Lane {
    id: u32,
    thread: u32,
    last_ns: u64,
    events: Option<Chunk>,
    events_carved: u32,
    /// The trace that the chunk has named last.
    trace: [u64; 2],
    cells: Option<Chunk>,
    cells_carved: u32,
    scratch: Vec<u8>,
    /// Holds on their way into a record; kept for its memory.
    pub holds: HoldBatch,
    /// By thread, site, owner, and the owner's group.
    folds: Table<(u64, u32, u32), Fold>,
    /// How many owners these have, by thread and site.
    owners: Table<u64, u8>,
    counters: Option<MappedCell>,
    /// Stacks by their fingerprint, so that a known stack takes no lock.
    pub stacks: Table<u64, (u64, StackRef)>,
    /// The same by the code that their frames are of, see [`crate::jvm::Walker`].
    pub walked: Table<u64, Walked>,
    /// Sites by (kind, stack, lock).
    pub sites: Table<(u64, u64), u32>,
    /// The stacks that stand for groups, by their numbers.
    pub groups: Table<u32, u32>,
}

impl Lane {
    fn new(id: u32, counters: Option<MappedCell>) -> Lane {
        Lane { id, counters, ..Lane::default() }
    }

    /// A lane of a number that was [reserved](Lanes::reserve), without
    /// counters: for records that are no waits.
    pub fn lone(id: u32) -> Lane {
        Lane::new(id, None)
    }

    /// Ends the chunk that events were written to; there may be another one.
    pub fn retire_events(&mut self, log: &LogFile) {
        if let Some(events) = self.events.take() {
            log.retire(events);
        }
    }

    /// The stack that has frames of this code.
    #[inline]
    pub fn walked(&self, (first, second): Fingerprint) -> Option<&Walked> {
        self.walked.get(&first).filter(|known| known.second == second)
    }

    /// Keeps the caches bounded.
    pub fn trim(&mut self) {
        fn trim<K, V>(table: &mut Table<K, V>) {
            if table.len() > TABLE_LIMIT {
                table.clear();
            }
        }
        trim(&mut self.stacks);
        trim(&mut self.walked);
        trim(&mut self.sites);
        trim(&mut self.groups);
    }

    /// Writes a wait: as a record, or into a cell when it is shorter than
    /// `threshold_ns`. Every wait is counted exactly once, as recorded, folded
    /// or dropped; `false` when it was dropped.
    pub fn write(&mut self, log: &LogFile, wait: &EndedWait, threshold_ns: u64) -> bool {
        if log.is_closed() {
            // The JVM has ended; daemons that go on are not of interest.
            return true;
        }
        self.count(log, wait.contention, Count::Ended);
        let wait_ns = wait.end_ns.saturating_sub(wait.start_ns);
        let outcome = if wait_ns < threshold_ns && self.fold(log, wait, wait_ns) {
            Count::Folded
        } else if self.record(log, wait, wait_ns) {
            Count::Recorded
        } else {
            Count::Dropped
        };
        self.count(log, wait.contention, outcome);
        outcome != Count::Dropped
    }

    /// Counts a wait that ended but whose stack or lock could not be defined.
    pub fn drop_wait(&self, log: &LogFile, contention: bool) {
        self.count(log, contention, Count::Ended);
        self.count(log, contention, Count::Dropped);
    }

    fn count(&self, log: &LogFile, contention: bool, what: Count) {
        if let Some(counters) = &self.counters {
            let tally = if contention { 0 } else { 32 };
            let counter = counters.u64_at(Counters::TALLIES + tally + what as usize * 8);
            // One writer: no atomic addition needed.
            counter.store(counter.load(Relaxed) + 1, Release);
        } else if what == Count::Dropped {
            // There was no room for the counters either.
            use tyrion_wire::header::field::{DROPPED_CONTENTION, DROPPED_OTHER};
            let field = if contention { DROPPED_CONTENTION } else { DROPPED_OTHER };
            log.header().u64_at(field).fetch_add(1, Relaxed);
        }
    }

    fn record(&mut self, log: &LogFile, wait: &EndedWait, wait_ns: u64) -> bool {
        if self.append_record(wait, wait_ns) {
            return true;
        }
        let notes = if wait.has_notes() { NOTED_LEN } else { 0 };
        self.carve_events(log, wait.thread, wait.end_ns, MAX_WAIT_LEN + notes);
        self.append_record(wait, wait_ns)
    }

    /// Goes on in a new chunk, if there is room for one.
    fn carve_events(&mut self, log: &LogFile, thread: u32, first_ns: u64, least: usize) {
        let len = log.chunk_len(self.events_carved, least);
        self.carve(log, len, thread, first_ns);
    }

    fn carve(&mut self, log: &LogFile, len: usize, thread: u32, first_ns: u64) {
        let of = Writer { sequence: self.events_carved, lane: self.id, thread, first_ns };
        let Some(chunk) = log.carve(ChunkKind::Events, len, of) else { return };
        self.events_carved += 1;
        self.thread = thread;
        self.trace = [0; 2];
        self.last_ns = first_ns;
        if let Some(full) = self.events.replace(chunk) {
            log.retire(full);
        }
    }

    /// Whether something later than this moment, in monotonic ns, was written.
    pub fn is_past(&self, at_ns: u64) -> bool {
        at_ns < self.last_ns
    }

    /// Goes on in a new chunk when the next record is older than the last one:
    /// times in a chunk do not go back.
    pub fn go_back_to(&mut self, log: &LogFile, thread: u32, at_ns: u64, room: usize) {
        if self.is_past(at_ns) {
            // As short as will do, however many there have been.
            let len = log.chunk_len(0, room);
            self.carve(log, len, thread, before(at_ns));
        }
    }

    /// Writes a record that is no wait. `encode` appends the whole record,
    /// with its code and length; it gets the time since the lane's last record in
    /// the chunk, and may be called twice. `at_ns` is the record's moment, `None`
    /// for a record without a time: `encode` then gets 0 and must not write it.
    /// `false` when there is no room: the record is lost.
    pub fn append_misc(
        &mut self,
        log: &LogFile,
        thread: u32,
        at_ns: Option<u64>,
        encode: impl Fn(u64, &mut Vec<u8>),
    ) -> bool {
        let first_ns = |lane: &Lane| match at_ns {
            Some(at_ns) => before(at_ns),
            None => lane.last_ns.max(clock::now_ns()),
        };
        self.append_encoded(log, thread, first_ns, |last_ns, out| {
            let at_ns = at_ns.unwrap_or(last_ns);
            encode(at_ns.saturating_sub(last_ns), out);
            last_ns.max(at_ns)
        })
    }

    /// Writes holds as one record; `false` when there is no room.
    pub fn append_holds(&mut self, log: &LogFile, thread: u32, holds: &mut HoldBatch) -> bool {
        let Some(first_ns) = holds.first_ns() else { return true };
        let encode = |last_ns, out: &mut Vec<u8>| holds.encode(last_ns, out);
        self.append_encoded(log, thread, |_| before(first_ns), encode)
    }

    /// `encode` gets the time of the lane's last record in the chunk, and
    /// says that of its own. A new chunk counts from `first_ns`.
    fn append_encoded(
        &mut self,
        log: &LogFile,
        thread: u32,
        first_ns: impl FnOnce(&Lane) -> u64,
        mut encode: impl FnMut(u64, &mut Vec<u8>) -> u64,
    ) -> bool {
        if log.is_closed() {
            return false;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let written = self.append_to_chunk(thread, &mut encode, &mut scratch) || {
            let least = MISC_ROOM.max(2 * scratch.len());
            self.carve_events(log, thread, first_ns(self), least);
            self.append_to_chunk(thread, &mut encode, &mut scratch)
        };
        self.scratch = scratch;
        written
    }

    fn append_to_chunk(
        &mut self,
        thread: u32,
        encode: &mut impl FnMut(u64, &mut Vec<u8>) -> u64,
        scratch: &mut Vec<u8>,
    ) -> bool {
        scratch.clear();
        let last_ns = encode(self.last_ns, scratch);
        let Some(chunk) = self.events.as_mut() else { return false };
        let mut switch = [0; MAX_WAIT_LEN];
        let mut len = 0;
        if thread != self.thread {
            len = event::encode_thread(thread, &mut switch);
        }
        if chunk.free() < len + scratch.len() {
            return false;
        }
        if len != 0 && chunk.append(&switch[..len]) {
            self.thread = thread;
        }
        if !chunk.append(scratch) {
            return false;
        }
        self.last_ns = last_ns;
        true
    }

    fn append_record(&mut self, wait: &EndedWait, wait_ns: u64) -> bool {
        let Some(chunk) = self.events.as_mut() else { return false };
        let notes = wait.has_notes();
        // They stand behind their wait.
        if notes && chunk.free() < MAX_WAIT_LEN + NOTED_LEN {
            return false;
        }
        let mut out = [0; MAX_WAIT_LEN];
        if wait.thread != self.thread {
            let len = event::encode_thread(wait.thread, &mut out);
            if chunk.free() < len + MAX_WAIT_LEN || !chunk.append(&out[..len]) {
                return false;
            }
            self.thread = wait.thread;
        }
        let record = WaitRecord {
            delta_ns: wait.end_ns.saturating_sub(self.last_ns),
            wait_ns,
            site: wait.site,
            outcome: wait.outcome,
            owner: wait.owner,
            parks: wait.parks,
        };
        let len = record.encode(&mut out);
        if !chunk.append(&out[..len]) {
            return false;
        }
        self.last_ns = self.last_ns.max(wait.end_ns);
        if notes {
            self.append_notes(wait, wait_ns);
        }
        true
    }

    /// Adds a wait to its cell; `false` when it shall be recorded instead.
    fn fold(&mut self, log: &LogFile, wait: &EndedWait, wait_ns: u64) -> bool {
        let pair = u64::from(wait.thread) << 32 | u64::from(wait.site);
        let mut key = (pair, wait.owner, wait.group);
        let mut wait = *wait;
        if wait.owner != 0
            && !self.folds.contains_key(&key)
            && self.owners.get(&pair).is_some_and(|&owners| owners >= MOST_OWNERS)
        {
            // Where many threads have a lock in turns, there would be a cell for each two.
            (key.1, wait.owner) = (0, 0);
            (key.2, wait.group) = (0, 0);
        }
        match self.folds.get_mut(&key) {
            Some(Fold::Cell(cell))
                if wait.end_ns.saturating_sub(cell.first_ns) < cell::INTERVAL_NS =>
            {
                cell.add(wait_ns, wait.end_ns);
                return true;
            }
            Some(_) => {}
            None => {
                if self.folds.len() >= TABLE_LIMIT {
                    self.folds.clear();
                    self.owners.clear();
                }
                if wait.owner != 0 {
                    *self.owners.entry(pair).or_default() += 1;
                }
                self.folds.insert(key, Fold::Once);
                return false;
            }
        }
        let Some(mut open) = self.open_cell(log, &wait) else { return false };
        open.add(wait_ns, wait.end_ns);
        self.folds.insert(key, Fold::Cell(open));
        true
    }

    fn open_cell(&mut self, log: &LogFile, wait: &EndedWait) -> Option<OpenCell> {
        let empty = Cell {
            thread: wait.thread,
            site: wait.site,
            owner: wait.owner,
            group: wait.group,
            first_ns: wait.start_ns,
            last_ns: wait.start_ns,
            count: 0,
            sum_ns: 0,
            max_ns: 0,
            histogram: [0; cell::BUCKETS],
        };
        let bytes = empty.encode();
        let open = |mapped| OpenCell { mapped, first_ns: wait.start_ns, version: 0 };
        if let Some(mapped) = self.cells.as_mut().and_then(|chunk| chunk.append_cell(&bytes)) {
            return Some(open(mapped));
        }
        let of = Writer {
            sequence: self.cells_carved,
            lane: self.id,
            thread: wait.thread,
            first_ns: wait.start_ns,
        };
        // The chunk before stays as it is: its cells are still added to.
        let len = log.chunk_len(self.cells_carved, 0);
        let mut chunk = log.carve(ChunkKind::Cells, len, of)?;
        self.cells_carved += 1;
        let mapped = chunk.append_cell(&bytes);
        self.cells = Some(chunk);
        mapped.map(open)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Ended = 0,
    Recorded = 1,
    Folded = 2,
    Dropped = 3,
}

impl OpenCell {
    /// Adds one wait: fills the copy of the sums that does not hold, then
    /// makes it hold.
    fn add(&mut self, wait_ns: u64, end_ns: u64) {
        use cell::field::{HISTOGRAM, SUMS, SUMS_LEN, VERSION};
        // The copy that is written below held until the last version was
        // stored: nobody may see it change before.
        fence(Release);
        let from = SUMS + (self.version as usize & 1) * SUMS_LEN;
        let to = SUMS + (self.version.wrapping_add(1) as usize & 1) * SUMS_LEN;
        let sum = |nth: usize| self.mapped.u64_at(from + 8 * nth).load(Relaxed);
        let new =
            [sum(0) + 1, sum(1).wrapping_add(wait_ns), sum(2).max(wait_ns), sum(3).max(end_ns)];
        for (nth, value) in new.into_iter().enumerate() {
            self.mapped.u64_at(to + 8 * nth).store(value, Relaxed);
        }
        let bucket = self.mapped.u32_at(HISTOGRAM + 4 * cell::bucket(wait_ns));
        bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
        self.version = self.version.wrapping_add(1);
        self.mapped.u32_at(VERSION).store(self.version, Release);
    }
}

/// A lane, and the generation of the log that it writes to.
struct LaneSlot {
    generation: Option<Arc<Generation>>,
    lane: Lane,
}

impl LaneSlot {
    #[cold]
    fn move_to(&mut self, generation: Arc<Generation>) {
        self.leave();
        self.lane = Lane::new(self.lane.id, generation.add_counters(self.lane.id));
        self.generation = Some(generation);
    }

    /// Leaves the generation, with all that is of it.
    fn leave(&mut self) {
        let Some(generation) = self.generation.take() else { return };
        if let Some(events) = self.lane.events.take() {
            generation.log.retire(events);
        }
        self.lane = Lane::new(self.lane.id, None);
    }
}

/// A lane as OS threads have it.
pub struct SharedLane {
    /// Locked by its owner during an event, and by the log's helper when there
    /// is another generation.
    lane_slot: Mutex<LaneSlot>,
    /// The number of the generation that it has entered last.
    entered: AtomicU32,
}

impl SharedLane {
    /// Locks the lane for an event of the current OS thread, its owner.
    #[inline]
    pub fn lock_slot(&self) -> LaneSlotGuard<'_> {
        LaneSlotGuard { lane_slot: lock(&self.lane_slot), entered: &self.entered }
    }

    /// Leaves a generation: whether it has.
    fn leave(&self, number: u32) -> bool {
        let mut lane_slot = match self.lane_slot.try_lock() {
            Ok(lane_slot) => lane_slot,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Its owner is in the middle of an event: in a later generation?
            Err(TryLockError::WouldBlock) => return self.entered.load(Acquire) > number,
        };
        if lane_slot.generation.as_ref().is_some_and(|generation| generation.number == number) {
            lane_slot.leave();
        }
        true
    }
}

/// A lane that is locked.
pub struct LaneSlotGuard<'a> {
    lane_slot: MutexGuard<'a, LaneSlot>,
    entered: &'a AtomicU32,
}

impl LaneSlotGuard<'_> {
    /// The current generation, and the lane, which writes to it until the guard is
    /// dropped. To be called at the beginning of an event.
    #[inline]
    pub fn enter(&mut self, log: &Log) -> Option<(&Arc<Generation>, &mut Lane)> {
        let number = log.generation_number();
        let lane_slot = &mut *self.lane_slot;
        if lane_slot.generation.as_ref().is_none_or(|generation| generation.number != number) {
            lane_slot.move_to(log.current());
        }
        let generation = lane_slot.generation.as_ref()?;
        self.entered.store(generation.number, Release);
        Some((generation, &mut lane_slot.lane))
    }
}

/// All lanes.
#[derive(Default)]
pub struct Lanes {
    inner: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    all: Vec<Arc<SharedLane>>,
    /// Those that no OS thread has at the moment.
    free: Vec<Arc<SharedLane>>,
}

impl Pool {
    fn add(&mut self) -> (u32, Arc<SharedLane>) {
        let id = self.all.len() as u32 + 1;
        let lane_slot = Mutex::new(LaneSlot { generation: None, lane: Lane::new(id, None) });
        let lane = Arc::new(SharedLane { lane_slot, entered: AtomicU32::new(0) });
        self.all.push(Arc::clone(&lane));
        (id, lane)
    }
}

impl Lanes {
    /// A lane for an OS thread that has none.
    pub fn take(&self) -> Arc<SharedLane> {
        let mut pool = lock(&self.inner);
        pool.free.pop().unwrap_or_else(|| pool.add().1)
    }

    /// A number that no lane will have, for a writer that goes over to another
    /// generation by itself.
    pub fn reserve(&self) -> u32 {
        lock(&self.inner).add().0
    }

    /// Takes the lane of an OS thread that ends. Its open cells stay in the
    /// log; the next thread has pairs of its own.
    pub fn give_back(&self, lane: Arc<SharedLane>) {
        let mut lane_slot = lock(&lane.lane_slot);
        (lane_slot.lane.folds, lane_slot.lane.owners) = Default::default();
        drop(lane_slot);
        lock(&self.inner).free.push(lane);
    }

    /// Has all lanes leave a generation: whether they have. Those whose owner is
    /// in the middle of an event have not.
    pub fn leave(&self, number: u32) -> bool {
        let all = lock(&self.inner).all.clone();
        all.iter().filter(|lane| !lane.leave(number)).count() == 0
    }
}

/// From when on a chunk counts whose first record is of this moment: a record without
/// any time since the one before it looks as if it had really been earlier.
fn before(at_ns: u64) -> u64 {
    at_ns.saturating_sub(1)
}

#[cfg(test)]
mod tests;
