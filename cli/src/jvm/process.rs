//! Another process, most often a JVM, that nothing is believed of.
//!
//! [`glance::glance`] looks from outside, and reads one file, with the rights that this
//! process has. Else [`JvmProcess::enter`] is all that is done with root's rights, and it only
//! opens: what the kernel tells of the process, descriptors of its root folder
//! and of the agent that it has mapped, and our own copy of the agent. Then this
//! process becomes one of that user, for good. Whatever it reads, writes
//! or removes later, that user could have read, written or removed.

mod credentials;
pub mod exchange;
pub mod folder;
pub mod glance;
mod handle;
pub mod reach;
mod root;

use crate::logs::LogFiles;
use credentials::{Credentials, field};
use folder::{Folder, allows_programs};
use handle::{Process, shares_namespace};
use reach::unreadable;
use root::{RootFolder, open_regular};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, ffi::OsStringExt},
    },
    path::{Path, PathBuf},
};

/// The most files looked at of those that a process writes to and shares.
const MOST_SHARED: usize = 1000;
/// What the kernel puts behind the path of a mapped file that is gone.
const DELETED: &[u8] = b" (deleted)";
/// How often to look at a process that executes another program meanwhile.
const ATTEMPTS: usize = 3;
/// The number of the field of `/proc/PID/stat` that says where its code begins;
/// where that ends, and where its stack begins, are the next two.
const START_CODE: usize = 26;
/// A process has loaded fewer agents of ours.
const MOST_AGENTS: usize = 16;
/// What the file names of agents begin with.
const AGENT: &[u8] = b"libtyrion_agent";

/// A process whose user's rights this process has taken on.
pub struct JvmProcess {
    process: Process,
    /// Its id in its own PID namespace (a container's).
    inner_pid: u32,
    uid: u32,
    /// Whether it was started so that nobody can attach to it.
    refuses: bool,
    root: RootFolder,
    /// Its root folder, by our paths.
    root_here: PathBuf,
    /// Whether rights of its that the kernel tells of count here, too.
    shares_users: bool,
    mapped: Mappings,
    agents: Vec<MappedAgent>,
}

/// What is seen of one program that a process runs.
struct Observation {
    credentials: Credentials,
    inner_pid: Option<u32>,
    root: OwnedFd,
    root_here: PathBuf,
    shares_users: bool,
    mapped: Mappings,
    agents: Vec<MappedAgent>,
}

/// What tells programs of a process apart: descriptors of it outlive `execve`.
#[derive(PartialEq, Eq)]
struct ProgramIdentity {
    credentials: Result<Credentials, &'static str>,
    inner_pid: Option<u32>,
    /// Where its code and its stack are, which every program has elsewhere.
    places: Vec<String>,
}

/// Of what a process has mapped, what matters here.
#[derive(Default)]
struct Mappings {
    has_jvm: bool,
    /// The JVM's library, by its own path.
    jvm: Option<PathBuf>,
    /// Whether its C library is musl, as on Alpine Linux.
    has_musl: bool,
    /// The first mapping of each agent: its addresses as they stand in the list, and
    /// its path.
    agents: Vec<(String, Vec<u8>)>,
    /// Whether code of a file is mapped that is called like an agent's library.
    runs_agent: bool,
    /// Files that it writes to and shares.
    shared: Vec<SharedFile>,
}

/// A file that a process writes to and shares.
#[derive(Debug, PartialEq, Eq)]
struct SharedFile {
    /// Of its first mapping, as under `map_files`.
    addresses: String,
    /// By the process's own path.
    path: PathBuf,
}

/// An agent that a process has loaded.
struct MappedAgent {
    /// Its path, as the process sees it.
    path: PathBuf,
    is_deleted: bool,
    /// The file that is mapped, whatever has its path by now; `None` where the
    /// kernel tells that to root alone.
    file: Option<OwnedFd>,
}

impl JvmProcess {
    /// Enters the JVM with this process id: from now on this process has the
    /// rights of its user, and no others.
    ///
    /// # Errors
    /// One line: no such process, not a JVM, or another user's.
    pub fn enter(pid: u32) -> Result<JvmProcess, String> {
        let process = Process::open(pid)?;
        let failed = |error: io::Error| format!("process {pid}: {error}");
        let seen = Observation::of(&process)?;
        // With root's rights up to here.
        seen.credentials.take_on(&process)?;
        let root = RootFolder::new(seen.root, seen.credentials.uid).map_err(failed)?;
        let options = process.read("cmdline").unwrap_or_default();
        Ok(JvmProcess {
            refuses: options.contains("+DisableAttachMechanism"),
            inner_pid: seen.inner_pid.unwrap_or(pid),
            uid: seen.credentials.uid,
            root_here: seen.root_here,
            shares_users: seen.shares_users,
            mapped: seen.mapped,
            agents: seen.agents,
            process,
            root,
        })
    }

    /// Its id, as seen from here.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its id in its own PID namespace.
    pub fn inner_pid(&self) -> u32 {
        self.inner_pid
    }

    /// Its effective user.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// Whether it had loaded an agent when it was entered.
    pub fn has_agent(&self) -> bool {
        !self.agents.is_empty()
    }

    /// The files that it writes to and shares, by its own paths.
    pub fn shared_files(&self) -> impl Iterator<Item = &Path> {
        self.mapped.shared.iter().map(|file| &*file.path)
    }

    /// Asks a JVM to open its socket.
    ///
    /// # Errors
    /// One line: it would end, or not answer.
    pub fn ask_for_socket(&self) -> Result<(), String> {
        let pid = self.pid();
        let status = self.process.read("status").unwrap_or_default();
        // A JVM that does not take SIGQUIT would be ended by it (`-Xrs`), and one
        // with attaching disabled would only print its threads.
        let caught = caught_signals(&status).unwrap_or(0);
        if caught & 1 << (libc::SIGQUIT - 1) == 0 || self.refuses {
            return Err(format!(
                "process {pid} cannot be attached to: it is still starting, or runs with -Xrs or \
                 -XX:+DisableAttachMechanism"
            ));
        }
        self.process.send_quit().map_err(|error| format!("process {pid}: {error}"))
    }

    /// The paths of the agents that the process has loaded, if they are `own` to the
    /// byte and nobody else could replace them. There are several where a command was killed
    /// before the copy that it had made was loaded.
    ///
    /// # Errors
    /// One line: it is another one, or was replaced.
    pub fn verified_agents(&self, own: &File) -> Result<Vec<PathBuf>, String> {
        self.agents.iter().map(|agent| self.verify(agent, own)).collect()
    }

    fn verify(&self, agent: &MappedAgent, own: &File) -> Result<PathBuf, String> {
        let pid = self.pid();
        if agent.is_deleted {
            return match agent.is_mapped_from(own) {
                true => Ok(agent.loaded_as()),
                false => Err(format!(
                    "the agent in process {pid} was replaced or removed on disk; if it was \
                     removed, run tyrion as root, else restart the JVM to use the new one"
                )),
            };
        }
        let other = |reason: String| {
            format!(
                "the agent in process {pid} is not the one of this tyrion{reason}; use the tyrion \
                 that it came with, or restart the JVM"
            )
        };
        let found = self.root.find_trusted(&agent.path).map_err(|e| other(format!(" ({e})")))?;
        let is_mapped = match &agent.file {
            Some(file) => identity(file).ok() == identity(&found).ok(),
            None => true,
        };
        let is_own = open_regular(&found).and_then(|file| exchange::same_bytes(own, &file));
        match is_own {
            Ok(true) if is_mapped => Ok(agent.path.clone()),
            Ok(_) => Err(other(String::new())),
            Err(error) => Err(other(format!(" ({error})"))),
        }
    }

    /// Whether the process can load our library from where it lies: it sees the
    /// same bytes there, and nobody else could put others in their place.
    pub fn can_load_in_place(&self, path: &Path, own: &File) -> bool {
        let Ok(found) = self.root.find_trusted(path) else { return false };
        let is_same = || open_regular(&found).and_then(|file| exchange::same_bytes(own, &file));
        allows_programs(&found) && is_same().unwrap_or(false)
    }
}

impl Observation {
    /// # Errors
    /// One line: it is not a JVM, or may not be looked at, or changes all the time.
    fn of(process: &Process) -> Result<Observation, String> {
        for _ in 0..ATTEMPTS {
            if let Some(seen) = Observation::look(process, || {})? {
                return Ok(seen);
            }
        }
        Err(format!("process {} keeps starting other programs; try again", process.pid()))
    }

    /// Looks once; `None` if it was another program in the end than in the
    /// beginning: then what is seen may be of both.
    fn look(process: &Process, meanwhile: impl FnOnce()) -> Result<Option<Observation>, String> {
        let pid = process.pid();
        let failed = |error: io::Error| format!("process {pid}: {error}");
        let status = process.read("status").map_err(failed)?;
        let before = ProgramIdentity::of(process, &status).map_err(failed)?;
        let hidden = |error: io::Error| unreadable(pid, &status, &error);
        let mapped = Mappings::of(process).map_err(hidden)?;
        meanwhile();
        let root = process.link("root").map_err(hidden)?;
        let root_here = reach::root_here(process);
        let shares_users = shares_namespace(process, "user");
        let agents = mapped.agents.iter().map(|agent| MappedAgent::of(process, agent)).collect();
        let status = process.read("status").map_err(failed)?;
        if before != ProgramIdentity::of(process, &status).map_err(failed)? {
            return Ok(None);
        }
        if !mapped.has_jvm {
            return Err(format!("process {pid} is not a JVM (HotSpot)"));
        }
        let credentials = before.credentials.map_err(|why| format!("process {pid}: {why}"))?;
        let inner_pid = before.inner_pid;
        Ok(Some(Observation {
            credentials,
            inner_pid,
            root,
            root_here,
            shares_users,
            mapped,
            agents,
        }))
    }
}

impl ProgramIdentity {
    fn of(process: &Process, status: &str) -> io::Result<ProgramIdentity> {
        let stat = process.read("stat")?;
        // The name is in brackets, and may have anything in it; the state, which
        // is the third field, follows.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        Ok(ProgramIdentity {
            credentials: Credentials::parse(status),
            inner_pid: inner_pid(status),
            places: fields.skip(START_CODE - 3).take(3).map(str::to_owned).collect(),
        })
    }
}

impl LogFiles for JvmProcess {
    fn open(&self, path: &Path) -> io::Result<File> {
        open_regular(&self.root.find(path)?)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let names = Folder::any(&self.root, folder)?.names()?;
        Ok(names.into_iter().map(OsString::from_vec).collect())
    }
}

impl MappedAgent {
    fn of(process: &Process, (addresses, path): &(String, Vec<u8>)) -> MappedAgent {
        let (path, is_deleted) = match path.strip_suffix(DELETED) {
            Some(path) => (path, true),
            None => (path.as_slice(), false),
        };
        // The list shows paths as we see them: of a process with another root
        // folder (`chroot`), they begin with that.
        let root = process.link_text("root").unwrap_or_default();
        let below = path.strip_prefix(root.as_slice()).filter(|rest| rest.starts_with(b"/"));
        let path = PathBuf::from(OsStr::from_bytes(below.unwrap_or(path)));
        let file = process.link(&format!("map_files/{addresses}")).ok();
        MappedAgent { path, is_deleted, file }
    }

    /// Whether what is mapped is our library, which the kernel lets only root see.
    fn is_mapped_from(&self, own: &File) -> bool {
        let Some(file) = &self.file else { return false };
        open_regular(file).and_then(|file| exchange::same_bytes(own, &file)).unwrap_or(false)
    }

    /// The path by which it was loaded. The C library looks for that among what is
    /// loaded before it looks for a file: so a library that is gone can still be
    /// talked to, and nobody can put another one there.
    fn loaded_as(&self) -> PathBuf {
        exchange::copy_path(&self.path).unwrap_or_else(|| self.path.clone())
    }
}

impl Mappings {
    fn of(process: &Process) -> io::Result<Mappings> {
        let mut mapped = Mappings::default();
        let root = process.link_text("root").unwrap_or_default();
        process.mappings(|line| mapped.add(line, &root))?;
        Ok(mapped)
    }

    /// Takes up a line of `/proc/PID/maps`.
    fn add(&mut self, line: &[u8], root: &[u8]) {
        let Some(at) = line.iter().position(|&byte| byte == b'/') else { return };
        let path = &line[at..];
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let below = path.strip_prefix(root).filter(|rest| rest.starts_with(b"/"));
        let theirs = || PathBuf::from(OsStr::from_bytes(below.unwrap_or(path)));
        if name.starts_with(b"libjvm.so") && !self.has_jvm {
            self.has_jvm = true;
            self.jvm = Some(theirs());
        }
        self.has_musl |= name.starts_with(b"ld-musl-");
        let mut words = line[..at].split(|&byte| byte == b' ');
        let addresses = String::from_utf8_lossy(words.next().unwrap_or_default());
        let rights = words.next().unwrap_or_default();
        if name.starts_with(AGENT) {
            let is_new = self.agents.iter().all(|(_, known)| known != path);
            if is_new && self.agents.len() < MOST_AGENTS {
                self.agents.push((map_file(&addresses), path.to_vec()));
            }
            let file = name.strip_suffix(DELETED).unwrap_or(name);
            self.runs_agent |= file.ends_with(b".so") && rights.get(2) == Some(&b'x');
        }
        let is_shared = rights.starts_with(b"rw-s");
        let is_there = !path.ends_with(DELETED);
        if is_shared && is_there && self.shared.len() < MOST_SHARED {
            let path = theirs();
            if !self.shared.iter().any(|file| file.path == path) {
                self.shared.push(SharedFile { addresses: map_file(&addresses), path });
            }
        }
    }
}

/// The name under `map_files` of a mapping's addresses: without the zeros that
/// may stand in front of them in the list.
fn map_file(addresses: &str) -> String {
    let trimmed = addresses.split('-').map(|address| match address.trim_start_matches('0') {
        "" => "0",
        address => address,
    });
    trimmed.collect::<Vec<_>>().join("-")
}

/// Device and inode of what a descriptor stands for.
fn identity(stands_for: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(stands_for)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// The set of signals in the line `SigCgt:` of `/proc/PID/status`.
fn caught_signals(status: &str) -> Option<u64> {
    u64::from_str_radix(field(status, "SigCgt:")?, 16).ok()
}

/// The last number of the line `NSpid:` of `/proc/PID/status`.
fn inner_pid(status: &str) -> Option<u32> {
    field(status, "NSpid:")?.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod races;
#[cfg(test)]
mod tests;
