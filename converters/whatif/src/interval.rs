//! How far off a prediction may be.

/// Between which ratios the truth most likely lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// No figure is more accurate than this: two runs of one program differ by as much.
const LEAST_DOUBT: f64 = 0.04;
/// What a replay does not model (memory, caches, the compiler) is taken to make up for so much of
/// a gain. It was chosen to fit the programs of `docs/whatif.md`, and not checked with others.
const UNMODELLED: f64 = 0.10;
/// Holds that are estimated from waits are less exact by this.
const ESTIMATED: f64 = 0.10;
/// If other programs had all processors, the rest was by chance: so much more.
const DISTURBED: f64 = 0.25;
/// The truth lies within so many standard deviations of the predictions for parts of a recording.
const DEVIATIONS: f64 = 1.65;

/// What is known of the recording that a prediction is made from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubt<'a> {
    /// The predictions for parts of it.
    pub(crate) windows: &'a [f64],
    /// The share of the machine's processors that other programs had.
    pub(crate) others: f64,
    pub(crate) is_estimated: bool,
}

impl Interval {
    /// Covers all of these, which are not empty.
    pub(crate) fn covering(ratios: &[f64]) -> Interval {
        Interval {
            low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            high: ratios.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Wide enough for what is known of the recording.
    #[must_use]
    pub(crate) fn widened(self, ratio: f64, doubt: &Doubt<'_>) -> Interval {
        let gain = (ratio - 1.0).max(0.0);
        let unmodelled = UNMODELLED + if doubt.is_estimated { ESTIMATED } else { 0.0 };
        let off = LEAST_DOUBT + unmodelled * gain.min(1.0) + DISTURBED * doubt.others;
        let spread = (DEVIATIONS * deviation(doubt.windows)).exp();
        let factor = (1.0 + off).max(spread);
        Interval { low: self.low.min(ratio / factor), high: self.high.max(ratio * factor) }
    }
}

/// The standard deviation of the logarithms; 0 if there are too few.
fn deviation(ratios: &[f64]) -> f64 {
    if ratios.len() < 3 {
        return 0.0;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.max(f64::MIN_POSITIVE).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
    (squares / (logs.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Interval = Interval { low: 2.9, high: 3.1 };

    #[test]
    fn a_calm_recording_has_a_narrow_interval() {
        let of = NARROW.widened(3.0, &Doubt::default());
        assert!(of.low < 2.7 && of.high > 3.4 && of.high / of.low < 1.5, "{of:?}");
        let none = Interval { low: 1.0, high: 1.0 }.widened(1.0, &Doubt::default());
        assert!(none.low < 0.97 && none.high > 1.03 && none.high < 1.06, "{none:?}");
    }

    #[test]
    fn load_and_estimates_widen_it() {
        let width = |doubt: Doubt<'_>| {
            let of = NARROW.widened(3.0, &doubt);
            of.high / of.low
        };
        let calm = width(Doubt::default());
        assert!(width(Doubt { others: 0.5, ..Doubt::default() }) > calm * 1.2);
        assert!(width(Doubt { is_estimated: true, ..Doubt::default() }) > calm * 1.15);
    }

    #[test]
    fn parts_that_differ_widen_it() {
        let windows = [2.0, 3.0, 3.0, 4.5];
        let of = NARROW.widened(3.0, &Doubt { windows: &windows, ..Doubt::default() });
        assert!(of.low < 2.0 && of.high > 4.5, "{of:?}");
        let alike = [3.0, 3.01, 2.99, 3.0];
        let same = NARROW.widened(3.0, &Doubt { windows: &alike, ..Doubt::default() });
        assert_eq!(same, NARROW.widened(3.0, &Doubt::default()));
    }
}
