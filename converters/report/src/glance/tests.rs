use super::*;
use crate::testing::{Crafted, found};
use tyrion_model::filter::Filter;
use tyrion_wire::WaitKind;

const FRAMES: [&str; 1] = ["com.acme.Shop.serve:10"];

fn sum(glance: &Glance, wanted: impl Fn(&Doing) -> bool) -> u64 {
    let bands = glance.bands.iter().filter(|band| wanted(&band.what));
    bands.flat_map(|band| &band.ns).sum()
}

#[test]
fn the_worst_locks_have_bands_and_rows_of_their_own() {
    let mut log = Crafted::new(10_000_000_000);
    for (class, ms) in [("a.Few", 1), ("a.Most", 400), ("a.Some", 30), ("a.Third", 20)] {
        let lock = (class, "");
        log.pass(1_000_000_000);
        log.wait("http-1", &FRAMES, (WaitKind::Monitor, lock), ms * 1_000_000, "");
    }
    let (logs, filter) = ([log.finish("shop.log")], Filter::default());
    let glance = Glance::of(&found(&logs, &filter)).unwrap();
    let label = |of: usize| sum(&glance, |what| matches!(what, Doing::Lock(at, _) if *at == of));
    assert_eq!([label(0), label(1), label(2)], [400_000_000, 30_000_000, 20_000_000]);
    assert_eq!(sum(&glance, |what| *what == Doing::OtherLocks), 1_000_000);
    let all: u64 = glance.lived_ns.iter().sum();
    assert_eq!(sum(&glance, |_| true), all, "the bands are all of the time");
    let rows: Vec<_> =
        glance.locks.iter().map(|lock| (&*lock.label, lock.place, lock.wait_ns)).collect();
    assert_eq!(rows[0], ("a.Most#2", Some(0), 400_000_000));
    assert_eq!(rows[3], ("a.Few#1", None, 1_000_000));
    assert_eq!(glance.locks[0].over_time_ns.iter().sum::<u64>(), 400_000_000);
    assert_eq!((&*glance.locks[0].waiter.name, glance.locks[0].waiter.percent), ("http-*", 100));
    let waits = |at: usize| glance.heat[at].waits.iter().map(|(.., waits)| waits).sum::<u64>();
    assert_eq!((&*glance.heat[0].label, waits(0), glance.heat.len()), ("a.Most#2", 1, 4));
    assert_eq!(glance.heat[0].waits[0].1, 28, "400 ms are more than 2^28 ns");
    assert_eq!((glance.locks[0].hold_ns, &*glance.locks[0].holder.name), (None, ""));
}

/// Of a deadlock no wait ends: those who never came back are there, and first.
#[test]
fn who_still_waits_is_told() {
    const CACHE: (WaitKind, (&str, &str)) = (WaitKind::Monitor, ("a.Cache", ""));
    const STORE: (WaitKind, (&str, &str)) = (WaitKind::Monitor, ("a.Store", ""));
    let mut log = Crafted::new(10_000_000_000);
    log.wait("http-1", &FRAMES, CACHE, 400_000_000, "");
    log.wait("http-1", &FRAMES, (WaitKind::Monitor, ("a.Most", "")), 900_000_000, "");
    log.still_waits(("http-1", &FRAMES), CACHE, "main", 3_000_000_000);
    log.still_waits(("http-2", &FRAMES), CACHE, "main", 4_000_000_000);
    log.still_waits(("main", &FRAMES), STORE, "http-1", 2_000_000_000);
    // As at any moment.
    let busy = (WaitKind::Monitor, ("a.Busy", ""));
    log.still_waits(("http-3", &FRAMES), busy, "http-4", 9_999_000_000);
    let (logs, filter) = ([log.finish("shop.log")], Filter::default());
    let glance = Glance::of(&found(&logs, &filter)).unwrap();
    let row = |at: usize| {
        let lock = &glance.locks[at];
        (&*lock.label, lock.still.threads, lock.still.longest_ns, lock.wait_ns)
    };
    // Two threads lose more than one that began earlier.
    assert_eq!(row(0), ("a.Cache#1", 2, 7_000_000_000, 400_000_000));
    assert_eq!(row(1), ("a.Store#3", 1, 8_000_000_000, 0));
    assert_eq!(row(2), ("a.Most#2", 0, 0, 900_000_000));
    assert_eq!(glance.locks.len(), 3);
    let who = |at: usize| {
        let lock = &glance.locks[at];
        (&*lock.waiter.name, &*lock.holder.name)
    };
    // By their own names: two of a group may wait for each other.
    assert_eq!((who(0), who(1)), (("http-1", "main"), ("main", "http-1")));
    let drawn = |at: usize| glance.over_time(&glance.locks[at]).iter().sum::<u64>();
    assert!(drawn(0) > 10_000_000_000, "with the waits that had not ended: {}", drawn(0));
}

#[test]
fn where_nobody_waited_there_is_no_picture() {
    let (logs, filter) = ([Crafted::new(1_000_000).finish("idle.log")], Filter::default());
    assert_eq!(Glance::of(&found(&logs, &filter)), None);
}

/// Lock by lock, as the table of who blocks whom has it by threads.
#[test]
fn who_blocks_whom_adds_up() {
    let mut log = Crafted::traced(10_000_000_000);
    let lock = |nth: usize| (WaitKind::Monitor, (["a.Most", "a.Some"][nth], ""));
    for (waiter, holder, nth, ms) in
        [("http-1", "writer-1", 0, 300), ("http-2", "writer-2", 0, 100), ("http-1", "main", 1, 50)]
    {
        log.pass(1_000_000_000);
        log.wait(waiter, &FRAMES, lock(nth), ms * 1_000_000, "");
        log.charge((holder, &FRAMES), (waiter, &FRAMES), lock(nth), ms * 1_000_000);
    }
    for nth in 0..MOST_BLOCKS {
        let name = format!("one{}", "x".repeat(nth + 1));
        log.charge((&name, &FRAMES), ("http-1", &FRAMES), lock(1), 1_000_000);
    }
    let (logs, filter) = ([log.finish("shop.log")], Filter::default());
    let glance = Glance::of(&found(&logs, &filter)).unwrap();
    let block = |nth: usize| {
        let of: &Block = &glance.blocks[nth];
        (&*of.holders, &*of.waiters, &*of.label, of.place, of.ns)
    };
    assert_eq!(block(0), ("writer-*", "http-*", "a.Most#1", Some(0), 400_000_000));
    assert_eq!(block(1), ("main", "http-*", "a.Some#2", Some(1), 50_000_000));
    assert_eq!((glance.blocks.len(), glance.other_blocks_ns), (MOST_BLOCKS, 2_000_000));
}

#[test]
fn most_is_of_those_with_most() {
    let of = |parts: &[(&str, u64)]| {
        let most = Most::of(parts.iter().map(|(name, ns)| ((*name).to_owned(), *ns)));
        (most.name, most.percent)
    };
    assert_eq!(of(&[("a", 1), ("b", 2), ("a", 2)]), ("a".to_owned(), 60));
    assert_eq!(of(&[("b", 2), ("a", 2)]), ("a".to_owned(), 50));
    assert_eq!(of(&[("a", 0)]), (String::new(), 0));
}
