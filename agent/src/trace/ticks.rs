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

/// Both clocks at one moment, as nearly as can be had: the closest of some.
fn read_both() -> (u64, u64) {
    let read = || {
        let before = counter();
        let ns = clock::now_ns();
        let after = counter();
        (after.wrapping_sub(before), (before.wrapping_add(after.wrapping_sub(before) / 2), ns))
    };
    let closest = (0..8).map(|_| read()).min_by_key(|&(width, _)| width);
    closest.map_or((0, 0), |(_, both)| both)
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
        let (ticks, ns) = (now(), clock::now_ns());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (ticks, ns) = (to_ns(now() - ticks), clock::now_ns() - ns);
        assert!(ticks.abs_diff(ns) < ns / 100, "{ticks} ticks in ns, {ns} ns");
    }
}
