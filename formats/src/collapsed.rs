//! Collapsed stacks, as Brendan Gregg's stackcollapse scripts, async-profiler, jfrconv
//! and Tyrion write them: a line for each stack, its frames joined by `;` from the
//! outermost to the innermost, and a number.
//!
//! What the number counts, no file says: [`Hints::unit`](crate::Hints) does, and
//! otherwise it is taken for ns where the stacks end in Tyrion's own frames for locks,
//! and for a number of waits elsewhere.

mod line;
#[cfg(test)]
mod tests;

use crate::{
    bytes::Bytes,
    error::Error,
    hints::Unit,
    input::Input,
    recording::{
        Lacks, Recording,
        capabilities::{ASSUMED, UNIT},
    },
    sniff::FileKind,
    summed::{
        self, SummedLog, WaitTotals, kinds,
        names::{self, FunctionName, LockName},
    },
};
use line::StackLine;
use std::{collections::HashMap, io};
use tyrion_wire::{WaitKind, def::id};

/// Collapsed stacks.
pub const INPUT: Input = Input {
    name: "collapsed",
    what: "collapsed stacks",
    tells: summed::TELLS,
    start_len: START_LEN,
    is_it,
    check: |_, _| Ok(()),
    read,
};

/// As many bytes show what lines are like.
const START_LEN: usize = 4096;

/// Whether most of these lines are stacks with a number, and one has several frames, or
/// one in brackets.
fn is_it(start: &[u8]) -> bool {
    if FileKind::sniff(start) == FileKind::Callgrind {
        return false;
    }
    let (mut good, mut bad, mut has_frames) = (0u32, 0u32, false);
    for line in start.split_inclusive(|&byte| byte == b'\n') {
        let is_whole = line.ends_with(b"\n") || start.len() < START_LEN;
        if !is_whole && good + bad > 0 {
            break;
        }
        match StackLine::of(line) {
            None if line::is_blank(line) => {}
            // The end of the file, or of what is here of it.
            None if !line.ends_with(b"\n") && good + bad > 0 => {}
            Some(line) => {
                good += 1;
                has_frames |= line.stack.contains(';') || line.stack.starts_with('[');
            }
            // The only line, of which the end is not here.
            None if !is_whole && line::is_text(line) && line.contains(&b';') => return true,
            None => bad += 1,
        }
    }
    has_frames && good > bad
}

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let all = bytes.settled(0, bytes.len()).unwrap_or_default();
    let summed = SummedLog::new(INPUT, name, 0, 0).map_err(io)?;
    let (unit, why) = unit(all, bytes.hints().unit);
    let mut reader = LineReader::new(summed, unit, why);
    let mut offset = 0;
    for line in all.split_inclusive(|&byte| byte == b'\n') {
        reader.line(line, offset).map_err(io)?;
        offset += line.len() as u64;
    }
    reader.finish(name)
}

/// What the numbers count, and why that is known.
fn unit(all: &[u8], told: Option<Unit>) -> (Unit, &'static str) {
    if let Some(unit) = told {
        return (unit, "--unit");
    }
    let first = all.split(|&byte| byte == b'\n').find_map(StackLine::of);
    let is_own = first.is_some_and(|line| {
        let leaf = line.stack.rsplit(';').next().unwrap_or_default();
        names::lock_frame(leaf).is_some()
    });
    match is_own {
        true => (Unit::Ns, "as Tyrion writes them"),
        false => (Unit::Samples, ASSUMED),
    }
}

/// A frame that is known: its method and line.
type FrameIds = (u32, u32);

/// Reads line after line.
struct LineReader {
    summed: SummedLog,
    unit: Unit,
    frames: HashMap<String, FrameIds>,
    /// The frames of the last stack, the outermost one first, and the stacks that they
    /// are the innermost frames of: stacks are sorted, mostly.
    last: Vec<(FrameIds, u32)>,
    /// Lines whose lock is not known.
    without_lock: u64,
    /// The unit is a guess.
    is_assumed: bool,
    /// Where the first line with a fraction stands.
    fraction_at: Option<u64>,
}

impl LineReader {
    fn new(mut summed: SummedLog, unit: Unit, why: &'static str) -> LineReader {
        let value = format!("{} ({why})", unit.name());
        summed.importer.header.metadata.push((UNIT.to_owned(), value));
        let (frames, last, without_lock) = Default::default();
        let (is_assumed, fraction_at) = (why == ASSUMED, None);
        LineReader { summed, unit, frames, last, without_lock, is_assumed, fraction_at }
    }

    fn line(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let len = bytes.len() as u64;
        let Some(line) = StackLine::of(bytes) else {
            if !line::is_blank(bytes) {
                let what = "no stack with a number; the line was left out";
                self.summed.importer.add_damage(offset, what, len);
            }
            return Ok(());
        };
        if line.has_two_numbers() {
            let what = "two numbers, as the difference of two profiles has; the line was left out";
            self.summed.importer.add_damage(offset, what, len);
            return Ok(());
        }
        if self.unit == Unit::Samples && line.has_fraction() {
            self.fraction_at.get_or_insert(offset);
            let what = "a number with a fraction, which counts no waits; the line was left out";
            self.summed.importer.add_damage(offset, what, len);
            return Ok(());
        }
        let Some(waits) = self.waits(&line) else {
            let what = "a number that is too large; the line was left out";
            self.summed.importer.add_damage(offset, what, len);
            return Ok(());
        };
        self.add(&line.stack, waits)
    }

    /// What a line's number says.
    fn waits(&self, line: &StackLine<'_>) -> Option<WaitTotals> {
        let number = line.scaled(self.unit.ns().unwrap_or(1))?;
        Some(match self.unit {
            Unit::Samples => WaitTotals { count: number, wait_ns: 0 },
            // How often is not known: once at least.
            _ => WaitTotals { count: number.min(1), wait_ns: number },
        })
    }

    fn add(&mut self, stack: &str, waits: WaitTotals) -> io::Result<()> {
        let most = crate::limits::MAX_DEPTH as usize;
        let mut frames: Vec<&str> = stack.rsplit(';').take(most).collect();
        let is_cut = frames.len() == most;
        let site = StackSite::take(&mut frames);
        if is_cut {
            // There is room for the frame that says so.
            frames.truncate(most - 2);
        }
        let thread = self.summed.thread(site.thread)?;
        let lock = self.summed.lock(&site.lock)?;
        self.without_lock += u64::from(lock == id::UNKNOWN);
        let stack = self.stack(&frames, is_cut)?;
        let number = self.summed.site(site.kind, stack, lock)?;
        self.summed.add(thread, number, waits)
    }

    /// The number of a stack, the innermost frame first.
    fn stack(&mut self, frames: &[&str], is_cut: bool) -> io::Result<u32> {
        if is_cut {
            self.last.clear();
        }
        let mut parent = if is_cut { id::CUT_STACK } else { id::EMPTY_STACK };
        for (depth, frame) in frames.iter().rev().enumerate() {
            let frame = self.frame(frame)?;
            if let Some((_, known)) = self.last.get(depth).filter(|(last, _)| *last == frame) {
                parent = *known;
                continue;
            }
            self.last.truncate(depth);
            parent = self.summed.importer.log.stack(parent, frame.0, frame.1)?;
            self.last.push((frame, parent));
        }
        self.last.truncate(frames.len());
        if is_cut {
            self.last.clear();
        }
        Ok(parent)
    }

    fn frame(&mut self, frame: &str) -> io::Result<FrameIds> {
        if let Some(&known) = self.frames.get(frame) {
            return Ok(known);
        }
        let name = FunctionName::of(line::without_suffix(frame).0);
        let log = &mut self.summed.importer.log;
        let class = log.class(&name.class, "")?;
        let known = (log.method(class, name.method, name.descriptor, 0)?, name.line);
        self.frames.insert(frame.to_owned(), known);
        Ok(known)
    }

    fn finish(mut self, name: &str) -> Result<Recording, Error> {
        if let Some(offset) = self.fraction_at.filter(|_| self.is_assumed) {
            let what = format!(
                "offset {offset:#x}: a number with a fraction counts no waits; name the unit of the \
                 numbers: --unit ns, us, ms or s"
            );
            return Err(Error::Unclear { log: name.to_owned(), what });
        }
        let is_samples = self.unit == Unit::Samples;
        if self.without_lock != 0 {
            let value = self.without_lock.to_string();
            self.summed.importer.header.metadata.push(("stacks without a lock".to_owned(), value));
        }
        if self.summed.is_empty() && self.summed.importer.is_damaged() {
            let what = "no line is a stack with a number".to_owned();
            return Err(Error::Malformed { log: name.to_owned(), offset: 0, what });
        }
        let lacks = Lacks { durations: is_samples, counts: !is_samples, ..Lacks::default() };
        self.summed.finish(name, lacks)
    }
}

/// Who waits for what, as the first and the last frame of a stack say it.
struct StackSite<'f> {
    thread: Option<&'f str>,
    kind: WaitKind,
    lock: LockName,
}

impl<'f> StackSite<'f> {
    /// Takes these frames from a stack, the innermost one first.
    fn take(frames: &mut Vec<&'f str>) -> StackSite<'f> {
        let leaf = frames.first().copied().unwrap_or_default();
        let own = names::lock_frame(leaf);
        // Of a stack of one frame, that is what is known.
        let outermost = frames.last().copied().unwrap_or_default();
        let has_thread = frames.len() > usize::from(own.is_some());
        let thread = names::thread_frame(outermost, own.is_some()).filter(|_| has_thread);
        if thread.is_some() {
            frames.pop();
        }
        if let Some((kind, lock)) = own {
            frames.remove(0);
            return StackSite { thread, kind, lock };
        }
        let (leaf, suffix) = line::without_suffix(leaf);
        let class = names::class_frame(leaf).filter(|_| suffix == "_[i]" && !frames.is_empty());
        let Some(class) = class else {
            let functions = frames.iter().map(|frame| line::without_suffix(frame).0);
            // What is not known to be contention is none.
            let kind = kinds::of_java(functions).unwrap_or(WaitKind::Park);
            return StackSite { thread, kind, lock: LockName::default() };
        };
        frames.remove(0);
        let functions = frames.iter().map(|frame| line::without_suffix(frame).0);
        let kind = kinds::of_class(class, functions);
        StackSite { thread, kind, lock: LockName::of_class(class) }
    }
}
