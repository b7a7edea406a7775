//! One pass over the records of a log, for all who ask something of them.
//!
//! Whoever wants to know something is a [`Question`]: it gives each worker a [`Visitor`] to
//! send through the records, and takes the visitors up when the workers are done. Questions
//! that need the same pass go together as a pair, so that each chunk is checked and decoded
//! once for all of them. What visitors sum does not depend on who has seen which chunk, so
//! the number of workers changes nothing. A question may ask for the order of time
//! ([`Order::InTime`]); then the others of the same pass get it, too.

mod made;
mod pieces;

pub use made::{Pass, made};

use pieces::{Piece, PieceSet};
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};
use tyrion_formats::{ChunkRef, Damage, Entry, Events, Recording};
use tyrion_wire::{cell::Cell, trace::AcquisitionCell};

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

/// In which order a question needs what is in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Thread by thread as far as that is possible, and for each thread in the order of time
    /// only within a chunk.
    #[default]
    ByThread,
    /// Span of time after span of time. What a span has comes in any order, and some of what
    /// is later with it; [`Question::until`] says when all has come.
    InTime,
}

/// Who wants to know something of a log.
pub trait Question: Sync {
    /// What goes through the records.
    type Visitor<'q>: Visitor + Send
    where
        Self: 'q;

    /// In which order it needs the records.
    fn order(&self) -> Order {
        Order::ByThread
    }
    /// In the order of time: the visitors have seen all records before this moment, monotonic
    /// ns, and no pieces are under way. Each worker is asked at the same time, by its number
    /// among so many, to do its share of what is to be done now.
    fn until(&self, _at_ns: u64, _share: (usize, usize)) {}

    /// A visitor for a worker.
    fn visitor(&self) -> Self::Visitor<'_>;
    /// Takes up what a visitor has seen.
    fn take<'q>(&'q self, visitor: Self::Visitor<'q>);
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

    fn order(&self) -> Order {
        self.0.order().max(self.1.order())
    }
    fn until(&self, at_ns: u64, share: (usize, usize)) {
        self.0.until(at_ns, share);
        self.1.until(at_ns, share);
    }
    fn visitor(&self) -> Self::Visitor<'_> {
        (self.0.visitor(), self.1.visitor())
    }
    fn take<'q>(&'q self, visitor: Self::Visitor<'q>) {
        self.0.take(visitor.0);
        self.1.take(visitor.1);
    }
}

/// A question that nobody asks.
pub struct Nothing;

impl Visitor for Nothing {
    fn entry(&mut self, _entry: &Entry<'_>) {}
}

impl Question for Nothing {
    type Visitor<'q> = Nothing;

    fn visitor(&self) -> Nothing {
        Nothing
    }
    fn take(&self, _visitor: Nothing) {}
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

    fn order(&self) -> Order {
        self.as_ref().map_or(Order::ByThread, Question::order)
    }
    fn until(&self, at_ns: u64, share: (usize, usize)) {
        self.iter().for_each(|question| question.until(at_ns, share));
    }
    fn visitor(&self) -> Self::Visitor<'_> {
        self.as_ref().map(Question::visitor)
    }
    fn take<'q>(&'q self, visitor: Self::Visitor<'q>) {
        if let Some((question, visitor)) = self.as_ref().zip(visitor) {
            question.take(visitor);
        }
    }
}

/// Whoever is asked by another one.
impl<A: Question> Question for &A {
    type Visitor<'q>
        = A::Visitor<'q>
    where
        Self: 'q;

    fn order(&self) -> Order {
        (*self).order()
    }
    fn until(&self, at_ns: u64, share: (usize, usize)) {
        (*self).until(at_ns, share);
    }
    fn visitor(&self) -> Self::Visitor<'_> {
        (*self).visitor()
    }
    fn take<'q>(&'q self, visitor: Self::Visitor<'q>) {
        (*self).take(visitor);
    }
}

/// How a log is read.
#[derive(Clone, Copy)]
pub struct Reading<'r> {
    /// Whether the checksums of all chunks are known to hold.
    pub is_checked: bool,
    /// Whether cells of acquisitions are wanted, too.
    pub with_acquisitions: bool,
    /// In the order of time: from this moment on, monotonic ns, another log that comes next
    /// may have records, so [`Question::until`] does not go beyond it.
    pub next_ns: u64,
    /// In the order of time: how many bytes the chunks of a span have together.
    pub span_bytes: u64,
    /// Is told how many more bytes are done, from any worker.
    pub progress: &'r (dyn Fn(u64) + Sync),
}

impl<'r> Reading<'r> {
    /// For the first time, without cells of acquisitions.
    pub fn new(progress: &'r (dyn Fn(u64) + Sync)) -> Reading<'r> {
        Reading {
            is_checked: false,
            with_acquisitions: false,
            next_ns: u64::MAX,
            span_bytes: pieces::SPAN,
            progress,
        }
    }
}

/// Sends visitors through all records of a log, on all workers of the current rayon pool.
/// Returns what is damaged, in no order.
pub fn run(log: &Recording, question: &impl Question, reading: Reading<'_>) -> Vec<Damage> {
    let watch = made::Watch::new();
    let order = question.order();
    let parts = match order {
        Order::ByThread => {
            vec![PieceSet { pieces: pieces::by_thread(log, &reading), until_ns: None }]
        }
        Order::InTime => pieces::in_time(log, &reading),
    };
    // One for each worker, whichever of them first has something to do.
    let workers: Vec<Mutex<Option<Worker<'_, _>>>> =
        (0..rayon::current_num_threads()).map(|_| Mutex::new(None)).collect();
    for part in &parts {
        let next = AtomicUsize::new(0);
        rayon::broadcast(|worker| {
            let Some(slot) = workers.get(worker.index()) else { return };
            let mut worker = lock(slot);
            while let Some(piece) = part.pieces.get(next.fetch_add(1, Relaxed)) {
                let new =
                    || Worker { log, reading, visitor: question.visitor(), damage: Vec::new() };
                worker.get_or_insert_with(new).piece(piece);
            }
        });
        if let Some(until_ns) = part.until_ns.filter(|&until_ns| until_ns <= reading.next_ns) {
            rayon::broadcast(|worker| {
                question.until(until_ns, (worker.index(), worker.num_threads()));
            });
        }
    }
    let all = Mutex::new(Vec::new());
    rayon::broadcast(|worker| {
        let done = workers.get(worker.index()).and_then(|slot| lock(slot).take());
        if let Some(mut worker) = done {
            question.take(worker.visitor);
            lock(&all).append(&mut worker.damage);
        }
    });
    made::add(log, order, watch.elapsed());
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
