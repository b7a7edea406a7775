//! How much CPU time the agent's code takes on threads of the program.
//!
//! To read a thread's CPU clock takes a system call, a part of a microsecond and on
//! virtual machines more, which is as long as some callbacks take. So one call in
//! [`EVERY`], chosen by chance, is measured, and stands for that many. The CPU clock
//! is the right one although it is dear: where threads wait for a processor, as
//! they do in a busy program, the monotonic one would charge the agent with that.
//! What the thread waits for, as a lock of the agent's, is no CPU time either.

use crate::{clock, spawn};
use std::{
    cell::Cell,
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

/// One call in so many is measured; a power of two.
const EVERY: u64 = 64;

/// What was measured so far, each with what it stands for, in ns. A single one
/// may be less than reading the clock takes.
static TAKEN_NS: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// The state of the random numbers; 0 before the first.
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// What the agent's code has taken on threads of the program, in ns; estimated.
pub fn taken_ns() -> u64 {
    TAKEN_NS.load(Relaxed).max(0).cast_unsigned()
}

/// Runs what the JVM has called on whichever thread it is.
#[inline]
pub fn callback<T>(body: impl FnOnce() -> T) -> T {
    if is_chosen() { measured(EVERY, body) } else { body() }
}

/// The same for what is rare, and may take long: it is always measured.
pub fn rare_callback<T>(body: impl FnOnce() -> T) -> T {
    measured(1, body)
}

#[inline]
fn is_chosen() -> bool {
    // A thread that is about to end has no locals any more.
    RANDOM.try_with(|random| next(random) >> 32 & (EVERY - 1) == 0).unwrap_or(false)
}

/// xorshift64
#[inline]
fn next(random: &Cell<u64>) -> u64 {
    let mut state = random.get();
    if state == 0 {
        state = seed(random);
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    random.set(state);
    state
}

/// Another one for each thread; never 0.
#[cold]
fn seed(random: &Cell<u64>) -> u64 {
    let here = std::ptr::from_ref(random).addr() as u64;
    // The finalizer of MurmurHash3: neighbours have nothing in common.
    let mut mixed = here ^ clock::now_ns().rotate_left(32);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (mixed ^ mixed >> 33) | 1
}

/// Measures a call, which stands for so many.
#[inline(never)]
fn measured<T>(stands_for: u64, body: impl FnOnce() -> T) -> T {
    // The agent's own threads count as a whole.
    if spawn::is_agents() {
        return body();
    }
    let begun_ns = clock::thread_cpu_ns();
    let result = body();
    let spent_ns = clock::thread_cpu_ns().saturating_sub(begun_ns);
    let net_ns = spent_ns.cast_signed().saturating_sub(reading_ns().cast_signed());
    TAKEN_NS.fetch_add(net_ns.saturating_mul(stands_for.cast_signed()), Relaxed);
    result
}

/// What is seen between two readings of the clock with nothing between them, in ns:
/// the median of some. The first ones find cold caches.
fn reading_ns() -> u64 {
    static READING_NS: OnceLock<u64> = OnceLock::new();
    *READING_NS.get_or_init(|| {
        let mut spans = [0; 65];
        let mut before_ns = clock::thread_cpu_ns();
        for span in &mut spans {
            let now_ns = clock::thread_cpu_ns();
            *span = now_ns.saturating_sub(before_ns);
            before_ns = now_ns;
        }
        spans.sort_unstable();
        spans[spans.len() / 2]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses so much CPU time.
    fn work(ns: u64) {
        let begun_ns = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begun_ns < ns {
            std::hint::spin_loop();
        }
    }

    /// One after the other: they share the sum.
    #[test]
    fn what_is_measured_stands_for_all() {
        // Whether one call in 64 is chosen, whatever came before.
        const CALLS: u64 = 640_000;
        let chosen = (0..CALLS).filter(|_| is_chosen()).count() as u64;
        let expected = CALLS / EVERY;
        // Ten standard deviations.
        assert!(chosen.abs_diff(expected) < 1000, "{chosen}, not some {expected}");
        let pairs = (0..CALLS).filter(|_| is_chosen() && is_chosen()).count() as u64;
        let expected = CALLS / EVERY / EVERY;
        assert!(pairs.abs_diff(expected) < 130, "{pairs} in a row, not some {expected}");

        let before_ns = taken_ns();
        rare_callback(|| work(5_000_000));
        let one_ns = taken_ns() - before_ns;
        assert!(one_ns >= 4_900_000, "{one_ns}");
        // What it waits for costs nothing.
        let before_ns = taken_ns();
        rare_callback(|| std::thread::sleep(std::time::Duration::from_millis(50)));
        let slept_ns = taken_ns() - before_ns;
        assert!(slept_ns < 25_000_000, "{slept_ns}");

        // 4000 calls of 20 µs: 80 ms, of which some 62 are measured, of as
        // many on average: a standard deviation is an eighth.
        let (before_ns, begun_ns) = (taken_ns(), clock::thread_cpu_ns());
        (0..4000).for_each(|_| callback(|| work(20_000)));
        let (seen_ns, used_ns) = (taken_ns() - before_ns, clock::thread_cpu_ns() - begun_ns);
        assert!(seen_ns > used_ns / 4 && seen_ns < used_ns * 2, "{seen_ns} of {used_ns}");
    }
}
