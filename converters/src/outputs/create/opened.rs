//! Opens files that are to be written, as Linux has them.

use rustix::{
    fs::{AtFlags, CWD, OFlags, linkat},
    process::geteuid,
};
use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// Whether a path, of which this is known, stands for something that is no file.
pub(super) fn is_other(_path: &Path, there: Option<&Metadata>) -> bool {
    there.is_some_and(|there| !there.is_file())
}

/// A file without a name in a folder, where the file system offers that.
pub(super) fn unnamed(folder: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o666).custom_flags(OFlags::TMPFILE.bits().cast_signed());
    options.open(folder).ok().filter(|file| link_to(file).exists())
}

/// Gives it a name that nothing has.
///
/// # Errors
/// As `linkat(2)`.
pub(super) fn name_unnamed(file: &File, path: &Path) -> io::Result<()> {
    Ok(linkat(CWD, link_to(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Where the kernel has a link to an open file.
fn link_to(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Creates a file, or empties the one that is there. A symbolic link is followed
/// only if it is root's or the user's own: in a shared folder somebody else could
/// have put it there, to have another file overwritten. (Linux does the same in
/// folders such as /tmp where `fs.protected_symlinks` is set.)
pub(super) fn create(path: &Path) -> io::Result<File> {
    match open(path, OFlags::NOFOLLOW) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {}
        opened => return opened,
    }
    let owner = path.symlink_metadata()?.uid();
    if owner != 0 && owner != geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "a symbolic link of another user; remove it, or name another file",
        ));
    }
    open(path, OFlags::empty())
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)
}
