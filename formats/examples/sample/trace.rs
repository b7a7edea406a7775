//! Logs of trace mode: two threads and a cache with two locks.

use crate::{Writer, cell};
use std::{error::Error, io::Cursor};
use tyrion_formats::{
    wire::{
        WaitKind,
        def::{id, place_flag},
        slot::{Counters, Tally},
        trace::{AcquisitionCell, Blame, Held, Hold, HoldBatch, Instance, Nest, hold_flag},
    },
    write::{LogOptions, LogWriter, Wait},
};

/// The identity hashes of the two lock objects and of a class object.
const MAP: u32 = 0x2a13_9a55;
const TURN: u32 = 0x15db_9742;
const CLASS: u32 = 0x6d06_d69c;
/// When the log begins, monotonic.
const START_NS: u64 = 1_000_000_000;

/// What the records name.
struct TraceNames {
    object: u32,
    sync: u32,
    class: u32,
    /// Stacks: get alone, put, and get called by put.
    get: u32,
    put: u32,
    get_in_put: u32,
    /// `synchronized (map)` in get, `turn.lock()` in put, a static method.
    places: [u32; 3],
    threads: [u32; 2],
    /// Of the wait for the map's monitor, in get.
    site: u32,
}

/// Every kind of record that trace mode adds, and the wait that one is about.
pub fn trace(options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut log = start(options, "1/64", "folded")?;
    let names = define(&mut log)?;
    events(&mut log, &names)?;
    Ok(log.finish()?.into_inner())
}

/// What `events=all` writes: each hold, and but for the first few many in a
/// record.
pub fn holds(options: LogOptions) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut log = start(options, "all", "all")?;
    let names = define(&mut log)?;
    let TraceNames { object, class, places: [in_get, _, in_size], threads: [main, _], .. } = names;
    let cache = log.class("com/acme/Cache", "Cache.java")?;
    let method = log.method(cache, "size", "()I", 40)?;
    let in_size_stack = log.stack(id::EMPTY_STACK, method, 40)?;
    let map = Held { place: in_get, class: object, hash: MAP };
    let size = Held { place: in_size, class, hash: CLASS };
    // The first two at each place have a record each, as their stacks are taken.
    let lane = log.lane(main);
    let of = |Held { place, class, hash }: Held| Hold { place, class, hash, ..Hold::default() };
    for (lock, after_ns, hold_ns, stack) in [
        (map, 100_000, 400, names.get),
        (size, 110_000, 110, in_size_stack),
        (map, 120_000, 420, names.get),
        (size, 130_000, 90, in_size_stack),
    ] {
        let hold = Hold { hold_ns, stack, flags: hold_flag::FIRST, ..of(lock) };
        log.note(lane, START_NS + after_ns, hold)?;
    }
    // The others are told late, so on another lane.
    let late = log.lane(main);
    let mut batch = HoldBatch::default();
    let (nth_map, nth_size) = (batch.lock(map), batch.lock(size));
    for (lock, after_ns, hold_ns) in [
        (nth_map, 180_000, 520),
        (nth_size, 180_090, 60),
        (nth_map, 180_700, 480),
        (nth_map, 180_700, 0),
    ] {
        batch.push(lock, START_NS + after_ns, hold_ns);
    }
    log.holds(late, &mut batch)?;
    let counted: [(Held, &[u64], &[u64]); 2] =
        [(map, &[400, 420], &[520, 480, 0]), (size, &[110, 90], &[60])];
    for (Held { place, class, .. }, first, sampled) in counted {
        log.acquisitions(lane, &acquisitions(main, place, class, first, sampled))?;
    }
    Ok(log.finish()?.into_inner())
}

/// A cell of acquisitions that were all measured.
fn acquisitions(
    thread: u32,
    place: u32,
    class: u32,
    first: &[u64],
    sampled: &[u64],
) -> AcquisitionCell {
    let holds: Vec<u64> = first.iter().chain(sampled).copied().collect();
    // A cell of waits has the same histogram.
    let measured = cell(thread, 0, 0, &holds);
    AcquisitionCell {
        thread,
        place,
        class,
        acquisitions: holds.len() as u64,
        next: 1 << 12,
        first_count: first.len() as u64,
        first_ns: first.iter().sum(),
        sampled_count: sampled.len() as u64,
        sampled_ns: sampled.iter().sum(),
        max_ns: measured.max_ns,
        histogram: measured.histogram,
        ..AcquisitionCell::default()
    }
}

fn start(mut options: LogOptions, hold: &str, events: &str) -> Result<Writer, Box<dyn Error>> {
    for (key, value) in
        [("mode", "trace"), ("hold", hold), ("events", events), ("identity", "true")]
    {
        options.header.metadata.push((key.to_owned(), value.to_owned()));
    }
    Ok(LogWriter::new(Cursor::new(Vec::new()), options)?)
}

fn define(log: &mut Writer) -> Result<TraceNames, Box<dyn Error>> {
    let cache = log.class("com/acme/Cache", "Cache.java")?;
    let object = log.class("java/lang/Object", "Object.java")?;
    let sync = log.class("java/util/concurrent/locks/ReentrantLock$NonfairSync", "")?;
    let class = log.class("com/acme/Cache.class", "")?;
    let get = log.method(cache, "get", "(I)I", 20)?;
    let put = log.method(cache, "put", "(II)V", 30)?;
    let size = log.method(cache, "size", "()I", 40)?;
    let in_get = log.stack(id::EMPTY_STACK, get, 22)?;
    let in_put = log.stack(id::EMPTY_STACK, put, 31)?;
    let get_in_put = {
        let caller = log.stack(id::EMPTY_STACK, put, 33)?;
        log.stack(caller, get, 22)?
    };
    let places = [
        log.place(get, 22, WaitKind::Monitor, 0, "Cache.map")?,
        log.place(put, 31, WaitKind::Lock, place_flag::JUC, "Cache.turn")?,
        log.place(size, 40, WaitKind::Monitor, place_flag::METHOD | place_flag::STATIC, "")?,
    ];
    let threads = [log.thread(1, "main", "main", 0)?, log.thread(31, "filler", "main", 0)?];
    let lock = log.lock(object)?;
    log.lock_instance(lock, MAP)?;
    log.lock_name(lock, "Cache.map")?;
    let site = log.site(WaitKind::Monitor, in_get, lock)?;
    for (key, value) in [
        ("instrumented.classes", 400),
        ("instrumented.classes", 412),
        ("instrumented.methods", 1_903),
        ("left.too-long", 2),
        ("left.jump", 1),
        ("places", 3),
        ("instances", 3),
        ("own.transform_ns", 31_000_000),
        ("own.native_ns", 1_250_000),
    ] {
        log.statistic(key, value)?;
    }
    Ok(TraceNames {
        object,
        sync,
        class,
        get: in_get,
        put: in_put,
        get_in_put,
        places,
        threads,
        site,
    })
}

fn events(log: &mut Writer, names: &TraceNames) -> Result<(), Box<dyn Error>> {
    let TraceNames { object, sync, class, places, threads: [main, filler], .. } = *names;
    let [in_get, in_put, in_size] = places;
    let lanes = [log.lane(main), log.lane(filler)];
    // main takes the map alone; what it held is measured.
    log.note(lanes[0], 0, Instance { hash: MAP, class: object, place: in_get, shared: false })?;
    let hold =
        Hold { place: in_get, class: object, stack: names.get, hash: MAP, ..Hold::default() };
    let first = Hold { hold_ns: 400, flags: hold_flag::FIRST, ..hold };
    log.note(lanes[0], START_NS + 100_000, first)?;
    log.note(lanes[0], START_NS + 180_000, Hold { hold_ns: 520, stack: 0, ..hold })?;
    // filler takes both, and main has to wait for it.
    let turn = Held { place: in_put, class: sync, hash: TURN };
    log.note(lanes[1], 0, Instance { hash: TURN, class: sync, place: in_put, shared: false })?;
    log.note(lanes[1], 0, Instance { hash: MAP, class: object, place: in_get, shared: true })?;
    let inner = Held { place: in_get, class: object, hash: MAP };
    let outer = [turn];
    let nest = Nest {
        delta_ns: 0,
        inner,
        stack: names.get_in_put,
        outer: outer.as_slice().into(),
        flags: 0,
    };
    log.note(lanes[1], START_NS + 200_000, nest)?;
    // Both take the class object, filler while it has the other two.
    log.note(lanes[0], 0, Instance { hash: CLASS, class, place: in_size, shared: false })?;
    log.note(lanes[1], 0, Instance { hash: CLASS, class, place: in_size, shared: true })?;
    let outer = [turn, inner];
    let inner = Held { place: in_size, class, hash: CLASS };
    let nest = Nest { delta_ns: 0, inner, stack: 0, outer: outer.as_slice().into(), flags: 0 };
    log.note(lanes[1], START_NS + 300_000, nest)?;
    log.note(
        lanes[1],
        START_NS + 350_000,
        Blame {
            charged_ns: 100_000,
            site: names.site,
            waiter: main,
            stack: names.get_in_put,
            place: in_get,
            ..Blame::default()
        },
    )?;
    let (end_ns, wait_ns) = (START_NS + 352_000, 102_000);
    log.wait(
        lanes[0],
        Wait { end_ns, wait_ns, site: names.site, owner: filler, parks: 0, ..Wait::default() },
    )?;
    let hold = Hold { place: in_put, class: sync, stack: names.put, hash: TURN, ..first };
    log.note(lanes[1], START_NS + 400_000, Hold { hold_ns: 210_000, ..hold })?;
    cells(log, names, lanes)
}

fn cells(
    log: &mut Writer,
    names: &TraceNames,
    lanes: [tyrion_formats::write::LaneId; 2],
) -> Result<(), Box<dyn Error>> {
    let TraceNames { object, sync, class, places, threads: [main, filler], .. } = *names;
    let [in_get, in_put, in_size] = places;
    for (lane, thread, place, class, count, first, sampled) in [
        (lanes[0], main, in_get, object, 1_000, &[400, 420, 380][..], &[520, 480][..]),
        (lanes[0], main, in_size, class, 2, &[90, 110], &[]),
        (lanes[1], filler, in_put, sync, 1, &[210_000], &[]),
        (lanes[1], filler, in_get, object, 1, &[150_000], &[]),
        (lanes[1], filler, in_size, class, 1, &[70], &[]),
    ] {
        let measured = acquisitions(thread, place, class, first, sampled);
        let turns = thread == filler && place == in_put;
        log.acquisitions(
            lane,
            &AcquisitionCell {
                acquisitions: count,
                reentrant: if turns { 4 } else { 0 },
                failed: if turns { 2 } else { 0 },
                next: count + 17,
                ..measured
            },
        )?;
    }
    let contention = Tally { ended: 1, recorded: 1, folded: 0, dropped: 0 };
    log.counters(&Counters { lane: 1, contention, other: Tally::default() })?;
    Ok(())
}
