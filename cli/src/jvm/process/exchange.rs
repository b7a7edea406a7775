//! A folder of ours in the target's /tmp, for one command: what it and the
//! agent exchange lies in it. Its name cannot be guessed, and nobody but the
//! target's user may look into it.

use super::{
    folder::Folder,
    reach::{TEMPORARY, WAY_OUT, is_full},
};
use rustix::rand::{GetRandomFlags, getrandom};
use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs::File,
    io::{self, Read, Seek, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    rc::Rc,
    time::{SystemTime, UNIX_EPOCH},
};
use tyrion_wire::exchange::{AGENT, DRAFT, GIVE_UP, LOG, PREFIX, REPLY, WORK, WORK_DRAFT};

/// The longest answer of an agent, in bytes.
const LONGEST_REPLY: u64 = 64 << 10;
/// As much of what it says meanwhile.
const LONGEST_WORK: u64 = 4 << 10;
/// An answer, and what the agent says meanwhile, take no more, be it in pages.
const ROOM: usize = 16 << 10;
/// A folder that nobody holds may be one that somebody is just making.
const YOUNG_S: i64 = 60;
/// The number of random bytes taken from the kernel.
const RANDOM: usize = 16;
/// For its owner to read and to run.
const LIBRARY_MODE: rustix::fs::Mode = rustix::fs::Mode::RUSR.union(rustix::fs::Mode::XUSR);

/// A folder for one command. It is removed in the end unless it is kept.
pub struct Exchange {
    around: Rc<Folder>,
    folder: Folder,
    name: String,
    reply: String,
    by: String,
    uid: u32,
    kept: bool,
}

impl Exchange {
    /// A new one, in the folder /tmp of a process of this user.
    ///
    /// # Errors
    /// As `mkdirat(2)`.
    pub fn create(around: &Rc<Folder>, uid: u32) -> io::Result<Exchange> {
        let mut random = [0u8; RANDOM];
        if getrandom(&mut random, GetRandomFlags::empty())? < RANDOM {
            return Err(io::Error::other("no random bytes"));
        }
        let mut name = PREFIX.to_owned();
        for byte in random {
            // Writing to a text cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        let folder = around.create_folder(&name, uid)?;
        let reply = folder.path_of(REPLY).to_string_lossy().into_owned();
        let by = std::process::id().to_string();
        let around = Rc::clone(around);
        let exchange = Exchange { around, folder, name, reply, by, uid, kept: false };
        exchange.check_room()?;
        Ok(exchange)
    }

    /// Makes sure that there is room for an answer: an agent that cannot give it is waited for
    /// in vain.
    fn check_room(&self) -> io::Result<()> {
        let owner = rustix::fs::Mode::RUSR.union(rustix::fs::Mode::WUSR);
        let mut file = self.folder.create(DRAFT, owner)?;
        let written = file.write_all(&[0; ROOM]);
        self.folder.remove(DRAFT)?;
        written
    }

    /// Its path, as the target sees it.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a log in it, as the target sees it.
    pub fn log_path(&self) -> PathBuf {
        self.folder.path_of(LOG)
    }

    /// The path at which the agent shall answer, as the target sees it.
    pub fn reply_path(&self) -> &str {
        &self.reply
    }

    /// Who waits for the answer: this process, by its id.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// What the agent says that it is doing meanwhile, if it says so.
    pub fn work(&self) -> Option<String> {
        let file = self.folder.open_of(WORK, self.uid).ok()?;
        let mut text = String::new();
        file.take(LONGEST_WORK).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Has the agent take back what it has begun.
    ///
    /// # Errors
    /// As `openat(2)`.
    pub fn give_up(&self) -> io::Result<()> {
        self.folder.create(GIVE_UP, rustix::fs::Mode::RUSR).map(drop)
    }

    /// Leaves it there in the end: the agent removes it.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// Puts a copy of the agent's library into it: the copy's path, as the
    /// target sees it.
    ///
    /// # Errors
    /// In words, for the user.
    pub fn put_library(&self, library: &File) -> Result<PathBuf, String> {
        let path = self.folder.path_of(AGENT);
        if !self.folder.allows_programs() {
            return Err(format!(
                "{} is on a file system that allows no programs (noexec), so the JVM could not \
                 load the agent from there; mount it with exec, install the agent in the JVM's \
                 image by the same path as here, or {WAY_OUT}",
                self.around.path().display()
            ));
        }
        let copy = || -> io::Result<bool> {
            let mut library = library;
            library.rewind()?;
            io::copy(&mut library, &mut self.folder.create(AGENT, LIBRARY_MODE)?)?;
            same_bytes(library, &self.folder.open_of(AGENT, self.uid)?)
        };
        match copy() {
            Ok(true) => Ok(path),
            Ok(false) => Err(format!("{}: somebody has changed the copy", path.display())),
            Err(error) if is_full(&error) => Err(format!(
                "{}: {error}: there is no room for a copy of the agent; make room there, install \
                 the agent in the JVM's image by the same path as here, or {WAY_OUT}",
                self.around.path().display()
            )),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// The agent's answer, once it is there whole.
    ///
    /// # Errors
    /// In words: the answer is not one that the agent would give.
    pub fn reply(&self) -> Result<Option<String>, String> {
        let file = match self.folder.open_of(REPLY, self.uid) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("the agent's answer cannot be read: {error}")),
        };
        let mut bytes = Vec::new();
        let read = file.take(LONGEST_REPLY + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("the agent's answer cannot be read: {error}"))?;
        if bytes.len() as u64 > LONGEST_REPLY {
            return Err("the agent's answer is too long".to_owned());
        }
        let text = String::from_utf8(bytes).map_err(|_| "the agent's answer is not UTF-8")?;
        Ok(Some(text))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // What cannot be removed, the next command removes.
        let _ = self.folder.remove(REPLY);
        let _ = self.folder.remove(DRAFT);
        [WORK, WORK_DRAFT, GIVE_UP].into_iter().for_each(|name| drop(self.folder.remove(name)));
        if !self.kept {
            clear(&self.around, &self.folder, OsStr::new(&self.name));
        }
    }
}

/// Removes what commands have left behind that were killed, or whose JVM was:
/// folders of this user's that nobody holds any more.
pub fn sweep(around: &Folder, uid: u32) {
    for name in around.names().unwrap_or_default() {
        let name = OsStr::from_bytes(&name);
        let Ok(folder) = is_name(name)
            .then_some(())
            .ok_or(())
            .and_then(|()| around.open_private(name, uid).map_err(|_| ()))
        else {
            continue;
        };
        let is_old = folder.changed_s().is_ok_and(|changed| now_s() - changed >= YOUNG_S);
        if is_old && folder.claim() {
            clear(around, &folder, name);
        }
    }
}

/// Removes a folder of ours and the files in it that we know. If anything else
/// is in it, it stays.
fn clear(around: &Folder, folder: &Folder, name: &OsStr) {
    for file in folder.names().unwrap_or_default() {
        if is_ours(&file) {
            let _ = folder.remove(OsStr::from_bytes(&file));
        }
    }
    let _ = around.remove_folder(name);
}

/// The path at which a JVM has loaded a copy of ours that is mapped by another
/// path perhaps, where its /tmp is a link; `None` if it is no such copy.
pub fn copy_path(mapped: &Path) -> Option<PathBuf> {
    let folder = mapped.parent()?.file_name()?;
    let is_copy = mapped.file_name()? == AGENT && is_name(folder);
    is_copy.then(|| Path::new(TEMPORARY).join(folder).join(AGENT))
}

/// Whether a folder's name is one that [`Exchange::create`] gives.
fn is_name(name: &OsStr) -> bool {
    let random = name.as_bytes().strip_prefix(PREFIX.as_bytes());
    random.is_some_and(|hex| hex.len() == 2 * RANDOM && hex.iter().all(u8::is_ascii_hexdigit))
}

/// Whether a file is one that we or the agent put into such a folder; logs that
/// rotate have a number behind their name.
fn is_ours(name: &[u8]) -> bool {
    let is_log = name.strip_prefix(LOG.as_bytes()).is_some_and(|rest| match rest {
        b"" | b".next" => true,
        [b'.', number @ ..] => !number.is_empty() && number.iter().all(u8::is_ascii_digit),
        _ => false,
    });
    let known = [AGENT, REPLY, DRAFT, WORK, WORK_DRAFT, GIVE_UP];
    is_log || known.iter().any(|known| known.as_bytes() == name)
}

fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

/// Whether two files have the same bytes.
///
/// # Errors
/// As `read(2)`.
pub fn same_bytes(mut one: &File, mut other: &File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    one.rewind()?;
    other.rewind()?;
    let (mut first, mut second) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = one.read(&mut first)?;
        if read == 0 {
            return Ok(true);
        }
        match other.read_exact(&mut second[..read]) {
            Ok(()) if first[..read] == second[..read] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    /// `/tmp` may be a link, and then the kernel shows where it leads to.
    #[test]
    fn a_copy_is_known_by_the_name_of_its_folder() {
        let folder = ".tyrion-00112233445566778899aabbccddeeff";
        let mapped = |folder, name| format!("/var/tmp/{folder}/{name}");
        let copy = format!("/tmp/{folder}/{AGENT}");
        assert_eq!(copy_path(Path::new(&mapped(folder, AGENT))), Some(copy.into()));
        for (folder, name) in [(folder, "x.so"), (".tyrion-00", AGENT), ("lib", AGENT)] {
            assert_eq!(copy_path(Path::new(&mapped(folder, name))), None, "{folder} {name}");
        }
    }

    #[test]
    fn only_names_that_we_or_the_agent_give_are_ours() {
        for name in [
            "libtyrion_agent.so",
            "reply",
            "reply.draft",
            "work",
            "work.draft",
            "give-up",
            "samples.log",
            "samples.log.next",
            "samples.log.0",
            "samples.log.12",
        ] {
            assert!(is_ours(name.as_bytes()), "{name}");
        }
        for name in [
            "",
            "x",
            "reply.x",
            "samples.logXYZ",
            "samples.log7",
            "samples.log.",
            "samples.log.x",
            "samples.log.1x",
            "samples.log.next.1",
            "libtyrion_agent.so.1",
        ] {
            assert!(!is_ours(name.as_bytes()), "{name}");
        }
    }
}
