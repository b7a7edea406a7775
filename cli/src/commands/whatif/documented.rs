//! `docs/whatif.md` names every field of the JSON, and no other.

use super::{Candidate, Document, Refusal};
use serde_json::{Value, to_value};
use std::collections::BTreeSet;
use tyrion_whatif::{ObjectGain, Prediction, ThreadGain};

fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.keys().cloned());
            fields.values().for_each(|value| names(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, found)),
        _ => {}
    }
}

#[test]
fn every_field_is_documented() {
    let text = include_str!("../../../../docs/whatif.md");
    let (_, chapter) = text.split_once("\n## The JSON\n").unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    let prediction = Prediction {
        threads: vec![ThreadGain::default()],
        objects: vec![ObjectGain::default()],
        ..Prediction::default()
    };
    let document = Document {
        predictions: vec![prediction],
        refused: vec![Refusal::default()],
        candidates: vec![Candidate::default()],
        ..Document::default()
    };
    let mut known = BTreeSet::new();
    names(&to_value(document).unwrap(), &mut known);
    let missing: Vec<&String> =
        known.iter().filter(|name| !chapter.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not documented: {missing:?}");
    let rows = chapter.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let unknown: Vec<&str> = rows.map(|row| row.0).filter(|name| !known.contains(*name)).collect();
    assert!(unknown.is_empty(), "documented, but not there: {unknown:?}");
}
