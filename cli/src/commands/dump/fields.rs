//! What records are in JSON: the schema of a line of `tyrion dump --json`.

use crate::commands::lock_names::TakenLock;
use schemars::JsonSchema;
use serde::Serialize;

/// The number of the schema; it grows when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

/// What stands for a long part until it is written: see [`super::record::Long`].
pub type Later = ();

/// A record. Times are in ns since the log began, durations in ns.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record<'a> {
    /// The first line: what the others are.
    Dump(About),
    /// A thread.
    Thread(Thread<'a>),
    /// A thread gets another name.
    ThreadName(ThreadName<'a>),
    /// A pause of the garbage collector.
    Collection(Collection),
    /// One wait.
    Wait(Wait<'a>),
    /// Waits below the threshold, summed.
    Fold(Fold<'a>),
    /// A wait that had not ended.
    Pending(Pending<'a>),
    /// Who ended the wait before it.
    Wake(Wake<'a>),
    /// In which span of a trace the wait or hold before it was.
    Span(SpanIds<'a>),
    /// What the owner of the lock was doing when the wait before it began.
    Operation(Operation<'a>),
    /// What the owner of a lock did while another thread waited.
    Holder(OwnerAnswer<'a>),
    /// What a thread was doing, in one sample or several alike.
    Sample(SampleRecord<'a>),
    /// The same, in a snapshot that the program asked for.
    Snapshot(SampleRecord<'a>),
    /// One hold, at its release.
    Hold(Hold<'a>),
    /// A thread acquires a lock object for the first time.
    Instance(Instance<'a>),
    /// A thread made another one wait.
    Blame(Blame<'a>),
    /// A lock acquired while holding others.
    Nest(Nest<'a>),
    /// Acquisitions, summed.
    Acquisitions(Acquisitions<'a>),
    /// A counter of the agent.
    Statistic(Statistic<'a>),
}

/// What all lines are.
#[derive(Serialize, JsonSchema)]
pub struct About {
    /// The version of what the lines are: 1.
    schema: u32,
    /// The version of Tyrion that wrote them.
    tyrion: &'static str,
}

impl Default for About {
    fn default() -> About {
        About { schema: SCHEMA, tyrion: env!("CARGO_PKG_VERSION") }
    }
}

/// A thread as the log defines it.
#[derive(Serialize, JsonSchema)]
pub struct Thread<'a> {
    /// Its id within the log.
    pub thread_id: u32,
    /// Its `Thread.getId()`.
    pub java_id: u64,
    /// Its name when it was first seen.
    pub name: &'a str,
    /// Its group.
    pub group: &'a str,
    /// Whether it is a daemon.
    pub daemon: bool,
    /// Whether it is virtual.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
}

/// A new name of a thread.
#[derive(Serialize, JsonSchema)]
pub struct ThreadName<'a> {
    /// The thread's id within the log.
    pub thread_id: u32,
    /// When.
    pub at_ns: u64,
    /// The name.
    pub name: &'a str,
}

/// A pause.
#[derive(Serialize, JsonSchema)]
pub struct Collection {
    /// When it began.
    pub start_ns: u64,
    /// How long it lasted.
    pub pause_ns: u64,
}

/// The thread that a record is of.
#[derive(Serialize, JsonSchema)]
pub struct Who<'a> {
    /// Its name.
    pub thread: &'a str,
    /// Its id within the log.
    pub thread_id: u32,
}

/// The thread that waited for the record's own.
#[derive(Serialize, JsonSchema)]
pub struct Waiter<'a> {
    /// Its name.
    pub waiter: &'a str,
    /// Its id within the log.
    pub waiter_id: u32,
    /// Where it waited, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub waiter_stack: Later,
}

/// What is waited for.
#[derive(Serialize, JsonSchema)]
pub struct WaitedFor<'a> {
    /// The kind of wait.
    pub kind: &'static str,
    /// `java.lang.Object#7`.
    pub lock: &'a str,
    /// Its class.
    pub lock_class: &'a str,
    /// What the program calls it. Missing if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_name: Option<&'a str>,
}

/// A wait.
#[derive(Serialize, JsonSchema)]
pub struct Wait<'a> {
    /// When it began.
    pub start_ns: u64,
    /// How long it took.
    pub wait_ns: u64,
    /// Who waited.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// For what.
    #[serde(flatten)]
    pub lock: WaitedFor<'a>,
    /// How it ended.
    pub outcome: &'static str,
    /// Who had the lock when the wait began. `null` if that is not known.
    pub owner: Option<&'a str>,
    /// How often the thread parked meanwhile.
    pub parks: u64,
    /// Where, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
    /// What the program said that the thread was doing. Missing if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
}

/// Waits below the threshold.
#[derive(Serialize, JsonSchema)]
pub struct Fold<'a> {
    /// When the first of them ended.
    pub first_ns: u64,
    /// When the last of them ended.
    pub last_ns: u64,
    /// How many.
    pub count: u64,
    /// How long they took in all.
    pub wait_ns: u64,
    /// The longest of them.
    pub max_ns: u64,
    /// How many were of which duration, by powers of two.
    pub log2_histogram: &'a [u32],
    /// Who waited.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// For what.
    #[serde(flatten)]
    pub lock: WaitedFor<'a>,
    /// Where, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
    /// What the program said that the thread was doing. Missing if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
}

/// A wait that had not ended when the log did.
#[derive(Serialize, JsonSchema)]
pub struct Pending<'a> {
    /// When it began.
    pub start_ns: u64,
    /// How long it had lasted.
    pub waited_ns: u64,
    /// Who waits.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// For what.
    #[serde(flatten)]
    pub lock: WaitedFor<'a>,
    /// Who has the lock. `null` if that is not known.
    pub owner: Option<&'a str>,
    /// Where, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
    /// What the program said that the thread was doing. Missing if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
}

/// The end of a wait, and who brought it about.
#[derive(Serialize, JsonSchema)]
pub struct Wake<'a> {
    /// When.
    pub at_ns: u64,
    /// How long the wait took.
    pub wait_ns: u64,
    /// How much later the waiting thread went on.
    pub late_ns: u64,
    /// Who ended it.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// Who waited.
    #[serde(flatten)]
    pub waiter: Waiter<'a>,
    /// For what.
    #[serde(flatten)]
    pub lock: WaitedFor<'a>,
    /// Where it was ended, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
    /// Whether that was looked for.
    pub stack_taken: bool,
}

/// A span.
#[derive(Serialize, JsonSchema)]
pub struct SpanIds<'a> {
    /// The trace's id, 32 hexadecimal digits.
    pub trace_id: &'a str,
    /// The span's id, 16 of them.
    pub span_id: &'a str,
}

/// What an owner was doing.
#[derive(Serialize, JsonSchema)]
pub struct Operation<'a> {
    /// What the program said: its group, or the name of its span.
    pub owner_group: &'a str,
}

/// An answer to the question who has a lock.
#[derive(Serialize, JsonSchema)]
pub struct OwnerAnswer<'a> {
    /// When.
    pub at_ns: u64,
    /// How much of the wait it stands for.
    pub stands_for_ns: u64,
    /// What the owner did, or `free`.
    pub state: &'static str,
    /// How many frames it had called since it took the lock.
    pub frames_above: u32,
    /// The owner.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// Who waited.
    #[serde(flatten)]
    pub waiter: Waiter<'a>,
    /// For what.
    #[serde(flatten)]
    pub lock: WaitedFor<'a>,
    /// Where the owner was, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
}

/// What a thread was seen doing.
#[derive(Serialize, JsonSchema)]
pub struct SampleRecord<'a> {
    /// When.
    pub at_ns: u64,
    /// Who.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// Its state as the JVM has it.
    pub state: &'static str,
    /// Its state as other outputs show it.
    pub shown_as: &'static str,
    /// The time that it stands for.
    pub wall_ns: u64,
    /// The CPU time of the thread in that time.
    pub cpu_ns: u64,
    /// How many samples alike.
    pub count: u64,
    /// The kind of wait. `null` if it does not wait.
    pub kind: Option<&'static str>,
    /// What it waits for, as in waits. `null` if that is not known.
    pub lock: Option<&'a str>,
    /// Its class.
    pub lock_class: Option<&'a str>,
    /// What the program calls it. Missing if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_name: Option<&'a str>,
    /// Who has it. `null` if that is not known.
    pub owner: Option<&'a str>,
    /// Where, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
    /// What the program said that the thread was doing. `null` if it did not.
    pub group: Option<&'a str>,
}

/// A hold.
#[derive(Serialize, JsonSchema)]
pub struct Hold<'a> {
    /// When the lock was released.
    pub released_ns: u64,
    /// How long it was held.
    pub hold_ns: u64,
    /// Who held it.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// The lock.
    #[serde(flatten)]
    pub lock: TakenLock<'a>,
    /// Whether it is the first one of this thread at this place.
    pub first: bool,
    /// Where, innermost frame first; if none was taken, the place alone.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
    /// Whether it was.
    pub stack_taken: bool,
}

/// A lock object that a thread took.
#[derive(Serialize, JsonSchema)]
pub struct Instance<'a> {
    /// Who took it.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// The lock.
    #[serde(flatten)]
    pub lock: TakenLock<'a>,
    /// Whether another thread had taken it before.
    pub shared: bool,
}

/// A wait, or a part of one, that is charged to the thread that had the lock.
#[derive(Serialize, JsonSchema)]
pub struct Blame<'a> {
    /// When the lock was released.
    pub released_ns: u64,
    /// How much is charged.
    pub blamed_ns: u64,
    /// Who had the lock.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// Who waited.
    #[serde(flatten)]
    pub waiter: Waiter<'a>,
    /// The kind of wait.
    pub kind: &'static str,
    /// `java.lang.Object#7`.
    pub lock: &'a str,
    /// What the program calls it; may be empty.
    pub lock_name: &'a str,
    /// Its class.
    pub lock_class: &'a str,
    /// Where it had been taken. `null` if that is not known.
    pub at: Option<&'a str>,
    /// Where it was released, innermost frame first.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
}

/// Locks that were held when another one was taken.
#[derive(Serialize, JsonSchema)]
pub struct Nest<'a> {
    /// When.
    pub at_ns: u64,
    /// Who.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// The lock that was taken.
    #[serde(flatten)]
    pub lock: TakenLock<'a>,
    /// Where, innermost frame first; if none was taken, the place alone.
    #[schemars(with = "Vec<String>")]
    pub stack: Later,
    /// Whether it was.
    pub stack_taken: bool,
    /// The locks that were held.
    #[schemars(with = "Vec<TakenLock<'a>>")]
    pub outer: Later,
    /// `true` if the thread would not have waited for it; otherwise missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<bool>,
}

/// Acquisitions of the locks of a class at a place by a thread.
#[derive(Serialize, JsonSchema)]
pub struct Acquisitions<'a> {
    /// How many, without reentrant ones.
    pub acquisitions: u64,
    /// How many of a lock that the thread had.
    pub reentrant: u64,
    /// How many tries failed.
    pub failed: u64,
    /// How long the locks were held in all; estimated if not all holds were measured.
    pub hold_ns: u64,
    /// How many holds were measured.
    pub measured: u64,
    /// The longest of these.
    pub max_hold_ns: u64,
    /// How many of them were the first ones.
    pub first: u64,
    /// How long these took.
    pub first_ns: u64,
    /// How many were taken by chance.
    pub sampled: u64,
    /// How long these took.
    pub sampled_ns: u64,
    /// How many were of objects that there was no room for.
    pub unidentified: u64,
    /// How many holds were of which duration, by powers of two.
    pub log2_histogram: &'a [u32],
    /// Who.
    #[serde(flatten)]
    pub who: Who<'a>,
    /// The locks.
    #[serde(flatten)]
    pub lock: TakenLock<'a>,
    /// Where they were counted in bursts, what was estimated from these.
    #[serde(flatten)]
    pub estimated: Option<Estimated>,
}

/// What was not counted.
#[derive(Serialize, JsonSchema)]
pub struct Estimated {
    /// How many bursts there were.
    pub bursts: u64,
    /// How many of `acquisitions` are estimated.
    pub uncounted: u64,
    /// The standard error of that.
    pub acquisitions_error: u64,
    /// How many of `reentrant` are estimated.
    pub uncounted_reentrant: u64,
    /// The standard error of that.
    pub reentrant_error: u64,
}

/// A number that the agent tells of itself.
#[derive(Serialize, JsonSchema)]
pub struct Statistic<'a> {
    /// What.
    pub key: &'a str,
    /// How many.
    pub value: u64,
}
