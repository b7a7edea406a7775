//! For machines. `docs/report.md` tells what every field means.

use super::Report;
use serde_json::{Map, Value, json};

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
    format!("{value:#}\n")
}
