//! Predictions, as JSON and as text for people.

use crate::interval::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// How a prediction was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The recording was replayed with the change.
    Replay,
    /// The same, but who held locks, and for how long, was estimated from waits and from looks
    /// at owners, as contention mode records them.
    Sampled,
    /// Estimated from sums with queueing theory: coarse.
    #[default]
    Queueing,
}

/// The predicted effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    /// The change: `free`, `hold /2`, `stripes 4`, `read-write`.
    pub change: String,
    /// How the prediction was made.
    pub method: Method,
    /// Throughput afterwards as a multiple of that before: how often the program takes
    /// the lock in the same time.
    pub throughput_ratio: f64,
    /// The lower end of the interval.
    pub low_ratio: f64,
    /// Its upper end.
    pub high_ratio: f64,
    /// The share by which throughput grows: `throughput_ratio` minus 1.
    pub gain_share: f64,
    /// The share by which the time for the same work changes: -0.5 for half the time.
    pub time_share: f64,
    /// The effect on threads: the ten names that did most, the first one most; empty if they
    /// were not replayed.
    pub threads: Vec<ThreadGain>,
    /// The share by which threads that never take the lock become faster; `null` if there
    /// are none, or if they were not replayed.
    pub others_share: Option<f64>,
    /// How often per second the lock was taken. `null` if there was no replay.
    pub recorded_per_second: Option<f64>,
    /// The same in a replay without a change, which shows how accurate the replay is.
    pub replayed_per_second: Option<f64>,
    /// The number of processors that the prediction is for. `null` for as many as threads.
    pub processors: Option<u32>,
    /// How many lock objects it is about, as far as threads waited for them.
    pub lock_objects: u64,
    /// If those are several, the effect of the same change on one alone: those with the most
    /// wait, the most first.
    pub objects: Vec<ObjectGain>,
    /// For a read-write lock, the places that count as reading.
    pub reads: Vec<String>,
    /// Why it was not replayed; empty if it was.
    pub not_replayed: String,
    /// What had to be assumed.
    pub assumptions: Vec<String>,
}

/// The predicted effect of a change on the threads of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ThreadGain {
    /// Their name, `http-*` for names that differ in the number at the end.
    pub threads: String,
    /// The most of them that there were at the same time.
    pub count: u64,
    /// Their throughput afterwards as a multiple of that before.
    pub throughput_ratio: f64,
}

/// The predicted effect of a change of one lock object alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ObjectGain {
    /// Its identity in the log.
    pub id: u32,
    /// How long threads waited for it.
    pub wait_ns: u64,
    /// How often the program takes all of these locks afterwards, as a multiple of before.
    pub throughput_ratio: f64,
}

impl Method {
    /// In a word, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Method::Replay => "replay",
            Method::Sampled => "sampled",
            Method::Queueing => "queueing",
        }
    }
}

impl Prediction {
    /// Sets the ratio, its interval, and the fields that follow from them.
    pub(crate) fn set_ratio(&mut self, ratio: f64, Interval { low, high }: Interval) {
        let ratio = rounded(ratio);
        (self.throughput_ratio, self.gain_share) = (ratio, rounded(ratio - 1.0));
        (self.low_ratio, self.high_ratio) = (rounded(low), rounded(high));
        self.time_share = if ratio > 0.0 { rounded(1.0 / ratio - 1.0) } else { 0.0 };
    }

    /// `+42 % (+35 % to +51 %)`.
    pub fn gain(&self) -> String {
        let (low, high) = (percent(self.low_ratio), percent(self.high_ratio));
        format!("{} ({low} to {high})", percent(self.throughput_ratio))
    }

    /// How much is gained, and how surely: the first prediction is that with the largest.
    pub fn rank(&self) -> f64 {
        self.throughput_ratio * self.low_ratio
    }

    /// Whether there is a gain, beyond what cannot be distinguished from none.
    pub fn is_gain(&self) -> bool {
        self.gain_share >= LEAST_GAIN
    }
}

/// A smaller gain counts as none.
const LEAST_GAIN: f64 = 0.02;

/// Rounded to four decimal places: more are not known, and fewer are easier to read.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// The gain of a ratio: `+42 %`, `−3 %`, or `×5.2` if it is large.
pub fn percent(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 3.0 => format!("×{ratio:.1}"),
        ratio => {
            let percent = (100.0 * (ratio - 1.0)).round();
            match percent {
                percent if percent < 0.0 => format!("−{} %", -percent),
                percent if percent > 0.0 => format!("+{percent} %"),
                _ => "0 %".to_owned(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_in_words() {
        for (ratio, words) in [
            (1.0, "0 %"),
            (1.004, "0 %"),
            (0.996, "0 %"),
            (1.42, "+42 %"),
            (0.97, "−3 %"),
            (2.994, "+199 %"),
            (5.23, "×5.2"),
        ] {
            assert_eq!(percent(ratio), words);
        }
        let mut prediction = Prediction::default();
        prediction.set_ratio(1.600_04, Interval { low: 1.5, high: 2.0 });
        assert_eq!(prediction.gain(), "+60 % (+50 % to +100 %)");
        assert_eq!((prediction.gain_share, prediction.time_share), (0.6, -0.375));
        assert!(prediction.is_gain());
    }
}
