//! A small log of trace mode that has everything new in it.

use std::io::Cursor;
use tyrion_formats::{
    Recording,
    write::{LaneId, LogOptions, LogWriter, Wait},
};
use tyrion_model::{
    aggregate::{Aggregate, aggregate},
    filter::Filter,
    profile::Profile,
};
use tyrion_wire::{
    WaitKind, cell,
    def::place_flag,
    trace::{AcquisitionCell, Blame, Bursts, Held, Hold, Instance, Nest, hold_flag},
};

const START_NS: u64 = 1_000_000_000;
const MAP: u32 = 0x2a13_9a55;
const TURN: u32 = 0x15db_9742;

/// The profile of [`log_in_bursts`].
pub fn in_bursts() -> Profile {
    aggregate(&[log_in_bursts()], &Filter::default(), &|_| {}).profile
}

/// The log as it is if its busiest place is counted in bursts.
pub fn log_in_bursts() -> Recording {
    Recording::from_bytes("bursts.log", made(CountMode::InBursts)).unwrap()
}

/// The log's profile, with the default filter.
pub fn profile() -> Profile {
    aggregated(&Filter::default()).profile
}

/// What aggregating the log gives.
pub fn aggregated(filter: &Filter) -> Aggregate {
    aggregate(&[log()], filter, &|_| {})
}

/// The log.
pub fn log() -> Recording {
    Recording::from_bytes("trace.log", bytes()).unwrap()
}

type Writer = LogWriter<Cursor<Vec<u8>>>;

/// Ids of what the records name.
struct Ids {
    classes: TracedClasses,
    stacks: TracedStacks,
    places: TracedPlaces,
    threads: [u32; 3],
    sites: [u32; 2],
}

struct TracedClasses {
    object: u32,
    sync: u32,
    cache: u32,
    cache_class: u32,
    semaphore: u32,
}

struct TracedStacks {
    /// main → get
    main_get: u32,
    /// main → warm → get
    warm_get: u32,
    /// run → put → ReentrantLock.lock
    put_lock: u32,
    /// run → put, where it leaves the lock
    put_unlock: u32,
    /// run → put → get
    put_get: u32,
}

struct TracedPlaces {
    get: u32,
    put: u32,
    /// The same place once more, since its class was loaded twice.
    put_again: u32,
    size: u32,
    refresh: u32,
    permits: u32,
}

/// How acquisitions are counted.
#[derive(Clone, Copy, PartialEq)]
enum CountMode {
    All,
    InBursts,
}

/// The log's bytes.
pub fn bytes() -> Vec<u8> {
    made(CountMode::All)
}

fn made(counting: CountMode) -> Vec<u8> {
    let mut options = LogOptions::default();
    let header = &mut options.header;
    (header.pid, header.mono_ns, header.end_ns) = (4711, START_NS, START_NS + 2_000_000_000);
    header.threshold_ns = 10_000;
    header.metadata = [
        ("program", "com.acme.Main"),
        ("jvm", "OpenJDK 64-Bit Server VM 21"),
        ("mode", "trace"),
        ("hold", "1/64"),
        ("events", "folded"),
        ("identity", "true"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .to_vec();
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    let ids = define(&mut log);
    let lanes = ids.threads.map(|thread| log.lane(thread));
    records(&mut log, &ids, lanes);
    cells(&mut log, &ids, lanes, counting);
    log.finish().unwrap().into_inner()
}

fn define(log: &mut Writer) -> Ids {
    let mut class = |name: &str, source: &str| log.class(name, source).unwrap();
    let classes = TracedClasses {
        object: class("java/lang/Object", "Object.java"),
        sync: class("java/util/concurrent/locks/ReentrantLock$FairSync", "ReentrantLock.java"),
        cache: class("com/acme/Cache", "Cache.java"),
        cache_class: class("com/acme/Cache.class", ""),
        semaphore: class("java/util/concurrent/Semaphore$NonfairSync", "Semaphore.java"),
    };
    let main = class("com/acme/Main", "Main.java");
    let thread = class("java/lang/Thread", "Thread.java");
    let reentrant = class("java/util/concurrent/locks/ReentrantLock", "ReentrantLock.java");
    let mut method = |class: u32, name: &str, descriptor: &str, line: u32| {
        log.method(class, name, descriptor, line).unwrap()
    };
    let main = method(main, "main", "([Ljava/lang/String;)V", 10);
    let run = method(thread, "run", "()V", 840);
    let lock = method(reentrant, "lock", "()V", 321);
    let get = method(classes.cache, "get", "(I)I", 20);
    let put = method(classes.cache, "put", "(II)V", 30);
    let size = method(classes.cache, "size", "()I", 40);
    let refresh = method(classes.cache, "refresh", "()V", 50);
    let permits = method(classes.cache, "permits", "()V", 60);
    let warm = method(classes.cache, "warm", "()V", 70);
    let mut stack = |frames: &[(u32, u32)]| {
        frames.iter().fold(0, |parent, &(method, line)| log.stack(parent, method, line).unwrap())
    };
    let stacks = TracedStacks {
        main_get: stack(&[(main, 12), (get, 22)]),
        // As an interpreted frame reports it, one line too far.
        warm_get: stack(&[(main, 13), (warm, 71), (get, 23)]),
        put_lock: stack(&[(run, 840), (put, 31), (lock, 322)]),
        put_unlock: stack(&[(run, 840), (put, 36)]),
        put_get: stack(&[(run, 840), (put, 33), (get, 22)]),
    };
    let mut place = |method: u32, line: u32, kind: WaitKind, flags: u64, name: &str| {
        log.place(method, line, kind, flags, name).unwrap()
    };
    let flags = place_flag::METHOD | place_flag::STATIC;
    let places = TracedPlaces {
        get: place(get, 22, WaitKind::Monitor, 0, "Cache.map"),
        put: place(put, 31, WaitKind::Lock, place_flag::JUC, "Cache.turn"),
        put_again: place(put, 31, WaitKind::Lock, place_flag::JUC | 1 << 10, "Cache.turn"),
        size: place(size, 40, WaitKind::Monitor, flags, "Cache.class"),
        refresh: place(refresh, 50, WaitKind::Monitor, place_flag::METHOD, "this"),
        permits: place(permits, 61, WaitKind::Semaphore, place_flag::JUC, "parameter free"),
    };
    let mut thread = |id: u64, name: &str| log.thread(id, name, "main", 0).unwrap();
    let threads = [thread(1, "main"), thread(31, "filler-1"), thread(32, "filler-2")];
    let map = log.lock(classes.object).unwrap();
    log.lock_instance(map, MAP).unwrap();
    log.lock_name(map, "Cache.map").unwrap();
    let turn = log.lock(classes.sync).unwrap();
    log.lock_name(turn, "Cache.turn").unwrap();
    let sites = [
        log.site(WaitKind::Monitor, stacks.main_get, map).unwrap(),
        log.site(WaitKind::Lock, stacks.put_lock, turn).unwrap(),
    ];
    log.statistic("instrumented.classes", 412).unwrap();
    log.statistic("left.too-long", 2).unwrap();
    Ids { classes, stacks, places, threads, sites }
}

fn records(log: &mut Writer, ids: &Ids, lanes: [LaneId; 3]) {
    let Ids { classes, stacks, places, threads: [main, _, filler_2], sites } = ids;
    let instance = Instance { hash: MAP, class: classes.object, place: places.get, shared: false };
    log.note(lanes[0], 0, instance).unwrap();
    log.note(lanes[1], 0, Instance { shared: true, ..instance }).unwrap();
    // main's stacks: twice as often from `warm`, but for shorter times.
    let get = Hold { place: places.get, class: classes.object, hash: MAP, ..Hold::default() };
    for (at_us, stack, hold_ns, flags) in [
        (100, stacks.main_get, 900, hold_flag::FIRST),
        (110, stacks.warm_get, 50, hold_flag::FIRST),
        (120, stacks.warm_get, 50, 0),
        (130, 0, 400, 0),
    ] {
        let at_ns = START_NS + at_us * 1_000;
        log.note(lanes[0], at_ns, Hold { hold_ns, stack, flags, ..get }).unwrap();
    }
    let put = Hold {
        place: places.put,
        class: classes.sync,
        stack: stacks.put_lock,
        hash: TURN,
        flags: hold_flag::FIRST,
        hold_ns: 210_000,
        ..Hold::default()
    };
    log.note(lanes[1], START_NS + 310_000, put).unwrap();
    let inner = Held { place: places.get, class: classes.object, hash: MAP };
    let outer = [Held { place: places.put, class: classes.sync, hash: TURN }];
    let stack = stacks.put_get;
    let nest = Nest { delta_ns: 0, inner, stack, outer: outer.as_slice().into(), flags: 0 };
    log.note(lanes[1], START_NS + 320_000, nest).unwrap();
    // filler-1 keeps main waiting for the map, and filler-2 for the turn; once
    // where it left is not known.
    let blame = Blame {
        charged_ns: 100_000,
        site: sites[0],
        waiter: *main,
        stack: stacks.put_get,
        place: places.get,
        ..Blame::default()
    };
    log.note(lanes[1], START_NS + 350_000, blame).unwrap();
    let turn = Blame {
        charged_ns: 7_000,
        site: sites[1],
        waiter: *filler_2,
        stack: stacks.put_unlock,
        place: places.put,
        ..blame
    };
    log.note(lanes[1], START_NS + 360_000, turn).unwrap();
    log.note(lanes[1], START_NS + 370_000, Blame { stack: 0, ..turn }).unwrap();
    let wait = |end_us: u64, wait_ns, site| Wait {
        end_ns: START_NS + end_us * 1_000,
        wait_ns,
        site,
        ..Wait::default()
    };
    log.wait(lanes[0], wait(352, 102_000, sites[0])).unwrap();
    log.wait(lanes[2], wait(372, 15_000, sites[1])).unwrap();
}

fn cells(log: &mut Writer, ids: &Ids, lanes: [LaneId; 3], counting: CountMode) {
    let Ids { classes, places, threads, .. } = ids;
    let mut add = |thread: usize, place, class, counts: [u64; 3], first: &[u64], more: &[u64]| {
        let [acquisitions, reentrant, failed] = counts;
        let mut histogram = [0; cell::BUCKETS];
        let measured = first.iter().chain(more);
        measured.clone().for_each(|&hold_ns| histogram[cell::bucket(hold_ns)] += 1);
        let cell = AcquisitionCell {
            thread: threads[thread],
            place,
            class,
            one_in: None,
            acquisitions,
            next: acquisitions + 17,
            reentrant,
            failed,
            first_count: first.len() as u64,
            first_ns: first.iter().sum(),
            sampled_count: more.len() as u64,
            sampled_ns: more.iter().sum(),
            max_ns: measured.copied().max().unwrap_or(0),
            unidentified: 0,
            histogram,
            bursts: (counting == CountMode::InBursts).then(|| bursts(acquisitions)),
        };
        log.acquisitions(lanes[thread], &cell).unwrap();
    };
    // 10 000 times, which the stacks share out 1 : 2; held 950 ns and then
    // 9 998 times 225 ns.
    add(0, places.get, classes.object, [10_000, 3, 0], &[900, 50], &[50, 400]);
    // No stack, and nothing to show but the class.
    add(0, places.size, classes.cache_class, [2, 0, 0], &[90, 110], &[]);
    add(0, places.refresh, classes.cache, [5, 0, 0], &[], &[]);
    // Reentrant alone, and in vain alone.
    add(0, places.refresh, classes.object, [0, 4, 0], &[], &[]);
    add(0, places.permits, classes.semaphore, [0, 0, 6], &[], &[]);
    // Two cells of one place, and the place under another id.
    add(1, places.put, classes.sync, [3, 1, 2], &[210_000, 30_000], &[]);
    add(1, places.put, classes.sync, [1, 0, 0], &[60_000], &[]);
    add(1, places.put_again, classes.sync, [2, 0, 0], &[1_000, 3_000], &[]);
    add(1, places.get, classes.object, [6, 0, 0], &[1_000; 6], &[]);
    add(2, places.permits, classes.semaphore, [4, 0, 0], &[20_000; 4], &[]);
}

/// What is estimated of a cell that has counted so many acquisitions in bursts: many more,
/// if these are many.
fn bursts(counted: u64) -> Bursts {
    match counted {
        0..1_000 => Bursts::default(),
        counted => Bursts {
            uncounted: 9 * counted,
            uncounted_error: 1_501,
            uncounted_reentrant: 27,
            reentrant_error: 8,
            count: 40,
        },
    }
}
