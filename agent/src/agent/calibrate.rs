//! What an undelayed wait costs: the least duration that a record can show.

use crate::{
    clock,
    fingerprint::fingerprint,
    jvm::{Java, Ti},
};
use jvmti_bindings::sys::jvmti::jvmtiFrameInfo;
use std::hint::black_box;
use tyrion_wire::{
    Outcome,
    event::{MAX_WAIT_LEN, WaitRecord},
};

/// Waits that are not counted: the first ones find cold caches.
const WARM_UP: usize = 64;
const ROUNDS: usize = 256;
/// As Sun Studio's synchronization wait tracing has it.
const FACTOR: u64 = 6;
const LEAST_NS: u64 = 10_000;

/// The threshold that `auto` stands for, in ns, and how it came about.
///
/// Measures waits of no length about as the agent records them, with the slower
/// of its two ways to walk stacks: the clock, the stack of the current thread,
/// its fingerprint, the record, the clock. The mean leaves out the slowest
/// twentieth, where the thread was preempted.
pub fn threshold(ti: Ti, java: Java) -> (u64, String) {
    let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
    let mut frames = vec![frame; 129];
    let mut costs: Vec<u64> =
        (0..WARM_UP + ROUNDS).map(|_| undelayed(ti, java, &mut frames)).collect();
    let measured = &mut costs[WARM_UP..];
    measured.sort_unstable();
    let kept = &measured[..ROUNDS - ROUNDS / 20];
    let mean_ns = kept.iter().sum::<u64>() / kept.len() as u64;
    let threshold_ns = (mean_ns * FACTOR).max(LEAST_NS);
    let origin = format!("auto: an undelayed wait costs {mean_ns} ns; × {FACTOR}, at least 10 µs");
    (threshold_ns, origin)
}

fn undelayed(ti: Ti, java: Java, frames: &mut [jvmtiFrameInfo]) -> u64 {
    let start_ns = clock::now_ns();
    let count = ti.stack(java, frames);
    let print = black_box(fingerprint(&frames[..count], |_| 0));
    let record = WaitRecord {
        delta_ns: start_ns & 0xffff,
        wait_ns: print.0 & 0xffff,
        site: 1,
        outcome: Outcome::Granted,
        owner: 0,
        parks: 0,
    };
    let mut out = [0; MAX_WAIT_LEN];
    black_box(record.encode(&mut out));
    clock::now_ns() - start_ns
}
