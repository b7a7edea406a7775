//! One clock for all logs.

use std::collections::BTreeSet;
use tyrion_formats::Recording;

/// The clock that all times of a timeline are on: monotonic ns of the recording that
/// began first. Files of one recording are on one clock. Other recordings are put on it
/// by the Unix times at which they began, so they are as exact as the systems' clocks.
/// What does not tell when its waits were, such as a profile, begins when the first of
/// the others does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// What is added to the monotonic times of each log.
    shifts: Vec<i128>,
    /// The number of the first log of its recording, for each log.
    recordings: Vec<u32>,
    start_ns: u64,
    end_ns: u64,
    start_wall_ns: u64,
}

impl Axis {
    /// That of some logs; `recordings` are the numbers of the first logs of their
    /// recordings.
    pub(super) fn new(logs: &[Recording], recordings: &[u32]) -> Axis {
        // What has no times does not say when the others were, but sums alone have a span.
        let is_timed = |recording: u32| {
            let facts = logs.get(recording as usize).map(Recording::facts);
            facts.is_some_and(|facts| facts.start_wall_ns != 0 && !facts.lacks.times)
        };
        let any_timed = recordings.iter().any(|&recording| is_timed(recording));
        let counts = |recording: u32| is_timed(recording) || !any_timed;
        let anchor = |recording: u32| {
            let log = logs.get(recording as usize);
            log.map_or((0, 0), |log| (log.facts().start_wall_ns, log.start_ns()))
        };
        // By Unix time, and by the clock where recordings began at the same time.
        let counted = recordings.iter().copied().filter(|&recording| counts(recording));
        let (base_wall_ns, base_ns) = counted.map(anchor).min().unwrap_or_default();
        let epoch = |(wall_ns, ns): (u64, u64)| i128::from(wall_ns) - i128::from(ns);
        let base_epoch = epoch((base_wall_ns, base_ns));
        let shift = |&recording: &u32| match counts(recording) {
            true => epoch(anchor(recording)) - base_epoch,
            false => i128::from(base_ns) - i128::from(anchor(recording).1),
        };
        let mut axis = Axis {
            shifts: recordings.iter().map(shift).collect(),
            recordings: recordings.to_vec(),
            start_ns: 0,
            end_ns: 0,
            start_wall_ns: base_wall_ns,
        };
        let runs = || (0u32..).zip(logs).filter(|(run, _)| counts(axis.recording(*run)));
        let start_ns = runs().map(|(run, log)| axis.at(run, log.start_ns())).min().unwrap_or(0);
        let end_ns = runs().map(|(run, log)| axis.at(run, log.end_ns())).max().unwrap_or(0);
        (axis.start_ns, axis.end_ns) = (start_ns, end_ns.max(start_ns));
        let later = i128::from(axis.start_ns) - i128::from(base_ns);
        let wall_ns = i128::from(base_wall_ns).saturating_add(later).max(0);
        axis.start_wall_ns = u64::try_from(wall_ns).unwrap_or(u64::MAX);
        axis
    }

    /// Says that something happened at this moment already: a wait may have begun before
    /// its log did.
    pub(super) fn begin_at(&mut self, first_ns: Option<u64>) {
        let earlier_ns = first_ns.map_or(0, |first_ns| self.start_ns.saturating_sub(first_ns));
        self.start_ns -= earlier_ns;
        self.start_wall_ns = self.start_wall_ns.saturating_sub(earlier_ns);
    }

    /// A monotonic time of a log on this clock, in ns.
    #[inline]
    pub fn at(&self, run: u32, mono_ns: u64) -> u64 {
        match self.shifts.get(run as usize) {
            None | Some(0) => mono_ns,
            Some(shift) => {
                let at = i128::from(mono_ns).saturating_add(*shift).max(0);
                u64::try_from(at).unwrap_or(u64::MAX)
            }
        }
    }

    /// The first moment of the logs, or of the first wait if that began earlier, in ns.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// The last moment of the logs, in ns.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// The Unix time of the first moment, in ns.
    pub fn start_wall_ns(&self) -> u64 {
        self.start_wall_ns
    }

    /// How long before a moment of this clock the first one was, in ns.
    pub fn since_start_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.start_ns)
    }

    /// Of how many recordings the logs are.
    pub fn recording_count(&self) -> usize {
        let recordings: BTreeSet<&u32> = self.recordings.iter().collect();
        recordings.len()
    }

    /// The number of the first log of the recording that a log is of. Ids of threads
    /// and locks mean the same in all logs of a recording.
    pub fn recording(&self, run: u32) -> u32 {
        self.recordings.get(run as usize).copied().unwrap_or(run)
    }
}
