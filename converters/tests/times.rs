//! The outputs of single waits say the same as the sums do, in the same bytes however many
//! workers there are and however many waits are in memory at a time.

use crate::support::{
    jfr,
    timed::{self, AggregatedLogs, all_kinds},
    times::{self, WaitByName},
};
use proptest::prelude::*;
use std::{collections::BTreeMap, io};
use tyrion_converters::outputs::{FORMATS, Format, OutputOptions, Stream, by_name};
use tyrion_formats::Recording;
use tyrion_model::{
    filter::{Filter, Kinds},
    timeline::AT_A_TIME,
};

/// The formats that are made of a timeline.
fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| matches!(format.stream, Stream::Times(_)))
}

/// What a file says. A format that nothing reads here is an error.
fn read(format: &Format, bytes: &[u8]) -> WaitByName {
    match format.name {
        "speedscope" => times::speedscope(bytes),
        "firefox" => times::firefox(bytes),
        "perfetto" => times::perfetto(bytes),
        "jfr" => {
            let read = Recording::from_bytes("it.jfr", bytes.to_vec()).unwrap();
            assert_eq!(read.damage(), []);
            expected(&AggregatedLogs::new(vec![read], all_kinds()))
        }
        unknown => panic!("no test reads {unknown}: add what it sums up to"),
    }
}

/// What the profile says.
fn expected(read: &AggregatedLogs) -> WaitByName {
    let profile = &read.aggregate.profile;
    let mut waited = WaitByName::new();
    for row in &profile.waits {
        *waited.entry(profile.thread_name(row.thread)).or_default() += row.wait_ns;
    }
    waited.retain(|_, sum| *sum != 0);
    waited
}

fn text(format: &Format, bytes: &[u8]) -> String {
    let text = match format.name {
        "firefox" => times::firefox_json(bytes),
        "perfetto" => times::perfetto_text(bytes),
        "jfr" => jfr::text(bytes),
        _ => String::from_utf8(bytes.to_vec()).unwrap(),
    };
    let text = text.replace(",{\"type\":\"", ",\n{\"type\":\"");
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

pub fn frozen(name: &str) -> Recording {
    let path = format!("{}/../testdata/logs/{name}", env!("CARGO_MANIFEST_DIR"));
    Recording::from_bytes(name, std::fs::read(path).unwrap()).unwrap()
}

/// Logs with their names, and filters.
fn logs() -> Vec<(&'static str, AggregatedLogs)> {
    let of = |log: &str| AggregatedLogs::new(vec![frozen(log)], all_kinds());
    vec![
        ("small", of("v1-small.log")),
        ("each-kind", AggregatedLogs::new(vec![timed::each_kind()], all_kinds())),
        ("holds", of("v1-holds.log")),
        ("wakers", of("v1-wakers.log")),
        ("lone-sample", of("v1-sample.log")),
        ("teller", AggregatedLogs::new(vec![timed::bank()], all_kinds())),
        ("two-recordings", AggregatedLogs::new(vec![timed::shop(), timed::bank()], all_kinds())),
        ("nothing", AggregatedLogs::new(Vec::new(), Filter::default())),
        ("without-ids", AggregatedLogs::new(vec![without_ids()], all_kinds())),
    ]
}

/// Sums of two threads that have names, and no ids.
fn without_ids() -> Recording {
    let lines = "[a];com.acme.Foo.bar;[monitor] com.acme.Foo 70\n\
                 [b];com.acme.Foo.bar;[monitor] com.acme.Foo 30\n";
    Recording::from_bytes("profile", lines.into()).unwrap()
}

/// The logs that golden files show. Of holds, Perfetto alone tells: others have no waits.
const SHOWN: [(&str, &[&str]); 7] = [
    ("each-kind", &["firefox", "jfr", "perfetto", "speedscope"]),
    ("teller", &["firefox", "jfr", "perfetto", "speedscope"]),
    ("two-recordings", &["firefox", "jfr", "perfetto", "speedscope"]),
    ("nothing", &["firefox", "jfr", "perfetto", "speedscope"]),
    ("without-ids", &["firefox", "perfetto", "speedscope"]),
    ("holds", &["jfr", "perfetto", "speedscope"]),
    ("lone-sample", &["jfr"]),
];

/// The golden files.
pub fn golden() -> BTreeMap<String, String> {
    let logs: BTreeMap<&str, AggregatedLogs> = logs().into_iter().collect();
    let plain = OutputOptions::default();
    let made = |log: &str, format: &Format, options: &OutputOptions| {
        text(format, &logs[log].written(format, options))
    };
    let schema = {
        let nothing = made("nothing", by_name("firefox").unwrap(), &plain);
        schema(&nothing).to_owned()
    };
    let mut files = BTreeMap::new();
    for (name, formats) in SHOWN {
        for format in formats.iter().map(|format| by_name(format).unwrap()) {
            let mut made = made(name, format, &plain);
            if name != "nothing" {
                made = made.replace(&schema, SCHEMA);
            }
            files.insert(format!("{name}.{}.txt", format.name), made);
        }
    }
    for format in formats() {
        let bare = OutputOptions { lock_frame: false, ..OutputOptions::default() };
        let named = OutputOptions { lock_identity: true, ..OutputOptions::default() };
        for (variant, options) in [("no-lock-frame", bare), ("lock-identity", named)] {
            let made = made("teller", format, &options).replace(&schema, SCHEMA);
            if made != files[&format!("teller.{}.txt", format.name)] {
                files.insert(format!("teller.{}.{variant}.txt", format.name), made);
            }
        }
    }
    files
}

/// What stands in golden files in place of the schema of markers, which is the same in all.
const SCHEMA: &str = "\"markerSchema\": as in nothing.firefox.txt,\n";

/// How the Firefox Profiler is to show markers.
fn schema(firefox: &str) -> &str {
    let begin = firefox.find("\"markerSchema\":").unwrap();
    &firefox[begin..firefox.find("\"extra\":").unwrap()]
}

#[test]
fn sums_are_those_of_the_profile() {
    for (name, logs) in logs() {
        for format in formats() {
            for options in [
                OutputOptions::default(),
                OutputOptions { lock_frame: false, ..OutputOptions::default() },
                OutputOptions { lock_identity: true, ..OutputOptions::default() },
            ] {
                let waited = read(format, &logs.written(format, &options));
                assert_eq!(waited, expected(&logs), "{name} {}", format.name);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_logs_are_told_whole((bytes, filter) in timed::logs(), at_a_time in 1usize..40) {
        let names = ["a.log", "b.log"];
        let logs = names.iter().zip(&bytes);
        let logs = logs.map(|(name, bytes)| Recording::from_bytes(name, bytes.clone()).unwrap());
        let logs = AggregatedLogs::new(logs.collect(), filter);
        for format in formats() {
            let options = OutputOptions::default();
            let bytes = logs.written(format, &options);
            prop_assert_eq!(read(format, &bytes), expected(&logs), "{}", format.name);
            // Where a lock's owner had taken it may be told less often.
            let few = logs.written_with(format, &options, at_a_time);
            if format.name == "perfetto" {
                prop_assert_eq!(read(format, &few), expected(&logs), "{}", format.name);
            } else {
                prop_assert!(few == bytes, "{}: {} at a time", format.name, at_a_time);
            }
        }
    }
}

#[test]
fn any_number_of_workers_writes_the_same() {
    let logs = AggregatedLogs::new(vec![timed::bank(), timed::shop()], all_kinds());
    for format in formats() {
        let [one, three] = [1, 3].map(|workers| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            pool.install(|| logs.written(format, &OutputOptions::default()))
        });
        assert!(one == three, "{}", format.name);
    }
}

#[test]
fn filters_choose_what_is_told() {
    let kinds = Filter { kinds: Kinds::contention(), ..Filter::default() };
    let thread = regex::Regex::new("^teller-2$").unwrap();
    let lock = regex::Regex::new("Bank").unwrap();
    for filter in [
        kinds.clone(),
        Filter { thread: Some(thread), ..all_kinds() },
        Filter { lock: Some(lock), ..all_kinds() },
        Filter { min_wait_ns: 85_000, ..all_kinds() },
    ] {
        let logs = AggregatedLogs::new(vec![timed::bank()], filter);
        assert!(!expected(&logs).is_empty());
        for format in formats() {
            let waited = read(format, &logs.written(format, &OutputOptions::default()));
            assert_eq!(waited, expected(&logs), "{}", format.name);
        }
    }
}

#[test]
fn slices_are_named_as_androids_runtime_does() {
    let logs = AggregatedLogs::new(vec![timed::bank()], all_kinds());
    let format = by_name("perfetto").unwrap();
    let text = times::perfetto_text(&logs.written(format, &OutputOptions::default()));
    let pay = "com.acme.Receipt com.acme.Bank.pay(java.lang.String, long)(Bank.java:23)";
    // Only of the second wait it is known where the owner had taken the lock.
    for (place, waiters) in [("[unknown] [unknown]()(:-1)", 0), (pay, 1)] {
        let name = format!(
            "begin monitor contention with owner teller-2 (12) at {place} waiters={waiters} \
             blocking from {pay} <contention>"
        );
        assert!(text.contains(&name), "{name}:\n{text}");
    }
    for part in [
        "owner teller [1] (11) at ",
        "begin Bank.vault#1_lock_held <hold>",
        "instant release Bank.vault#1 <hold> ->1",
        "begin java.util.concurrent.locks.ReentrantLock [condition] <wait>",
        "instant wake java.util.concurrent.locks.ReentrantLock#2 <hold> ->2",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn notes_tell_of_waits_without_times() {
    let logs = AggregatedLogs::new(vec![timed::bank()], all_kinds());
    let notes = logs.timeline(AT_A_TIME).notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("without times: 107 waits (428 µs)"), "{}", notes[0]);
    let logs = AggregatedLogs::new(vec![timed::shop()], all_kinds());
    assert_eq!(logs.timeline(AT_A_TIME).notes(), [""; 0]);
}

/// A reader that goes away.
struct ClosedReader(usize);

impl io::Write for ClosedReader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.0);
        self.0 -= len;
        if len == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(len) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_writing_fails_with_is_told() {
    let logs = AggregatedLogs::new(vec![timed::bank()], all_kinds());
    for format in formats() {
        let Stream::Times(stream) = format.stream else { panic!("{}", format.name) };
        let timeline = logs.timeline(AT_A_TIME);
        let error =
            stream(&timeline, &OutputOptions::default(), &mut ClosedReader(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{}", format.name);
    }
}
