//! Rows of a profile that are added up where they are equal.

use crate::profile::{LinkRow, Profile, Row};
use rayon::prelude::*;

/// Sorts rows and adds up those that have the same key.
pub(crate) fn merge<R: Row + Send>(rows: &mut Vec<R>) {
    rows.par_sort_unstable_by_key(R::key);
    rows.dedup_by(|next, kept| {
        let same = next.key() == kept.key();
        if same {
            kept.add(next);
        }
        same
    });
}

/// Gives rows to other threads and stacks, and adds up those that are equal
/// then.
pub(crate) fn remap(
    profile: &mut Profile,
    thread: impl Fn(u32) -> u32,
    stack: impl Fn(u32) -> u32,
) {
    for row in &mut profile.waits {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
    }
    for row in &mut profile.acquisitions {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
    }
    for row in &mut profile.sections {
        row.thread = thread(row.thread);
    }
    let charged = profile.blames.iter_mut().chain(&mut profile.wakes);
    for row in charged.chain(&mut profile.operations) {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
        row.waiter_stack = stack(row.waiter_stack);
    }
    for row in &mut profile.links {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
    }
    profile.links.sort_by_key(LinkRow::key);
    for row in &mut profile.samples {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
    }
    merge(&mut profile.waits);
    merge(&mut profile.acquisitions);
    merge(&mut profile.sections);
    merge(&mut profile.blames);
    merge(&mut profile.wakes);
    merge(&mut profile.operations);
    merge(&mut profile.samples);
}
