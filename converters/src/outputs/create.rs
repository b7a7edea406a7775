//! Creates the files that outputs are written to.

use rustix::process::geteuid;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

/// Creates a file, or empties the one that is there. A symbolic link is followed
/// only if it is root's or the user's own: in a shared folder somebody else could
/// have put it there, to have another file overwritten. (Linux does the same in
/// folders such as /tmp where `fs.protected_symlinks` is set.)
///
/// # Errors
/// As `open(2)`, or that the path is somebody else's link.
pub fn create(path: &Path) -> io::Result<File> {
    match open(path, rustix::fs::OFlags::NOFOLLOW) {
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
    open(path, rustix::fs::OFlags::empty())
}

fn open(path: &Path, flags: rustix::fs::OFlags) -> io::Result<File> {
    let flags = flags.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use std::{
        fs,
        io::Write,
        os::unix::fs::{lchown, symlink},
    };

    #[test]
    fn only_links_of_ones_own_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "before").unwrap();
        symlink(&file, &link).unwrap();
        create(&link).unwrap().write_all(b"ours").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"ours");
        // Only root can make it another user's.
        if geteuid().is_root() {
            lchown(&link, Some(65_534), None).unwrap();
            let error = create(&link).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert!(error.to_string().contains("of another user"), "{error}");
            assert_eq!(fs::read(&file).unwrap(), b"ours");
        }
        create(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"", "emptied");
        assert!(create(&dir.path().join("new")).is_ok());
    }
}
