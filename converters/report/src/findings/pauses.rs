//! When the garbage collector had all threads stopped.

use std::collections::BTreeMap;
use tyrion_formats::Recording;

/// When there were pauses in each recording that has any, by the number of its first log.
pub(super) fn of(logs: &[Recording], recordings: &[u32]) -> BTreeMap<u32, PauseTimes> {
    let mut pauses: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for (log, &recording) in logs.iter().zip(recordings) {
        let of_log = log.collections().into_iter().map(|it| (it.start_ns, it.end_ns));
        pauses.entry(recording).or_default().extend(of_log);
    }
    let times = pauses.into_iter().map(|(recording, list)| (recording, PauseTimes::new(list)));
    times.filter(|(_, times)| !times.spans.is_empty()).collect()
}

/// When threads were stopped, monotonic ns: in the order of time, without overlaps.
#[derive(Debug, Default)]
pub(super) struct PauseTimes {
    spans: Vec<(u64, u64)>,
    /// How long those before each of them were together, in ns, and all.
    before_ns: Vec<u64>,
}

impl PauseTimes {
    /// Of pauses in any order, of which each has a start and an end.
    pub(super) fn new(mut pauses: Vec<(u64, u64)>) -> PauseTimes {
        pauses.retain(|(start_ns, end_ns)| start_ns < end_ns);
        pauses.sort_unstable();
        let mut spans: Vec<(u64, u64)> = Vec::with_capacity(pauses.len());
        for (start_ns, end_ns) in pauses {
            // Only what is damaged overlaps.
            match spans.last_mut().filter(|last| start_ns <= last.1) {
                Some(last) => last.1 = last.1.max(end_ns),
                None => spans.push((start_ns, end_ns)),
            }
        }
        let mut before_ns = vec![0];
        let mut sum_ns = 0;
        for (start_ns, end_ns) in &spans {
            sum_ns += end_ns - start_ns;
            before_ns.push(sum_ns);
        }
        PauseTimes { spans, before_ns }
    }

    /// The first pause that begins at this time or later.
    pub(super) fn first_from(&self, at_ns: u64) -> usize {
        self.spans.partition_point(|(start_ns, _)| *start_ns < at_ns)
    }

    /// How much of a span they took, in ns. `next` is where [`PauseTimes::first_from`] leads
    /// for the end of an earlier span; it is moved to that of this one.
    #[inline]
    pub(super) fn within_ns(&self, (from_ns, to_ns): (u64, u64), next: &mut usize) -> u64 {
        while self.spans.get(*next).is_some_and(|(start_ns, _)| *start_ns < to_ns) {
            *next += 1;
        }
        match next.checked_sub(1).and_then(|last| self.spans.get(last)) {
            Some(&(_, end_ns)) if end_ns > from_ns => self.sum_ns((from_ns, to_ns), *next),
            _ => 0,
        }
    }

    /// Of a span that ends before the pause `end` begins, and overlaps with the one
    /// before that.
    fn sum_ns(&self, (from_ns, to_ns): (u64, u64), end: usize) -> u64 {
        let first = self.spans.partition_point(|(_, end_ns)| *end_ns <= from_ns);
        let before_ns = |at: usize| self.before_ns.get(at).copied().unwrap_or(0);
        let whole_ns = before_ns(end).saturating_sub(before_ns(first));
        let starts_early = self.spans.get(first).map_or(0, |it| from_ns.saturating_sub(it.0));
        let last = end.checked_sub(1).and_then(|last| self.spans.get(last));
        let ends_late = last.map_or(0, |it| it.1.saturating_sub(to_ns));
        whole_ns.saturating_sub(starts_early).saturating_sub(ends_late)
    }
}

#[cfg(test)]
mod tests {
    use super::PauseTimes;
    use proptest::{collection::vec, prelude::*};

    proptest! {
        /// As if each moment were looked at alone.
        #[test]
        fn spans_are_measured_moment_by_moment(
            pauses in vec((0u64..60, 0u64..60), 0..12),
            mut waits in vec((0u64..60, 0u64..60), 1..20),
        ) {
            let times = PauseTimes::new(pauses.clone());
            let stopped = |at: u64| pauses.iter().any(|(from, to)| (*from..*to).contains(&at));
            // As in a chunk: in the order in which they end.
            waits.iter_mut().for_each(|(from, to)| if *from > *to { std::mem::swap(from, to) });
            waits.sort_by_key(|(_, to)| *to);
            let mut next = times.first_from(waits[0].1);
            for (from, to) in waits {
                let expected = (from..to).filter(|at| stopped(*at)).count() as u64;
                prop_assert_eq!(times.within_ns((from, to), &mut next), expected, "{}..{}", from, to);
            }
        }
    }

    #[test]
    fn times_that_are_damaged_are_measured_all_the_same() {
        let times = PauseTimes::new(vec![(5, u64::MAX), (0, u64::MAX), (7, 3)]);
        assert_eq!(times.within_ns((10, u64::MAX), &mut 0), u64::MAX - 10);
    }
}
