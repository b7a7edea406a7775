//! Ends of events, which no other one begins or ends at.
//!
//! JDK Mission Control (`DisjointBuilder`, up to 9.1) puts the events of a type into rows in which
//! none overlaps another. Where one begins or ends in the very nanosecond in which another one of
//! its type has ended, as the wait for a lock begins after that for its condition, its search for a
//! row goes wrong, and it shows whole rows twice. So such an event begins a nanosecond later; it is
//! as long as it was.

/// As many groups of ends are kept, each with the latest of those that belong there.
const GROUPS: usize = 1 << 14;
const OF_GROUP: usize = 8;

/// Ends of earlier events, by type and time: all that are not long past.
pub(super) struct Ends {
    groups: Box<[[(u64, u64); OF_GROUP]]>,
}

impl Ends {
    pub(super) fn new() -> Ends {
        Ends { groups: vec![[(0, 0); OF_GROUP]; GROUPS].into() }
    }

    /// When an event of a type begins to those who read it, in ns of the recording's clock.
    #[inline]
    pub(super) fn beginning(&mut self, of: u64, start_ns: u64, duration_ns: u64) -> u64 {
        let mut start_ns = start_ns;
        while self.is_end(of, start_ns) || self.is_end(of, start_ns + duration_ns) {
            start_ns += 1;
        }
        let end_ns = start_ns + duration_ns;
        let group = &mut self.groups[place(end_ns)];
        group.rotate_right(1);
        group[0] = (of, end_ns);
        start_ns
    }

    #[inline]
    fn is_end(&self, of: u64, at_ns: u64) -> bool {
        self.groups[place(at_ns)].contains(&(of, at_ns))
    }
}

fn place(at_ns: u64) -> usize {
    // The golden ratio spreads numbers that follow each other.
    (at_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % GROUPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_begins_where_another_one_of_its_type_has_ended() {
        let mut ends = Ends::new();
        assert_eq!(ends.beginning(1, 100, 50), 100);
        assert_eq!(ends.beginning(2, 150, 10), 150, "of another type");
        assert_eq!(ends.beginning(1, 150, 1), 151);
        assert_eq!(ends.beginning(1, 150, 10), 151, "until 161");
        assert_eq!(ends.beginning(1, 152, 8), 154, "after the third, and not with the fourth");
        assert_eq!(ends.beginning(1, 140, 21), 142, "not with the fourth, nor the fifth");
    }
}
