//! What tools answer, and the schemas of that.

use super::stacks::{self, LockStacks};
use crate::commands::schema;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What a tool answers.
#[derive(Clone, Copy)]
pub enum Output {
    /// What the command prints, by the name of its schema.
    Whole(&'static str),
    /// A report of these sections.
    Sections(&'static [&'static str]),
    /// The verdict of a report, and where the log is.
    Profile,
    /// Collapsed stacks, taken apart.
    Stacks,
}

const DEFINITIONS: &str = "$defs";
const SECTIONS: &str = "sections";
const VERDICT: [&str; 1] = ["verdict"];
/// What is told of a report: the rest is what the call has said, or of another tool.
const OF_REPORTS: [&str; 5] = ["damage", "notes", "schema", SECTIONS, "tyrion"];
/// What assistants need not read before each conversation: names have their units, and
/// `tyrion schema` prints all of it.
const LEFT_OUT: [&str; 4] = ["description", "title", "format", "minimum"];

impl Output {
    /// The result in what the command has printed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn result(self, printed: &[u8], most_bytes: usize) -> Result<Value, String> {
        if let Output::Stacks = self {
            return serde_json::to_value(stacks::read(printed, most_bytes))
                .map_err(|error| error.to_string());
        }
        let mut result: Value =
            serde_json::from_slice(printed).map_err(|error| error.to_string())?;
        if let Some(sections) = self.sections() {
            keep(&mut result, &OF_REPORTS);
            keep(&mut result[SECTIONS], sections);
        }
        Ok(result)
    }

    /// The sections of a report that are told.
    fn sections(self) -> Option<&'static [&'static str]> {
        match self {
            Output::Sections(sections) => Some(sections),
            Output::Profile => Some(&VERDICT),
            Output::Whole(_) | Output::Stacks => None,
        }
    }

    /// All of an answer as JSON Schema: the result, the command that shows a person the same,
    /// and notes.
    pub fn schema(self) -> Map<String, Value> {
        let mut result = match (self, self.sections()) {
            (Output::Whole(name), _) => schema::of(name),
            (Output::Stacks, _) => schema::of_type::<LockStacks>().to_value(),
            (_, sections) => report_of(sections.unwrap_or_default()),
        };
        shorten(&mut result);
        let definitions = result.as_object_mut().and_then(|it| it.remove(DEFINITIONS));
        let mut schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command that shows a person the same."},
                "notes": {"type": "string", "description": "What the command has said beside it."},
                "result": result,
            },
            "required": ["command", "notes", "result"],
        });
        if let Some(definitions) = definitions {
            let used = used(&schema, &definitions);
            let all = definitions.as_object().into_iter().flatten();
            let kept: Map<String, Value> = all
                .filter(|(name, _)| used.contains(name.as_str()))
                .map(|(name, it)| (name.clone(), it.clone()))
                .collect();
            schema[DEFINITIONS] = kept.into();
        }
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }
}

/// The schema of a report that has these sections alone.
fn report_of(sections: &[&str]) -> Value {
    let mut report = schema::of("report");
    keep(&mut report["properties"], &OF_REPORTS);
    keep(&mut report["properties"][SECTIONS]["properties"], sections);
    if let Some(required) = report["required"].as_array_mut() {
        required.retain(|name| name.as_str().is_some_and(|name| OF_REPORTS.contains(&name)));
    }
    report
}

/// Keeps the fields of an object that are named.
fn keep(of: &mut Value, named: &[&str]) {
    if let Some(fields) = of.as_object_mut() {
        fields.retain(|name, _| named.contains(&name.as_str()));
    }
}

/// Leaves out of a schema what only tells.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A field of the data may have such a name: its value is a schema, no text.
            fields.retain(|name, it| {
                it.is_object() || it.is_array() || !LEFT_OUT.contains(&name.as_str())
            });
            fields.values_mut().for_each(shorten);
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// The definitions that a schema refers to, itself or by others.
fn used<'a>(schema: &'a Value, definitions: &'a Value) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let prefix = || format!("#/{DEFINITIONS}/");
                    match value.as_str().filter(|_| name == "$ref") {
                        Some(to) => {
                            let to = to.strip_prefix(&*prefix()).unwrap_or(to);
                            if found.insert(to) {
                                open.extend(definitions.get(to));
                            }
                        }
                        None => open.push(value),
                    }
                }
            }
            Value::Array(values) => open.extend(values),
            _ => {}
        }
    }
    found
}
