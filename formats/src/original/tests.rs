//! Whole logs.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{Entry, Event, Note};

/// A line: what, whose, of which lock, when in µs.
fn line(what: &str, thread: u64, hash: u32, at_us: u64) -> String {
    let ns = 1_397_636_359_000_000_000 + at_us * 1_000;
    let millis = ns / 1_000_000;
    format!(
        "{{\"{what}\":{{\"accessor\":{{\"id\":{thread},\"name\":\"worker-{thread}\"}},\
         \"target\":{{\"hashcode\":{hash},\"className\":\"com.acme.Foo\"}},\
         \"time\":{{\"millis\":{millis},\"nanos\":{ns}}}}}}}\n"
    )
}

/// An acquisition: from when on a thread asks, has, and has no longer the lock.
fn taken(thread: u64, hash: u32, [ask, enter, exit]: [u64; 3]) -> String {
    let lines = [("entering", ask), ("enter", enter), ("exit", exit)];
    lines.map(|(what, at)| line(what, thread, hash, at)).concat()
}

fn read(text: &str) -> Recording {
    super::read("it", Bytes::from(text.as_bytes().to_vec())).unwrap()
}

fn entries(log: &Recording) -> (Vec<Event>, Vec<String>) {
    let (mut waits, mut others) = (Vec::new(), Vec::new());
    for chunk in log.event_chunks() {
        let mut events = log.events(chunk).unwrap();
        events.visit_all(|entry| match entry {
            Entry::Wait(wait) => waits.push(wait),
            Entry::Note(traced) => others.push(match traced.record {
                Note::Hold(hold) => format!("hold {} {}", hold.hash, hold.hold_ns),
                Note::Instance(it) => format!("takes {} {}", it.hash, it.shared),
                Note::Blame(blame) => format!("blame {}", blame.charged_ns),
                Note::Nest(nest) => {
                    format!("nest {} in {}", nest.inner.hash, nest.outer.len())
                }
                other => panic!("{other:?}"),
            }),
        });
        assert_eq!(events.damage(), None);
    }
    (waits, others)
}

#[test]
fn waits_and_holds_are_found() {
    let text = taken(1, 7, [10, 11, 50]) + &taken(2, 7, [20, 52, 60]) + &taken(2, 8, [70, 71, 72]);
    let log = read(&text);
    let (waits, others) = entries(&log);
    let [wait] = waits[..] else { panic!("{waits:?}") };
    assert_eq!((wait.wait_ns(), wait.owner), (32_000, 1));
    assert_eq!(log.text(log.definitions().threads().get(wait.thread).unwrap().name), "worker-2");
    let mut others = others;
    others.sort_unstable();
    assert_eq!(
        others,
        [
            "blame 30000",
            "hold 7 39000",
            "hold 7 8000",
            "hold 8 1000",
            "takes 7 false",
            "takes 7 true",
            "takes 8 false",
        ]
    );
    let cells = log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk));
    let sums: Vec<(u64, u64)> = cells.map(|cell| (cell.acquisitions, cell.sampled_ns)).collect();
    assert_eq!(sums, [(1, 39_000), (2, 9_000)]);
    assert!(log.is_trace() && log.has_every_event());
    assert_eq!(log.facts().lacks.names(), ["stacks"]);
    assert_eq!((log.recorded_ns(), log.damage()), (62_000, &[][..]));
    assert_eq!(log.facts().state, RecordingState::Closed);
}

#[test]
fn the_older_form_has_no_waits() {
    let event = |what: &str, ms: u64| {
        format!(
            "{{\"{what}\":{{\"timestamp\":{},\"accessor\":{{\"id\":1,\"name\":\"main\"}},\
             \"target\":{{\"hashcode\":5,\"className\":\"a.B\"}}}}}}\n",
            1_376_143_724_000 + ms
        )
    };
    let log = read(&(event("enter", 3) + &event("exit", 10)));
    let (waits, others) = entries(&log);
    assert_eq!(
        (waits, others),
        (vec![], vec!["takes 5 false".to_owned(), "hold 5 7000000".to_owned()])
    );
    assert_eq!(log.facts().lacks.names(), ["waits", "stacks"]);
    assert!(!log.capabilities().waits);
}

#[test]
fn a_log_that_ends_within_a_line_is_open_and_whole_elsewhere() {
    let whole = taken(1, 7, [10, 11, 50]) + &taken(2, 7, [20, 52, 60]);
    let mut last = 0;
    for cut in line("entering", 1, 7, 10).len()..whole.len() {
        let log = read(&whole[..cut]);
        assert_eq!(log.damage(), [], "cut at {cut}");
        let holds = entries(&log).1.iter().filter(|it| it.starts_with("hold")).count();
        assert!(holds >= last, "cut at {cut}");
        last = holds;
        let is_torn = !matches!(whole.as_bytes()[cut - 1], b'\n' | b'}');
        if is_torn {
            assert_eq!(log.facts().state, RecordingState::Recording, "cut at {cut}");
        }
    }
    assert_eq!(last, 2);
}

#[test]
fn bad_lines_are_told_and_reading_goes_on() {
    let first = taken(1, 7, [10, 11, 50]);
    let log = read(&(first.clone() + "{\"enter\":{}}\n" + &taken(1, 7, [60, 61, 62])));
    let [damage] = log.damage() else { panic!("{:?}", log.damage()) };
    assert_eq!((damage.offset, damage.skipped), (first.len() as u64, 13));
    let holds = entries(&log).1.iter().filter(|it| it.starts_with("hold")).count();
    assert_eq!(holds, 2);
}

#[test]
fn who_asks_for_long_is_still_waiting() {
    let text =
        line("enter", 1, 7, 1) + &line("entering", 2, 7, 5) + &line("enter", 3, 9, 5_000_000);
    let log = read(&text);
    let [pending] = log.pending() else { panic!("{:?}", log.pending()) };
    assert_eq!((pending.thread, pending.owner), (2, 1));
    let soon = line("enter", 1, 7, 1) + &line("entering", 2, 7, 5) + &line("enter", 3, 9, 500_000);
    assert!(read(&soon).pending().is_empty());
}

#[test]
fn many_threads_and_blocks_are_read_alike() {
    let mut text = String::new();
    for nth in 0..30_000u64 {
        let at = nth * 10;
        text += &taken(nth % 50, (nth % 3) as u32 + 1, [at, at + 1, at + 2]);
    }
    assert!(text.len() > BLOCK);
    let log = read(&text);
    let (waits, others) = entries(&log);
    assert_eq!((waits.len(), log.damage()), (0, &[][..]));
    assert_eq!(others.iter().filter(|it| it.starts_with("hold")).count(), 30_000);
    let cells = log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk));
    assert_eq!(cells.map(|cell| cell.acquisitions).sum::<u64>(), 30_000);
}
