//! The entries of a block in the order of time.

use super::{BlockEntry, OWN};

/// Puts entries into the order of time.
pub(super) fn in_order(entries: &mut [BlockEntry]) {
    // Nearly always they are.
    if !entries.is_sorted_by_key(|entry| entry.end_ns) {
        entries.sort_by_key(|entry| entry.end_ns);
    }
}

/// Puts the entries of each thread from [`OWN`] on together, in the order of time: all,
/// and where those of each end.
pub(super) fn by_thread(
    entries: Vec<(u32, BlockEntry)>,
    threads: usize,
) -> (Vec<BlockEntry>, Vec<usize>) {
    let Some(&(_, any)) = entries.first() else { return Default::default() };
    let place = |thread: u32| (thread as usize).wrapping_sub(OWN);
    let mut ends = vec![0; threads.saturating_sub(OWN)];
    for (thread, _) in &entries {
        if let Some(count) = ends.get_mut(place(*thread)) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    // What are starts now becomes the ends.
    let mut sorted = vec![any; entries.len()];
    for (thread, entry) in entries {
        if let Some(at) = ends.get_mut(place(thread)) {
            if let Some(place) = sorted.get_mut(*at) {
                *place = entry;
            }
            *at += 1;
        }
    }
    let mut start = 0;
    for &end in &ends {
        in_order(sorted.get_mut(std::mem::replace(&mut start, end)..end).unwrap_or_default());
    }
    (sorted, ends)
}
