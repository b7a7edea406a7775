//! Waits that took long.

/// Waits that took at least the threshold of their log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// By the stack of the profile in which the thread waited, ascending.
    pub stacks: Vec<(u32, Delay)>,
    /// By thread of the profile, ascending.
    pub threads: Vec<(u32, Delay)>,
}

/// Number and durations of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// How many; one that several files of a recording tell of is one.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
}

impl std::ops::AddAssign for Delay {
    fn add_assign(&mut self, other: Delay) {
        self.count = self.count.saturating_add(other.count);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
    }
}
