//! nom parsers of the container: what stands around the records.

use nom::{
    IResult, Parser,
    bytes::complete::take,
    combinator::map_opt,
    error::{Error, ErrorKind},
    multi::length_data,
    number::complete::u8,
};
use tyrion_wire::{
    cell::{self, Cell},
    chunk::{ChunkHeader, HEADER_LEN},
    slot::{self, Counters, Pending},
    trace::{AcquisitionCell, BURSTS_CELL_LEN, CELL_LEN},
    varint as leb128,
};

/// An unsigned LEB128 number.
pub(crate) fn varint(input: &[u8]) -> IResult<&[u8], u64> {
    match leb128::read(input) {
        Some((value, len)) => Ok((&input[len..], value)),
        None => Err(nom::Err::Error(Error::new(input, ErrorKind::MapOpt))),
    }
}

/// A chunk's header, if its lengths are possible.
pub(crate) fn chunk_header(input: &[u8]) -> IResult<&[u8], ChunkHeader> {
    map_opt(take(HEADER_LEN), ChunkHeader::decode).parse(input)
}

/// A definition's tag and payload.
pub(crate) fn framed(input: &[u8]) -> IResult<&[u8], (u8, &[u8])> {
    // nom takes no 64-bit lengths where memory has 32-bit ones.
    let len = map_opt(varint, |len| usize::try_from(len).ok());
    (u8, length_data(len)).parse(input)
}

/// A fold cell.
pub(crate) fn fold_cell(input: &[u8]) -> IResult<&[u8], Cell> {
    map_opt(take(cell::LEN), Cell::decode).parse(input)
}

/// An acquisition cell.
pub(crate) fn acquisition_cell(input: &[u8]) -> IResult<&[u8], AcquisitionCell> {
    map_opt(take(CELL_LEN), AcquisitionCell::decode).parse(input)
}

/// An acquisition cell that counts in bursts.
pub(crate) fn bursts_cell(input: &[u8]) -> IResult<&[u8], AcquisitionCell> {
    map_opt(take(BURSTS_CELL_LEN), AcquisitionCell::decode_with_bursts).parse(input)
}

/// A wait slot: `None` when nothing waits there.
pub(crate) fn wait_slot(input: &[u8]) -> IResult<&[u8], Option<Pending>> {
    take(slot::WAIT_LEN).map(Pending::decode).parse(input)
}

/// The counters of a lane.
pub(crate) fn counters(input: &[u8]) -> IResult<&[u8], Counters> {
    map_opt(take(slot::COUNTERS_LEN), Counters::decode).parse(input)
}
