//! Where the program takes locks, and how long it keeps them.

mod seen;
#[cfg(test)]
mod tests;
mod view;

use super::{estimate, shared::cut};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::{Histogram, LockRef, life, names},
    section::schema_of,
};
use schemars::JsonSchema;
pub(super) use seen::meanwhile;
pub use seen::{Meanwhile, SeenHold};
use serde::Serialize;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};
use tyrion_model::profile::SectionRow as Place;
use tyrion_wire::{WaitKind, cell::BUCKETS};

/// The section.
pub const SECTION: Section = Section {
    name: "critical-sections",
    title: "Critical sections",
    means: "Where the program takes locks, how often, and how long it keeps them.",
    advice: "Shorten the longest ones of contended locks: move out what needs no lock.",
    about: About::Locks,
    in_brief: InBrief::Never,
    schema: schema_of::<CriticalSections>,
    answer,
};

/// Critical sections, of all threads that the filter lets through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CriticalSections {
    /// All of them together.
    pub total: Counts,
    /// How long the threads that took locks lived, in ns; null when that is not known for all
    /// of them.
    pub thread_ns: Option<u64>,
    /// How many places there are.
    pub site_count: u64,
    /// How many threads took locks.
    pub thread_count: u64,
    /// By place and lock, those that were certainly held longest (`hold_ns` less what of
    /// `hold_error_ns` is chance) first. `p50_hold_ns` and `p99_hold_ns` are known to a power
    /// of two.
    pub sites: Vec<SectionPlace>,
    /// By thread, those that held locks longest first.
    pub threads: Vec<Holder>,
    /// How many methods were seen to have a lock for which others waited: in contention mode
    /// only.
    pub seen_count: u64,
    /// These, those for which most was waited first.
    pub seen: Vec<SeenHold>,
}

/// How often locks were taken, and how long they were held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(into = "CountsJson")]
pub struct Counts {
    /// How often, without reentrant acquisitions.
    pub acquisitions: u64,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: u64,
    /// How often the thread had the lock already.
    pub reentrant: u64,
    /// The standard error of that.
    pub reentrant_error: u64,
    /// How often it tried without success.
    pub failed: u64,
    /// How long they were held in all, in ns: estimated unless all holds were measured; null
    /// when none was, as where all permits of a semaphore are released by other threads. Nested
    /// ones count each. An estimate is never longer than a thread lived.
    pub hold_ns: u64,
    /// How far `hold_ns` may be off, in ns, for 95 % of such estimates; 0 where all holds were
    /// measured and counted. Where acquisitions were counted in bursts, it includes the probes'
    /// time in each of those that were estimated, but it is no more than `hold_ns`.
    pub hold_error_ns: u64,
    /// What of it is chance.
    by_chance_ns: u64,
    /// How long on average, in ns; null when no hold was measured.
    pub mean_hold_ns: Option<u64>,
    /// The longest measured hold, in ns; null when none was.
    pub longest_hold_ns: Option<u64>,
    /// How many holds were measured.
    pub measured: u64,
}

/// What is told of [`Counts`].
#[derive(Serialize, JsonSchema)]
struct CountsJson {
    acquisitions: u64,
    acquisitions_error: u64,
    reentrant: u64,
    reentrant_error: u64,
    failed: u64,
    hold_ns: Option<u64>,
    hold_error_ns: Option<u64>,
    mean_hold_ns: Option<u64>,
    longest_hold_ns: Option<u64>,
    measured: u64,
}

impl From<Counts> for CountsJson {
    fn from(counts: Counts) -> CountsJson {
        let is_measured = counts.measured != 0;
        CountsJson {
            acquisitions: counts.acquisitions,
            acquisitions_error: counts.acquisitions_error,
            reentrant: counts.reentrant,
            reentrant_error: counts.reentrant_error,
            failed: counts.failed,
            hold_ns: is_measured.then_some(counts.hold_ns),
            hold_error_ns: is_measured.then_some(counts.hold_error_ns),
            mean_hold_ns: counts.mean_hold_ns,
            longest_hold_ns: counts.longest_hold_ns,
            measured: counts.measured,
        }
    }
}

impl Counts {
    /// How long locks were held at the least: what they are ranked by, so that what
    /// is uncertain does not come before what is not. What the probes take is there, too,
    /// where all is counted.
    fn certain_ns(&self) -> u64 {
        self.hold_ns.saturating_sub(self.by_chance_ns)
    }
}

/// A place where the program takes a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SectionPlace {
    /// The place, `com.acme.Cache.get(Cache.java:12)`.
    pub place: String,
    /// What it locks there: a class of locks, since instances are not told
    /// apart.
    pub lock: LockRef,
    /// What kind of lock.
    pub kind: &'static str,
    /// How many threads came here.
    pub threads: u64,
    /// What they did.
    #[serde(flatten)]
    pub counts: Counts,
    /// Half of the measured holds were not longer, in ns, to a power of two.
    pub p50_hold_ns: Option<u64>,
    /// 99 % of the measured holds were not longer, in ns, to a power of two.
    pub p99_hold_ns: Option<u64>,
    /// The share of their threads' time that it took; null when it is not
    /// known how long they lived.
    pub thread_share: Option<f64>,
}

/// A thread that took locks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Holder {
    /// Its name.
    pub thread: String,
    /// What it did in all.
    #[serde(flatten)]
    pub counts: Counts,
    /// The share of its time in which it held locks, possibly more than 1 where they were
    /// nested; null when it is not known how long it lived.
    pub thread_share: Option<f64>,
    /// Its sections, those that were held longest first.
    pub sections: Vec<Own>,
}

/// What a thread did at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Own {
    /// The place.
    pub place: String,
    /// What it locks there.
    pub lock: LockRef,
    /// What kind of lock.
    pub kind: &'static str,
    /// What the thread did.
    #[serde(flatten)]
    pub counts: Counts,
    /// The share of the thread's time; null when it is not known how long it
    /// lived.
    pub thread_share: Option<f64>,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let answer = critical_sections(findings, options);
    Answer {
        json: serde_json::to_value(&answer).unwrap_or_default(),
        view: view::view(&answer),
        lacking: lacking(findings).to_owned(),
        advises: answer.site_count != 0 || answer.seen_count != 0,
    }
}

fn lacking(findings: &Findings<'_>) -> &'static str {
    match (findings.profile().has_acquisitions, findings.is_trace()) {
        (true, _) if findings.is_aimed() => {
            "these are the locks that were traced for a while; --mode trace has all"
        }
        (true, _) => "",
        (false, false) => {
            "needs --mode trace: without it, acquisitions of free locks are not counted, nor how \
             long locks are held"
        }
        (false, true) => {
            "acquisitions are counted over the whole recording: leave out --since, --until and \
             --min-wait to see them"
        }
    }
}

/// What stands at one place: frame, lock group and kind.
type Spot = (u32, u32, WaitKind);

/// Sums of sections.
#[derive(Clone, Debug)]
struct SectionSums {
    counts: Counts,
    error: estimate::Error,
    histogram: [u64; BUCKETS],
    threads: BTreeSet<u32>,
}

impl Default for SectionSums {
    fn default() -> Self {
        let (counts, error) = Default::default();
        SectionSums { counts, error, histogram: [0; BUCKETS], threads: BTreeSet::new() }
    }
}

impl SectionSums {
    fn add(&mut self, place: &Place) {
        let counts = Counts {
            acquisitions: place.acquisitions,
            acquisitions_error: place.acquisitions_error,
            reentrant: place.reentrant,
            reentrant_error: place.reentrant_error,
            failed: place.failed,
            hold_ns: place.hold_ns,
            hold_error_ns: 0,
            by_chance_ns: 0,
            mean_hold_ns: None,
            longest_hold_ns: (place.measured != 0).then_some(place.longest_ns),
            measured: place.measured,
        };
        let threads = BTreeSet::from([place.thread]);
        let mut error = estimate::Error::default();
        error.add(place);
        self.merge(&SectionSums { counts, error, histogram: place.histogram, threads });
    }

    fn merge(&mut self, other: &SectionSums) {
        let (counts, more) = (&mut self.counts, &other.counts);
        for (sum, value) in [
            (&mut counts.acquisitions, more.acquisitions),
            (&mut counts.acquisitions_error, more.acquisitions_error),
            (&mut counts.reentrant, more.reentrant),
            (&mut counts.reentrant_error, more.reentrant_error),
            (&mut counts.failed, more.failed),
            (&mut counts.hold_ns, more.hold_ns),
            (&mut counts.measured, more.measured),
        ] {
            *sum = sum.saturating_add(value);
        }
        counts.longest_hold_ns = counts.longest_hold_ns.max(more.longest_hold_ns);
        self.error.merge(other.error);
        for (sum, value) in self.histogram.iter_mut().zip(other.histogram) {
            *sum = sum.saturating_add(value);
        }
        self.threads.extend(&other.threads);
    }

    fn counts(&self) -> Counts {
        let counts = self.counts;
        let is_known = counts.measured != 0 && counts.acquisitions != 0;
        let mean_hold_ns = is_known.then(|| counts.hold_ns / counts.acquisitions);
        let hold_error_ns = self.error.ns(counts.hold_ns);
        let by_chance_ns = self.error.by_chance_ns();
        Counts { mean_hold_ns, hold_error_ns, by_chance_ns, ..counts }
    }

    /// The hold that this share of them does not exceed, in ns.
    fn quantile(&self, q: f64) -> Option<u64> {
        Histogram::new(&[], &self.histogram).quantile_up_to(q, self.counts.longest_hold_ns?)
    }

    fn of_all<'s>(all: impl IntoIterator<Item = &'s SectionSums>) -> SectionSums {
        let mut total = SectionSums::default();
        all.into_iter().for_each(|sums| total.merge(sums));
        total
    }
}

/// Critical sections of the findings.
pub fn critical_sections(findings: &Findings<'_>, options: &ReportOptions) -> CriticalSections {
    let mut total = SectionSums::default();
    let mut sites: BTreeMap<Spot, SectionSums> = BTreeMap::new();
    let mut holders: BTreeMap<u32, BTreeMap<Spot, SectionSums>> = BTreeMap::new();
    for section in &findings.profile().sections {
        let spot = (section.frame, findings.groups.of(section.lock), section.kind);
        total.add(section);
        sites.entry(spot).or_default().add(section);
        holders.entry(section.thread).or_default().entry(spot).or_default().add(section);
    }
    let mut seen = seen::seen(findings);
    let seen_count = seen.len() as u64;
    cut(&mut seen, options);
    let namer = Namer { findings, lives: lives(findings), depths: depths(findings) };
    let mut out = CriticalSections {
        total: total.counts(),
        thread_ns: namer.lived(&total.threads),
        site_count: sites.len() as u64,
        thread_count: holders.len() as u64,
        sites: longest(sites.iter().map(|(spot, sums)| (sums.counts(), (spot, sums))), options)
            .map(|(spot, sums)| namer.site(*spot, sums))
            .collect(),
        threads: longest(
            holders.iter().map(|of| (SectionSums::of_all(of.1.values()).counts(), of)),
            options,
        )
        .map(|(thread, spots)| namer.holder(*thread, spots, options))
        .collect(),
        seen_count,
        seen,
    };
    out.sites.sort_by(|a, b| {
        let name = |site: &SectionPlace| (site.place.clone(), site.lock.clone(), site.kind);
        longest_first(&a.counts, &b.counts).then_with(|| name(a).cmp(&name(b)))
    });
    out.threads
        .sort_by(|a, b| longest_first(&a.counts, &b.counts).then_with(|| a.thread.cmp(&b.thread)));
    cut(&mut out.sites, options);
    cut(&mut out.threads, options);
    out
}

/// Those that will be shown, and all that are as long as the last of them:
/// names, which decide among those, are made of no more than these.
fn longest<T>(
    all: impl Iterator<Item = (Counts, T)>,
    options: &ReportOptions,
) -> impl Iterator<Item = T> {
    let mut all: Vec<(Counts, T)> = all.collect();
    all.sort_by(|(a, _), (b, _)| longest_first(a, b));
    let last = options.top.checked_sub(1).and_then(|at| all.get(at)).map(|(counts, _)| *counts);
    if let Some(last) = last {
        all.truncate(all.partition_point(|(counts, _)| longest_first(counts, &last).is_le()));
    }
    all.into_iter().map(|(_, it)| it)
}

fn longest_first(a: &Counts, b: &Counts) -> Ordering {
    let key = |counts: &Counts| (counts.certain_ns(), counts.hold_ns, counts.acquisitions);
    key(b).cmp(&key(a))
}

/// How long each thread of the profile lived, in ns: as long as its log where
/// that does not tell, and `None` for virtual threads, of which trace mode
/// counts all as one.
fn lives(findings: &Findings<'_>) -> Vec<Option<u64>> {
    let mut lives = vec![None; findings.profile().threads.len()];
    for (log, ids) in findings.logs.iter().zip(&findings.aggregate.ids) {
        for (id, thread) in log.definitions().threads().iter() {
            let at = ids.thread(id).map_or(usize::MAX, |at| at as usize);
            let Some(life_ns) = lives.get_mut(at).filter(|_| thread.java_id != 0) else { continue };
            if let Some((from_ns, to_ns)) = life(log, id, thread) {
                *life_ns = Some(to_ns.saturating_sub(from_ns));
            }
        }
    }
    lives
}

/// How many locks each thread of the profile was seen to hold at a time, if it was
/// more than one.
fn depths(findings: &Findings<'_>) -> BTreeMap<u32, u64> {
    let mut depths: BTreeMap<u32, u64> = BTreeMap::new();
    for nesting in &findings.trace.nestings {
        let ids = findings.aggregate.ids.get(nesting.run as usize);
        if let Some(thread) = ids.and_then(|ids| ids.thread(nesting.nested.thread)) {
            let depth = depths.entry(thread).or_default();
            *depth = (*depth).max(nesting.nested.outer.len() as u64 + 1);
        }
    }
    depths
}

/// Turns sums into what is told.
struct Namer<'f> {
    findings: &'f Findings<'f>,
    lives: Vec<Option<u64>>,
    depths: BTreeMap<u32, u64>,
}

impl Namer<'_> {
    /// How long these threads lived together, in ns.
    fn lived(&self, threads: &BTreeSet<u32>) -> Option<u64> {
        let life = |thread: &u32| self.lives.get(*thread as usize).copied().flatten();
        threads.iter().map(life).try_fold(0u64, |sum, life| Some(sum.saturating_add(life?)))
    }

    fn share(&self, counts: &Counts, lived_ns: Option<u64>) -> Option<f64> {
        // Where nothing was measured, 0 would be wrong.
        counts.mean_hold_ns?;
        // Holds of a part of the time are no share of all of it.
        if self.findings.is_aimed() {
            return None;
        }
        lived_ns.filter(|&ns| ns != 0).map(|ns| counts.hold_ns as f64 / ns as f64)
    }

    fn place(&self, (frame, group, kind): Spot) -> (String, LockRef, &'static str) {
        let profile = self.findings.profile();
        let frame = profile.frames.get(frame as usize).copied();
        let place = frame.map_or_else(String::new, |frame| names::frame(profile, frame));
        // Of all locks of the class and name, whatever waits tell of one.
        let lock = LockRef { id: 0, ..self.findings.groups.lock_ref(group) };
        (place, lock, kind.name())
    }

    fn site(&self, spot: Spot, sums: &SectionSums) -> SectionPlace {
        let (place, lock, kind) = self.place(spot);
        let counts = sums.counts();
        SectionPlace {
            place,
            lock,
            kind,
            threads: sums.threads.len() as u64,
            counts,
            p50_hold_ns: sums.quantile(0.5),
            p99_hold_ns: sums.quantile(0.99),
            thread_share: self.share(&counts, self.lived(&sums.threads)),
        }
    }

    fn holder(
        &self,
        thread: u32,
        spots: &BTreeMap<Spot, SectionSums>,
        options: &ReportOptions,
    ) -> Holder {
        let lived_ns = self.lived(&BTreeSet::from([thread]));
        let counted = spots.iter().map(|(spot, sums)| (sums.counts(), (spot, sums)));
        let own = |(spot, sums): (&Spot, &SectionSums)| {
            let (place, lock, kind) = self.place(*spot);
            let counts = sums.counts();
            Own { place, lock, kind, counts, thread_share: self.share(&counts, lived_ns) }
        };
        let mut sections: Vec<Own> = longest(counted, options).map(own).collect();
        sections.sort_by(|a, b| {
            let name = |own: &Own| (own.place.clone(), own.lock.clone(), own.kind);
            longest_first(&a.counts, &b.counts).then_with(|| name(a).cmp(&name(b)))
        });
        cut(&mut sections, options);
        let counts = SectionSums::of_all(spots.values()).counts();
        // An estimate may be more than is possible; what was measured is not.
        let most = self.depths.get(&thread).copied().unwrap_or(1).max(1) as f64;
        let is_exact = counts.hold_error_ns == 0;
        let share = self.share(&counts, lived_ns);
        Holder {
            thread: self.findings.profile().thread_name(thread),
            counts,
            thread_share: share.map(|share| if is_exact { share } else { share.min(most) }),
            sections,
        }
    }
}
