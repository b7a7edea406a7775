//! What a process can reach that may have other files than we: a container.
//! Where that is not enough, the messages name the way out.

use super::{
    JvmProcess,
    credentials::field,
    folder::Folder,
    handle::{Process, shares_namespace},
    identity,
    root::{OpenToOthers, open_regular},
};
use crate::agent::{Elf, ElfMachine, Libc};
use rustix::{
    fs::{Access, AtFlags, StatVfsMountFlags, accessat, fstatvfs},
    io::Errno,
    thread::{CapabilitySet, capabilities},
};
use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{
        fd::AsFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Component, Path, PathBuf},
    rc::Rc,
};

/// Where a JVM has its socket, whatever its `java.io.tmpdir` is.
pub const TEMPORARY: &str = "/tmp";
/// What helps where nothing can be attached.
pub const WAY_OUT: &str = "start the JVM with -agentpath:PATH (see docs/containers.md)";

impl JvmProcess {
    /// Trusts its /tmp although others may replace files in it: the user says that
    /// there are no others.
    ///
    /// # Errors
    /// One line: there is no such folder.
    pub fn trust_temporary(&mut self) -> Result<(), String> {
        let trusted = self.root.vouch_for(Path::new(TEMPORARY));
        trusted.map_err(|error| self.no_temporary(&error.to_string()))
    }

    /// Its folder /tmp.
    ///
    /// # Errors
    /// One line: it is missing, or others could have put another one there, or
    /// the process cannot write to it.
    pub fn temporary(&self) -> Result<Rc<Folder>, String> {
        let folder = Folder::trusted(&self.root, Path::new(TEMPORARY));
        let folder = folder.map_err(|error| match is_open_to_others(&error) {
            true => format!(
                "process {}: its {TEMPORARY} lets every user replace the files of others; make it \
                 sticky (chmod 1777), or use --trust-tmp if no other user can reach it",
                self.pid()
            ),
            false => self.no_temporary(&error.to_string()),
        })?;
        self.check_writable(&folder).map_err(|error| self.no_temporary(&error.to_string()))?;
        Ok(Rc::new(folder))
    }

    fn no_temporary(&self, reason: &str) -> String {
        let pid = self.pid();
        let more = match self.has_agent() {
            true => format!("; what it records is not lost: tyrion top {pid} shows it"),
            false => format!("; {WAY_OUT}"),
        };
        format!(
            "process {pid}: its {TEMPORARY}: {reason}; a JVM that cannot write there cannot be \
             attached to{more}"
        )
    }

    /// Why its /tmp cannot be used, though it can be found: most often because it is full.
    pub fn unusable_temporary(&self, error: &io::Error) -> String {
        let what_to_do = match is_full(error) {
            true => {
                let here = self.here(Path::new(TEMPORARY));
                format!("; commands need some room there: make it ({} from here)", here.display())
            }
            false => String::new(),
        };
        format!("process {}: its {TEMPORARY}: {error}{what_to_do}", self.pid())
    }

    /// Whether the process can write to a folder of its own, as far as can be
    /// told: in a user namespace of its own it may have more rights than we.
    fn check_writable(&self, folder: &Folder) -> io::Result<()> {
        if fstatvfs(folder.as_fd())?.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(Errno::ROFS.into());
        }
        if self.shares_users {
            let wanted = Access::WRITE_OK | Access::EXEC_OK;
            accessat(folder.as_fd(), ".", wanted, AtFlags::empty())?;
        }
        Ok(())
    }

    /// Makes sure that the process can make a file with this path, by what it
    /// sees.
    ///
    /// # Errors
    /// One line: the folder is missing, or cannot be written to.
    pub fn check_can_create(&self, file: &Path) -> Result<(), String> {
        let Some(parent) = file.parent() else { return Ok(()) };
        let folder = Folder::any(&self.root, parent);
        folder.and_then(|folder| self.check_writable(&folder)).map_err(|error| {
            format!(
                "process {} cannot write its log to {}, a folder as that process sees it: {error}; \
                 name a log in another one, such as -o /tmp/a.log",
                self.pid(),
                parent.display()
            )
        })
    }

    /// Whether a folder of ours is the same one to the process.
    pub fn shares_folder(&self, folder: &Path) -> bool {
        let ours = std::fs::metadata(folder).map(|it| (it.dev(), it.ino()));
        let theirs = self.root.find(folder).and_then(|found| identity(&found));
        matches!((ours, theirs), (Ok(ours), Ok(theirs)) if ours == theirs)
    }

    /// A path of the process's, as it is to be written here. Nothing is looked at.
    pub fn here(&self, path: &Path) -> PathBuf {
        below(&self.root_here, path)
    }

    /// Its C library. A JVM built for glibc may run on Alpine Linux all the same: what it
    /// has loaded counts.
    pub fn libc(&self) -> Libc {
        match self.mapped.has_musl {
            true => Libc::Musl,
            false => Libc::Glibc,
        }
    }

    /// The processor that its JVM is built for, which an emulator may play.
    fn machine(&self) -> Option<ElfMachine> {
        let found = self.root.find(self.mapped.jvm.as_ref()?).ok()?;
        Elf::read(&open_regular(&found).ok()?).map(|elf| elf.machine)
    }

    /// Makes sure that the process can run our library.
    ///
    /// # Errors
    /// One line: it is for another C library, or another processor.
    pub fn check_library(&self, library: &File) -> Result<(), String> {
        let Some(elf) = Elf::read(library) else { return Ok(()) };
        let pid = self.pid();
        if let Some(machine) = self.machine().filter(|machine| *machine != elf.machine) {
            return Err(format!(
                "process {pid} runs a JVM for {machine}, and the agent is built for {}; use the \
                 tyrion for {machine}",
                elf.machine
            ));
        }
        match (self.libc(), elf.libc) {
            (Libc::Musl, Some(Libc::Glibc)) => Err(format!(
                "process {pid} runs on musl, as programs on Alpine Linux do, and the agent is \
                 built for glibc; use the agent for musl of a package of tyrion"
            )),
            (Libc::Glibc, Some(Libc::Musl)) => Err(format!(
                "process {pid} runs on glibc, and the agent is built for musl; use the agent for \
                 glibc of a package of tyrion"
            )),
            _ => Ok(()),
        }
    }
}

/// Whether a file system takes nothing more of this user's.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A path below a root folder, with no step up that could lead out of it.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::ParentDir => drop(names.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    root.iter().chain(names).collect()
}

fn is_open_to_others(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<OpenToOthers>())
}

/// The root folder of a process, by our paths: what outlives the process if we
/// have the same mounts, and else what leads there as long as it runs.
pub(super) fn root_here(process: &Process) -> PathBuf {
    let root = process.link_text("root").unwrap_or_default();
    let is_ours = shares_namespace(process, "mnt") && root.starts_with(b"/");
    match is_ours && !root.ends_with(b" (deleted)") {
        true => PathBuf::from(OsStr::from_bytes(&root)),
        false => PathBuf::from(format!("/proc/{}/root", process.pid())),
    }
}

/// Why it cannot be told whether a process is a JVM.
pub(super) fn unreadable(pid: u32, status: &str, error: &io::Error) -> String {
    let own = rustix::process::geteuid().as_raw();
    let name = field(status, "Name:").unwrap_or("unknown");
    let user = field(status, "Uid:").and_then(|ids| ids.split_whitespace().nth(1));
    let user = user.and_then(|id| id.parse::<u32>().ok());
    match user {
        _ if error.kind() != io::ErrorKind::PermissionDenied => {
            format!("process {pid} ({name}): {error}")
        }
        // Root in a container is not what root is outside.
        Some(user) if own == 0 && !may_look_at_all() => format!(
            "process {pid} ({name}) has rights that root here lacks; if it is a JVM, run tyrion as \
             its user, with id {user}, or with the capability SYS_PTRACE"
        ),
        Some(user) if user != own && own != 0 => format!(
            "process {pid} ({name}) belongs to another user, with id {user}; if it is a JVM, run \
             tyrion as that user"
        ),
        // The kernel wants more than the same user: rights of its own, or a sandbox.
        _ => format!(
            "process {pid} ({name}) cannot be inspected from here, not even by its user or root; \
             it is not a JVM, or it is one in a sandbox: then run tyrion inside the sandbox"
        ),
    }
}

fn may_look_at_all() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_PTRACE))
}
