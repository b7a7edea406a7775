//! Sums of waits, and how those of pieces become those of a log.

use crate::hash::Table;
use rayon::prelude::*;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Waits added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitSums {
    pub(super) count: u64,
    pub(super) wait_ns: u64,
    pub(super) max_ns: u64,
}

impl WaitSums {
    pub(super) fn of(wait_ns: u64) -> WaitSums {
        WaitSums { count: 1, wait_ns, max_ns: wait_ns }
    }

    #[inline(always)]
    pub(super) fn add_wait(&mut self, wait_ns: u64) {
        self.count += 1;
        self.wait_ns = self.wait_ns.saturating_add(wait_ns);
        self.max_ns = self.max_ns.max(wait_ns);
    }

    pub(super) fn add(&mut self, other: &WaitSums) {
        self.count = self.count.saturating_add(other.count);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// The waits of a thread at a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteSums {
    pub(super) site: u32,
    pub(super) sums: WaitSums,
}

/// The waits of a thread, by site in ascending order.
#[derive(Debug)]
pub(super) struct ThreadSums {
    pub(super) thread: u32,
    pub(super) sites: Vec<SiteSums>,
}

/// By thread and site, in no order.
pub(super) type SparseSums = Table<(u32, u32), WaitSums>;

/// Where the workers put the sums of the pieces that they have done.
#[derive(Default)]
pub(super) struct PieceSums {
    dense: Mutex<BTreeMap<u32, Vec<SiteSums>>>,
    sparse: Mutex<SparseSums>,
}

impl PieceSums {
    /// Adds the sums of one thread's piece; its sites are in ascending order.
    pub(super) fn add_dense(&self, thread: u32, sites: Vec<SiteSums>) {
        // Merged outside the lock, again if another piece came in meanwhile.
        let mut merged = sites;
        loop {
            let mut dense = lock(&self.dense);
            let Some(other) = dense.remove(&thread) else {
                dense.insert(thread, merged);
                return;
            };
            drop(dense);
            merged = merge(merged, other);
        }
    }

    /// Adds sums and leaves `sparse` empty.
    pub(super) fn add_sparse(&self, sparse: &mut SparseSums) {
        let mut all = lock(&self.sparse);
        for (key, sums) in sparse.drain() {
            all.entry(key).or_default().add(&sums);
        }
    }

    /// The sums by thread in ascending order.
    pub(super) fn into_threads(self) -> Vec<ThreadSums> {
        let mut threads = self.dense.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sparse = self.sparse.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut sparse: Vec<_> = sparse.into_iter().collect();
        sparse.par_sort_unstable_by_key(|(key, _)| *key);
        for group in sparse.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
            let thread = group.first().map_or(0, |((thread, _), _)| *thread);
            let sites = group.iter().map(|&((_, site), sums)| SiteSums { site, sums }).collect();
            let dense = threads.remove(&thread).unwrap_or_default();
            threads.insert(thread, merge(dense, sites));
        }
        threads.into_iter().map(|(thread, sites)| ThreadSums { thread, sites }).collect()
    }
}

/// Adds two lists in ascending order of sites.
fn merge(mut a: Vec<SiteSums>, b: Vec<SiteSums>) -> Vec<SiteSums> {
    if a.is_empty() {
        return b;
    }
    a.extend_from_slice(&b);
    drop(b);
    a.sort_unstable_by_key(|entry| entry.site);
    a.dedup_by(|next, kept| {
        let same = next.site == kept.site;
        if same {
            kept.sums.add(&next.sums);
        }
        same
    });
    a
}

/// Locks, whatever became of threads that held the lock before: what it
/// guards is whole between any two statements.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
