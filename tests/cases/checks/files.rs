//! The files of all cases.

use crate::{
    case::{self, Answer, Case},
    place,
    words::{Advice, Area, Kind, Set, Way},
};
use regex::Regex;
use std::collections::BTreeSet;

/// How long the programs of the slice may last in all: with what it takes to start them and to
/// read recordings, `cargo test` spends a minute and a half on them at most.
const SLICE_SECONDS: u64 = 72;
/// The sources that can be compiled.
const DRIVERS: [&str; 1] = ["Case.java"];

fn cases() -> Vec<Case> {
    case::all(&place::cases()).unwrap()
}

#[test]
fn each_case_is_whole() {
    for case in cases() {
        let name = &case.name;
        assert!(DRIVERS.iter().any(|it| case.folder.join(it).is_file()), "{name}: no driver");
        let source = case.source.strip_prefix("https://").unwrap_or_default();
        assert!(source.contains('.'), "{name}: {}", case.source);
        assert!(!case.title.trim().is_empty() && !case.proof.trim().is_empty(), "{name}");
        let program = &case.program;
        assert!((3..=30).contains(&program.seconds), "{name}: {} s", program.seconds);
        let is_known = |jdk: &u32| [11, 17, 21, 25].contains(jdk);
        assert!(!program.jdk.is_empty() && program.jdk.iter().all(is_known), "{name}");
        let mended = case.mended.iter().filter_map(|mended| mended.libraries.as_ref()).flatten();
        for library in program.libraries.iter().chain(mended) {
            let parts: Vec<&str> = library.split(':').collect();
            let is_whole = parts.iter().all(|part| !part.is_empty());
            assert!(is_whole && (3..=4).contains(&parts.len()), "{name}: {library}");
        }
        assert_ne!(case.answer.is_some(), !case.load.is_empty(), "{name}: answers of one sort");
    }
}

#[test]
fn what_is_shared_is_there_and_used() {
    let used: BTreeSet<String> = cases().into_iter().flat_map(|case| case.shared).collect();
    let there = place::files_below(&place::cases().join("shared"));
    let name = |file: std::path::PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(used, there.into_iter().map(name).collect());
}

#[test]
fn names_are_regular_expressions() {
    for program in cases().iter().flat_map(Case::programs) {
        let Answer { name, holder, waiter, withheld_most, .. } = &program.answer;
        for pattern in [name, holder, waiter].into_iter().flatten() {
            let regex = Regex::new(pattern).unwrap_or_else(|it| panic!("{}: {it}", program.name));
            assert!(!regex.is_match(""), "{}: {pattern} matches anything", program.name);
        }
        assert!(withheld_most.is_none_or(|it| (0.0..=1.0).contains(&it)), "{}", program.name);
    }
}

#[test]
fn no_two_are_alike() {
    let mut titles = BTreeSet::new();
    for case in cases() {
        assert!(titles.insert(case.title.clone()), "{}: {} is there twice", case.name, case.title);
        let mut loads = BTreeSet::new();
        assert!(case.load.iter().all(|load| loads.insert(&load.name)), "{}: loads", case.name);
        let names = case.load.iter().map(|load| &load.name).chain([&case.name]);
        let is_plain =
            |name: &String| name.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
        names.for_each(|name| assert!(is_plain(name), "{name}"));
    }
}

#[test]
fn the_slice_is_small() {
    let programs = cases().into_iter().filter(|case| case.slice).flat_map(|case| case.programs());
    let seconds: u64 = programs.map(|program| program.case.program.seconds).sum();
    assert!(seconds <= SLICE_SECONDS, "{seconds} s");
}

/// Words that are quoted in a part of the README.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn all_words(words: impl IntoIterator<Item = &'static str>) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_readme_lists_the_words() {
    let readme = std::fs::read_to_string(place::cases().join("README.md")).unwrap();
    let between = |begin: &str, end: &str| {
        let (_, rest) = readme.split_once(begin).unwrap();
        rest.split_once(end).unwrap().0.to_owned()
    };
    let table = between("`kind` is one of", "`advice` is one of");
    let first = table.lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>();
    let kinds: BTreeSet<String> =
        first.iter().map(|line| line.split('`').nth(1).unwrap().to_owned()).collect();
    assert_eq!(kinds, all_words(Kind::ALL.iter().map(|it| it.word())));
    let advice = quoted(&between("`advice` is one of", "`area` is one of"));
    assert_eq!(advice, all_words(Advice::ALL.iter().map(|it| it.word())));
    let areas = quoted(&between("`area` is one of", "An idle or half idle"));
    assert_eq!(areas, all_words(Area::ALL.iter().map(|it| it.word())));
    for word in Set::ALL.iter().map(|it| it.word()).chain(Way::ALL.iter().map(|it| it.word())) {
        assert!(readme.contains(word), "{word}");
    }
}
