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

/// The CPU time of the process, in ns.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The CPU clock of a thread, for others to read while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// That of the current OS thread; `None` where the system has none.
    pub fn current() -> Option<ThreadClock> {
        let mut clock = 0;
        // SAFETY: the thread is the current one, and `clock` a valid place for the
        // answer.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        (failed == 0).then_some(ThreadClock(clock))
    }

    /// What it shows, in ns; 0 when its thread has ended.
    pub fn now_ns(self) -> u64 {
        read(self.0)
    }
}

/// 0 for a clock that there is not, or no more.
#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer. A call that fails leaves it
    // as it is.
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

    #[test]
    fn a_threads_clock_can_be_read_by_others() {
        let (clock, before_ns) = std::thread::spawn(|| {
            let mut sum = 0_u64;
            while super::thread_cpu_ns() < 2_000_000 {
                sum = std::hint::black_box(sum.wrapping_add(1));
            }
            (super::ThreadClock::current().unwrap(), super::thread_cpu_ns())
        })
        .join()
        .unwrap();
        assert!(before_ns >= 2_000_000);
        let own = super::ThreadClock::current().unwrap();
        assert_ne!(own, clock);
        let (low_ns, seen_ns) = (super::thread_cpu_ns(), own.now_ns());
        assert!((low_ns..=super::thread_cpu_ns()).contains(&seen_ns));
        assert!(super::process_cpu_ns() >= before_ns, "that of ended threads counts, too");
    }
}
