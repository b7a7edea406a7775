//! What is changed in place: cells, slots, counters and acquisition cells.

use super::chunk::ChunkRef;
use crate::{bytes::Bytes, limits, parse};
use tyrion_wire::{
    cell::{self, Cell},
    chunk::HEADER_LEN,
    le,
    slot::{self, Counters, Pending},
    trace::{AcquisitionCell, BURSTS_CELL_LEN, CELL_LEN},
};

/// The places of `N` bytes in the committed part of a chunk.
pub(crate) fn places<const N: usize>(chunk: &ChunkRef) -> impl Iterator<Item = usize> + use<N> {
    places_of(chunk, N)
}

fn places_of(chunk: &ChunkRef, len: usize) -> impl Iterator<Item = usize> + use<> {
    let start = chunk.offset as usize + HEADER_LEN;
    (0..chunk.committed as usize / len).map(move |nth| start + nth * len)
}

/// The places of the acquisition cells of a chunk.
pub(crate) fn acquisition_places(chunk: &ChunkRef) -> impl Iterator<Item = usize> + use<> {
    places_of(chunk, if chunk.in_bursts { BURSTS_CELL_LEN } else { CELL_LEN })
}

/// Copies a place whose writer counts its changes in the first four bytes,
/// such that the count was the same before and after. A writer that is faster
/// than that for ever cannot be, but if it was, the last copy has to do.
fn copy_steady<const N: usize>(source: &Bytes, at: usize) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for _ in 0..limits::MAX_RETRIES {
        source.copy(at, &mut bytes)?;
        let mut again = [0; 8];
        source.copy(at, &mut again)?;
        if le::u32_at(&bytes, 0) == le::u32_at(&again, 0) {
            break;
        }
        std::hint::spin_loop();
    }
    Some(bytes)
}

/// The cells of a chunk that hold waits.
pub(crate) fn cells(source: &Bytes, chunk: &ChunkRef) -> impl Iterator<Item = Cell> {
    places::<{ cell::LEN }>(chunk)
        .filter_map(|at| cell_at(source, at))
        .filter(|cell| cell.count != 0)
}

/// The cell at a place.
pub(crate) fn cell_at(source: &Bytes, at: usize) -> Option<Cell> {
    let bytes = copy_steady::<{ cell::LEN }>(source, at)?;
    Some(parse::fold_cell(&bytes).ok()?.1)
}

/// The acquisition cells of a chunk that say anything. Their numbers are
/// independent of each other, so one copy of each will do.
pub(crate) fn acquisitions(
    source: &Bytes,
    chunk: &ChunkRef,
) -> impl Iterator<Item = AcquisitionCell> {
    acquisition_places(chunk)
        .filter_map(|at| acquisition_at(source, chunk, at))
        .filter(|cell| !cell.is_empty())
}

/// The acquisition cell at a place of a chunk, with what it estimates.
pub(crate) fn acquisition_at(
    source: &Bytes,
    chunk: &ChunkRef,
    at: usize,
) -> Option<AcquisitionCell> {
    if chunk.in_bursts {
        let mut bytes = [0; BURSTS_CELL_LEN];
        source.copy(at, &mut bytes)?;
        return Some(parse::bursts_cell(&bytes).ok()?.1.with_uncounted());
    }
    let mut bytes = [0; CELL_LEN];
    source.copy(at, &mut bytes)?;
    Some(parse::acquisition_cell(&bytes).ok()?.1)
}

/// The waits that have not ended.
pub(crate) fn pending(source: &Bytes, chunks: &[ChunkRef]) -> Vec<Pending> {
    chunks
        .iter()
        .flat_map(places::<{ slot::WAIT_LEN }>)
        .filter_map(|at| wait_at(source, at))
        .collect()
}

/// The wait in a slot. The sequence is odd while the writer is at it.
fn wait_at(source: &Bytes, at: usize) -> Option<Pending> {
    for _ in 0..limits::MAX_RETRIES {
        let bytes = copy_steady::<{ slot::WAIT_LEN }>(source, at)?;
        if le::u32_at(&bytes, slot::field::SEQUENCE)? % 2 == 0 {
            return parse::wait_slot(&bytes).ok()?.1;
        }
        std::hint::spin_loop();
    }
    // The process was killed within the change: the thread was just beginning
    // or ending its wait.
    None
}

/// The counters of all lanes.
pub(crate) fn counters(source: &Bytes, chunks: &[ChunkRef]) -> Vec<Counters> {
    chunks
        .iter()
        .flat_map(places::<{ slot::COUNTERS_LEN }>)
        .filter_map(|at| {
            let mut bytes = [0; slot::COUNTERS_LEN];
            source.copy(at, &mut bytes)?;
            Some(parse::counters(&bytes).ok()?.1)
        })
        .collect()
}
