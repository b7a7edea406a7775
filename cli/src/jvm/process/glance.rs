//! What is seen of a JVM from outside, without taking on its user's rights.

use super::{
    Mappings, Process, SharedFile,
    credentials::Credentials,
    handle::shares_namespace,
    root::{RootFolder, open_regular},
};
use rustix::fs::{Mode, fstat};
use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};
use tyrion_wire::header::MAGIC;

/// The file in a JDK's folder that says which it is is read up to this many bytes.
const LONGEST_RELEASE: u64 = 16 << 10;
/// A version has at most so many characters.
const LONGEST_VERSION: usize = 40;
/// The JVM's library is at most so many folders below that of its JDK.
const DEEPEST: usize = 5;
/// The usual ending of a log's name. No other file is looked into.
const LOG: &str = "log";

/// What is seen of a JVM from outside. All of it may have changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Its user's id, if it has the rights of one user alone.
    pub uid: Option<u32>,
    /// Whether it runs in a PID namespace of its own, as containers do.
    pub in_container: bool,
    /// The version of its JDK, if that is known.
    pub jdk: Option<String>,
    /// Whether it has loaded an agent of Tyrion; not known where its mappings are hidden.
    pub has_agent: Option<bool>,
    /// The log that it writes to, by the JVM's own path.
    pub log: Option<PathBuf>,
}

/// Looks at a process; nothing is seen of one that has ended.
pub fn glance(pid: u32) -> Glance {
    let Ok(process) = Process::open(pid) else { return Glance::default() };
    let status = process.read("status").unwrap_or_default();
    let uid = Credentials::parse(&status).map(|it| it.uid).ok();
    let glance =
        Glance { uid, in_container: !shares_namespace(&process, "pid"), ..Glance::default() };
    let Ok(mapped) = Mappings::of(&process) else { return glance };
    let glance = Glance { has_agent: Some(mapped.runs_agent), ..glance };
    let Some(theirs) = uid.and_then(|uid| Theirs::of(&process, uid)) else { return glance };
    let log = mapped.shared.iter().filter(|_| mapped.runs_agent).find(|file| theirs.is_log(file));
    let log = log.map(|file| file.path.clone());
    let jdk = mapped.jvm.as_deref().and_then(|library| theirs.version(library));
    Glance { log, jdk, ..glance }
}

/// The files of a process, for who may have more rights than its user: what that user could not
/// read is not read.
struct Theirs<'a> {
    process: &'a Process,
    root: RootFolder,
    uid: u32,
}

impl Theirs<'_> {
    fn of(process: &Process, uid: u32) -> Option<Theirs<'_>> {
        let root = RootFolder::new(process.link("root").ok()?, uid).ok()?;
        Some(Theirs { process, root, uid })
    }

    /// What is at a path, for root only where nobody but root, the JVM's user or the owner of its
    /// root folder could have put it.
    fn find(&self, path: &Path) -> io::Result<OwnedFd> {
        match rustix::process::geteuid().is_root() {
            true => self.root.find_trusted(path),
            false => self.root.find(path),
        }
    }

    /// Opens a regular file that the process's user may read.
    fn open(&self, stands_for: &OwnedFd) -> io::Result<File> {
        let stat = fstat(stands_for)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let may_read = match stat.st_uid == self.uid {
            true => mode.contains(Mode::RUSR),
            false => mode.contains(Mode::ROTH),
        };
        if !may_read {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        open_regular(stands_for)
    }

    /// Whether a file that it has mapped is a log of Tyrion that is written to.
    fn is_log(&self, file: &SharedFile) -> bool {
        if file.path.extension().is_none_or(|extension| extension != LOG) {
            return false;
        }
        // What is mapped, whatever has its path by now; the kernel shows that to root alone.
        let mapped = self.process.link(&format!("map_files/{}", file.addresses));
        let Ok(found) = mapped.or_else(|_| self.find(&file.path)) else { return false };
        let mut first = [0; MAGIC.len()];
        let read = self.open(&found).and_then(|mut file| file.read_exact(&mut first));
        read.is_ok() && first == MAGIC
    }

    /// The version that a JDK's file `release` tells.
    fn version(&self, library: &Path) -> Option<String> {
        library.ancestors().skip(1).take(DEEPEST).find_map(|folder| {
            let found = self.find(&folder.join("release")).ok()?;
            let mut text = String::new();
            self.open(&found).ok()?.take(LONGEST_RELEASE).read_to_string(&mut text).ok()?;
            in_release(&text)
        })
    }
}

/// The version in the text of a JDK's file `release`.
fn in_release(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let version = value.trim().trim_matches('"');
    let is_plain =
        version.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'-'));
    let is_one = !version.is_empty() && version.len() <= LONGEST_VERSION && is_plain;
    is_one.then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_tells_its_version() {
        let text = "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\nOS_NAME=\"Linux\"\n";
        assert_eq!(in_release(text).as_deref(), Some("17.0.15"));
        assert_eq!(in_release("JAVA_VERSION=1.8.0_504\n").as_deref(), Some("1.8.0_504"));
        for none in ["", "JAVA_VERSION=\"\"\n", "JAVA_VERSION=\"1\u{1b}[2J\"\n"] {
            assert_eq!(in_release(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_no_jvm_has_no_agent() {
        let own = glance(std::process::id());
        assert_eq!((own.has_agent, own.jdk, own.log), (Some(false), None, None));
        assert!(own.uid.is_some() && !own.in_container);
        assert_eq!(glance(u32::MAX), Glance::default());
    }
}
