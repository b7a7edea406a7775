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
    pub log: &'a str,
    pub format: &'a str,
    pub version: u16,
    pub pid: Option<u32>,
    pub state: &'static str,
    pub continued: bool,
    pub complete: bool,
    pub start: Option<String>,
    pub start_wall_ns: Option<u64>,
    pub duration_ns: Option<u64>,
    pub threshold_ns: Option<u64>,
    pub depth: u32,
    pub metadata: BTreeMap<&'a str, &'a str>,
    /// `null` if no waits were recorded.
    pub totals: Option<Totals>,
    pub kinds: BTreeMap<&'static str, KindTotals>,
    pub callbacks: Callbacks,
    pub events: u64,
    pub bytes_per_event: f64,
    pub file_bytes: u64,
    pub threads: Option<usize>,
    pub waiting: Option<WaitingCounts>,
    pub damage: Vec<String>,
    pub notes: Vec<String>,
    pub lacks: Vec<&'static str>,
    pub pauses: Vec<Pause>,
    pub collections: Option<Collections>,
    pub own_cpu: Option<OwnCpu>,
    pub walks: Option<Walks>,
    pub holders: Option<Questions>,
    pub mode_spans: Vec<ModeSpan<'a>>,
    pub option_changes: Vec<OptionChange<'a>>,
    /// Missing if nothing was recorded in trace mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace<'a>>,
    /// Missing if nothing was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling<'a>>,
}

/// By what it was made.
#[derive(Serialize, JsonSchema)]
pub struct Made {
    schema: u32,
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
    pub contentions: Option<u64>,
    pub wait_ns: Option<u64>,
    pub folded: Option<u64>,
    pub dropped: u64,
}

/// The waits of a kind.
#[derive(Serialize, JsonSchema)]
pub struct KindTotals {
    pub count: Option<u64>,
    pub wait_ns: Option<u64>,
    pub recorded: u64,
    pub folded: Option<u64>,
    pub contention: bool,
}

/// What became of the waits that the agent was told of.
#[derive(Serialize, JsonSchema)]
pub struct Callbacks {
    pub contention: Tally,
    pub other: Tally,
}

/// Waits.
#[derive(Serialize, JsonSchema)]
pub struct Tally {
    pub ended: u64,
    pub recorded: u64,
    pub folded: u64,
    pub dropped: u64,
}

/// Threads that waited when the log ended.
#[derive(Serialize, JsonSchema)]
pub struct WaitingCounts {
    pub contention: usize,
    pub idle: usize,
}

/// A time in which nothing was recorded.
#[derive(Serialize, JsonSchema)]
pub struct Pause {
    pub start_ns: u64,
    pub duration_ns: u64,
}

/// A time in which the same was recorded.
#[derive(Serialize, JsonSchema)]
pub struct ModeSpan<'a> {
    pub start_ns: u64,
    pub duration_ns: u64,
    pub mode: &'a str,
}

/// An option that was changed while the log was written.
#[derive(Serialize, JsonSchema)]
pub struct OptionChange<'a> {
    pub start_ns: u64,
    pub option: &'a str,
    pub value: &'a str,
}

/// What trace mode recorded.
#[derive(Serialize, JsonSchema)]
pub struct Trace<'a> {
    pub records: u64,
    pub hold: String,
    pub taken: Option<AcquisitionSums>,
    pub blame: Option<BlameTotals>,
    pub instances: Option<Instances>,
    pub nesting_pairs: u64,
    pub instrumented: Instrumented,
    pub left_alone: BTreeMap<&'a str, u64>,
    pub own_cost_ns: BTreeMap<&'a str, u64>,
    pub statistics: &'a BTreeMap<String, u64>,
}

/// Acquisitions.
#[derive(Serialize, JsonSchema)]
pub struct AcquisitionSums {
    pub acquisitions: u64,
    pub uncounted: u64,
    pub acquisitions_error: u64,
    pub reentrant: u64,
    pub reentrant_error: u64,
    pub failed: u64,
    pub hold_ns: u64,
    pub measured: u64,
    pub longest_hold_ns: u64,
    pub hold_is_exact: bool,
}

/// Waits that are charged to who had the lock.
#[derive(Serialize, JsonSchema)]
pub struct BlameTotals {
    pub count: u64,
    pub blamed_ns: u64,
}

/// Lock objects, by who took them.
#[derive(Serialize, JsonSchema)]
pub struct Instances {
    pub one_thread: u64,
    pub several_threads: u64,
    pub virtual_threads_only: u64,
    pub unidentified_acquisitions: u64,
}

/// What has probes.
#[derive(Serialize, JsonSchema)]
pub struct Instrumented {
    pub classes: Option<u64>,
    pub methods: Option<u64>,
}

/// What sampling recorded.
#[derive(Serialize, JsonSchema)]
pub struct Sampling<'a> {
    pub period_ns: Option<u64>,
    pub threads_regex: Option<&'a str>,
    pub snapshots: Option<u64>,
    pub records: u64,
    pub lost_records: Option<u64>,
    pub stack_walks: Option<u64>,
    pub unseen_stacks: Option<u64>,
    pub snapshots_put_off: Option<u64>,
    pub own_cost_ns: Option<u64>,
    #[serde(flatten)]
    pub all: Samples,
    pub states: BTreeMap<&'static str, Samples>,
    pub shown_as: BTreeMap<&'static str, Samples>,
    pub threads: u64,
}

/// Samples.
#[derive(Serialize, JsonSchema)]
pub struct Samples {
    pub samples: u64,
    pub wall_ns: Option<u64>,
    pub cpu_ns: Option<u64>,
}
