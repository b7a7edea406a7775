//! What commands that need JVMs print as JSON: `tyrion schema` describes it everywhere.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use tyrion_report::OwnCpu;

/// What `tyrion list --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct ListJson {
    /// The JVMs.
    pub(super) jvms: Vec<Jvm>,
    /// The version of what this is: 1.
    pub(super) schema: u32,
    /// The version of Tyrion that wrote this.
    pub(super) tyrion: &'static str,
}

/// A JVM.
#[derive(Serialize, JsonSchema)]
pub struct Jvm {
    /// Whether it has the agent. `null` if that is not known.
    pub(super) has_agent: Option<bool>,
    /// Whether it is in a container.
    pub(super) in_container: bool,
    /// Its version. `null` if that is not known.
    pub(super) jdk: Option<String>,
    /// The log that is open, as the JVM calls it. `null` if there is none, or it is not known.
    pub(super) log: Option<String>,
    /// Its process id.
    pub(super) pid: u32,
    /// Main class or jar.
    pub(super) program: String,
    /// The user that it runs as. `null` if that is not known.
    pub(super) user_id: Option<u32>,
}

/// What `--json` of `tyrion status`, `attach` and `stop` prints.
#[derive(Serialize, JsonSchema)]
pub struct StatusJson<'a> {
    /// What the agent answers: `state`, `log`, `mode` and what else there is to tell.
    #[serde(flatten)]
    pub(super) answer: BTreeMap<&'a str, AnswerValue<'a>>,
    /// The path of the log on this side. Missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log_here: Option<String>,
    /// The agent's part of the program's CPU time. Missing if it does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) own_cpu: Option<OwnCpu>,
    /// The version of what this is: 1.
    pub(super) schema: u32,
    /// The version of Tyrion that wrote this.
    pub(super) tyrion: &'static str,
}

/// What an agent answers to one question.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AnswerValue<'a> {
    /// A number; if the name ends in `_ns`, a duration.
    Number(u64),
    /// Anything else.
    Text(&'a str),
}
