//! Logs of the original Tyrion, the Java agent of 2013 and 2014 that this one is named
//! after: a line of JSON before, at and after each acquisition of a monitor,
//! `entering`, `enter` and `exit`. An older form has no `entering` and counts time in ms.
//!
//! Events of a thread belong together as they nest ([`pair`]), and they stand in their
//! order; those of different threads do not. So all acquisitions are in memory, some
//! 50 bytes each where the file has 580, before they are written ([`mod@write`]).

mod line;
mod pair;
#[cfg(test)]
mod tests;
mod waits;
mod write;

use crate::{
    bytes::Bytes,
    error::Error,
    event_log::write::LogOptions,
    fact::Fact,
    import::Importer,
    input::Input,
    limits::{MAX_DAMAGE, original::charges},
    recording::{Lacks, Recording},
};
use line::{ClockBase, LineBlock};
use pair::Pairs;
use rayon::prelude::*;
use tyrion_wire::header::{Header, RecordingState};

/// Logs of the original Tyrion.
pub const INPUT: Input = Input {
    name: "original-tyrion",
    what: "a log of the original Tyrion",
    tells: &[
        Fact::Waits,
        Fact::Moments,
        Fact::Threads,
        Fact::Kinds,
        Fact::LockClasses,
        Fact::LockIdentities,
        Fact::Owners,
        Fact::Acquisitions,
        Fact::Holds,
        Fact::Blame,
        Fact::Nesting,
    ],
    start_len: 32,
    is_it: line::begins,
    check: |_, _| Ok(()),
    read,
};

/// Stands for the places of all acquisitions, none of which is known.
pub const SOMEWHERE: &str = "[synchronized]";

/// About so many bytes are read at a time by one worker.
const BLOCK: usize = 1 << 22;

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let all = bytes.settled(0, bytes.len()).unwrap_or_default();
    let (mut pairs, mut damaged) = (Pairs::default(), DamagedLines::default());
    let (blocks, clock) = (blocks(all), ClockBase::of(all));
    for batch in blocks.chunks(rayon::current_num_threads().max(1)) {
        let read: Vec<LineBlock> =
            batch.par_iter().map(|(at, block)| LineBlock::read(block, *at, clock)).collect();
        for block in read {
            pairs.take(&block);
            block.damaged.into_iter().for_each(|place| damaged.add(place));
        }
    }
    pairs.finish();
    // Files end within a line, mostly: where the program was killed.
    let is_torn = !all.ends_with(b"\n") && damaged.take_last(all.len() as u64);
    let header = header(&pairs, is_torn);
    let mut importer = Importer::new(INPUT, name, header).map_err(io)?;
    importer.set_lacks(Lacks { waits: !pairs.has_entering, stacks: true, ..Lacks::default() });
    for (at, len) in damaged.places() {
        importer.add_damage(at, "no event; the line was left out", len);
    }
    if pairs.left_out != 0 {
        let what = "more acquisitions, nestings, locks, threads or names than are read; later ones \
                    were left out";
        importer.add_damage(all.len() as u64, what, 0);
    }
    let most = charges(all.len());
    if write::write(&mut importer, pairs, most).map_err(io)? != 0 {
        let what = "more parts of waits than are read; whom later ones were for was left out";
        importer.add_damage(all.len() as u64, what, 0);
    }
    importer.finish()
}

/// Cuts lines into blocks, each with its offset.
fn blocks(all: &[u8]) -> Vec<(u64, &[u8])> {
    let (mut blocks, mut at) = (Vec::new(), 0);
    while let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) {
        let beyond = rest.get(BLOCK.min(rest.len())..).unwrap_or_default();
        let more = beyond.iter().position(|&byte| byte == b'\n').map_or(beyond.len(), |at| at + 1);
        let (block, _) = rest.split_at(rest.len() - beyond.len() + more);
        blocks.push((at as u64, block));
        at += block.len();
    }
    blocks
}

fn header(pairs: &Pairs, is_torn: bool) -> Header {
    let form = match pairs.has_entering {
        true => "entering, enter, exit",
        false => "enter, exit, in ms",
    };
    let mut metadata = vec![
        ("mode".to_owned(), "trace".to_owned()),
        ("hold".to_owned(), "all".to_owned()),
        ("events".to_owned(), "all".to_owned()),
        ("form".to_owned(), form.to_owned()),
        ("threshold".to_owned(), "each wait is there".to_owned()),
    ];
    if pairs.unpaired != 0 {
        metadata.push(("unpaired".to_owned(), format!("{} events", pairs.unpaired)));
    }
    let first_ns = pairs.first_ns.unwrap_or(0);
    Header {
        wall_ns: first_ns,
        mono_ns: first_ns,
        end_ns: pairs.last_ns,
        state: if is_torn { RecordingState::Recording } else { RecordingState::Closed },
        pid: 0,
        depth: 0,
        metadata,
        ..LogOptions::default().header
    }
}

/// Lines that are no events: offset and length.
#[derive(Default)]
struct DamagedLines {
    first: Vec<(u64, u64)>,
    /// The last of those that are beyond the first few, and how many these are.
    last: (u64, u64),
    more: u64,
}

impl DamagedLines {
    fn add(&mut self, place: (u64, u64)) {
        if self.first.len() < MAX_DAMAGE {
            self.first.push(place);
        } else {
            (self.last, self.more) = (place, self.more + 1);
        }
    }

    /// Takes the last one out if it ends where the file does.
    fn take_last(&mut self, file_len: u64) -> bool {
        let is_last = |&mut (at, len): &mut (u64, u64)| at + len == file_len;
        if self.more != 0 {
            let is_it = is_last(&mut self.last);
            self.more -= u64::from(is_it);
            return is_it;
        }
        self.first.pop_if(is_last).is_some()
    }

    /// All of them, as far as they differ in what is told.
    fn places(self) -> impl Iterator<Item = (u64, u64)> {
        let more = usize::try_from(self.more).unwrap_or(usize::MAX);
        self.first.into_iter().chain(std::iter::repeat_n(self.last, more))
    }
}
