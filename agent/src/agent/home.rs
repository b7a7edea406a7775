//! Folders in which a command has put what the agent needs as long as the JVM
//! runs: the agent's own library, or a log that nobody has named.

use crate::sync::lock;
use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
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

/// The JVM ends: removes the library and, unless a log is left there, the
/// folders.
pub fn leave() {
    for (path, _) in lock(&HOMES).drain(..) {
        let _ = std::fs::remove_file(path.join(AGENT));
        let _ = std::fs::remove_dir(path);
    }
}

fn begins_as_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}
