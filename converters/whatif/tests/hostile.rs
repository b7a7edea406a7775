//! Logs that are cut, damaged, or made to harm: an answer or a reason, and no panic.

use crate::program::{Program, predicts, question, reads};
use proptest::prelude::*;
use tyrion_formats::Recording;
use tyrion_whatif::{Change, Question};
use tyrion_wire::WaitKind;

fn ask_all(bytes: Vec<u8>) {
    let Ok(log) = Recording::from_bytes("hostile.log", bytes) else { return };
    let logs = [log];
    for change in Change::USUAL {
        for (lock, processors) in [(None, None), (Some(1), Some(3))] {
            let question = Question { change, lock, processors, reads: reads("."), ..question() };
            if let Ok(prediction) = predicts(&logs, &question) {
                let ratio = prediction.throughput_ratio;
                assert!(ratio.is_finite() && ratio >= 1.0, "{prediction:?}");
                assert!(prediction.low_ratio.is_finite() && prediction.high_ratio.is_finite());
            }
        }
    }
}

#[test]
fn cut_logs_are_answered_as_far_as_they_go() {
    let bytes = Program { rounds: 12, ..Program::default() }.bytes();
    for len in (0..bytes.len()).step_by(509) {
        ask_all(bytes[..len].to_vec());
    }
}

#[test]
fn durations_beyond_all_bounds() {
    for (outside_ns, held_ns) in [(0, 0), (1, 1 << 50), (1 << 50, 1), (0, 1)] {
        for kind in [WaitKind::Monitor, WaitKind::LockRead, WaitKind::Semaphore] {
            let program = Program { rounds: 12, outside_ns, held_ns, kind, ..Program::default() };
            ask_all(program.bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_logs_do_no_harm(at in 4096usize..60_000, value: u8, more in 0usize..50_000) {
        let mut bytes = Program { rounds: 12, ..Program::default() }.bytes();
        let len = bytes.len();
        for at in [at % len, (at + more) % len] {
            bytes[at] = value;
        }
        // Checksums would have the chunk left out.
        for at in (4096..len).step_by(4096) {
            bytes[at + 5] &= !1;
        }
        ask_all(bytes);
    }
}
