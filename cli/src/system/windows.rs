//! What Windows has, where others' recordings are read.

use ratatui::crossterm::ansi_support::supports_ansi;
use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io,
    os::windows::{fs::OpenOptionsExt, io::AsHandle},
    path::{Component, Path, PathBuf, Prefix},
};

/// Has a link opened, not what it leads to (`FILE_FLAG_OPEN_REPARSE_POINT`).
const ITSELF: u32 = 0x0020_0000;

/// A pipe that nobody reads any more (`ERROR_PIPE_NOT_CONNECTED`), in words that Rust has no
/// kind for.
const NOT_CONNECTED: i32 = 233;

/// What the help says of commands that need another system.
pub const ELSEWHERE: &str = "\n\nprofile, record, metrics, list, attach, sample, dump-threads, \
    stop, status and\nagent-path need Linux, where the JVM runs, and so does top of a JVM.";

/// What a file holds cannot be cut off while it is mapped.
pub fn prepare() {}

/// Stdin as a file.
///
/// # Errors
/// When there is none.
pub fn stdin() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// Whether what was written to has no reader any more.
pub fn has_no_reader(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(NOT_CONNECTED)
}

/// The clock that logs are on: no JVM that is recorded has this one.
pub fn now_ns() -> u64 {
    0
}

/// No JVM that is recorded runs here.
pub fn is_locked(_file: &File) -> bool {
    false
}

/// The same.
pub fn is_mapped(_file: &File, _pid: u32) -> bool {
    false
}

/// Opens a file for writing, or creates it; no link is followed.
///
/// # Errors
/// When it cannot be opened.
pub fn open_itself(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).custom_flags(ITSELF).open(path)
}

/// Whether a terminal shows colours, of which this is the variable `TERM`; if it can, it
/// does from now on.
pub fn shows_colours(term: Option<OsString>) -> bool {
    term.is_none_or(|term| term != "dumb") && supports_ansi()
}

/// Whether a path may lead to another machine by its words alone: all can but those of a
/// drive, and those that begin in a folder; `\??\UNC` begins at a root.
pub fn is_of_network(path: &Path) -> bool {
    match path.components().next() {
        Some(Component::Prefix(prefix)) => !matches!(prefix.kind(), Prefix::Disk(_)),
        Some(Component::RootDir) => true,
        _ => false,
    }
}

/// The path of what is there, without links, as people write it: without `\\?\` before a
/// drive.
///
/// # Errors
/// When nothing is.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    let mut parts = path.components();
    if let Some(Component::Prefix(prefix)) = parts.next()
        && let Prefix::VerbatimDisk(drive) = prefix.kind()
    {
        let mut plain = OsString::from(format!("{}:", char::from(drive)));
        plain.push(parts.as_path());
        return Ok(plain.into());
    }
    Ok(path)
}
