//! Recordings that rotate, and end.

use super::*;
use crate::{commands::top::look::LiveView, live::feed::Feed, logs::Here};
use std::{path::PathBuf, rc::Rc};
use tyrion_formats::wire::slot::Tally;

/// A file of a recording that rotates, with one wait of its own.
fn volume(number: u32, state: RecordingState, recording: &str) -> Vec<u8> {
    let number = number.to_string();
    let metadata = [("recording", recording), ("file-number", number.as_str())];
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options(state, &metadata)).unwrap();
    // Ids that mean something else in each file.
    for nth in 0..number.parse::<u64>().unwrap() {
        log.thread(100 + nth, "other", "main", 0).unwrap();
    }
    let class = log.class("A", "A.java").unwrap();
    let method = log.method(class, "a", "()V", 1).unwrap();
    let stack = log.stack(0, method, 2).unwrap();
    let lock = log.lock(class).unwrap();
    let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
    let thread = log.thread(1, "worker", "main", 0).unwrap();
    let lane = log.lane(thread);
    waits(&mut log, lane, site, &[(S, MS, 0)]);
    log.finish().unwrap().into_inner()
}

fn feed(path: &Path) -> (Feed, Window) {
    (Feed::open("top", Rc::new(Here), path, |_| Begin::Start).unwrap(), Window::whole(0, 10 * S))
}

fn counted(feed: &Feed, window: &Window) -> (u64, usize) {
    let (sums, logs) = (window.sums(), feed.logs());
    let telling = TellingClasses::default();
    let seen = FrameSource { sums: &sums, logs: &logs, pending: &[], telling: &telling };
    let frame = frame::frame(seen, &contention());
    (frame.total.waits, frame.threads.len())
}

#[test]
fn a_log_that_rotates_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(path(name), bytes).unwrap();
    let rename = |from: &str, to: &str| std::fs::rename(path(from), path(to)).unwrap();
    write("a.log", volume(3, RecordingState::Closed, "this"));
    // Of another recording, an earlier one, prepared, and no log at all.
    write("a.log.9", volume(9, RecordingState::Closed, "other"));
    write("a.log.2", volume(2, RecordingState::Closed, "this"));
    write("a.log.next", volume(5, RecordingState::Recording, "this"));
    write("a.log.77", b"notes".to_vec());
    let (mut feed, mut window) = feed(&path("a.log"));
    feed.read_on(S, &mut window).unwrap();
    assert_eq!((counted(&feed, &window), feed.life()), ((1, 1), Life::Closed));
    // The moment within a switch when nobody has the name.
    rename("a.log", "a.log.3");
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window).0, 1);
    // Three switches between two looks.
    write("a.log.4", volume(4, RecordingState::Closed, "this"));
    write("a.log.10", volume(5, RecordingState::Closed, "this"));
    write("a.log", volume(6, RecordingState::Closed, "this"));
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window), (4, 1), "the same thread in all");
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window), (4, 1), "once");
    assert_eq!(feed.logs().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [3, 4, 5, 6]);
    // Another recording of this name is another one.
    std::fs::remove_file(path("a.log")).unwrap();
    write("a.log", volume(0, RecordingState::Recording, "new"));
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window), (4, 1));
}

#[test]
fn what_has_become_of_a_recording_is_told() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&volume(0, RecordingState::Recording, "this")).unwrap();
    let (mut feed, mut window) = feed(file.path());
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(feed.life(), Life::Killed, "nobody has it locked");
    let writer = std::fs::File::open(file.path()).unwrap();
    writer.lock().unwrap();
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(feed.life(), Life::Recording);
    assert!(Feed::open("top", Rc::new(Here), Path::new("/dev/null"), |_| Begin::Start).is_err());
}

#[test]
fn all_of_an_ended_log_is_shown() {
    for name in ["v1-small.log", "v1-trace.log"] {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/logs")).join(name);
        let look = LiveView::open(Rc::new(Here), &path, 5 * S, Some(5 * S)).unwrap();
        assert!(look.life().has_ended() && look.window_ns().is_none());
        let frame = look.frame(&all());
        let log = tyrion_formats::Recording::open(&path).unwrap();
        let (contention, other) = log.tallies();
        let kept = |tally: Tally| tally.recorded + tally.folded;
        assert_eq!(frame.total.waits, kept(contention) + kept(other), "{name}");
        assert_eq!(frame.window_ns, log.end_ns() - log.start_ns());
        assert!(look.status().note.is_some());
    }
}

#[test]
fn one_file_of_several_is_not_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let look = LiveView::open(Rc::new(Here), &path, 5 * S, Some(5 * S)).unwrap();
        let status = look.status();
        let text = once::text(&look.frame(&contention()), &status, 0);
        let json = once::json(&look.frame(&contention()), &status, 0).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let span = text.lines().nth(1).unwrap().split(" 0").next().unwrap().to_owned();
        assert_eq!(json["whole"] == true, status.span == Coverage::Recording);
        (status.span, span, status.note.unwrap())
    };
    let closed = |number| volume(number, RecordingState::Closed, "this");
    let (span, _, note) = write("a.log", closed(0));
    assert_eq!(span, Coverage::Recording, "it has not come to a second file");
    assert!(note.starts_with("The JVM has ended; this is its recording "), "{note}");
    for (name, number) in [("a.log", 3), ("a.log.0", 0), ("a.log.7", 7)] {
        let (span, text, note) = write(name, closed(number));
        assert_eq!(span, Coverage::File, "{name}");
        assert!(text.starts_with("all of this file, "), "{text}");
        assert!(note.starts_with("The file has ended; its recording has more files "), "{note}");
    }
    // Never to rotate, whatever it is called.
    let plain =
        LogWriter::new(Cursor::new(Vec::new()), options(RecordingState::Closed, &[])).unwrap();
    let (span, text, _) = write("b.log.1", plain.finish().unwrap().into_inner());
    assert_eq!(span, Coverage::Recording);
    assert!(text.starts_with("all of ") && !text.contains("file"), "{text}");
}

#[test]
fn a_program_gives_no_orders_to_the_terminal() {
    let metadata = [("program", "a\x1b[31mb\nc")];
    let log = LogWriter::new(Cursor::new(Vec::new()), options(RecordingState::Closed, &metadata))
        .unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&log.finish().unwrap().into_inner()).unwrap();
    let look = LiveView::open(Rc::new(Here), file.path(), 5 * S, Some(5 * S)).unwrap();
    let status = look.status();
    assert_eq!(status.program, "a\x1b[31mb\nc", "JSON has it as it is");
    let text = once::text(&look.frame(&contention()), &status, 0);
    assert_eq!(status.what().split("  pid").next(), Some("a_[31mb_c"));
    assert!(text.starts_with("a_[31mb_c  pid ") && !text.contains('\x1b'), "{text:?}");
}
