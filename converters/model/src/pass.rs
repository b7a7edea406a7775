//! One pass over the records of a log, for all who ask something of them.
//!
//! Whoever wants to know something is a [`Question`]: it gives each worker a [`Visitor`] to
//! send through the records, and takes the visitors up when the workers are done. Questions
//! that need the same pass go together as a pair, so that each chunk is checked and decoded
//! once for all of them. What visitors sum does not depend on who has seen which chunk, so
//! the number of workers changes nothing.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tyrion_formats::{ChunkRef, Damage, Entry, Events, Recording};
use tyrion_wire::{cell::Cell, trace::AcquisitionCell};

/// Pieces are at least this long, in bytes: long enough for what a piece costs besides its
/// events.
const PIECE: u64 = 4 << 20;
/// And so short that each worker gets that many, to end at about the same time.
const PIECES_PER_WORKER: u64 = 16;

/// What one worker does with what it sees of a log: pieces, each of which has chunks of
/// events that begin with the same thread, one after the other, and cells.
pub trait Visitor {
    /// A piece begins whose chunks begin with this thread, and have so many bytes together.
    fn begin_piece(&mut self, _thread: u32, _bytes: u64) {}
    /// The piece is over.
    fn end_piece(&mut self) {}
    /// A chunk of events begins.
    fn begin_chunk(&mut self, _chunk: &ChunkRef) {}
    /// The chunk is over.
    fn end_chunk(&mut self) {}
    /// A record of a chunk.
    fn entry(&mut self, entry: &Entry<'_>);
    /// Whether two chunks may be decoded together, by [`Visitor::two_chunks`].
    fn takes_two(&self) -> bool {
        false
    }
    /// All records of two chunks.
    fn two_chunks<'e>(&mut self, first: &mut Events<'e>, second: &mut Events<'e>) {
        first.visit_all(|entry| self.entry(&entry));
        second.visit_all(|entry| self.entry(&entry));
    }
    /// Waits that were folded.
    fn cell(&mut self, _cell: &Cell) {}
    /// Acquisitions that were counted.
    fn acquisitions(&mut self, _cell: &AcquisitionCell) {}
}

/// Who wants to know something of a log.
pub trait Question: Sync {
    /// What goes through the records.
    type Visitor<'q>: Visitor
    where
        Self: 'q;

    /// A visitor for a worker.
    fn visitor(&self) -> Self::Visitor<'_>;
    /// Takes up what a visitor has seen.
    fn take(&self, visitor: Self::Visitor<'_>);
}

impl<A: Visitor, B: Visitor> Visitor for (A, B) {
    fn begin_piece(&mut self, thread: u32, bytes: u64) {
        self.0.begin_piece(thread, bytes);
        self.1.begin_piece(thread, bytes);
    }
    fn end_piece(&mut self) {
        self.0.end_piece();
        self.1.end_piece();
    }
    fn begin_chunk(&mut self, chunk: &ChunkRef) {
        self.0.begin_chunk(chunk);
        self.1.begin_chunk(chunk);
    }
    fn end_chunk(&mut self) {
        self.0.end_chunk();
        self.1.end_chunk();
    }
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        self.0.entry(entry);
        self.1.entry(entry);
    }
    fn cell(&mut self, cell: &Cell) {
        self.0.cell(cell);
        self.1.cell(cell);
    }
    fn acquisitions(&mut self, cell: &AcquisitionCell) {
        self.0.acquisitions(cell);
        self.1.acquisitions(cell);
    }
}

impl<A: Question, B: Question> Question for (A, B) {
    type Visitor<'q>
        = (A::Visitor<'q>, B::Visitor<'q>)
    where
        Self: 'q;

    fn visitor(&self) -> Self::Visitor<'_> {
        (self.0.visitor(), self.1.visitor())
    }
    fn take(&self, visitor: Self::Visitor<'_>) {
        self.0.take(visitor.0);
        self.1.take(visitor.1);
    }
}

/// Nobody asks: no record is of interest.
impl<A: Visitor> Visitor for Option<A> {
    fn begin_piece(&mut self, thread: u32, bytes: u64) {
        self.iter_mut().for_each(|visitor| visitor.begin_piece(thread, bytes));
    }
    fn end_piece(&mut self) {
        self.iter_mut().for_each(Visitor::end_piece);
    }
    fn begin_chunk(&mut self, chunk: &ChunkRef) {
        self.iter_mut().for_each(|visitor| visitor.begin_chunk(chunk));
    }
    fn end_chunk(&mut self) {
        self.iter_mut().for_each(Visitor::end_chunk);
    }
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        if let Some(visitor) = self {
            visitor.entry(entry);
        }
    }
    fn cell(&mut self, cell: &Cell) {
        self.iter_mut().for_each(|visitor| visitor.cell(cell));
    }
    fn acquisitions(&mut self, cell: &AcquisitionCell) {
        self.iter_mut().for_each(|visitor| visitor.acquisitions(cell));
    }
}

impl<A: Question> Question for Option<A> {
    type Visitor<'q>
        = Option<A::Visitor<'q>>
    where
        Self: 'q;

    fn visitor(&self) -> Self::Visitor<'_> {
        self.as_ref().map(Question::visitor)
    }
    fn take(&self, visitor: Self::Visitor<'_>) {
        if let Some((question, visitor)) = self.as_ref().zip(visitor) {
            question.take(visitor);
        }
    }
}

/// How a log is read.
#[derive(Clone, Copy)]
pub struct Reading<'r> {
    /// Whether the checksums of all chunks are known to hold.
    pub is_checked: bool,
    /// Whether cells of acquisitions are wanted, too.
    pub with_acquisitions: bool,
    /// Is told how many more bytes are done, from any worker.
    pub progress: &'r (dyn Fn(u64) + Sync),
}

/// What a worker takes at a time.
enum Piece<'a> {
    /// Chunks that begin with the same thread.
    Events(u32, u64, Vec<&'a ChunkRef>),
    Cells(&'a ChunkRef),
    Acquisitions(&'a ChunkRef),
}

/// Sends visitors through all records of a log, on all workers of the current rayon pool.
/// Returns what is damaged, in no order.
pub fn run(log: &Recording, question: &impl Question, reading: Reading<'_>) -> Vec<Damage> {
    let pieces = pieces(log, reading.with_acquisitions);
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    rayon::broadcast(|_| {
        let mut worker = Worker { log, reading, visitor: question.visitor(), damage: Vec::new() };
        while let Some(piece) = pieces.get(next.fetch_add(1, Relaxed)) {
            worker.piece(piece);
        }
        question.take(worker.visitor);
        all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut worker.damage);
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

struct Worker<'a, V> {
    log: &'a Recording,
    reading: Reading<'a>,
    visitor: V,
    damage: Vec<Damage>,
}

impl<'a, V: Visitor> Worker<'a, V> {
    fn piece(&mut self, piece: &Piece<'a>) {
        match piece {
            Piece::Events(thread, bytes, chunks) => {
                self.visitor.begin_piece(*thread, *bytes);
                self.chunks(chunks);
                self.visitor.end_piece();
            }
            Piece::Cells(chunk) => {
                self.log.cells(chunk).for_each(|cell| self.visitor.cell(&cell));
                (self.reading.progress)(u64::from(chunk.committed));
            }
            Piece::Acquisitions(chunk) => {
                self.log.acquisitions(chunk).for_each(|cell| self.visitor.acquisitions(&cell));
                (self.reading.progress)(u64::from(chunk.committed));
            }
        }
    }

    fn chunks(&mut self, chunks: &[&'a ChunkRef]) {
        let mut left = chunks;
        while let [chunk, rest @ ..] = left {
            left = rest;
            let mut done = u64::from(chunk.committed);
            match left {
                [other, rest @ ..] if self.visitor.takes_two() => {
                    left = rest;
                    done += u64::from(other.committed);
                    self.two(chunk, other);
                }
                _ => self.one(chunk),
            }
            (self.reading.progress)(done);
        }
    }

    fn one(&mut self, chunk: &'a ChunkRef) {
        let Some(mut events) = self.events(chunk) else { return };
        self.visitor.begin_chunk(chunk);
        events.visit_all(|entry| self.visitor.entry(&entry));
        self.visitor.end_chunk();
        self.damage.extend(events.damage());
    }

    fn two(&mut self, first: &'a ChunkRef, second: &'a ChunkRef) {
        match (self.events(first), self.events(second)) {
            (Some(mut a), Some(mut b)) => {
                self.visitor.two_chunks(&mut a, &mut b);
                self.damage.extend([a.damage(), b.damage()].into_iter().flatten());
            }
            (Some(mut events), None) | (None, Some(mut events)) => {
                events.visit_all(|entry| self.visitor.entry(&entry));
                self.damage.extend(events.damage());
            }
            (None, None) => {}
        }
    }

    fn events(&mut self, chunk: &'a ChunkRef) -> Option<Events<'a>> {
        if self.reading.is_checked {
            return Some(self.log.events_again(chunk));
        }
        self.log.events(chunk).map_err(|damage| self.damage.push(damage)).ok()
    }
}

/// Cuts a log into pieces, the longest first.
fn pieces(log: &Recording, with_acquisitions: bool) -> Vec<Piece<'_>> {
    let mut chunks: Vec<&ChunkRef> = log.event_chunks().iter().collect();
    chunks.sort_by_key(|chunk| (chunk.thread, chunk.offset));
    let total: u64 = chunks.iter().map(|chunk| u64::from(chunk.committed)).sum();
    let workers = rayon::current_num_threads() as u64;
    let limit = PIECE.max(total / (workers * PIECES_PER_WORKER));
    let mut pieces: Vec<(u64, Piece<'_>)> = Vec::new();
    for chunk in chunks {
        let bytes = u64::from(chunk.committed);
        match pieces.last_mut() {
            Some((sum, Piece::Events(thread, of_piece, list)))
                if *thread == chunk.thread && *sum + bytes <= limit =>
            {
                *sum += bytes;
                *of_piece += bytes;
                list.push(chunk);
            }
            _ => pieces.push((bytes, Piece::Events(chunk.thread, bytes, vec![chunk]))),
        }
    }
    let cells = log.cell_chunks().iter();
    pieces.extend(cells.map(|chunk| (u64::from(chunk.committed), Piece::Cells(chunk))));
    if with_acquisitions {
        let chunks = log.acquisition_chunks().iter();
        pieces.extend(chunks.map(|chunk| (u64::from(chunk.committed), Piece::Acquisitions(chunk))));
    }
    pieces.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    pieces.into_iter().map(|(_, piece)| piece).collect()
}
