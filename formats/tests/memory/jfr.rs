//! Recordings of Flight Recorder.

use super::{MemoryCase, check};

fn put(mut number: u64, out: &mut Vec<u8>) {
    for _ in 0..8 {
        if number < 0x80 {
            return out.push(number as u8);
        }
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn numbers(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut out = Vec::new();
    numbers.into_iter().for_each(|number| put(number, &mut out));
    out
}

fn text(text: &[u8]) -> Vec<u8> {
    [&[3][..], &numbers([text.len() as u64]), text].concat()
}

/// An event, its length in as few bytes as it needs.
fn event(kind: u64, fields: &[u8]) -> Vec<u8> {
    let inner = [&numbers([kind])[..], fields].concat();
    let len = (1..).find_map(|own| {
        let len = numbers([(inner.len() + own) as u64]);
        (len.len() == own).then_some(len)
    });
    [len.unwrap(), inner].concat()
}

const HEADER_LEN: usize = 68;

fn chunk(metadata: &[u8], constants: &[u8], events: &[u8]) -> Vec<u8> {
    let (metadata, constants) = (event(0, metadata), event(1, constants));
    let metadata_at = HEADER_LEN + events.len();
    let constants_at = metadata_at + metadata.len();
    let len = constants_at + constants.len();
    let mut out = b"FLR\0\0\x02\0\x01".to_vec();
    let second = 1_000_000_000;
    let starts = [1_700_000_000 * second, second, 0, second];
    for number in [len, constants_at, metadata_at].map(|at| at as u64).into_iter().chain(starts) {
        out.extend(number.to_be_bytes());
    }
    out.extend(1u32.to_be_bytes());
    [&out[..], events, &metadata, &constants].concat()
}

/// Metadata of some texts and a tree of elements.
fn metadata(texts: &[Vec<u8>], tree: &[u8]) -> Vec<u8> {
    let head = numbers([0, 0, 1, texts.len() as u64]);
    let texts: Vec<u8> = texts.iter().flat_map(|it| text(it)).collect();
    [&head[..], &texts, tree].concat()
}

const LONG: u64 = 4;
const STRING: u64 = 5;
const THREAD: u64 = 10;
const STACK: u64 = 11;
const FRAME: u64 = 12;
const METHOD: u64 = 13;
const CLASS: u64 = 14;
const SYMBOL: u64 = 15;
const PARK: u64 = 100;
const PAUSE: u64 = 101;
const SETTING: u64 = 102;
const PINNED: u64 = 103;
/// An event without any fields.
const ENTER: u64 = 104;
const WAIT: u64 = 105;

/// A field: its name, its type, and `p` for the key of a constant or `a` for an array.
type FieldSpec = (&'static str, u64, &'static str);

const TYPES: &[(u64, &str, &[FieldSpec])] = &[
    (LONG, "long", &[]),
    (STRING, "java.lang.String", &[]),
    (THREAD, "java.lang.Thread", &[("javaName", STRING, ""), ("javaThreadId", LONG, "")]),
    (STACK, "jdk.types.StackTrace", &[("frames", FRAME, "a")]),
    (FRAME, "jdk.types.StackFrame", &[("method", METHOD, "p"), ("lineNumber", LONG, "")]),
    (METHOD, "jdk.types.Method", &[("type", CLASS, "p"), ("name", SYMBOL, "p")]),
    (CLASS, "java.lang.Class", &[("name", SYMBOL, "p")]),
    (SYMBOL, "jdk.types.Symbol", &[("string", STRING, "")]),
    (
        PARK,
        "jdk.ThreadPark",
        &[
            ("startTime", LONG, ""),
            ("eventThread", THREAD, "p"),
            ("stackTrace", STACK, "p"),
            ("parkedClass", CLASS, "p"),
            ("address", LONG, ""),
        ],
    ),
    (PAUSE, "jdk.GCPhasePause", &[]),
    (SETTING, "jdk.ActiveSetting", &[("id", LONG, "")]),
    (PINNED, "jdk.VirtualThreadPinned", &[("startTime", LONG, "")]),
    (ENTER, "jdk.JavaMonitorEnter", &[]),
    (WAIT, "jdk.JavaMonitorWait", &[("startTime", LONG, ""), ("eventThread", THREAD, "p")]),
];

fn types() -> Vec<u8> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut tree = Vec::new();
    let mut element = |words: &[&str], children: usize| {
        let mut word = |word: &str| {
            let known = texts.iter().position(|it| it == word.as_bytes());
            known.unwrap_or_else(|| {
                texts.push(word.as_bytes().to_vec());
                texts.len() - 1
            }) as u64
        };
        put(word(words[0]), &mut tree);
        put(words.len() as u64 / 2, &mut tree);
        words[1..].iter().for_each(|it| put(word(it), &mut tree));
        put(children as u64, &mut tree);
    };
    element(&["root"], TYPES.len());
    for (id, name, fields) in TYPES {
        element(&["class", "id", &id.to_string(), "name", name], fields.len());
        for (name, of, how) in *fields {
            let of = of.to_string();
            match *how {
                "p" => element(&["field", "name", name, "class", &of, "constantPool", "true"], 0),
                "a" => element(&["field", "name", name, "class", &of, "dimension", "1"], 0),
                _ => element(&["field", "name", name, "class", &of], 0),
            }
        }
    }
    metadata(&texts, &tree)
}

/// Constants of some types, each with its rows.
fn constants(pools: &[(u64, Vec<Vec<u8>>)]) -> Vec<u8> {
    let mut out = numbers([0, 0, 0, 1, pools.len() as u64]);
    for (of, rows) in pools {
        out.extend(numbers([*of, rows.len() as u64]));
        out.extend(rows.concat());
    }
    out
}

fn keyed(key: u64, value: &[u8]) -> Vec<u8> {
    [&numbers([key])[..], value].concat()
}

/// A text that is much longer than any name.
fn long_text() -> Vec<u8> {
    text(&vec![b'n'; 300_000])
}

/// A park: when, whose, where, for what, and the address of that.
fn park(of: [u64; 5]) -> Vec<u8> {
    event(PARK, &numbers(of))
}

/// A chunk of a wait.
pub fn short() -> Vec<u8> {
    chunk(&types(), &no_constants(), &event(ENTER, &[]))
}

fn no_constants() -> Vec<u8> {
    constants(&[])
}

/// A type of many fields, all of a name that is long, as the type's is.
fn fields(count: u64) -> Vec<u8> {
    let words = ["class", "field", "id", "name", "class", "4", "9", "long"];
    let mut texts: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    texts.push(vec![b'x'; 300_000]);
    let mut tree = numbers([3, 0, 2, 0, 2, 2, 5, 3, 7, 0, 0, 2, 2, 6, 3, 8, count]);
    (0..count).for_each(|_| tree.extend([1, 2, 3, 8, 4, 5, 0]));
    chunk(&metadata(&texts, &tree), &no_constants(), &[])
}

/// Many types that all are events which are read.
fn kinds() -> Vec<u8> {
    let mut texts: Vec<Vec<u8>> =
        ["class", "field", "id", "name", "class", "4", "long", "jdk.ThreadPark", "startTime"]
            .map(|word| word.as_bytes().to_vec())
            .to_vec();
    let count = 20_000u64;
    texts.extend((0..count).map(|id| (id + 10).to_string().into_bytes()));
    let mut tree = numbers([3, 0, count + 1, 0, 2, 2, 5, 3, 6, 0]);
    for at in 0..count {
        tree.extend(numbers([0, 2, 2, at + 9, 3, 7, 2]));
        (0..2).for_each(|_| tree.extend([1, 2, 3, 8, 4, 5, 0]));
    }
    chunk(&metadata(&texts, &tree), &no_constants(), &[])
}

/// Texts without a byte.
fn texts(count: u64) -> Vec<u8> {
    let mut of = numbers([0, 0, 1, count]);
    of.extend((0..count).map(|_| 0));
    of.extend([0, 0, 0]);
    chunk(&of, &no_constants(), &[])
}

/// A chunk that has nothing but a type whose id is far from others.
/// Begins at a moment.
fn tiny(start_ns: u64) -> Vec<u8> {
    let texts = ["root", "class", "id", "name", "4095", "jdk.ThreadPark"];
    let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let tree = numbers([0, 0, 1, 1, 2, 3, 5, 2, 4, 0]);
    let mut bytes = chunk(&metadata(&texts, &tree), &no_constants(), &event(4095, &[]));
    bytes[32..40].copy_from_slice(&start_ns.to_be_bytes());
    bytes
}

/// Threads that share a name that is long.
fn threads() -> Vec<u8> {
    let count = 25_000;
    let row = |key: u64| [&numbers([key])[..], &[2, 1], &numbers([key])].concat();
    let of = constants(&[
        (STRING, vec![keyed(1, &long_text())]),
        (THREAD, (1..=count).map(row).collect()),
    ]);
    let events: Vec<u8> = (1..=count).flat_map(|key| park([1_000 + key, key, 0, 0, 0])).collect();
    chunk(&types(), &of, &events)
}

/// Methods of a class that share a name that is long, all in one stack.
fn methods() -> Vec<u8> {
    let count = 16_000;
    let stack: Vec<u8> = (1..=count).flat_map(|key| numbers([key, 0])).collect();
    let of = constants(&[
        (SYMBOL, vec![keyed(1, &long_text()), keyed(2, &text(b"m"))]),
        (CLASS, vec![numbers([1, 1])]),
        (METHOD, (1..=count).map(|key| numbers([key, 1, 2])).collect()),
        (STACK, vec![[&numbers([1, count])[..], &stack].concat()]),
    ]);
    chunk(&types(), &of, &park([1_000, 0, 1, 0, 0]))
}

/// Threads that share a name which is told by numbers, all of which have to be gone by.
fn wide_threads() -> Vec<u8> {
    let (count, len) = (40_000, 500_000);
    let wide = [&[4][..], &numbers([len]), &vec![b'w'; len as usize]].concat();
    let row = |key: u64| [&numbers([key])[..], &[2, 1], &numbers([key])].concat();
    let of =
        constants(&[(STRING, vec![keyed(1, &wide)]), (THREAD, (1..=count).map(row).collect())]);
    let events: Vec<u8> = (1..=count).flat_map(|key| park([1_000 + key, key, 0, 0, 0])).collect();
    chunk(&types(), &of, &events)
}

/// Waits for objects of many classes, all at one stack that is as deep as can be.
fn stacks() -> Vec<u8> {
    let (depth, count) = (16_000, 20_000);
    let stack: Vec<u8> = (0..depth).flat_map(|line| numbers([1, line])).collect();
    let of = constants(&[
        (SYMBOL, vec![keyed(1, &text(b"C")), keyed(2, &text(b"m"))]),
        (CLASS, vec![numbers([1, 1])]),
        (METHOD, vec![numbers([1, 1, 2])]),
        (STACK, vec![[&numbers([1, depth])[..], &stack].concat()]),
    ]);
    let events: Vec<u8> = (0..count).flat_map(|nth| park([1_000 + nth, 0, 1, nth, 0])).collect();
    chunk(&types(), &of, &events)
}

/// Threads of just so many waits as give them a lane.
fn lanes(count: u64) -> Vec<u8> {
    let rows = (1..=count).map(|key| [&numbers([key])[..], &[1], &numbers([key])].concat());
    let of = constants(&[(THREAD, rows.collect())]);
    let waits = |key: u64| (1..=32).flat_map(move |at| event(WAIT, &numbers([at, key])));
    let events: Vec<u8> = (1..=count).flat_map(waits).collect();
    chunk(&types(), &of, &events)
}

/// Constants of three bytes, all of the same key: more than there is room for.
fn rows() -> Vec<u8> {
    chunk(&types(), &constants(&[(THREAD, vec![vec![1, 0, 1]; 300_000])]), &[])
}

/// Constants that cannot be read, again and again.
fn checkpoints() -> Vec<u8> {
    let bad = constants(&[(THREAD, vec![vec![1, 9]])]);
    chunk(&types(), &numbers([0, 0, 1, 0, 0]), &event(1, &bad).repeat(30_000))
}

/// So many of the shortest events of a kind, each with these fields.
fn events(kind: u64, fields: &[u8], count: usize) -> Vec<u8> {
    chunk(&types(), &no_constants(), &event(kind, fields).repeat(count))
}

/// Settings that matter.
fn settings() -> Vec<u8> {
    events(SETTING, &numbers([PARK]), 50_000).repeat(4)
}

/// Waits for as many objects of a class.
fn addresses() -> Vec<u8> {
    let of = constants(&[(SYMBOL, vec![keyed(1, &text(b"C"))]), (CLASS, vec![numbers([1, 1])])]);
    let events: Vec<u8> = (0..100_000).flat_map(|nth| park([1_000 + nth, 0, 0, 1, nth])).collect();
    chunk(&types(), &of, &events)
}

#[test]
fn recordings_of_flight_recorder() {
    check("jfr", || {
        vec![
            MemoryCase::new("fields of a long name", fields(60_000)),
            MemoryCase::new("fields of a long name, in many chunks", fields(60_000).repeat(4)),
            MemoryCase::new("types of the same event", kinds()),
            MemoryCase::new("texts without a byte", texts(1 << 17)),
            MemoryCase::new("texts without a byte, in many chunks", texts(1 << 17).repeat(16)),
            MemoryCase::new("more fields than are read", fields(100_000)).told("readable metadata"),
            MemoryCase::new("more texts than are read", texts(500_000)).told("readable metadata"),
            MemoryCase::new("tiny chunks", (0..4_000).flat_map(tiny).collect()),
            MemoryCase::new("tiny chunks, going back", (0..4_000).rev().flat_map(tiny).collect()),
            MemoryCase::new("threads of a long name", threads()),
            MemoryCase::new("threads of a name told by numbers", wide_threads()).told("too long"),
            MemoryCase::new("methods of a long name", methods()),
            MemoryCase::new("classes at a deep stack", stacks()).told("more frames"),
            MemoryCase::new("threads with lanes", lanes(3_000)),
            // All chunks begin at the same time.
            MemoryCase::new("threads with lanes, going back", lanes(1_024).repeat(6)),
            MemoryCase::new("constants", rows()).told("cannot be read"),
            MemoryCase::new("constants that cannot be read", checkpoints()).told("cannot be read"),
            MemoryCase::new("waits of two bytes", events(ENTER, &[], 500_000)),
            MemoryCase::new(
                "waits of two bytes, in many chunks",
                events(ENTER, &[], 20_000).repeat(32),
            ),
            MemoryCase::new("pauses of two bytes", events(PAUSE, &[], 500_000)),
            MemoryCase::new("pinned threads", events(PINNED, &[7], 300_000)),
            MemoryCase::new("settings", settings()).told("more settings"),
            MemoryCase::new("locks", addresses()),
        ]
    });
}
