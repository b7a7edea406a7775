//! The parts of documents that are made from the sources; `BLESS=1` writes them.

use crate::fields::Types;
use std::{fs, path::PathBuf};
use tyrion_report::SECTIONS;

pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The type of each section's answer, which is in the file of that section.
const ANSWERS: [(&str, &str); 19] = [
    ("verdict", "Verdict"),
    ("dumps", "DumpFindings"),
    ("overview", "Overview"),
    ("contended", "Contended"),
    ("blockers", "Blockers"),
    ("operations", "Operations"),
    ("wait-chains", "WaitChains"),
    ("wakers", "Wakers"),
    ("withheld", "WithheldWaits"),
    ("whatif", "WhatIf"),
    ("single-thread", "SingleThread"),
    ("critical-sections", "CriticalSections"),
    ("near-misses", "NearMisses"),
    ("lock-order", "LockOrder"),
    ("still-waiting", "StillWaiting"),
    ("delays", "DelaysAnswer"),
    ("timeline", "WaitTimeline"),
    ("lines", "Lines"),
    ("tree", "Trees"),
];

fn sections(types: &Types) -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let answer = ANSWERS.iter().find(|(name, _)| *name == section.name);
        let (name, answer) = answer.unwrap_or_else(|| panic!("add the type of {}", section.name));
        text.push_str(&format!("## {name}\n\n"));
        if !section.means.is_empty() {
            text.push_str(&format!("**{}.** {}\n\n", section.title, section.means));
        }
        let file = format!("converters/report/src/sections/{}.rs", name.replace('-', "_"));
        text.push_str(&types.document(&root().join(file), answer));
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// A page with the parts in place of those that it has.
fn with(page: &str, parts: &[(&str, String)]) -> String {
    let mut page = page.to_owned();
    for (name, text) in parts {
        let begin = format!("<!-- made: {name} (BLESS=1 cargo test -p tyrion-report) -->\n");
        let end = "<!-- made -->";
        let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
        let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("no {end}"));
        page = format!("{before}{begin}\n{text}\n{end}{after}");
    }
    page
}

#[test]
fn tables_are_made_from_the_types() {
    let sources = ["converters/report/src", "converters/whatif/src", "cli/src/commands"];
    let types = Types::of(&sources.map(|source| root().join(source)));
    let of = |file: &str, name: &str| types.document(&root().join(file), name);
    let pages = [
        (
            "report-json.md",
            vec![
                ("logs", of("converters/report/src/findings/facts.rs", "LogFacts")),
                ("sections", sections(&types)),
            ],
        ),
        ("diff.md", vec![("fields", of("converters/report/src/diff/answer.rs", "Document"))]),
        ("info.md", vec![("fields", of("cli/src/commands/info/fields.rs", "InfoJson"))]),
        ("whatif.md", vec![("fields", of("cli/src/commands/whatif.rs", "Document"))]),
        ("top.md", vec![("fields", of("cli/src/commands/top/once.rs", "FrameJson"))]),
    ];
    for (page, parts) in pages {
        let file = root().join("docs").join(page);
        let is = fs::read_to_string(&file).unwrap_or_default();
        let should = with(&is, &parts);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, &should).unwrap();
        } else {
            assert!(is == should, "docs/{page} is stale; BLESS=1 writes it");
        }
    }
}
