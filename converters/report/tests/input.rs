//! An input of this test's own, a text of one wait a line, goes all the way:
//! registry, recording, profile, an output, the report. None of what reads it
//! knows the format.

use serde_json::{Value, json};
use std::io;
use tyrion_converters::outputs::{OutputOptions, collapsed};
use tyrion_formats::{
    Bytes, Error, Fact, INPUTS, Input, Recording, ShortWaits,
    import::Importer,
    read_with,
    wire::{WaitKind, header::Header},
    write::{LogOptions, LogWriter, Wait},
};
use tyrion_model::{aggregate::aggregate, filter::Filter};
use tyrion_report::{Report, ReportOptions, find, render::json as report_json};

/// Waits, a line each: thread, class and method that wait, class of the lock,
/// end and duration in ms.
const LINES: Input = Input {
    name: "lines",
    what: "waits, one a line",
    tells: &[Fact::Waits, Fact::Moments, Fact::Threads, Fact::Stacks, Fact::LockClasses],
    start_len: 7,
    is_it: |start| start.starts_with(b"# waits"),
    check: |_, _| Ok(()),
    read,
};

fn read(name: &str, bytes: Bytes) -> Result<Recording, Error> {
    let io = |source| Error::Io { log: name.to_owned(), source };
    let malformed = |at: usize| Error::Malformed {
        log: name.to_owned(),
        offset: at as u64,
        what: "it is not UTF-8".to_owned(),
    };
    let text = bytes.settled(0, bytes.len()).unwrap_or_default();
    let text = str::from_utf8(text).map_err(|error| malformed(error.valid_up_to()))?;
    let header = Header { threshold_ns: 1_000_000, ..LogOptions::default().header };
    let mut importer = Importer::new(LINES, name, header).map_err(io)?;
    importer.set_short_waits(ShortWaits::Unknown);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !line.starts_with('#') && !add(&mut importer, line).map_err(io)? {
            importer.add_damage(at, "no wait; the line was left out", line.len() as u64);
        }
        at += line.len() as u64;
    }
    importer.finish()
}

/// Adds the wait of a line: whether it is one.
fn add(importer: &mut Importer, line: &str) -> io::Result<bool> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [thread, class, method, lock, end_ms, wait_ms] = words[..] else { return Ok(false) };
    let (Ok(end_ms), Ok(wait_ms)) = (end_ms.parse::<u64>(), wait_ms.parse::<u64>()) else {
        return Ok(false);
    };
    let log = &mut importer.log;
    let class = log.class(class, "")?;
    let method = log.method(class, method, "", 0)?;
    let stack = log.stack(0, method, 0)?;
    let lock_class = log.class(lock, "")?;
    let lock = log.lock(lock_class)?;
    let site = log.site(WaitKind::Monitor, stack, lock)?;
    let thread = log.thread(thread.len() as u64, thread, "main", 0)?;
    let lane = log.lane(thread);
    let (end_ns, wait_ns) = (end_ms * 1_000_000, wait_ms * 1_000_000);
    log.wait(lane, Wait { end_ns, wait_ns, site, ..Wait::default() })?;
    Ok(true)
}

const TEXT: &str = "# waits
main com/acme/Cache get java/util/HashMap 10 4
worker com/acme/Cache put java/util/HashMap 30 20
main com/acme/Cache
worker com/acme/Pool take java/lang/Object 70 8
";

/// The inputs of the registry, and this one line more.
fn inputs() -> Vec<Input> {
    let mut inputs = INPUTS.to_vec();
    inputs.push(LINES);
    inputs
}

fn recording() -> Recording {
    read_with(&inputs(), "waits.txt", TEXT.as_bytes().to_vec().into()).unwrap()
}

#[test]
fn the_registry_finds_the_input_by_the_first_bytes() {
    assert_eq!(recording().facts().format, "lines");
    let log = LogWriter::new(io::Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    let log = log.finish().unwrap().into_inner();
    assert_eq!(read_with(&inputs(), "a.log", log.into()).unwrap().facts().format, "event-log");
    for (bytes, said) in [(TEXT.as_bytes(), "it seems to be text"), (b"", "the file is empty")] {
        let error = Recording::from_bytes("waits.txt", bytes.to_vec()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let error = read_with(&inputs(), "waits.txt", b"# waits\n\xff".to_vec().into()).unwrap_err();
    assert!(error.to_string().contains("offset 0x8: it is not UTF-8"), "{error}");
}

#[test]
fn its_waits_are_in_outputs() {
    let aggregate = aggregate(&[recording()], &Filter::default(), &|_| {});
    assert_eq!(aggregate.profile.check(), Ok(()));
    assert_eq!(aggregate.profile.totals(), (3, 32_000_000));
    let [damage] = &aggregate.damage[..] else { panic!("{:?}", aggregate.damage) };
    let said = "waits.txt: offset 0x69: no wait; the line was left out";
    assert_eq!((damage.to_string().as_str(), damage.skipped), (said, 20));
    let notes = aggregate.notes.lines();
    assert_eq!(
        notes,
        ["waits shorter than 1 ms were not recorded, not even summed: totals lack them"]
    );
    let mut out = Vec::new();
    collapsed::stream(&aggregate.profile, &OutputOptions::default(), &mut out).unwrap();
    let mut lines: Vec<_> = str::from_utf8(&out).unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "com.acme.Cache.get;[monitor] java.util.HashMap 4000000",
            "com.acme.Cache.put;[monitor] java.util.HashMap 20000000",
            "com.acme.Pool.take;[monitor] java.lang.Object 8000000",
        ]
    );
}

#[test]
fn its_waits_are_in_the_report() {
    let (recordings, options) = ([recording()], ReportOptions::default());
    let filter = Filter::default();
    let findings = find(&recordings, &filter, &options, &|_| {});
    let report = Report::new("1.2.3", &findings, &options, &[]);
    assert_eq!((report.notes.len(), report.damage.len()), (1, 1));
    let answers: Value = serde_json::from_str(&report_json::write(&report)).unwrap();
    let locks = answers["sections"]["contended"]["locks"].as_array().unwrap();
    let lock = |lock: &Value| (lock["lock"]["class"].clone(), lock["contended"].clone());
    assert_eq!(
        locks.iter().map(lock).collect::<Vec<_>>(),
        [(json!("java.util.HashMap"), json!(2)), (json!("java.lang.Object"), json!(1))]
    );
    // The first pass and the second one agree.
    let timeline: u64 = findings.timelines.all.iter().sum();
    assert_eq!((timeline, findings.distributions.all().count()), (32_000_000, 3));
}
