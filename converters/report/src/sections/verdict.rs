//! What slows the program, in at most five lines.
//!
//! A deadlock comes first, and threads that have waited for a long time; then how
//! much is lost to waiting for locks, for which one, and what to do; or, if that is
//! little, what takes the time instead: other waits, or work. Each line can be
//! understood by itself. [`guilty`] finds the lock, [`instead`] what else takes the
//! time, and [`words`] writes the lines.

mod codes;
mod dumped;
mod guilty;
mod instead;
mod machine;
mod meanwhile;
mod next;
mod pinned;
mod place;
mod probed;
mod served;
mod stuck;
mod withheld;
mod woken;
mod words;

use super::overview::Overview;
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section, View,
    findings::{GroupTime, Phase, thread_group},
    section::schema_of,
    view::Part,
};
use codes::Codes;
pub use codes::{Advice, Kind};
pub use guilty::{Cause, Certainty, GuiltyLock, KnownBy};
pub use instead::{Activity, Instead};
use machine::Machine;
pub use pinned::Pinned;
use schemars::JsonSchema;
use serde::Serialize;
pub use stuck::Unanswered;
use tyrion_wire::WaitKind;
pub use withheld::{Root, WithheldLoss};

/// The section. Its lines need no explanation.
pub const SECTION: Section = Section {
    name: "verdict",
    title: "Verdict",
    means: "",
    advice: "",
    about: About::Verdict,
    in_brief: InBrief::Always,
    schema: schema_of::<Verdict>,
    answer,
};

/// Below this share of the threads' busy time, locks are not a problem.
const NOTHING: f64 = 0.01;
/// The same for a single group of threads.
const NOTHING_OF_A_GROUP: f64 = 0.03;
/// Below this share, they are a small one.
const LITTLE: f64 = 0.05;
/// The same for a single group of threads.
const LITTLE_OF_A_GROUP: f64 = 0.1;
/// Whoever loses more than this share to locks waits for them, whoever waits for it.
const MUCH: f64 = 0.4;
/// At the start, this share of the little that there is to do is no problem.
const LITTLE_AT_START: f64 = 0.1;
/// The start is this part of a recording, one in so many,
const PART_OF_START: u64 = 5;
/// if that is no shorter than this.
const LEAST_LENGTH_NS: u64 = 5_000_000_000;
/// What nearly all of it is.
const NEARLY_ALL: f64 = 0.9;
/// Groups that waited for less than this part of the recording are not considered by
/// themselves: a thread may live for a moment, and wait all that time; and one that has next to
/// nothing to do may have lost much of that when classes were loaded.
const PART_OF_RECORDING: u64 = 20;
/// Nor are groups that had nothing to do but for this part of their lives, one in so many.
const PART_OF_LIFE: u64 = 20;
/// If all threads together waited for less than this part of it, locks are not a problem: what
/// they have to do is little, too.
const PART_OF_ALL: u64 = 50;

/// What slows the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Threads wait for each other for ever.
    Deadlock,
    /// Threads had waited for long when the recording ended.
    StillWaiting,
    /// Threads had waited for long, when the recording ended, for what they had asked for.
    Unanswered,
    /// Threads lost much of their time to waits for locks.
    Locks,
    /// They lost a little of it.
    LocksALittle,
    /// Threads lost at least 5 % of their time to waits that are not for a lock, and more than
    /// to locks.
    OtherWaits,
    /// Virtual threads kept half of their carriers, or more, while they waited.
    Pinned,
    /// They lost hardly any.
    NotLocks,
    /// A filter selected only some of the waits, so nothing can be concluded.
    Selected,
    /// It is not known for how long anything was recorded, as of profiles, so the waits are no
    /// share of anything.
    NotTimed,
    /// Locks were not recorded.
    #[default]
    NotRecorded,
}

/// The answer.
///
/// What slows the program, in at most five lines. [verdicts.md](verdicts.md) compares the
/// verdict with right answers, and
/// [report.md](report.md#reading-the-verdict) says how to read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// What slows the program.
    pub finding: Finding,
    /// The same in one word, whatever it is that threads wait for.
    pub kind: Kind,
    /// What is waited for: the lock or the place; where threads compute, the method. Of a
    /// deadlock, all locks, separated by commas, and likewise below. Empty if it is not known,
    /// or nothing is.
    pub name: String,
    /// The method or the threads that have it, or that end the waits. Empty if that is not
    /// known.
    pub holder: String,
    /// The program's own method in the stack of the holder, or, from samples, where whoever
    /// ends the waits mostly is. Empty if that is `holder`, or is not known.
    pub holder_own: String,
    /// The method in which threads wait.
    pub waiter: String,
    /// The program's own method that called it. Empty if that is `waiter`, or is not known.
    pub waiter_own: String,
    /// What mends it, in one word.
    pub advice: Advice,
    /// How certain that is.
    pub certainty: Certainty,
    /// The verdict in words: at most five lines.
    pub lines: Vec<String>,
    /// The share of the time in which threads were not idle that they waited for locks, as
    /// `pressure_share` of `overview`. `null` if they were always idle, or if locks were not
    /// recorded.
    pub lost_share: Option<f64>,
    /// How often a thread waited for a lock that another one had.
    pub contended: u64,
    /// How long they waited in all.
    pub wait_ns: u64,
    /// The group of threads that lost the largest share of its busy time, of those that waited
    /// for a twentieth of the recording.
    pub most_lost: Option<GroupLoss>,
    /// The threads of the deadlock that lasted longest, or those that had waited
    /// for long.
    pub waiting: Vec<String>,
    /// Where threads had waited for long for what they had asked for. `null` if they had not.
    pub unanswered: Option<Unanswered>,
    /// The lock with the most wait. `null` if no wait has ended.
    pub lock: Option<GuiltyLock>,
    /// What was lost to waits that are not for a lock, as section `withheld` counts them.
    /// `null` if nothing was.
    pub withheld: Option<WithheldLoss>,
    /// Virtual threads that kept their carriers while they waited. `null` if those were less
    /// than half of the carriers.
    pub pinned: Option<Pinned>,
    /// What takes the time if locks do not. `null` if locks do.
    pub instead: Option<Instead>,
    /// The number of processors that the JVM saw. `null` if the logs do not say.
    pub processors: Option<u64>,
    /// The CPU time of the process, including the JVM and the agent. `null` if it is not known,
    /// or not for the reported time.
    pub cpu_ns: Option<u64>,
    /// How much of the recorded time may lie just after trace mode put its probes into the
    /// running program, which was slow until it was compiled anew, so that threads may have
    /// waited less. The lines say so from a fifth on.
    pub probed_ns: u64,
    /// The command that shows more.
    pub next: String,
}

/// What a group of threads lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct GroupLoss {
    /// The group.
    pub threads: String,
    /// How many threads.
    pub count: u64,
    /// The share of the time in which they were not idle that they waited for locks.
    pub lost_share: f64,
}

fn answer(findings: &Findings<'_>, _: &ReportOptions) -> Answer {
    let verdict = Verdict::of(findings);
    Answer {
        json: serde_json::to_value(&verdict).unwrap_or_default(),
        view: View { parts: vec![Part::Lines(verdict.lines)] },
        lacking: String::new(),
        advises: false,
    }
}

impl Verdict {
    /// From what was found.
    pub fn of(findings: &Findings<'_>) -> Verdict {
        if let Some(verdict) = dumped::verdict(findings) {
            return verdict;
        }
        let overview = Overview::of(findings);
        let machine = Machine::of(findings);
        let mut verdict = Verdict {
            processors: machine.processors,
            cpu_ns: machine.cpu_ns,
            probed_ns: probed::ns(findings),
            ..Verdict::default()
        };
        if findings.profile().lacks_waits {
            verdict.instead = Some(Instead::of(findings, &overview, &machine));
            verdict.set(Codes::of(&verdict, &stuck::Stuck::default(), &overview));
            words::not_recorded(&mut verdict, findings, &machine);
            return verdict;
        }
        if findings.lacks_waits() {
            words::only_held(&mut verdict, findings);
            return verdict;
        }
        verdict.lost_share = overview.pressure_share;
        (verdict.contended, verdict.wait_ns) = of_locks(findings, &overview);
        verdict.most_lost = most_lost(findings);
        verdict.lock = guilty::find(findings, &machine);
        verdict.withheld = withheld::find(findings, &overview);
        verdict.pinned = pinned::find(findings);
        let stuck = stuck::find(findings);
        verdict.unanswered = stuck.unanswered.clone();
        verdict.finding = verdict.judge(findings, &stuck);
        if matches!(verdict.finding, Finding::NotLocks | Finding::LocksALittle) {
            verdict.instead = Some(Instead::of(findings, &overview, &machine));
        }
        verdict.waiting = stuck.threads();
        verdict.set(Codes::of(&verdict, &stuck, &overview));
        words::say(&mut verdict, findings, &machine, &stuck);
        verdict
    }

    fn set(&mut self, codes: Codes) {
        let Codes { kind, name, holder, holder_own, waiter, waiter_own, advice, certainty } = codes;
        (self.holder_own, self.waiter_own) = (holder_own, waiter_own);
        (self.kind, self.advice, self.certainty) = (kind, advice, certainty);
        (self.name, self.holder, self.waiter) = (name, holder, waiter);
    }

    fn judge(&self, findings: &Findings<'_>, stuck: &stuck::Stuck) -> Finding {
        let share = self.lost_share.unwrap_or(0.0);
        let of_group = self.most_lost.as_ref().map_or(0.0, |group| group.lost_share);
        let is_below = |all, of_a_group| share < all && of_group < of_a_group;
        if stuck.deadlock.is_some() {
            Finding::Deadlock
        } else if !stuck.waiting.is_empty() {
            Finding::StillWaiting
        } else if self.is_mostly_unanswered() {
            Finding::Unanswered
        } else if is_partial(findings) {
            Finding::Selected
        } else if findings.lacks_times() && self.contended != 0 {
            Finding::NotTimed
        } else if self.pinned.as_ref().is_some_and(|it| share < LITTLE || it.wall_ns > self.wait_ns)
        {
            Finding::Pinned
        } else if self.loses_more_to_other_waits() {
            Finding::OtherWaits
        } else if is_below(NOTHING, NOTHING_OF_A_GROUP)
            || share < LITTLE_AT_START && is_of_start(findings)
            || contended_ns(findings) < findings.recorded_ns() / PART_OF_ALL
        {
            Finding::NotLocks
        } else if is_below(LITTLE, LITTLE_OF_A_GROUP) {
            Finding::LocksALittle
        } else {
            Finding::Locks
        }
    }

    /// Whether what had not ended took at least as long as all that had.
    fn is_mostly_unanswered(&self) -> bool {
        let withheld_ns = self.withheld.as_ref().map_or(0, |loss| loss.wait_ns);
        let ended_ns = self.wait_ns.max(withheld_ns);
        self.unanswered.as_ref().is_some_and(|it| it.waited_ns >= ended_ns)
    }

    fn loses_more_to_other_waits(&self) -> bool {
        let is_much =
            |loss: &WithheldLoss| loss.lost_share >= LITTLE && loss.wait_ns > self.wait_ns;
        self.withheld.as_ref().is_some_and(|loss| is_much(loss) && !self.is_for_locks(loss))
    }

    /// Whether those who end these waits lose much of their own time to locks: that is what the
    /// others wait for in the end.
    fn is_for_locks(&self, loss: &WithheldLoss) -> bool {
        let Some(most) = self.most_lost.as_ref().filter(|group| group.lost_share >= MUCH) else {
            return false;
        };
        let is_theirs = match &loss.woken_by {
            Some(by) => thread_group(&by.threads) == most.threads,
            // Whoever empties a queue is somebody else than who waits for room in it.
            None => loss.why == "hands-over",
        };
        // Where the chain is known, it says more.
        loss.root.is_none() && is_theirs
    }
}

/// How often threads waited for locks and how long, without what are waits for work.
fn of_locks(findings: &Findings<'_>, overview: &Overview) -> (u64, u64) {
    let rows = findings.profile().waits.iter();
    let for_work =
        rows.filter(|it| it.kind.is_contention() && findings.for_work.is_row(it.stack, it.lock));
    for_work.fold((overview.contended, overview.wait_ns), |(contended, wait_ns), it| {
        (contended.saturating_sub(it.count), wait_ns.saturating_sub(it.wait_ns))
    })
}

/// How long all threads waited for locks, as far as that is on the axis.
fn contended_ns(findings: &Findings<'_>) -> u64 {
    findings.group_times.iter().fold(0, |sum, group| sum.saturating_add(group.contended_ns))
}

/// Whether threads waited for locks when all began, and hardly ever later.
fn is_of_start(findings: &Findings<'_>) -> bool {
    let start_ns = findings.axis.duration_ns / PART_OF_START;
    let sum = |of: &dyn Fn(&Phase) -> bool| {
        let phases = findings.phases.iter().filter(|phase| of(phase));
        phases.fold(0u64, |sum, phase| sum.saturating_add(phase.contended_ns))
    };
    let (first_ns, all_ns) = (sum(&|phase| phase.start_ns < start_ns), sum(&|_| true));
    findings.axis.duration_ns >= LEAST_LENGTH_NS && first_ns as f64 >= NEARLY_ALL * all_ns as f64
}

/// Whether the filter leaves out some waits for locks.
fn is_partial(findings: &Findings<'_>) -> bool {
    let filter = findings.filter;
    let mut contention = WaitKind::ALL.into_iter().filter(|kind| kind.is_contention());
    let lacks_kinds = contention.any(|kind| !filter.kinds.contains(kind));
    lacks_kinds || filter.lock.is_some() || filter.group.is_some() || filter.min_wait_ns != 0
}

/// The group that lost the largest share, of those that waited for long enough.
fn most_lost(findings: &Findings<'_>) -> Option<GroupLoss> {
    let least_ns = findings.recorded_ns() / PART_OF_RECORDING;
    let is_much = |group: &&GroupTime| {
        let busy_ns = group.lived_ns.saturating_sub(group.idle_ns);
        group.contended_ns > least_ns && busy_ns > group.lived_ns / PART_OF_LIFE
    };
    let waited = findings.group_times.iter().filter(is_much);
    let share = |group: &GroupTime| group.lost_share().unwrap_or(1.0);
    // The first by name of equal ones.
    let most = waited.rev().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let (threads, count) = (most.threads.clone(), most.count);
    Some(GroupLoss { threads, count, lost_share: share(most) })
}

#[cfg(test)]
mod tests;
