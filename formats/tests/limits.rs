//! What bytes claim does not make the reader take memory.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::io::Cursor;
use tyrion_formats::{
    Fault, Log, limits,
    wire::def::Definition,
    write::{LogWriter, Options},
};

fn log_of(definitions: &[Definition<'_>]) -> Log {
    let mut log = LogWriter::new(Cursor::new(Vec::new()), Options::default()).unwrap();
    for definition in definitions {
        log.define(definition).unwrap();
    }
    Log::from_bytes("limits.log", log.finish().unwrap().into_inner()).unwrap()
}

#[test]
fn ids_far_from_the_others_are_refused() {
    let far = limits::MAX_MISSING_IDS as u32 + 1;
    for definition in [
        Definition::String { id: far, text: b"a" },
        Definition::Class { id: far, name: 1, source: 1 },
        Definition::Method { id: far, class: 1, name: 1, descriptor: 1, first_line: 1 },
        Definition::Stack { id: u32::MAX, parent: 1, method: 1, line: 1 },
        Definition::Thread { id: far, java_id: 1, flags: 0, name: 1, group: 1 },
        Definition::Lock { id: far, class: 1 },
        Definition::Site { id: far, kind: 1, stack: 1, lock: 1 },
        Definition::Place { id: far, method: 1, line: 1, kind: 1, flags: 0, name: 1 },
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
        Definition::Lock { id: part, class: 1 },
        Definition::Lock { id: 2 * part, class: 1 },
        Definition::Lock { id: 3 * part, class: 1 },
        Definition::Stack { id: 100, parent: 0, method: 1, line: 1 },
        Definition::Lock { id: 2 * part + 1, class: 7 },
    ]);
    assert_eq!(log.damage().len(), 2, "the third lock and the stack: {:?}", log.damage());
    assert_eq!(log.definitions().locks().get(2 * part + 1), Some(&7));
    assert_eq!(log.definitions().locks().get(5), None);
}

#[test]
fn names_for_unknown_threads_are_ignored() {
    let log = log_of(&[Definition::ThreadName { id: u32::MAX, name: 1, at_ns: 1 }]);
    assert!(log.damage().is_empty() && log.definitions().threads().is_empty());
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
    use tyrion_formats::{ChunkRef, Class, Method, Place, Site, Stack, Text, Thread};
    assert!(size_of::<ChunkRef>() <= 48);
    for size in [
        size_of::<Option<Text>>(),
        size_of::<Option<Class>>(),
        size_of::<Option<Method>>(),
        size_of::<Option<Stack>>(),
        size_of::<Option<Thread>>(),
        size_of::<Option<u32>>(),
        size_of::<Option<Site>>(),
        size_of::<Option<Place>>(),
    ] {
        assert!(size <= 24, "{size}");
    }
    assert!(size_of::<Option<Text>>() <= 16, "of three bytes in the log");
}
