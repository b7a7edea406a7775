//! The threads that wait, by their Java id.
//!
//! A virtual thread may begin a wait on one OS thread and end it on another,
//! so what it waits for is kept here, with the Java thread, and never with the
//! OS thread.

mod slot;
mod waits;
mod wakes;

pub use slot::{Field, SlotFields, SpanSlot};
pub use waits::{
    Acquiring, Contending, EndOfInferred, Found, Inferred, Owner, Park, ParkSeenBy, PendingWait,
    Seen, Taken, Waits,
};
pub use wakes::{Wake, WakeBy};

use crate::{
    groups::OpenGroups,
    jvm::ti::ThreadInfo,
    log::{Generation, MappedCell},
    sync::lock,
    table::Table,
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, TryLockError,
        atomic::{
            AtomicBool, AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
            fence,
        },
    },
};
use tyrion_wire::{
    WaitKind,
    slot::{field, flag},
};
use waits::Slot;
use wakes::Wakes;

/// The Java id of the thread that stands for all virtual ones: no thread has it.
pub const VIRTUAL: i64 = 0;
/// A time before any log's: no machine has been up for less than 1 ns.
const BEFORE_NS: u64 = 1;
/// Shards of the registry: virtual threads look themselves up at each event.
const SHARDS: usize = 64;
/// The number of ended threads that are remembered.
const ENDED: usize = 256;
/// Longer names, in bytes, are rare.
const LONG_NAME: usize = 256;

/// A Java thread.
pub struct Thread {
    /// `Thread.getId()`.
    pub java_id: i64,
    /// Whether it is left out, by `exclude-threads`.
    pub excluded: bool,
    /// Its ids in the two generations that may be in use: number of the generation and
    /// id, 32 bits each. The id is 0 before it is defined.
    ids: [AtomicU64; 2],
    about: Mutex<Option<About>>,
    /// Whether it is known to be a virtual thread.
    is_virtual: AtomicBool,
    /// When it started, monotonic ns: [`BEFORE_NS`] before recording began, 0
    /// as long as that is not known.
    started_ns: AtomicU64,
    /// When it ended, monotonic ns; 0 as long as it lives.
    ended_ns: AtomicU64,
    /// When a condition was last signalled to it, monotonic ns. Written by the
    /// signalling thread.
    pub signalled_ns: AtomicU64,
    /// Whether it waits for a lock that others have.
    is_contending: AtomicBool,
    /// Since when it is parked, monotonic ns; 0 while it is not.
    parked_since_ns: AtomicU64,
    /// Who has ended its waits last.
    wakes: Mutex<Wakes>,
    /// When one of them was last noted, monotonic ns; 0: never.
    woken_ns: AtomicU64,
    /// Whether the log lists it though it has had no event.
    only_listed: AtomicBool,
    /// What the program says that it is doing.
    pub groups: OpenGroups,
    /// What its tracing says.
    pub(super) span: SpanSlot,
    waits: Mutex<Waits>,
    /// The lock that it got last, of those that it had to wait for.
    taken: Mutex<Option<Taken>>,
    /// The number of the generation that the ids of the waits are of, for those
    /// who cannot lock them.
    generation: AtomicU32,
}

/// What the log says of a thread.
struct About {
    info: ThreadInfo,
    is_virtual: bool,
}

impl Thread {
    fn new(java_id: i64, excluded: bool, generation: u32) -> Thread {
        Thread {
            java_id,
            excluded,
            ids: Default::default(),
            about: Mutex::default(),
            is_virtual: AtomicBool::new(false),
            started_ns: AtomicU64::new(0),
            ended_ns: AtomicU64::new(0),
            signalled_ns: AtomicU64::new(0),
            is_contending: AtomicBool::new(false),
            parked_since_ns: AtomicU64::new(0),
            wakes: Mutex::default(),
            woken_ns: AtomicU64::new(0),
            only_listed: AtomicBool::new(false),
            groups: OpenGroups::default(),
            span: SpanSlot::default(),
            waits: Mutex::new(Waits { generation, ..Waits::default() }),
            taken: Mutex::default(),
            generation: AtomicU32::new(generation),
        }
    }

    /// Its id in a generation; 0 if it cannot be defined there.
    #[inline]
    pub fn id(&self, generation: &Generation) -> u32 {
        match self.known_id(generation.number) {
            0 => self.define(generation),
            known => known,
        }
    }

    /// Whether it has an id in a generation.
    #[inline]
    pub fn is_known(&self, generation: &Generation) -> bool {
        self.known_id(generation.number) != 0
    }

    fn known_id(&self, generation: u32) -> u32 {
        let known = self.ids[generation as usize % 2].load(Acquire);
        if (known >> 32) as u32 == generation { known as u32 } else { 0 }
    }

    #[cold]
    fn define(&self, generation: &Generation) -> u32 {
        // Held while the thread gets its id, so that it gets one.
        let about = lock(&self.about);
        let known = self.known_id(generation.number);
        let Some(about) = about.as_ref().filter(|_| known == 0) else { return known };
        let java_id = self.java_id as u64;
        let new =
            generation.dictionary.thread(&generation.log, java_id, &about.info, about.is_virtual);
        let id = new.unwrap_or(0);
        let started_ns = self.started_ns.load(Relaxed);
        let told_ns = self.ended_ns.load(Relaxed);
        if id != 0 && started_ns != 0 {
            let _ = generation.dictionary.thread_span(&generation.log, id, started_ns, told_ns);
        }
        let packed = u64::from(generation.number) << 32 | u64::from(id);
        self.ids[generation.number as usize % 2].store(packed, Release);
        // Either it sees the id when it ends, or its end is seen here.
        fence(SeqCst);
        if id != 0 && self.ended_ns.load(Relaxed) != told_ns {
            self.write_span(generation, self.ended_ns.load(Relaxed));
        }
        id
    }

    /// Whether it is known what the log shall say of the thread.
    pub fn is_described(&self) -> bool {
        lock(&self.about).is_some()
    }

    /// What the log shall say of the thread; the first one to tell is right.
    pub fn describe(&self, info: ThreadInfo, is_virtual: bool) {
        let mut about = lock(&self.about);
        let about = about.get_or_insert(About { info, is_virtual });
        self.is_virtual.store(about.is_virtual, Relaxed);
    }

    /// Whether it is known to be a virtual thread.
    #[inline]
    pub fn is_virtual(&self) -> bool {
        self.is_virtual.load(Relaxed)
    }

    /// Whether it is known when the thread started.
    #[inline]
    pub fn is_started(&self) -> bool {
        self.started_ns.load(Relaxed) != 0
    }

    /// Notes when the thread started, also where it has an id already; the
    /// first one to tell is right. 0 stands for a time before recording began.
    pub fn started_at(&self, generation: &Generation, started_ns: u64) {
        let started_ns = started_ns.max(BEFORE_NS);
        if self.started_ns.compare_exchange(0, started_ns, Relaxed, Relaxed).is_ok() {
            self.write_span(generation, 0);
        }
    }

    /// Has the log list it, though it may never have an event: whether it does.
    /// Names that take much room stay away until they are needed.
    pub fn list_in(&self, generation: &Generation) -> bool {
        if !self.is_brief() {
            return false;
        }
        self.only_listed.store(true, Relaxed);
        self.id(generation) != 0
    }

    /// Whether it is a platform thread of which there is little to tell.
    fn is_brief(&self) -> bool {
        let is_brief = |about: &About| !about.is_virtual && about.info.name.len() <= LONG_NAME;
        lock(&self.about).as_ref().is_some_and(is_brief)
    }

    /// Whether it has had no event yet, though the log lists it.
    #[inline]
    pub fn is_only_listed(&self) -> bool {
        self.only_listed.load(Relaxed)
    }

    /// Its name is not known before its first event.
    pub fn names_itself_later(&self) {
        self.only_listed.store(true, Relaxed);
    }

    /// Whether this is its first event, and the log has listed it before.
    #[inline]
    pub fn was_only_listed(&self) -> bool {
        self.only_listed.load(Relaxed) && self.only_listed.swap(false, Relaxed)
    }

    /// The thread has ended: says so where it has an id.
    pub fn ends(&self, generation: &Generation, at_ns: u64) {
        self.ended_ns.store(at_ns, Relaxed);
        fence(SeqCst);
        self.write_span(generation, at_ns);
    }

    fn write_span(&self, generation: &Generation, ended_ns: u64) {
        let known = self.known_id(generation.number);
        if known != 0 {
            let started_ns = self.started_ns.load(Relaxed);
            let _ = generation.dictionary.thread_span(&generation.log, known, started_ns, ended_ns);
        }
    }

    /// Gives the thread another name from now on.
    pub fn rename(&self, generation: &Generation, name: Vec<u8>, at_ns: u64) {
        let mut about = lock(&self.about);
        if about.as_ref().is_some_and(|about| about.info.name == name) {
            return;
        }
        let known = self.known_id(generation.number);
        if known != 0 {
            let _ = generation.dictionary.rename(&generation.log, known, &name, at_ns);
        }
        if let Some(about) = about.as_mut() {
            about.info.name = name;
        }
    }

    /// What the thread waits for. Locked by the thread itself during an event,
    /// and by the log's helper when there is another generation.
    pub fn waits(&self) -> MutexGuard<'_, Waits> {
        lock(&self.waits)
    }

    /// Has all ids of its waits be of another generation. `from` is the one that
    /// they are of, and `id` finds those of other threads, by their Java ids.
    #[cold]
    pub fn move_waits(
        &self,
        waits: &mut Waits,
        from: Option<&Generation>,
        to: &Arc<Generation>,
        id: impl Fn(i64) -> Option<u32>,
    ) {
        waits.move_to(from, to, id);
        self.publish(waits, to);
        self.generation.store(to.number, Release);
    }

    /// It has got what it waited for.
    #[inline]
    pub fn note_taken(&self, taken: Taken) {
        *lock(&self.taken) = Some(taken);
    }

    /// What it got last after a wait.
    pub fn taken(&self) -> Option<Taken> {
        *lock(&self.taken)
    }

    /// What another thread waits for, which must not be kept waiting: `None` when the
    /// thread is in the middle of an event.
    pub fn try_waits(&self) -> Option<MutexGuard<'_, Waits>> {
        match self.waits.try_lock() {
            Ok(waits) => Some(waits),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Shows in the log what the thread waits for now, so that it is known
    /// should the process be killed.
    #[inline]
    pub fn publish(&self, waits: &mut Waits, generation: &Arc<Generation>) {
        let innermost = waits.innermost().copied();
        let is_park =
            |wait: &PendingWait| !matches!(wait.kind, WaitKind::Monitor | WaitKind::ObjectWait);
        let since_ns = innermost.filter(is_park).map_or(0, |wait| wait.start_ns);
        self.parked_since_ns.store(since_ns, Relaxed);
        let is_contending = innermost.is_some_and(|wait| wait.kind.is_contention());
        self.is_contending.store(is_contending, Relaxed);
        let old = waits.slot.take_if(|slot| slot.generation.number != generation.number);
        if waits.slot.is_none() && innermost.is_some() {
            let new = |cell| Slot { generation: Arc::clone(generation), cell };
            waits.slot = generation.take_slot().map(new);
        }
        let shows = |slot: &Slot| slot.cell.u32_at(field::KIND).load(Relaxed) != 0;
        if let Some(slot) = waits.slot.as_ref().filter(|slot| innermost.is_some() || shows(slot)) {
            self.show(innermost, &slot.cell, generation);
        }
        if let Some(old) = old {
            old.clear();
        }
    }

    fn show(&self, innermost: Option<PendingWait>, slot: &MappedCell, generation: &Generation) {
        let sequence = slot.u32_at(field::SEQUENCE);
        let odd = sequence.load(Relaxed) | 1;
        sequence.store(odd, Relaxed);
        fence(Release);
        match innermost {
            Some(pending) => {
                slot.u32_at(field::THREAD).store(self.id(generation), Relaxed);
                slot.u32_at(field::STACK).store(pending.stack, Relaxed);
                slot.u32_at(field::LOCK).store(pending.lock, Relaxed);
                slot.u32_at(field::OWNER).store(pending.last_owner().id, Relaxed);
                slot.u64_at(field::START_NS).store(pending.start_ns, Relaxed);
                slot.u64_at(field::SEEN_NS).store(pending.seen.map_or(0, |it| it.at_ns), Relaxed);
                let reenters = pending.seen.is_some_and(|seen| seen.reenters);
                let flags = if reenters { flag::REENTERS } else { 0 };
                slot.u32_at(field::FLAGS).store(flags, Relaxed);
                slot.u32_at(field::KIND).store(pending.kind.code().into(), Relaxed);
            }
            None => slot.u32_at(field::KIND).store(0, Relaxed),
        }
        sequence.store(odd.wrapping_add(1), Release);
    }
}

/// All threads that ever waited and still live, and platform threads that do.
pub struct Threads {
    shards: Vec<Mutex<Table<i64, Arc<Thread>>>>,
    /// The last ones that have ended: waits may still be for what they held.
    ended: Mutex<VecDeque<Arc<Thread>>>,
}

impl Threads {
    /// No threads yet.
    pub fn new() -> Threads {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Threads { shards, ended: Mutex::default() }
    }

    fn shard(&self, java_id: i64) -> &Mutex<Table<i64, Arc<Thread>>> {
        &self.shards[java_id as usize % SHARDS]
    }

    /// The thread of this Java id, if it ever waited.
    pub fn get(&self, java_id: i64) -> Option<Arc<Thread>> {
        lock(self.shard(java_id)).get(&java_id).cloned()
    }

    /// Since when a thread is parked, monotonic ns; 0 if it is not.
    #[inline]
    pub fn parked_since_ns(&self, java_id: i64) -> u64 {
        lock(self.shard(java_id)).get(&java_id).map_or(0, |thread| thread.parked_since_ns())
    }

    /// The id in a generation of a thread that ever waited, or held what others wait
    /// for, and lives or has ended lately.
    #[cold]
    pub fn id_in(&self, generation: &Generation, java_id: i64) -> Option<u32> {
        let ended = || lock(&self.ended).iter().find(|ended| ended.java_id == java_id).cloned();
        Some(self.get(java_id).or_else(ended)?.id(generation))
    }

    /// The thread of this Java id, known from now on; `generation` is the number
    /// of the one that its first wait is of.
    pub fn get_or_add(&self, java_id: i64, excluded: bool, generation: u32) -> Arc<Thread> {
        // Another thread may have added it meanwhile, as the owner of a lock.
        let mut shard = lock(self.shard(java_id));
        let thread = shard
            .entry(java_id)
            .or_insert_with(|| Arc::new(Thread::new(java_id, excluded, generation)));
        Arc::clone(thread)
    }

    /// Forgets a thread that has ended.
    pub fn remove(&self, java_id: i64) -> Option<Arc<Thread>> {
        let thread = self.get(java_id)?;
        // First, so that it is found all the time. Virtual ones are too many.
        // Nor does anybody ask for those that had no event.
        if !thread.is_virtual() && !thread.only_listed.load(Relaxed) {
            let mut ended = lock(&self.ended);
            if ended.len() == ENDED {
                ended.pop_front();
            }
            ended.push_back(Arc::clone(&thread));
        }
        lock(self.shard(java_id)).remove(&java_id);
        if let Some(slot) = std::mem::take(&mut *thread.waits()).slot {
            slot.clear();
            slot.generation.return_slot(slot.cell);
        }
        Some(thread)
    }

    /// The threads that wait for locks that others have, and what for. Those in the middle
    /// of an event are left out.
    pub fn contending(&self) -> Vec<Contending> {
        let mut contending = Vec::new();
        for shard in &self.shards {
            let threads: Vec<_> = {
                let all = lock(shard);
                let waits = |thread: &&Arc<Thread>| thread.is_contending.load(Relaxed);
                all.values().filter(waits).cloned().collect()
            };
            contending.extend(threads.into_iter().filter_map(|thread| {
                let (wait, generation) = {
                    let waits = thread.try_waits()?;
                    (*waits.innermost()?, waits.generation())
                };
                let is_contending = wait.kind.is_contention();
                is_contending.then_some(Contending { thread, wait, generation })
            }));
        }
        contending
    }

    /// The threads that wait for something since before a moment, in monotonic ns, and
    /// what for. Those in the middle of an event are left out.
    pub fn pending_since(&self, before_ns: u64) -> Vec<(Arc<Thread>, PendingWait)> {
        let mut pending = Vec::new();
        for shard in &self.shards {
            let threads: Vec<_> = lock(shard).values().cloned().collect();
            pending.extend(threads.into_iter().filter_map(|thread| {
                let innermost = *thread.try_waits()?.innermost()?;
                (innermost.start_ns <= before_ns).then_some((thread, innermost))
            }));
        }
        pending
    }

    /// The threads that were found to wait, where that `is_due`.
    pub fn found_waits(&self, is_due: impl Fn(&Found) -> bool) -> Vec<Arc<Thread>> {
        let mut due = Vec::new();
        for shard in &self.shards {
            let threads: Vec<_> = lock(shard).values().cloned().collect();
            due.extend(threads.into_iter().filter(|thread| {
                thread.try_waits().is_some_and(|waits| waits.found.as_ref().is_some_and(&is_due))
            }));
        }
        due
    }

    /// The threads whose inferred acquisitions were over before a moment, in monotonic
    /// ns, and when.
    pub fn ended_acquisitions(&self, before_ns: u64) -> Vec<(u64, Arc<Thread>)> {
        let mut ended = Vec::new();
        for shard in &self.shards {
            let threads: Vec<_> = lock(shard).values().cloned().collect();
            for thread in threads {
                let of = |waits: MutexGuard<'_, Waits>| Some(waits.inferred.as_ref()?.ended_ns);
                let at_ns = thread.try_waits().and_then(of).unwrap_or(0);
                if at_ns != 0 && at_ns < before_ns {
                    ended.push((at_ns, thread));
                }
            }
        }
        ended
    }

    /// Has all pending waits go over to another generation: whether they have.
    /// Threads that are in the middle of an event do so themselves. As many
    /// threads as `most_listed` are listed there, whether they wait or not.
    pub fn go_over(&self, from: &Generation, to: &Arc<Generation>, most_listed: u32) -> bool {
        let mut all_have = true;
        for shard in &self.shards {
            let threads: Vec<_> = lock(shard).values().cloned().collect();
            // A hundred thousand waits need room, and this is the thread that
            // makes it. Without room they are not shown, but recorded.
            let _ = to.log.grow();
            for thread in threads {
                let Some(mut waits) = thread.try_waits() else {
                    all_have &= thread.generation.load(Acquire) == to.number;
                    continue;
                };
                if waits.generation != to.number {
                    let id = |java_id| self.id_in(to, java_id);
                    thread.move_waits(&mut waits, Some(from), to, id);
                }
                let has_room = to.dictionary.threads() < most_listed;
                if has_room && !thread.excluded && thread.is_brief() {
                    thread.id(to);
                }
            }
        }
        all_have
    }
}
