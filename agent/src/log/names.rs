//! Names of the log's files: `report.log` is written to, `report.log.0`,
//! `report.log.1`, ... are the earlier ones, in this order.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use tyrion_wire::header;

/// Opens the file that a log is written to.
///
/// A file that a living JVM writes to is left alone, and so is any existing
/// one unless `overwrite`: then the process id goes into the name.
///
/// # Errors
/// As `open(2)`, or when the path names something else than a regular file.
pub fn create(path: &Path, overwrite: bool) -> io::Result<(File, PathBuf)> {
    // The path stands in lines of text, such as the answer to `tyrion status`.
    if std::path::absolute(path)?.to_string_lossy().contains(char::is_control) {
        return Err(io::Error::other("the path holds control characters; name another file"));
    }
    let existing = match open_new(path) {
        Ok(file) => return locked(file, path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => path,
        Err(error) => return Err(error),
    };
    if !is_log_or_empty(existing)? {
        return Err(io::Error::other("exists and is not a Tyrion log; not replaced"));
    }
    if overwrite && is_free(existing)? {
        // A new file instead of truncating: whoever reads the old log keeps it.
        std::fs::remove_file(existing)?;
        return locked(open_new(existing)?, existing);
    }
    let own = own(existing);
    locked(open_new(&own)?, &own)
}

/// Opens the file that a log goes on in: under this name, or under the first one with a
/// number in it that is not taken. Files that are there stay as they are.
///
/// # Errors
/// As `open(2)`, or when all such names are taken.
pub fn create_unused(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut error = io::ErrorKind::AlreadyExists.into();
    for number in 1..=MOST_UNUSED {
        let path =
            if number == 1 { path.to_owned() } else { with_word(path, &format!("-{number}")) };
        match open_new(&path) {
            Ok(file) => return locked(file, &path),
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => error = reason,
            Err(reason) => return Err(reason),
        }
    }
    Err(error)
}

/// As many names are tried.
const MOST_UNUSED: u32 = 1000;

/// The name of a log that nobody has named, where every user may write.
pub fn usual() -> PathBuf {
    PathBuf::from(format!("/tmp/tyrion-{}.log", std::process::id()))
}

/// The name that a log gets where another process writes to the one of its name.
pub fn own(path: &Path) -> PathBuf {
    with_word(path, &format!(".{}", std::process::id()))
}

/// The same path with this before the ending of its name.
fn with_word(path: &Path, word: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(word);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// The name of an earlier file of a log.
pub fn archived(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &number.to_string())
}

/// Opens the file that shall be a log's next one, under a name of its own.
///
/// # Errors
/// As `open(2)`.
pub fn create_next(path: &Path) -> io::Result<(File, PathBuf)> {
    let next = with_suffix(path, NEXT);
    remove_log(&next);
    locked(open_new(&next)?, &next)
}

/// Removes what an earlier recording has left beside a log: files that are
/// numbered, or were prepared. Only logs that no JVM writes to.
pub fn remove_earlier(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let other = entry.file_name();
        let suffix = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        let Some(suffix) = suffix.and_then(|suffix| suffix.strip_prefix(b".")) else { continue };
        let is_number = !suffix.is_empty() && suffix.iter().all(u8::is_ascii_digit);
        if is_number || suffix == NEXT.as_bytes() {
            remove_log(&entry.path());
        }
    }
}

/// What ends the name of a file that is prepared.
const NEXT: &str = "next";

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// Removes a file if it is a log that nobody writes to.
fn remove_log(path: &Path) {
    let is_ours = is_log_or_empty(path).unwrap_or(false) && is_free(path).unwrap_or(false);
    if is_ours {
        // What cannot be removed is an error when its name is needed.
        let _ = std::fs::remove_file(path);
    }
}

fn open_new(path: &Path) -> io::Result<File> {
    // Whatever the mask of the JVM is, nobody but its user writes to its log.
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o644).open(path)
}

/// Opens a file that was there before, if it is a regular one. Anything else is
/// refused before it is opened, and is not waited for (a FIFO) nor followed (a
/// link) if it takes the file's place meanwhile.
fn open_existing(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    let refuse = |what| io::Error::other(format!("{what}; name another file"));
    let found = path.symlink_metadata()?;
    if found.is_symlink() {
        return Err(refuse("a symbolic link, which is not replaced"));
    }
    if !found.is_file() {
        return Err(refuse("not a regular file"));
    }
    let file = how.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refuse("not a regular file")),
    }
}

fn is_log_or_empty(path: &Path) -> io::Result<bool> {
    let file = open_existing(path, OpenOptions::new().read(true))?;
    let mut first = Vec::new();
    file.take(header::MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok(first.is_empty() || first == header::MAGIC)
}

/// Whether no living JVM writes to a log.
fn is_free(path: &Path) -> io::Result<bool> {
    Ok(open_existing(path, OpenOptions::new().write(true))?.try_lock().is_ok())
}

fn locked(file: File, path: &Path) -> io::Result<(File, PathBuf)> {
    // Only a sign for others; file systems without locks work too.
    let _ = file.try_lock();
    Ok((file, std::path::absolute(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_use_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("a.log");
        let (first, path) = create(&wanted, true).unwrap();
        assert_eq!(path, wanted);
        let (_second, path) = create(&wanted, true).unwrap();
        assert!(path.to_string_lossy().ends_with(&format!("a.{}.log", std::process::id())));
        std::fs::remove_file(path).unwrap();
        drop(first);
        assert_eq!(create(&wanted, true).unwrap().1, wanted);
        assert_ne!(create(&wanted, false).unwrap().1, wanted);
        std::fs::write(&wanted, "precious").unwrap();
        assert!(create(&wanted, true).is_err(), "no log, so it is not replaced");
        assert!(create(Path::new("/dev/null"), true).is_err());
        let error = create(&dir.path().join("a\nb.log"), true).unwrap_err().to_string();
        assert!(error.contains("control characters"), "{error}");
    }

    #[test]
    fn a_log_goes_on_beside_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("a.log");
        let names = ["a.log", "a-2.log", "a-3.log"].map(|name| dir.path().join(name));
        for name in &names {
            assert_eq!(&create_unused(&wanted).unwrap().1, name);
            std::fs::write(name, "precious").unwrap();
        }
        assert!(names.iter().all(|name| std::fs::read(name).unwrap() == b"precious"));
        assert!(create_unused(&dir.path().join("no/a.log")).is_err());
    }

    /// Opening a FIFO would have the JVM wait when it starts; replacing a link
    /// such as /dev/stdout would take it from everybody.
    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        std::fs::write(at("old.log"), header::MAGIC).unwrap();
        std::os::unix::fs::symlink(at("old.log"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("fifo"), at("linked-fifo")).unwrap();
        for name in ["fifo", "link", "linked-fifo"] {
            let error = create(&at(name), true).unwrap_err().to_string();
            assert!(error.contains("name another file"), "{name}: {error}");
            assert!(is_log_or_empty(&at(name)).is_err() && is_free(&at(name)).is_err(), "{name}");
            assert!(at(name).symlink_metadata().is_ok(), "{name} is still there");
        }
        assert!(create(&at("old.log"), true).is_ok());
    }

    #[test]
    fn what_an_earlier_recording_has_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("a.log");
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
        for name in ["a.log", "a.log.0", "a.log.17", "a.log.next", "a.log.bak", "a.log.", "b.log.0"]
        {
            write(name, &header::MAGIC);
        }
        write("a.log.3", b"precious");
        let (_writing, _) = locked(open_new(&archived(&log, 4)).unwrap(), &log).unwrap();
        remove_earlier(&log);
        let mut left: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["a.log", "a.log.", "a.log.3", "a.log.4", "a.log.bak", "b.log.0"]);
    }
}
