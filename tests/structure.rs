//! What documents and scripts say about the repository is so.

use crate::support::root;
use crate::support::{setup, stdout_of};
use std::collections::BTreeSet;

fn read(file: &str) -> String {
    let path = root().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The lists of CONTRIBUTING.md: files, and a word that each must have.
#[test]
fn what_to_add_is_where_contributing_says() {
    let text = read("CONTRIBUTING.md");
    let blocks: Vec<&str> = text.split("```add\n").skip(1).collect();
    assert!(blocks.len() >= 8, "{} lists", blocks.len());
    // What is added most often.
    for (title, most) in [("A kind of record in the log", 6), ("A kind of lock", 4)] {
        let (_, list) = text.split_once(title).expect(title);
        let (_, list) = list.split_once("```add\n").expect(title);
        let files = list.split("```").next().unwrap_or_default().lines().count();
        assert!(files <= most, "{title}: {files} files");
    }
    for block in blocks {
        let (list, _) = block.split_once("```").expect("an end");
        for line in list.lines() {
            let mut words = line.split_whitespace();
            let (file, word) = (words.next().expect(line), words.next().expect(line));
            assert!(read(file).contains(word), "{file} has no {word}");
        }
    }
}

/// A first page that nobody reads to its end says too much.
#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= 900, "README.md has {words} words");
}

/// docs/README.md is the map: each page is on it.
#[test]
fn each_page_is_on_the_map() {
    let map = read("docs/README.md");
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "README.md" {
            assert!(map.contains(&format!("({name})")), "docs/README.md does not name {name}");
        }
    }
}

/// `on_jdks!` and the script that gets the JDKs know the same ones.
#[test]
fn the_jdks_are_those_of_the_setup() {
    let source = read("tests/support/jdk.rs");
    let (_, all) = source.split_once("($test:ident: all) => { on_jdks!(@on ").expect("all");
    let (all, _) = all.split_once(": $test").expect("its end");
    let all: Vec<&str> = all.split(' ').map(|name| name.trim_start_matches("jdk")).collect();
    let listed = stdout_of(setup("jdks.sh").arg("--list"));
    assert_eq!(all, listed.split_whitespace().collect::<Vec<_>>());
    let readme = read("README.md");
    for major in all {
        assert!(readme.contains(major), "README.md does not name Java {major}");
    }
}

/// A licence that has an exception in deny.toml asks for something: NOTICE says
/// what, of the version that is built.
#[test]
fn notice_names_what_needs_it() {
    let (deny, notice, lock) = (read("deny.toml"), read("NOTICE"), read("Cargo.lock"));
    let (_, exceptions) = deny.split_once("exceptions = [").expect("exceptions");
    let (exceptions, _) = exceptions.split_once("]\n").expect("their end");
    let crates: BTreeSet<&str> = exceptions
        .split("crate = \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(!crates.is_empty());
    for name in crates {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let (_, version) = lock.split_once(&entry).unwrap_or_else(|| panic!("no {name}"));
        let version = version.split('"').next().unwrap();
        assert!(notice.contains(&format!("{name} {version}")), "NOTICE: no {name} {version}");
    }
}
