//! What workers take at a time.

use super::Reading;
use tyrion_formats::{ChunkRef, Recording};

/// Pieces are at least this long, in bytes: long enough for what a piece costs besides its
/// events.
const PIECE: u64 = 4 << 20;
/// And so short that each worker gets that many, to end at about the same time.
const PIECES_PER_WORKER: u64 = 16;
/// The number of bytes of chunks that begin within a span of time: what is kept of their
/// records until the span is over may take ten times as much memory.
pub(super) const SPAN: u64 = 32 << 20;

/// What a worker takes at a time.
pub(super) enum Piece<'a> {
    /// Chunks that begin with the same thread.
    Events(u32, u64, Vec<&'a ChunkRef>),
    Cells(&'a ChunkRef),
    Acquisitions(&'a ChunkRef),
}

/// Pieces that workers take in any order.
pub(super) struct PieceSet<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    /// No later part has a record before this moment, monotonic ns; `None` for the last one.
    pub(super) until_ns: Option<u64>,
}

/// Cuts a log into pieces, the longest first.
pub(super) fn by_thread<'a>(log: &'a Recording, reading: &Reading<'_>) -> Vec<Piece<'a>> {
    let total = bytes_of(log.event_chunks());
    let workers = rayon::current_num_threads() as u64;
    let limit = PIECE.max(total / (workers * PIECES_PER_WORKER));
    let mut pieces = of_events(log.event_chunks().iter().collect(), limit);
    pieces.extend(of_cells(log, reading));
    longest_first(pieces)
}

/// Cuts a log into spans of time, and each of these into pieces. Cells are in the first.
pub(super) fn in_time<'a>(log: &'a Recording, reading: &Reading<'_>) -> Vec<PieceSet<'a>> {
    let span_bytes = reading.span_bytes;
    let mut chunks: Vec<&ChunkRef> = log.event_chunks().iter().collect();
    chunks.sort_by_key(|chunk| (chunk.first_ns, chunk.offset));
    let workers = rayon::current_num_threads() as u64;
    let limit = (span_bytes / (workers * PIECES_PER_WORKER)).max(1);
    let mut parts =
        vec![PieceSet { pieces: longest_first(of_cells(log, reading)), until_ns: None }];
    let mut rest = &chunks[..];
    while let Some(first) = rest.first() {
        // Whatever comes later has no record before the moment from which its chunk counts.
        if let Some(before) = parts.last_mut() {
            before.until_ns = Some(first.first_ns);
        }
        let mut bytes = 0;
        let is_within = |chunk: &&&ChunkRef| {
            bytes += u64::from(chunk.committed);
            bytes <= span_bytes
        };
        let len = rest.iter().take_while(is_within).count().max(1);
        let (now, later) = rest.split_at(len);
        let pieces = longest_first(of_events(now.to_vec(), limit));
        parts.push(PieceSet { pieces, until_ns: None });
        rest = later;
    }
    parts
}

fn bytes_of(chunks: &[ChunkRef]) -> u64 {
    chunks.iter().map(|chunk| u64::from(chunk.committed)).sum()
}

/// Chunks that begin with the same thread, as many as are no longer than this together.
fn of_events(mut chunks: Vec<&ChunkRef>, limit: u64) -> Vec<(u64, Piece<'_>)> {
    chunks.sort_by_key(|chunk| (chunk.thread, chunk.offset));
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
    pieces
}

fn of_cells<'a>(log: &'a Recording, reading: &Reading<'_>) -> Vec<(u64, Piece<'a>)> {
    let cells = log.cell_chunks().iter();
    let cells = cells.map(|chunk| (u64::from(chunk.committed), Piece::Cells(chunk)));
    let acquired = reading.with_acquisitions.then(|| log.acquisition_chunks().iter());
    let acquired = acquired.into_iter().flatten();
    let of_acquired =
        |chunk: &'a ChunkRef| (u64::from(chunk.committed), Piece::Acquisitions(chunk));
    cells.chain(acquired.map(of_acquired)).collect()
}

fn longest_first(mut pieces: Vec<(u64, Piece<'_>)>) -> Vec<Piece<'_>> {
    pieces.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    pieces.into_iter().map(|(_, piece)| piece).collect()
}
