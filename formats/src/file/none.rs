//! Where there are no files, as in a page of a browser.

use crate::error::Error;
use std::{fs::File, io, path::Path};

/// Opens nothing.
///
/// # Errors
/// Always.
pub fn open_regular(_path: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens nothing.
///
/// # Errors
/// Always.
pub fn open_input(path: &Path) -> Result<File, Error> {
    let source = io::ErrorKind::Unsupported.into();
    Err(Error::Io { log: path.display().to_string(), source })
}

pub(crate) fn regular_len(_name: &str, _file: &File) -> Result<Option<u64>, Error> {
    Ok(None)
}

/// Reads nothing.
///
/// # Errors
/// Always.
pub fn read_start(_file: &File, _to: &mut [u8]) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Knows of no file.
///
/// # Errors
/// Always.
pub fn identity(_file: &File) -> io::Result<(u64, u64)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What is larger than memory allows has nowhere to go.
pub(crate) fn without_name() -> io::Result<File> {
    Err(io::Error::other("what is made of it is too large for a page; use the command tyrion"))
}
