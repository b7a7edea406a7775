//! Sliding sums, against sums made by hand.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use std::io::Cursor;
use tyrion_formats::{
    AcquisitionChange, CellChange, Recording,
    wire::{
        WaitKind,
        cell::{BUCKETS, Cell},
        trace::{AcquisitionCell, Blame, Bursts},
    },
    write::{LogOptions, LogWriter, Wait},
};

const S: u64 = 1_000_000_000;

/// Waits that ended then, took so long, and whose owner was this thread.
fn add(window: &mut Window, waits: &[(u64, u64, u32)]) {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    let class = log.class("A", "").unwrap();
    let method = log.method(class, "a", "()V", 1).unwrap();
    let stack = log.stack(0, method, 2).unwrap();
    let lock = log.lock(class).unwrap();
    let site = log.site(WaitKind::Monitor, stack, lock).unwrap();
    let thread = log.thread(1, "a", "main", 0).unwrap();
    let lane = log.lane(thread);
    for &(end_ns, wait_ns, owner) in waits {
        log.wait(lane, Wait { end_ns, wait_ns, site, owner, ..Wait::default() }).unwrap();
    }
    let bytes = log.finish().unwrap().into_inner();
    let log = Recording::from_bytes("waits", bytes).unwrap();
    for chunk in log.event_chunks() {
        log.events(chunk).unwrap().visit_all(|entry| window.add(0, &entry));
    }
}

const KEY: WaitKey = WaitKey { file: 0, thread: 1, site: 1 };

fn of_key(window: &Window) -> WaitSum {
    window.sums().waits.get(&KEY).copied().unwrap_or_default()
}

fn changes(cells: Vec<CellChange>, acquisitions: Vec<AcquisitionChange>) -> Changes {
    Changes { cells, acquisitions }
}

fn cell(last_ns: u64, count: u64, sum_ns: u64) -> CellChange {
    let cell = Cell {
        thread: 1,
        site: 1,
        owner: 0,
        group: 0,
        first_ns: 0,
        last_ns,
        count: 100,
        sum_ns: 1000,
        max_ns: 50,
        histogram: [0; BUCKETS],
    };
    CellChange { cell, count, sum_ns, max_ns: 9, histogram: [0; BUCKETS] }
}

#[test]
fn what_is_older_than_the_window_is_forgotten() {
    let mut window = Window::last(5 * S, 0, 10 * S);
    add(&mut window, &[(6 * S, 7, 0), (10 * S - 1, 9, 0)]);
    window.advance(10 * S);
    assert_eq!(window.sums().span_ns(), 5 * S);
    let sum = WaitSum { count: 2, wait_ns: 16, max_ns: 9, within_ns: 16 };
    assert_eq!(of_key(&window), sum);
    for second in 11..20 {
        add(&mut window, &[(second * S - 5, 3, 0)]);
        // Looks come a little late.
        window.advance(second * S + 1_000_000);
        let sums = window.sums();
        assert!((5 * S - S / 4..6 * S).contains(&sums.span_ns()), "{}", sums.span_ns());
        let since = sums.from_ns;
        let mine = (11..=second).filter(|s| s * S - 5 > since).count() as u64;
        let before = [(6 * S, 7), (10 * S - 1, 9)].iter().filter(|(end, _)| *end > since).count();
        assert_eq!(of_key(&window).count, mine + before as u64);
    }
    assert_eq!(of_key(&window), WaitSum { count: 5, wait_ns: 15, max_ns: 3, within_ns: 15 });
}

/// The average number of threads that wait is not more than there are, however
/// long they wait.
#[test]
fn a_long_wait_counts_in_each_window_as_much_as_it_was_there() {
    let mut window = Window::last(4 * S, 0, 10 * S);
    window.advance(10 * S);
    window.advance(11 * S);
    // From 2 s to 11.5 s; the window is from 7 s on at first.
    add(&mut window, &[(11 * S + S / 2, 9 * S + S / 2, 0)]);
    window.advance(12 * S);
    let sums = window.sums();
    let sum = sums.waits[&KEY];
    assert_eq!((sum.count, sum.wait_ns), (1, 9 * S + S / 2), "the wait is whole");
    assert_eq!(sum.within_ns, 11 * S + S / 2 - sums.from_ns);
    assert!(sum.within_ns < sums.span_ns());
    // As the window goes on, it leaves with the part that is gone.
    for second in 13..15 {
        window.advance(second * S);
        let sums = window.sums();
        let left = 11 * S + S / 2 - sums.from_ns;
        assert_eq!(sums.waits[&KEY].within_ns, left, "{second}");
        assert_eq!(sums.within_ns(2 * S), sums.span_ns(), "if it had not ended");
    }
    window.advance(18 * S);
    assert_eq!(of_key(&window), WaitSum::default());
}

#[test]
fn slices_are_few_however_often_one_looks() {
    let mut window = Window::last(10 * S, 0, 100 * S);
    for nth in 0..3000 {
        window.advance(100 * S + nth * S / 100);
    }
    assert!(window.slices.len() <= SLICES as usize + 2, "{}", window.slices.len());
    let whole: Vec<_> = window.slices.iter().map(|slice| (slice.from_ns, slice.to_ns)).collect();
    assert!(whole.windows(2).all(|two| two[0].1 == two[1].0), "without gaps");
}

#[test]
fn another_length_holds_from_now_on() {
    let mut window = Window::last(4 * S, 0, 10 * S);
    for second in 11..20 {
        add(&mut window, &[(second * S - 5, 3, 0)]);
        window.advance(second * S);
    }
    window.set_length(8 * S);
    window.advance(20 * S);
    assert_eq!(window.sums().span_ns(), 5 * S, "it fills up");
    for second in 21..30 {
        window.advance(second * S);
    }
    assert_eq!(window.sums().span_ns(), 8 * S);
    window.set_length(2 * S);
    window.advance(30 * S);
    assert_eq!(window.sums().span_ns(), 2 * S);
}

#[test]
fn a_recording_that_has_just_begun_has_no_time_before() {
    let window = Window::last(5 * S, 9 * S, 10 * S);
    assert_eq!(window.sums().span_ns(), S);
    let window = Window::last(5 * S, 10 * S, 10 * S);
    assert_eq!(window.sums().span_ns(), 1, "never 0");
}

#[test]
fn all_of_a_recording_has_one_slice() {
    let mut window = Window::whole(S, S);
    add(&mut window, &[(2 * S, 3 * S, 0), (50 * S, S, 2)]);
    window.advance(90 * S);
    window.end(51 * S);
    let sums = window.sums();
    assert_eq!((sums.span_ns(), sums.waits[&KEY].count), (50 * S, 2));
    assert_eq!(sums.waits[&KEY].within_ns, 4 * S);
    assert_eq!(window.length_ns(), None);
}

#[test]
fn cells_count_when_their_last_wait_ended() {
    let mut window = Window::last(5 * S, 0, 10 * S);
    window.advance(10 * S);
    window.add_changes(
        0,
        &changes(vec![cell(6 * S + 5, 3, 30), cell(10 * S + 5, 2, 20)], Vec::new()),
    );
    window.advance(11 * S);
    let sum = WaitSum { count: 5, wait_ns: 50, max_ns: 9, within_ns: 50 };
    assert_eq!(of_key(&window), sum);
    window.advance(13 * S);
    assert_eq!(of_key(&window).count, 2);
}

#[test]
fn holds_are_estimated_from_those_measured_meanwhile() {
    let mut window = Window::last(5 * S, 0, 10 * S);
    let mut taken = |acquisitions, measured, measured_ns| {
        let cell = AcquisitionCell {
            thread: 1,
            place: 2,
            class: 3,
            acquisitions: 500,
            first_count: 2,
            first_ns: 20,
            sampled_count: 8,
            sampled_ns: 480,
            ..AcquisitionCell::default()
        };
        let mut change = AcquisitionChange::first(cell);
        change.acquisitions = acquisitions;
        change.measured = measured;
        change.measured_ns = measured_ns;
        window.add_changes(4, &changes(Vec::new(), vec![change]));
        window.sums().taken[&TakeKey { file: 4, thread: 1, place: 2, class: 3 }]
    };
    assert_eq!(taken(100, 4, 40), TakeSum { count: 100, error_squared: 0.0, held_ns: 1000 });
    // None was measured: 50 ns as ever.
    assert_eq!(taken(10, 0, 0), TakeSum { count: 110, error_squared: 0.0, held_ns: 1500 });
    // They count since the first look, not since the window's start.
    window.advance(12 * S);
    let sums = window.sums();
    assert_eq!((sums.taken_span_ns(), sums.span_ns()), (2 * S, 7 * S - 2 * S));
}

#[test]
fn owners_and_charges_are_kept_apart() {
    let mut window = Window::last(5 * S, 0, 10 * S);
    add(&mut window, &[(9 * S, 70, 5), (9 * S + 1, 30, 5)]);
    let blame = Blame { charged_ns: 60, site: 1, waiter: 1, stack: 8, place: 9, delta_ns: 0 };
    let record = Note::Blame(blame);
    window.add(0, &Entry::Note(tyrion_formats::Noted { thread: 6, at_ns: 9 * S, record }));
    let sums = window.sums();
    let owner = HoldKey { file: 0, holder: 5, stack: 0, place: 0, site: 1, charged: false };
    let charged = HoldKey { holder: 6, stack: 8, place: 9, charged: true, ..owner };
    assert_eq!(sums.holders[&owner], HoldSum { count: 2, wait_ns: 100 });
    assert_eq!(sums.holders[&charged], HoldSum { count: 1, wait_ns: 60 });
    assert_eq!(sums.holders.len(), 2);
}

#[test]
fn errors_of_what_comes_add_up_as_squares() {
    let mut window = Window::last(5 * S, 0, 10 * S);
    let cell = |error| AcquisitionCell {
        thread: 1,
        place: 2,
        class: 3,
        bursts: Some(Bursts { uncounted_error: error, count: 1, ..Bursts::default() }),
        ..AcquisitionCell::default()
    };
    let mut add = |cell| {
        let change = AcquisitionChange::first(cell);
        window.add_changes(4, &changes(Vec::new(), vec![change]));
        window.advance(11 * S);
        window.sums().taken[&TakeKey { file: 4, thread: 1, place: 2, class: 3 }].error_squared
    };
    assert_eq!((add(cell(3)), add(cell(4))), (9.0, 25.0));
    assert_eq!(add(AcquisitionCell { bursts: None, ..cell(0) }.with_uncounted()), 25.0);
}
