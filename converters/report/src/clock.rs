//! Moments of a day, and where to mark them.

use tyrion_model::units;

const SECOND: u64 = 1_000_000_000;

/// Steps between marks, in ns: what people count in.
const STEPS: [u64; 22] = [
    SECOND / 1_000,
    SECOND / 500,
    SECOND / 200,
    SECOND / 100,
    SECOND / 50,
    SECOND / 20,
    SECOND / 10,
    SECOND / 5,
    SECOND / 2,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    60 * SECOND,
    120 * SECOND,
    300 * SECOND,
    600 * SECOND,
    1_800 * SECOND,
    3_600 * SECOND,
    6 * 3_600 * SECOND,
];

/// The time of day of a moment in ns of Unix time, `12:34:56`, with a fraction
/// if it has one that is shown.
pub(crate) fn time(unix_ns: u64) -> String {
    let utc = units::utc(unix_ns);
    let time = utc.get(11..19).unwrap_or_default();
    match unix_ns % SECOND / 1_000_000 {
        0 => time.to_owned(),
        ms => format!("{time}.{ms:03}"),
    }
}

/// A moment in ns of Unix time with its day, always as wide as
/// `2026-11-21 12:34:56.000 UTC`.
pub(crate) fn moment(unix_ns: u64) -> String {
    let utc = units::utc(unix_ns);
    let (day, time) = (utc.get(..10).unwrap_or_default(), utc.get(11..19).unwrap_or_default());
    format!("{day} {time}.{:03} UTC", unix_ns % SECOND / 1_000_000)
}

/// The moments to mark in a span: at most so many, each a multiple of a step
/// that people count in.
pub(crate) fn marks(start_ns: u64, length_ns: u64, at_most: u64) -> Vec<u64> {
    let wide_enough = |step: &&u64| length_ns / **step < at_most;
    let day = 24 * 3_600 * SECOND;
    let step =
        STEPS.iter().find(wide_enough).copied().unwrap_or_else(|| {
            (length_ns / at_most.max(1)).div_ceil(day).max(1).saturating_mul(day)
        });
    let end_ns = start_ns.saturating_add(length_ns);
    let first = start_ns.div_ceil(step).saturating_mul(step);
    let marks = std::iter::successors(Some(first), |mark| mark.checked_add(step));
    marks.take_while(|mark| *mark <= end_ns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day() {
        assert_eq!(time(1_700_000_000 * SECOND), "22:13:20");
        assert_eq!(time(1_700_000_000 * SECOND + SECOND / 2), "22:13:20.500");
        assert_eq!(time(1_700_000_000 * SECOND + 1_000_000), "22:13:20.001");
        assert_eq!(moment(1_700_000_000 * SECOND + 1), "2023-11-14 22:13:20.000 UTC");
    }

    #[test]
    fn marks_are_round_and_few() {
        let start = 1_700_000_000 * SECOND;
        let times = |length, at_most| -> Vec<String> {
            marks(start + 1, length, at_most).into_iter().map(time).collect()
        };
        assert_eq!(
            times(12 * SECOND, 8),
            ["22:13:22", "22:13:24", "22:13:26", "22:13:28", "22:13:30", "22:13:32"]
        );
        assert_eq!(times(3_600 * SECOND, 5), ["22:30:00", "23:00:00"]);
        assert_eq!(times(0, 8), [""; 0]);
        for length in [1, SECOND, 90 * SECOND, 90_000 * SECOND, 1 << 60] {
            assert!(marks(start, length, 8).len() <= 9, "{length}");
        }
    }
}
