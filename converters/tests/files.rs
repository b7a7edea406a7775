//! The files that callgrind conversions leave behind.

use crate::support::profiles;
use std::{fs, io, path::Path};
use tyrion_converters::outputs::{OutputOptions, by_name};
use tyrion_model::profile::Profile;

fn convert(profile: &Profile, options: &OutputOptions, path: &Path) -> io::Result<Vec<String>> {
    let files = by_name("callgrind").unwrap().files.unwrap()(profile, options, path)?;
    Ok(files.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn parts_of_an_earlier_conversion_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.callgrind");
    let all = convert(&profiles::bank(), &OutputOptions::default(), &path).unwrap();
    assert_eq!(all.len(), 5);
    assert_eq!(names(folder.path()), all);
    let two = convert(
        &profiles::bank(),
        &OutputOptions { max_parts: 1, ..OutputOptions::default() },
        &path,
    );
    assert_eq!(two.unwrap(), ["out.callgrind", "out.callgrind.4242-01"]);
    assert_eq!(names(folder.path()), ["out.callgrind", "out.callgrind.4242-01"]);
}

#[test]
fn merged_files_stand_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.callgrind");
    convert(&profiles::bank(), &OutputOptions::default(), &path).unwrap();
    let merged = OutputOptions { merged: true, ..OutputOptions::default() };
    assert_eq!(convert(&profiles::bank(), &merged, &path).unwrap(), ["out.callgrind"]);
    assert_eq!(names(folder.path()), ["out.callgrind"], "KCacheGrind would count parts again");
    assert!(fs::metadata(&path).unwrap().len() > 0);
    convert(&profiles::bank(), &OutputOptions::default(), &path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn files_of_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.callgrind");
    let other = folder.path().join("out.callgrind.4242-02");
    fs::write(&other, "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n").unwrap();
    let error = convert(&profiles::bank(), &OutputOptions::default(), &path).unwrap_err();
    assert!(error.to_string().contains("out.callgrind.4242-02: "), "{error}");
    assert_eq!(names(folder.path()), ["out.callgrind.4242-02"], "no part of a profile");
    assert!(fs::read_to_string(&other).unwrap().contains("callgrind-3.19.0"));
}

#[test]
fn errors_name_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let error =
        convert(&profiles::bank(), &OutputOptions::default(), &missing.join("x")).unwrap_err();
    assert!(error.to_string().starts_with(missing.to_str().unwrap()), "{error}");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
