//! Numbers about sampling, for the log.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the log calls the CPU time that snapshots took.
pub const OWN_TIME: &str = "own.sample_ns";

/// Numbers about sampling, for the log.
#[derive(Default)]
pub struct SampleStatistics {
    /// Snapshots.
    pub snapshots: AtomicU64,
    /// Records.
    pub records: AtomicU64,
    /// Samples whose thread had to be asked for its stack.
    pub walks: AtomicU64,
    /// Stacks that the JVM would not give.
    pub unseen: AtomicU64,
    /// Records that the log has no room for.
    pub lost: AtomicU64,
    /// Snapshots that came late, since others had taken too long.
    pub put_off: AtomicU64,
    /// CPU time of the thread that takes the snapshots, ns.
    pub own_ns: AtomicU64,
}

impl SampleStatistics {
    /// By the names that they have in the log.
    pub fn values(&self) -> [(&'static str, u64); 7] {
        [
            ("samples.snapshots", self.snapshots.load(Relaxed)),
            ("samples.records", self.records.load(Relaxed)),
            ("samples.walks", self.walks.load(Relaxed)),
            ("samples.unseen", self.unseen.load(Relaxed)),
            ("samples.lost", self.lost.load(Relaxed)),
            ("samples.put_off", self.put_off.load(Relaxed)),
            (OWN_TIME, self.own_ns.load(Relaxed)),
        ]
    }
}
