//! Events of many lanes in the order of time, span after span.
//!
//! A recording of all events may be far larger than memory. Chunks know from
//! when on they count, so a span of time can be read without the others: its
//! events are sorted, and nothing is kept of them but what the next span has to
//! know.

use tyrion_formats::{ChunkRef, Recording};

/// The number of bytes of chunks that begin within a span: its events take ten times as
/// much memory, or less.
pub(super) const SPAN_BYTES: u64 = 32 << 20;

/// A chunk and the time that its records can have.
pub(super) struct Piece<'a> {
    /// The log.
    pub(super) run: u32,
    pub(super) log: &'a Recording,
    pub(super) chunk: &'a ChunkRef,
    /// No record is later.
    last_ns: u64,
}

/// A chunk that has less than this left, in bytes, its header included, may have
/// been left because it was full. No record is as long.
const FULL_ROOM: u64 = 512;

/// Spans of time, one after another, and what is in each.
pub(super) struct Spans<'a> {
    pieces: Vec<Piece<'a>>,
    /// Where spans begin; the first one at 0.
    starts: Vec<u64>,
}

impl<'a> Spans<'a> {
    /// Of some logs of one recording, by their numbers.
    pub(super) fn new(logs: &[(u32, &'a Recording)], span_bytes: u64) -> Spans<'a> {
        let mut pieces: Vec<Piece<'a>> = Vec::new();
        for &(run, log) in logs {
            let mut chunks: Vec<&ChunkRef> = log.event_chunks().iter().collect();
            chunks.sort_by_key(|chunk| (chunk.lane, chunk.sequence, chunk.offset));
            for (at, chunk) in chunks.iter().enumerate() {
                // A lane goes on in another chunk when one is full, or when it
                // must go back in time: then nothing is known of this one.
                let room = u64::from(chunk.len) - u64::from(chunk.committed).min(chunk.len.into());
                let next = chunks.get(at + 1).filter(|next| next.lane == chunk.lane);
                let next = next.filter(|_| room < FULL_ROOM);
                let last_ns = next.map_or(u64::MAX, |next| next.first_ns);
                pieces.push(Piece { run, log, chunk, last_ns });
            }
        }
        pieces.sort_by_key(|piece| (piece.chunk.first_ns, piece.run, piece.chunk.offset));
        let mut starts = vec![0];
        let mut bytes = 0;
        for piece in &pieces {
            bytes += u64::from(piece.chunk.committed);
            if bytes > span_bytes && starts.last() != Some(&piece.chunk.first_ns) {
                starts.push(piece.chunk.first_ns);
                bytes = u64::from(piece.chunk.committed);
            }
        }
        Spans { pieces, starts }
    }

    /// The spans: the first moment, the first one behind it, and the chunks that
    /// may have records of it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, Vec<&Piece<'a>>)> {
        self.starts.iter().enumerate().map(|(at, &start)| {
            let end = self.starts.get(at + 1).copied().unwrap_or(u64::MAX);
            let within = |piece: &&Piece<'a>| piece.chunk.first_ns < end && piece.last_ns >= start;
            (start, end, self.pieces.iter().filter(within).collect())
        })
    }
}
