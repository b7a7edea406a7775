//! Which metrics there are, and their values.

use super::{
    besides::{Cpu, LostWaits},
    text::{Family, MetricSample, MetricType, MetricValue},
    totals::{Histogram, LONGEST_NAME, LockTotals, MetricTotals, OTHER},
};
use crate::live::feed::{Feed, Life};
use std::collections::BTreeMap;
use tyrion_formats::{HoldMode, Recording};
use tyrion_model::harmless;
use tyrion_wire::{WaitKind, cell};

/// The first and the last bucket of the log's cells at which a bucket of ours ends, and
/// how many of theirs make one: bounds from 1 µs to 69 s, each four times the one before.
const BOUNDS: (usize, usize, usize) = (10, 36, 2);

/// What is known of a recording.
pub struct FamilySource<'a> {
    pub feed: &'a Feed,
    pub totals: &'a MetricTotals,
    pub lost: LostWaits,
    /// When the first log began, Unix time.
    pub start_wall_ns: Option<u64>,
    pub cpu: Option<Cpu>,
    pub now_ns: u64,
}

type LabelList = Vec<(&'static str, String)>;

/// All metrics. What the recording does not tell is left out.
pub fn of(seen: &FamilySource<'_>) -> Vec<Family> {
    let Some(log) = seen.feed.log() else { return Vec::new() };
    let all = seen.totals.all();
    let mut families = Vec::new();
    if log.capabilities().waits || all.waits != 0 {
        families.extend(waits(seen));
    }
    if !seen.feed.life().has_ended() && log.capabilities().waits {
        families.extend(waiting(seen, log));
    }
    // Those of single locks, for a while, would be taken for all.
    if !log.is_aimed() && (log.is_trace() || all.acquisitions != 0) {
        families.extend(holds(seen, log, &all));
    }
    families.extend(recording(seen, log));
    families
}

fn family(name: &'static str, metric_type: MetricType, help: &'static str) -> Family {
    Family { name, metric_type, unit: None, help, samples: Vec::new() }
}

fn seconds(name: &'static str, metric_type: MetricType, help: &'static str) -> Family {
    Family { unit: Some("seconds"), ..family(name, metric_type, help) }
}

impl Family {
    fn with(mut self, samples: impl IntoIterator<Item = (LabelList, MetricValue)>) -> Family {
        let suffix = match self.metric_type {
            MetricType::Counter => "_total",
            MetricType::Info => "_info",
            _ => "",
        };
        let sample = |(labels, value)| MetricSample { suffix, labels, value };
        self.samples = samples.into_iter().map(sample).collect();
        self
    }
}

fn of_lock(lock: &str, kind: WaitKind) -> LabelList {
    vec![("lock", lock.to_owned()), ("kind", kind.name().to_owned())]
}

/// A value of each lock and kind of which there is one.
fn by_lock(
    totals: &MetricTotals,
    value: impl Fn(&str, &LockTotals) -> Option<MetricValue>,
) -> Vec<(LabelList, MetricValue)> {
    let of = |(lock, sums): (&str, &super::totals::OfKinds)| {
        let values = sums.iter().filter_map(|(kind, sums)| {
            let is_counted = totals.kinds().any(|counted| counted == kind);
            Some((of_lock(lock, kind), value(lock, sums).filter(|_| is_counted)?))
        });
        values.collect::<Vec<_>>()
    };
    totals.locks().flat_map(of).collect()
}

fn waits(seen: &FamilySource<'_>) -> Vec<Family> {
    // Of no lock there is no series, but of all the others together there is one from
    // the beginning, so that a sum is 0 and not nothing.
    let is_there = |lock: &str, sums: &LockTotals| sums.waits != 0 || lock == OTHER;
    let count = |lock: &str, sums: &LockTotals| {
        is_there(lock, sums).then_some(MetricValue::Count(sums.waits))
    };
    let time = |lock: &str, sums: &LockTotals| {
        is_there(lock, sums).then_some(MetricValue::Ns(sums.wait_ns))
    };
    let LostWaits { contention, other } = seen.lost;
    let lost = [(true, contention), (false, other)];
    let lost = lost.map(|(is_contention, lost)| {
        (vec![("contention", is_contention.to_string())], MetricValue::Count(lost))
    });
    let counter = |name, help| family(name, MetricType::Counter, help);
    vec![
        counter("tyrion_waits", "Waits that have ended, by lock and kind of wait.")
            .with(by_lock(seen.totals, count)),
        seconds(
            "tyrion_wait_seconds",
            MetricType::Counter,
            "How long the waits took that have ended, by lock and kind of wait.",
        )
        .with(by_lock(seen.totals, time)),
        durations(seen.totals),
        counter(
            "tyrion_dropped_waits",
            "Waits that the log had no room for, for locks (contention) and others.",
        )
        .with(lost),
    ]
}

fn durations(totals: &MetricTotals) -> Family {
    let help = "Waits that have ended by their duration, of all locks, by kind of wait.";
    let mut family = seconds("tyrion_wait_duration_seconds", MetricType::Histogram, help);
    for (kind, histogram) in totals.durations() {
        if histogram.waits.iter().any(|&waits| waits != 0) {
            family.samples.extend(buckets(kind, histogram));
        }
    }
    family
}

fn buckets(kind: WaitKind, histogram: &Histogram) -> Vec<MetricSample> {
    let kind = ("kind", kind.name().to_owned());
    let up_to = |bucket: usize| {
        histogram.waits.iter().take(bucket).fold(0, |sum: u64, &waits| sum.saturating_add(waits))
    };
    let (first, last, step) = BOUNDS;
    let bounds = (first..=last).step_by(step).map(|bucket| {
        // A bound is in its bucket here, but begins the next one in the log.
        let bound_ns = cell::bucket_floor_ns(bucket) - 1;
        (MetricValue::Ns(bound_ns).to_string(), up_to(bucket))
    });
    let all = up_to(cell::BUCKETS);
    let bounds = bounds.chain([("+Inf".to_owned(), all)]);
    let mut samples: Vec<MetricSample> = bounds
        .map(|(bound, waits)| {
            let labels = vec![kind.clone(), ("le", bound)];
            MetricSample { suffix: "_bucket", labels, value: MetricValue::Count(waits) }
        })
        .collect();
    for (suffix, value) in
        [("_count", MetricValue::Count(all)), ("_sum", MetricValue::Ns(histogram.wait_ns))]
    {
        samples.push(MetricSample { suffix, labels: vec![kind.clone()], value });
    }
    samples
}

/// Waits that have not ended: what waits for ever is in no counter.
fn waiting(seen: &FamilySource<'_>, log: &Recording) -> Vec<Family> {
    let totals = seen.totals;
    let mut now: BTreeMap<(&str, u8), (WaitKind, u64, u64)> = BTreeMap::new();
    let with_waits = totals.locks().flat_map(|(lock, sums)| {
        let kinds = sums.iter().filter(move |(_, sums)| sums.waits != 0 || lock == OTHER);
        kinds.map(move |(kind, _)| (lock, kind))
    });
    let counted: Vec<WaitKind> = totals.kinds().collect();
    for (lock, kind) in with_waits.filter(|(_, kind)| counted.contains(kind)) {
        now.insert((lock, kind.code()), (kind, 0, 0));
    }
    for pending in seen.feed.pending().iter().filter(|it| counted.contains(&it.kind)) {
        let key = (totals.label_of(log, pending.lock), pending.kind.code());
        let (_, threads, longest_ns) = now.entry(key).or_insert((pending.kind, 0, 0));
        *threads += 1;
        *longest_ns = seen.now_ns.saturating_sub(pending.start_ns).max(*longest_ns);
    }
    let threads = now.iter().map(|((lock, _), (kind, threads, _))| {
        (of_lock(lock, *kind), MetricValue::Count(*threads))
    });
    let longest =
        now.iter().map(|((lock, _), (kind, _, ns))| (of_lock(lock, *kind), MetricValue::Ns(*ns)));
    vec![
        family(
            "tyrion_threads_waiting",
            MetricType::Gauge,
            "Threads that wait now, by lock and kind.",
        )
        .with(threads),
        seconds(
            "tyrion_longest_pending_wait_seconds",
            MetricType::Gauge,
            "How long the thread has waited that has waited longest; 0 where none waits.",
        )
        .with(longest),
    ]
}

fn holds(seen: &FamilySource<'_>, log: &Recording, all: &LockTotals) -> Vec<Family> {
    let count = |_: &str, sums: &LockTotals| {
        (sums.acquisitions != 0).then_some(MetricValue::Count(sums.acquisitions))
    };
    // The end of a hold may be told when the lock is called otherwise than before.
    let time = |_: &str, sums: &LockTotals| {
        (sums.acquisitions != 0 || sums.held_ns != 0).then_some(MetricValue::Ns(sums.held_ns))
    };
    let help = "Acquisitions of locks, contended or not, by lock and kind.";
    let mut families = vec![
        family("tyrion_acquisitions", MetricType::Counter, help).with(by_lock(seen.totals, count)),
    ];
    if all.acquisitions_error != 0 {
        // Of locks of which all acquisitions are counted it is 0.
        let error = |_: &str, sums: &LockTotals| {
            (sums.acquisitions != 0).then_some(MetricValue::Count(sums.acquisitions_error))
        };
        let help = "The standard error of tyrion_acquisitions: places were counted in bursts.";
        let family = family("tyrion_acquisitions_error", MetricType::Gauge, help);
        families.push(family.with(by_lock(seen.totals, error)));
    }
    if log.hold_mode() != HoldMode::None || all.held_ns != 0 {
        let help = "How long locks were held; estimated unless all holds were measured.";
        let family = seconds("tyrion_hold_seconds", MetricType::Counter, help);
        families.push(family.with(by_lock(seen.totals, time)));
    }
    families
}

/// What the recording is.
fn recording(seen: &FamilySource<'_>, log: &Recording) -> Vec<Family> {
    let life = seen.feed.life();
    let states = [Life::Recording, Life::Paused, Life::Closed, Life::Broken, Life::Killed];
    let states = states.map(|state| {
        let value = MetricValue::Count((state == life).into());
        (vec![("tyrion_recording_state", state.name().to_owned())], value)
    });
    let help = "What has become of the recording: one state is 1.";
    let mut families = vec![
        family("tyrion_recording_state", MetricType::StateSet, help).with(states),
        family("tyrion_jvm", MetricType::Info, "The program that is recorded.")
            .with([jvm(seen, log)]),
    ];
    if let Some(ns) = seen.start_wall_ns {
        let help = "When the log begins that was read first: since when counters count.";
        let family = seconds("tyrion_log_start_time_seconds", MetricType::Gauge, help);
        families.push(family.with([(Vec::new(), MetricValue::Ns(ns))]));
    }
    let size =
        family("tyrion_log_size_bytes", MetricType::Gauge, "The size of the log's last file.");
    let size = Family { unit: Some("bytes"), ..size };
    families.push(size.with([(Vec::new(), MetricValue::Count(log.file_len()))]));
    // Of a log that is written to, the end is not there yet.
    if life.has_ended() {
        let help = "Places where the log is damaged or cut off; known once it has ended.";
        let damaged = seen.feed.damage().len() as u64;
        let family = family("tyrion_log_damaged_places", MetricType::Gauge, help);
        families.push(family.with([(Vec::new(), MetricValue::Count(damaged))]));
    }
    if let Some(cpu) = seen.cpu {
        let help = "CPU time of the recorded process while it was recorded, the agent included.";
        let family = seconds("tyrion_process_cpu_seconds", MetricType::Counter, help);
        families.push(family.with([(Vec::new(), MetricValue::Ns(cpu.process_ns))]));
        let help = "What the agent took of the process's CPU time, estimated.";
        let family = seconds("tyrion_agent_cpu_seconds", MetricType::Counter, help);
        families.push(family.with([(Vec::new(), MetricValue::Ns(cpu.agent_ns))]));
    }
    families
}

fn jvm(seen: &FamilySource<'_>, log: &Recording) -> (LabelList, MetricValue) {
    let facts = log.facts();
    let told = |text: &str| harmless::within(text, LONGEST_NAME).into_owned();
    let metadata = |key: &str| told(facts.metadata(key).unwrap_or_default());
    let labels = vec![
        ("program", metadata("program")),
        ("pid", facts.pid.to_string()),
        ("jvm", metadata("jvm")),
        ("mode", told(&log.modes().collect::<Vec<&str>>().join("+"))),
        ("log", told(&seen.feed.path().display().to_string())),
    ];
    (labels, MetricValue::Count(1))
}
