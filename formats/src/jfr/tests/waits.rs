//! Waits, their locks and threads.

use super::*;

#[test]
fn waits_are_read_by_the_metadata() {
    let recording = open(small());
    assert_eq!(recording.damage(), []);
    let waits = waits(&recording);
    assert_eq!(waits.len(), SMALL.len(), "{waits:#?}");
    for (wait, expected) in waits.iter().zip(SMALL) {
        assert_eq!(wait, expected);
    }
    let facts = recording.facts();
    assert_eq!((facts.format, facts.short_waits), ("jfr", ShortWaits::Unknown));
    assert_eq!((facts.start_ns, facts.end_ns), (1_000_000_000, 1_001_000_000));
    assert_eq!((facts.state, facts.metadata("mode")), (RecordingState::Closed, Some("contention")));
    assert!(!recording.has_threshold(), "no setting says so");
    let monitor = recording.definitions().sites().iter().map(|(_, site)| site.kind).min();
    assert_eq!(monitor, Some(WaitKind::Monitor));
    // One `Foo` is an object that somebody parked for: it has another address.
    assert_eq!(recording.definitions().locks().iter().count(), 3);
    let threads = recording.definitions().threads();
    let groups = threads.iter().map(|(_, thread)| recording.text(thread.group).into_owned());
    assert_eq!(groups.collect::<Vec<_>>(), ["tellers", "tellers"]);
}

#[test]
fn who_notified_is_the_waker_not_the_owner() {
    let mut maker = ChunkMaker::new(1_000_000_000);
    maker.numbers(WAIT, &[1_000, 200, 1, 1, 2, 5_000, 0]);
    maker.numbers(WAIT, &[2_000, 400, 1, 1, 0, 200, 1]);
    let recording = open(maker.finish());
    assert_eq!(
        waits(&recording),
        [
            "main object-wait 1000000000..1000000100 granted - com/acme/Foo ",
            "main object-wait 1000000500..1000000700 timed-out - com/acme/Foo ",
        ]
    );
    let wakes: Vec<_> = entries(&recording)
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Note(noted) => match noted.record {
                Note::Wake(wake) => Some(noted.with(wake)),
                _ => None,
            },
            Entry::Wait(_) => None,
        })
        .collect();
    let [woken] = wakes[..] else { panic!("{wakes:?}") };
    assert_eq!(name(&recording, woken.record.waker), "worker");
    assert_eq!((woken.at_ns, woken.record.wait_ns, woken.record.late_ns), (1_000_000_100, 100, 0));
    assert!(recording.has_wakers());
    assert!(!open(small()).has_wakers());
}

#[test]
fn locks_of_native_code_have_no_class() {
    let mut maker = ChunkMaker::new(1_000_000_000);
    for address in [0x10, 0x20, 0x10] {
        maker.numbers(NATIVE_LOCK, &[1_000, 200, 1, address]);
    }
    let recording = open(maker.finish());
    let wait = "main lock 1000000000..1000000100 granted - native lock ";
    assert_eq!(waits(&recording), [wait; 3]);
    assert_eq!(recording.definitions().locks().iter().count(), 2);
}

#[test]
fn waits_of_pinned_threads_count_once() {
    let mut maker = ChunkMaker::new(1_000_000_000);
    // Around a park of its own, and beside one of another thread.
    maker.park((2_000, 600), 2, 4, i64::MIN);
    maker.numbers(PINNED, &[1_990, 620, 1]);
    maker.numbers(PINNED, &[1_990, 620, 2]);
    // And one that was written first.
    maker.numbers(PINNED, &[5_000, 100, 1]);
    maker.enter(5_010, 80, 1, 0);
    let recording = open(maker.finish());
    assert_eq!(
        waits(&recording),
        [
            "main lock 1000000500..1000000800 granted - java/util/concurrent/locks/ReentrantLock$NonfairSync park:0<acquire:0<bar:43<cut",
            "main monitor 1000002005..1000002045 granted - com/acme/Foo bar:42",
            "worker park 1000000495..1000000805 granted - - ",
        ]
    );
    let told = "3 waits of virtual threads on their carriers, 670 ns";
    assert_eq!(recording.facts().metadata("pinned"), Some(told));
    assert_eq!(open(small()).facts().metadata("pinned"), None);
}
