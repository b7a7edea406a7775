//! Equal samples of a thread, one after another, become one record.

use tyrion_wire::sample::Sample;

/// A record stands for so much real time at most, ns: that much is lost when
/// the process is killed.
pub const LONGEST_NS: u64 = 1_000_000_000;

/// What a thread was seen doing: ids are of one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The thread's id in the log.
    pub thread: u32,
    /// Code of the state.
    pub state: u32,
    /// Stack id.
    pub stack: u32,
    /// Code of the kind of wait, 0 for none.
    pub kind: u32,
    /// Lock id, 0 when unknown.
    pub lock: u32,
    /// The owner's thread id, 0 when unknown.
    pub owner: u32,
}

/// What a snapshot charges to what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The time of the snapshot, monotonic ns.
    pub at_ns: u64,
    /// Real time since the thread's sample before, ns.
    pub wall_ns: u64,
    /// CPU time since then, ns.
    pub cpu_ns: u64,
}

/// Snapshots in which the same was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What was seen.
    pub seen: Seen,
    count: u64,
    wall_ns: u64,
    cpu_ns: u64,
    /// The last snapshot, monotonic ns.
    pub last_ns: u64,
}

impl Run {
    /// One snapshot.
    pub fn new(seen: Seen, charge: Charge) -> Run {
        let Charge { at_ns, wall_ns, cpu_ns } = charge;
        Run { seen, count: 1, wall_ns, cpu_ns, last_ns: at_ns }
    }

    /// Adds a snapshot; `false` when it is of something else, or when the run
    /// would become too long.
    pub fn join(&mut self, seen: &Seen, charge: Charge) -> bool {
        let wall_ns = self.wall_ns.saturating_add(charge.wall_ns);
        if *seen != self.seen || wall_ns > LONGEST_NS {
            return false;
        }
        self.count += 1;
        self.wall_ns = wall_ns;
        self.cpu_ns += charge.cpu_ns;
        self.last_ns = charge.at_ns;
        true
    }

    /// Adds CPU time that was used since the last snapshot.
    pub fn add_cpu(&mut self, cpu_ns: u64) {
        self.cpu_ns = self.cpu_ns.saturating_add(cpu_ns);
    }

    /// Whether it is so long that it is better written at once.
    pub fn is_long(&self) -> bool {
        self.wall_ns >= LONGEST_NS
    }

    /// As the log has it.
    pub fn record(&self, delta_ns: u64) -> Sample {
        let Seen { state, stack, kind, lock, owner, .. } = self.seen;
        let Run { count, wall_ns, cpu_ns, .. } = *self;
        Sample { delta_ns, wall_ns, cpu_ns, count, state, stack, kind, lock, owner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Seen = Seen { thread: 1, state: 1, stack: 2, kind: 0, lock: 0, owner: 0 };

    fn charge(at_ns: u64) -> Charge {
        Charge { at_ns, wall_ns: 400_000_000, cpu_ns: 7 }
    }

    #[test]
    fn equal_samples_join_up_to_a_second() {
        let mut run = Run::new(SEEN, charge(1));
        assert!(run.join(&SEEN, charge(2)));
        assert!(!run.join(&SEEN, charge(3)), "more than a second");
        assert!(!run.is_long());
        let record = run.record(5);
        assert_eq!((record.delta_ns, record.count), (5, 2));
        assert_eq!((record.wall_ns, record.cpu_ns, run.last_ns), (800_000_000, 14, 2));
    }

    #[test]
    fn any_difference_begins_another_run() {
        let changes: [fn(&mut Seen); 6] = [
            |seen| seen.thread += 1,
            |seen| seen.state += 1,
            |seen| seen.stack += 1,
            |seen| seen.kind += 1,
            |seen| seen.lock += 1,
            |seen| seen.owner += 1,
        ];
        for change in changes {
            let mut other = SEEN;
            change(&mut other);
            assert!(!Run::new(SEEN, charge(1)).join(&other, charge(2)));
        }
    }

    #[test]
    fn one_long_sample_is_written_at_once() {
        let run = Run::new(SEEN, Charge { wall_ns: 5 * LONGEST_NS, ..charge(1) });
        assert!(run.is_long());
    }
}
