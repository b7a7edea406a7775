//! What the tests of the outputs share: profiles, and readers of what is written.
#![allow(dead_code, reason = "each test binary uses a part")]

pub mod build;
pub mod callgrind;
pub mod jfr;
pub mod profiles;
pub mod random;
pub mod timed;
pub mod times;
pub mod totals;
pub mod traced;

use std::{fs, path::PathBuf};
use tyrion_converters::outputs::{FORMATS, Format, OutputOptions, Stream, WriteStream};
use tyrion_model::profile::Profile;

/// The formats that are made of sums; those of single waits are tested with logs.
pub fn of_sums() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| !format.shows_times())
}

/// What writes a format that is made of sums.
pub fn stream_of(format: &Format) -> WriteStream {
    match format.stream {
        Stream::Sums(stream) => stream,
        _ => panic!("{} is made of a timeline", format.name),
    }
}

/// Everything that a format writes for a profile: names and contents, in the
/// order of the names. The format's name stands for the file that was asked for.
pub fn written(
    format: &Format,
    profile: &Profile,
    options: &OutputOptions,
) -> Vec<(String, Vec<u8>)> {
    let Some(files) = format.files else {
        let mut bytes = Vec::new();
        stream_of(format)(profile, options, &mut bytes).unwrap();
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
