//! What thread dumps show: who blocks whom, circles, pools that are exhausted, threads that do
//! not move.

mod found;
mod series;
mod view;

use crate::{About, Answer, Findings, InBrief, ReportOptions, Section, section::schema_of};
use schemars::JsonSchema;
use serde::Serialize;
pub(crate) use series::brief;

/// Of longer series the first dumps are shown, and the last one.
const SHOWN_DUMPS: usize = 8;

/// The section.
pub const SECTION: Section = Section {
    name: "dumps",
    title: "Thread dumps",
    means: "What threads did when the dumps were taken. Counts are of threads: a dump knows no \
            durations.",
    advice: "One dump is a moment. What is the same in several, seconds apart, is what holds the \
             program up.",
    about: About::Dumps,
    in_brief: InBrief::InDetail,
    schema: schema_of::<DumpFindings>,
    answer,
};

/// The answer.
///
/// What thread dumps show, of one dump or of a series, in one file or in several. Names of
/// holders that are inferred say so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DumpFindings {
    /// How many dumps.
    pub dumps: u64,
    /// How many threads the last one has.
    pub threads: u64,
    /// From the first to the last. `null` if the files do not say when they were taken.
    pub span_ns: Option<u64>,
    /// What threads do in the last dump.
    pub states: Vec<StateRow>,
    /// How many threads the JVM itself lists as deadlocked; those that wait behind a deadlock
    /// may be among them.
    pub told_deadlocked: u64,
    /// Circles in the last dump.
    pub deadlocks: Vec<DumpDeadlock>,
    /// Locks that threads wait for, those with the most waiters first.
    pub blocked: Vec<BlockedOn>,
    /// Threads that wait for something else than a lock or work: of pools first.
    pub crowds: Vec<WaitingCrowd>,
    /// Threads with the same stack in all dumps that are not idle. Empty for one dump.
    pub unmoved: Vec<Unmoved>,
    /// Threads that wait for work in the last dump.
    pub idle: Vec<IdleThreads>,
    /// The CPU time of threads between the first dump and the last, most first; of a single
    /// dump, since their start. Empty if the dumps do not tell.
    pub cpu: Vec<CpuRow>,
    /// Where threads run in the last dump.
    #[serde(skip)]
    pub(crate) running: Vec<StatePlace>,
    /// Where they are in native code.
    #[serde(skip)]
    pub(crate) native: Vec<StatePlace>,
    /// Where they wait for something that is no lock.
    #[serde(skip)]
    pub(crate) waiting: Vec<StatePlace>,
    /// Groups of threads that were all at work in all dumps, those at tasks of a pool first.
    #[serde(skip)]
    pub(crate) full: Vec<FullGroup>,
    /// Whether there are virtual threads that the last dump does not show.
    #[serde(skip)]
    pub(crate) lacks_virtual: bool,
}

/// Threads at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatePlace {
    pub(crate) place: String,
    pub(crate) count: u64,
    pub(crate) threads: Vec<String>,
}

/// A group of threads that were all at work in all dumps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FullGroup {
    pub(crate) group: String,
    pub(crate) count: u64,
    /// Where one of them is, by the program's own method if there is one.
    pub(crate) place: String,
    /// Whether a pool gives them tasks.
    pub(crate) is_pool: bool,
}

/// Threads in a state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StateRow {
    /// The state.
    pub state: &'static str,
    /// How many threads.
    pub threads: u64,
}

/// Threads that wait for each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DumpDeadlock {
    /// The threads: each waits for what the next one has, the last for what the first has.
    pub threads: Vec<DumpWaiter>,
    /// How many others wait for these.
    pub behind: u64,
    /// Whether a holder was inferred.
    pub is_inferred: bool,
}

/// A thread that waits for a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DumpWaiter {
    /// The thread.
    pub thread: String,
    /// The kind of wait.
    pub kind: &'static str,
    /// The class of the lock.
    pub class: String,
    /// Its name, if it has one.
    pub lock: String,
    /// Where it waits.
    pub place: String,
    /// How it is known who has the lock: `told`, `locked`, `initializer`, `beyond-the-call`
    /// (inferred), `unknown`.
    pub known_by: &'static str,
}

/// A lock that threads wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BlockedOn {
    /// The class of the lock.
    pub class: String,
    /// Its name, if it has one.
    pub name: String,
    /// The kind of the waits.
    pub kind: &'static str,
    /// In how many dumps threads wait for it.
    pub in_dumps: u64,
    /// How many threads, in the latest of them.
    pub waiters: u64,
    /// How many in the dump with the most.
    pub most_waiters: u64,
    /// Their names, in the latest; ten at most.
    pub threads: Vec<String>,
    /// Where they wait.
    pub places: Vec<String>,
    /// The waiters of all dumps together.
    #[serde(skip)]
    pub(crate) in_all_dumps: u64,
    /// Who has it; empty if that is not known.
    pub holders: Vec<DumpHolder>,
}

/// A thread that has a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DumpHolder {
    /// The thread.
    pub thread: String,
    /// What it does meanwhile.
    pub state: &'static str,
    /// Where.
    pub place: String,
    /// Where it took the lock; empty if that is not known.
    pub took: String,
    /// The class of what it waits for itself; empty if it does not.
    pub waits_for: String,
    /// Whether it waits for whatever comes in.
    #[serde(skip)]
    pub(crate) takes_input: bool,
    /// Whether it waits for a lock.
    pub is_blocked: bool,
    /// Whether it waits for something else, without a limit of time.
    pub is_asking: bool,
    /// How it is known, as in `deadlocks`; of a pool's object also `uses-it`: the holder is in
    /// the code of such an object.
    pub known_by: &'static str,
    /// Its stack, innermost first.
    pub stack: Vec<String>,
}

/// Threads that wait at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WaitingCrowd {
    /// Where: of those that wait for an object of a pool, the method of the pool.
    pub place: String,
    /// Who called the pool; empty for others.
    pub caller: String,
    /// The class of what they wait for; empty if that is not known.
    pub class: String,
    /// Whether they wait for an object of a pool, such as a connection.
    pub is_pool: bool,
    /// How many threads, in the last dump.
    pub count: u64,
    /// How many in each dump.
    pub per_dump: Vec<u64>,
    /// Their groups.
    pub groups: Vec<String>,
    /// How many threads their group has.
    pub of_group: u64,
    /// How many of these are idle.
    pub idle_of_group: u64,
    /// How many of them stood there in all dumps.
    #[serde(skip)]
    pub(crate) unmoved: u64,
    /// The program's own method in their stacks; empty if that is `place`, or not known.
    #[serde(skip)]
    pub(crate) own: String,
    /// Whether they wait for room in a queue.
    #[serde(skip)]
    pub(crate) puts: bool,
    /// Whether they wait until others come to the same point.
    #[serde(skip)]
    pub(crate) meets: bool,
    /// Whether a pool runs them.
    #[serde(skip)]
    pub(crate) is_task: bool,
    /// Of their group, who is at work in the method in which they wait, in all dumps.
    #[serde(skip)]
    pub(crate) mate: Option<DumpHolder>,
    /// Whether they wait for a result, or called much before they waited. Who does neither may
    /// wait for work.
    #[serde(skip)]
    pub(crate) asks: bool,
    /// Names; ten at most.
    pub names: Vec<String>,
    /// Of a pool: who seems to have its objects in the last dump. That is inferred, so that
    /// nobody stands there if the stacks do not tell.
    pub holders: Vec<DumpHolder>,
}

impl WaitingCrowd {
    /// How many threads waited in each dump, or in the first ones and the last if there are
    /// many.
    pub(crate) fn course(&self) -> String {
        let text =
            |counts: &[u64]| counts.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        match &self.per_dump[..] {
            [first @ .., last] if first.len() > SHOWN_DUMPS => {
                let first = first.get(..SHOWN_DUMPS).unwrap_or_default();
                format!("{}, … {last}", text(first))
            }
            all => text(all),
        }
    }
}

/// A thread that has not moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Unmoved {
    /// The thread.
    pub thread: String,
    /// What it does.
    pub state: &'static str,
    /// Where.
    pub place: String,
}

/// Threads that wait for work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct IdleThreads {
    /// Their group.
    pub threads: String,
    /// How many.
    pub count: u64,
    /// Where they wait.
    pub place: String,
}

/// The CPU time of a thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CpuRow {
    /// The thread.
    pub thread: String,
    /// Its CPU time.
    pub cpu_ns: u64,
    /// The time meanwhile. `null` if the dumps do not tell.
    pub elapsed_ns: Option<u64>,
    /// What it does in the last dump.
    pub state: &'static str,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let found = dump_findings(findings).unwrap_or_default();
    Answer {
        json: serde_json::to_value(&found).unwrap_or_default(),
        view: view::view(&found, options),
        lacking: match found.dumps {
            0 => "needs thread dumps".to_owned(),
            _ => String::new(),
        },
        advises: found.dumps == 1,
    }
}

/// What the dumps show; `None` if there are none.
pub fn dump_findings(findings: &Findings<'_>) -> Option<DumpFindings> {
    found::find(findings)
}

/// Whether all of these logs are thread dumps.
pub fn are_dumps(findings: &Findings<'_>) -> bool {
    !findings.logs.is_empty() && findings.logs.iter().all(|log| !log.dumps().is_empty())
}
