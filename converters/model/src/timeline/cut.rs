//! Cuts time into spans with not too many items each.

use super::{
    chunks::{self, Chunks},
    read::{ItemFilter, Readable, Span},
};

/// Into how many steps a span with too many items is cut.
const STEPS: u64 = 1024;

/// Spans that are cut by what chunks tell of themselves have at most so many times what they
/// should have; otherwise items are counted, for which all chunks are decoded once more.
const ESTIMATED: u64 = 4;

/// Spans that cover all items, one after the other, with about so many items each, and never
/// more than [`ESTIMATED`] times as many; one nanosecond may have more. None if there are no
/// items.
pub(super) fn spans(
    readable: &Readable<'_, '_>,
    chunks: &Chunks<'_>,
    wanted: ItemFilter,
    at_a_time: usize,
) -> Vec<Span> {
    let Some((count, span)) = chunks.extent(wanted) else { return Vec::new() };
    let steps = |span: &Span, step_ns: u64| ((span.to_ns - span.from_ns) / step_ns) as usize + 1;
    let cut = |counts: &Counts<'_>| {
        let mut cut = Cut { at_a_time: at_a_time as u64, counts, spans: Vec::new() };
        cut.add(span, count);
        cut.spans
    };
    let estimated =
        cut(&|span, step_ns| chunks.estimate((wanted, span, step_ns), steps(span, step_ns)));
    let most = (at_a_time as u64).saturating_mul(ESTIMATED);
    if estimated.iter().all(|span| chunks.most_in(wanted, span) <= most) {
        return estimated;
    }
    cut(&|span, step_ns| {
        chunks::counts(readable, chunks, (wanted, span, step_ns), steps(span, step_ns))
    })
}

/// How many items there are in each step of so many ns of a span.
type Counts<'c> = dyn Fn(&Span, u64) -> Vec<u64> + 'c;

struct Cut<'c> {
    at_a_time: u64,
    counts: &'c Counts<'c>,
    spans: Vec<Span>,
}

impl Cut<'_> {
    fn add(&mut self, span: Span, count: u64) {
        let Span { from_ns, to_ns } = span;
        if count <= self.at_a_time || from_ns == to_ns {
            self.spans.push(span);
            return;
        }
        let step_ns = (to_ns - from_ns) / STEPS + 1;
        let (mut begin_ns, mut sum) = (from_ns, 0u64);
        for (nth, count) in (0u64..).zip((self.counts)(&span, step_ns)) {
            // No more than `to_ns`, since there are that few steps.
            let step_from_ns = from_ns + nth * step_ns;
            let step_to_ns = step_from_ns.saturating_add(step_ns - 1).min(to_ns);
            if sum.saturating_add(count) <= self.at_a_time {
                sum += count;
                continue;
            }
            if begin_ns < step_from_ns {
                self.spans.push(Span { from_ns: begin_ns, to_ns: step_from_ns - 1 });
            }
            (begin_ns, sum) = (step_from_ns, count);
            if count > self.at_a_time {
                self.add(Span { from_ns: step_from_ns, to_ns: step_to_ns }, count);
                if step_to_ns == to_ns {
                    return;
                }
                (begin_ns, sum) = (step_to_ns + 1, 0);
            }
        }
        self.spans.push(Span { from_ns: begin_ns, to_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(times: &[u64], at_a_time: u64) -> Vec<Span> {
        let counts = |span: &Span, step_ns: u64| {
            let mut counts = vec![0; ((span.to_ns - span.from_ns) / step_ns) as usize + 1];
            for at in times.iter().filter(|&&at| span.holds(at)) {
                counts[((at - span.from_ns) / step_ns) as usize] += 1;
            }
            counts
        };
        let span = Span {
            from_ns: times.iter().copied().min().unwrap_or(0),
            to_ns: times.iter().copied().max().unwrap_or(0),
        };
        let mut cut = Cut { at_a_time, counts: &counts, spans: Vec::new() };
        cut.add(span, times.len() as u64);
        cut.spans
    }

    fn check(times: &[u64], at_a_time: u64) {
        let spans = cut(times, at_a_time);
        let first = spans.first().map(|span| span.from_ns);
        assert_eq!(first, Some(times.iter().copied().min().unwrap_or(0)));
        for pair in spans.windows(2) {
            assert_eq!(pair[0].to_ns + 1, pair[1].from_ns, "{spans:?}");
        }
        let mut found = 0;
        for span in &spans {
            let count = times.iter().filter(|&&at| span.holds(at)).count() as u64;
            assert!(count <= at_a_time || span.from_ns == span.to_ns, "{count} in {span:?}");
            found += count;
        }
        assert_eq!(found, times.len() as u64, "each item once");
    }

    proptest! {
        #[test]
        fn spans_cover_everything_once(
            times in proptest::collection::vec(
                prop_oneof![0u64..50, 1_000u64..10_000_000, any::<u64>()], 0..200),
            at_a_time in 1u64..20,
        ) {
            check(&times, at_a_time);
        }
    }

    #[test]
    fn crowds_are_cut_to_the_nanosecond() {
        let crowd: Vec<u64> =
            (0..5_000).map(|at| (1 << 40) + at / 4).chain([0, u64::MAX]).collect();
        check(&crowd, 10);
        // What happened at once stays together.
        check(&[7; 100], 3);
        assert_eq!(cut(&[7; 100], 3).len(), 1);
        assert_eq!(cut(&[5, 6, 7], 3), [Span { from_ns: 5, to_ns: 7 }]);
    }
}
