//! For machines. `docs/report-json.md` tells what every field means.

use crate::{Report, ReportOptions, findings::LogFacts, report::sections_schema};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::BTreeMap, fmt::Write};
use tyrion_model::harmless;

/// The number of the schema; it grows when a field goes or changes its meaning.
pub const SCHEMA: u32 = 1;

/// What `tyrion report --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct ReportJson<'r> {
    /// The version that made the report.
    tyrion: &'r str,
    /// The version of what this document describes: 1.
    schema: u32,
    /// The logs, in the order given.
    logs: &'r [LogFacts],
    /// The options of the sections.
    options: &'r ReportOptions,
    /// What a reader should know about how the figures came about.
    notes: &'r [String],
    /// What was damaged in the logs.
    damage: &'r [String],
    /// The selected sections, by name.
    #[schemars(schema_with = "sections_schema")]
    sections: BTreeMap<&'static str, Map<String, Value>>,
}

/// The report as one JSON object, its fields in the order of their names.
pub fn write(report: &Report) -> String {
    let sections = report.sections.iter().map(|shown| {
        let mut value = match &shown.answer.json {
            Value::Object(fields) => fields.clone(),
            Value::Null => Map::new(),
            other => Map::from_iter([("answer".to_owned(), other.clone())]),
        };
        value.insert("lacking".to_owned(), json!(shown.answer.lacking));
        (shown.section.name, value)
    });
    let document = ReportJson {
        tyrion: report.version,
        schema: SCHEMA,
        logs: &report.logs,
        options: &report.options,
        notes: &report.notes,
        damage: &report.damage,
        sections: sections.collect(),
    };
    // All of it are names and numbers, which cannot fail.
    let value = serde_json::to_value(&document).unwrap_or_default();
    escaped(&format!("{value:#}\n")).into_owned()
}

/// JSON with the characters escaped that must not be shown, so that names stay
/// as they are and yet a terminal may have them.
///
/// They stand within strings alone, of which `\u202e` means the same as the
/// character. Only line breaks stand between values, too.
pub fn escaped(json: &str) -> Cow<'_, str> {
    let is_harmful = |char: char| char != '\n' && harmless::is_harmful(char);
    if harmless::is_plain(json.trim_end_matches('\n').as_bytes()) || !json.contains(is_harmful) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for char in json.chars() {
        if is_harmful(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(char);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_stay() {
        let name = "a\u{202e}\u{7f}\u{9b}\u{2028}\u{e0041}\u{1b}\n\"\\ü";
        let value = json!({ name: [name, "plain"] });
        for json in [format!("{value:#}\n"), value.to_string()] {
            let shown = escaped(&json);
            assert!(!shown.replace('\n', "").contains(harmless::is_harmful), "{shown}");
            assert!(shown.contains(r"\u202e\u007f\u009b\u2028\udb40\udc41\u001b\n"), "{shown}");
            assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        }
        assert!(matches!(escaped("{\"a\": \"ü\"}\n"), Cow::Borrowed(_)));
    }
}
