//! Classes that are compiled otherwise than the other programs.

use crate::support::{classes, output, root, text};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};
use tempfile::TempDir;

/// Compiles sources into a folder.
pub fn javac(options: &[&str], class_path: &[&Path], sources: &[PathBuf], into: &Path) {
    let mut path: Vec<&str> = class_path.iter().map(|path| text(path)).collect();
    let classes = classes();
    path.push(text(&classes));
    std::fs::create_dir_all(into).unwrap();
    let lines: Vec<&str> = sources.iter().map(|source| text(source)).collect();
    let mut list = tempfile::NamedTempFile::new().unwrap();
    list.write_all(lines.join("\n").as_bytes()).unwrap();
    let mut javac = Command::new(root().join("target/jdks/javac"));
    // It lives too short a time for more.
    javac.args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]);
    javac.args(["--release", "8", "-encoding", "UTF-8", "-nowarn", "-proc:none"]).args(options);
    javac.args(["-cp", &path.join(":"), "-d"]).arg(into).arg(format!("@{}", text(list.path())));
    let done = output(&mut javac);
    assert!(done.status.success(), "{javac:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The programs of `tyrion.identity` without lines and names of variables, as they are
/// after an obfuscator or a minimizer.
pub fn stripped() -> PathBuf {
    static STRIPPED: LazyLock<TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let sources = root().join("testdata/java/tyrion/identity");
        let sources = std::fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path());
        let sources: Vec<PathBuf> =
            sources.filter(|path| path.extension().is_some_and(|end| end == "java")).collect();
        javac(&["-g:none"], &[], &sources, folder.path());
        folder
    });
    STRIPPED.path().to_owned()
}
