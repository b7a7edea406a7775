//! Opens the files that recordings are read from.
//!
//! A path may name anything: a FIFO that nobody writes to, a device without
//! end, a terminal.

use crate::error::Error;
use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, IsTerminal},
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

/// The unit of a file's length on disk, in bytes (`stat(2)`).
const DISK_BLOCK: u64 = 512;

/// Opens a regular file for reading, and nothing else: a FIFO would have the
/// caller wait until somebody writes to it.
///
/// # Errors
/// As `open(2)`, or when the path names something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |metadata: Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("not a regular file; name a log's file")),
    };
    // Opening alone may do something to a device.
    regular(path.metadata()?)?;
    // Another file may have taken the name since: what counts is what was opened.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// Opens what a log is to be read from: a file, or a pipe that has a name.
///
/// # Errors
/// As `open(2)`, or when it is a socket, which cannot be opened.
pub fn open_input(path: &Path) -> Result<File, Error> {
    let name = || path.display().to_string();
    File::open(path).map_err(|source| {
        let is_socket = path.metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
        match is_socket {
            true => Error::NoInput { log: name(), what: "a socket; name a log" },
            false => Error::Io { log: name(), source },
        }
    })
}

/// Refuses what is open but can hold no log.
pub(crate) fn check(name: &str, file: &File, metadata: &Metadata) -> Result<(), Error> {
    let what = if metadata.is_dir() {
        "a directory; name a log in it"
    } else if file.is_terminal() {
        "a terminal; name a log, or pipe one in"
    } else {
        return Ok(());
    };
    Err(Error::NoInput { log: name.to_owned(), what })
}

/// Reads at most so many bytes of a file's beginning: how many there were.
pub(crate) fn read_start(file: &File, to: &mut [u8]) -> io::Result<usize> {
    file.read_at(to, 0)
}

/// A file without a name, gone when it is closed.
pub(crate) fn without_name() -> io::Result<File> {
    tempfile::tempfile()
}

/// How many bytes a file takes on its disk.
pub(crate) fn on_disk(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.blocks().saturating_mul(DISK_BLOCK))
}
