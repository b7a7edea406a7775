//! Spans of time and the parts of them that were recorded.

use std::ops::Range;

/// The parts of a span in which recording was on; those of the log are in order.
pub(super) fn within_parts(
    parts: &[Range<u64>],
    (from_ns, to_ns): (u64, u64),
) -> impl Iterator<Item = (u64, u64)> {
    let first = parts.partition_point(|part| part.end <= from_ns);
    let parts = parts.get(first..).unwrap_or_default().iter();
    parts
        .take_while(move |part| part.start < to_ns)
        .map(move |part| (part.start.max(from_ns), part.end.min(to_ns)))
        .filter(|(from_ns, to_ns)| from_ns < to_ns)
}
