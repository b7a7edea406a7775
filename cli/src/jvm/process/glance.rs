//! What is seen of a JVM from outside, without taking on its user's rights.

use super::{
    Mappings, Process,
    credentials::Credentials,
    handle::shares_namespace,
    root::{RootFolder, open_regular},
};
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// The file in a JDK's folder that says which it is is read up to this many bytes.
const LONGEST_RELEASE: u64 = 16 << 10;
/// A version has at most so many characters.
const LONGEST_VERSION: usize = 40;
/// The JVM's library is at most so many folders below that of its JDK.
const DEEPEST: usize = 5;
/// How the JVM's own statistics are called, which every JVM maps.
const STATISTICS: &str = "/hsperfdata_";

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
    /// The file that the agent seems to write to, by the JVM's own path.
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
    let has_agent = mapped.agent.is_some();
    let is_log = |path: &&PathBuf| {
        let path = path.to_string_lossy();
        !path.contains(STATISTICS) && path.ends_with(".log")
    };
    let log = mapped.shared.iter().find(is_log).filter(|_| has_agent).cloned();
    let jdk = uid.and_then(|uid| version(&process, uid, mapped.jvm.as_deref()?));
    Glance { has_agent: Some(has_agent), log, jdk, ..glance }
}

/// The version that a JDK's file `release` tells. It is read only where nobody but root and the
/// JVM's user could have put it.
fn version(process: &Process, uid: u32, library: &Path) -> Option<String> {
    let root = RootFolder::new(process.link("root").ok()?, uid).ok()?;
    library.ancestors().skip(1).take(DEEPEST).find_map(|folder| {
        let file = root.find_trusted(&folder.join("release")).ok()?;
        let mut text = String::new();
        open_regular(&file).ok()?.take(LONGEST_RELEASE).read_to_string(&mut text).ok()?;
        in_release(&text)
    })
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
