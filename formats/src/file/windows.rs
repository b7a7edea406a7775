//! Opens the files that recordings are read from, on Windows.

use crate::error::Error;
use std::{
    fs::{File, Metadata},
    io::{self, IsTerminal},
    os::windows::fs::FileExt,
    path::Path,
};

/// Opens a regular file for reading, and nothing else.
///
/// # Errors
/// When it cannot be opened, or the path names something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file; name a log's file")),
    }
}

/// Opens what a log is to be read from.
///
/// # Errors
/// When it cannot be opened. A folder cannot, there.
pub fn open_input(path: &Path) -> Result<File, Error> {
    let log = path.display().to_string();
    match path.is_dir() {
        true => Err(Error::NoInput { log, what: "a directory; name a log in it" }),
        false => File::open(path).map_err(|source| Error::Io { log, source }),
    }
}

/// Refuses what is open but can hold no log.
pub(crate) fn check(name: &str, file: &File, _metadata: &Metadata) -> Result<(), Error> {
    match file.is_terminal() {
        true => {
            let what = "a terminal; name a log, or pipe one in";
            Err(Error::NoInput { log: name.to_owned(), what })
        }
        false => Ok(()),
    }
}

/// Reads at most so many bytes of a file's beginning: how many there were.
pub(crate) fn read_start(file: &File, to: &mut [u8]) -> io::Result<usize> {
    file.seek_read(to, 0)
}

/// A file without a name, gone when it is closed.
pub(crate) fn without_name() -> io::Result<File> {
    tempfile::tempfile()
}

/// How many bytes a file takes on its disk, as far as is known: its length.
pub(crate) fn on_disk(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.len())
}
