//! A log that tells who had locks that others waited for, and what they did.

use super::{Writer, cell};
use std::{error::Error, io::Cursor};
use tyrion_formats::{
    wire::{
        WaitKind,
        cell::Cell,
        def::id,
        holder::{self, Holder},
        sample::ThreadState,
        slot::{Counters, Pending, Tally, flag},
    },
    write::{LaneId, LogOptions, LogWriter, Wait},
};

/// A worker waited for a monitor that another one had while it wrote to the disk; a short
/// wait for the same was folded. At the end the worker is to enter the monitor again after
/// `Object.wait`, and the other one has it.
pub fn holders(options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(of_a_journal(options)?.0.finish()?.into_inner())
}

/// The same, with two looks more that saw no owner: the first as nobody had the monitor, the
/// second as the wait was over.
pub fn looks(options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    let (mut log, lane, site) = of_a_journal(options)?;
    let look = Holder { site, stands_for_ns: 5_000_000, ..Holder::default() };
    log.note(lane, 1_008_000_000, Holder { state: holder::FREE, ..look })?;
    log.note(lane, 1_009_000_000, Holder { state: ThreadState::Other.code(), ..look })?;
    Ok(log.finish()?.into_inner())
}

/// What both begin with, the lane of the worker, and the site of its waits.
fn of_a_journal(mut options: LogOptions) -> Result<(Writer, LaneId, u32), Box<dyn Error>> {
    let key = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    options.header.metadata.push(key("mode", "contention"));
    options.header.metadata.push(key("holders", "true"));
    let mut log: Writer = LogWriter::new(Cursor::new(Vec::new()), options)?;
    let journal = log.class("com/acme/Journal", "Journal.java")?;
    let stream = log.class("java/io/FileOutputStream", "")?;
    let append = log.method(journal, "append", "()V", 20)?;
    let flush = log.method(journal, "flush", "()V", 40)?;
    let write = log.method(stream, "writeBytes", "([BII)V", 0)?;
    let appending = log.stack(id::EMPTY_STACK, append, 22)?;
    let flushing = log.stack(id::EMPTY_STACK, flush, 44)?;
    let writing = log.stack(flushing, write, 0)?;
    let worker = log.thread(31, "worker", "main", 0)?;
    let writer = log.thread(32, "writer", "main", 0)?;
    let monitor = log.lock(journal)?;
    let site = log.site(WaitKind::Monitor, appending, monitor)?;
    let lane = log.lane(worker);
    let look = Holder {
        owner: writer,
        stack: writing,
        above: 1,
        state: ThreadState::Native.code(),
        site,
        stands_for_ns: 21_000_000,
        ..Holder::default()
    };
    log.note(lane, 1_002_000_000, look)?;
    let (end_ns, wait_ns) = (1_004_000_000, 3_000_000);
    log.wait(lane, Wait { end_ns, wait_ns, site, owner: writer, ..Wait::default() })?;
    let folded = Cell { owner: writer, ..cell(worker, site, 1_005_000_000, &[6_000]) };
    log.cell(lane, &folded)?;
    log.pending(&Pending {
        thread: worker,
        kind: WaitKind::ObjectWait,
        stack: appending,
        lock: monitor,
        owner: writer,
        start_ns: 1_006_000_000,
        seen_ns: 1_007_000_000,
        flags: flag::REENTERS,
    })?;
    let contention = Tally { ended: 2, recorded: 1, folded: 1, dropped: 0 };
    log.counters(&Counters { lane: 1, contention, other: Tally::default() })?;
    Ok((log, lane, site))
}
