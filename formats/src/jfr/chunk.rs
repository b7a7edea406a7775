//! The chunks of a recording, and the clock of each.

use super::{
    quick::WINDOW,
    scan::{ByteScan, squeeze},
};
use nom::{
    IResult, Parser,
    bytes::complete::tag,
    number::complete::{be_u16, be_u32, be_u64},
};

/// The first bytes of each chunk.
pub(super) const MAGIC: &[u8] = b"FLR\0";
/// The length of its header.
pub(super) const HEADER_LEN: usize = 68;
/// Flag: numbers are written in as few bytes as they need.
const COMPRESSED: u32 = 1;
/// Where the number stands among the flags that is not 0 while the chunk is written.
const STATE_SHIFT: u32 = 24;

/// What a chunk's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JfrHeader {
    /// Length of the chunk in bytes; 0 while nothing of it was made known.
    pub(super) len: u64,
    /// Where its last constants stand, from its start; 0 while none were made known.
    pub(super) constants_at: u64,
    /// Where its metadata stand.
    pub(super) metadata_at: u64,
    /// Unix time of its start, in ns.
    pub(super) start_wall_ns: u64,
    /// How long it lasted, in ns.
    pub(super) duration_ns: u64,
    /// Its start on the clock of its events.
    pub(super) start_ticks: u64,
    /// Ticks of that clock in a second.
    pub(super) ticks_per_second: u64,
    /// Whether numbers are written in as few bytes as they need.
    pub(super) is_compressed: bool,
    /// Whether the recorder has written all of it. While it has not, what is behind the
    /// length may lack names.
    pub(super) is_finished: bool,
    /// The format's major version.
    pub(super) major: u16,
}

/// Reads a chunk's header.
pub(super) fn header(bytes: &[u8]) -> IResult<&[u8], JfrHeader> {
    let (rest, _) = tag(MAGIC).parse(bytes)?;
    let (rest, (major, _minor, len, constants_at)) =
        (be_u16, be_u16, be_u64, be_u64).parse(rest)?;
    let (rest, (metadata_at, start_wall_ns, duration_ns)) = (be_u64, be_u64, be_u64).parse(rest)?;
    let (rest, (start_ticks, ticks_per_second, flags)) = (be_u64, be_u64, be_u32).parse(rest)?;
    let is_compressed = flags & COMPRESSED != 0;
    let is_finished = flags >> STATE_SHIFT == 0;
    Ok((
        rest,
        JfrHeader {
            len,
            constants_at,
            metadata_at,
            start_wall_ns,
            duration_ns,
            start_ticks,
            ticks_per_second,
            is_compressed,
            is_finished,
            major,
        },
    ))
}

/// A chunk of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct JfrChunk<'a> {
    /// Where it begins, in bytes from the file's start.
    pub(super) offset: u64,
    pub(super) header: JfrHeader,
    /// As much of it as there is, its header included.
    pub(super) bytes: &'a [u8],
    /// Whether that is all of it.
    pub(super) is_whole: bool,
}

impl<'a> JfrChunk<'a> {
    /// The events from a place on, each with its type, where it stands in the chunk,
    /// and what follows its type.
    pub(super) fn events(&self, at: usize) -> EventScan<'a> {
        EventScan { bytes: self.bytes, at, is_torn: false }
    }

    /// The event of a type at a place.
    pub(super) fn event_at(&self, at: u64, kind: u64) -> Option<ByteScan<'a>> {
        let mut events = self.events(usize::try_from(at).ok()?.max(HEADER_LEN));
        events.next().filter(|event| event.kind == kind).map(|event| event.fields)
    }
}

/// An event whose fields are not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventRef<'a> {
    /// Where it stands in the chunk.
    pub(super) at: usize,
    /// The id of its type.
    pub(super) kind: u64,
    pub(super) fields: ByteScan<'a>,
}

impl EventRef<'_> {
    /// Where in the chunk something stands that is read from its fields.
    pub(super) fn offset(&self, scan: &ByteScan<'_>) -> usize {
        self.at + scan.at()
    }
}

/// Goes from event to event.
pub(super) struct EventScan<'a> {
    bytes: &'a [u8],
    at: usize,
    is_torn: bool,
}

impl EventScan<'_> {
    /// Where the next event stands in the chunk.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Whether something stood there that is no event, or only a part of one.
    pub(super) fn is_torn(&self) -> bool {
        self.is_torn
    }
}

/// The event at the front, if length and type are written in few bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front<'a> {
    pub(super) window: &'a [u8; WINDOW],
    pub(super) len: usize,
    pub(super) kind: u64,
}

impl<'a> EventScan<'a> {
    /// The next event; `None` where [`Iterator::next`] has to look at it.
    #[inline(always)]
    pub(super) fn front(&self) -> Option<Front<'a>> {
        let window = self.bytes.get(self.at..)?.first_chunk::<WINDOW>()?;
        let (len, kind_at) = match window[0] < 0x80 {
            true => (usize::from(window[0]), 1),
            false => {
                // Flight Recorder leaves four bytes where it does not know it before.
                let word = u32::from_le_bytes([window[0], window[1], window[2], window[3]]);
                if word & 0x8080_8080 != 0x0080_8080 {
                    return None;
                }
                (squeeze(word.into()) as usize, 4)
            }
        };
        let word = u16::from_le_bytes([window[kind_at], window[kind_at + 1]]);
        let (kind, kind_len) = match word & 0x80 == 0 {
            true => (u64::from(word & 0x7f), 1),
            false if word & 0x8000 == 0 => (u64::from(word & 0x7f | word >> 1 & 0x3f80), 2),
            false => return None,
        };
        let is_whole = len >= kind_at + kind_len && len <= self.bytes.len() - self.at;
        is_whole.then_some(Front { window, len, kind })
    }

    /// Goes past the event at the front.
    #[inline(always)]
    pub(super) fn pass(&mut self, front: &Front<'_>) {
        self.at += front.len;
    }
}

impl<'a> Iterator for EventScan<'a> {
    type Item = EventRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<EventRef<'a>> {
        let at = self.at;
        let rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let mut scan = ByteScan::new(rest);
        let len = scan.number().and_then(|len| usize::try_from(len).ok());
        let event = len.filter(|&len| len > scan.at()).and_then(|len| rest.get(..len));
        let Some(event) = event else {
            self.is_torn = true;
            return None;
        };
        let mut fields = ByteScan::within(rest, scan.at(), event.len());
        let Some(kind) = fields.number() else {
            self.is_torn = true;
            return None;
        };
        self.at = at + event.len();
        Some(EventRef { at, kind, fields })
    }
}

/// The clock of a chunk's events, as the JDK's own reader has it, so that sums are
/// the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkClock {
    start_ns: u64,
    start_ticks: u64,
    ticks_per_ns: f64,
}

impl ChunkClock {
    /// Of a chunk; its times are Unix times in ns.
    pub(super) fn new(header: &JfrHeader) -> ChunkClock {
        let ticks_per_ns = match header.ticks_per_second {
            0 => 1.0,
            ticks => ticks as f64 / 1e9,
        };
        let (start_ns, start_ticks) = (header.start_wall_ns, header.start_ticks);
        ChunkClock { start_ns, start_ticks, ticks_per_ns }
    }

    /// A moment, in ns since 1970.
    #[inline]
    pub(super) fn at_ns(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.start_ticks) as i64;
        self.start_ns.saturating_add_signed((since as f64 / self.ticks_per_ns) as i64)
    }

    /// A duration in ns; those below zero are none.
    #[inline]
    pub(super) fn span_ns(&self, ticks: u64) -> u64 {
        (ticks as i64 as f64 / self.ticks_per_ns) as u64
    }
}
