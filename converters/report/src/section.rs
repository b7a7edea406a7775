//! What a section of the report is.

use crate::{Findings, ReportOptions, View};
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// One question that the report answers.
pub struct Section {
    /// Its name in `--section` and in the JSON, `lock-order`.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What it shows, in one line; empty for one that says so itself, which text
    /// shows without its heading.
    pub means: &'static str,
    /// What to do about it, in one line.
    pub advice: &'static str,
    /// What logs must have recorded for it to be shown where nobody asks for it.
    pub about: About,
    /// Whether a brief report shows it.
    pub in_brief: InBrief,
    /// What its answer is in the JSON: [`schema_of`] the type.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Answers it.
    pub answer: fn(&Findings<'_>, &ReportOptions) -> Answer,
}

/// Whether a brief report shows a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InBrief {
    /// Always, and what stands below its first row in any case.
    InDetail,
    /// Always.
    Always,
    /// If it advises something.
    IfAdvised,
    /// Never.
    Never,
}

/// What a section is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Whatever was recorded, in one answer.
    Verdict,
    /// Whatever was recorded.
    All,
    /// Locks and those who wait for them.
    Locks,
    /// Those who end waits.
    Wakers,
    /// What threads do, as the program says.
    Operations,
    /// Samples of what threads were doing.
    Samples,
    /// Thread dumps.
    Dumps,
}

/// A section's answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// For machines: the section's own documented type, serialized. Durations
    /// are integers in ns with names that end in `_ns`.
    pub json: serde_json::Value,
    /// For eyes: the same.
    pub view: View,
    /// What the logs lack for a full answer and how to record it, in one line
    /// ("needs --mode trace: ..."). Empty when nothing does. The rest of the
    /// answer is then what can be said without it.
    pub lacking: String,
    /// Whether anything was found that the section's advice is for.
    pub advises: bool,
}

/// A section in the report: its answer, and what that lacks.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it describes what is put together from both")]
struct Printed<T> {
    #[serde(flatten)]
    answer: T,
    /// What the logs lack for a full answer, and how to record it; empty if nothing is missing.
    lacking: String,
}

/// What the answer of a section is in the report.
pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    Printed::<T>::json_schema(generator)
}
