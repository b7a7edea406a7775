//! A log of contention mode with sampling: two threads that serve orders, a
//! pool's thread without work, and one of the JVM.

use crate::Writer;
use std::{error::Error, io::Cursor};
use tyrion_formats::{
    wire::{
        WaitKind,
        def::{id, thread_flag},
        sample::{Sample, ThreadState},
        slot::{Counters, Tally},
    },
    write::{LogOptions, LogWriter, Wait},
};

/// When the log begins, monotonic.
const START_NS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// What the records name.
struct SampledNames {
    /// Of the group: Shop.order calls Shop.price, and Stock.reserve.
    price: u32,
    reserve: u32,
    /// Of no group: a socket is read, a pool's thread waits, a thread sleeps.
    read: u32,
    take: u32,
    sleep: u32,
    /// The stock, and what the pool's thread is parked at.
    locks: [u32; 2],
    http: [u32; 2],
    pool: u32,
    clock: u32,
    jvm: u32,
}

/// Samples of each state but one, what the program calls its work, and a wait.
pub fn sampled(mut options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    options.header.end_ns = START_NS + 210 * MS;
    for (key, value) in [("mode", "contention+sample"), ("period", "50000000")] {
        options.header.metadata.push((key.to_owned(), value.to_owned()));
    }
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options)?;
    let names = define(&mut log)?;
    events(&mut log, &names)?;
    Ok(log.finish()?.into_inner())
}

fn define(log: &mut Writer) -> Result<SampledNames, Box<dyn Error>> {
    let shop = log.class("com/acme/Shop", "Shop.java")?;
    let stock = log.class("com/acme/Stock", "Stock.java")?;
    let net = log.class("sun/nio/ch/Net", "Net.java")?;
    let unsafe_ = log.class("jdk/internal/misc/Unsafe", "Unsafe.java")?;
    let pool = log.class("java/util/concurrent/ThreadPoolExecutor", "ThreadPoolExecutor.java")?;
    let thread = log.class("java/lang/Thread", "Thread.java")?;
    let queue = log.class(
        "java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject",
        "AbstractQueuedSynchronizer.java",
    )?;
    let order = log.method(shop, "order", "(I)V", 20)?;
    let price = log.method(shop, "price", "(I)J", 40)?;
    let reserve = log.method(stock, "reserve", "(I)Z", 10)?;
    let poll = log.method(net, "poll", "(Ljava/io/FileDescriptor;IJ)I", 0)?;
    let park = log.method(unsafe_, "park", "(ZJ)V", 0)?;
    let get_task = log.method(pool, "getTask", "()Ljava/lang/Runnable;", 1000)?;
    let sleep = log.method(thread, "sleep", "(J)V", 0)?;
    let group = log.group("GET /orders")?;
    let in_price = {
        let caller = log.stack(group, order, 24)?;
        log.stack(caller, price, 43)?
    };
    let in_reserve = {
        let caller = log.stack(group, order, 26)?;
        log.stack(caller, reserve, 12)?
    };
    let caller = log.stack(id::EMPTY_STACK, get_task, 1062)?;
    Ok(SampledNames {
        price: in_price,
        reserve: in_reserve,
        read: log.stack(id::EMPTY_STACK, poll, 0)?,
        take: log.stack(caller, park, 0)?,
        sleep: log.stack(id::CUT_STACK, sleep, 0)?,
        locks: [log.lock(stock)?, log.lock(queue)?],
        http: [log.thread(31, "http-1", "main", 0)?, log.thread(32, "http-2", "main", 0)?],
        pool: log.thread(33, "pool-1-thread-1", "main", 0)?,
        clock: log.thread(34, "clock", "main", thread_flag::DAEMON)?,
        jvm: log.thread(4, "Signal Dispatcher", "system", thread_flag::DAEMON)?,
    })
}

fn events(log: &mut Writer, names: &SampledNames) -> Result<(), Box<dyn Error>> {
    let [first, second] = names.http;
    let [stock, queue] = names.locks;
    // http-2 waited for the stock, as the first thing that it did, while http-1
    // had it.
    log.span(second, START_NS + 30 * MS, 0)?;
    let site = log.site(WaitKind::Monitor, names.reserve, stock)?;
    let lane = log.lane(second);
    let (end_ns, wait_ns) = (START_NS + 123 * MS, 92 * MS);
    log.wait(lane, Wait { end_ns, wait_ns, site, owner: first, ..Wait::default() })?;
    let lane = log.lane(first);
    let mut last = first;
    let mut sample = |thread: u32, at_ms: u64, state: ThreadState, sample: Sample| {
        if thread != last {
            log.switch(lane, thread)?;
            last = thread;
        }
        log.note(lane, START_NS + at_ms * MS, Sample { state: state.code(), ..sample })
    };
    let of = |stack: u32, count: u64, wall_ms: u64, cpu_ms: u64| Sample {
        stack,
        count,
        wall_ns: wall_ms * MS,
        cpu_ns: cpu_ms * MS,
        ..Sample::default()
    };
    let waits = |kind: WaitKind, lock: u32, owner: u32, of: Sample| Sample {
        kind: kind.code().into(),
        lock,
        owner,
        ..of
    };
    // Snapshots after 48, 101, 147 and 203 ms.
    sample(first, 101, ThreadState::Running, of(names.price, 2, 101, 97))?;
    let blocked = waits(WaitKind::Monitor, stock, first, of(names.reserve, 2, 71, 1));
    sample(second, 101, ThreadState::Blocked, blocked)?;
    sample(first, 147, ThreadState::Running, of(names.reserve, 1, 46, 40))?;
    sample(second, 147, ThreadState::Running, of(names.reserve, 1, 46, 23))?;
    sample(first, 203, ThreadState::Native, of(names.read, 1, 56, 0))?;
    sample(second, 203, ThreadState::Native, of(names.read, 1, 56, 0))?;
    let idle = waits(WaitKind::Park, queue, 0, of(names.take, 4, 203, 0));
    sample(names.pool, 203, ThreadState::Parked, idle)?;
    sample(names.clock, 203, ThreadState::Sleeping, of(names.sleep, 4, 203, 0))?;
    let jvm = of(id::EMPTY_STACK, 4, 203, 0);
    sample(names.jvm, 203, ThreadState::Running, jvm)?;
    for (key, value) in [
        ("samples.snapshots", 4),
        ("samples.records", 9),
        ("samples.unseen", 1),
        ("own.sample_ns", 1_900_000),
    ] {
        log.statistic(key, value)?;
    }
    let contention = Tally { ended: 1, recorded: 1, folded: 0, dropped: 0 };
    log.counters(&Counters { lane: 1, contention, other: Tally::default() })?;
    Ok(())
}
