//! Where the agent is, and which one a JVM gets: there is one for each C library.

mod cached;
mod elf;
mod java;

pub use elf::{Elf, ElfMachine, Libc};
pub use java::{for_command, for_java};

use crate::outcome::Failure;
use std::{
    fs::File,
    path::{Path, PathBuf},
};

/// The agent's file name.
pub const AGENT: &str = "libtyrion_agent.so";

/// The agent for this C library: whatever `TYRION_AGENT` names; or beside this program,
/// or in the `lib` folder beside its folder; or, if this program has it in itself, from
/// the user's cache.
///
/// # Errors
/// When it is in none of these places.
pub fn find(libc: Libc) -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os("TYRION_AGENT") {
        // The JVM has another working folder.
        return std::path::absolute(&path).map_err(|error| {
            Failure::new(format!("TYRION_AGENT={}: {error}", Path::new(&path).display()))
        });
    }
    let program = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|error| Failure::new(format!("cannot find out where this program is: {error}")))?;
    let folder = program.parent().unwrap_or(&program);
    if let Some(path) = places(folder, libc).iter().find(|path| fits(path, libc)) {
        return path
            .canonicalize()
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())));
    }
    match cached::unpack(libc)? {
        Some(path) => Ok(path),
        None => Err(Failure::new(format!(
            "no {AGENT} for {libc} in {}, ../lib/tyrion/{libc} or ../lib; install the whole of a \
             package, build it with `cargo build --release`, or name it in TYRION_AGENT",
            folder.display()
        ))),
    }
}

/// Where packages have it, and then where Cargo has it.
fn places(folder: &Path, libc: Libc) -> [PathBuf; 4] {
    let beside = folder.join("../lib");
    [
        beside.join("tyrion").join(libc.name()).join(AGENT),
        folder.join(libc.name()).join(AGENT),
        folder.join(AGENT),
        beside.join(AGENT),
    ]
}

/// Whether this is an agent for a C library; one that tells nothing is for any.
fn fits(path: &Path, libc: Libc) -> bool {
    path.is_file() && Elf::of(path).and_then(|elf| elf.libc).is_none_or(|its| its == libc)
}

/// The agents, found and opened before it is known which one is needed: later this
/// process may have no right to.
pub struct AgentFiles([(Libc, Result<NamedFile, Failure>); 2]);

/// A file and its path.
type NamedFile = (PathBuf, File);

impl AgentFiles {
    /// All that there are.
    pub fn all() -> AgentFiles {
        AgentFiles([Libc::Glibc, Libc::Musl].map(|libc| (libc, open(libc))))
    }

    /// That for a C library.
    ///
    /// # Errors
    /// When there is none, or it cannot be opened.
    pub fn of(self, wanted: Libc) -> Result<NamedFile, Failure> {
        let none = || Err(Failure::new(format!("no agent for {wanted}")));
        self.0.into_iter().find(|(libc, _)| *libc == wanted).map_or_else(none, |(_, opened)| opened)
    }
}

fn open(libc: Libc) -> Result<NamedFile, Failure> {
    let path = find(libc)?;
    let opened = File::open(&path);
    let opened = opened.map_err(|error| Failure::new(format!("{}: {error}", path.display())));
    opened.map(|file| (path, file))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    /// Libraries of this machine stand for agents: what tells the C library is the same.
    #[test]
    fn a_library_for_another_c_library_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let own = Elf::of(&std::env::current_exe().unwrap()).unwrap().libc;
        let Some(own) = own else { return };
        let other = if own == Libc::Musl { Libc::Glibc } else { Libc::Musl };
        let beside = folder.path().join(AGENT);
        assert!(!fits(&beside, own));
        std::fs::copy(std::env::current_exe().unwrap(), &beside).unwrap();
        assert!(fits(&beside, own) && !fits(&beside, other));
        std::fs::write(&beside, "tells nothing").unwrap();
        assert!(fits(&beside, own) && fits(&beside, other));
    }
}
