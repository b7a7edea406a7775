//! The recording as a whole.

mod cost;
mod drawn;

use super::{
    sampled::NO_LOCKS,
    shared::{lacking_times, share},
};
use crate::{
    About, Answer, Collections, Findings, InBrief, ReportOptions, Section,
    findings::{Delay, LogFacts, OtherWaits, Phase},
    section::schema_of,
};
use cost::Cost;
pub(crate) use cost::process_cpu_ns;
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::Recording;
use tyrion_model::{units, withheld::Verdict};
use tyrion_wire::WaitKind;

/// The section.
pub const SECTION: Section = Section {
    name: "overview",
    title: "Overview",
    means: "What was recorded, and how much of the threads' time went into waiting for locks.",
    advice: "",
    about: About::All,
    in_brief: InBrief::Always,
    schema: schema_of::<Overview>,
    answer,
};

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Overview {
    /// The recordings, in the order given.
    pub logs: Vec<LogFacts>,
    /// The Unix time at which the reported time begins.
    pub start_wall_ns: u64,
    /// Its duration: from the first log's start to the last one's end, within --since and
    /// --until.
    pub duration_ns: u64,
    /// How long recording was on in that time, added up over all logs.
    pub recorded_ns: u64,
    /// The threads.
    pub threads: ThreadTotals,
    /// How often a thread waited for a lock that another one had.
    pub contended: u64,
    /// How long they waited in all.
    pub wait_ns: u64,
    /// How many threads were still waiting for a lock when the log ended.
    pub pending: u64,
    /// How long they had waited by then.
    pub pending_ns: u64,
    /// The time of both kinds of waits, as far as recording was on, as a share of the time that
    /// threads lived.
    pub lost_share: f64,
    /// Waits, not for a lock, that kept threads from work; see [withheld](#withheld).
    pub withheld: WithheldTotals,
    /// As `lost_share`, for these waits.
    pub withheld_share: f64,
    /// Critical section pressure: the time that threads waited for locks as a share of the time
    /// in which they were not idle. `null` if they were always idle.
    pub pressure_share: Option<f64>,
    /// The phase with the highest pressure, an index into `phases`.
    pub worst_phase: Option<usize>,
    /// The length of a phase: that of `--phase`, or a multiple of it.
    pub phase_ns: u64,
    /// All phases in order of time, whatever `--top` says. Each has the parts of waits that lie
    /// in it, including waits that had not ended.
    pub phases: Vec<PhaseRow>,
    /// Waits by kind; only the kinds that the filter selects.
    pub kinds: Vec<KindRow>,
    /// The pauses of the garbage collector that ended in the reported time, of all logs that
    /// have them. `null` if none has.
    pub collections: Option<Collections>,
    /// How much of `wait_ns` lies in pauses of the garbage collector. Waits below the threshold
    /// are not counted.
    pub in_collections_ns: Option<u64>,
    /// Waits that were not recorded, for lack of room.
    pub dropped: u64,
    /// What recording cost.
    pub cost: Cost,
    /// Whether no log tells whether threads waited.
    #[serde(skip)]
    pub lacks_waits: bool,
    /// Whether no log tells how long threads waited.
    #[serde(skip)]
    pub lacks_durations: bool,
}

/// The threads, except those that the JVM runs for itself (of the groups `system` and
/// `InnocuousThreadGroup`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadTotals {
    /// How many threads are in the logs; one that is in several files of a recording counts
    /// once.
    pub count: u64,
    /// How many of them are virtual.
    #[serde(rename = "virtual")]
    pub is_virtual: u64,
    /// Their lifetimes added up.
    pub lived_ns: u64,
    /// How long of that they waited for something to happen: `object-wait`,
    /// `condition` and `park`.
    pub idle_ns: u64,
    /// How many threads have no known lifetime in the log: these are assumed to have lived as
    /// long as the log, virtual ones from their first wait to their last.
    pub assumed: u64,
}

/// Waits, not for a lock, that kept threads from work, whatever kinds the filter selects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WithheldTotals {
    /// How many.
    pub waits: u64,
    /// Their durations added up.
    pub wait_ns: u64,
    /// Where threads waited longest, `com.acme.Pool.borrow(Pool.java:42)`; empty if
    /// there are none.
    pub most_in: String,
}

/// A phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PhaseRow {
    /// From the start of the reported time to that of the phase.
    pub start_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// How long threads lived in it.
    pub thread_ns: u64,
    /// How long of that they were idle.
    pub idle_ns: u64,
    /// How long of that they waited for locks.
    pub contended_ns: u64,
    /// How long of `idle_ns` they were kept from work by waits that were not for a lock.
    pub withheld_ns: u64,
    /// `contended_ns` as a share of the time that threads were not idle. `null` if there is
    /// none.
    pub pressure_share: Option<f64>,
}

/// A kind of wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KindRow {
    /// Its name.
    pub kind: &'static str,
    /// Whether it is lock contention.
    pub contention: bool,
    /// How many waits.
    pub count: u64,
    /// How many of them were shorter than the threshold and folded.
    pub folded: u64,
    /// Their durations added up.
    pub wait_ns: u64,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let overview = Overview::of(findings);
    let json = serde_json::to_value(&overview).unwrap_or_default();
    let knows_locks = !findings.profile().lacks_waits;
    Answer {
        json,
        view: drawn::view(&overview, options, knows_locks),
        lacking: if knows_locks { lacking(findings, &overview) } else { NO_LOCKS.to_owned() },
        // What the figures amount to, the verdict says.
        advises: false,
    }
}

fn lacking(findings: &Findings<'_>, overview: &Overview) -> String {
    if findings.lacks_times() {
        return lacking_times(findings);
    }
    let threads = &findings.threads;
    let lives = match threads.assumed {
        0 => String::new(),
        assumed if assumed < threads.count => format!(
            "threads whose start and end the log does not have: {assumed}; they count for all of \
             its time"
        ),
        _ => "the log does not say when threads lived: they count from its start to its end"
            .to_owned(),
    };
    let untraced = match overview.cost.untraced_threads {
        0 => return lives,
        untraced => units::thousands(untraced),
    };
    let untraced = format!(
        "threads that there was no room for when recorded: {untraced}; their acquisitions are missing"
    );
    if lives.is_empty() { untraced } else { format!("{lives}. {untraced}") }
}

impl Overview {
    /// From what was found.
    pub fn of(findings: &Findings<'_>) -> Overview {
        let (contended, wait_ns) = findings.aggregate.contention().total();
        let phases: Vec<PhaseRow> = findings.phases.iter().map(PhaseRow::of).collect();
        let mut whole = Phase::default();
        for phase in &findings.phases {
            whole.thread_ns = whole.thread_ns.saturating_add(phase.thread_ns);
            whole.idle_ns = whole.idle_ns.saturating_add(phase.idle_ns);
            whole.contended_ns = whole.contended_ns.saturating_add(phase.contended_ns);
            whole.withheld_ns = whole.withheld_ns.saturating_add(phase.withheld_ns);
        }
        let pressure = |row: &PhaseRow| row.pressure_share.unwrap_or(-1.0);
        // The first of those with the highest pressure.
        let worst = phases
            .iter()
            .enumerate()
            .rev()
            .max_by(|(_, a), (_, b)| pressure(a).total_cmp(&pressure(b)));
        let threads = &findings.threads;
        let kinds = WaitKind::ALL.into_iter().filter(|kind| findings.filter.kinds.may_take(*kind));
        Overview {
            logs: LogFacts::of_all(findings),
            start_wall_ns: findings.axis.start_wall_ns,
            duration_ns: findings.axis.duration_ns,
            recorded_ns: findings.recorded_ns(),
            threads: ThreadTotals {
                count: threads.count,
                is_virtual: threads.is_virtual,
                lived_ns: threads.lived_ns,
                idle_ns: whole.idle_ns,
                assumed: threads.assumed,
            },
            contended,
            wait_ns,
            pending: threads.pending,
            pending_ns: threads.pending_ns,
            lost_share: share(whole.contended_ns, threads.lived_ns),
            withheld: WithheldTotals::of(&findings.other_waits),
            withheld_share: share(whole.withheld_ns, threads.lived_ns),
            pressure_share: whole.pressure(),
            worst_phase: worst.filter(|(_, row)| row.contended_ns != 0).map(|(at, _)| at),
            phase_ns: findings.axis.phase_ns,
            phases,
            kinds: kinds.map(|kind| KindRow::of(kind, findings)).collect(),
            collections: findings.collected.as_ref().map(|collected| collected.pauses),
            in_collections_ns: findings
                .collected
                .as_ref()
                .map(|collected| collected.wait_ns(WaitKind::is_contention)),
            dropped: findings.logs.iter().map(dropped).fold(0, u64::saturating_add),
            cost: Cost::of(findings),
            lacks_waits: findings.lacks_waits(),
            lacks_durations: findings.lacks_durations(),
        }
    }
}

fn dropped(log: &Recording) -> u64 {
    let (contention, other) = log.tallies();
    contention.dropped.saturating_add(other.dropped)
}

impl PhaseRow {
    fn of(phase: &Phase) -> PhaseRow {
        PhaseRow {
            start_ns: phase.start_ns,
            duration_ns: phase.duration_ns,
            thread_ns: phase.thread_ns,
            idle_ns: phase.idle_ns,
            contended_ns: phase.contended_ns,
            withheld_ns: phase.withheld_ns,
            pressure_share: phase.pressure(),
        }
    }
}

impl WithheldTotals {
    fn of(waits: &OtherWaits) -> WithheldTotals {
        let Delay { count, wait_ns } = waits.total(Verdict::Withheld);
        let most = waits.of(Verdict::Withheld).next();
        let most_in = most.map_or_else(String::new, |(judged, _)| judged.place.at.clone());
        WithheldTotals { waits: count, wait_ns, most_in }
    }
}

impl KindRow {
    fn of(kind: WaitKind, findings: &Findings<'_>) -> KindRow {
        let totals = findings.aggregate.kind(kind);
        let (count, wait_ns) = totals.total();
        let contention = kind.is_contention();
        KindRow { kind: kind.name(), contention, count, folded: totals.folded, wait_ns }
    }
}
