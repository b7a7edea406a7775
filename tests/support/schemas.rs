//! What Tyrion prints as JSON, judged by the schemas that it prints.

use super::tyrion;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    ffi::OsStr,
    process::{Command, Output},
    sync::{Arc, Mutex, OnceLock},
};

/// Exit statuses of commands that told what they were asked for: all of it, or what is not
/// damaged, and whether a condition holds.
const TOLD: [i32; 3] = [0, 3, 4];

/// Whether a command's JSON is as its schema says, if it printed any.
#[track_caller]
pub(super) fn check(command: &Command, output: &Output) {
    let words: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
    let is_ours = command.get_program() == env!("CARGO_BIN_EXE_tyrion");
    if !is_ours || !words.contains(&"--json") || output.stdout.is_empty() {
        return;
    }
    if !output.status.code().is_some_and(|code| TOLD.contains(&code)) {
        return;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let is_lines = text.lines().next().is_some_and(|it| serde_json::from_str::<Value>(it).is_ok());
    // Options may stand before the command.
    let Some(schema) = words.iter().find_map(|word| schema_of(word, &text)) else {
        panic!("{command:?}: no schema is known for it");
    };
    let values: Vec<&str> = if is_lines { text.lines().collect() } else { vec![&*text] };
    let judge = judge(schema);
    for value in values {
        let value: Value = serde_json::from_str(value).unwrap_or_else(|error| {
            panic!("{command:?}: {error}: {value}");
        });
        let wrong = judge.iter_errors(&value).take(5);
        let wrong: Vec<String> =
            wrong.map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "{command:?}: not as tyrion schema {schema}: {wrong:#?}");
    }
}

fn schema_of(command: &str, text: &str) -> Option<&'static str> {
    Some(match command {
        "report" | "profile" | "sample" | "dump-threads" => "report",
        "diff" if text.contains("\"dumps_before\"") => "diff-dumps",
        "diff" => "diff",
        "whatif" => "whatif",
        "top" => "top",
        "info" => "info",
        "dump" => "dump",
        "list" => "list",
        "status" | "attach" | "stop" => "status",
        _ => return None,
    })
}

/// Each schema is asked for once.
fn judge(name: &'static str) -> Arc<Validator> {
    static KNOWN: OnceLock<Mutex<HashMap<&str, Arc<Validator>>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap();
    let make = || {
        let printed = tyrion().args(["schema", name]).output().unwrap();
        let mut schema: Value = serde_json::from_slice(&printed.stdout).unwrap();
        close(&mut schema);
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    Arc::clone(known.entry(name).or_insert_with(make))
}

/// Users get schemas that later versions may add fields to. What is printed now has no field
/// that its schema does not name: this makes such schemas of them.
fn close(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (_, definition) in
        fields.get_mut("$defs").and_then(Value::as_object_mut).into_iter().flatten()
    {
        close_parts(definition);
    }
    close_parts(schema);
    schema["unevaluatedProperties"] = json!(false);
}

/// The same of what a value is made of. What it is put together from must not be closed.
fn close_parts(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for (key, part) in fields {
        match key.as_str() {
            "properties" => part.as_object_mut().into_iter().flatten().for_each(|it| close(it.1)),
            "items" | "additionalProperties" if part.is_object() => close(part),
            "oneOf" | "anyOf" | "allOf" => {
                part.as_array_mut().into_iter().flatten().for_each(close_parts);
            }
            _ => {}
        }
    }
}

#[test]
fn a_field_more_or_less_is_found() {
    let mut schema = json!({
        "type": "object", "properties": { "of": { "$ref": "#/$defs/A" } }, "required": ["of"],
        "$defs": { "A": { "type": "object", "properties": { "n": { "type": "integer" } } } },
    });
    let open = jsonschema::validator_for(&schema).unwrap();
    close(&mut schema);
    let closed = jsonschema::validator_for(&schema).unwrap();
    for (value, is_open, is_closed) in [
        (json!({ "of": { "n": 1 } }), true, true),
        (json!({ "of": { "n": 1, "m": 2 } }), true, false),
        (json!({ "of": {}, "more": 3 }), true, false),
        (json!({ "of": { "n": "1" } }), false, false),
        (json!({}), false, false),
    ] {
        let valid = (open.is_valid(&value), closed.is_valid(&value));
        assert_eq!(valid, (is_open, is_closed), "{value}");
    }
}
