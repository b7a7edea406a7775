//! Waits of a kind, and samples in a state, added up.

/// Samples added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTotals {
    /// How many snapshots.
    pub snapshots: u64,
    /// The real time that they stand for, in ns.
    pub wall_ns: u64,
    /// The CPU time that was used meanwhile, in ns.
    pub cpu_ns: u64,
}

impl SampleTotals {
    /// Adds others.
    pub fn add(&mut self, other: &SampleTotals) {
        self.snapshots = self.snapshots.saturating_add(other.snapshots);
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }
}

/// The waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindTotals {
    /// Waits with a record of their own.
    pub recorded: u64,
    /// Their durations added up, in ns.
    pub recorded_ns: u64,
    /// Waits below the threshold, folded when recorded.
    pub folded: u64,
    /// Their durations added up, in ns.
    pub folded_ns: u64,
}

impl KindTotals {
    /// All waits, and their durations added up in ns.
    pub fn total(&self) -> (u64, u64) {
        let count = self.recorded.saturating_add(self.folded);
        (count, self.recorded_ns.saturating_add(self.folded_ns))
    }
}

impl std::ops::AddAssign for KindTotals {
    fn add_assign(&mut self, other: KindTotals) {
        self.recorded = self.recorded.saturating_add(other.recorded);
        self.recorded_ns = self.recorded_ns.saturating_add(other.recorded_ns);
        self.folded = self.folded.saturating_add(other.folded);
        self.folded_ns = self.folded_ns.saturating_add(other.folded_ns);
    }
}
