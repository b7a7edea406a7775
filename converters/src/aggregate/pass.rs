//! The pass over a log's events and cells.

use super::{
    fold::{FoldNotes, Folder},
    sums::{Shared, SiteSums, SparseSums, Sums, ThreadSums, lock},
};
use crate::filter::Window;
use std::sync::{
    Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};
use tyrion_formats::{ChunkRef, Damage, Event, Log};

/// Pieces are at least this long, in bytes: long enough for what a piece costs
/// besides its events.
const PIECE: u64 = 4 << 20;
/// And so short that each worker gets that many, to end at about the same time.
const PIECES_PER_WORKER: u64 = 16;
/// A worker hands sums by thread and site over when it has so many.
const MAX_SPARSE: usize = 1 << 16;
/// The damage that workers find is kept up to this number.
const MAX_DAMAGE: usize = tyrion_formats::limits::MAX_DAMAGE;

/// What the pass tells.
pub(super) struct LogSums {
    /// Waits with a record of their own.
    pub(super) recorded: Vec<ThreadSums>,
    /// Folded waits.
    pub(super) folded: Vec<ThreadSums>,
    /// Waits whose site's id is beyond all definitions.
    pub(super) unknown: Sums,
    pub(super) events: u64,
    pub(super) folds: FoldNotes,
    pub(super) damage: Vec<Damage>,
}

/// What a worker takes at a time.
enum Piece<'a> {
    /// Chunks that begin with the same thread.
    Events(u32, Vec<&'a ChunkRef>),
    Cells(&'a ChunkRef),
}

/// Sums the waits of a log.
pub(super) fn run(log: &Log, window: &Window, progress: &(dyn Fn(u64) + Sync)) -> LogSums {
    let pieces = pieces(log);
    let next = AtomicUsize::new(0);
    let (recorded, folded) = (Shared::default(), Shared::default());
    let events = AtomicU64::new(0);
    let rest = Mutex::new((Sums::default(), FoldNotes::default(), log.damage().to_vec()));
    rayon::broadcast(|_| {
        let mut worker = Worker::new(log, window, progress);
        while let Some(piece) = pieces.get(next.fetch_add(1, Relaxed)) {
            match piece {
                Piece::Events(thread, chunks) => worker.events(*thread, chunks, &recorded),
                Piece::Cells(chunk) => worker.cells(chunk, &folded),
            }
        }
        recorded.add_sparse(&mut worker.sparse);
        folded.add_sparse(&mut worker.folder.sums);
        events.fetch_add(worker.count, Relaxed);
        let mut rest = lock(&rest);
        rest.0.add(&worker.unknown);
        rest.1.add(&worker.folder.notes);
        rest.2.append(&mut worker.damage);
    });
    let (unknown, folds, mut damage) =
        rest.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    damage.sort_unstable();
    damage.truncate(MAX_DAMAGE + 1);
    LogSums {
        recorded: recorded.into_threads(),
        folded: folded.into_threads(),
        unknown,
        events: events.into_inner(),
        folds,
        damage,
    }
}

/// Cuts a log into pieces, the longest first.
fn pieces(log: &Log) -> Vec<Piece<'_>> {
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
    pieces.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

/// One worker's state.
struct Worker<'a> {
    log: &'a Log,
    window: &'a Window,
    progress: &'a (dyn Fn(u64) + Sync),
    /// The sums of the current piece's thread, by site.
    dense: Vec<Sums>,
    /// The sites that have any.
    touched: Vec<u32>,
    /// The sums of other threads.
    sparse: SparseSums,
    folder: Folder<'a>,
    unknown: Sums,
    count: u64,
    damage: Vec<Damage>,
}

impl<'a> Worker<'a> {
    fn new(log: &'a Log, window: &'a Window, progress: &'a (dyn Fn(u64) + Sync)) -> Self {
        Worker {
            log,
            window,
            progress,
            dense: vec![Sums::default(); log.definitions().sites().len()],
            touched: Vec::new(),
            sparse: SparseSums::new(),
            folder: Folder::new(window),
            unknown: Sums::default(),
            count: 0,
            damage: Vec::new(),
        }
    }

    fn events(&mut self, thread: u32, chunks: &[&ChunkRef], to: &Shared) {
        for chunk in chunks {
            self.chunk(thread, chunk);
            if self.sparse.len() > MAX_SPARSE {
                to.add_sparse(&mut self.sparse);
            }
            (self.progress)(u64::from(chunk.committed));
        }
        let sites = self.take_dense();
        if !sites.is_empty() {
            to.add_dense(thread, sites);
        }
    }

    fn chunk(&mut self, thread: u32, chunk: &ChunkRef) {
        let mut events = match self.log.events(chunk) {
            Ok(events) => events,
            Err(damage) => return self.add_damage(damage),
        };
        let window = *self.window;
        if window.is_open() {
            for event in events.by_ref() {
                self.add(thread, &event);
            }
        } else {
            for event in events.by_ref() {
                if event.wait_ns() >= window.min_wait_ns && window.holds(event.end_ns) {
                    self.add(thread, &event);
                } else {
                    self.count += 1;
                }
            }
        }
        if let Some(damage) = events.damage() {
            self.add_damage(damage);
        }
    }

    #[inline(always)]
    fn add(&mut self, thread: u32, event: &Event) {
        self.count += 1;
        let wait_ns = event.wait_ns();
        match self.dense.get_mut(event.site as usize) {
            Some(sums) if event.thread == thread => {
                if sums.count == 0 {
                    self.touched.push(event.site);
                }
                sums.add_wait(wait_ns);
            }
            Some(_) => self.sparse.entry((event.thread, event.site)).or_default().add_wait(wait_ns),
            None => self.unknown.add_wait(wait_ns),
        }
    }

    /// The dense sums by site in ascending order; all are zero afterwards.
    fn take_dense(&mut self) -> Vec<SiteSums> {
        self.touched.sort_unstable();
        let dense = &mut self.dense;
        let take = |site: u32| SiteSums { site, sums: std::mem::take(&mut dense[site as usize]) };
        self.touched.drain(..).map(take).collect()
    }

    fn cells(&mut self, chunk: &ChunkRef, to: &Shared) {
        for cell in self.log.cells(chunk) {
            self.folder.add(&cell);
        }
        if self.folder.sums.len() > MAX_SPARSE {
            to.add_sparse(&mut self.folder.sums);
        }
        (self.progress)(u64::from(chunk.committed));
    }

    fn add_damage(&mut self, damage: Damage) {
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push(damage);
        }
    }
}
