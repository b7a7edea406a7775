//! What renderers draw of a few reports against the files in
//! `testdata/report`.
//!
//! `BLESS=1` writes them. One that is missing or that no output belongs to is
//! an error.

use crate::{golden_files, support};
use std::{collections::BTreeMap, path::PathBuf};
use tyrion_report::{
    Report,
    render::{
        html, json,
        text::{self, Style},
    },
};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/report"))
}

/// The page without its style and its script, which are files of their own.
fn page(report: &Report) -> String {
    let mut page = Vec::new();
    html::write(report, &[support::flame()], &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let (head, rest) = page.split_once("<style>\n").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (body, rest) = rest.rsplit_once("<script>\n").unwrap();
    let (_, rest) = rest.split_once("</script>").unwrap();
    format!("{head}<style></style>{body}<script></script>{rest}")
}

fn expected() -> BTreeMap<String, String> {
    let (sample, hostile) = (support::sample(), support::hostile());
    let narrow = Style { width: 80, ..Style::default() };
    let coloured = Style { coloured: true, ..Style::default() };
    let files = [
        ("sample.narrow.txt", text::write(&sample, &narrow)),
        ("sample.brief.txt", text::write(&support::brief(), &narrow)),
        ("sample.coloured.txt", text::write(&sample, &coloured).replace('\u{1b}', "ESC")),
        ("sample.html", page(&sample)),
        ("sample.json", json::write(&sample)),
        ("hostile.txt", text::write(&hostile, &Style::default())),
        ("hostile.html", page(&hostile)),
    ];
    files.map(|(name, text)| (name.to_owned(), text)).into()
}

/// What is coloured is the text of those who see no colours, so that it has no golden file.
#[test]
fn colours_change_no_text() {
    let sample = support::sample();
    let coloured = text::write(&sample, &Style { coloured: true, ..Style::default() });
    let mut parts = coloured.split('\u{1b}');
    let mut without = parts.next().unwrap().to_owned();
    for part in parts {
        without += part.split_once('m').unwrap().1;
    }
    assert_eq!(without, text::write(&sample, &Style::default()));
}

#[test]
fn reports_are_as_in_the_golden_files() {
    golden_files::check(&folder(), &expected());
}
