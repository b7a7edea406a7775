//! How far hold times that were estimated may be off.
//!
//! Trace mode measures some holds and takes the others to be like them. What a
//! place's holds took in all is then known up to an error that depends on how
//! many were measured, and how different they were.

use tyrion_converters::profile::SectionRow;
use tyrion_wire::cell::{BUCKETS, bucket_floor_ns};

/// How many standard errors a figure may be off: 95 % of estimates are not further
/// from the truth.
const ERRORS: f64 = 2.0;

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

/// How far the hold time of a row may be off, in ns: 0 where all holds were
/// measured, and all of it where there are too few to tell.
pub(crate) fn error_ns(row: &SectionRow) -> u64 {
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

/// Errors added up that have nothing to do with each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Error {
    squares: f64,
}

impl Error {
    pub(crate) fn add(&mut self, error_ns: u64) {
        self.squares += (error_ns as f64).powi(2);
    }

    pub(crate) fn merge(&mut self, other: Error) {
        self.squares += other.squares;
    }

    /// In ns.
    pub(crate) fn ns(self) -> u64 {
        self.squares.sqrt() as u64
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
            reentrant,
            failed,
            hold_ns,
            measured,
            longest_ns,
            histogram,
        }
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
    fn errors_add_up_as_squares() {
        let mut error = Error::default();
        error.add(3_000);
        let mut other = Error::default();
        other.add(4_000);
        error.merge(other);
        assert_eq!(error.ns(), 5_000);
    }
}
