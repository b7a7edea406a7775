//! For machines. `docs/report-json.md` tells what every field means.

use crate::Report;
use serde_json::{Map, Value, json};
use std::{borrow::Cow, fmt::Write};
use tyrion_model::harmless;

/// The number of the schema; it grows when a field goes or changes its meaning.
pub const SCHEMA: u32 = 1;

/// The report as one JSON object.
pub fn write(report: &Report) -> String {
    let sections: Map<String, Value> = report
        .sections
        .iter()
        .map(|shown| {
            let mut value = match &shown.answer.json {
                Value::Object(fields) => fields.clone(),
                Value::Null => Map::new(),
                other => Map::from_iter([("answer".to_owned(), other.clone())]),
            };
            value.insert("lacking".to_owned(), json!(shown.answer.lacking));
            (shown.section.name.to_owned(), Value::Object(value))
        })
        .collect();
    let options = &report.options;
    let value = json!({
        "tyrion": report.version,
        "schema": SCHEMA,
        "logs": report.logs,
        "options": {
            "top": options.top, "phase_ns": options.phase_ns, "near_ns": options.near_ns,
            "lines": options.lines, "groups": options.groups, "group_by": options.group_by,
            "packages": options.packages, "interval_ns": options.interval_ns,
            "zero": options.zero,
        },
        "notes": report.notes,
        "damage": report.damage,
        "sections": sections,
    });
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
