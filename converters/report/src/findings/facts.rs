//! What logs say of themselves.

use super::found::{Findings, has_modes};
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::{ModeSpan, Recording};
use tyrion_model::units;
use tyrion_wire::header::RecordingState;

/// What a log says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogFacts {
    /// Its name as the user gave it.
    pub log: String,
    /// The recorded process. `null` if that is not known.
    pub pid: Option<u32>,
    /// Main class or jar; may be empty.
    pub program: String,
    /// The JVM's name and version; may be empty.
    pub jvm: String,
    /// What was recorded: `contention`, `trace`, `sample`, or one of the first two with
    /// `+sample`; if that changed, everything that was recorded.
    pub mode: String,
    /// When each mode was on, if the mode changed: `start_ns` since the log began,
    /// `duration_ns`, `mode`. Otherwise empty.
    pub mode_spans: Vec<ModeRow>,
    /// Which holds were measured in trace mode: `1/64`, `all` or `none`; if that
    /// changed, one after another: `1/64, then all`.
    pub hold: String,
    /// How waits in java.util.concurrent were seen when the log began: by `probes`,
    /// `natives+probes`, or `natives`, which cannot tell when a condition was signalled; may be empty.
    pub parks: String,
    /// When it begins, `2026-11-21T10:49:00Z`. `null` if that is not known.
    pub start: Option<String>,
    /// The same in ns of Unix time.
    pub start_wall_ns: Option<u64>,
    /// From its beginning to its end. `null` if that is not known.
    pub duration_ns: Option<u64>,
    /// Waits shorter than this were folded when recorded, or are missing. `null` if that is not
    /// known, and for profiles, which have only sums.
    pub threshold_ns: Option<u64>,
    /// Whether the log has only sums of waits, without times.
    #[serde(skip)]
    pub is_summed: bool,
    /// How many thread dumps it has; 0 if it is no file of these.
    #[serde(skip)]
    pub dumps: u64,
    /// Whether its program can be recorded again in another mode.
    #[serde(skip)]
    pub has_modes: bool,
    /// Whether the agent was loaded into a JVM that ran already.
    #[serde(skip)]
    pub is_attached: bool,
    /// The number of processors that the JVM saw when the log began. `null` if the log does not
    /// say.
    pub processors: Option<u64>,
    /// Whether the JVM ended in an orderly way and nothing of this log is
    /// damaged.
    pub complete: bool,
}

/// A part of a log in which the same was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModeRow {
    /// When it begins, in ns since the log began.
    pub start_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// What was recorded, as in `mode`.
    pub mode: String,
}

fn mode_spans(log: &Recording) -> Vec<ModeRow> {
    let row = |part: ModeSpan| ModeRow {
        start_ns: part.span.start - log.start_ns(),
        duration_ns: part.span.end - part.span.start,
        mode: part.mode,
    };
    log.mode_spans().into_iter().map(row).collect()
}

impl LogFacts {
    /// Of the logs, in the order given.
    pub fn of_all(findings: &Findings<'_>) -> Vec<LogFacts> {
        let damage = &findings.aggregate.damage;
        let is_damaged = |log: &Recording| damage.iter().any(|damage| *damage.log == *log.name());
        findings.logs.iter().map(|log| LogFacts::of(log, is_damaged(log))).collect()
    }

    fn of(log: &Recording, is_damaged: bool) -> LogFacts {
        let facts = log.facts();
        let metadata = |key: &str| facts.metadata(key).unwrap_or_default().to_owned();
        LogFacts {
            log: log.name().to_owned(),
            pid: log.known_pid(),
            program: metadata("program"),
            jvm: metadata("jvm"),
            mode: mode(log),
            mode_spans: mode_spans(log),
            hold: log.option_values("hold").join(", then "),
            parks: metadata("parks"),
            start: log.known_start_wall_ns().map(units::utc),
            start_wall_ns: log.known_start_wall_ns(),
            duration_ns: log.known_duration_ns(),
            threshold_ns: log.known_threshold_ns(),
            is_summed: facts.lacks.singles,
            dumps: log.dumps().len() as u64,
            has_modes: has_modes(log),
            is_attached: facts.metadata("loaded") == Some("attached"),
            processors: processors(log),
            complete: facts.state == RecordingState::Closed && !is_damaged,
        }
    }
}

/// How many processors the JVM counted on, if the log tells.
pub fn processors(log: &Recording) -> Option<u64> {
    log.facts().metadata("processors")?.parse().ok().filter(|&count| count != 0)
}

/// A log that does not say was recorded in contention mode.
fn mode(log: &Recording) -> String {
    let modes: Vec<&str> = log.modes().collect();
    match (log.is_trace(), modes.is_empty()) {
        (true, true) => "trace".to_owned(),
        (false, true) => "contention".to_owned(),
        (_, false) => modes.join("+"),
    }
}
