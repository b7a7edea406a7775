//! How much of the processors was in use, as `jdk.CPULoad` says about once a second.

use tyrion_wire::cost;

/// From this share of the recording on, what is known of a part is taken for the whole.
const MOST: f64 = 0.5;

/// What one event tells of the time since the one before it, as shares of all processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CpuLoad {
    /// When it was measured, in ns.
    pub(super) at_ns: u64,
    /// What the program used.
    program: f64,
    /// What all processes of the machine used.
    machine: f64,
}

impl CpuLoad {
    /// From the bits of the event's numbers; `None` if these are no shares.
    pub(super) fn new(at_ns: u64, [user, system, machine]: [u64; 3]) -> Option<CpuLoad> {
        let share = |bits: u64| {
            let share = f64::from(f32::from_bits(u32::try_from(bits).ok()?));
            (0.0..=1.0).contains(&share).then_some(share)
        };
        let program = (share(user)? + share(system)?).min(1.0);
        Some(CpuLoad { at_ns, program, machine: share(machine)? })
    }
}

/// The sums over a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuLoads {
    /// Up to when the load is known, in ns.
    last_ns: u64,
    /// For how long it is known, in ns.
    known_ns: u64,
    /// How long one processor would have been in use if it were the only one, in ns.
    program_ns: f64,
    machine_ns: f64,
}

impl CpuLoads {
    /// Takes up the load since the last one, or since the chunk with it began.
    pub(super) fn add(&mut self, load: CpuLoad, chunk_start_ns: u64) {
        let span_ns = load.at_ns.saturating_sub(self.last_ns.max(chunk_start_ns));
        self.last_ns = self.last_ns.max(load.at_ns);
        self.known_ns = self.known_ns.saturating_add(span_ns);
        self.program_ns += load.program * span_ns as f64;
        self.machine_ns += load.machine * span_ns as f64;
    }

    /// Statistics as the agent has them, of so many processors over the whole recording; none if
    /// too little of it is known.
    pub(super) fn statistics(&self, processors: u64, recorded_ns: u64) -> Vec<(&'static str, u64)> {
        let known = self.known_ns as f64;
        if self.known_ns == 0 || processors == 0 || known < MOST * recorded_ns as f64 {
            return Vec::new();
        }
        let all_ns = processors as f64 * recorded_ns as f64;
        let of = |sum_ns: f64| (sum_ns / known * all_ns) as u64;
        vec![
            (cost::PROCESS, of(self.program_ns)),
            (cost::MACHINE_BUSY, of(self.machine_ns)),
            (cost::MACHINE_ALL, of(known)),
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn load(at_ns: u64, shares: [f32; 3]) -> Option<CpuLoad> {
        CpuLoad::new(at_ns, shares.map(|share| share.to_bits().into()))
    }

    #[test]
    fn loads_are_weighed_by_the_time_that_they_tell_of() {
        let mut loads = CpuLoads::default();
        loads.add(load(101 * S, [0.25, 0.25, 0.75]).unwrap(), 100 * S);
        loads.add(load(104 * S, [0.0, 0.0, 0.25]).unwrap(), 100 * S);
        // Its own chunk began later: nothing is known of the time between.
        loads.add(load(108 * S, [0.0, 0.5, 0.5]).unwrap(), 107 * S);
        // 1 of 5 s at one half, and 1 of 5 s again: of 2 processors in 10 s.
        let told = loads.statistics(2, 10 * S);
        assert_eq!(
            told,
            [(cost::PROCESS, 4 * S), (cost::MACHINE_BUSY, 8 * S), (cost::MACHINE_ALL, 20 * S)]
        );
    }

    #[test]
    fn what_is_known_of_too_little_is_not_told() {
        let mut loads = CpuLoads::default();
        assert!(loads.statistics(2, S).is_empty());
        loads.add(load(S, [0.5, 0.0, 0.5]).unwrap(), 0);
        assert!(loads.statistics(0, S).is_empty());
        assert!(loads.statistics(2, 3 * S).is_empty());
        assert!(!loads.statistics(2, 2 * S).is_empty());
        // Time that goes back adds nothing.
        loads.add(load(0, [1.0, 0.0, 1.0]).unwrap(), 0);
        assert_eq!(loads.statistics(1, S)[0], (cost::PROCESS, S / 2));
    }

    #[test]
    fn what_is_no_share_is_not_taken_up() {
        for share in [f32::NAN, f32::INFINITY, -0.1, 1.1] {
            assert_eq!(load(S, [share, 0.0, 0.5]), None, "{share}");
            assert_eq!(load(S, [0.0, 0.0, share]), None, "{share}");
        }
        assert!(load(S, [1.0, 1.0, 1.0]).is_some());
        assert_eq!(CpuLoad::new(S, [u64::MAX; 3]), None);
    }
}
