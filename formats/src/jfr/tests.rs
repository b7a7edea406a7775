//! Recordings made by hand, whole and damaged.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::{chunk::HEADER_LEN, scan::tests::put, *};
use crate::{Damage, Entry, Event, Fault};
use tyrion_wire::{WaitKind, sample::ThreadState};

/// Ids of types.
const STRING: u64 = 20;
const SYMBOL: u64 = 21;
const CLASS: u64 = 22;
const METHOD: u64 = 23;
const FRAME: u64 = 24;
const STACK: u64 = 25;
const THREAD: u64 = 26;
const STATE: u64 = 27;
const GROUP: u64 = 28;
const ENTER: u64 = 101;
const PARK: u64 = 102;
const OTHER: u64 = 103;
const WAIT: u64 = 104;
const PINNED: u64 = 105;
const SAMPLE: u64 = 106;
const WALL: u64 = 107;
const SETTING: u64 = 108;
const PAUSE: u64 = 109;
const NATIVE_LOCK: u64 = 5000;
const JVM: u64 = 111;

/// What a chunk is made of.
struct Maker {
    bytes: Vec<u8>,
    start_ns: u64,
    /// What the second thread is called.
    second: &'static str,
}

/// A type: its id, its name, and fields: name, type, `p` for keys of constants, `a`
/// for arrays.
type TypeOf = (u64, &'static str, &'static [(&'static str, u64, &'static str)]);

const LONG: u64 = 4;
const BOOLEAN: u64 = 5;
const INT: u64 = 6;
const FLOAT: u64 = 7;

const TYPES: &[TypeOf] = &[
    (LONG, "long", &[]),
    (BOOLEAN, "boolean", &[]),
    (INT, "int", &[]),
    (FLOAT, "float", &[]),
    (STRING, "java.lang.String", &[]),
    (SYMBOL, "jdk.types.Symbol", &[("string", STRING, "")]),
    (CLASS, "java.lang.Class", &[("name", SYMBOL, "p"), ("modifiers", INT, "")]),
    (METHOD, "jdk.types.Method", &[("type", CLASS, "p"), ("name", SYMBOL, "p")]),
    (FRAME, "jdk.types.StackFrame", &[("method", METHOD, "p"), ("lineNumber", INT, "")]),
    (STACK, "jdk.types.StackTrace", &[("truncated", BOOLEAN, ""), ("frames", FRAME, "a")]),
    (
        THREAD,
        "java.lang.Thread",
        &[("javaName", STRING, ""), ("javaThreadId", LONG, ""), ("group", GROUP, "p")],
    ),
    (STATE, "jdk.types.ThreadState", &[("name", STRING, "")]),
    (GROUP, "jdk.types.ThreadGroup", &[("name", STRING, "")]),
    (
        ENTER,
        "jdk.JavaMonitorEnter",
        &[
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("eventThread", THREAD, "p"),
            ("stackTrace", STACK, "p"),
            ("monitorClass", CLASS, "p"),
            ("previousOwner", THREAD, "p"),
            ("address", LONG, ""),
        ],
    ),
    (
        PARK,
        "jdk.ThreadPark",
        &[
            ("address", LONG, ""),
            // No JDK has it: fields are found by their names.
            ("weight", FLOAT, ""),
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("stackTrace", STACK, "p"),
            ("parkedClass", CLASS, "p"),
            ("eventThread", THREAD, "p"),
            ("timeout", LONG, ""),
        ],
    ),
    (OTHER, "com.acme.Order", &[("startTime", LONG, ""), ("what", STRING, "")]),
    (
        WAIT,
        "jdk.JavaMonitorWait",
        &[
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("eventThread", THREAD, "p"),
            ("monitorClass", CLASS, "p"),
            ("notifier", THREAD, "p"),
            ("timeout", LONG, ""),
            ("timedOut", BOOLEAN, ""),
        ],
    ),
    (
        PINNED,
        "jdk.VirtualThreadPinned",
        &[("startTime", LONG, ""), ("duration", LONG, ""), ("eventThread", THREAD, "p")],
    ),
    (
        SAMPLE,
        "jdk.ExecutionSample",
        &[("startTime", LONG, ""), ("sampledThread", THREAD, "p"), ("state", STATE, "p")],
    ),
    (
        WALL,
        "profiler.WallClockSample",
        &[
            ("startTime", LONG, ""),
            ("sampledThread", THREAD, "p"),
            ("stackTrace", STACK, "p"),
            ("state", STATE, "p"),
            ("samples", INT, ""),
        ],
    ),
    (
        SETTING,
        "jdk.ActiveSetting",
        &[("startTime", LONG, ""), ("id", LONG, ""), ("name", STRING, ""), ("value", STRING, "")],
    ),
    (PAUSE, "jdk.GCPhasePause", &[("startTime", LONG, ""), ("duration", LONG, "")]),
    (
        NATIVE_LOCK,
        "profiler.NativeLock",
        &[
            ("startTime", LONG, ""),
            ("duration", LONG, ""),
            ("eventThread", THREAD, "p"),
            ("address", LONG, ""),
        ],
    ),
    (
        JVM,
        "jdk.JVMInformation",
        &[("jvmName", STRING, ""), ("javaArguments", STRING, ""), ("pid", LONG, "")],
    ),
];

impl Maker {
    fn new(start_ns: u64) -> Maker {
        Maker { bytes: vec![0; HEADER_LEN], start_ns, second: "worker" }
    }

    /// Adds an event: where it stands.
    fn event(&mut self, kind: u64, fields: &[u8]) -> usize {
        let at = self.bytes.len();
        let mut event = Vec::new();
        put(kind, &mut event);
        event.extend(fields);
        // The length has two bytes.
        let len = event.len() + 2;
        self.bytes.extend([len as u8 & 0x7f | 0x80, (len >> 7) as u8]);
        self.bytes.extend(event);
        at
    }

    fn numbers(&mut self, kind: u64, numbers: &[u64]) -> usize {
        let mut fields = Vec::new();
        numbers.iter().for_each(|&number| put(number, &mut fields));
        self.event(kind, &fields)
    }

    /// A wait for the monitor of a `Foo`: when it began, how long it took, whose it
    /// is, and who had the monitor.
    fn enter(&mut self, start: u64, duration: u64, thread: u64, owner: u64) {
        self.numbers(ENTER, &[start, duration, thread, 1, 1, owner, 0xbeef]);
    }

    /// A park at a stack for an object of a class, with a limit.
    fn park(&mut self, (start, duration): (u64, u64), stack: u64, class: u64, timeout: i64) {
        let mut fields = Vec::new();
        put(0x1234, &mut fields);
        fields.extend([0xff; 4]);
        for number in [start, duration, stack, class, 1, timeout as u64] {
            put(number, &mut fields);
        }
        self.event(PARK, &fields);
    }

    fn setting(&mut self, of: u64, name: &str, value: &str) {
        let mut fields = Vec::new();
        [1_000, of].into_iter().for_each(|number| put(number, &mut fields));
        [name, value].into_iter().for_each(|it| text(it, &mut fields));
        self.event(SETTING, &fields);
    }

    /// The chunk, with metadata and constants.
    fn finish(mut self) -> Vec<u8> {
        let constants_at = self.event(1, &constants(self.second));
        let metadata_at = self.event(0, &metadata());
        let len = self.bytes.len() as u64;
        let header = [
            MAGIC.to_vec(),
            [0, 2, 0, 1].to_vec(),
            len.to_be_bytes().to_vec(),
            (constants_at as u64).to_be_bytes().to_vec(),
            (metadata_at as u64).to_be_bytes().to_vec(),
            self.start_ns.to_be_bytes().to_vec(),
            1_000_000u64.to_be_bytes().to_vec(),
            1_000u64.to_be_bytes().to_vec(),
            // Two ticks in a ns.
            2_000_000_000u64.to_be_bytes().to_vec(),
            1u32.to_be_bytes().to_vec(),
        ]
        .concat();
        self.bytes[..HEADER_LEN].copy_from_slice(&header);
        self.bytes
    }
}

fn text(text: &str, out: &mut Vec<u8>) {
    out.push(3);
    put(text.len() as u64, out);
    out.extend(text.as_bytes());
}

/// Symbols 1 to 7, classes 1 to 4, methods 1 to 3, stacks 1 and 2, threads 1 and 2, states
/// 1 and 2, and a group.
fn constants(second: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for number in [0, 0, 0] {
        put(number, &mut out);
    }
    out.push(1);
    put(7, &mut out);
    let symbols = [
        "com/acme/Foo",
        "bar",
        "java/util/concurrent/locks/LockSupport",
        "park",
        "java/util/concurrent/locks/AbstractQueuedSynchronizer",
        "acquire",
        "java/util/concurrent/locks/ReentrantLock$NonfairSync",
    ];
    texts(SYMBOL, &symbols, &mut out);
    let mut rows = |kind: u64, rows: &[&[u64]]| {
        put(kind, &mut out);
        put(rows.len() as u64, &mut out);
        rows.iter().flat_map(|row| row.iter()).for_each(|&number| put(number, &mut out));
    };
    // Key, name and modifiers.
    rows(CLASS, &[&[1, 1, 0], &[2, 3, 0], &[3, 5, 0], &[4, 7, 0]]);
    rows(METHOD, &[&[1, 1, 2], &[2, 2, 4], &[3, 3, 6]]);
    // Key, whether it was cut, and frames: method and line.
    rows(STACK, &[&[1, 0, 1, 1, 42], &[2, 1, 3, 2, 0, 3, 0, 1, 43]]);
    put(THREAD, &mut out);
    put(2, &mut out);
    for (name, key) in ["main", second].into_iter().zip(1..) {
        put(key, &mut out);
        text(name, &mut out);
        put(key + 30, &mut out);
        put(1, &mut out);
    }
    texts(STATE, &["STATE_RUNNABLE", "STATE_SLEEPING"], &mut out);
    texts(GROUP, &["tellers"], &mut out);
    out
}

/// Constants that are a text each, with keys from 1 on.
fn texts(kind: u64, of: &[&str], out: &mut Vec<u8>) {
    put(kind, out);
    put(of.len() as u64, out);
    for (it, key) in of.iter().zip(1..) {
        put(key, out);
        text(it, out);
    }
}

/// The tree of elements: `root` has `metadata` has the types.
fn metadata() -> Vec<u8> {
    let mut texts: Vec<String> = Vec::new();
    let mut tree = Vec::new();
    let mut number = |text: &str| {
        let known = texts.iter().position(|it| it == text);
        known.unwrap_or_else(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        }) as u64
    };
    let mut element = |name: &str, attributes: &[(&str, String)], children: usize| {
        put(number(name), &mut tree);
        put(attributes.len() as u64, &mut tree);
        for (key, value) in attributes {
            put(number(key), &mut tree);
            put(number(value), &mut tree);
        }
        put(children as u64, &mut tree);
    };
    element("root", &[], 1);
    element("metadata", &[], TYPES.len());
    for (id, name, fields) in TYPES {
        element("class", &[("id", id.to_string()), ("name", (*name).to_owned())], fields.len());
        for (name, of, how) in *fields {
            let mut attributes = vec![("name", (*name).to_owned()), ("class", of.to_string())];
            match *how {
                "p" => attributes.push(("constantPool", "true".to_owned())),
                "a" => attributes.push(("dimension", "1".to_owned())),
                _ => {}
            }
            element("field", &attributes, 0);
        }
    }
    let mut out = Vec::new();
    for number in [0, 0, 1, texts.len() as u64] {
        put(number, &mut out);
    }
    texts.iter().for_each(|it| text(it, &mut out));
    out.extend(tree);
    out
}

fn small() -> Vec<u8> {
    let mut maker = Maker::new(1_000_000_000);
    maker.enter(1_000, 200, 1, 2);
    maker.numbers(OTHER, &[1_100, 0]);
    maker.enter(1_400, 20, 2, 0);
    maker.park((2_000, 600), 2, 4, i64::MIN);
    maker.park((3_000, 2_000), 2, 1, 1_000);
    // It began before the chunk did.
    maker.enter(900, 300, 2, 1);
    maker.finish()
}

fn open(bytes: Vec<u8>) -> Recording {
    read("it.jfr", bytes.into()).unwrap()
}

/// All records, in the order of their chunks.
fn entries(recording: &Recording) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    for chunk in recording.event_chunks() {
        found.extend(recording.events(chunk).unwrap().records());
    }
    found
}

fn name(recording: &Recording, thread: u32) -> String {
    let name = recording.definitions().threads().get(thread).map(|thread| thread.name);
    name.map_or("-".into(), |name| recording.text(name).into_owned())
}

/// Each wait as text, in the order of threads and times.
fn waits(recording: &Recording) -> Vec<String> {
    let defined = recording.definitions();
    let thread = |id: u32| name(recording, id);
    let mut found: Vec<(String, Event)> = Vec::new();
    for entry in entries(recording) {
        if let Entry::Wait(event) = entry {
            found.push((thread(event.thread), event));
        }
    }
    found.sort_by_key(|(name, event)| (name.clone(), event.end_ns));
    let line = |(name, event): (String, Event)| {
        let site = defined.sites().get(event.site).unwrap();
        let lock = defined.locks().get(site.lock).and_then(|lock| defined.classes().get(*lock));
        let lock = lock.map_or("-".into(), |class| recording.text(class.name));
        let mut stack = Vec::new();
        let mut at = site.stack;
        while let Some(frame) = defined.stacks().get(at) {
            let method = defined.methods().get(frame.method).unwrap();
            stack.push(format!("{}:{}", recording.text(method.name), frame.line));
            at = frame.parent;
        }
        format!(
            "{name} {} {}..{} {} {} {lock} {}{}",
            site.kind.name(),
            event.start_ns,
            event.end_ns,
            event.outcome.name(),
            thread(event.owner),
            stack.join("<"),
            if at == 1 { "<cut" } else { "" },
        )
    };
    found.into_iter().map(line).collect()
}

const SMALL: [&str; 5] = [
    "main monitor 1000000000..1000000100 granted worker com/acme/Foo bar:42",
    "main lock 1000000500..1000000800 granted - java/util/concurrent/locks/ReentrantLock$NonfairSync park:0<acquire:0<bar:43<cut",
    "main lock 1000001000..1000002000 timed-out - com/acme/Foo park:0<acquire:0<bar:43<cut",
    "worker monitor 999999950..1000000100 granted main com/acme/Foo bar:42",
    "worker monitor 1000000200..1000000210 granted - com/acme/Foo bar:42",
];

#[test]
fn waits_are_read_by_the_metadata() {
    let recording = open(small());
    assert_eq!(recording.damage(), []);
    let waits = waits(&recording);
    assert_eq!(waits.len(), SMALL.len(), "{waits:#?}");
    for (wait, expected) in waits.iter().zip(SMALL) {
        assert_eq!(wait, expected);
    }
    let facts = recording.facts();
    assert_eq!((facts.format, facts.short_waits), ("jfr", ShortWaits::Unknown));
    assert_eq!((facts.start_ns, facts.end_ns), (1_000_000_000, 1_001_000_000));
    assert_eq!((facts.state, facts.metadata("mode")), (RecordingState::Closed, Some("contention")));
    assert!(!recording.has_threshold(), "no setting says so");
    let monitor = recording.definitions().sites().iter().map(|(_, site)| site.kind).min();
    assert_eq!(monitor, Some(WaitKind::Monitor));
    // One `Foo` is an object that somebody parked for: it has another address.
    assert_eq!(recording.definitions().locks().iter().count(), 3);
    let threads = recording.definitions().threads();
    let groups = threads.iter().map(|(_, thread)| recording.text(thread.group).into_owned());
    assert_eq!(groups.collect::<Vec<_>>(), ["tellers", "tellers"]);
}

#[test]
fn who_notified_is_the_waker_not_the_owner() {
    let mut maker = Maker::new(1_000_000_000);
    maker.numbers(WAIT, &[1_000, 200, 1, 1, 2, 5_000, 0]);
    maker.numbers(WAIT, &[2_000, 400, 1, 1, 0, 200, 1]);
    let recording = open(maker.finish());
    assert_eq!(
        waits(&recording),
        [
            "main object-wait 1000000000..1000000100 granted - com/acme/Foo ",
            "main object-wait 1000000500..1000000700 timed-out - com/acme/Foo ",
        ]
    );
    let wakes: Vec<_> = entries(&recording)
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Wake(woken) => Some(woken),
            _ => None,
        })
        .collect();
    let [woken] = wakes[..] else { panic!("{wakes:?}") };
    assert_eq!(name(&recording, woken.wake.waker), "worker");
    assert_eq!((woken.end_ns, woken.wake.wait_ns, woken.wake.late_ns), (1_000_000_100, 100, 0));
    assert!(recording.has_wakers());
    assert!(!open(small()).has_wakers());
}

#[test]
fn locks_of_native_code_have_no_class() {
    let mut maker = Maker::new(1_000_000_000);
    for address in [0x10, 0x20, 0x10] {
        maker.numbers(NATIVE_LOCK, &[1_000, 200, 1, address]);
    }
    let recording = open(maker.finish());
    let wait = "main lock 1000000000..1000000100 granted - native lock ";
    assert_eq!(waits(&recording), [wait; 3]);
    assert_eq!(recording.definitions().locks().iter().count(), 2);
}

#[test]
fn waits_of_pinned_threads_count_once() {
    let mut maker = Maker::new(1_000_000_000);
    // Around a park of its own, and beside one of another thread.
    maker.park((2_000, 600), 2, 4, i64::MIN);
    maker.numbers(PINNED, &[1_990, 620, 1]);
    maker.numbers(PINNED, &[1_990, 620, 2]);
    // And one that was written first.
    maker.numbers(PINNED, &[5_000, 100, 1]);
    maker.enter(5_010, 80, 1, 0);
    let recording = open(maker.finish());
    assert_eq!(
        waits(&recording),
        [
            "main lock 1000000500..1000000800 granted - java/util/concurrent/locks/ReentrantLock$NonfairSync park:0<acquire:0<bar:43<cut",
            "main monitor 1000002005..1000002045 granted - com/acme/Foo bar:42",
            "worker park 1000000495..1000000805 granted - - ",
        ]
    );
    let told = "3 waits of virtual threads on their carriers, 670 ns";
    assert_eq!(recording.facts().metadata("pinned"), Some(told));
    assert_eq!(open(small()).facts().metadata("pinned"), None);
}

#[test]
fn samples_stand_for_their_period() {
    const MS: u64 = 1_000_000;
    let mut maker = Maker::new(1_000_000_000);
    maker.setting(SAMPLE, "period", "10 ms");
    maker.setting(OTHER, "period", "70 ms");
    maker.numbers(SAMPLE, &[1_000, 1, 1]);
    maker.numbers(WALL, &[3_000, 2, 2, 2, 5]);
    let recording = open(maker.finish());
    let samples: Vec<_> = entries(&recording)
        .into_iter()
        .map(|entry| match entry {
            Entry::Sample(sampled) => {
                let sample = sampled.sample;
                let thread = name(&recording, sampled.thread);
                (
                    thread,
                    sampled.at_ns,
                    sampled.state(),
                    sample.wall_ns,
                    sample.cpu_ns,
                    sample.count,
                )
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let main = ("main".to_owned(), 1_000_000_000, ThreadState::Running, 10 * MS, 10 * MS, 1);
    let worker = ("worker".to_owned(), 1_000_001_000, ThreadState::Parked, 250 * MS, 0, 5);
    assert_eq!(samples, [main, worker]);
    let facts = recording.facts();
    assert_eq!((facts.metadata("mode"), recording.period_ns()), (Some("sample"), Some(10 * MS)));
    assert!(recording.has_sampling() && !recording.capabilities().waits);
}

#[test]
fn settings_and_pauses_are_told() {
    let mut maker = Maker::new(1_000_000_000);
    maker.setting(ENTER, "enabled", "true");
    maker.setting(ENTER, "threshold", "20 ms");
    maker.setting(WAIT, "enabled", "false");
    maker.setting(PAUSE, "enabled", "true");
    let mut jvm = Vec::new();
    ["OpenJDK", "com.acme.Main secret"].into_iter().for_each(|it| text(it, &mut jvm));
    put(4711, &mut jvm);
    maker.event(JVM, &jvm);
    maker.numbers(PAUSE, &[9_000, 400]);
    maker.numbers(PAUSE, &[5_000, 200]);
    let recording = open(maker.finish());
    let facts = recording.facts();
    assert_eq!((facts.threshold_ns, facts.pid), (20_000_000, 4711));
    assert!(recording.has_threshold());
    let metadata: Vec<(&str, &str)> =
        facts.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(
        metadata,
        [
            ("collections", "true"),
            ("jvm", "OpenJDK"),
            ("mode", "contention"),
            ("program", "com.acme.Main"),
            ("thresholds", "jdk.JavaMonitorEnter 20 ms, jdk.JavaMonitorWait off"),
        ]
    );
    let pauses: Vec<(u64, u64)> =
        recording.collections().iter().map(|it| (it.start_ns, it.end_ns)).collect();
    assert_eq!(pauses, [(1_000_002_000, 1_000_002_100), (1_000_004_000, 1_000_004_200)]);
    assert_eq!(open(small()).has_collections(), None);
}

#[test]
fn chunks_follow_one_another() {
    let mut both = small();
    let len = both.len();
    let mut second = Maker::new(2_000_000_000);
    second.second = "renamed";
    second.enter(1_000, 200, 1, 2);
    both.extend(second.finish());
    let recording = open(both.clone());
    assert_eq!(waits(&recording).len(), 6);
    assert_eq!(recording.definitions().threads().iter().count(), 2, "the same in both");
    // The last name counts.
    let worker = recording.definitions().threads().get(2).unwrap();
    assert_eq!(recording.text(worker.name), "renamed");
    assert_eq!(recording.facts().end_ns, 2_001_000_000);
    both[len] = b'X';
    let recording = open(both);
    assert_eq!(waits(&recording), SMALL);
    let [Damage { offset, .. }] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert_eq!(*offset as usize, len);
}

#[test]
fn an_older_chunk_may_come_later() {
    let mut later = Maker::new(2_000_000_000);
    later.enter(1_000, 200, 1, 2);
    let recording = open([later.finish(), small()].concat());
    assert_eq!(waits(&recording).len(), 6);
    assert_eq!((recording.start_ns(), recording.end_ns()), (1_000_000_000, 2_001_000_000));
}

#[test]
fn long_chunks_are_read_in_blocks() {
    let mut maker = Maker::new(1_000_000_000);
    let count = block::BLOCK as u64 * 2 + 10;
    for nth in 0..count {
        maker.enter(1_000 + 10 * nth, 4, 1 + nth % 2, 0);
    }
    let bytes = maker.finish();
    let chunk = Chunk {
        offset: 0,
        header: chunk::header(&bytes).unwrap().1,
        bytes: &bytes,
        is_whole: true,
    };
    let header = LogOptions::default().header;
    let mut writer = Writer::new(Importer::new(INPUT, "long.jfr", header).unwrap());
    read_long(&chunk, &mut writer).unwrap();
    let long = writer.finish(0).unwrap().finish().unwrap();
    let whole = open(bytes);
    let sum = |recording: &Recording| {
        let chunks = recording.event_chunks().iter();
        let events = chunks.flat_map(|chunk| recording.events(chunk).unwrap());
        events.fold((0, 0), |(count, ns), event| (count + 1, ns + event.wait_ns()))
    };
    assert_eq!(sum(&long), (count, 2 * count));
    assert_eq!(sum(&whole), sum(&long));
}

/// Events with numbers of all lengths, some of them cut, and many that differ in when
/// they were alone.
fn any_events(mut seed: u64) -> Vec<u8> {
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let mut maker = Maker::new(1_000_000_000);
    for _ in 0..3_000 {
        let start = 1_000 + next(1 << 30);
        let keys = 1 << next(4);
        let long = |bits: u64| (1u64 << bits) - 1;
        match next(10) {
            0..5 => maker.enter(start, next(1 << 20), 1 + next(keys), next(keys)),
            5 => maker.enter(start, long(next(64)), long(next(64)), next(keys)),
            6 => {
                let of = [start, next(9), 1, next(keys), next(3), long(next(64)), next(2)];
                maker.numbers(WAIT, &of);
            }
            7 => drop(maker.numbers(NATIVE_LOCK, &[start, next(900), next(keys), long(next(64))])),
            8 => drop(maker.numbers(SAMPLE, &[start, next(keys), next(3)])),
            _ => drop(maker.numbers(ENTER, &vec![next(200) << next(57); next(8) as usize])),
        }
    }
    maker.finish()
}

#[test]
fn the_quick_way_finds_what_reading_field_by_field_finds() {
    for seed in 0..20 {
        let bytes = any_events(seed);
        let header = chunk::header(&bytes).unwrap().1;
        let chunk = Chunk { offset: 0, header, bytes: &bytes, is_whole: true };
        let types = types(&chunk).unwrap();
        let read = |layouts: Layouts| {
            let mut blocks = Blocks::new(&chunk, &types, &layouts);
            let mut found = Vec::new();
            while let Some(block) = blocks.next() {
                for (thread, entries) in block.by_thread() {
                    let of = |entry: &block::Entry| {
                        let other = entry.other.checked_sub(1).map(|at| block.threads[at as usize]);
                        let site = block.sites[entry.site()];
                        (entry.end_ns, entry.wait_ns, entry.outcome(), site, other)
                    };
                    let thread = block.threads[thread as usize];
                    found.push((thread, entries.iter().map(of).collect::<Vec<_>>()));
                }
            }
            (found, blocks.damaged)
        };
        let quick = read(Layouts::of(&types));
        let slow = read(Layouts::of(&types).without_quick());
        assert!(quick.0.iter().map(|(_, entries)| entries.len()).sum::<usize>() > 2_000);
        assert!(!quick.1.is_empty());
        assert_eq!(quick, slow, "seed {seed}");
    }
}

#[test]
fn many_chunks_are_read_in_their_order() {
    let mut bytes = Vec::new();
    for nth in 0..40 {
        let mut maker = Maker::new(1_000_000_000 + 10_000 * nth);
        maker.enter(1_000, 200 + nth, 1, 2);
        bytes.extend(maker.finish());
    }
    let chunks = Found::of(&bytes).chunks;
    assert_eq!((chunks.len(), batches(&chunks).count()), (40, 3));
    let recording = open(bytes);
    let ends: Vec<u64> = entries(&recording).iter().map(Entry::at_ns).collect();
    assert_eq!(ends.len(), 40);
    assert!(ends.is_sorted(), "{ends:?}");
}

/// Beyond a constant for four bytes there are none; what is before is kept.
#[test]
fn where_constants_stand_takes_no_more_memory_than_the_chunk_has_bytes() {
    let count = 100_000;
    let mut out = vec![0, 0, 0, 1];
    put(2, &mut out);
    texts(SYMBOL, &["it"], &mut out);
    put(CLASS, &mut out);
    put(count, &mut out);
    // Key, name and modifiers.
    (0..count).for_each(|_| out.extend([1, 1, 0]));
    let read = |more: usize| {
        let mut maker = Maker::new(0);
        maker.bytes.resize(HEADER_LEN + more, 0);
        let mut event = Vec::new();
        put(1, &mut event);
        event.extend(&out);
        let len = event.len() as u64 + 3;
        let at = maker.bytes.len();
        maker.bytes.extend([len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8]);
        maker.bytes.extend(event);
        let mut bytes = maker.finish();
        bytes[16..24].copy_from_slice(&(at as u64).to_be_bytes());
        let header = chunk::header(&bytes).unwrap().1;
        let chunk = Chunk { offset: 0, header, bytes: &bytes, is_whole: true };
        let (constants, damaged) = Constants::read(&chunk, &Arc::new(types(&chunk).unwrap()));
        let bound = bytes.len() * 4;
        assert!(constants.memory() <= bound, "{} of {bound}", constants.memory());
        (damaged, constants.class(1))
    };
    assert_eq!(read(0), (Some(HEADER_LEN), None), "too many for so few bytes");
    assert_eq!(read(100_000), (None, Some("it".to_owned())));
}

#[test]
fn what_cannot_be_read_is_refused_by_its_first_bytes() {
    let mut newer = small();
    newer[5] = 9;
    let error = check_start("it", &newer).unwrap_err().to_string();
    assert!(error.contains("offset 0x4: version 9 of Flight Recorder"), "{error}");
    let mut plain = small();
    plain[67] = 0;
    let error = check_start("it", &plain).unwrap_err().to_string();
    assert!(error.contains("not compressed"), "{error}");
    let error = read("it", b"FLR\0\0\x02".to_vec().into()).unwrap_err().to_string();
    assert!(error.contains("needs 68 bytes"), "{error}");
}

/// What comes before a cut is kept, where names and metadata are there.
#[test]
fn cut_anywhere_the_rest_is_read() {
    let whole = small();
    for len in HEADER_LEN..whole.len() {
        let recording = open(whole[..len].to_vec());
        let first = recording.damage().first().unwrap();
        assert_eq!((&first.fault, first.offset as usize), (&Fault::Cut, len));
        assert_eq!(first.skipped as usize, whole.len() - len);
        assert!(waits(&recording).is_empty(), "{len}: no metadata, no events");
    }
    let mut both = small();
    let len = both.len();
    both.extend(small());
    for cut in len + 1..both.len() {
        let recording = open(both[..cut].to_vec());
        assert_eq!(waits(&recording), SMALL, "{cut}");
        let told = recording.damage().first().map(|it| it.offset as usize);
        // Of a header nothing is known but that it is none.
        let expected = if cut < len + HEADER_LEN { len } else { cut };
        assert_eq!(told, Some(expected), "{cut}");
    }
}

/// As async-profiler leaves a file when it is killed: metadata, events, no names.
#[test]
fn a_chunk_that_was_never_finished_is_read_without_names() {
    let mut bytes = small();
    bytes[8..16].copy_from_slice(&(1u64 << 30).to_be_bytes());
    bytes[16..32].fill(0);
    let recording = open(bytes);
    // Here names are there, and found without the header.
    assert_eq!(waits(&recording), SMALL);
    assert_eq!(recording.facts().state, RecordingState::Recording);
    let [damage] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert!(damage.to_string().contains("never finished"), "{damage}");
}

/// As Flight Recorder leaves a file when it is killed: what it has flushed is whole.
#[test]
fn what_comes_after_the_last_flush_is_left_out() {
    let mut bytes = small();
    let len = bytes.len();
    bytes[64] = 7;
    let recording = open(bytes.clone());
    assert_eq!((waits(&recording).len(), recording.damage()), (5, &[][..]));
    assert_eq!(recording.facts().state, RecordingState::Recording);
    bytes.extend([9, 101, 0, 0]);
    let recording = open(bytes);
    assert_eq!(waits(&recording), SMALL);
    let [damage] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert_eq!((damage.offset as usize, damage.skipped), (len, 4));
    assert!(damage.to_string().contains("since its last flush"), "{damage}");
}

#[test]
fn an_event_that_cannot_be_read_is_left_out() {
    let mut maker = Maker::new(1_000_000_000);
    maker.enter(1_000, 200, 1, 2);
    let at = maker.numbers(ENTER, &[1_000, 200]);
    maker.enter(1_400, 20, 2, 0);
    let recording = open(maker.finish());
    assert_eq!(waits(&recording).len(), 2);
    let [damage] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert_eq!(damage.offset as usize, at);
}

#[test]
fn flipped_bits_do_no_harm() {
    let whole = small();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            if let Ok(recording) = read("it", flipped.into()) {
                let sum: u64 = recording
                    .event_chunks()
                    .iter()
                    .filter_map(|chunk| recording.events(chunk).ok())
                    .flat_map(|events| events.map(|event| event.wait_ns()))
                    .fold(0, u64::saturating_add);
                std::hint::black_box(sum);
            }
        }
    }
}
