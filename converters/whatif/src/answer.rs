//! What is predicted, for machines and for people.

use serde::Serialize;

/// How a prediction was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// What was recorded was replayed with the change.
    Replay,
    /// From sums, by the theory of queues: coarse.
    #[default]
    Queueing,
}

/// What a change is predicted to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prediction {
    /// The change: `free`, `hold /2`, `stripes 4`, `read-write`.
    pub change: String,
    /// How it was made.
    pub method: Method,
    /// Throughput afterwards as a multiple of that before: how often the program takes
    /// the lock in the same time.
    pub throughput_ratio: f64,
    /// The lower end of the interval.
    pub low_ratio: f64,
    /// Its upper end.
    pub high_ratio: f64,
    /// By which share throughput grows: `throughput_ratio` less 1.
    pub gain_share: f64,
    /// By which share the time for the same work changes: -0.5 for half of it.
    pub time_share: f64,
    /// What becomes of the threads, by name, those that did most first; empty if they were
    /// not replayed.
    pub threads: Vec<ThreadGain>,
    /// By which share threads that never take the lock get on faster; `null` if there are
    /// none, or if they were not replayed.
    pub others_share: Option<f64>,
    /// How often the lock was taken in a second. `null` if that was not replayed.
    pub recorded_per_second: Option<f64>,
    /// The same in a replay without a change: how well the replay does.
    pub replayed_per_second: Option<f64>,
    /// How many processors there are, as far as it is known.
    pub processors: Option<u32>,
    /// The places that count as reading, of a read-write lock.
    pub reads: Vec<String>,
    /// Why it was not replayed; empty if it was.
    pub not_replayed: String,
    /// What had to be assumed.
    pub assumptions: Vec<String>,
}

/// What a change is predicted to do for threads of a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadGain {
    /// Their name, `http-*` for those that differ in the number at the end.
    pub threads: String,
    /// How many of them there were at a time, at most.
    pub count: u64,
    /// How fast they get on, as a multiple of how fast they did.
    pub throughput_ratio: f64,
}

impl Prediction {
    /// Sets the ratio and its interval, and what follows from them.
    pub(crate) fn set_ratio(&mut self, ratio: f64, low: f64, high: f64) {
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

    /// Whether anything is gained that is more than what cannot be told from nothing.
    pub fn is_gain(&self) -> bool {
        self.gain_share >= LEAST_GAIN
    }
}

/// A smaller gain is none.
const LEAST_GAIN: f64 = 0.02;

/// To four digits behind the point: more is not known, and fewer are easier to read.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// The gain of a ratio: `+42 %`, `−3 %`, and of much `×5.2`.
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
        prediction.set_ratio(1.600_04, 1.5, 2.0);
        assert_eq!(prediction.gain(), "+60 % (+50 % to +100 %)");
        assert_eq!((prediction.gain_share, prediction.time_share), (0.6, -0.375));
        assert!(prediction.is_gain());
    }
}
