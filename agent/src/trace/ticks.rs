//! A clock that is cheap to read: the processor's counter where it runs at one
//! rate on all cores and never stops, else the monotonic clock.

use crate::clock;
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// The counter's rate: ns = ticks × `FACTOR` >> 32.
static FACTOR: AtomicU64 = AtomicU64::new(0);
/// When the agent first looked: ticks and ns.
static ANCHOR: OnceLock<(u64, u64)> = OnceLock::new();

/// The counter now; never 0.
#[inline]
pub fn now() -> u64 {
    if FACTOR.load(Relaxed) == 0 { clock::now_ns() } else { counter() | 1 }
}

/// What a span of ticks is in ns.
#[inline]
pub fn to_ns(ticks: u64) -> u64 {
    match FACTOR.load(Relaxed) {
        0 => ticks,
        factor => ((u128::from(ticks) * u128::from(factor)) >> 32) as u64,
    }
}

/// ns = ticks × this >> 32.
pub fn factor() -> u64 {
    match FACTOR.load(Relaxed) {
        0 => 1 << 32,
        factor => factor,
    }
}

/// Starts to measure the rate; as early as possible.
pub fn anchor() {
    ANCHOR.get_or_init(read_both);
}

/// How long the agent has been there, in ticks.
pub fn since_anchor() -> u64 {
    let &(ticks, ns) = ANCHOR.get_or_init(read_both);
    if FACTOR.load(Relaxed) == 0 {
        clock::now_ns().saturating_sub(ns)
    } else {
        counter().saturating_sub(ticks)
    }
}

/// Uses the counter from now on, if it can be trusted and has been watched
/// for a while. Before anything is measured only: spans of two clocks do not mix.
pub fn calibrate() {
    if !is_steady() {
        return;
    }
    let &(ticks_0, ns_0) = ANCHOR.get_or_init(read_both);
    // 20 ms, of which a reading's error of some 50 ns is 3 ppm.
    const WATCH_NS: u64 = 20_000_000;
    let watched = clock::now_ns().saturating_sub(ns_0);
    if watched < WATCH_NS {
        std::thread::sleep(std::time::Duration::from_nanos(WATCH_NS - watched));
    }
    let (ticks, ns) = read_both();
    let (ticks, ns) = (ticks.wrapping_sub(ticks_0), ns.saturating_sub(ns_0));
    if let Some(factor) = (u128::from(ns) << 32).checked_div(u128::from(ticks))
        && let Ok(factor) = u64::try_from(factor)
    {
        FACTOR.store(factor, Relaxed);
    }
}

/// What [`now`] and the monotonic clock say at one moment. A thread that loses its
/// processor between the two readings has them some milliseconds apart, so they
/// are read again where they took too long.
pub fn now_of_both() -> (u64, u64) {
    /// Of a reading: some 20 times what it takes.
    const CLOSE_NS: u64 = 1_000;
    if FACTOR.load(Relaxed) == 0 {
        let ns = clock::now_ns();
        return (ns, ns);
    }
    let mut closest = read_once();
    for _ in 1..READINGS {
        if to_ns(closest.0) <= CLOSE_NS {
            break;
        }
        closest = closest.min(read_once());
    }
    closest.1
}

/// What the monotonic clock said at a moment in ticks that has passed.
pub fn moment_ns(moment: u64) -> u64 {
    let (ticks, ns) = now_of_both();
    ns.saturating_sub(to_ns(ticks.saturating_sub(moment)))
}

/// How often both clocks are read at the most, for one moment.
const READINGS: usize = 8;

/// Both clocks at one moment, as nearly as can be had: the closest of some.
fn read_both() -> (u64, u64) {
    let closest = (0..READINGS).map(|_| read_once()).min();
    closest.map_or((0, 0), |(_, both)| both)
}

/// The counter and the monotonic clock, behind how far apart they may be, in ticks.
fn read_once() -> (u64, (u64, u64)) {
    let before = counter();
    let ns = clock::now_ns();
    let width = counter().wrapping_sub(before);
    (width, (before.wrapping_add(width / 2), ns))
}

/// Linux has checked the counter of each core against the others before it
/// chose it for its own clock.
fn is_steady() -> bool {
    if cfg!(target_arch = "aarch64") {
        return true;
    }
    const FLAGS: &str = "/proc/cpuinfo";
    let flags = std::fs::read_to_string(FLAGS).unwrap_or_default();
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(source).unwrap_or_default();
    let trusted = matches!(source.trim(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page");
    trusted && flags.contains("constant_tsc") && flags.contains("nonstop_tsc")
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; an operating system
    // that forbids it is not Linux.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: reads the virtual counter, which Linux lets every process do.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    clock::now_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_agree_with_the_monotonic_clock() {
        anchor();
        calibrate();
        let (began, began_ns) = now_of_both();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (ended, ended_ns) = now_of_both();
        let (ticks, ns) = (to_ns(ended - began), ended_ns - began_ns);
        assert!(ticks.abs_diff(ns) < ns / 100, "{ticks} ticks in ns, {ns} ns");
    }

    /// More threads than processors, so that this one loses its own now and then.
    #[test]
    fn both_clocks_are_read_at_one_moment() {
        anchor();
        calibrate();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let spin = || {
            while !stop.load(Relaxed) {
                std::hint::spin_loop();
            }
        };
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let farthest_ns = std::thread::scope(|scope| {
            (0..2 * processors).for_each(|_| drop(scope.spawn(spin)));
            let (began, began_ns) = now_of_both();
            let mut farthest_ns = 0;
            while clock::now_ns() - began_ns < 300_000_000 {
                let (ticks, ns) = now_of_both();
                farthest_ns = farthest_ns.max(to_ns(ticks - began).abs_diff(ns - began_ns));
            }
            stop.store(true, Relaxed);
            farthest_ns
        });
        // The rate was measured over 20 ms only: it may be off by some ppm.
        assert!(farthest_ns < 300_000, "{farthest_ns} ns");
    }
}
