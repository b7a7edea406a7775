//! Whether those who have a lock wait for work meanwhile.

/// So many have to be seen at least.
const LEAST: u32 = 4;
/// So many percent of those that were seen have to wait for work.
const PERCENT: u32 = 75;

/// What was seen of the holders of a lock at some moments.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldersSeen {
    /// Of how many it is known.
    pub seen: u32,
    idle: u32,
}

impl HoldersSeen {
    /// Adds a moment: whether one waited for work; `None` if none was seen.
    pub fn add(&mut self, is_idle: Option<bool>) {
        self.seen += u32::from(is_idle.is_some());
        self.idle += u32::from(is_idle == Some(true));
    }

    /// Whether they mostly wait for work.
    pub fn are_idle(&self) -> bool {
        self.seen >= LEAST && self.idle * 100 >= self.seen * PERCENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_idle(seen: &[(Option<bool>, u32)]) -> bool {
        let mut holders = HoldersSeen::default();
        seen.iter().for_each(|&(is_idle, times)| (0..times).for_each(|_| holders.add(is_idle)));
        holders.are_idle()
    }

    #[test]
    fn holders_are_idle_if_most_of_those_seen_are() {
        assert!(are_idle(&[(Some(true), 4)]));
        assert!(!are_idle(&[(Some(true), 3), (None, 9)]));
        assert!(are_idle(&[(Some(true), 6), (Some(false), 2), (None, 8)]));
        assert!(!are_idle(&[(Some(true), 5), (Some(false), 2)]));
        assert!(!are_idle(&[]));
    }
}
