//! What was recorded when: a recording may change its mode.

use super::Recording;
use std::ops::Range;
use tyrion_wire::def::{
    mode::{ACQUISITIONS, AIMED, SAMPLES, WAITS},
    option,
};

/// A part of a recording in which the same was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModeSpan {
    /// From when to when, monotonic ns.
    pub span: Range<u64>,
    /// What, as in the option `mode`: `contention`, `trace`, `sample`, or two of them
    /// with a plus sign between; `aimed` where waits were recorded, and acquisitions of
    /// single locks.
    pub mode: String,
    recorded: u64,
}

/// A part of a recording in which single locks were traced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aim {
    /// From when to when, monotonic ns.
    pub span: Range<u64>,
    /// What code calls the locks.
    pub locks: Vec<String>,
}

/// The bits of a mode as the metadata write it.
fn bits_of(mode: &str) -> u64 {
    mode.split('+').fold(0, |bits, part| match part {
        "contention" | "auto" => bits | WAITS,
        "trace" => bits | WAITS | ACQUISITIONS,
        "sample" => bits | SAMPLES,
        _ => bits,
    })
}

/// A mode as the metadata write it, by its bits.
fn name_of(recorded: u64) -> String {
    let locks = match recorded {
        _ if recorded & ACQUISITIONS != 0 => Some("trace"),
        _ if recorded & AIMED != 0 => Some("aimed"),
        _ if recorded & WAITS != 0 => Some("contention"),
        _ => None,
    };
    let samples = (recorded & SAMPLES != 0).then_some("sample");
    let parts: Vec<&str> = locks.into_iter().chain(samples).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("+") }
}

impl Recording {
    /// What was recorded when, in the order of time; pauses are not left out. Empty
    /// unless that changed.
    pub fn mode_spans(&self) -> Vec<ModeSpan> {
        let changes = self.definitions.mode_changes();
        if changes.is_empty() {
            return Vec::new();
        }
        let (start_ns, end_ns) = (self.start_ns(), self.end_ns());
        let mut changes: Vec<(u64, u64)> =
            changes.iter().map(|change| (change.from_ns.max(start_ns), change.recorded)).collect();
        changes.sort_by_key(|&(from_ns, _)| from_ns);
        let first = bits_of(self.facts.metadata("mode").unwrap_or("contention"));
        changes.insert(0, (start_ns, first));
        let mut spans: Vec<ModeSpan> = Vec::with_capacity(changes.len());
        for (nth, &(from_ns, recorded)) in changes.iter().enumerate() {
            let to_ns = changes.get(nth + 1).map_or(end_ns, |&(next_ns, _)| next_ns);
            if let Some(last) = spans.last_mut().filter(|last| last.recorded == recorded) {
                last.span.end = to_ns;
            } else if from_ns < to_ns {
                spans.push(ModeSpan { span: from_ns..to_ns, mode: name_of(recorded), recorded });
            }
        }
        spans
    }

    /// When waits were recorded, monotonic ns: as [`Recording::recorded`], without the
    /// parts in which there were samples alone.
    pub fn recorded_waits(&self) -> Vec<Range<u64>> {
        self.recorded_with(WAITS)
    }

    /// When acquisitions were recorded, monotonic ns: as [`Recording::recorded`],
    /// without the parts that were not in trace mode, or in which no lock was traced.
    pub fn recorded_acquisitions(&self) -> Vec<Range<u64>> {
        self.recorded_with(if self.is_aimed() { AIMED | ACQUISITIONS } else { ACQUISITIONS })
    }

    /// Whether acquisitions are those of single locks, in parts of the recording
    /// ([`Recording::aims`]), and of no other.
    pub fn is_aimed(&self) -> bool {
        let modes = self.all_modes();
        let has_aims = || self.definitions.mode_changes().iter().any(|it| it.recorded & AIMED != 0);
        !modes.contains(&"trace") && (modes.contains(&"auto") || has_aims())
    }

    /// When single locks were traced, monotonic ns, and which, as the option `aimed` names
    /// them; in the order of time.
    pub fn aims(&self) -> Vec<Aim> {
        let (spans, changes) = (self.mode_spans(), self.option_changes());
        let aimed = spans.iter().filter(|of| of.recorded & AIMED != 0);
        let locks = |span: &Range<u64>| {
            let mut told =
                changes.iter().filter(|it| it.key == option::AIMED && !it.value.is_empty());
            let last = told.rfind(|it| it.from_ns < span.end);
            // A later file's metadata have it.
            let names = last.map(|it| &*it.value).or_else(|| self.facts.metadata(option::AIMED));
            names.into_iter().flat_map(|names| names.split(';')).map(str::to_owned).collect()
        };
        aimed.map(|of| Aim { span: of.span.clone(), locks: locks(&of.span) }).collect()
    }

    fn recorded_with(&self, wanted: u64) -> Vec<Range<u64>> {
        let (recorded, spans) = (self.recorded(), self.mode_spans());
        if spans.iter().all(|span| span.recorded & wanted == 0) {
            // It never changed, or nothing tells when.
            return recorded;
        }
        let wanted = spans.iter().filter(|span| span.recorded & wanted != 0);
        let parts = wanted.flat_map(|of| {
            recorded.iter().map(|part| part.start.max(of.span.start)..part.end.min(of.span.end))
        });
        parts.filter(|part| part.start < part.end).collect()
    }

    /// All that was recorded at one time or another, as [`Recording::modes`].
    pub(super) fn all_modes(&self) -> Vec<&str> {
        let of_log = self.facts.metadata("mode").unwrap_or_default();
        let changes = self.definitions.mode_changes();
        let added = changes.iter().fold(0, |bits, change| bits | change.recorded);
        let mut modes: Vec<&str> = of_log.split('+').filter(|mode| !mode.is_empty()).collect();
        for (bit, name) in [(ACQUISITIONS, "trace"), (AIMED, "auto"), (SAMPLES, "sample")] {
            if added & bit != 0 && !modes.contains(&name) {
                modes.push(name);
            }
        }
        let is_told = |mode: &&str| ["contention", "trace", "auto"].contains(mode);
        let waits_alone = added & (WAITS | ACQUISITIONS) == WAITS;
        if waits_alone && !modes.iter().any(is_told) {
            modes.insert(0, "contention");
        }
        modes
    }
}
