//! Programs and rights that tests need and a machine may lack.

use super::{output, root};
use std::{io::Write, path::PathBuf, process::Command};

/// Says that a test is skipped for lack of something. In CI that is a failure.
pub fn skip(what: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!in_ci, "missing in CI: {what}");
    eprintln!("skipped: no {what}");
}

/// Says that a test is skipped since only root may do that. It is not a matter of
/// installing something, so no failure in CI.
pub fn skip_for_root(what: &str) {
    eprintln!("skipped: {what} needs root");
}

/// Whether all these commands are there; else says what is missing.
pub fn needs(commands: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |command: &&str| std::env::split_paths(&path).any(|folder| folder.join(command).is_file());
    let missing: Vec<&str> =
        commands.iter().filter(|command| !is_there(command)).copied().collect();
    if !missing.is_empty() {
        skip(&format!("{}: run tests/setup/tools.sh", missing.join(", ")));
    }
    missing.is_empty()
}

/// A program of Prometheus: installed, or unpacked by the setup; or `None` after a
/// message.
pub fn prometheus(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let unpacked = root().join("target/prometheus");
    let mut folders = std::env::split_paths(&path).chain([unpacked]);
    let found = folders.find_map(|folder| Some(folder.join(program)).filter(|it| it.is_file()));
    if found.is_none() {
        skip(&format!("{program}: run tests/setup/tools.sh scrapers"));
    }
    found
}

/// The jar of a database, or `None` after a message.
pub fn subject_jar(name: &str) -> Option<PathBuf> {
    let jar = PathBuf::from("/usr/share/java").join(name);
    if jar.is_file() {
        return Some(jar);
    }
    skip(&format!("{}: run tests/setup/tools.sh subjects", jar.display()));
    None
}

/// A script of `tests/setup`.
pub fn setup(script: &str) -> Command {
    Command::new(root().join("tests/setup").join(script))
}

/// A small file system of its own, unmounted when dropped.
pub struct Tmpfs {
    folder: tempfile::TempDir,
}

impl Tmpfs {
    /// Mounts one, or gives `None` after a message when that is not allowed.
    pub fn mount(size: &str) -> Option<Tmpfs> {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output();
        if mount.is_ok_and(|mount| mount.status.success()) {
            return Some(Tmpfs { folder });
        }
        skip_for_root("mounting a file system");
        None
    }

    /// Where it is mounted.
    pub fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Fills it to the last byte, until the answer is dropped.
    pub fn fill(&self) -> Ballast {
        let path = self.path().join("ballast");
        let mut file = std::fs::File::create(&path).unwrap();
        let some = [1; 4096];
        let full = loop {
            if let Err(error) = file.write_all(&some) {
                break error;
            }
        };
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull, "{full}");
        Ballast { path }
    }

    /// Makes it read-only.
    pub fn set_read_only(&self) {
        let mut mount = Command::new("mount");
        let remounted = output(mount.args(["-o", "remount,ro"]).arg(self.folder.path()));
        assert!(remounted.status.success());
    }
}

/// What takes all the room of a file system. Removed when dropped.
pub struct Ballast {
    path: PathBuf,
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}
