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
