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
use tyrion_wire::exchange::{AGENT, PREFIX};

/// The folders, each with the lock by which later commands see that it is used.
static HOMES: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// Holds on to a folder; an empty path is none.
pub fn take(path: &str) {
    let path = Path::new(path);
    let is_ours = path.file_name().is_some_and(begins_as_ours);
    if !is_ours {
        return;
    }
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path);
    // Without the lock it would be removed a minute later, which is no harm to
    // what is mapped by then.
    if let Ok(folder) = folder {
        let _ = folder.try_lock_shared();
        lock(&HOMES).push((path.to_owned(), folder));
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

/// The JVM ends: removes the library and, unless a log is left there, the
/// folders.
pub fn leave() {
    for (path, folder) in lock(&HOMES).drain(..) {
        remove(&folder, AGENT);
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
