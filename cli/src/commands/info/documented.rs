//! `docs/info.md` names every field of the JSON, and no other.

use super::{Questions, Walks, printed};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::PathBuf};
use tyrion_formats::Recording;
use tyrion_model::filter::{Filter, Kinds, States};
use tyrion_report::OwnCpu;

/// Objects whose keys are no fields: kinds of waits, states of threads, and what
/// the agent wrote.
const MAPS: [&str; 7] =
    ["kinds", "metadata", "states", "shown_as", "left_alone", "own_cost_ns", "statistics"];

/// The chapters of the document, and where in the JSON their fields are.
const CHAPTERS: [(&str, &str); 3] =
    [("The JSON", ""), ("trace", "/trace"), ("sampling", "/sampling")];

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The chapter with this heading, up to the next one.
fn chapter(heading: &str) -> String {
    let text = fs::read_to_string(root().join("docs/info.md")).unwrap();
    let begin = format!("\n## {heading}\n");
    let (_, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("no chapter {heading}"));
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The names of the fields of an object, however deep, up to the chapters' own.
fn fields(object: &Value, found: &mut BTreeSet<String>) {
    for (name, value) in object.as_object().into_iter().flatten() {
        found.insert(name.clone());
        if !CHAPTERS.iter().any(|(_, at)| at.strip_prefix('/') == Some(name)) {
            match value.as_object().filter(|_| MAPS.contains(&name.as_str())) {
                Some(map) => map.values().for_each(|it| fields(it, found)),
                None => fields(value, found),
            }
        }
    }
}

fn info(log: &str) -> Value {
    let path = root().join("testdata/logs").join(log);
    let logs = [Recording::from_bytes(log, fs::read(path).unwrap()).unwrap()];
    let filter = Filter { kinds: Kinds::all(), states: States::all(), ..Filter::default() };
    serde_json::from_str(&printed(&logs, &filter, true)).unwrap()
}

#[test]
fn every_field_is_documented() {
    let names =
        ["v1-small.log", "v1-killed.log", "v1-trace.log", "v1-sample.log", "v1-collections.log"];
    let logs = names.map(info);
    let mut wrong = Vec::new();
    for (heading, at) in CHAPTERS {
        let text = chapter(heading);
        let mut known = BTreeSet::new();
        logs.iter().filter_map(|log| log.pointer(at)).for_each(|it| fields(it, &mut known));
        assert!(!known.is_empty(), "{heading}");
        if at.is_empty() {
            // The logs are of agents that did not tell.
            fields(&serde_json::to_value(OwnCpu::default()).unwrap(), &mut known);
            fields(&serde_json::to_value(Walks::default()).unwrap(), &mut known);
            fields(&serde_json::to_value(Questions::default()).unwrap(), &mut known);
        }
        for name in known.iter().filter(|name| !text.contains(&format!("`{name}`"))) {
            wrong.push(format!("{heading}: `{name}` is not documented"));
        }
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        for (name, _) in rows.filter(|(name, _)| !known.contains(*name)) {
            wrong.push(format!("{heading}: there is no `{name}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
