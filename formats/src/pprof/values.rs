//! Which of a sample's values are waits.

use crate::summed::WaitTotals;
use std::borrow::Cow;
use tyrion_harmless as harmless;

/// What profilers call how long threads waited: Go, Tyrion, jfrconv, others.
const TIMES: [&str; 9] =
    ["delay", "lock", "locks", "contention", "contentions", "mutex", "block", "wait", "lock_time"];
/// What they call how often.
const COUNTS: [&str; 8] =
    ["contentions", "contention", "lock", "locks", "mutex", "block", "waits", "lock_count"];

/// Which of a sample's values are waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitValues {
    pub(super) count: Option<usize>,
    /// With the length of its unit in ns.
    pub(super) time: Option<(usize, u64)>,
    /// Whether they are of locks, by their names.
    pub(super) is_of_locks: bool,
}

/// The length of a unit, in ns; `None` if it is none of time.
fn unit_ns(unit: &str) -> Option<u64> {
    Some(match unit {
        "nanoseconds" | "nanosecond" | "ns" => 1,
        "microseconds" | "microsecond" | "us" => 1_000,
        "milliseconds" | "millisecond" | "ms" => 1_000_000,
        "seconds" | "second" | "s" => 1_000_000_000,
        _ => return None,
    })
}

impl WaitValues {
    /// Chooses from types by their names and units: the one that is asked for, and
    /// otherwise those of waits.
    ///
    /// # Errors
    /// What is wrong, if there is none.
    pub(super) fn of(
        types: &[(Cow<'_, str>, Cow<'_, str>)],
        wanted: Option<&str>,
    ) -> Result<WaitValues, String> {
        let time = |at: usize| Some((at, unit_ns(&types.get(at)?.1)?));
        let count = types
            .iter()
            .position(|(name, unit)| COUNTS.contains(&&**name) && unit_ns(unit).is_none());
        let Some(wanted) = wanted else {
            let found = types
                .iter()
                .position(|(name, unit)| TIMES.contains(&&**name) && unit_ns(unit).is_some());
            let time = found.and_then(time);
            return match count.is_none() && time.is_none() {
                true => Err(format!(
                    "none of its sample types ({}) is known to be one of waits; name one with \
                     --sample-type",
                    listed(types)
                )),
                false => Ok(WaitValues { count, time, is_of_locks: true }),
            };
        };
        let Some(at) = types.iter().position(|(name, _)| name == wanted) else {
            let wanted = harmless::name(wanted);
            return Err(format!("it has no sample type {wanted}, but: {}", listed(types)));
        };
        let is_of_locks = TIMES.contains(&wanted) || COUNTS.contains(&wanted);
        Ok(match time(at) {
            Some(time) => WaitValues { count, time: Some(time), is_of_locks },
            None => WaitValues { count: Some(at), time: None, is_of_locks },
        })
    }

    /// What the values of a sample say; `None` if a number is below 0, as in a
    /// difference of profiles, or too large.
    pub(super) fn waits(&self, values: &[i64]) -> Option<WaitTotals> {
        let value = |at: usize| u64::try_from(values.get(at).copied().unwrap_or(0)).ok();
        let wait_ns = match self.time {
            Some((at, unit_ns)) => value(at)?.checked_mul(unit_ns)?,
            None => 0,
        };
        let count = match self.count {
            // Some scale both and round: a wait that took time was one.
            Some(at) => value(at)?.max(u64::from(wait_ns != 0)),
            None => wait_ns.min(1),
        };
        Some(WaitTotals { count, wait_ns })
    }
}

/// `contentions/count, delay/nanoseconds`.
pub(super) fn listed(types: &[(Cow<'_, str>, Cow<'_, str>)]) -> String {
    let of_type = |(name, unit): &(Cow<'_, str>, Cow<'_, str>)| format!("{name}/{unit}");
    let all: Vec<String> = types.iter().take(20).map(of_type).collect();
    harmless::text(&all.join(", ")).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    fn types(texts: &[&'static str]) -> Vec<(Cow<'static, str>, Cow<'static, str>)> {
        let both = texts.iter().map(|text| text.split_once('/').unwrap());
        both.map(|(name, unit)| (name.into(), unit.into())).collect()
    }

    #[test]
    fn values_of_waits_are_found() {
        let of = |texts: &[&'static str], wanted| WaitValues::of(&types(texts), wanted);
        let go = ["contentions/count", "delay/nanoseconds"];
        let both = WaitValues { count: Some(0), time: Some((1, 1)), is_of_locks: true };
        assert_eq!(of(&go, None), Ok(both));
        assert_eq!(of(&go, Some("delay")), Ok(both));
        assert_eq!(of(&go, Some("contentions")), Ok(WaitValues { time: None, ..both }));
        let time = WaitValues { count: None, time: Some((0, 1)), is_of_locks: true };
        assert_eq!(of(&["lock/nanoseconds"], None), Ok(time));
        let cpu = ["samples/count", "cpu/milliseconds"];
        let chosen = WaitValues { time: Some((1, 1_000_000)), ..WaitValues::default() };
        assert_eq!(of(&cpu, Some("cpu")), Ok(chosen));
        let error = of(&cpu, None).unwrap_err();
        assert!(error.contains("samples/count, cpu/milliseconds"), "{error}");
        assert!(of(&cpu, Some("delay")).unwrap_err().contains("no sample type delay"));
        assert!(of(&[], None).is_err());
    }

    #[test]
    fn waits_are_read_of_values() {
        let both = WaitValues { count: Some(0), time: Some((1, 1_000)), is_of_locks: true };
        let waits = |count, wait_ns| Some(WaitTotals { count, wait_ns });
        assert_eq!(both.waits(&[3, 7]), waits(3, 7_000));
        assert_eq!(both.waits(&[0, 7]), waits(1, 7_000));
        assert_eq!(both.waits(&[3]), waits(3, 0));
        assert_eq!(both.waits(&[-3, 7]), None);
        assert_eq!(both.waits(&[3, i64::MAX]), None);
        let time = WaitValues { time: Some((0, 1)), ..WaitValues::default() };
        assert_eq!((time.waits(&[9]), time.waits(&[0])), (waits(1, 9), waits(0, 0)));
    }
}
