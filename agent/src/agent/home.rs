//! Folders in which a command has put what the agent needs as long as the JVM
//! runs: the agent's own library, or a log that nobody has named.

use crate::sync::lock;
use std::{
    ffi::{CString, OsStr},
    fs::{File, OpenOptions},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Mutex,
};
use tyrion_wire::exchange::{AGENT, DRAFT, GIVE_UP, PREFIX, REPLY, WORK, WORK_DRAFT};

/// The folders, each with the lock by which later commands see that it is used.
static HOMES: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// Such a folder.
pub struct Home {
    path: PathBuf,
    folder: File,
}

impl Home {
    /// The folder at this path; an empty path is none.
    pub fn find(path: &str) -> Option<Home> {
        let path = Path::new(path);
        path.file_name().filter(|name| begins_as_ours(name))?;
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        Some(Home { path: path.to_owned(), folder })
    }

    /// Holds on to it from now on. Not before the command is done: until then whoever gave it
    /// holds it, and that this ends is how it is noticed that they were killed.
    pub fn hold(self) {
        // Without the lock it would be removed a minute later, which is no harm to
        // what is mapped by then.
        let _ = self.folder.try_lock_shared();
        lock(&HOMES).push((self.path, self.folder));
    }
}

/// Whether a file lies in such a folder, whoever holds on to that.
pub fn is_of_a_command(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(begins_as_ours)
}

/// Whether a file lies in one of the folders: nobody has named it.
pub fn has(path: &Path) -> bool {
    lock(&HOMES).iter().any(|(folder, _)| path.starts_with(folder))
}

/// The JVM ends: removes the library, what was written for a command that was killed and,
/// unless a log is left there, the folders.
pub fn leave() {
    for (path, folder) in lock(&HOMES).drain(..) {
        for name in [AGENT, REPLY, DRAFT, WORK, WORK_DRAFT, GIVE_UP] {
            remove(&folder, name);
        }
        let _ = std::fs::remove_dir(path);
    }
}

/// Removes a file from a folder: from the one that was opened, whatever has its
/// path by now.
fn remove(folder: &File, name: &str) {
    let Ok(name) = CString::new(name) else { return };
    // SAFETY: the descriptor is open, and the name ends with a zero byte.
    let _ = unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), 0) };
}

fn begins_as_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody else may put a folder in the place of one that was removed.
    #[test]
    fn files_are_removed_from_the_folder_that_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, moved) = (dir.path().join("ours"), dir.path().join("moved"));
        std::fs::create_dir(&ours).unwrap();
        std::fs::write(ours.join(AGENT), "ours").unwrap();
        let folder = File::open(&ours).unwrap();
        std::fs::rename(&ours, &moved).unwrap();
        std::fs::create_dir(&ours).unwrap();
        std::fs::write(ours.join(AGENT), "another's").unwrap();
        remove(&folder, AGENT);
        assert!(ours.join(AGENT).exists() && !moved.join(AGENT).exists());
    }
}
