//! Makes recordings.

use super::{
    super::{MAGIC, chunk::HEADER_LEN, scan::tests::put},
    types::*,
};

/// What a chunk is made of.
pub(super) struct ChunkMaker {
    pub(super) bytes: Vec<u8>,
    pub(super) start_ns: u64,
    /// What the second thread is called.
    pub(super) second: &'static str,
}

impl ChunkMaker {
    pub(super) fn new(start_ns: u64) -> ChunkMaker {
        ChunkMaker { bytes: vec![0; HEADER_LEN], start_ns, second: "worker" }
    }

    /// Adds an event: where it stands.
    pub(super) fn event(&mut self, kind: u64, fields: &[u8]) -> usize {
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

    pub(super) fn numbers(&mut self, kind: u64, numbers: &[u64]) -> usize {
        let mut fields = Vec::new();
        numbers.iter().for_each(|&number| put(number, &mut fields));
        self.event(kind, &fields)
    }

    /// A wait for the monitor of a `Foo`: when it began, how long it took, whose it
    /// is, and who had the monitor.
    pub(super) fn enter(&mut self, start: u64, duration: u64, thread: u64, owner: u64) {
        self.numbers(ENTER, &[start, duration, thread, 1, 1, owner, 0xbeef]);
    }

    /// A park at a stack for an object of a class, with a limit.
    pub(super) fn park(
        &mut self,
        (start, duration): (u64, u64),
        stack: u64,
        class: u64,
        timeout: i64,
    ) {
        let mut fields = Vec::new();
        put(0x1234, &mut fields);
        fields.extend([0xff; 4]);
        for number in [start, duration, stack, class, 1, timeout as u64] {
            put(number, &mut fields);
        }
        self.event(PARK, &fields);
    }

    pub(super) fn setting(&mut self, of: u64, name: &str, value: &str) {
        let mut fields = Vec::new();
        [1_000, of].into_iter().for_each(|number| put(number, &mut fields));
        [name, value].into_iter().for_each(|it| text(it, &mut fields));
        self.event(SETTING, &fields);
    }

    /// The chunk, with metadata and constants.
    pub(super) fn finish(mut self) -> Vec<u8> {
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

pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    out.push(3);
    put(text.len() as u64, out);
    out.extend(text.as_bytes());
}

/// Symbols 1 to 7, classes 1 to 4, methods 1 to 3, stacks 1 and 2, threads 1 and 2, states
/// 1 and 2, and a group.
pub(super) fn constants(second: &str) -> Vec<u8> {
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
pub(super) fn texts(kind: u64, of: &[&str], out: &mut Vec<u8>) {
    put(kind, out);
    put(of.len() as u64, out);
    for (it, key) in of.iter().zip(1..) {
        put(key, out);
        text(it, out);
    }
}

/// The tree of elements: `root` has `metadata` has the types.
pub(super) fn metadata() -> Vec<u8> {
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
