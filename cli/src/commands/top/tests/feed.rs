//! Recordings that rotate, and end.

use super::*;
use crate::commands::top::{feed::Feed, look::Look};
use std::path::PathBuf;
use tyrion_formats::wire::slot::Tally;

/// A file of a recording that rotates, with one wait of its own.
fn volume(number: u32, state: State, recording: &str) -> Vec<u8> {
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
    (Feed::open(path, |_| Begin::Start).unwrap(), Window::whole(0, 10 * S))
}

fn counted(feed: &Feed, window: &Window) -> (u64, usize) {
    let (sums, logs) = (window.sums(), feed.logs());
    let frame = frame::frame(Seen { sums: &sums, logs: &logs, pending: &[] }, &contention());
    (frame.total.waits, frame.threads.len())
}

#[test]
fn a_log_that_rotates_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(path(name), bytes).unwrap();
    let rename = |from: &str, to: &str| std::fs::rename(path(from), path(to)).unwrap();
    write("a.log", volume(3, State::Closed, "this"));
    // Of another recording, an earlier one, prepared, and no log at all.
    write("a.log.9", volume(9, State::Closed, "other"));
    write("a.log.2", volume(2, State::Closed, "this"));
    write("a.log.next", volume(5, State::Recording, "this"));
    write("a.log.77", b"notes".to_vec());
    let (mut feed, mut window) = feed(&path("a.log"));
    feed.read_on(S, &mut window).unwrap();
    assert_eq!((counted(&feed, &window), feed.life()), ((1, 1), Life::Closed));
    // The moment within a switch when nobody has the name.
    rename("a.log", "a.log.3");
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window).0, 1);
    // Three switches between two looks.
    write("a.log.4", volume(4, State::Closed, "this"));
    write("a.log.10", volume(5, State::Closed, "this"));
    write("a.log", volume(6, State::Closed, "this"));
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window), (4, 1), "the same thread in all");
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window), (4, 1), "once");
    assert_eq!(feed.logs().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [3, 4, 5, 6]);
    // Another recording of this name is another one.
    std::fs::remove_file(path("a.log")).unwrap();
    write("a.log", volume(0, State::Recording, "new"));
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(counted(&feed, &window), (4, 1));
}

#[test]
fn what_has_become_of_a_recording_is_told() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&volume(0, State::Recording, "this")).unwrap();
    let (mut feed, mut window) = feed(file.path());
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(feed.life(), Life::Killed, "nobody has it locked");
    let writer = std::fs::File::open(file.path()).unwrap();
    writer.lock().unwrap();
    feed.read_on(S, &mut window).unwrap();
    assert_eq!(feed.life(), Life::Recording);
    assert!(Feed::open(Path::new("/dev/null"), |_| Begin::Start).is_err());
}

#[test]
fn all_of_an_ended_log_is_shown() {
    for name in ["v1-small.log", "v1-trace.log"] {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/logs")).join(name);
        let look = Look::open(&path, 5 * S, 5 * S).unwrap();
        assert!(look.life().has_ended() && look.window_ns().is_none());
        let frame = look.frame(&all());
        let log = tyrion_formats::Log::open(&path).unwrap();
        let (contention, other) = log.tallies();
        let kept = |tally: Tally| tally.recorded + tally.folded;
        assert_eq!(frame.total.waits, kept(contention) + kept(other), "{name}");
        assert_eq!(frame.window_ns, log.end_ns() - log.start_ns());
        assert!(look.status().note.is_some());
    }
}
