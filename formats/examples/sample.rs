//! Writes the small logs that tests and documents are made of:
//!
//! ```text
//! cargo run -p tyrion-formats --example sample -- tiny tiny.log
//! cargo run -p tyrion-formats --example sample -- small small.log
//! cargo run -p tyrion-formats --example sample -- killed killed.log
//! cargo run -p tyrion-formats --example sample -- trace trace.log
//! cargo run -p tyrion-formats --example sample -- holds holds.log
//! cargo run -p tyrion-formats --example sample -- sample sample.log
//! cargo run -p tyrion-formats --example sample -- collections collections.log
//! cargo run -p tyrion-formats --example sample -- wakers wakers.log
//! cargo run -p tyrion-formats --example sample -- holders holders.log
//! cargo run -p tyrion-formats --example sample -- looks looks.log
//! ```
//!
//! `tiny` is the worked example of `docs/event-log.md`; `small` has every kind
//! of record of contention mode; `killed` is the same as the agent leaves it
//! after `kill -9`; `trace` has what trace mode adds, `holds` what `events=all`
//! adds to that, `sample` what sampling adds; `collections` tells when the JVM's
//! garbage collector was at work, `wakers` who ended waits,
//! `holders` who had locks, `looks` that nobody had, `spans` what threads did.

#[path = "sample/collections.rs"]
mod collections;
#[path = "sample/holders.rs"]
mod holders;
#[path = "sample/sampled.rs"]
mod sampled;
#[path = "sample/spans.rs"]
mod spans;
#[path = "sample/trace.rs"]
mod trace;
#[path = "sample/wakers.rs"]
mod wakers;

use std::{error::Error, io::Cursor};
use tyrion_formats::{
    wire::{
        Outcome, WaitKind,
        cell::{self, Cell},
        def::{Definition, id, thread_flag},
        header::RecordingState,
        slot::{Counters, Pending, Tally},
    },
    write::{LogOptions, LogWriter, Wait},
};

type Writer = LogWriter<Cursor<Vec<u8>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [which, path] = args.as_slice() else {
        return Err(
            "usage: sample tiny|small|killed|trace|holds|sample|collections|wakers|holders|looks|spans FILE"
                .into(),
        );
    };
    let bytes = match which.as_str() {
        "tiny" => tiny()?,
        "small" => small(RecordingState::Closed)?,
        "killed" => small(RecordingState::Recording)?,
        "trace" => trace::trace(options(RecordingState::Closed))?,
        "holds" => trace::holds(options(RecordingState::Closed))?,
        "sample" => sampled::sampled(options(RecordingState::Closed))?,
        "collections" => collections::collections(options(RecordingState::Closed))?,
        "wakers" => wakers::wakers(options(RecordingState::Closed))?,
        "holders" => holders::holders(options(RecordingState::Recording))?,
        "looks" => holders::looks(options(RecordingState::Closed))?,
        "spans" => spans::spans(options(RecordingState::Closed))?,
        _ => return Err(format!("no sample {which}").into()),
    };
    std::fs::write(path, bytes)?;
    Ok(())
}

/// A platform and a virtual thread waited once each, a short wait was folded,
/// and one more had not ended when the process was killed.
fn tiny() -> Result<Vec<u8>, Box<dyn Error>> {
    let options = LogOptions { seal: true, ..options(RecordingState::Recording) };
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options)?;
    let class = log.class("com/acme/Bank", "Bank.java")?;
    let method = log.method(class, "transfer", "(I)V", 20)?;
    let stack = log.stack(id::EMPTY_STACK, method, 23)?;
    let teller = log.thread(31, "teller-1", "main", 0)?;
    let flags = thread_flag::VIRTUAL | thread_flag::DAEMON;
    let light = log.thread(40, "", "", flags)?;
    let monitor = log.lock(class)?;
    let fair = {
        let class = log.class("com/acme/Turn$Sync", "")?;
        log.lock(class)?
    };
    let sites =
        [log.site(WaitKind::Monitor, stack, monitor)?, log.site(WaitKind::Lock, stack, fair)?];
    let lane = log.lane(teller);
    let (end_ns, wait_ns) = (1_000_150_000, 100_000);
    log.wait(lane, Wait { end_ns, wait_ns, site: sites[0], ..Wait::default() })?;
    log.switch(lane, light)?;
    let (end_ns, wait_ns, site) = (1_000_400_000, 30_000, sites[1]);
    let outcome = Outcome::TimedOut;
    log.wait(lane, Wait { end_ns, wait_ns, site, outcome, owner: teller, parks: 2 })?;
    log.cell(lane, &cell(teller, sites[0], 1_000_200_000, &[6_000]))?;
    let (kind, start_ns) = (WaitKind::Monitor, 1_000_500_000);
    log.pending(&Pending {
        thread: teller,
        kind,
        stack,
        lock: monitor,
        owner: 0,
        start_ns,
        seen_ns: 0,
        flags: 0,
    })?;
    let contention = Tally { ended: 3, recorded: 2, folded: 1, dropped: 0 };
    log.counters(&Counters { lane: 1, contention, other: Tally::default() })?;
    Ok(log.finish()?.into_inner())
}

/// Every kind of record.
fn small(state: RecordingState) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options(state))?;
    let bank = log.class("com/acme/bank/Bank", "Bank.java")?;
    let lambda = log.class("com/acme/bank/Bank$$Lambda/0x00007f3a5c00a000", "")?;
    let object = log.class("[Ljava/lang/Object;", "")?;
    let run = log.method(lambda, "run", "()V", 0)?;
    let transfer = log.method(bank, "transfer", "(IIJ)V", 40)?;
    let audit = log.method(bank, "prüfe", "()Z", 90)?;
    let outer = log.stack(id::EMPTY_STACK, run, 0)?;
    let inner = log.stack(outer, transfer, 44)?;
    let cut = log.stack(id::CUT_STACK, audit, 93)?;
    let main = log.thread(1, "main", "main", 0)?;
    let teller = log.thread(31, "Thread-0", "tellers", thread_flag::DAEMON)?;
    let flags = thread_flag::VIRTUAL | thread_flag::DAEMON;
    let light = log.thread(40, "", "VirtualThreads", flags)?;
    log.rename(teller, "teller-1", 2_000)?;
    let mut sites = Vec::new();
    for kind in WaitKind::ALL {
        let lock = log.lock(if kind == WaitKind::Park { object } else { bank })?;
        sites.push(log.site(kind, if kind == WaitKind::Lock { cut } else { inner }, lock)?);
    }
    // The same place once more under another id, and a tag of the future.
    let last = sites.len() as u32;
    let twin = last + 1;
    let kind = WaitKind::Monitor.code();
    log.define(&Definition::Site { id: twin, kind, stack: inner, lock: 1, place: 0 })?;
    log.define(&Definition::Unknown(99))?;
    sites.push(twin);
    let lanes = [log.lane(main), log.lane(teller)];
    let mut end_ns = 1_001_000_000;
    for nth in 0..1_000usize {
        let (lane, site) = (lanes[nth % 2], sites[nth * 7 % sites.len()]);
        if nth % 50 == 49 {
            log.switch(lane, if nth % 100 == 99 { light } else { main })?;
        }
        end_ns += 1_000 + nth as u64 * 37 % 5_000;
        let wait_ns = 10_000 + (nth as u64).pow(2);
        let outcome = Outcome::ALL[nth / 10 % 4];
        let (owner, parks) = if site == 2 { (teller, nth as u64 % 3 + 1) } else { (0, 0) };
        log.wait(lane, Wait { end_ns, wait_ns, site, outcome, owner, parks })?;
    }
    state_of(&mut log, [main, teller], &sites, inner)?;
    let mut bytes = log.finish()?.into_inner();
    if state == RecordingState::Recording {
        // The agent allocates ahead, and nobody has cut the file.
        bytes.resize(bytes.len() + (1 << 14), 0);
    }
    Ok(bytes)
}

fn state_of(
    log: &mut Writer,
    [main, teller]: [u32; 2],
    sites: &[u32],
    stack: u32,
) -> Result<(), Box<dyn Error>> {
    let lane = log.lane(teller);
    log.cell(lane, &cell(teller, sites[0], 1_001_000_000, &[900, 5_000, 9_999, 7_001]))?;
    log.cell(lane, &cell(main, sites[8], 1_002_000_000, &[1]))?;
    let kind = WaitKind::Monitor;
    log.pending(&Pending {
        thread: main,
        kind,
        stack,
        lock: 1,
        owner: teller,
        start_ns: 1_003_000_007,
        seen_ns: 0,
        flags: 0,
    })?;
    let kind = WaitKind::Lock;
    log.pending(&Pending {
        thread: teller,
        kind,
        stack,
        lock: 2,
        owner: main,
        start_ns: 1_003_000_008,
        seen_ns: 0,
        flags: 0,
    })?;
    let contention = Tally { ended: 606, recorded: 600, folded: 4, dropped: 2 };
    let other = Tally { ended: 401, recorded: 400, folded: 1, dropped: 0 };
    log.counters(&Counters { lane: 1, contention, other })?;
    Ok(())
}

fn options(state: RecordingState) -> LogOptions {
    let seal = state == RecordingState::Closed;
    let mut options = LogOptions { chunk_len: 4096, seal, ..LogOptions::default() };
    let header = &mut options.header;
    header.state = state;
    header.mono_ns = 1_000_000_000;
    header.end_ns = if state == RecordingState::Closed { 1_009_000_000 } else { 0 };
    header.pid = 4242;
    header.threshold_ns = 10_000;
    header.metadata = [("jvm", "OpenJDK 64-Bit Server VM 21"), ("program", "com.acme.Main")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    options
}

/// A cell with these waits, one after another.
fn cell(thread: u32, site: u32, first_ns: u64, waits: &[u64]) -> Cell {
    let mut histogram = [0; cell::BUCKETS];
    for &wait_ns in waits {
        histogram[cell::bucket(wait_ns)] += 1;
    }
    let sum_ns = waits.iter().sum();
    Cell {
        thread,
        site,
        owner: 0,
        group: 0,
        first_ns,
        last_ns: first_ns + sum_ns,
        count: waits.len() as u64,
        sum_ns,
        max_ns: waits.iter().copied().max().unwrap_or(0),
        histogram,
    }
}
