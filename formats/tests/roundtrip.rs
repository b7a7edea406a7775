//! What the writer writes is what the reader reads.

use proptest::{collection::vec, prelude::*};
use std::io::Cursor;
use tyrion_formats::{
    Event, Recording,
    wire::{Outcome, cell, def::thread_flag, event::MAX_NS, slot},
    write::{LogOptions, LogWriter, Wait},
};

/// One step: which lane, another thread first, and the wait.
#[derive(Clone, Debug)]
struct WaitStep {
    lane: usize,
    switch: Option<u32>,
    delta_ns: u64,
    wait: Wait,
}

prop_compose! {
    fn steps()(lane in 0usize..3, switch in prop::option::weighted(0.1, 1u32..9),
               delta: u64, wait_ns: u64, cuts in (8u32..64, 8u32..64), site: u32, outcome in 0u8..4,
               owner in prop_oneof![Just(0u32), any::<u32>()], parks in 0u64..5) -> WaitStep {
        let outcome = Outcome::from_bits(outcome);
        let (delta_ns, wait_ns) = (delta >> cuts.0 >> 10, wait_ns >> cuts.1);
        WaitStep { lane, switch, delta_ns, wait: Wait { end_ns: 0, wait_ns, site, outcome, owner, parks } }
    }
}

/// An event as it was written, and who waited.
fn waited(event: Event) -> (u32, Wait) {
    let wait_ns = event.wait_ns();
    assert_eq!(event.start_ns, event.end_ns.saturating_sub(wait_ns));
    let Event { thread, end_ns, site, outcome, owner, parks, .. } = event;
    (thread, Wait { end_ns, wait_ns, site, outcome, owner, parks })
}

proptest! {
    #[test]
    fn waits_round_trip(steps in vec(steps(), 0..2000), big: bool, seal: bool) {
        let chunk_len = if big { 1 << 16 } else { 4096 };
        let options = LogOptions { chunk_len, seal, ..LogOptions::default() };
        let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let lanes = [1, 2, 3].map(|thread| log.lane(thread));
        let (mut now, mut threads) = ([0u64; 3], [1, 2, 3]);
        let mut expected: [Vec<(u32, Wait)>; 3] = Default::default();
        for step in &steps {
            let lane = step.lane;
            if let Some(thread) = step.switch {
                log.switch(lanes[lane], thread).unwrap();
                threads[lane] = thread;
            }
            now[lane] += step.delta_ns.min(MAX_NS);
            let wait = Wait { end_ns: now[lane], ..step.wait };
            log.wait(lanes[lane], wait).unwrap();
            expected[lane].push((threads[lane], wait));
        }
        let read = Recording::from_bytes("a.log", log.finish().unwrap().into_inner()).unwrap();
        let mut found: [Vec<(u32, Wait)>; 3] = Default::default();
        for chunk in read.event_chunks() {
            let mut events = read.events(chunk).unwrap();
            let list: Vec<Event> = events.by_ref().collect();
            prop_assert_eq!(events.damage(), None);
            // Visiting is the same as iterating, from any place on.
            let mut events = read.events(chunk).unwrap();
            let mut visited: Vec<Event> = events.by_ref().take(3).collect();
            events.visit(|event| visited.push(*event));
            prop_assert_eq!(&visited, &list);
            found[chunk.lane as usize - 1].extend(list.into_iter().map(waited));
        }
        prop_assert_eq!(found, expected);
        prop_assert_eq!(read.damage(), &[]);
        if steps.iter().any(|step| step.delta_ns != 0) {
            prop_assert_eq!(read.end_ns(), now.into_iter().max().unwrap_or(0));
        }
    }

    #[test]
    fn definitions_round_trip(names in vec(("[a-z]{1,8}", "\\PC{0,20}"), 1..50)) {
        let options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
        let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
        let mut stack = 0;
        let mut threads = Vec::new();
        for (line, (class, text)) in names.iter().enumerate() {
            let id = log.class(class, text).unwrap();
            let method = log.method(id, text, "()V", line as u32).unwrap();
            stack = log.stack(stack, method, line as u32).unwrap();
            threads.push(log.thread(line as u64, text, class, thread_flag::VIRTUAL).unwrap());
        }
        log.rename(threads[0], "renamed", 5).unwrap();
        let read = Recording::from_bytes("a.log", log.finish().unwrap().into_inner()).unwrap();
        let definitions = read.definitions();
        for (line, (class, text)) in names.iter().enumerate().rev() {
            let frame = definitions.stacks().get(stack).unwrap();
            prop_assert_eq!(frame.line as usize, line);
            let method = definitions.methods().get(frame.method).unwrap();
            prop_assert_eq!(&read.text(method.name), text);
            let found = definitions.classes().get(method.class).unwrap();
            prop_assert_eq!((&*read.text(found.name), &*read.text(found.source)), (&**class, &**text));
            let thread = definitions.threads().get(threads[line]).unwrap();
            prop_assert_eq!(&read.text(thread.first_name), text);
            prop_assert_eq!(thread.name == thread.first_name, line != 0 || text == "renamed");
            prop_assert_eq!((thread.daemon, thread.is_virtual), (false, true));
            stack = frame.parent;
        }
        prop_assert_eq!(stack, 0);
    }
}

#[test]
fn interned_definitions_keep_their_ids() {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    let class = log.class("A", "A.java").unwrap();
    assert_eq!(log.class("A", "A.java").unwrap(), class);
    assert_ne!(log.class("A", "B.java").unwrap(), class);
    let method = log.method(class, "a", "()V", 1).unwrap();
    assert_eq!(log.stack(0, method, 1).unwrap(), 2, "0 and 1 are never defined");
    assert_ne!(log.lock(class).unwrap(), log.lock(class).unwrap(), "one for each object");
}

#[test]
fn cells_slots_and_counters_round_trip() {
    let options = LogOptions { chunk_len: 4096, ..LogOptions::default() };
    let mut log = LogWriter::new(Cursor::new(Vec::new()), options).unwrap();
    let lane = log.lane(1);
    let mut expected = Vec::new();
    // More than one chunk holds.
    for nth in 1..40 {
        let cell = cell::Cell {
            thread: nth,
            site: nth + 1,
            owner: 0,
            group: 0,
            first_ns: 5,
            last_ns: 6,
            count: 1 + u64::from(nth % 2),
            sum_ns: 8,
            max_ns: 8,
            histogram: [nth; cell::BUCKETS],
        };
        log.cell(lane, &cell).unwrap();
        expected.push(cell);
    }
    log.cell(lane, &cell::Cell { count: 0, ..expected[0].clone() }).unwrap();
    let tally = slot::Tally { ended: 9, recorded: 4, folded: 3, dropped: 2 };
    for lane in 1..100 {
        log.counters(&slot::Counters { lane, contention: tally, other: tally }).unwrap();
    }
    let read = Recording::from_bytes("a.log", log.finish().unwrap().into_inner()).unwrap();
    let cells: Vec<_> = read.cell_chunks().iter().flat_map(|chunk| read.cells(chunk)).collect();
    assert_eq!(cells, expected, "empty ones are left out");
    assert_eq!(read.counters().len(), 99);
    assert_eq!((read.tallies().0.recorded, read.tallies().1.dropped), (99 * 4, 99 * 2));
    assert_eq!(read.damage(), []);
}
