//! Opens the files that recordings are read from, on Windows.

use crate::error::Error;
use std::{
    fs::File,
    io::{self, IsTerminal, Seek, SeekFrom},
    os::windows::fs::FileExt,
    path::Path,
};
use winapi_util::file::{information, typ};

/// Opens a regular file for reading, and nothing else.
///
/// # Errors
/// When it cannot be opened, or the path names something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    match is_on_disk(&file) {
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

/// Whether it is a file: a device and a pipe are none. Only files are opened for their
/// beginnings, since folders cannot be.
fn is_on_disk(file: &File) -> bool {
    typ(file).is_ok_and(|kind| kind.is_disk())
}

/// The length of a regular file; `None` of what is read to its end, such as a pipe, of
/// which Windows tells nothing more.
///
/// # Errors
/// Of what is open but can hold no log.
pub(crate) fn regular_len(name: &str, file: &File) -> Result<Option<u64>, Error> {
    let log = || name.to_owned();
    if is_on_disk(file) {
        return on_disk(file).map(Some).map_err(|source| Error::Io { log: log(), source });
    }
    match file.is_terminal() {
        true => {
            let what = "a terminal; name a log, or pipe one in";
            Err(Error::NoInput { log: log(), what })
        }
        false => Ok(None),
    }
}

/// Reads at most so many bytes of a file's beginning: how many there were. Where others
/// read on stays as it is.
///
/// # Errors
/// When it cannot be read, or is no file: what is read of a pipe is gone.
pub fn read_start(mut file: &File, to: &mut [u8]) -> io::Result<usize> {
    if !is_on_disk(file) {
        return Err(io::ErrorKind::NotSeekable.into());
    }
    let before = file.stream_position()?;
    let read = file.seek_read(to, 0);
    file.seek(SeekFrom::Start(before))?;
    read
}

/// What a file is, by whatever name: the number of its volume, and its own there.
///
/// # Errors
/// When it is no file.
pub fn identity(file: &File) -> io::Result<(u64, u64)> {
    information(file).map(|known| (known.volume_serial_number(), known.file_index()))
}

/// A file without a name, gone when it is closed.
pub(crate) fn without_name() -> io::Result<File> {
    tempfile::tempfile()
}

/// How many bytes a file takes on its disk, as far as is known: its length. Of what somebody
/// else has opened without a name, as stdin, nothing but where it ends may be known.
pub(crate) fn on_disk(mut file: &File) -> io::Result<u64> {
    let before = file.stream_position()?;
    let len = file.seek(SeekFrom::End(0));
    file.seek(SeekFrom::Start(before))?;
    len
}
