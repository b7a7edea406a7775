//! What a recording says of itself: its settings, and the JVM.

use super::{
    constants::Constants,
    layout::{Tells, event, slot},
    metadata::{FieldValues, TypeTable},
    names::SamplerKind,
};
use crate::recording::{
    Lacks, Owners, ShortWaits,
    capabilities::{THRESHOLDS, UNKNOWN_THRESHOLDS},
};
use tyrion_wire::header::Header;

/// How often Flight Recorder samples threads if the recording does not say, in ns.
const USUAL_PERIOD_NS: u64 = 20_000_000;
/// The same of async-profiler: of time on a processor, and of time that passes.
const USUAL_CPU_NS: u64 = 10_000_000;
const USUAL_WALL_NS: u64 = 50_000_000;
/// What async-profiler samples by time; other events it samples by their number.
const TIMED: [&str; 6] = ["cpu", "wall", "itimer", "ctimer", "cpu-clock", "task-clock"];

/// The settings of a sort of waits.
#[derive(Clone, Copy, Debug)]
struct WaitSettings {
    event: &'static str,
    is_on: Option<bool>,
    /// Shorter ones are missing, in ns: the greatest if that changed.
    threshold_ns: Option<u64>,
    /// One is recorded each time waiting has added up to so much, in ns: the greatest if
    /// that changed.
    interval_ns: Option<u64>,
}

impl WaitSettings {
    fn is_on(&self) -> bool {
        self.is_on.unwrap_or(self.threshold_ns.or(self.interval_ns).is_some())
    }
}

/// How often threads were sampled, in ns.
#[derive(Clone, Debug, Default)]
struct Periods {
    java_ns: Option<u64>,
    native_ns: Option<u64>,
    /// Of async-profiler's event, whatever that is.
    interval_ns: Option<u64>,
    /// Of async-profiler's samples of time that passes, beside another event.
    wall_ns: Option<u64>,
    /// async-profiler's event; empty if it does not say.
    event: String,
    /// Whether Flight Recorder samples by time that passes, and by time on a processor.
    by_time: bool,
    by_cpu_time: bool,
}

/// What async-profiler says of locks. Both may come in any order.
#[derive(Clone, Copy, Debug, Default)]
struct AsyncLocks {
    /// The number after `lock=`, in ns.
    lock_ns: Option<u64>,
    /// Whether its version is known to be older than 4.0. Until then a wait was recorded if it
    /// took so long; since then one is recorded each time waiting has added up to that.
    is_threshold: bool,
}

/// What a recording says of itself.
#[derive(Debug)]
pub(super) struct Facts {
    waits: [WaitSettings; 4],
    periods: Periods,
    locks: AsyncLocks,
    /// Whether pauses of the collector are recorded.
    collections: Option<bool>,
    /// Whether `tyrion convert` wrote it, so that waits below the threshold are there as sums.
    is_own: bool,
    pid: u32,
    /// How many there are; 0 if that is not known.
    processors: u64,
    /// Keys and values for the metadata.
    texts: Vec<(&'static str, String)>,
}

/// What was found in a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FactCounts {
    pub(super) waits: bool,
    /// Of those, some for monitors, and some of `java.util.concurrent`.
    pub(super) monitors: bool,
    pub(super) parks: bool,
    pub(super) samples: bool,
    /// Who ended a wait.
    pub(super) wakers: bool,
    pub(super) collections: bool,
    /// How many waits there were of pinned virtual threads, and how long, in ns.
    pub(super) pinned: (u64, u64),
}

impl Default for Facts {
    fn default() -> Self {
        let waits = [event::ENTER, event::WAIT, event::PARK, event::NATIVE_LOCK];
        Facts {
            waits: waits.map(|event| WaitSettings {
                event,
                is_on: None,
                threshold_ns: None,
                interval_ns: None,
            }),
            periods: Periods::default(),
            locks: AsyncLocks::default(),
            collections: None,
            is_own: false,
            pid: 0,
            processors: 0,
            texts: Vec::new(),
        }
    }
}

impl Facts {
    /// Takes up an event that tells something.
    pub(super) fn take_up(
        &mut self,
        tells: Tells,
        values: &FieldValues<'_>,
        constants: &Constants<'_>,
        types: &TypeTable,
    ) {
        let number = |slot: usize| values.numbers.get(slot).copied().unwrap_or(0);
        let text = |slot: usize| {
            let text = values.texts.get(slot).copied().unwrap_or_default();
            constants.text(text)
        };
        match tells {
            Tells::Setting => {
                let of = types.by_id(number(slot::START)).map_or("", |of| &*of.name);
                self.setting(of, &text(1), &text(2));
            }
            Tells::Jvm => {
                self.put("jvm", jvm(&text(0), &text(1)));
                // What follows are arguments, which may hold secrets.
                let java = text(2);
                self.put("program", java.split(' ').next().unwrap_or_default().to_owned());
                self.pid = u32::try_from(number(3)).unwrap_or(0);
            }
            Tells::Cpu if number(0) != 0 => {
                self.put("processors", number(0).to_string());
                if self.processors == 0 {
                    self.processors = number(0);
                }
            }
            _ => {}
        }
    }

    fn setting(&mut self, of: &str, name: &str, value: &str) {
        let nanos = || value.trim().parse::<u64>().ok();
        match (of, name) {
            (event::RECORDING, "event") => self.periods.event = value.to_owned(),
            (event::FOLDED, "enabled") => self.is_own = true,
            (event::COLLECTION, "enabled") => self.collections = Some(value == "true"),
            (event::SAMPLE, "enabled") => self.periods.by_time |= value == "true",
            (event::CPU_TIME_SAMPLE, "enabled") => self.periods.by_cpu_time |= value == "true",
            (event::SAMPLE, "period") => self.periods.java_ns = duration_ns(value),
            (event::NATIVE_SAMPLE, "period") => self.periods.native_ns = duration_ns(value),
            (event::SAMPLE, "interval") => self.periods.interval_ns = nanos(),
            (event::SAMPLE, "wall") => self.periods.wall_ns = nanos(),
            (event::RECORDING, "version") => self.locks.is_threshold = is_before_4(value),
            (event::ENTER, "lock") => self.locks.lock_ns = self.locks.lock_ns.max(nanos()),
            (_, "threshold") => self.add_threshold(of, duration_ns(value)),
            (_, "nativelock") => self.add_interval(of, nanos()),
            (_, "enabled") => {
                let is_on = value == "true";
                if let Some(waits) = self.waits.iter_mut().find(|it| it.event == of) {
                    waits.is_on = Some(is_on || waits.is_on == Some(true));
                }
            }
            _ => {}
        }
    }

    fn add_threshold(&mut self, of: &str, ns: Option<u64>) {
        if let Some(waits) = self.waits.iter_mut().find(|it| it.event == of) {
            waits.threshold_ns = waits.threshold_ns.max(ns);
        }
    }

    /// Of 0, all waits are recorded.
    fn add_interval(&mut self, of: &str, ns: Option<u64>) {
        if ns == Some(0) {
            return self.add_threshold(of, ns);
        }
        if let Some(waits) = self.waits.iter_mut().find(|it| it.event == of) {
            waits.interval_ns = waits.interval_ns.max(ns);
        }
    }

    /// Takes up what async-profiler says of locks, when all of it is known: it looks at
    /// monitors and parks together.
    pub(super) fn settle(&mut self) {
        let AsyncLocks { lock_ns, is_threshold } = std::mem::take(&mut self.locks);
        if lock_ns.is_none() {
            return;
        }
        for event in [event::ENTER, event::PARK] {
            match is_threshold {
                true => self.add_threshold(event, lock_ns),
                false => self.add_interval(event, lock_ns),
            }
        }
    }

    /// What is known of waits below the threshold.
    pub(super) fn short_waits(&self) -> ShortWaits {
        let on = self.waits.iter().filter(|waits| waits.is_on());
        if self.is_own {
            return ShortWaits::Counted;
        }
        match on.filter_map(|waits| waits.interval_ns).max() {
            Some(interval_ns) => ShortWaits::Sampled { interval_ns },
            None => ShortWaits::Unknown,
        }
    }

    /// How much time a sample stands for, in ns: that passed, and that on a processor if
    /// the thread was on one. Of a sample that tells how much that is, by what to multiply it.
    pub(super) fn sampled_ns(&self, sampler: SamplerKind) -> (u64, u64) {
        let periods = &self.periods;
        // What is sampled by its number stands for no time.
        let is_timed = periods.event.is_empty() || TIMED.contains(&periods.event.as_str());
        let usual = |ns: Option<u64>, usual| ns.filter(|&ns| ns != 0).unwrap_or(usual);
        let interval = |usual_ns| match is_timed {
            true => usual(periods.interval_ns, usual_ns),
            false => 0,
        };
        // With both of async-profiler's, each tells of one sort of time.
        let is_both = periods.wall_ns.is_some() && periods.event != "wall";
        let wall_ns = match periods.wall_ns {
            Some(ns) => usual(Some(ns), USUAL_WALL_NS),
            None => interval(USUAL_WALL_NS),
        };
        match sampler {
            SamplerKind::Cpu => {
                let cpu_ns = interval(USUAL_CPU_NS);
                (if is_both { 0 } else { cpu_ns }, cpu_ns)
            }
            // Versions before 3.0 do not tell samples by what took them.
            SamplerKind::Java if periods.java_ns.is_none() && self.is_async() => {
                let ns = match periods.event.as_str() {
                    "wall" | "" => wall_ns,
                    _ => interval(USUAL_CPU_NS),
                };
                (ns, if is_both { 0 } else { ns })
            }
            SamplerKind::Wall => (wall_ns, if is_both { 0 } else { wall_ns }),
            SamplerKind::Java => {
                let ns = usual(periods.java_ns, USUAL_PERIOD_NS);
                (ns, if periods.by_cpu_time { 0 } else { ns })
            }
            SamplerKind::CpuTime => (u64::from(!periods.by_time), 1),
            SamplerKind::Native => (usual(periods.native_ns, USUAL_PERIOD_NS), 0),
        }
    }

    /// Who the owners are that waits name.
    pub(super) fn owners(&self) -> Owners {
        if self.is_own { Owners::AtStart } else { Owners::Previous }
    }

    /// How many processors there are; 0 if that is not known.
    pub(super) fn processors(&self) -> u64 {
        self.processors
    }

    fn is_async(&self) -> bool {
        self.periods.interval_ns.is_some() || self.periods.wall_ns.is_some()
    }

    /// How often threads are sampled, in ns.
    fn period_ns(&self) -> u64 {
        let sampler = match (self.is_async(), self.periods.wall_ns) {
            (true, None) if self.periods.event != "wall" => SamplerKind::Cpu,
            (true, _) => SamplerKind::Wall,
            (false, _) => SamplerKind::Java,
        };
        let (wall_ns, cpu_ns) = self.sampled_ns(sampler);
        wall_ns.max(cpu_ns)
    }

    /// The first value of a key counts.
    fn put(&mut self, key: &'static str, value: String) {
        let is_known = self.texts.iter().any(|(known, _)| *known == key);
        if !value.is_empty() && !is_known {
            self.texts.push((key, value));
        }
    }

    /// What was not recorded, or is not known to have been: that there is nothing of it then
    /// means nothing.
    pub(super) fn lacks(&self, seen: FactCounts) -> Lacks {
        let is_on = |event: &str| self.waits.iter().any(|it| it.event == event && it.is_on());
        let monitors = !seen.monitors && !is_on(event::ENTER);
        let parks = !seen.parks && !is_on(event::PARK);
        let waits = monitors && parks && !seen.waits;
        match waits {
            true => Lacks { waits, ..Lacks::default() },
            false => Lacks { monitors, parks, ..Lacks::default() },
        }
    }

    /// Puts all of it into a log's header.
    pub(super) fn finish(mut self, header: &mut Header, seen: FactCounts) {
        header.pid = self.pid;
        let on = self.waits.iter().filter(|waits| waits.is_on());
        header.threshold_ns = on.filter_map(|it| it.threshold_ns).max().unwrap_or(0);
        let is_any_on = self.waits.iter().any(WaitSettings::is_on);
        let thresholds = match self.thresholds() {
            none if none.is_empty() && seen.waits => UNKNOWN_THRESHOLDS.to_owned(),
            thresholds => thresholds,
        };
        self.put(THRESHOLDS, thresholds);
        let mode = match (seen.waits || is_any_on, seen.samples) {
            (false, true) => "sample",
            (true, true) => "contention+sample",
            (_, false) => "contention",
        };
        self.put("mode", mode.to_owned());
        if seen.samples {
            self.put("period", self.period_ns().to_string());
        }
        if seen.wakers {
            self.put("wakers", "true".to_owned());
        }
        if seen.collections || self.collections == Some(true) {
            self.put("collections", "true".to_owned());
        }
        if let (count @ 1.., ns) = seen.pinned {
            let waits = if count == 1 { "wait" } else { "waits" };
            let text =
                format!("{count} {waits} of virtual threads on their carriers, {}", short(ns));
            self.put("pinned", text);
        }
        self.texts.sort_unstable();
        header.metadata =
            self.texts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    }

    /// From when on waits were recorded, of each sort; empty if nothing tells.
    fn thresholds(&self) -> String {
        let of = |waits: &WaitSettings| match (waits.is_on, waits.threshold_ns, waits.interval_ns) {
            (Some(false), ..) => Some(format!("{} off", waits.event)),
            (_, _, Some(ns)) => Some(format!("{} one per {} of waiting", waits.event, short(ns))),
            (_, Some(ns), None) => Some(format!("{} {}", waits.event, short(ns))),
            (Some(true), None, None) => Some(format!("{} 0 ns", waits.event)),
            (None, None, None) => None,
        };
        self.waits.iter().filter_map(of).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a version of async-profiler, as `2.9` or `3.0-17ae98a`, is older than 4.0.
fn is_before_4(version: &str) -> bool {
    let major = version.split(|it: char| !it.is_ascii_digit()).next().unwrap_or_default();
    major.parse::<u32>().is_ok_and(|major| major < 4)
}

/// A JVM's name and version: the version may be a sentence that begins with the name,
/// and has the version proper in its first brackets.
fn jvm(name: &str, version: &str) -> String {
    let rest = version.strip_prefix(name).filter(|_| !name.is_empty());
    let inner = rest.and_then(|rest| rest.split_once('(')?.1.split_once(')'));
    let version = inner.map_or(version, |(inner, _)| inner);
    format!("{name} {version}").trim().to_owned()
}

/// A duration in the longest unit that it is a whole number of.
fn short(ns: u64) -> String {
    let units: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)];
    match units.iter().find(|(_, unit_ns)| ns != 0 && ns.is_multiple_of(*unit_ns)) {
        Some((unit, unit_ns)) => format!("{} {unit}", ns / unit_ns),
        None if ns >= 1_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        None => format!("{ns} ns"),
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
    use crate::write::LogOptions;

    const MS: u64 = 1_000_000;

    fn facts(settings: &[(&str, &str, &str)]) -> Facts {
        let mut facts = Facts::default();
        settings.iter().for_each(|(of, name, value)| facts.setting(of, name, value));
        facts.settle();
        facts
    }

    fn finished(facts: Facts, seen: FactCounts) -> Header {
        let mut header = LogOptions::default().header;
        facts.finish(&mut header, seen);
        header
    }

    fn text<'h>(header: &'h Header, key: &str) -> Option<&'h str> {
        let found = header.metadata.iter().find(|(known, _)| known == key)?;
        Some(&found.1)
    }

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
        for (ns, text) in
            [(0, "0 ns"), (20 * MS, "20 ms"), (10_000, "10 µs"), (1_234_567, "1.2 ms")]
        {
            assert_eq!(short(ns), text);
        }
    }

    #[test]
    fn the_greatest_threshold_of_what_is_on_counts() {
        let seen = FactCounts { waits: true, ..FactCounts::default() };
        let settings = [
            (event::ENTER, "enabled", "true"),
            (event::ENTER, "threshold", "10 ms"),
            (event::ENTER, "threshold", "20 ms"),
            (event::ENTER, "threshold", "0 ms"),
            (event::PARK, "enabled", "false"),
            (event::PARK, "threshold", "50 ms"),
            ("jdk.FileRead", "threshold", "90 ms"),
        ];
        let header = finished(facts(&settings), seen);
        assert_eq!(header.threshold_ns, 20 * MS);
        let told = "jdk.JavaMonitorEnter 20 ms, jdk.ThreadPark off";
        assert_eq!(text(&header, "thresholds"), Some(told));
        assert_eq!(text(&header, "mode"), Some("contention"));
        assert_eq!(text(&finished(facts(&[]), seen), "thresholds"), Some("not known"));
        assert_eq!(text(&finished(facts(&[]), FactCounts::default()), "thresholds"), None);
    }

    #[test]
    fn an_interval_of_waits_is_no_threshold() {
        let seen = FactCounts { waits: true, ..FactCounts::default() };
        let sampled = facts(&[(event::ENTER, "lock", "10000")]);
        assert_eq!(sampled.short_waits(), ShortWaits::Sampled { interval_ns: 10_000 });
        let header = finished(sampled, seen);
        assert_eq!((header.threshold_ns, text(&header, "mode")), (0, Some("contention")));
        assert_eq!(
            text(&header, "thresholds"),
            Some(
                "jdk.JavaMonitorEnter one per 10 µs of waiting, jdk.ThreadPark one per 10 µs of \
                 waiting"
            )
        );
        let all = facts(&[(event::ENTER, "lock", "0")]);
        assert_eq!(all.short_waits(), ShortWaits::Unknown);
        let told = "jdk.JavaMonitorEnter 0 ns, jdk.ThreadPark 0 ns";
        assert_eq!(text(&finished(all, seen), "thresholds"), Some(told));
        let older =
            facts(&[(event::ENTER, "lock", "20000000"), (event::RECORDING, "version", "3.0-17ae")]);
        assert_eq!(older.short_waits(), ShortWaits::Unknown);
        assert_eq!(finished(older, seen).threshold_ns, 20 * MS);
        let newer =
            facts(&[(event::RECORDING, "version", "4.1"), (event::ENTER, "lock", "20000000")]);
        assert_eq!(newer.short_waits(), ShortWaits::Sampled { interval_ns: 20 * MS });
        let native = facts(&[(event::NATIVE_LOCK, "nativelock", "1000000")]);
        assert_eq!(native.short_waits(), ShortWaits::Sampled { interval_ns: MS });
    }

    #[test]
    fn what_was_off_is_not_known() {
        let none = FactCounts::default();
        let names = |settings: &[_], seen| facts(settings).lacks(seen).names();
        let (enter, park) = ((event::ENTER, "enabled"), (event::PARK, "enabled"));
        let set = |(of, name), value| (of, name, value);
        assert_eq!(names(&[], none), ["waits"]);
        assert_eq!(names(&[set(enter, "false"), set(park, "false")], none), ["waits"]);
        assert_eq!(names(&[set(enter, "true"), set(park, "true")], none), [""; 0]);
        assert_eq!(names(&[set(enter, "false"), set(park, "true")], none), ["monitor-waits"]);
        let parks = FactCounts { waits: true, parks: true, ..none };
        assert_eq!(names(&[], parks), ["monitor-waits"]);
        let native = FactCounts { waits: true, ..none };
        assert_eq!(names(&[], native), ["monitor-waits", "park-waits"]);
        assert_eq!(names(&[(event::ENTER, "lock", "10000")], none), [""; 0]);
    }

    #[test]
    fn the_mode_is_what_was_recorded() {
        let samples = FactCounts { samples: true, ..FactCounts::default() };
        let mode = |facts: Facts, seen| {
            let header = finished(facts, seen);
            (text(&header, "mode").map(str::to_owned), text(&header, "period").map(str::to_owned))
        };
        let told =
            |mode: &str, period: Option<&str>| (Some(mode.to_owned()), period.map(str::to_owned));
        assert_eq!(mode(facts(&[]), samples), told("sample", Some("20000000")));
        let on = facts(&[(event::PARK, "enabled", "true"), (event::SAMPLE, "period", "10 ms")]);
        assert_eq!(mode(on, samples), told("contention+sample", Some("10000000")));
        assert_eq!(mode(facts(&[]), FactCounts::default()), told("contention", None));
    }

    #[test]
    fn a_sample_stands_for_the_period_of_what_took_it() {
        let jdk = facts(&[(event::SAMPLE, "period", "10 ms")]);
        assert_eq!(jdk.sampled_ns(SamplerKind::Java), (10 * MS, 10 * MS));
        assert_eq!(jdk.sampled_ns(SamplerKind::Native), (20 * MS, 0));
        let cpu = facts(&[(event::RECORDING, "event", "cpu"), (event::SAMPLE, "interval", "0")]);
        assert_eq!(cpu.sampled_ns(SamplerKind::Cpu), (10 * MS, 10 * MS));
        let both = facts(&[
            (event::RECORDING, "event", "cpu"),
            (event::SAMPLE, "interval", "1000000"),
            (event::SAMPLE, "wall", "20000000"),
        ]);
        assert_eq!(both.sampled_ns(SamplerKind::Cpu), (0, MS));
        assert_eq!(both.sampled_ns(SamplerKind::Wall), (20 * MS, 0));
        assert_eq!(both.period_ns(), 20 * MS);
        let wall =
            facts(&[(event::RECORDING, "event", "wall"), (event::SAMPLE, "interval", "5000000")]);
        assert_eq!(wall.sampled_ns(SamplerKind::Wall), (5 * MS, 5 * MS));
        // async-profiler 2, where no interval was asked for.
        for (event, ns) in [("cpu", 10 * MS), ("itimer", 10 * MS), ("wall", 50 * MS)] {
            let old =
                facts(&[(event::RECORDING, "event", event), (event::SAMPLE, "interval", "0")]);
            assert_eq!(old.sampled_ns(SamplerKind::Java), (ns, ns), "{event}");
        }
        let misses = facts(&[
            (event::RECORDING, "event", "cache-misses"),
            (event::SAMPLE, "interval", "1000"),
        ]);
        assert_eq!(misses.sampled_ns(SamplerKind::Cpu), (0, 0));
    }

    #[test]
    fn of_two_samplers_each_tells_of_one_sort_of_time() {
        let on = |of| (of, "enabled", "true");
        let both = facts(&[on(event::SAMPLE), on(event::CPU_TIME_SAMPLE)]);
        assert_eq!(both.sampled_ns(SamplerKind::Java), (20 * MS, 0));
        assert_eq!(both.sampled_ns(SamplerKind::CpuTime), (0, 1));
        let alone = facts(&[on(event::CPU_TIME_SAMPLE)]);
        assert_eq!(alone.sampled_ns(SamplerKind::CpuTime), (1, 1));
    }

    #[test]
    fn jvms_are_named_as_the_agent_names_them() {
        let name = "OpenJDK 64-Bit Server VM";
        let version = "OpenJDK 64-Bit Server VM (17.0.15+6-Debian) for linux-amd64 JRE (17.0.15)";
        assert_eq!(jvm(name, version), "OpenJDK 64-Bit Server VM 17.0.15+6-Debian");
        assert_eq!(jvm(name, "21.0.8+9"), "OpenJDK 64-Bit Server VM 21.0.8+9");
        assert_eq!(jvm("", ""), "");
    }
}
