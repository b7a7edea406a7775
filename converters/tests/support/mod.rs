//! What the tests of the outputs share: profiles, and readers of what is written.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod build;
pub mod callgrind;
pub mod profiles;
pub mod random;
pub mod totals;
pub mod traced;

use std::{fs, path::PathBuf};
use tyrion_converters::{
    outputs::{Format, OutputOptions},
    profile::Profile,
};

/// Everything that a format writes for a profile: names and contents, in the
/// order of the names. The format's name stands for the file that was asked for.
pub fn written(
    format: &Format,
    profile: &Profile,
    options: &OutputOptions,
) -> Vec<(String, Vec<u8>)> {
    let Some(files) = format.files else {
        let mut bytes = Vec::new();
        (format.stream)(profile, options, &mut bytes).unwrap();
        return vec![(format.name.to_owned(), bytes)];
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format.name);
    let named = files(profile, options, &path).unwrap();
    assert_eq!(named.first(), Some(&path), "the file to open comes first");
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let mut sorted = named.clone();
    sorted.sort();
    assert_eq!(sorted, found, "all files are named, each once");
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}
