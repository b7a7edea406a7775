//! Opens files that are to be written, as Windows has them.

use std::{
    fs::{File, Metadata},
    io,
    path::Path,
};
use winapi_util::file::typ;

/// Whether a path, of which this is known, stands for something that is no file. A device,
/// such as `NUL`, tells nothing of itself before it is opened. A link is replaced, as a file
/// is: whose it is cannot be told.
pub(super) fn is_other(path: &Path, there: Option<&Metadata>) -> bool {
    match there {
        Some(there) => !there.is_file() && !there.is_symlink(),
        None => {
            let opened = File::options().write(true).open(path);
            opened.and_then(typ).is_ok_and(|kind| !kind.is_disk())
        }
    }
}

/// All files have names.
pub(super) fn unnamed(_folder: &Path) -> Option<File> {
    None
}

/// As there are none.
///
/// # Errors
/// Always.
pub(super) fn name_unnamed(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Creates a file, or empties the one that is there.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn create(path: &Path) -> io::Result<File> {
    File::create(path)
}
