//! What bytes claim does not make the reader take memory.

use std::io::Cursor;
use tyrion_formats::{
    Fault, Recording, limits,
    wire::def::Definition,
    write::{LogOptions, LogWriter},
};

fn log_of(definitions: &[Definition<'_>]) -> Recording {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    for definition in definitions {
        log.define(definition).unwrap();
    }
    let mut bytes = log.finish().unwrap().into_inner();
    // In a shorter file fewer definitions can have been lost.
    bytes.resize(3 * limits::MAX_MISSING_IDS, 0);
    Recording::from_bytes("limits.log", bytes).unwrap()
}

#[test]
fn ids_far_from_the_others_are_refused() {
    let far = limits::MAX_MISSING_IDS as u32 + 1;
    for definition in [
        Definition::String { id: far, text: b"a" },
        Definition::Class { id: far, name: 1, source: 1 },
        Definition::Method { id: far, class: 1, name: 1, descriptor: 1, first_line: 1 },
        Definition::Stack { id: u32::MAX, parent: 1, method: 1, line: 1 },
        Definition::Group { stack: far, name: 1 },
        Definition::Thread { id: far, java_id: 1, flags: 0, name: 1, group: 1 },
        Definition::Site { id: far, kind: 1, stack: 1, lock: 1, place: 0 },
    ] {
        let log = log_of(std::slice::from_ref(&definition));
        let damage = log.damage();
        assert_eq!(damage.len(), 1, "{definition:?}");
        assert_eq!(damage[0].fault, Fault::DefinitionId);
        assert!(damage[0].to_string().contains("too large"), "{}", damage[0]);
    }
}

#[test]
fn missing_ids_are_counted_over_all_types_and_definitions() {
    let part = limits::MAX_MISSING_IDS as u32 / 2;
    let log = log_of(&[
        Definition::Class { id: part, name: 1, source: 1 },
        Definition::Class { id: 2 * part, name: 1, source: 1 },
        Definition::Class { id: 3 * part, name: 1, source: 1 },
        Definition::Stack { id: 100, parent: 0, method: 1, line: 1 },
        Definition::Class { id: 2 * part + 1, name: 7, source: 1 },
    ]);
    assert_eq!(log.damage().len(), 2, "the third class and the stack: {:?}", log.damage());
    let classes = log.definitions().classes();
    assert_eq!(classes.get(2 * part + 1).map(|class| class.name), Some(7));
    assert_eq!(classes.get(5), None);
}

/// A later file of a log that rotates has but some of the recording's locks and
/// places: what is left out counts as nothing lost.
#[test]
fn locks_and_places_may_have_any_ids() {
    const LOCK: u32 = 4_000_000_000;
    const PLACE: u32 = 3_000_000_000;
    let log = log_of(&[
        Definition::Lock { id: LOCK, class: 7 },
        Definition::Place {
            id: PLACE,
            method: 3,
            line: 4,
            kind: 2,
            flags: 4,
            name: 5,
            bytecode: 0,
        },
        Definition::Site { id: 1, kind: 2, stack: 0, lock: LOCK, place: 0 },
        Definition::Lock { id: u32::MAX, class: 8 },
        Definition::Place {
            id: u32::MAX,
            method: 9,
            line: 0,
            kind: 1,
            flags: 0,
            name: 0,
            bytecode: 0,
        },
        Definition::Lock { id: 5, class: 9 },
        // As many ids as ever may be missing of the others; site 0 is one.
        Definition::Class { id: limits::MAX_MISSING_IDS as u32 - 1, name: 1, source: 1 },
    ]);
    assert_eq!(log.damage(), []);
    let definitions = log.definitions();
    let locks: Vec<(u32, u32)> =
        definitions.locks().iter().map(|(id, &class)| (id, class)).collect();
    assert_eq!(locks, [(5, 9), (LOCK, 7), (u32::MAX, 8)]);
    assert_eq!(definitions.locks().get(definitions.sites().get(1).unwrap().lock), Some(&7));
    let place = definitions.places().get(PLACE).unwrap();
    assert_eq!((place.method, place.line, place.name, place.is_juc()), (3, 4, 5, true));
    assert_eq!(definitions.places().get(u32::MAX).unwrap().method, 9);
    assert_eq!((definitions.places().len(), definitions.locks().len()), (2, 3));
    assert_eq!((definitions.places().get(1), definitions.locks().get(1)), (None, None));
}

/// Scattered as widely as can be, they take the room of those that are there.
#[test]
fn scattered_locks_and_places_take_no_more_room_than_near_ones() {
    let mut list = Vec::new();
    for nth in 1..=20_000u32 {
        let id = nth.wrapping_mul(0x9e37_79b1);
        list.push(Definition::Lock { id, class: nth });
        list.push(Definition::Place {
            id,
            method: nth,
            line: 1,
            kind: 1,
            flags: 0,
            name: 1,
            bytecode: 0,
        });
    }
    let log = log_of(&list);
    assert_eq!(log.damage(), []);
    let definitions = log.definitions();
    assert_eq!((definitions.locks().len(), definitions.places().len()), (20_000, 20_000));
    for nth in [1, 777, 20_000u32] {
        let id = nth.wrapping_mul(0x9e37_79b1);
        assert_eq!(definitions.locks().get(id), Some(&nth));
        assert_eq!(definitions.places().get(id).unwrap().method, nth);
    }
}

#[test]
fn names_for_unknown_threads_are_ignored() {
    let log = log_of(&[Definition::ThreadName { id: u32::MAX, name: 1, at_ns: 1 }]);
    assert!(log.damage().is_empty() && log.definitions().threads().is_empty());
}

#[test]
fn the_latest_span_of_a_thread_holds() {
    let thread = Definition::Thread { id: 1, java_id: 7, flags: 0, name: 0, group: 0 };
    let span = |id, started_ns, ended_ns| Definition::ThreadSpan { id, started_ns, ended_ns };
    let log = log_of(&[thread.clone(), span(1, 5, 0), span(9, 1, 2)]);
    let found = |log: &Recording| {
        let span = log.definitions().thread_span(1)?;
        Some((span.started_ns, span.ended_ns.map(|ended_ns| ended_ns.get())))
    };
    assert_eq!((log.damage(), found(&log)), (&[][..], Some((5, None))));
    assert_eq!(log.definitions().thread_span(9), None, "of a thread that is not known");
    let log = log_of(&[thread.clone(), span(1, 5, 0), span(1, 5, 80)]);
    assert_eq!(found(&log), Some((5, Some(80))));
    assert_eq!(log.end_ns(), log.start_ns().max(80));
    assert_eq!(found(&log_of(&[thread])), None, "as logs of earlier agents have it");
}

#[test]
fn what_was_recorded_is_the_log_without_its_pauses() {
    let start_ns = log_of(&[]).start_ns();
    let pause = |from_ns: u64, to_ns: u64| {
        let to_ns = if to_ns == 0 { 0 } else { start_ns + to_ns };
        Definition::Pause { from_ns: start_ns + from_ns, to_ns }
    };
    // The log ends with what it tells of last: of a definition here.
    let recorded = |pauses: &[Definition<'_>]| {
        let log = log_of(pauses);
        assert_eq!(log.damage(), []);
        let of_start = |part: std::ops::Range<u64>| (part.start - start_ns, part.end - start_ns);
        let parts: Vec<_> = log.recorded().into_iter().map(of_start).collect();
        assert_eq!(log.recorded_ns(), parts.iter().map(|(from, to)| to - from).sum::<u64>());
        (parts, log.end_ns() - start_ns)
    };
    assert_eq!(recorded(&[pause(10, 0)]), (vec![(0, 10)], 10));
    assert_eq!(recorded(&[pause(10, 0), pause(10, 30)]), (vec![(0, 10)], 30));
    let two = [pause(10, 0), pause(10, 30), pause(50, 0), pause(50, 60), pause(90, 0)];
    assert_eq!(recorded(&two), (vec![(0, 10), (30, 50), (60, 90)], 90));
    let before = Definition::Pause { from_ns: 0, to_ns: start_ns + 5 };
    assert_eq!(recorded(&[before, pause(20, 0)]), (vec![(5, 20)], 20), "another file tells of it");
    assert_eq!(recorded(&[pause(40, 20), pause(60, 0)]), (vec![(0, 40), (40, 60)], 60));
    let strange = [pause(40, 20), pause(5, 50), pause(20, 30), pause(60, 0)];
    assert_eq!(recorded(&strange), (vec![(0, 5), (50, 60)], 60));
    let log = log_of(&strange);
    let of_start = |part: std::ops::Range<u64>| (part.start - start_ns, part.end - start_ns);
    let pauses: Vec<_> = log.pauses().into_iter().map(of_start).collect();
    assert_eq!(pauses, [(5, 50), (20, 30)], "what is none is left out");
}

#[test]
fn collections_are_told_in_the_order_of_time() {
    let collection = |start_ns, end_ns| Definition::Collection { start_ns, end_ns };
    let log = log_of(&[
        collection(500, 900),
        collection(100, 100),
        collection(70, 69),
        collection(200, 300),
        collection(u64::MAX, 0),
    ]);
    assert_eq!(log.damage(), []);
    let found: Vec<_> = log.collections().iter().map(|it| (it.start_ns, it.end_ns)).collect();
    assert_eq!(found, [(100, 100), (200, 300), (500, 900)], "without what ends before it begins");
    assert_eq!(log.end_ns(), log.start_ns().max(900));
    assert_eq!((log.has_collections(), log.lost_collections()), (None, 0));
}

/// They stand in tables that do not take a row for each id left out.
#[test]
fn names_and_instances_of_far_locks_take_no_room() {
    let log = log_of(&[
        Definition::LockInstance { lock: u32::MAX, hash: 5 },
        Definition::LockName { lock: u32::MAX - 1, name: 6 },
        Definition::Statistic { key: u32::MAX, value: 7 },
    ]);
    assert_eq!(log.damage(), []);
    let definitions = log.definitions();
    assert_eq!(definitions.lock_instance(u32::MAX), Some(5));
    assert_eq!(definitions.lock_name(u32::MAX - 1), Some(6));
    assert_eq!((definitions.lock_instance(1), definitions.lock_name(1)), (None, None));
    assert_eq!(log.statistics().get(tyrion_formats::UNKNOWN), Some(&7));
}

#[test]
fn statistics_of_too_many_keys_are_left_out() {
    let keys = 1..=limits::MAX_STATISTICS as u32 + 3;
    let mut list: Vec<_> =
        keys.map(|key| Definition::Statistic { key, value: u64::from(key) }).collect();
    list.push(Definition::Statistic { key: 1, value: 99 });
    let log = log_of(&list);
    assert_eq!(log.damage().len(), 3, "{:?}", log.damage());
    let statistics = log.definitions().statistics();
    assert_eq!(statistics.last(), Some((1, 99)), "the latest of a known key is taken");
    assert_eq!(log.definitions().statistics().count(), limits::MAX_STATISTICS);
}

#[test]
fn long_texts_are_cut() {
    let text = vec![b'x'; 3 * limits::MAX_TEXT];
    let log = log_of(&[Definition::String { id: 1, text: &text }]);
    assert_eq!(log.text(1).len(), limits::MAX_TEXT);
    assert_eq!(log.text(2), tyrion_formats::UNKNOWN);
    assert_eq!(log.text(0), "");
}

/// The sizes that the caps are reckoned with.
#[test]
fn rows_are_as_small_as_stated() {
    use tyrion_formats::{
        ChunkRef, ClassDef, Collection, LockSite, MethodDef, StackDef, Text, ThreadDef, ThreadSpan,
        WaitSite,
    };
    assert!(size_of::<ChunkRef>() <= 48);
    assert!(size_of::<Collection>() <= 16, "of four bytes in the log");
    for size in [
        size_of::<Option<Text>>(),
        size_of::<Option<ClassDef>>(),
        size_of::<Option<MethodDef>>(),
        size_of::<Option<StackDef>>(),
        size_of::<Option<ThreadDef>>(),
        size_of::<Option<WaitSite>>(),
    ] {
        assert!(size <= 24, "{size}");
    }
    assert!(size_of::<Option<Text>>() <= 16, "of three bytes in the log");
    // With a byte of the table's own, and room for 16 rows where there are 7.
    assert!((size_of::<(u32, u32)>() + 1) * 16 <= 21 * 7);
    assert!((size_of::<(u32, LockSite)>() + 1) * 16 <= 48 * 7);
    assert!((size_of::<(u32, ThreadSpan)>() + 1) * 16 <= 5 * 16 * 7, "of five bytes in the log");
}

/// A file of a few kilobytes takes no memory for a million ids.
#[test]
fn short_files_can_have_lost_few_ids() {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), LogOptions::default()).unwrap();
    log.define(&Definition::Class { id: 100_000, name: 1, source: 1 }).unwrap();
    let bytes = log.finish().unwrap().into_inner();
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    let log = Recording::from_bytes("short.log", bytes).unwrap();
    assert_eq!(log.damage()[0].fault, Fault::DefinitionId);
    assert_eq!(log.definitions().classes().len(), 0);
}
