//! What the agent answers, as it is printed.

use super::{AgentReply, LONGEST_VALUE, OWN_CPU, value};
use crate::{
    commands::printed::{AnswerValue, StatusJson},
    outcome::{self, CommandResult},
    shell,
};
use std::path::Path;
use tyrion_model::{harmless, units};
use tyrion_report::{OwnCpu, render::json as escape};
use tyrion_wire::header::RecordingState;

/// What is no answer of the agent's.
const OURS: [&str; 4] = ["schema", "tyrion", "own_cpu", "log_here"];

/// What is printed as text, in this order; all of it is in the JSON.
const SHOWN: [&str; 7] =
    ["state", "reason", "log", "mode", "threshold_ns", "sampling", "period_ns"];

/// A line of text for a key and its value; durations get a unit.
fn line(key: &str, value: &str) -> String {
    let duration = key.strip_suffix("_ns").and_then(|key| Some((key, value.parse().ok()?)));
    match duration {
        Some((key, ns)) => format!("{key:<13} {}\n", units::duration(ns)),
        None => format!("{key:<13} {}\n", harmless::within(value, LONGEST_VALUE)),
    }
}

/// Prints an answer of a JVM; `here` is the path of its log on this side.
pub(super) fn print(pid: u32, answer: &AgentReply, here: &Path, as_json: bool) -> CommandResult {
    let own = OwnCpu::read(|key| value(answer, &key.replace('.', "_")).parse().ok());
    outcome::print(match as_json {
        true => in_json(answer, here, own),
        false => in_text(pid, answer, here, own),
    })
}

fn in_json(answer: &AgentReply, here: &Path, own: Option<OwnCpu>) -> String {
    let is_of_own = |key: &str| own.is_some() && key.starts_with(OWN_CPU);
    // Ours count, whatever the answer says.
    let is_ours = |key: &str| OURS.contains(&key);
    let told = answer.iter().filter(|(key, _)| !is_of_own(key) && !is_ours(key));
    let value = |value: &'_ str| value.parse().map(AnswerValue::Number).ok();
    let told = told.map(|(key, text)| (&**key, value(text).unwrap_or(AnswerValue::Text(text))));
    let document = StatusJson {
        answer: told.collect(),
        log_here: (!here.as_os_str().is_empty()).then(|| here.to_string_lossy().into_owned()),
        own_cpu: own,
        schema: 1,
        tyrion: env!("CARGO_PKG_VERSION"),
    };
    // All of it are names and numbers, which cannot fail.
    let value = serde_json::to_value(&document).unwrap_or_default();
    format!("{}\n", escape::escaped(&value.to_string()))
}

fn in_text(pid: u32, answer: &AgentReply, here: &Path, own: Option<OwnCpu>) -> String {
    let known = SHOWN.iter().filter_map(|key| answer.iter().find(|(known, _)| known == key));
    let lines = known.map(|(key, value)| match key.as_str() {
        "log" if here != Path::new(value) && !here.as_os_str().is_empty() => {
            line(key, value) + &line("log here", &here.to_string_lossy())
        }
        _ => line(key, value),
    });
    let own = own.map(|own| line("tyrion itself", &own.text()));
    let next = line("next", &next(pid, value(answer, "state"), here));
    lines.chain(own).chain([next]).collect()
}

/// What the user may do now.
fn next(pid: u32, state: &str, here: &Path) -> String {
    let log = here.to_string_lossy();
    let report = match log.is_empty() {
        true => String::new(),
        false => format!(", tyrion report {}", shell::suggested(&log)),
    };
    let is = |of: RecordingState| state == of.name();
    if is(RecordingState::Recording) {
        format!("tyrion top {pid}, tyrion stop {pid}{report}")
    } else if is(RecordingState::Paused) {
        format!("tyrion attach {pid} records again{report}")
    } else if is(RecordingState::Broken) {
        format!("tyrion attach {pid} records into another file")
    } else {
        format!("tyrion profile {pid}, or tyrion attach {pid}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(pairs: &[(&str, &str)]) -> AgentReply {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn text_has_what_a_user_needs_and_the_next_step() {
        let answer = reply(&[
            ("state", "recording"),
            ("log", "/tmp/a b.log"),
            ("threshold_ns", "1000"),
            ("machine_busy_ns", "77"),
        ]);
        let expected = "\
state         recording
log           /tmp/a b.log
threshold     1 µs
next          tyrion top 7, tyrion stop 7, tyrion report '/tmp/a b.log'
";
        assert_eq!(in_text(7, &answer, Path::new("/tmp/a b.log"), None), expected);
        let nothing = in_text(7, &reply(&[("state", "not loaded")]), Path::new(""), None);
        assert!(nothing.ends_with("next          tyrion profile 7, or tyrion attach 7\n"));
        for (state, says) in
            [("paused", "records again, tyrion report"), ("broken", "another file")]
        {
            let text = in_text(7, &reply(&[("state", state)]), Path::new("/a.log"), None);
            assert!(text.contains(says), "{text}");
        }
    }

    #[test]
    fn json_has_a_schema_whatever_the_agent_says() {
        let text = in_json(&reply(&[("state", "paused"), ("schema", "99")]), Path::new(""), None);
        let object: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        assert_eq!((&object["schema"], &object["state"]), (&1.into(), &"paused".into()));
        assert_eq!(object["tyrion"], env!("CARGO_PKG_VERSION"));
    }
}
