//! Durations.

use super::{About, Form, Kind, about};
use crate::{error::Wrong, values::Threshold};
use std::time::Duration;

/// The longest duration that can be asked for, ns.
pub(crate) const HOUR_NS: u64 = 3_600_000_000_000;
/// A day, ns.
pub(crate) const DAY_NS: u64 = 24 * HOUR_NS;

/// The units, the longest first.
const UNITS: [(&str, u64); 9] = [
    ("d", DAY_NS),
    ("h", HOUR_NS),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
];

/// Reads a duration in ns: numbers and their units, as in `1.5ms` or `1m30s`; 0
/// needs no unit.
fn read_ns(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    if !text.contains(|c| !is_number(c)) {
        return text.parse().ok().filter(|&number: &f64| number == 0.0).map(|_| 0);
    }
    let (mut rest, mut sum_ns) = (text, 0.0);
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c| !is_number(c))?);
        let (unit, next) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        let (_, unit_ns) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum_ns += number.parse::<f64>().ok()? * *unit_ns as f64;
        rest = next;
    }
    // What is too large becomes the largest.
    Some(sum_ns.round() as u64)
}

/// Writes a duration in the longest unit of which it is a multiple.
fn write_ns(ns: u64) -> String {
    match UNITS.iter().find(|(_, unit_ns)| ns.is_multiple_of(*unit_ns)) {
        Some((unit, unit_ns)) if ns != 0 => format!("{}{unit}", ns / unit_ns),
        _ => ns.to_string(),
    }
}

/// A duration within limits, in ns; that is how the log has it.
pub(crate) struct Period {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Period {
    fn limits(&self) -> String {
        format!("from {} to {}", write_ns(self.from_ns), write_ns(self.to_ns))
    }
}

impl Kind for Period {
    type Value = u64;

    fn read_text(&self, text: &str) -> Result<u64, Wrong> {
        let ns = read_ns(text).filter(|ns| (self.from_ns..=self.to_ns).contains(ns));
        ns.ok_or_else(|| {
            Wrong::new(format!("is not a duration {}, like 10ms, 0.5s or 20s", self.limits()))
        })
    }

    fn write(&self, value: &u64) -> String {
        write_ns(*value)
    }

    fn write_to_log(&self, value: &u64) -> String {
        value.to_string()
    }

    fn about(&self) -> About {
        let (from, to) = (self.from_ns, self.to_ns);
        let accepted = ["2.5ms", &write_ns(from), &write_ns(to)];
        let beyond = [format!("{}ns", from - 1), format!("{}ns", to + 1)];
        let refused = ["", "0", "50", "-5ms", "often", &beyond[0], &beyond[1]];
        About { limits: Some(self.limits()), ..about(Form::One, &accepted, &refused) }
    }
}

/// A duration of any length.
pub(crate) struct Length;

impl Kind for Length {
    type Value = Duration;

    fn read_text(&self, text: &str) -> Result<Duration, Wrong> {
        read_ns(text).map(Duration::from_nanos).ok_or_else(|| Wrong::new("is not a duration"))
    }

    fn write(&self, value: &Duration) -> String {
        write_ns(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
    }

    fn about(&self) -> About {
        about(Form::One, &["86400s", "15000000000ns"], &["", "long"])
    }
}

/// The least that is longer and can be read: of numbers of ns as large as those of years, every
/// fourth or so can be told from the next.
fn longer(ns: u64) -> u64 {
    ns + 1 + (ns >> 52)
}

/// A long duration within limits, such as the age of a file.
pub(crate) struct Span {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Kind for Span {
    type Value = Duration;

    fn read_text(&self, text: &str) -> Result<Duration, Wrong> {
        let ns = read_ns(text).filter(|ns| (self.from_ns..=self.to_ns).contains(ns));
        ns.map(Duration::from_nanos).ok_or_else(|| {
            let (from, to) = (write_ns(self.from_ns), write_ns(self.to_ns));
            Wrong::new(format!("is not a duration from {from} to {to}, like 1h or 30d"))
        })
    }

    fn write(&self, value: &Duration) -> String {
        Length.write(value)
    }

    fn about(&self) -> About {
        let (from, to) = (write_ns(self.from_ns), write_ns(self.to_ns));
        let beyond = [format!("{}ns", self.from_ns - 1), format!("{}ns", longer(self.to_ns))];
        let refused = ["", "0", "50", "-5h", "often", &beyond[0], &beyond[1]];
        let limits = Some(format!("from {from} to {to}"));
        About { limits, ..about(Form::One, &["12h", &from, &to], &refused) }
    }
}

/// Below which duration waits are folded.
pub(crate) struct ThresholdKind;

impl Kind for ThresholdKind {
    type Value = Threshold;

    fn read_text(&self, text: &str) -> Result<Threshold, Wrong> {
        if text == "auto" {
            return Ok(Threshold::Auto);
        }
        let wrong =
            || Wrong::new("is neither auto, 0 nor a duration like 500ns, 50us, 1.5ms or 2s");
        match read_ns(text).ok_or_else(wrong)? {
            ns if ns > HOUR_NS => Err(Wrong::new("is longer than an hour")),
            ns => Ok(Threshold::Ns(ns)),
        }
    }

    fn write(&self, value: &Threshold) -> String {
        match value {
            Threshold::Auto => "auto".to_owned(),
            Threshold::Ns(ns) => write_ns(*ns),
        }
    }

    fn about(&self) -> About {
        let accepted = ["50us", "auto", "0", "1.5ms", "2s", "1h"];
        let mut about = about(Form::One, &accepted, &["", "5", "-1ms", "5 parsecs", "3601s"]);
        about.limits = Some("up to 1h".to_owned());
        about
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, ns) in [
            ("0", 0),
            ("0.0", 0),
            ("500ns", 500),
            ("50us", 50_000),
            ("50µs", 50_000),
            ("2.3us", 2_300),
            (" 1.5ms ", 1_500_000),
            ("2s", 2_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1h", HOUR_NS),
            ("1d12h", 36 * HOUR_NS),
            ("99999999999999999999s", u64::MAX),
        ] {
            assert_eq!(read_ns(text), Some(ns), "{text}");
        }
        for text in ["", "5", "ms", "-1ms", "1e3s", "5 s", "1ms5", "1.2.3s", "5w", "s5"] {
            assert_eq!(read_ns(text), None, "{text}");
        }
        for text in ["50ms", "1h", "30d", "90s", "1500us", "7ns", "5m"] {
            assert_eq!(write_ns(read_ns(text).unwrap()), text);
        }
        assert_eq!(write_ns(0), "0");
    }

    #[test]
    fn periods_have_limits() {
        let period = Period { from_ns: 1_000_000, to_ns: HOUR_NS };
        for (text, ns) in [("1ms", 1_000_000), ("50ms", 50_000_000), ("2s", 2_000_000_000)] {
            assert_eq!(period.read_text(text), Ok(ns));
        }
        for text in ["", "0", "50", "0.9ms", "999us", "3601s", "1e3s", "-5ms"] {
            let message = period.read_text(text).unwrap_err().to_string();
            assert!(message.contains("from 1ms to 1h"), "{text}: {message}");
        }
    }

    #[test]
    fn thresholds_are_auto_or_durations() {
        let read = |text| ThresholdKind.read_text(text);
        assert_eq!(read("auto"), Ok(Threshold::Auto));
        assert_eq!(read("0"), Ok(Threshold::Ns(0)));
        assert_eq!(read("50µs"), Ok(Threshold::Ns(50_000)));
        assert_eq!(read("7200s").unwrap_err().to_string(), "is longer than an hour");
        assert!(
            read("5").unwrap_err().to_string().starts_with("is neither auto, 0 nor a duration")
        );
    }

    #[test]
    fn a_sample_may_be_long() {
        assert_eq!(Length.read_text("86400s"), Ok(Duration::from_secs(86_400)));
        assert_eq!(Length.read_text("15000000000ns"), Ok(Duration::from_secs(15)));
        assert!(Length.read_text("long").is_err());
    }
}
