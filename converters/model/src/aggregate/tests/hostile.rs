//! Whatever a log's bytes are, its profile is sound.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use tyrion_wire::trace::{AcquisitionCell, BURSTS_CELL_LEN, Bursts};

const LOGS: [&[u8]; 3] = [
    include_bytes!("../../../../../testdata/logs/v1-small.log"),
    include_bytes!("../../../../../testdata/logs/v1-killed.log"),
    include_bytes!("../../../../../testdata/logs/v1-trace.log"),
];

/// These, and one whose acquisitions are counted in bursts.
fn logs() -> Vec<Vec<u8>> {
    let mut sample = Sample::of(&[("mode", "trace"), ("hold", "1/64")]);
    let place = sample.log.place(1, 7, WaitKind::Monitor, 0, "Bank.ledger").unwrap();
    let class = sample.log.class("java/lang/Object", "").unwrap();
    let bursts = Some(Bursts { uncounted: 7, uncounted_error: 3, count: 2, ..Bursts::default() });
    let cell = AcquisitionCell { thread: 1, place, class, acquisitions: 9, ..Default::default() };
    for bursts in [bursts, Some(Bursts::default())] {
        let cell = AcquisitionCell { bursts, ..cell.clone() };
        sample.log.acquisitions(sample.lanes[0], &cell).unwrap();
    }
    let in_bursts = sample.log.finish().unwrap().into_inner();
    LOGS.iter().map(|log| log.to_vec()).chain([in_bursts]).collect()
}

/// Aggregates and looks at everything that comes out.
fn check(bytes: Vec<u8>, filter: &Filter) {
    let Ok(log) = Recording::from_bytes("hostile.log", bytes) else { return };
    let out = run(std::slice::from_ref(&log), filter);
    for wait in &out.profile.waits {
        assert!(wait.count > 0 && wait.max_ns <= wait.wait_ns);
        assert!(out.profile.frames_of(wait.stack).count() <= 20_000);
        assert!(!out.profile.thread_name(wait.thread).is_empty());
    }
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let acquisitions = sum(&mut out.profile.acquisitions.iter().map(|row| row.acquisitions));
    let sections = sum(&mut out.profile.sections.iter().map(|section| section.acquisitions));
    assert_eq!(acquisitions, sections);
    let errors = sum(&mut out.profile.sections.iter().map(|section| section.acquisitions_error));
    assert_eq!(errors, out.profile.taken().acquisitions_error);
    out.damage.iter().for_each(|damage| assert!(!damage.to_string().contains('\n')));
    out.notes.lines().iter().for_each(|line| assert!(!line.contains('\n')));
}

proptest! {
    #[test]
    fn damaged_logs_make_sound_profiles(
        which in 0..=LOGS.len(),
        patches in vec((any::<prop::sample::Index>(), any::<u64>(), 1usize..9), 0..12),
        header in prop::option::weighted(0.3, (8usize..96, any::<u64>())),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        (min_wait_ns, since, until) in (
            prop_oneof![Just(0), any::<u64>()],
            prop::option::of("-?[0-9]{1,3}(ns|us|ms|s)"),
            prop::option::of("-?[0-9]{1,3}(ns|us|ms|s)"),
        ),
    ) {
        let mut bytes = logs().swap_remove(which);
        for (at, value, len) in patches {
            let at = at.index(bytes.len() - len);
            bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        if let Some((at, value)) = header {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let parse = |text: Option<String>| text.map(|text| moment(&text).unwrap());
        let filter = Filter { min_wait_ns, since: parse(since), until: parse(until), ..all() };
        check(bytes, &filter);
    }
}

/// Every byte of the cells, slots and definitions at its extremes.
#[test]
fn extreme_values_make_sound_profiles() {
    for original in logs() {
        let log = Recording::from_bytes("a.log", original.clone()).unwrap();
        let chunks = log.cell_chunks().iter().chain(log.acquisition_chunks());
        let cells = chunks.map(|chunk| chunk.payload_at() as usize);
        let filters =
            [Filter { min_wait_ns: 3, since: Some(moment("1ns").unwrap()), ..all() }, all()];
        for at in cells.flat_map(|at| at..at + BURSTS_CELL_LEN).step_by(4) {
            for value in [0u32, 1, 1 << 31, u32::MAX] {
                let mut bytes = original.clone();
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
                filters.iter().for_each(|filter| check(bytes.clone(), filter));
            }
        }
    }
}
