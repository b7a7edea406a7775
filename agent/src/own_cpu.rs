//! How much CPU time the agent's code takes on threads of the program.
//!
//! To read a thread's CPU clock takes a system call, a part of a microsecond and on
//! virtual machines more, which is as long as some callbacks take. So one call in
//! [`EVERY`], chosen by chance, is measured, and stands for that many. The CPU clock
//! is the right one although it is dear: where threads wait for a processor, as
//! they do in a busy program, the monotonic one would charge the agent with that.
//! What the thread waits for, as a lock of the agent's, is no CPU time either.
//!
//! Now and then a call takes a thousand times as long as the others: the first of its
//! kind, or one on a virtual machine whose host has taken the processor away, which
//! the guest's CPU clock counts. Such a one stands for many only as far as others
//! like it were seen, see [`Chosen::add`]; with 64 of 10 ms, a short program would be
//! told that recording took more than all of its time.

use crate::{clock, random, spawn};
use std::{
    cell::Cell,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

/// One call in so many is measured; a power of two.
const EVERY: u64 = 64;

/// A call stands for others for so many times the mean of those before it.
const USUAL: i64 = 32;
/// The mean is taken for no less than this, in ns: before there are some, too.
const LEAST_MEAN_NS: i64 = 2_000;
/// The same, of calls into the JVM.
const LEAST_MEAN_CALLS: i64 = 16;
/// Longer than this, in ns, no reading of the clock takes: something has come between two.
const MOST_READING_NS: u64 = 5_000;

/// What was measured of calls of which each stands only for itself, in ns. A single
/// one may be less than reading the clock takes.
static RARE_NS: AtomicI64 = AtomicI64::new(0);
static CHOSEN: Chosen = Chosen::new(LEAST_MEAN_NS);
/// The calls into the JVM in the same.
static JVM_CALLS: Chosen = Chosen::new(LEAST_MEAN_CALLS);

thread_local! {
    /// How often this thread has called the JVM, in a call of which each stands for [`EVERY`];
    /// [`UNCOUNTED`] in others.
    static CALLS_HERE: Cell<i64> = const { Cell::new(UNCOUNTED) };
}

const UNCOUNTED: i64 = -1;

/// What the agent's code has taken on threads of the program, in ns; estimated.
pub fn taken_ns() -> u64 {
    RARE_NS.load(Relaxed).saturating_add(CHOSEN.of_all()).max(0).cast_unsigned()
}

/// How often the JVM has called the agent on threads of the program, without what is rare;
/// estimated.
pub fn calls() -> u64 {
    CHOSEN.count.load(Relaxed).saturating_mul(EVERY)
}

/// How often the agent has called the JVM meanwhile; estimated.
pub fn jvm_calls() -> u64 {
    JVM_CALLS.of_all().max(0).cast_unsigned()
}

/// To be told of each call into the JVM: each changes the thread's state twice.
#[inline]
pub fn note_jvm_call() {
    let calls = CALLS_HERE.get();
    if calls != UNCOUNTED {
        CALLS_HERE.set(calls + 1);
    }
}

/// Runs what the JVM has called on whichever thread it is.
#[inline]
pub fn callback<T>(body: impl FnOnce() -> T) -> T {
    if is_chosen() { chosen(body) } else { body() }
}

#[inline(never)]
fn chosen<T>(body: impl FnOnce() -> T) -> T {
    if spawn::is_agents() {
        return body();
    }
    // Some callbacks are met within others.
    let of_outer = CALLS_HERE.replace(0);
    let result = measured(body, |ns| CHOSEN.add(ns));
    JVM_CALLS.add(CALLS_HERE.replace(of_outer));
    result
}

/// The same for what is rare, and may take long: it is always measured.
pub fn rare_callback<T>(body: impl FnOnce() -> T) -> T {
    let of_outer = CALLS_HERE.replace(UNCOUNTED);
    let result = measured(body, |ns| _ = RARE_NS.fetch_add(ns, Relaxed));
    CALLS_HERE.set(of_outer);
    result
}

/// What was measured of calls of which each stands for [`EVERY`], in ns or another unit.
struct Chosen {
    count: AtomicU64,
    /// As far as it is usual.
    usual: AtomicI64,
    /// What was beyond, which stands for itself.
    beyond: AtomicI64,
    least_mean: i64,
}

impl Chosen {
    const fn new(least_mean: i64) -> Chosen {
        let [usual, beyond] = [const { AtomicI64::new(0) }; 2];
        Chosen { count: AtomicU64::new(0), usual, beyond, least_mean }
    }

    /// Adds a call. Where calls become longer, the mean follows within a few of them.
    fn add(&self, value: i64) {
        let count = self.count.fetch_add(1, Relaxed).cast_signed();
        let mean = self.usual.load(Relaxed).checked_div(count).unwrap_or(0);
        let usual = value.min(USUAL * mean.max(self.least_mean));
        self.usual.fetch_add(usual, Relaxed);
        self.beyond.fetch_add(value - usual, Relaxed);
    }

    /// The sum for all calls.
    fn of_all(&self) -> i64 {
        let usual = self.usual.load(Relaxed).saturating_mul(EVERY.cast_signed());
        usual.saturating_add(self.beyond.load(Relaxed))
    }
}

#[inline]
fn is_chosen() -> bool {
    random::number().is_some_and(|number| number >> 32 & (EVERY - 1) == 0)
}

/// Measures a call, in ns, and adds it.
#[inline(never)]
fn measured<T>(body: impl FnOnce() -> T, add: impl FnOnce(i64)) -> T {
    // The agent's own threads count as a whole.
    if spawn::is_agents() {
        return body();
    }
    // What a reading takes depends on what is in the caches by now.
    let reading_begun_ns = clock::thread_cpu_ns();
    let begun_ns = clock::thread_cpu_ns();
    let result = body();
    let spent_ns = clock::thread_cpu_ns().saturating_sub(begun_ns);
    let reading_ns = begun_ns.saturating_sub(reading_begun_ns).min(MOST_READING_NS);
    add(spent_ns.cast_signed().saturating_sub(reading_ns.cast_signed()));
    result
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

    #[test]
    fn one_that_takes_much_longer_stands_for_itself() {
        let chosen = Chosen::new(LEAST_MEAN_NS);
        chosen.add(10_000_000);
        let first_ns = 10_000_000 + 63 * USUAL * LEAST_MEAN_NS;
        assert_eq!(chosen.of_all(), first_ns);
        let chosen = Chosen::new(LEAST_MEAN_NS);
        (0..1000).for_each(|_| chosen.add(5_000));
        assert_eq!(chosen.of_all(), 1000 * 5_000 * 64);
        chosen.add(10_000_000);
        assert_eq!(chosen.of_all(), 1000 * 5_000 * 64 + 10_000_000 + 63 * USUAL * 5_000);
        // So do many calls into the JVM.
        let calls = Chosen::new(LEAST_MEAN_CALLS);
        calls.add(10_000);
        assert_eq!(calls.of_all(), 10_000 + 63 * USUAL * LEAST_MEAN_CALLS);
        // Those of a program with deep stacks all count.
        let chosen = Chosen::new(LEAST_MEAN_NS);
        (0..100).for_each(|_| chosen.add(1_000_000));
        let all_ns = 100 * 1_000_000 * 64;
        assert!(chosen.of_all() > all_ns / 100 * 99, "{} of {all_ns}", chosen.of_all());
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
        let (before, before_ns, begun_ns) = (calls(), taken_ns(), clock::thread_cpu_ns());
        let jvm_calls_before = jvm_calls();
        note_jvm_call();
        (0..4000).for_each(|_| {
            callback(|| {
                work(20_000);
                (0..3).for_each(|_| note_jvm_call());
            });
        });
        let (seen_ns, used_ns) = (taken_ns() - before_ns, clock::thread_cpu_ns() - begun_ns);
        assert!(seen_ns > used_ns / 4 && seen_ns < used_ns * 2, "{seen_ns} of {used_ns}");
        let calls = calls() - before;
        assert!((1_000..16_000).contains(&calls), "{calls}");
        assert_eq!(jvm_calls() - jvm_calls_before, 3 * calls);
    }
}
