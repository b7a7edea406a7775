//! Names of types on the reading side, and how modules lie.
//!
//! A name that three modules use for different things says little in any of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The crates of the reading side, tests and examples included.
const CRATES: [&str; 3] = ["formats", "converters", "cli"];
/// Messages of the formats of others, who have given them their names.
const MESSAGES: &str = "proto.rs";
/// Names that mean the same wherever they stand.
const SAME: [(&str, &str); 4] = [
    ("Hold", "from when to when a thread had a lock, by the ids of whoever reads it"),
    ("ThreadKey", "a recording and the `Thread.getId()` of one of its threads"),
    ("Wait", "from when to when a thread waited for something, likewise"),
    ("Writer", "what writes a log in memory"),
];
/// A type is a thing: what became of it, or who wants it, is no name.
const PARTICIPLES: [&str; 16] = [
    "Asked",
    "Changed",
    "Collected",
    "Found",
    "Gathered",
    "Kept",
    "Known",
    "Nested",
    "Passed",
    "Recorded",
    "Replayed",
    "Seen",
    "Spent",
    "Taken",
    "Told",
    "Wanted",
];

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All sources below a folder, without what is built there.
fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") {
                sources(&path, all);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
}

/// The type that a line defines. Those that traits ask for are not defined at its beginning.
fn defined(line: &str) -> Option<&str> {
    let is_of_module = !line.starts_with(char::is_whitespace);
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    let (word, name) = line.split_once(' ')?;
    let is_type = match word {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => is_of_module,
        _ => false,
    };
    name.split(|char: char| !char.is_alphanumeric()).next().filter(|_| is_type)
}

/// The files that define each name.
fn names() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    CRATES.iter().for_each(|folder| sources(&top().join(folder), &mut files));
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let path = file.strip_prefix(top()).unwrap().display().to_string();
        if file.ends_with(MESSAGES) {
            continue;
        }
        for name in fs::read_to_string(&file).unwrap().lines().filter_map(defined) {
            names.entry(name.to_owned()).or_default().insert(path.clone());
        }
    }
    names
}

#[test]
fn no_name_is_used_for_three_things() {
    let names = names();
    assert!(names.len() > 500, "{} types were found", names.len());
    let is_same = |name: &str| SAME.iter().any(|(same, _)| *same == name);
    let wrong: Vec<_> =
        names.iter().filter(|(name, files)| files.len() > 2 && !is_same(name)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn types_are_things() {
    let names = names();
    let wrong: Vec<_> = PARTICIPLES.iter().filter_map(|name| names.get_key_value(*name)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A module is `x.rs`, and its children are in `x/`.
#[test]
fn modules_lie_beside_their_children() {
    let mut files = Vec::new();
    let crates = CRATES.iter().chain(&["agent", "tests"]);
    crates.for_each(|folder| sources(&top().join(folder), &mut files));
    let wrong: Vec<_> = files.iter().filter(|file| file.ends_with("mod.rs")).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn definitions_are_found() {
    let found = |line| defined(line).unwrap_or_default();
    assert_eq!(found("pub(crate) struct Row<'a> {"), "Row");
    assert_eq!(found("    enum Kind {"), "Kind");
    assert_eq!(found("pub(in crate::a) trait T: Sized {}"), "T");
    assert_eq!(found("type Key = (u32, u32);"), "Key");
    assert_eq!(found("    type Item = u32;"), "");
    assert_eq!(found("/// struct Row"), "");
    assert_eq!(found("let it = struct_of();"), "");
}
