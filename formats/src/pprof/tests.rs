//! Profiles made by hand.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    Hints,
    summed::testing::{lines, total},
};
use flate2::{Compression, write::GzEncoder};
use std::{collections::HashMap, io::Write};
use tyrion_wire::varint;

/// A message.
#[derive(Clone, Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u64, value: u64) -> Message {
        varint::put(&mut self.0, field << 3);
        varint::put(&mut self.0, value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        varint::put(&mut self.0, field << 3 | 2);
        varint::put(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn message(self, field: u64, message: Message) -> Message {
        self.bytes(field, &message.0)
    }

    fn packed(self, field: u64, numbers: &[u64]) -> Message {
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| varint::put(&mut bytes, number));
        self.bytes(field, &bytes)
    }
}

/// Makes a profile; texts come last, as most writers have it.
struct ProfileMaker {
    profile: Message,
    texts: Vec<String>,
    known: HashMap<String, u64>,
    locations: u64,
}

impl ProfileMaker {
    fn new(types: &[(&str, &str)]) -> ProfileMaker {
        let mut maker = ProfileMaker {
            profile: Message::default(),
            texts: Vec::new(),
            known: HashMap::new(),
            locations: 0,
        };
        maker.text("");
        for (name, unit) in types {
            let (name, unit) = (maker.text(name), maker.text(unit));
            maker.add(1, Message::default().number(1, name).number(2, unit));
        }
        maker
    }

    fn add(&mut self, field: u64, message: Message) {
        self.profile = std::mem::take(&mut self.profile).message(field, message);
    }

    fn text(&mut self, text: &str) -> u64 {
        let next = self.texts.len() as u64;
        let number = *self.known.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.texts.push(text.to_owned());
        }
        number
    }

    /// A location of functions, each with its name, file and line; the innermost first.
    fn location(&mut self, functions: &[(&str, &str, u64)]) -> u64 {
        self.locations += 1;
        let mut location = Message::default().number(1, self.locations);
        for (nth, (name, file, line)) in (1..).zip(functions) {
            let id = self.locations * 100 + nth;
            let (name, file) = (self.text(name), self.text(file));
            self.add(5, Message::default().number(1, id).number(2, name).number(4, file));
            location = location.message(4, Message::default().number(1, id).number(2, *line));
        }
        self.add(4, location);
        self.locations
    }

    fn sample(&mut self, locations: &[u64], values: &[u64], labels: &[(&str, &str)]) {
        let mut sample = Message::default().packed(1, locations).packed(2, values);
        for (key, value) in labels {
            let (key, value) = (self.text(key), self.text(value));
            sample = sample.message(3, Message::default().number(1, key).number(2, value));
        }
        self.add(2, sample);
    }

    fn finish(mut self) -> Vec<u8> {
        for text in std::mem::take(&mut self.texts) {
            self.profile = std::mem::take(&mut self.profile).bytes(6, text.as_bytes());
        }
        self.profile.number(9, 1_700_000_000_000_000_000).number(10, 5_000).0
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read(bytes: &[u8], sample_type: Option<&str>) -> Result<Recording, Error> {
    let hints = Hints { sample_type: sample_type.map(str::to_owned), ..Hints::default() };
    match bytes.starts_with(b"\x1f\x8b") {
        true => Recording::from_reader_as("it", bytes, &hints),
        false => super::read("it", Bytes::from(bytes.to_vec()).with_hints(hints)),
    }
}

const GO: [(&str, &str); 2] = [("contentions", "count"), ("delay", "nanoseconds")];

fn go() -> Vec<u8> {
    let mut maker = ProfileMaker::new(&GO);
    let lock = maker.location(&[("sync.(*Mutex).Lock", "/go/src/sync/mutex.go", 90)]);
    let main =
        maker.location(&[("main.inlined", "/app/main.go", 7), ("main.main", "/app/main.go", 9)]);
    let chan = maker.location(&[("runtime.chanrecv1", "/go/src/runtime/chan.s", 1)]);
    maker.sample(&[lock, main], &[3, 900], &[]);
    maker.sample(&[chan, main], &[1, 50], &[]);
    maker.sample(&[main], &[0, 0], &[]);
    maker.finish()
}

#[test]
fn profiles_of_go_are_read_packed_or_not() {
    let plain = go();
    for bytes in [plain.clone(), gzip(&plain)] {
        let log = read(&bytes, None).unwrap();
        let stack = "|main.main:9 |main.inlined:7";
        assert_eq!(
            lines(&log),
            [
                format!("unknown thread lock () 3 900 {stack} |sync.(*Mutex).Lock:90"),
                format!("unknown thread park () 1 50 {stack} |runtime.chanrecv1:1"),
            ]
        );
        assert_eq!(log.facts().lacks.names(), ["times", "single-waits", "threads"]);
        assert_eq!(log.facts().metadata("values"), Some("contentions/count, delay/nanoseconds"));
        assert_eq!(log.facts().start_wall_ns, 1_700_000_000_000_000_000);
        assert_eq!((log.recorded_ns(), log.damage()), (5_000, &[][..]));
    }
    assert!(is_profile(&plain[..plain.len().min(START_LEN)]));
    for bytes in [plain.clone(), gzip(&plain)] {
        assert_eq!(total(&read(&bytes, Some("contentions")).unwrap()), (4, 0));
        let error = read(&bytes, Some("cpu")).unwrap_err().to_string();
        assert!(error.contains("contentions/count, delay/nanoseconds"), "{error}");
    }
}

#[test]
fn labels_tell_thread_and_lock() {
    let mut maker = ProfileMaker::new(&GO);
    let lock = maker.location(&[("[monitor] com.acme.Foo", "", 0)]);
    let bar = maker.location(&[("com.acme.Foo.bar", "com/acme/Foo.java", 12)]);
    let labels = [("thread", "w 1"), ("lock", "Foo.lock (com.acme.Foo#3)"), ("kind", "monitor")];
    maker.sample(&[lock, bar], &[2, 40], &labels);
    maker.sample(&[bar], &[1, 10], &[("lock_class", "int[]"), ("kind", "lock-write")]);
    let log = read(&maker.finish(), None).unwrap();
    assert_eq!(
        lines(&log),
        [
            "w 1 monitor com/acme/Foo(Foo.lock) 2 40 com/acme/Foo|bar:12",
            "unknown thread lock-write int[]() 1 10 com/acme/Foo|bar:12",
        ]
    );
    let sources = log.definitions().classes().iter().map(|(_, class)| log.text(class.source));
    assert!(sources.map(|it| it.into_owned()).any(|source| source == "Foo.java"));
}

#[test]
fn profiles_of_jfrconv_begin_with_the_class() {
    let mut maker = ProfileMaker::new(&[("locks", "nanoseconds")]);
    let comment = maker.text("Produced by async-profiler");
    maker.profile = std::mem::take(&mut maker.profile).number(13, comment);
    let class = maker.location(&[("java.util.HashMap", "", 0)]);
    let bar = maker.location(&[("com/acme/Foo.bar", "", 12)]);
    maker.sample(&[class, bar], &[70], &[("thread", "[main tid=9]")]);
    let log = read(&maker.finish(), None).unwrap();
    assert_eq!(lines(&log), ["main monitor java/util/HashMap() 1 70 com/acme/Foo|bar:12"]);
    assert_eq!(log.facts().lacks.names(), ["times", "single-waits", "counts"]);
}

#[test]
fn what_is_damaged_is_told() {
    let mut maker = ProfileMaker::new(&GO);
    let bar = maker.location(&[("com.acme.Foo.bar", "", 12)]);
    maker.sample(&[bar, 99], &[1, 10], &[]);
    maker.sample(&[bar], &[1, (-10i64) as u64], &[]);
    let mut bytes = maker.finish();
    let whole = bytes.len() as u64;
    bytes.push(0x12);
    let log = read(&bytes, None).unwrap();
    assert_eq!(lines(&log), ["unknown thread lock () 1 10 [unknown] com/acme/Foo|bar:12"]);
    let told: Vec<String> = log.damage().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|it| it.contains("no sum of waits")), "{told:?}");
    assert!(told.iter().any(|it| it.contains(&format!("offset {whole:#x}"))), "{told:?}");
    let error = read(&bytes[..40], None).unwrap_err().to_string();
    assert!(error.contains("before the names"), "{error}");
}

#[test]
fn other_bytes_are_no_profiles() {
    for bytes in
        [&b""[..], b"\n", b"\nfoo bar", b"{}", b"\x1f\x8b\x08", b"com.acme;a 1\n", b"2\x01a"]
    {
        assert!(!is_profile(bytes), "{bytes:?}");
    }
    // Go writes the type of the period first.
    let period = Message::default().number(1, 1).number(2, 2);
    assert!(is_profile(&Message::default().message(11, period).number(12, 1).0));
}

/// A location takes a byte in a sample, and stands for many functions.
#[test]
fn stacks_have_so_many_frames_in_all() {
    let mut maker = ProfileMaker::new(&GO);
    let functions = vec![("f", "f.go", 1); 2_000];
    let deep = maker.location(&functions);
    let leaves: Vec<u64> = (0..700).map(|at| maker.location(&[("g", "g.go", at)])).collect();
    for &leaf in &leaves {
        // What differs is outermost, so that no two have a frame in common.
        maker.sample(&[deep, leaf], &[1, 10], &[]);
    }
    let profile = maker.finish();
    let most = crate::limits::stack_frames(profile.len());
    assert!(most < 700 * 2_000, "{most}");
    let log = read(&profile, None).unwrap();
    assert!(log.definitions().stacks().len() <= most + 2 * 700);
    assert_eq!(total(&log), (700, 7_000), "no wait is lost");
}

#[test]
fn types_of_values_are_so_many_at_most() {
    let types = vec![("contentions", "count"); 10_000];
    let mut maker = ProfileMaker::new(&types);
    let leaf = maker.location(&[("g", "g.go", 1)]);
    maker.sample(&[leaf], &[3], &[]);
    let profile = maker.finish();
    assert_eq!(Tables::read(&profile).types().len(), crate::limits::MAX_SAMPLE_TYPES);
    assert_eq!(total(&read(&profile, None).unwrap()), (3, 0));
}
