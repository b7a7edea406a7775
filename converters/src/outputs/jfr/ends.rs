//! Ends of events that the beginning of none may be equal to.
//!
//! JDK Mission Control (`DisjointBuilder`, up to 9.1) puts the events of a type into rows in which
//! none overlaps another. Where one begins in the very nanosecond in which another one of its type
//! has ended, as the wait for a lock does after that for its condition, its search for a row goes
//! wrong, and it shows whole rows twice. So such an event begins a nanosecond later; it is as long
//! as it was.

/// As many ends are kept.
const KEPT: usize = 1 << 16;

/// Ends of earlier events, by type and time.
pub(super) struct Ends {
    kept: Box<[(u64, u64)]>,
}

impl Ends {
    pub(super) fn new() -> Ends {
        Ends { kept: vec![(0, 0); KEPT].into() }
    }

    /// When an event of a type begins to those who read it, in ns of the recording's clock.
    #[inline]
    pub(super) fn beginning(&mut self, of: u64, start_ns: u64, duration_ns: u64) -> u64 {
        let mut start_ns = start_ns;
        while self.kept[place(of, start_ns)] == (of, start_ns) {
            start_ns += 1;
        }
        let end_ns = start_ns + duration_ns;
        self.kept[place(of, end_ns)] = (of, end_ns);
        start_ns
    }
}

fn place(of: u64, at_ns: u64) -> usize {
    // The golden ratio spreads numbers that follow each other.
    let mixed = (at_ns ^ of << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as usize % KEPT
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
        assert_eq!(ends.beginning(1, 152, 10), 153, "after the third");
    }
}
