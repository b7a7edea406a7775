//! How long it takes from the release of a lock until a waiter continues with it.

use crate::{locks::Locks, occupancy::Occupancy, timeline::Line};

/// The number of handovers kept for each lock.
const MOST: usize = 1_024;
/// If there are fewer with a free processor than this, the others are used, too.
const ENOUGH: usize = 16;
/// The release is recorded before it happens, and the clocks of two processors differ a
/// little.
const SKEW_NS: u64 = 2_000;
/// A waiter that takes longer than this was not woken, or had no processor.
const LONGEST_NS: u64 = 1_000_000;

/// Finds the handovers of all locks.
pub(crate) fn find(
    lines: &[Line],
    locks: &mut Locks,
    occupancy: &Occupancy,
    processors: Option<u32>,
) {
    let mut releases: Vec<Vec<u64>> = vec![Vec::new(); locks.list.len()];
    let mut grants: Vec<Vec<u64>> = vec![Vec::new(); locks.list.len()];
    for line in lines {
        for (all, of) in [(&mut releases, &line.releases), (&mut grants, &line.grants)] {
            for &(lock, at_ns) in of {
                if let Some(of_lock) = all.get_mut(lock as usize) {
                    of_lock.push(at_ns);
                }
            }
        }
    }
    let of_locks = releases.iter_mut().zip(&mut grants);
    for (lock, (releases, grants)) in locks.list.iter_mut().zip(of_locks) {
        releases.sort_unstable();
        grants.sort_unstable();
        let found = grants.iter().filter_map(|&at_ns| {
            let before = releases.partition_point(|&ns| ns <= at_ns.saturating_add(SKEW_NS));
            let released_ns = *releases.get(before.checked_sub(1)?)?;
            let ns = at_ns.saturating_sub(released_ns);
            (ns <= LONGEST_NS).then_some((at_ns, ns))
        });
        lock.handovers_ns = kept(found.collect(), occupancy, processors);
    }
}

/// The handovers that show how long the JVM and the kernel take, without those in which
/// the waiter also waited for a processor, which the replay determines.
fn kept(found: Vec<(u64, u64)>, occupancy: &Occupancy, processors: Option<u32>) -> Vec<u64> {
    let most = processors.unwrap_or(u32::MAX);
    let is_free = |at_ns: u64| occupancy.at(at_ns) <= most;
    let free: Vec<u64> = found.iter().filter(|of| is_free(of.0)).map(|of| of.1).collect();
    let mut all = match free.len() >= ENOUGH {
        true => free,
        false => {
            let mut all: Vec<u64> = found.iter().map(|of| of.1).collect();
            all.sort_unstable();
            all.truncate(all.len().div_ceil(2));
            all
        }
    };
    if all.len() > MOST {
        let step = all.len() as f64 / MOST as f64;
        all = (0..MOST).map(|nth| all[(nth as f64 * step) as usize]).collect();
    }
    all
}
