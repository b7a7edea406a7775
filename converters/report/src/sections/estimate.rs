//! How far hold times that were estimated may be off.
//!
//! Trace mode measures some holds and takes the others to be like them. What a
//! place's holds took in all is then known up to an error that depends on how
//! many were measured, and how different they were. Where acquisitions were counted in
//! bursts, it is not quite known either how many holds there were; and they contain
//! more of the probes than elsewhere, which are not in the processor's caches then.

use tyrion_model::profile::SectionRow;
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
    /// Of measured holds.
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

/// How much the holds of a row differ: their standard deviation, in ns, and how skewed they
/// are, 0 where long ones are no farther from the mean than short ones. Both at most, as
/// far as the histogram tells.
fn spread(row: &SectionRow) -> (f64, f64) {
    let even = Moments::of(&row.histogram);
    if even.count == 0.0 || row.acquisitions == 0 {
        return (0.0, 0.0);
    }
    let mean = row.hold_ns as f64 / row.acquisitions as f64;
    let scale = mean / (even.sum / even.count);
    let (mut squares, mut cubes) = (0.0, 0.0);
    for (bucket, &holds) in row.histogram.iter().enumerate().filter(|(_, holds)| **holds != 0) {
        let (count, low) = (holds as f64, bucket_floor_ns(bucket).max(1) as f64);
        let high = (2.0 * low).min(row.longest_ns as f64).max(low);
        let (square, cube) = if count * RARE < even.count {
            (high * high, high.powi(3))
        } else {
            // Those of this mean differ most that are as short or as long as they can be.
            let mean = (1.5 * low * scale).clamp(low, high);
            let square = (low + high) * mean - low * high;
            (square, square * high)
        };
        squares += count * square;
        cubes += count * cube;
    }
    let (squares, cubes) = (squares / even.count, cubes / even.count);
    let deviation = (squares - mean * mean).max(0.0).sqrt().max(even.deviation());
    let third = (cubes - 3.0 * mean * squares + 2.0 * mean.powi(3)).max(0.0);
    let skewness = if deviation > 0.0 { third / deviation.powi(3) } else { 0.0 };
    (deviation, skewness)
}

/// A bucket with less than one hold in so many is taken to have none but its longest: these
/// are what the error comes from.
const RARE: f64 = 8.0;

/// How far the hold time of a row may be off since not all holds were measured, in ns: 0
/// where they were, and all of it where there are too few to tell.
///
/// The others may differ from the mean that they count as because that is one of some holds
/// alone, and because they are not many themselves. Where long holds are rare, too few of
/// them are measured too often: by the first term of Cornish and Fisher's expansion the
/// error is the larger for it.
fn of_the_mean_ns(row: &SectionRow) -> u64 {
    let others = row.acquisitions.saturating_sub(row.measured);
    if others == 0 || row.hold_ns == 0 {
        return 0;
    }
    if row.basis < 2 {
        return row.hold_ns;
    }
    let (others, basis) = (others as f64, row.basis as f64);
    let (deviation, skewness) = spread(row);
    let errors = ERRORS + (ERRORS * ERRORS - 1.0) * skewness / (6.0 * basis.sqrt());
    // It may be more than all that the holds are said to have taken, where none of the long
    // ones is among those of which the mean is.
    (errors * deviation * (others * others / basis + others).sqrt()) as u64
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
    use tyrion_formats::HoldMode;
    use tyrion_wire::{WaitKind, cell::bucket, trace::AcquisitionCell};

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
            basis: measured,
            longest_ns,
            histogram,
        }
    }

    fn error_ns(row: &SectionRow) -> u64 {
        let mut error = Error::default();
        error.add(row);
        error.ns(u64::MAX)
    }

    /// As the agent measures: so many holds first, then one in each run of so many.
    const FIRST: u64 = 10_240;
    const ONE_IN: u64 = 64;

    struct Chance(u64);

    impl Chance {
        /// From 0 to 1, without 1.
        fn next(&mut self) -> f64 {
            // xorshift64*
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// How long a hold lasts, in ns.
    type Holds = fn(&mut Chance) -> f64;

    const HOLDS: [(&str, Holds); 7] = [
        ("constant", |_| 1_300.0),
        ("exponential", |chance| -1_300.0 * (1.0 - chance.next()).ln()),
        ("half 2 us, half 20 us", |chance| if chance.next() < 0.5 { 2_000.0 } else { 20_000.0 }),
        ("half 1.1 us, half 2 us", |chance| if chance.next() < 0.5 { 1_100.0 } else { 2_000.0 }),
        ("2 % 100 times", |chance| if chance.next() < 0.02 { 130_000.0 } else { 1_300.0 }),
        ("2 % 100 times, near 2^n", |chance| if chance.next() < 0.02 { 102e3 } else { 1_020.0 }),
        ("0.2 % 1000 times", |chance| if chance.next() < 0.002 { 1_300e3 } else { 1_300.0 }),
    ];

    /// What a place's row says when it was measured: by how much its hold time is off, and
    /// by how much it is said to be off at most, both as parts of it.
    fn measure(chance: &mut Chance, acquisitions: u64, holds: Holds) -> (f64, f64) {
        let mut cell = AcquisitionCell { acquisitions, ..AcquisitionCell::default() };
        let (mut sum_ns, mut run) = (0, 0);
        for nth in 1..=acquisitions {
            let ns = holds(chance) as u64;
            sum_ns += ns;
            if nth > FIRST && (nth - FIRST) % ONE_IN == 1 {
                run = nth + (chance.next() * ONE_IN as f64) as u64;
            }
            let (count, sum) = match nth {
                ..=FIRST => (&mut cell.first_count, &mut cell.first_ns),
                _ if nth == run => (&mut cell.sampled_count, &mut cell.sampled_ns),
                _ => continue,
            };
            (*count, *sum) = (*count + 1, *sum + ns);
            cell.max_ns = cell.max_ns.max(ns);
            cell.histogram[bucket(ns)] += 1;
        }
        let mode = HoldMode::Sampled(ONE_IN);
        let row = SectionRow {
            acquisitions,
            hold_ns: mode.estimate_ns(&cell),
            measured: cell.first_count + cell.sampled_count,
            basis: mode.basis(&cell),
            longest_ns: cell.max_ns,
            histogram: cell.histogram.map(u64::from),
            ..row(0, &[])
        };
        let sum = sum_ns as f64;
        ((row.hold_ns as f64 - sum).abs() / sum, of_the_mean_ns(&row) as f64 / sum)
    }

    #[test]
    fn stated_errors_cover_the_truth_however_holds_are_spread() {
        const PLACES: usize = 400;
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        for (name, holds) in HOLDS {
            for acquisitions in [3_000, 10_000, 14_000, 20_000, 60_000] {
                let measured: Vec<(f64, f64)> =
                    (0..PLACES).map(|_| measure(&mut chance, acquisitions, holds)).collect();
                let is_covered = |(off, stated): &&(f64, f64)| *off <= *stated + 1e-9;
                let covered = measured.iter().filter(is_covered).count() as f64 / PLACES as f64;
                let mean = |of: fn(&(f64, f64)) -> f64| {
                    measured.iter().map(of).sum::<f64>() / PLACES as f64
                };
                let (off, stated) = (mean(|place| place.0), mean(|place| place.1));
                println!(
                    "{name}, {acquisitions}: {:.1} % covered, {:.2} % off, {:.2} % stated",
                    100.0 * covered,
                    100.0 * off,
                    100.0 * stated
                );
                assert!(covered >= 0.95, "{name}, {acquisitions}: {covered}");
                let most = measured.iter().map(|place| place.1).fold(0.0, f64::max);
                assert!(acquisitions > 10_000 || most <= 0.1, "{name}, {acquisitions}: {most}");
            }
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
