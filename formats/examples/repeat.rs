//! Makes a long log of a short one, for measuring: what was recorded once happens again
//! and again, at regular intervals.
//!
//! ```text
//! cargo run --release -p tyrion-formats --example repeat -- short.log day.log --times 720 --every 120
//! ```
//!
//! Waits and what else is recorded one by one is repeated; sums (of short waits, and of
//! trace mode) are there once. Threads live to the end of the new log. `--every` is in
//! seconds. `--start` is the Unix time, in seconds, at which the new log begins; by default
//! it is that of the recording.

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Seek, SeekFrom, Write},
};
use tyrion_formats::wire::{
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN, MAX_LEN, SEALED},
    def::{self, Definition},
    header::{BLOCK, Header},
    varint,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, rest @ ..] = &args[..] else {
        return Err("usage: repeat FROM TO --times N --every SECONDS".into());
    };
    let (mut times, mut every_ns, mut start_ns) = (1, 0, None);
    for option in rest.chunks(2) {
        match option {
            [key, value] if key == "--times" => times = value.parse()?,
            [key, value] if key == "--every" => every_ns = value.parse::<u64>()? * 1_000_000_000,
            [key, value] if key == "--start" => {
                start_ns = Some(value.parse::<u64>()? * 1_000_000_000);
            }
            _ => return Err(format!("unknown or incomplete option {}", option[0]).into()),
        }
    }
    if every_ns == 0 {
        return Err("--every is missing: how many seconds from one time to the next".into());
    }
    let log = fs::read(from)?;
    let header = Header::decode(&log).map_err(|error| format!("no log: {error:?}"))?;
    let wall_ns = start_ns.unwrap_or(header.wall_ns);
    repeat(&log, Header { wall_ns, ..header }, to, times, every_ns)
}

fn repeat(
    log: &[u8],
    header: Header,
    to: &str,
    times: u64,
    every_ns: u64,
) -> Result<(), Box<dyn Error>> {
    if header.end_ns == 0 || every_ns < header.end_ns.saturating_sub(header.mono_ns) {
        return Err("the recording has no end, or a later one than --every".into());
    }
    let (events, others): (Vec<EventsChunk<'_>>, Vec<EventsChunk<'_>>) = chunks(log, &header)
        .into_iter()
        .partition(|chunk| chunk.header.kind == ChunkKind::Events as u8);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(to)?);
    out.write_all(&log[..header.header_len as usize])?;
    let (definitions, others): (Vec<EventsChunk<'_>>, Vec<EventsChunk<'_>>) =
        others.into_iter().partition(|chunk| chunk.header.kind == ChunkKind::Definitions as u8);
    write_definitions(&definitions, &mut out)?;
    for chunk in &others {
        write_chunk(chunk.header, chunk.payload, &mut out)?;
    }
    for nth in 0..times {
        for chunk in &events {
            write_chunk(shifted(chunk.header, &events, nth, every_ns), chunk.payload, &mut out)?;
        }
    }
    let used_len = out.stream_position()?;
    let end_ns = header.end_ns + times.saturating_sub(1) * every_ns;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&Header { used_len, end_ns, ..header }.encode(crc32fast::hash))?;
    out.flush()?;
    Ok(())
}

#[derive(Clone, Copy)]
struct EventsChunk<'a> {
    header: ChunkHeader,
    payload: &'a [u8],
}

fn chunks<'a>(log: &'a [u8], header: &Header) -> Vec<EventsChunk<'a>> {
    let mut chunks = Vec::new();
    let mut at = header.header_len as usize;
    while let Some(header) = log.get(at..).and_then(ChunkHeader::decode) {
        let payload = at + HEADER_LEN;
        match log.get(payload..payload + header.committed as usize) {
            Some(payload) => chunks.push(EventsChunk { header, payload }),
            None => break,
        }
        at += header.len as usize;
    }
    chunks
}

/// The header of a chunk that is written the `nth` time.
fn shifted(header: ChunkHeader, all: &[EventsChunk<'_>], nth: u64, every_ns: u64) -> ChunkHeader {
    let of_lane = all.iter().filter(|chunk| chunk.header.lane == header.lane).count();
    ChunkHeader {
        sequence: header.sequence + nth as u32 * of_lane as u32,
        first_ns: header.first_ns + nth * every_ns,
        ..header
    }
}

/// As they are, but threads never end.
fn write_definitions(
    chunks: &[EventsChunk<'_>],
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let (mut bytes, mut sequence) = (Vec::new(), 0);
    let mut write = |bytes: &mut Vec<u8>| {
        let first = chunks.first().map(|chunk| chunk.header).ok_or("no definitions")?;
        let done = write_chunk(ChunkHeader { sequence, ..first }, bytes, out);
        sequence += 1;
        bytes.clear();
        done
    };
    for chunk in chunks {
        let mut rest = chunk.payload;
        while let [tag, after @ ..] = rest {
            let (len, used) = varint::read(after).ok_or("a definition is cut")?;
            let end = used + len as usize;
            let payload = after.get(used..end).ok_or("a definition is cut")?;
            rest = &after[end..];
            match def::decode_payload(*tag, payload) {
                Some(Definition::ThreadSpan { id, started_ns, .. }) => {
                    Definition::ThreadSpan { id, started_ns, ended_ns: 0 }.encode(&mut bytes);
                }
                Some(other) => other.encode(&mut bytes),
                None => return Err("a definition cannot be read".into()),
            }
            if bytes.len() > MAX_LEN / 2 {
                write(&mut bytes)?;
            }
        }
    }
    write(&mut bytes)
}

fn write_chunk(
    header: ChunkHeader,
    payload: &[u8],
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let len = (HEADER_LEN + payload.len()).next_multiple_of(BLOCK);
    // Cells, slots and counters are never sealed.
    let is_sealed = header.kind <= ChunkKind::Events as u8;
    let header = ChunkHeader {
        len: len as u32,
        committed: payload.len() as u32,
        flags: if is_sealed { SEALED } else { 0 },
        checksum: if is_sealed { crc32fast::hash(payload) } else { 0 },
        ..header
    };
    out.write_all(&header.encode())?;
    out.write_all(payload)?;
    out.write_all(&vec![0; len - HEADER_LEN - payload.len()])?;
    Ok(())
}
