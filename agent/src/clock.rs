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

/// How long the machine's processors have been in use, by any process, and that with
/// how long they were idle, in ns; `None` where the system does not tell.
pub fn machine_cpu_ns() -> Option<(u64, u64)> {
    use std::io::Read;
    // The first line is of all processors; those of each are not needed.
    let mut text = [0; 256];
    let read = std::fs::File::open("/proc/stat").ok()?.read(&mut text).ok()?;
    busy_and_all(std::str::from_utf8(text.get(..read)?).ok()?, ticks_per_second()?)
}

fn ticks_per_second() -> Option<u64> {
    // SAFETY: the call reads a number of the system's.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&ticks| ticks != 0)
}

/// Of the beginning of `/proc/stat`: user, nice, system, idle, waiting for I/O, and
/// more that is not idle; times of guests are part of the first two.
fn busy_and_all(text: &str, ticks_per_second: u64) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Option<Vec<u64>> =
        line.split_whitespace().take(8).map(|number| number.parse().ok()).collect();
    let ticks = ticks.filter(|ticks| ticks.len() >= 5)?;
    let all = ticks.iter().fold(0, |sum: u64, number| sum.saturating_add(*number));
    let idle = ticks[3].saturating_add(ticks[4]);
    let ns = |ticks: u64| ticks.saturating_mul(1_000_000_000 / ticks_per_second);
    Some((ns(all.saturating_sub(idle)), ns(all)))
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
    fn the_machines_processors_are_in_use_or_idle() {
        let text = "cpu  100 20 30 1000 50 0 7 3 40 0\ncpu0 1 2 3";
        assert_eq!(super::busy_and_all(text, 100), Some((1_600_000_000, 12_100_000_000)));
        for text in ["", "cpu0 1 2 3 4 5", "cpu  1 2 3", "cpu  1 2 x 4 5"] {
            assert_eq!(super::busy_and_all(text, 100), None, "{text}");
        }
        let (busy_ns, all_ns) = super::machine_cpu_ns().expect("/proc/stat");
        assert!(0 < busy_ns && busy_ns <= all_ns);
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
