//! How far hold times that were estimated may be off.
//!
//! Trace mode measures some holds and takes the others to be like them. What a
//! place's holds took in all is then known up to an error that depends on how
//! many were measured, and how different they were. Where acquisitions were counted in
//! bursts, it is not quite known either how many holds there were; and they contain
//! more of the probes than elsewhere, which are not in the processor's caches then.

use tyrion_converters::profile::SectionRow;
use tyrion_wire::cell::{BUCKETS, bucket_floor_ns};

/// How many standard errors a figure may be off: 95 % of estimates are not further
/// from the truth.
pub(super) const ERRORS: f64 = 2.0;

/// Mean and mean square of measured holds, of which the histogram keeps the power
/// of two: within it they are taken to lie evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    pub(crate) fn of(histogram: &[u64; BUCKETS]) -> Moments {
        let mut moments = Moments::default();
        for (bucket, &holds) in histogram.iter().enumerate().filter(|(_, holds)| **holds != 0) {
            let (count, floor) = (holds as f64, bucket_floor_ns(bucket).max(1) as f64);
            moments.count += count;
            // Of numbers that lie evenly between a and 2a.
            moments.sum += count * 1.5 * floor;
            moments.squares += count * 7.0 / 3.0 * floor * floor;
        }
        moments
    }

    fn deviation(&self) -> f64 {
        if self.count == 0.0 {
            return 0.0;
        }
        let mean = self.sum / self.count;
        (self.squares / self.count - mean * mean).max(0.0).sqrt()
    }

    /// How long the hold is, on the average, that a thread meets which comes at a
    /// random moment: long ones are met more often. In ns; 0 of none.
    pub(crate) fn met_ns(&self) -> f64 {
        if self.sum == 0.0 { 0.0 } else { self.squares / self.sum }
    }
}

/// How far a number of acquisitions may be off, for 95 % of such estimates.
pub(crate) fn within(standard_error: u64) -> u64 {
    standard_error.saturating_mul(ERRORS as u64)
}

/// How far the hold time of a row may be off since not all holds were measured, in ns: 0
/// where they were, and all of it where there are too few to tell.
fn of_the_mean_ns(row: &SectionRow) -> u64 {
    let others = row.acquisitions.saturating_sub(row.measured);
    if others == 0 || row.hold_ns == 0 {
        return 0;
    }
    if row.measured < 2 {
        return row.hold_ns;
    }
    let of_the_mean = Moments::of(&row.histogram).deviation() / (row.measured as f64).sqrt();
    ((ERRORS * of_the_mean * others as f64) as u64).min(row.hold_ns)
}

/// How far the hold time of a row may be off since its holds were not all counted, in ns.
/// The total is their number times their mean, so it is off by the same share.
fn of_the_count_ns(row: &SectionRow) -> f64 {
    if row.acquisitions == 0 {
        return 0.0;
    }
    let error = ERRORS * row.acquisitions_error as f64;
    row.hold_ns as f64 * error / row.acquisitions as f64
}

/// How far the hold times of rows may be off, added up. The means of different rows have
/// nothing to do with each other, so the squares of their errors add up; their numbers come
/// from the same bursts, so these errors add up themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Error {
    squares: f64,
    counted_ns: f64,
    /// How much longer holds may seem in bursts. This is no chance, and adds to the rest.
    of_probes_ns: f64,
}

impl Error {
    pub(crate) fn add(&mut self, row: &SectionRow) {
        self.squares += (of_the_mean_ns(row) as f64).powi(2);
        self.counted_ns += of_the_count_ns(row);
        self.of_probes_ns += row.of_probes_ns as f64;
    }

    pub(crate) fn merge(&mut self, other: Error) {
        self.squares += other.squares;
        self.counted_ns += other.counted_ns;
        self.of_probes_ns += other.of_probes_ns;
    }

    /// That of all holds together, which took `hold_ns`, in ns.
    pub(crate) fn ns(self, hold_ns: u64) -> u64 {
        self.by_chance_ns().saturating_add(self.of_probes_ns as u64).min(hold_ns)
    }

    /// What of it is chance, in ns.
    pub(crate) fn by_chance_ns(self) -> u64 {
        (self.squares + self.counted_ns * self.counted_ns).sqrt() as u64
    }

    /// The same as if the number of holds were known, in ns: what the mean hold is off by,
    /// times their number.
    pub(crate) fn ns_of_the_mean(self, hold_ns: u64) -> u64 {
        ((self.squares.sqrt() + self.of_probes_ns) as u64).min(hold_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_wire::{WaitKind, cell::bucket};

    fn row(acquisitions: u64, holds: &[u64]) -> SectionRow {
        let mut histogram = [0; BUCKETS];
        holds.iter().for_each(|&ns| histogram[bucket(ns)] += 1);
        let (measured, sum) = (holds.len() as u64, holds.iter().sum::<u64>());
        let hold_ns = (acquisitions * sum).checked_div(measured).unwrap_or(0);
        let (thread, frame, lock, kind) = (0, 0, 0, WaitKind::Monitor);
        let (reentrant, failed, longest_ns) = (0, 0, holds.iter().copied().max().unwrap_or(0));
        SectionRow {
            thread,
            frame,
            lock,
            kind,
            acquisitions,
            uncounted: 0,
            acquisitions_error: 0,
            reentrant,
            reentrant_error: 0,
            failed,
            hold_ns,
            of_probes_ns: 0,
            measured,
            longest_ns,
            histogram,
        }
    }

    fn error_ns(row: &SectionRow) -> u64 {
        let mut error = Error::default();
        error.add(row);
        error.ns(u64::MAX)
    }

    #[test]
    fn the_error_shrinks_with_what_was_measured() {
        let equal = |count: usize| vec![1_000; count];
        assert_eq!(error_ns(&row(100, &equal(100))), 0, "all were measured");
        assert_eq!(error_ns(&row(100, &equal(1))), 100_000, "one says little");
        assert_eq!(error_ns(&row(100, &[])), 0, "nothing is claimed");
        let (few, many) = (error_ns(&row(10_000, &equal(4))), error_ns(&row(10_000, &equal(400))));
        assert!(many * 9 < few && few < 10_000_000, "{few} {many}");
        let mut mixed = equal(399);
        mixed.push(1_000_000);
        assert!(error_ns(&row(10_000, &mixed)) > 20 * many, "a rare long one makes it uncertain");
    }

    #[test]
    fn long_holds_are_met_more_often() {
        let mut histogram = [0; BUCKETS];
        assert_eq!(Moments::of(&histogram).met_ns(), 0.0);
        (histogram[bucket(1_000)], histogram[bucket(8_000_000)]) = (999, 1);
        let met_ns = Moments::of(&histogram).met_ns();
        assert!((3e6..12e6).contains(&met_ns), "{met_ns}");
    }

    #[test]
    fn errors_of_means_add_up_as_squares_and_those_of_numbers_as_they_are() {
        // A single hold says nothing of others, so that all of these may be off.
        let of_means = [3_000, 4_000].map(|ns| row(2, &[ns / 2]));
        let mut error = Error::default();
        error.add(&of_means[0]);
        let mut other = Error::default();
        other.add(&of_means[1]);
        error.merge(other);
        assert_eq!((error.ns(u64::MAX), error.ns_of_the_mean(u64::MAX)), (5_000, 5_000));

        // 10 000 ns in all: 3 % of the number is 6 % for 95 % of estimates.
        let in_bursts = SectionRow { acquisitions_error: 3, ..row(100, &[100; 100]) };
        let mut error = Error::default();
        error.add(&in_bursts);
        assert_eq!((error.ns(u64::MAX), error.ns_of_the_mean(u64::MAX)), (600, 0));
        error.add(&in_bursts);
        assert_eq!(error.ns(u64::MAX), 1_200);
        // Both: 1 200 ns and 1 600 ns.
        error.add(&row(2, &[800]));
        assert_eq!((error.ns(u64::MAX), error.ns_of_the_mean(u64::MAX)), (2_000, 1_600));
        // What the probes take is no chance.
        error.add(&SectionRow { of_probes_ns: 50, ..row(100, &[100; 100]) });
        error.add(&SectionRow { of_probes_ns: 50, ..row(100, &[100; 100]) });
        assert_eq!((error.ns(u64::MAX), error.ns_of_the_mean(u64::MAX)), (2_100, 1_700));
        assert_eq!((error.by_chance_ns(), error.ns(70), error.ns_of_the_mean(60)), (2_000, 70, 60));
    }

    #[test]
    fn made_up_errors_do_no_harm() {
        let row = row(1, &[1]);
        let wild = SectionRow { acquisitions_error: u64::MAX, hold_ns: u64::MAX, ..row };
        assert_eq!(error_ns(&wild), u64::MAX);
        assert_eq!(error_ns(&SectionRow { acquisitions: 0, ..wild }), 0);
        assert_eq!(within(u64::MAX), u64::MAX);
    }
}
