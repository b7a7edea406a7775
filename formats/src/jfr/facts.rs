//! What a recording says of itself: its settings, and the JVM.

use super::{
    constants::Constants,
    layout::Tells,
    metadata::{Types, Values},
};
use tyrion_wire::header::Header;

/// How often threads are sampled if the recording does not say, in ns.
const USUAL_PERIOD_NS: u64 = 20_000_000;

/// What a recording says of itself.
#[derive(Debug)]
pub(super) struct Facts {
    /// Waits that are shorter than this are missing, in ns: the greatest of the
    /// thresholds of the events of waits that are on.
    threshold_ns: u64,
    /// How often threads are sampled, in ns.
    pub(super) period_ns: u64,
    pid: u32,
    /// Keys and values for the metadata.
    texts: Vec<(&'static str, String)>,
}

impl Default for Facts {
    fn default() -> Self {
        Facts { threshold_ns: 0, period_ns: USUAL_PERIOD_NS, pid: 0, texts: Vec::new() }
    }
}

impl Facts {
    pub(super) fn take_up(
        &mut self,
        tells: Tells,
        values: &Values<'_>,
        constants: &Constants<'_>,
        types: &Types,
    ) {
        let [id, ..] = values.numbers;
        let text = |slot: usize| {
            let text = values.texts.get(slot).copied().unwrap_or_default();
            constants.text(text)
        };
        match tells {
            Tells::Setting => {
                let of = types.by_id(id).map_or("", |of| of.name.as_str());
                self.setting(of, &text(1), &text(2));
            }
            Tells::Jvm => {
                let version = text(1);
                self.put("jvm", format!("{} {version}", text(0)).trim().to_owned());
                // What follows are arguments, which may hold secrets.
                let java = text(2);
                self.put("program", java.split(' ').next().unwrap_or_default().to_owned());
                self.pid = u32::try_from(values.numbers.get(4).copied().unwrap_or(0)).unwrap_or(0);
            }
            Tells::Cpu => self.put("processors", id.to_string()),
            _ => {}
        }
    }

    fn setting(&mut self, of: &str, name: &str, value: &str) {
        let is_wait = matches!(
            of,
            "jdk.JavaMonitorEnter"
                | "jdk.JavaMonitorWait"
                | "jdk.ThreadPark"
                | "profiler.NativeLock"
        );
        match name {
            "threshold" if is_wait => {
                self.threshold_ns = self.threshold_ns.max(duration_ns(value).unwrap_or(0));
            }
            "period" if of == "jdk.ExecutionSample" => {
                self.period_ns = duration_ns(value).filter(|&ns| ns != 0).unwrap_or(self.period_ns);
            }
            _ => {}
        }
    }

    /// The first value of a key counts.
    fn put(&mut self, key: &'static str, value: String) {
        let is_known = self.texts.iter().any(|(known, _)| *known == key);
        if !value.is_empty() && !is_known {
            self.texts.push((key, value));
        }
    }

    /// Puts all of it into a log's header.
    pub(super) fn finish(mut self, header: &mut Header, has_waits: bool, has_samples: bool) {
        header.threshold_ns = self.threshold_ns;
        header.pid = self.pid;
        let mode = match (has_waits, has_samples) {
            (false, true) => "sample",
            (true, true) => "contention+sample",
            (_, false) => "contention",
        };
        self.put("mode", mode.to_owned());
        if has_samples {
            self.put("period", self.period_ns.to_string());
        }
        self.texts.sort_unstable();
        header.metadata =
            self.texts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    }
}

/// A duration as settings have it, `20 ms`; in ns.
fn duration_ns(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let factor = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_settings_are_read() {
        for (text, ns) in
            [("20 ms", Some(20_000_000)), ("0 ns", Some(0)), ("1 d", Some(86_400_000_000_000))]
        {
            assert_eq!(duration_ns(text), ns);
        }
        for text in ["", "20", "everyChunk", "-1 ms", "99999999999999 d"] {
            assert_eq!(duration_ns(text), None, "{text}");
        }
    }
}
