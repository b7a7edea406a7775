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

/// The length of a regular file; `None` of what is read to its end, such as a pipe.
///
/// # Errors
/// Of what is open but can hold no log.
pub(crate) fn regular_len(name: &str, file: &File) -> Result<Option<u64>, Error> {
    let metadata = file.metadata();
    let metadata = metadata.map_err(|source| Error::Io { log: name.to_owned(), source })?;
    let what = if metadata.is_file() {
        return Ok(Some(metadata.len()));
    } else if metadata.is_dir() {
        "a directory; name a log in it"
    } else if file.is_terminal() {
        "a terminal; name a log, or pipe one in"
    } else {
        return Ok(None);
    };
    Err(Error::NoInput { log: name.to_owned(), what })
}

/// Reads at most so many bytes of a file's beginning: how many there were. Where others
/// read on stays as it is.
///
/// # Errors
/// When it cannot be read, or is no file: what is read of a pipe is gone.
pub fn read_start(file: &File, to: &mut [u8]) -> io::Result<usize> {
    file.read_at(to, 0)
}

/// What a file is, by whatever name: its device and inode.
///
/// # Errors
/// As `fstat(2)`.
pub fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// A file without a name, gone when it is closed.
pub(crate) fn without_name() -> io::Result<File> {
    tempfile::tempfile()
}

/// How many bytes a file takes on its disk.
pub(crate) fn on_disk(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.blocks().saturating_mul(DISK_BLOCK))
}
