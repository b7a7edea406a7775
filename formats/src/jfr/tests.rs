//! Recordings made by hand, whole and damaged.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::{chunk::HEADER_LEN, scan::tests::put, *};
use crate::{Damage, Event};
use tyrion_wire::{Outcome, WaitKind};

/// Ids of types.
const STRING: u64 = 20;
const SYMBOL: u64 = 21;
const CLASS: u64 = 22;
const METHOD: u64 = 23;
const FRAME: u64 = 24;
const STACK: u64 = 25;
const THREAD: u64 = 26;
const ENTER: u64 = 101;
const PARK: u64 = 102;
const OTHER: u64 = 103;

/// What a chunk is made of.
struct Maker {
    bytes: Vec<u8>,
    start_ns: u64,
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
    (THREAD, "java.lang.Thread", &[("javaName", STRING, ""), ("javaThreadId", LONG, "")]),
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
];

impl Maker {
    fn new(start_ns: u64) -> Maker {
        Maker { bytes: vec![0; HEADER_LEN], start_ns }
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

    /// The chunk, with metadata and constants.
    fn finish(mut self) -> Vec<u8> {
        let constants_at = self.event(1, &constants());
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

/// Symbols 1 to 7, classes 1 to 4, methods 1 to 3, stacks 1 and 2, threads 1 and 2.
fn constants() -> Vec<u8> {
    let mut out = Vec::new();
    for number in [0, 0, 0] {
        put(number, &mut out);
    }
    out.push(1);
    put(5, &mut out);
    let symbols = [
        "com/acme/Foo",
        "bar",
        "java/util/concurrent/locks/LockSupport",
        "park",
        "java/util/concurrent/locks/AbstractQueuedSynchronizer",
        "acquire",
        "java/util/concurrent/locks/ReentrantLock$NonfairSync",
    ];
    put(SYMBOL, &mut out);
    put(symbols.len() as u64, &mut out);
    for (symbol, key) in symbols.into_iter().zip(1..) {
        put(key, &mut out);
        text(symbol, &mut out);
    }
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
    for (name, key) in ["main", "worker"].into_iter().zip(1..) {
        put(key, &mut out);
        text(name, &mut out);
        put(key + 30, &mut out);
    }
    out
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

/// Each wait as text, in the order of threads and times.
fn waits(recording: &Recording) -> Vec<String> {
    let defined = recording.definitions();
    let thread = |id: u32| {
        let name = defined.threads().get(id).map(|thread| thread.name);
        name.map_or("-".into(), |name| recording.text(name).into_owned())
    };
    let mut found: Vec<(String, Event)> = Vec::new();
    for chunk in recording.event_chunks() {
        found.extend(recording.events(chunk).unwrap().map(|event| (thread(event.thread), event)));
    }
    found.sort_by_key(|(name, event)| (name.clone(), event.end_ns));
    let line = |(name, event): (String, Event)| {
        let site = defined.sites().get(event.site).unwrap();
        let lock =
            defined.locks().get(site.lock).and_then(|lock| defined.classes().get(lock.class));
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
    "main park 1000001000..1000002000 timed-out - com/acme/Foo park:0<acquire:0<bar:43<cut",
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
    let monitor = recording.definitions().sites().iter().map(|(_, site)| site.kind).min();
    assert_eq!(monitor, Some(WaitKind::Monitor));
    assert_eq!(Outcome::TimedOut.name(), "timed-out");
}

#[test]
fn chunks_follow_one_another() {
    let mut both = small();
    let len = both.len();
    let mut second = Maker::new(2_000_000_000);
    second.enter(1_000, 200, 1, 2);
    both.extend(second.finish());
    let recording = open(both.clone());
    assert_eq!(waits(&recording).len(), 6);
    assert_eq!(recording.definitions().threads().iter().count(), 2, "the same in both");
    assert_eq!(recording.facts().end_ns, 2_001_000_000);
    both[len] = b'X';
    let recording = open(both);
    assert_eq!(waits(&recording), SMALL);
    let [Damage { offset, .. }] = recording.damage() else { panic!("{:?}", recording.damage()) };
    assert_eq!(*offset as usize, len);
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
        assert!(!recording.damage().is_empty(), "{len}");
        assert!(waits(&recording).is_empty(), "{len}: no metadata, no events");
    }
    let mut both = small();
    let len = both.len();
    both.extend(small());
    for cut in len + 1..both.len() {
        let recording = open(both[..cut].to_vec());
        assert_eq!(waits(&recording), SMALL, "{cut}");
        assert_eq!(recording.damage().first().map(|it| it.offset as usize), Some(len), "{cut}");
    }
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
