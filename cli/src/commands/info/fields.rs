//! What `tyrion info --json` prints; `docs/info.md` tells what every field means.

use super::{Questions, Walks};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tyrion_report::{Collections, OwnCpu};

/// The number of the schema; it grows when a field goes or changes its meaning.
const SCHEMA: u32 = 1;

/// What a log is, and what was recorded into it.
#[derive(Serialize, JsonSchema)]
pub struct InfoJson<'a> {
    #[serde(flatten)]
    pub made: Made,
    /// The log's name as the user gave it.
    pub log: &'a str,
    /// What was read: `event-log`, `jfr`, `original-tyrion`, `pprof` or `collapsed`; see inputs.md.
    pub format: &'a str,
    /// The version of the log's format; 0 for formats other than the event log.
    pub version: u16,
    /// The recorded process.
    pub pid: Option<u32>,
    /// `closed` if the JVM ended in an orderly way, or the recording continues in a later file;
    /// `recording` while it runs, or if it was killed; `paused` while recording is paused, also for
    /// lack of room on the disk; `broken` if the log could no longer be written.
    pub state: &'static str,
    /// Whether the recording continues in a later file. `false` if the log was written by an agent
    /// that did not record this yet.
    pub continued: bool,
    /// Whether the log is closed and not damaged.
    pub complete: bool,
    /// When the log begins, `2026-11-21T10:49:00Z`.
    pub start: Option<String>,
    /// The same in ns of Unix time.
    pub start_wall_ns: Option<u64>,
    /// From the log's beginning to its end.
    pub duration_ns: Option<u64>,
    /// Waits shorter than this were folded into sums; of a recording of Flight Recorder, they are
    /// missing. `null` for profiles, which have only sums, and for recordings of async-profiler
    /// that have samples of waits.
    pub threshold_ns: Option<u64>,
    /// The maximum number of frames kept of a stack; 0 if that is not known.
    pub depth: u32,
    /// What the agent recorded about the JVM and its own options, by key: event-log.md.
    pub metadata: BTreeMap<&'a str, &'a str>,
    /// All waits for locks. `null` if no waits were recorded; its fields are `null` if the format
    /// does not tell them.
    pub totals: Option<Totals>,
    /// The waits of each kind.
    pub kinds: BTreeMap<&'static str, KindTotals>,
    /// The agent's own counts of waits, whatever the filter.
    pub callbacks: Callbacks,
    /// How many waits are recorded one by one.
    pub events: u64,
    /// The mean size of a record; for other formats, of the log that it is converted into.
    pub bytes_per_event: f64,
    /// The size of the file; of a compressed one, of what was unpacked.
    pub file_bytes: u64,
    /// How many threads the log names.
    pub threads: Option<usize>,
    /// How many threads were waiting when the log ended: for locks (`contention`), and otherwise
    /// (`idle`). `tyrion report --section still-waiting` shows which threads these are. `null` if
    /// the format does not tell.
    pub waiting: Option<WaitingCounts>,
    /// What is damaged in the log.
    pub damage: Vec<String>,
    /// What a reader should know about how the figures came about.
    pub notes: Vec<String>,
    /// What the format that was read does not tell, so that finding nothing means that nothing is
    /// known: `waits`, `times` (when threads waited), `single-waits` (there are only sums),
    /// `durations`, `counts` (how often they waited), `threads`, `stacks`. Empty for event logs.
    /// See inputs.md.
    pub lacks: Vec<&'static str>,
    /// When recording was paused, by `tyrion stop` or for lack of room on the disk.
    pub pauses: Vec<Pause>,
    /// The pauses in which the garbage collector had all threads stopped. `null` if the JVM does
    /// not report them, or in logs of earlier agents. See event-log.md.
    pub collections: Option<Collections>,
    /// The agent's part of the program's CPU time, from the start of the recording to the end of
    /// this file, pauses excluded. `null` in logs of earlier agents. See costs.md.
    pub own_cpu: Option<OwnCpu>,
    /// How the agent found the stacks of threads that waited for locks, or held them, since the
    /// recording began. `null` with `walk=jvmti`, in JVMs where it always asks, and in logs of
    /// earlier agents.
    pub walks: Option<Walks>,
    /// How often the agent looked at what owners of locks did. `null` with `holders=false`, in
    /// trace mode, as long as the log has not ended, and in logs of earlier agents.
    pub holders: Option<Questions>,
    /// When each mode was on, if the mode changed. Otherwise empty.
    pub mode_spans: Vec<ModeSpan<'a>>,
    /// When options of trace mode got another value than `metadata` says, or than before. If trace
    /// mode began later than the log, all of its options.
    pub option_changes: Vec<OptionChange<'a>>,
    /// What trace mode recorded. Missing if nothing was recorded in trace mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace<'a>>,
    /// What sampling recorded. Missing if nothing was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling<'a>>,
}

/// By what it was made.
#[derive(Serialize, JsonSchema)]
pub struct Made {
    /// 1. It changes when a field is renamed, removed or means something else.
    schema: u32,
    /// The version of Tyrion that wrote this.
    tyrion: &'static str,
}

impl Default for Made {
    fn default() -> Made {
        Made { schema: SCHEMA, tyrion: env!("CARGO_PKG_VERSION") }
    }
}

/// All waits for locks.
#[derive(Serialize, JsonSchema)]
pub struct Totals {
    /// How many there were.
    pub contentions: Option<u64>,
    /// How long they waited.
    pub wait_ns: Option<u64>,
    /// How many of them were folded into sums.
    pub folded: Option<u64>,
    /// How many were not recorded, for lack of room.
    pub dropped: u64,
}

/// The waits of a kind.
#[derive(Serialize, JsonSchema)]
pub struct KindTotals {
    /// How many there were.
    pub count: Option<u64>,
    /// How long they lasted.
    pub wait_ns: Option<u64>,
    /// How many of them are recorded one by one.
    pub recorded: u64,
    /// How many of them are folded into sums.
    pub folded: Option<u64>,
    /// Whether this kind counts as contention.
    pub contention: bool,
}

/// What became of the waits that the agent was told of.
#[derive(Serialize, JsonSchema)]
pub struct Callbacks {
    /// Waits for locks.
    pub contention: Tally,
    /// Other waits.
    pub other: Tally,
}

/// Waits.
#[derive(Serialize, JsonSchema)]
pub struct Tally {
    /// How many ended.
    pub ended: u64,
    /// How many of these were recorded.
    pub recorded: u64,
    /// How many were folded.
    pub folded: u64,
    /// How many were dropped.
    pub dropped: u64,
}

/// Threads that waited when the log ended.
#[derive(Serialize, JsonSchema)]
pub struct WaitingCounts {
    /// For locks.
    pub contention: usize,
    /// Otherwise.
    pub idle: usize,
}

/// A time in which nothing was recorded.
#[derive(Serialize, JsonSchema)]
pub struct Pause {
    /// When it began, since the log began.
    pub start_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
}

/// A time in which the same was recorded.
#[derive(Serialize, JsonSchema)]
pub struct ModeSpan<'a> {
    /// When it began, since the log began.
    pub start_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// The mode.
    pub mode: &'a str,
}

/// An option that was changed while the log was written.
#[derive(Serialize, JsonSchema)]
pub struct OptionChange<'a> {
    /// When that was, since the log began.
    pub start_ns: u64,
    /// The key that the option has in the metadata.
    pub option: &'a str,
    /// Its value from then on; empty for none.
    pub value: &'a str,
}

/// What trace mode recorded.
#[derive(Serialize, JsonSchema)]
pub struct Trace<'a> {
    /// How many records of trace mode are in the log, whatever the filter.
    pub records: u64,
    /// Which holds were measured: `1/64`, `all` or `none`; `sampled` if that changed.
    pub hold: String,
    /// Acquisitions. `null` if the filter selects by time or duration, which counted acquisitions
    /// do not have.
    pub taken: Option<AcquisitionSums>,
    /// Wait time that was charged to the holders of locks; `null` if the filter selects by
    /// duration.
    pub blame: Option<BlameTotals>,
    /// Lock objects, by who took them; `null` with `identity=false`.
    pub instances: Option<Instances>,
    /// Pairs of locks of which one was taken while the other was held; if lock objects are not told
    /// apart, pairs of places.
    pub nesting_pairs: u64,
    /// What has probes.
    pub instrumented: Instrumented,
    /// How many methods have no probes, by reason.
    pub left_alone: BTreeMap<&'a str, u64>,
    /// How long the agent's own work took, by kind of work.
    pub own_cost_ns: BTreeMap<&'a str, u64>,
    /// All counters of the agent, by key.
    pub statistics: &'a BTreeMap<String, u64>,
}

/// Acquisitions.
#[derive(Serialize, JsonSchema)]
pub struct AcquisitionSums {
    /// How many there were, not counting the next two.
    pub acquisitions: u64,
    /// How many of the `acquisitions` were not counted, but estimated from bursts
    /// (`count=adaptive`).
    pub uncounted: u64,
    /// The standard error of `acquisitions`; 0 if all were counted.
    pub acquisitions_error: u64,
    /// Acquisitions by a thread that held the lock already.
    pub reentrant: u64,
    /// The standard error of that.
    pub reentrant_error: u64,
    /// Attempts that did not get the lock.
    pub failed: u64,
    /// How long locks were held.
    pub hold_ns: u64,
    /// How many holds were measured.
    pub measured: u64,
    /// The longest of these.
    pub longest_hold_ns: u64,
    /// Whether all holds were measured, or `hold_ns` is an estimate.
    pub hold_is_exact: bool,
}

/// Waits that are charged to who had the lock.
#[derive(Serialize, JsonSchema)]
pub struct BlameTotals {
    /// How many parts there were.
    pub count: u64,
    /// How long they were, in all.
    pub blamed_ns: u64,
}

/// Lock objects, by who took them.
#[derive(Serialize, JsonSchema)]
pub struct Instances {
    /// Those that one thread took.
    pub one_thread: u64,
    /// Those that several threads took.
    pub several_threads: u64,
    /// Those that virtual threads took, and nobody else.
    pub virtual_threads_only: u64,
    /// Acquisitions of objects that the agent had no room to tell apart.
    pub unidentified_acquisitions: u64,
}

/// What has probes.
#[derive(Serialize, JsonSchema)]
pub struct Instrumented {
    /// How many classes.
    pub classes: Option<u64>,
    /// How many methods.
    pub methods: Option<u64>,
}

/// What sampling recorded.
#[derive(Serialize, JsonSchema)]
pub struct Sampling<'a> {
    /// The mean time between two snapshots.
    pub period_ns: Option<u64>,
    /// Which threads were sampled, if not all.
    pub threads_regex: Option<&'a str>,
    /// How many snapshots of the JVM were taken.
    pub snapshots: Option<u64>,
    /// How many records of samples are in the log, whatever the filter.
    pub records: u64,
    /// Records that were lost for lack of room.
    pub lost_records: Option<u64>,
    /// How many stacks were walked.
    pub stack_walks: Option<u64>,
    /// How many stacks the JVM did not provide.
    pub unseen_stacks: Option<u64>,
    /// Snapshots that were delayed so that the agent costs less than a fifth of a CPU.
    pub snapshots_put_off: Option<u64>,
    /// CPU time that the agent used for sampling.
    pub own_cost_ns: Option<u64>,
    #[serde(flatten)]
    pub all: Samples,
    /// The samples by the state that the JVM reported.
    pub states: BTreeMap<&'static str, Samples>,
    /// The samples by the state that the report and the other outputs show; threads that wait for
    /// work are `idle` there.
    pub shown_as: BTreeMap<&'static str, Samples>,
    /// How many threads were seen.
    pub threads: u64,
}

/// Samples.
#[derive(Serialize, JsonSchema)]
pub struct Samples {
    /// How many times a thread was seen, of those that match the filter.
    pub samples: u64,
    /// The elapsed time that these samples represent; `null` for thread dumps.
    pub wall_ns: Option<u64>,
    /// The CPU time that the threads used in that time; likewise.
    pub cpu_ns: Option<u64>,
}
