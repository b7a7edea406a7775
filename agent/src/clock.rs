//! The clock of the log.

/// The name of the clock in the log's metadata.
pub const NAME: &str = "CLOCK_MONOTONIC";

/// Monotonic time, in ns since a moment of the kernel's choice.
#[inline]
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Unix time, in ns.
pub fn wall_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Whether CPU times are exact: where the system counts them in ticks, a
/// thread may run without seeming to.
pub fn cpu_time_is_exact() -> bool {
    let (begun_ns, cpu_ns) = (now_ns(), thread_cpu_ns());
    while now_ns() - begun_ns < 50_000 {
        std::hint::spin_loop();
    }
    // More than a tick is no exact answer either.
    (1..1_000_000).contains(&(thread_cpu_ns() - cpu_ns))
}

/// The CPU time of the current OS thread, in ns.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer. The two clocks that this
    // is called with exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_goes_on() {
        let before = super::now_ns();
        assert!(super::now_ns() >= before);
        assert!(super::wall_ns() > 1_600_000_000_000_000_000);
    }
}
