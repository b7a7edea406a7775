//! Golden files: what the code makes is compared with files that somebody has
//! looked at. One that is missing is wrong, and so is one that nothing makes.
//! `BLESS=1 cargo test` writes them anew; read the difference before you commit.
//!
//! The tests of each crate include this file by its path.
#![allow(dead_code, reason = "each crate uses a part of it")]

use std::{collections::BTreeMap, fs, path::Path};

/// Golden files by name, and what stands in them.
pub type GoldenFiles = BTreeMap<String, String>;

/// Compares all files of a folder with what they shall be.
#[track_caller]
pub fn check(folder: &Path, expected: &GoldenFiles) {
    check_of(folder, expected, |_| true);
}

/// Compares the golden files of a folder that has other files, too.
#[track_caller]
pub fn check_of(folder: &Path, expected: &GoldenFiles, is_golden: impl Fn(&str) -> bool) {
    if blesses() {
        fs::create_dir_all(folder).unwrap();
    }
    let mut wrong: Vec<String> =
        expected.iter().filter_map(|(name, text)| difference(folder, name, text)).collect();
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    wrong.extend(others(folder, &names, is_golden));
    fail_if(&wrong);
}

/// Compares one file.
#[track_caller]
pub fn compare(folder: &Path, name: &str, text: &str) {
    fail_if(&Vec::from_iter(difference(folder, name, text)));
}

/// Fails if a folder has files that no test compares: these are all of them.
#[track_caller]
pub fn check_names(folder: &Path, names: &[&str]) {
    fail_if(&others(folder, names, |_| true));
}

fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// What is wrong with a file, which is written first if that is wanted.
fn difference(folder: &Path, name: &str, text: &str) -> Option<String> {
    let path = folder.join(name);
    if blesses() {
        fs::write(&path, text).unwrap();
    }
    match fs::read_to_string(&path) {
        Ok(golden) if golden == text => None,
        Ok(golden) => {
            let same = golden.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
            let line = |of: &str| of.lines().nth(same).unwrap_or("(no line)").to_owned();
            Some(format!(
                "{name} differs from line {} on:\n  the file: {}\n  made now: {}",
                same + 1,
                line(&golden),
                line(text)
            ))
        }
        Err(error) => Some(format!("{name}: {error}")),
    }
}

/// Golden files that are none of these, which are removed if that is wanted.
fn others(folder: &Path, names: &[&str], is_golden: impl Fn(&str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if names.contains(&name) || !is_golden(name) {
            continue;
        }
        if blesses() {
            fs::remove_file(&path).unwrap();
        } else {
            wrong.push(format!("{name} is made by no test"));
        }
    }
    wrong
}

#[track_caller]
fn fail_if(wrong: &[String]) {
    assert!(wrong.is_empty(), "run with BLESS=1 if this is right:\n{}", wrong.join("\n"));
}
