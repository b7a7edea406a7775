//! The pass over a log's events and cells.

use super::{
    fold::{FoldNotes, Folder},
    known::known_thread,
    owned::{self, Owned, OwnedSums},
    sampled::{SampleSums, Sampler, Samples},
    sums::{Shared, SiteSums, SparseSums, Sums, ThreadSums, lock},
    trace::{TraceSums, Tracer},
};
use crate::filter::Window;
use std::sync::{
    Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};
use tyrion_formats::{ChunkRef, Damage, Entry, Event, Recording, TakeRecords, visit_two};

/// Pieces are at least this long, in bytes: long enough for what a piece costs
/// besides its events.
const PIECE: u64 = 4 << 20;
/// And so short that each worker gets that many, to end at about the same time.
const PIECES_PER_WORKER: u64 = 16;
/// A worker hands sums by thread and site over when it has so many.
const MAX_SPARSE: usize = 1 << 16;

/// What the pass tells.
pub(super) struct LogSums {
    /// Waits with a record of their own.
    pub(super) recorded: Vec<ThreadSums>,
    /// Folded waits.
    pub(super) folded: Vec<ThreadSums>,
    /// Those of the recorded waits whose owner is known; `None` if they are too many, or
    /// nobody asked for them.
    pub(super) owned: Option<OwnedSums>,
    /// Waits whose site is not defined.
    pub(super) unknown: Sums,
    pub(super) events: u64,
    pub(super) folds: FoldNotes,
    pub(super) trace: TraceSums,
    pub(super) samples: SampleSums,
    pub(super) damage: Vec<Damage>,
}

/// What a worker takes at a time.
enum Piece<'a> {
    /// Chunks that begin with the same thread.
    Events(u32, Vec<&'a ChunkRef>),
    Cells(&'a ChunkRef),
    Acquisitions(&'a ChunkRef),
}

/// Sums what a log holds, into `owned` by owner.
pub(super) fn run(
    log: &Recording,
    window: &Window,
    samples: Samples<'_>,
    owned: owned::Shared,
    progress: &(dyn Fn(u64) + Sync),
) -> LogSums {
    let pieces = pieces(log);
    let next = AtomicUsize::new(0);
    let (recorded, folded) = (Shared::default(), Shared::default());
    let (events, trace) = (AtomicU64::new(0), Mutex::new(TraceSums::default()));
    let sampled = Mutex::new(SampleSums::default());
    let rest = Mutex::new((Sums::default(), FoldNotes::default(), log.damage().to_vec()));
    rayon::broadcast(|_| {
        let mut worker = Worker::new(log, window, samples, &owned, progress);
        while let Some(piece) = pieces.get(next.fetch_add(1, Relaxed)) {
            match piece {
                Piece::Events(thread, chunks) => worker.events(*thread, chunks, &recorded),
                Piece::Cells(chunk) => worker.cells(chunk, &folded),
                Piece::Acquisitions(chunk) => worker.acquisitions(chunk),
            }
            if worker.tracer.sums.len() > MAX_SPARSE {
                lock(&trace).add(&mut worker.tracer.sums);
            }
            if worker.sampler.sums.len() > MAX_SPARSE {
                lock(&sampled).add(&mut worker.sampler.sums);
            }
        }
        lock(&trace).add(&mut worker.tracer.sums);
        lock(&sampled).add(&mut worker.sampler.sums);
        worker.owned.hand_over();
        recorded.add_sparse(&mut worker.others.sums);
        folded.add_sparse(&mut worker.folder.sums);
        events.fetch_add(worker.count + worker.others.count, Relaxed);
        let mut rest = lock(&rest);
        rest.0.add(&worker.others.unknown);
        rest.1.add(&worker.folder.notes);
        rest.2.append(&mut worker.damage);
    });
    let (unknown, folds, mut damage) =
        rest.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Damage::bound(&mut damage);
    LogSums {
        recorded: recorded.into_threads(),
        folded: folded.into_threads(),
        owned: owned.into_sums(),
        unknown,
        events: events.into_inner(),
        folds,
        trace: trace.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner),
        samples: sampled.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner),
        damage,
    }
}

/// Cuts a log into pieces, the longest first.
fn pieces(log: &Recording) -> Vec<Piece<'_>> {
    let mut chunks: Vec<&ChunkRef> = log.event_chunks().iter().collect();
    chunks.sort_by_key(|chunk| (chunk.thread, chunk.offset));
    let total: u64 = chunks.iter().map(|chunk| u64::from(chunk.committed)).sum();
    let workers = rayon::current_num_threads() as u64;
    let limit = PIECE.max(total / (workers * PIECES_PER_WORKER));
    let mut pieces: Vec<(u64, Piece<'_>)> = Vec::new();
    for chunk in chunks {
        let bytes = u64::from(chunk.committed);
        match pieces.last_mut() {
            Some((sum, Piece::Events(thread, list)))
                if *thread == chunk.thread && *sum + bytes <= limit =>
            {
                *sum += bytes;
                list.push(chunk);
            }
            _ => pieces.push((bytes, Piece::Events(chunk.thread, vec![chunk]))),
        }
    }
    pieces.extend(
        log.cell_chunks().iter().map(|chunk| (u64::from(chunk.committed), Piece::Cells(chunk))),
    );
    let acquisitions = log.acquisition_chunks().iter();
    pieces
        .extend(acquisitions.map(|chunk| (u64::from(chunk.committed), Piece::Acquisitions(chunk))));
    pieces.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

/// One worker's state.
struct Worker<'a> {
    log: &'a Recording,
    window: &'a Window,
    progress: &'a (dyn Fn(u64) + Sync),
    /// The sums of the current piece's thread, by site.
    dense: Vec<Sums>,
    others: Others<'a>,
    owned: Owned<'a>,
    folder: Folder<'a>,
    tracer: Tracer<'a>,
    sampler: Sampler<'a>,
    /// Whether all waits are added, and sums are all that is wanted of them: two chunks
    /// can be decoded together.
    adds_all: bool,
    count: u64,
    damage: Vec<Damage>,
}

/// The sums that do not go into the dense ones.
struct Others<'a> {
    log: &'a Recording,
    sums: SparseSums,
    unknown: Sums,
    count: u64,
}

impl Others<'_> {
    #[inline(never)]
    fn add(&mut self, thread: u32, site: u32, sums: &Sums) {
        self.count += sums.count;
        let definitions = self.log.definitions();
        if definitions.sites().get(site).is_none() {
            self.unknown.add(sums);
            return;
        }
        let key = (known_thread(self.log, thread), site);
        self.sums.entry(key).or_default().add(sums);
    }
}

/// Adds the waits of a piece. Its parts are variables of their own, so that the compiler
/// keeps them in registers.
struct Adder<'w, 'a> {
    /// The thread of the dense sums.
    thread: u32,
    /// Empty if there are to be none.
    dense: &'w mut [Sums],
    others: &'w mut Others<'a>,
}

impl<'w, 'a> Adder<'w, 'a> {
    fn new(
        thread: u32,
        is_dense: bool,
        dense: &'w mut [Sums],
        others: &'w mut Others<'a>,
    ) -> Adder<'w, 'a> {
        Adder { thread, dense: if is_dense { dense } else { &mut [] }, others }
    }

    #[inline(always)]
    fn add_wait<const BY_OWNER: bool>(
        &mut self,
        owned: &mut Owned<'_>,
        thread: u32,
        site: u32,
        owner: u32,
        wait_ns: u64,
    ) {
        if BY_OWNER && owner != 0 && owned.is_on {
            if let Some((thread, site, sums)) = owned.add_wait((thread, site, owner), wait_ns) {
                self.add(thread, site, &sums);
            }
            return;
        }
        match self.dense.get_mut(site as usize) {
            Some(sums) if thread == self.thread => sums.add_wait(wait_ns),
            _ => self.others.add(thread, site, &Sums::of(wait_ns)),
        }
    }

    /// Not a call of its own, or else its parts would be in memory.
    #[inline(always)]
    fn add(&mut self, thread: u32, site: u32, sums: &Sums) {
        match self.dense.get_mut(site as usize) {
            Some(own) if thread == self.thread => own.add(sums),
            _ => self.others.add(thread, site, sums),
        }
    }
}

/// Takes the records of two chunks.
struct Both<'w, 'a, const BY_OWNER: bool> {
    adder: Adder<'w, 'a>,
    owned: &'w mut Owned<'a>,
    tracer: &'w mut Tracer<'a>,
    sampler: &'w mut Sampler<'a>,
}

impl<'r, const BY_OWNER: bool> TakeRecords<'r> for Both<'_, '_, BY_OWNER> {
    #[inline(always)]
    fn wait(&mut self, thread: u32, site: u32, owner: u32, wait_ns: u64) {
        self.adder.add_wait::<BY_OWNER>(self.owned, thread, site, owner, wait_ns);
    }

    #[inline(never)]
    fn entry(&mut self, entry: Entry<'r>) {
        match entry {
            Entry::Wait(event) => {
                self.wait(event.thread, event.site, event.owner, event.wait_ns());
            }
            Entry::Sample(sampled) => self.sampler.record(&sampled),
            Entry::Wake(woken) => self.tracer.wake(&woken),
            Entry::Holder(answered) => self.tracer.holder(&answered),
            _ => {}
        }
    }
}

impl<'a> Worker<'a> {
    fn new(
        log: &'a Recording,
        window: &'a Window,
        samples: Samples<'a>,
        owned: &'a owned::Shared,
        progress: &'a (dyn Fn(u64) + Sync),
    ) -> Self {
        let (sums, unknown) = (SparseSums::default(), Sums::default());
        Worker {
            log,
            window,
            progress,
            dense: vec![Sums::default(); log.definitions().sites().len()],
            others: Others { log, sums, unknown, count: 0 },
            owned: Owned::new(log, owned),
            folder: Folder::new(log, window),
            tracer: Tracer::new(log, window),
            sampler: Sampler::new(log, window, samples),
            adds_all: window.is_open() && !log.is_trace(),
            count: 0,
            damage: Vec::new(),
        }
    }

    fn events(&mut self, thread: u32, chunks: &[&ChunkRef], to: &Shared) {
        let bytes: u64 = chunks.iter().map(|chunk| u64::from(chunk.committed)).sum();
        // Going through all sites after a piece must not cost more than it.
        let dense = bytes >= self.dense.len() as u64 / 2;
        let mut left = chunks;
        while let [chunk, rest @ ..] = left {
            left = rest;
            match left {
                [other, rest @ ..] if self.adds_all => {
                    left = rest;
                    match self.owned.is_on {
                        true => self.two_chunks::<true>(thread, (chunk, other), dense),
                        false => self.two_chunks::<false>(thread, (chunk, other), dense),
                    }
                    (self.progress)(u64::from(other.committed));
                }
                _ => self.chunk(thread, chunk, dense),
            }
            if self.others.sums.len() > MAX_SPARSE {
                to.add_sparse(&mut self.others.sums);
            }
            (self.progress)(u64::from(chunk.committed));
        }
        let mut adder = Adder::new(thread, dense, &mut self.dense, &mut self.others);
        self.owned.finish(|thread, site, sums| adder.add(thread, site, sums));
        if dense {
            let sites = self.take_dense();
            to.add_dense(known_thread(self.log, thread), sites);
        }
    }

    fn chunk(&mut self, thread: u32, chunk: &ChunkRef, dense: bool) {
        let mut events = match self.log.events(chunk) {
            Ok(events) => events,
            Err(damage) => return self.damage.push(damage),
        };
        let window = *self.window;
        let mut adder = Adder::new(thread, dense, &mut self.dense, &mut self.others);
        let (owned, count) = (&mut self.owned, &mut self.count);
        let mut add = |event: &Event| {
            adder.add_wait::<true>(owned, event.thread, event.site, event.owner, event.wait_ns());
        };
        let (tracer, sampler) = (&mut self.tracer, &mut self.sampler);
        if self.log.is_trace() {
            let is_open = window.is_open();
            events.visit_all(|entry| match entry {
                Entry::Wait(event) if is_open || window.takes(&event) => add(&event),
                Entry::Wait(_) => *count += 1,
                Entry::Traced(traced) => tracer.record(&traced),
                Entry::Sample(sampled) => sampler.record(&sampled),
                Entry::Wake(woken) => tracer.wake(&woken),
                Entry::Holder(answered) => tracer.holder(&answered),
                _ => {}
            });
        } else if window.is_open() {
            events.visit_all(|entry| match entry {
                Entry::Wait(event) => add(&event),
                Entry::Sample(sampled) => sampler.record(&sampled),
                Entry::Wake(woken) => tracer.wake(&woken),
                Entry::Holder(answered) => tracer.holder(&answered),
                _ => {}
            });
        } else {
            events.visit_all(|entry| match entry {
                Entry::Wait(event) if window.takes(&event) => add(&event),
                Entry::Wait(_) => *count += 1,
                Entry::Sample(sampled) => sampler.record(&sampled),
                Entry::Wake(woken) => tracer.wake(&woken),
                Entry::Holder(answered) => tracer.holder(&answered),
                _ => {}
            });
        }
        self.damage.extend(events.damage());
    }

    /// Two chunks that begin with the same thread.
    fn two_chunks<const BY_OWNER: bool>(
        &mut self,
        thread: u32,
        (a, b): (&ChunkRef, &ChunkRef),
        dense: bool,
    ) {
        let (mut first, mut second) = match (self.log.events(a), self.log.events(b)) {
            (Ok(first), Ok(second)) => (first, second),
            _ => return [a, b].iter().for_each(|chunk| self.chunk(thread, chunk, dense)),
        };
        let adder = Adder::new(thread, dense, &mut self.dense, &mut self.others);
        let (owned, tracer, sampler) = (&mut self.owned, &mut self.tracer, &mut self.sampler);
        visit_two(&mut first, &mut second, &mut Both::<BY_OWNER> { adder, owned, tracer, sampler });
        self.damage.extend([first.damage(), second.damage()].into_iter().flatten());
    }

    /// The dense sums by site in ascending order; all are zero afterwards.
    fn take_dense(&mut self) -> Vec<SiteSums> {
        let mut sites = Vec::new();
        for (site, sums) in self.dense.iter_mut().enumerate() {
            if sums.count != 0 {
                self.count += sums.count;
                sites.push(SiteSums { site: site as u32, sums: std::mem::take(sums) });
            }
        }
        sites
    }

    fn cells(&mut self, chunk: &ChunkRef, to: &Shared) {
        for cell in self.log.cells(chunk) {
            let taken = self.folder.add(&cell);
            if cell.owner != 0 && taken.count != 0 && self.owned.is_on {
                self.owned.add_folded((cell.thread, cell.site, cell.owner), &taken);
            }
        }
        if self.folder.sums.len() > MAX_SPARSE {
            to.add_sparse(&mut self.folder.sums);
        }
        (self.progress)(u64::from(chunk.committed));
    }

    fn acquisitions(&mut self, chunk: &ChunkRef) {
        for cell in self.log.acquisitions(chunk) {
            self.tracer.cell(&cell);
        }
        (self.progress)(u64::from(chunk.committed));
    }
}
