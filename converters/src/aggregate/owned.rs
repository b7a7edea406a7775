//! Waits told apart by who had the lock when they began.
//!
//! Few readers of a profile want to know, and it makes a row for each owner, so it is a
//! pass of its own, over the events alone: folded waits do not tell.

use super::{
    build::thread_of, hash::Table, ids::LogIds, known::known_thread, result::Aggregate, sums::Sums,
};
use crate::{
    filter::{Filter, Window},
    profile::{NO_OWNER, WaitRow},
};
use rayon::prelude::*;
use std::collections::BTreeSet;
use tyrion_formats::{ChunkRef, Event, Recording};
use tyrion_wire::WaitKind;

/// Thread, stack, lock and kind by their ids in the profile, and the owner, by that in
/// the log and then in the profile.
type Key = (u32, u32, u32, WaitKind, u32);

/// The waits of a profile's rows whose owner is known.
type Owned = Table<Key, Sums>;

/// Tells the waits of a profile apart by who had the lock when they began, where that is
/// known: a row becomes one for each owner and one for the rest, whose longest wait may
/// then be one that has an owner. Sums stay.
///
/// Nothing is changed if more than `most` sums of thread, stack, lock, kind and owner
/// would be needed for a log; then the result is false. `logs` and `filter` are those
/// of the aggregate.
pub fn split_by_owner(
    logs: &[Recording],
    filter: &Filter,
    most: usize,
    aggregate: &mut Aggregate,
) -> bool {
    let mut owners = Vec::new();
    let mut parts: Vec<(Key, Sums)> = Vec::new();
    for ((run, log), ids) in (0..).zip(logs).zip(&aggregate.ids) {
        let Some(owned) = owned(log, &filter.window(log), ids, most) else { return false };
        let of_log: BTreeSet<u32> = owned.keys().map(|key| key.4).collect();
        let of_log: Vec<u32> = of_log.into_iter().collect();
        let first = owners.len() as u32;
        owners.extend(of_log.iter().map(|&owner| thread_of(log, run, owner)));
        parts.extend(owned.into_iter().map(|((thread, stack, lock, kind, owner), sums)| {
            let at = of_log.binary_search(&owner).unwrap_or_else(|at| at);
            ((thread, stack, lock, kind, first + at as u32), sums)
        }));
    }
    parts.par_sort_unstable_by_key(|(key, _)| *key);
    let profile = &mut aggregate.profile;
    profile.waits = split(&profile.waits, &parts);
    profile.owners = owners;
    true
}

/// The waits of a log whose owner is known; `None` if there are too many sums.
fn owned(log: &Recording, window: &Window, ids: &LogIds, most: usize) -> Option<Owned> {
    let few = |owned: Owned| (owned.len() <= most).then_some(owned);
    let of_chunk = |mut owned: Owned, chunk: &ChunkRef| {
        // Chunks that are damaged were left out before, too.
        if let Ok(mut events) = log.events(chunk) {
            events.visit(|event| add(&mut owned, log, window, ids, event));
        }
        few(owned)
    };
    let both = |mut owned: Owned, other: Owned| {
        for (key, sums) in other {
            owned.entry(key).or_default().add(&sums);
        }
        few(owned)
    };
    // Whether there are too many does not depend on how the chunks are shared out: no
    // part has more than the whole.
    let chunks = log.event_chunks().par_iter();
    chunks.try_fold(Owned::default, of_chunk).try_reduce(Owned::default, both)
}

fn add(owned: &mut Owned, log: &Recording, window: &Window, ids: &LogIds, event: &Event) {
    let is_known = event.owner != 0 && log.definitions().threads().get(event.owner).is_some();
    if !is_known || !window.takes(event) {
        return;
    }
    let thread = ids.thread(known_thread(log, event.thread));
    if let Some((thread, (stack, lock, kind))) = thread.zip(ids.site(event.site)) {
        let key = (thread, stack, lock, kind, event.owner);
        owned.entry(key).or_default().add_wait(event.wait_ns());
    }
}

/// The rows, each cut into those of its parts and the rest; both in order.
fn split(rows: &[WaitRow], parts: &[(Key, Sums)]) -> Vec<WaitRow> {
    let mut split = Vec::with_capacity(rows.len() + parts.len());
    let mut parts = parts.iter().peekable();
    for row in rows {
        let mut rest = *row;
        let key = (row.thread, row.stack, row.lock, row.kind);
        let is_of_row = |part: &&(Key, Sums)| {
            let (thread, stack, lock, kind, _) = part.0;
            (thread, stack, lock, kind) == key
        };
        while let Some(((.., owner), sums)) = parts.next_if(is_of_row) {
            let Sums { count, wait_ns, max_ns } = *sums;
            split.push(WaitRow { owner: *owner, count, wait_ns, max_ns, ..*row });
            rest.count = rest.count.saturating_sub(count);
            rest.wait_ns = rest.wait_ns.saturating_sub(wait_ns);
        }
        if rest.count != 0 || rest.wait_ns != 0 {
            split.push(WaitRow { owner: NO_OWNER, ..rest });
        }
    }
    split
}
