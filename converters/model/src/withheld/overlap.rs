//! When threads waited, and how many at the same time.

use super::evidence::Overlap;
use std::collections::HashMap;

/// Where there would be more spans than that, all are kept that reach into parts
/// of the time, evenly spread: whoever waits at a moment is then known of some
/// moments, and of nobody only in part.
const MAX_SPANS: usize = 1 << 20;
/// The length of such a part, as a power of two of ns: 67 ms.
const PART_BITS: u32 = 26;
/// One part in so many, as a power of two, is looked at at the least.
const MAX_LEVEL: u32 = 24;

/// Spans of time in which something was so, monotonic ns, in no order. Which are
/// kept depends on all that were put in, not on their order.
#[derive(Clone, Debug)]
pub(super) struct Spans<T> {
    list: Vec<TimeSpan<T>>,
    /// One part of the time in so many, as a power of two, is looked at.
    level: u32,
    /// Even one in the most would be too many.
    is_given_up: bool,
    most: usize,
}

/// A span of time that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimeSpan<T> {
    pub(super) of: T,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Spans::with_most(MAX_SPANS)
    }
}

impl<T> Spans<T> {
    fn with_most(most: usize) -> Spans<T> {
        Spans { list: Vec::new(), level: 0, is_given_up: false, most }
    }

    pub(super) fn push(&mut self, of: T, (start_ns, end_ns): (u64, u64)) {
        if !self.is_given_up && looked_at(start_ns, end_ns, self.level) != 0 {
            self.list.push(TimeSpan { of, start_ns, end_ns });
            self.keep_bounds();
        }
    }

    /// Adds others, whatever they are of put into other words by `map`; those of
    /// which it says nothing are left out.
    pub(super) fn add<U>(&mut self, others: Spans<U>, mut map: impl FnMut(U) -> Option<T>) {
        self.is_given_up |= others.is_given_up;
        self.level = self.level.max(others.level);
        let level = self.level;
        self.list.retain(|span| looked_at(span.start_ns, span.end_ns, level) != 0);
        for TimeSpan { of, start_ns, end_ns } in others.list {
            if looked_at(start_ns, end_ns, level) != 0
                && let Some(of) = map(of)
            {
                self.list.push(TimeSpan { of, start_ns, end_ns });
            }
        }
        self.keep_bounds();
    }

    fn keep_bounds(&mut self) {
        while self.list.len() > self.most && self.level < MAX_LEVEL {
            self.level += 1;
            let level = self.level;
            self.list.retain(|span| looked_at(span.start_ns, span.end_ns, level) != 0);
        }
        self.is_given_up |= self.list.len() > self.most;
        if self.is_given_up {
            self.list = Vec::new();
        }
    }

    /// Groups spans by what `key` says, in its order: what each group's threads
    /// did at the same time. `threads` says how many threads a group has, and
    /// `thread` whose a span is.
    pub(super) fn overlaps<K: Ord + Copy>(
        &mut self,
        key: impl Fn(&T) -> K,
        thread: impl Fn(&T) -> u32,
        threads: impl Fn(K) -> u64,
    ) -> Vec<(K, Overlap)> {
        self.list.sort_unstable_by_key(|span| key(&span.of));
        let groups = self.list.chunk_by(|a, b| key(&a.of) == key(&b.of));
        let overlap = |group: &[TimeSpan<T>]| {
            let key = key(&group.first()?.of);
            let spans = group.iter().map(|span| (thread(&span.of), span.start_ns, span.end_ns));
            Some((key, overlap(spans, threads(key), self.level)))
        };
        groups.filter_map(overlap).collect()
    }
}

/// How much of a span is in the parts that are looked at, in ns.
fn looked_at(start_ns: u64, end_ns: u64, level: u32) -> u64 {
    up_to(end_ns, level).saturating_sub(up_to(start_ns, level))
}

/// How much of the time up to a moment is in those parts: the first of so many.
fn up_to(at_ns: u64, level: u32) -> u64 {
    if level == 0 {
        return at_ns;
    }
    let bits = PART_BITS + level;
    let rest = at_ns & ((1 << bits) - 1);
    (at_ns >> bits << PART_BITS) + rest.min(1 << PART_BITS)
}

/// How much of the time any of the threads waited, and all of them did.
fn overlap(spans: impl Iterator<Item = (u32, u64, u64)>, threads: u64, level: u32) -> Overlap {
    let mut edges: Vec<(u64, bool, u32)> = Vec::new();
    for (thread, start_ns, end_ns) in spans {
        edges.push((start_ns, true, thread));
        edges.push((end_ns, false, thread));
    }
    // At one moment, what ends comes first.
    edges.sort_unstable();
    let mut sum = Overlap { threads, ..Overlap::default() };
    // A thread may wait within a wait.
    let mut depths: HashMap<u32, u32> = HashMap::new();
    let (mut waiting, mut last_ns) = (0, 0);
    for (at_ns, begins, thread) in edges {
        let ns = looked_at(last_ns, at_ns, level);
        last_ns = at_ns;
        if waiting != 0 && ns != 0 {
            sum.any_ns = sum.any_ns.saturating_add(ns);
            sum.most = sum.most.max(waiting);
            let all_ns = if waiting >= threads { ns } else { 0 };
            sum.all_ns = sum.all_ns.saturating_add(all_ns);
        }
        let depth = depths.entry(thread).or_default();
        if begins {
            waiting += u64::from(*depth == 0);
            *depth += 1;
        } else {
            *depth = depth.saturating_sub(1);
            waiting -= u64::from(*depth == 0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn of(spans: &[(u32, u64, u64)], threads: u64) -> Overlap {
        overlap(spans.iter().copied(), threads, 0)
    }

    #[test]
    fn who_waits_at_once_is_counted() {
        let sum = of(&[(1, 0, 10), (2, 5, 12), (1, 10, 11), (3, 20, 30)], 3);
        assert_eq!(sum, Overlap { threads: 3, most: 2, any_ns: 22, all_ns: 0 });
        let sum = of(&[(1, 0, 10), (2, 5, 12)], 2);
        assert_eq!(sum, Overlap { threads: 2, most: 2, any_ns: 12, all_ns: 5 });
        assert_eq!(of(&[(1, 0, 10), (1, 2, 4)], 2).most, 1, "a wait within a wait");
        assert_eq!(of(&[(1, 0, 5), (2, 5, 9)], 2).most, 1, "one goes, one comes");
        assert_eq!(of(&[], 0), Overlap::default());
    }

    #[test]
    fn parts_of_the_time_are_evenly_spread() {
        let part = 1 << PART_BITS;
        assert_eq!(looked_at(3, 10, 0), 7);
        assert_eq!(looked_at(0, 2 * part, 1), part);
        assert_eq!(looked_at(part, 2 * part, 1), 0);
        assert_eq!(looked_at(part - 1, 2 * part + 1, 1), 2);
        assert_eq!(looked_at(0, 64 * part, 3), 8 * part);
        assert_eq!(looked_at(9, 3, 2), 0, "made-up times");
        assert!(up_to(u64::MAX, MAX_LEVEL) <= u64::MAX >> 1);
    }

    /// So many of them, by a slow and plain way.
    fn by_moments(spans: &[(u32, u64, u64)], threads: u64) -> Overlap {
        let mut sum = Overlap { threads, ..Overlap::default() };
        for at in 0..60 {
            let mut waiting: Vec<u32> =
                spans.iter().filter(|it| (it.1..it.2).contains(&at)).map(|it| it.0).collect();
            waiting.sort_unstable();
            waiting.dedup();
            let waiting = waiting.len() as u64;
            sum.most = sum.most.max(waiting);
            sum.any_ns += u64::from(waiting != 0);
            sum.all_ns += u64::from(waiting != 0 && waiting >= threads);
        }
        sum
    }

    proptest! {
        #[test]
        fn overlaps_are_those_of_each_moment(
            spans in vec((0u32..4, 0u64..50, 1u64..10), 0..30), threads in 1u64..5,
        ) {
            let spans: Vec<_> =
                spans.into_iter().map(|(thread, at, ns)| (thread, at, at + ns)).collect();
            prop_assert_eq!(of(&spans, threads), by_moments(&spans, threads));
        }

        /// However spans are shared out and in which order they come.
        #[test]
        fn what_is_kept_does_not_depend_on_the_order(
            starts in vec((0u64..40, 1u64..1 << 28), 0..200),
            cut in 0usize..200,
            most in 4usize..60,
        ) {
            let spans: Vec<(u32, (u64, u64))> = starts
                .iter()
                .zip(0..)
                .map(|(&(part, ns), nth)| (nth, (part << PART_BITS, (part << PART_BITS) + ns)))
                .collect();
            let (first, second) = spans.split_at(cut.min(spans.len()));
            let put = |list: &[(u32, (u64, u64))]| {
                let mut all = Spans::with_most(most);
                list.iter().for_each(|&(of, span)| all.push(of, span));
                all
            };
            let whole = put(&spans);
            let mut merged = put(second);
            let mut backwards: Vec<_> = first.to_vec();
            backwards.reverse();
            merged.add(put(&backwards), Some);
            let sorted = |spans: &Spans<u32>| {
                let mut list = spans.list.clone();
                list.sort_unstable();
                (list, spans.level, spans.is_given_up)
            };
            prop_assert_eq!(sorted(&whole), sorted(&merged));
            prop_assert!(whole.list.len() <= most);
        }
    }
}
