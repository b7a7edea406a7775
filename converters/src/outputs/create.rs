//! Writes the files of outputs, whole or not at all.

#[cfg_attr(windows, path = "create/opened/windows.rs")]
mod opened;

use opened::{create, is_other, name_unnamed, unnamed};
use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// Has `body` write a file, which takes the place of the one that is there once it is
/// whole: until then, and if it fails, nothing changes. It has the permissions of the one
/// that it replaces.
///
/// What is no file, such as a pipe or a device, is written to directly; so is what a
/// symbolic link leads to (but on Windows, where it is replaced), and a file in a folder that
/// takes no new ones.
///
/// # Errors
/// Those of `body`, as `open(2)`, or that the path is somebody else's link.
pub fn write(path: &Path, body: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let there = path.symlink_metadata().ok();
    if is_other(path, there.as_ref()) {
        return body(&mut create(path)?);
    }
    let mut fresh = match Fresh::beside(path) {
        // The file can be written where no other can be.
        Err(error) if there.is_some() && error.kind() == io::ErrorKind::PermissionDenied => {
            return body(&mut create(path)?);
        }
        fresh => fresh?,
    };
    if let Some(there) = there {
        fresh.file.set_permissions(there.permissions())?;
    }
    body(&mut fresh.file)?;
    fresh.replace(path)
}

/// As [`write`](fn@write), where nothing may be in the way.
///
/// # Errors
/// Those of `body`, as `open(2)`, or that the file exists.
pub(super) fn write_new(
    path: &Path,
    body: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    // Before anything is written; whether it came meanwhile, naming it tells.
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut fresh = Fresh::beside(path)?;
    body(&mut fresh.file)?;
    fresh.name(path)
}

/// Has `body` write files into a folder, which get their names once all of them are
/// whole. If the folder is there they take, one after another, the place of those in it;
/// others in it stay. Until then, and if it fails, nothing changes; only when the process
/// is killed, a folder with a hidden name stays, too.
///
/// # Errors
/// Those of `body`, as `mkdir(2)` and `rename(2)`.
pub(super) fn write_folder(
    path: &Path,
    body: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    // A folder that is there may be all that can be written to.
    let part = part_in(if path.is_dir() { path } else { folder(path) });
    fs::create_dir(&part)?;
    let written = body(&part).and_then(|()| move_all(&part, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_dir_all(&part);
    }
    written
}

/// Moves all files of a folder into another one, which need not be there.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    // Where there is no such folder, or nothing in it, all files come at once.
    if !from.starts_with(to) && fs::rename(from, to).is_ok() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    let names: io::Result<Vec<OsString>> =
        fs::read_dir(from)?.map(|file| Ok(file?.file_name())).collect();
    let names = names?;
    // Files of two times beside each other would mean nothing.
    if let Some(name) = names.iter().find(|name| to.join(name).is_dir()) {
        let name = to.join(name).display().to_string();
        return Err(io::Error::other(format!("{name} is a folder, and in the way of a file")));
    }
    for name in names {
        fs::rename(from.join(&name), to.join(&name))?;
    }
    fs::remove_dir(from)
}

/// A file that nobody knows yet. It goes when it is dropped; one without a name also when
/// the process is killed.
struct Fresh {
    file: File,
    /// Where it stands; nothing if it has no name, which some file systems do not offer.
    path: Option<PathBuf>,
}

impl Fresh {
    /// One in the folder of a path.
    fn beside(path: &Path) -> io::Result<Fresh> {
        let folder = folder(path);
        if let Some(file) = unnamed(folder) {
            return Ok(Fresh { file, path: None });
        }
        let part = part_in(folder);
        let file = File::options().write(true).create_new(true).open(&part)?;
        Ok(Fresh { file, path: Some(part) })
    }

    /// Gives it a name that nothing has.
    fn name(&self, path: &Path) -> io::Result<()> {
        match &self.path {
            Some(part) => fs::hard_link(part, path),
            None => name_unnamed(&self.file, path),
        }
    }

    /// Gives it a name, and takes that from the file that had it.
    fn replace(mut self, path: &Path) -> io::Result<()> {
        if self.path.is_none() {
            let part = part_in(folder(path));
            self.name(&part)?;
            self.path = Some(part);
        }
        let Some(part) = &self.path else { return Ok(()) };
        fs::rename(part, path)?;
        self.path = None;
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some(part) = &self.path {
            // The first error is the one to report.
            let _ = fs::remove_file(part);
        }
    }
}

/// The folder that a path is in.
fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

/// A name of this process's own in a folder.
fn part_in(folder: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    folder.join(format!(".tyrion-{}-{next}.part", std::process::id()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::{
        io::Write,
        os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink},
    };

    /// The names in a folder.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn only_links_of_ones_own_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "before").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, |link| link.write_all(b"ours")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"ours");
        // Only root can make it another user's.
        if geteuid().is_root() {
            lchown(&link, Some(65_534), None).unwrap();
            let error = write(&link, |_| Ok(())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert!(error.to_string().contains("another user"), "{error}");
            assert_eq!(fs::read(&file).unwrap(), b"ours");
        }
    }

    #[test]
    fn files_are_there_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let fail = |file: &mut File| {
            file.write_all(b"half")?;
            assert!(!names(dir.path()).contains(&"new".to_owned()));
            Err(io::Error::other("no"))
        };
        assert_eq!(write(&file, fail).unwrap_err().to_string(), "no");
        assert_eq!(names(dir.path()), [""; 0]);
        write(&file, |file| file.write_all(b"whole")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(write(&file, fail).is_err());
        assert_eq!((fs::read(&file).unwrap(), names(dir.path()).len()), (b"whole".to_vec(), 1));
        write(&file, |file| file.write_all(b"other")).unwrap();
        assert_eq!((fs::read(&file).unwrap(), names(dir.path()).len()), (b"other".to_vec(), 1));
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o640);
    }

    #[test]
    fn new_files_take_no_place_of_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        write_new(&file, |file| file.write_all(b"first")).unwrap();
        let taken = |error: io::Error| assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        taken(write_new(&file, |_| Ok(())).unwrap_err());
        // It comes while the new one is being written.
        let late = dir.path().join("late");
        taken(write_new(&late, |_| fs::write(&late, b"other")).unwrap_err());
        assert_eq!(
            (fs::read(&file).unwrap(), fs::read(&late).unwrap().len()),
            (b"first".to_vec(), 5)
        );
        assert_eq!(names(dir.path()).len(), 2);
    }

    /// As on file systems that have none without a name.
    #[test]
    fn files_with_names_go_when_they_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let named = || {
            let part = part_in(dir.path());
            Fresh { file: File::create_new(&part).unwrap(), path: Some(part) }
        };
        drop(named());
        assert_eq!(names(dir.path()), [""; 0]);
        named().replace(&dir.path().join("replaced")).unwrap();
        named().name(&dir.path().join("named")).unwrap();
        let mut left = names(dir.path());
        left.sort();
        assert_eq!(left, ["named", "replaced"]);
        assert!(named().name(&dir.path().join("named")).is_err());
    }

    #[test]
    fn pipes_are_written_to_directly() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        // Linux opens it for both without waiting.
        let mut other_end = File::options().read(true).write(true).open(&fifo).unwrap();
        write(&fifo, |fifo| fifo.write_all(b"x")).unwrap();
        assert!(write(&fifo, |_| Err(io::Error::other("no"))).is_err());
        assert!(fifo.exists(), "it is not ours to remove");
        let mut read = [0];
        io::Read::read_exact(&mut other_end, &mut read).unwrap();
        assert_eq!(&read, b"x");
    }
}
