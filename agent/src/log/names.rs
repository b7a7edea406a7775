//! Names of the log's files: `report.log` is written to, `report.log.0`,
//! `report.log.1`, ... are the earlier ones, in this order. By time they are called
//! `report.log.20261121-104900.0`.

mod family;

pub use family::{Earlier, Family, archived_by_time, keep_within, remove_log, remove_own};

use std::{
    fs::{File, Metadata, OpenOptions, TryLockError},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
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
    let existing = match create_new(path) {
        Ok(created) => return Ok(created),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => path,
        Err(error) => return Err(error),
    };
    if !is_log_or_empty(existing)? {
        return Err(io::Error::other("exists and is not a Tyrion log; not replaced"));
    }
    // A new file instead of truncating: whoever reads the old log keeps it.
    if overwrite && remove_free(existing)? {
        match create_new(existing) {
            Ok(created) => return Ok(created),
            // Another JVM was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    create_new(&own(existing))
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
        match create_new(&path) {
            Ok(created) => return Ok(created),
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

/// The same for a log whose files are named by time: what is there already is of an earlier
/// recording, and gets such a name.
///
/// # Errors
/// As [`create`].
pub fn create_after_earlier(path: &Path) -> io::Result<(File, PathBuf)> {
    set_aside(path)?;
    create(path, false)
}

/// Gives a log that no JVM writes to the name of an earlier file.
fn set_aside(path: &Path) -> io::Result<()> {
    let is_ours = path.symlink_metadata().is_ok() && is_log_or_empty(path)? && is_free(path)?;
    let Some(began_ns) = is_ours.then(|| began_ns(path)).transpose()? else { return Ok(()) };
    let Some(began_ns) = began_ns else { return std::fs::remove_file(path) };
    let names = (0..=u32::MAX).map(|number| archived_by_time(path, began_ns, number));
    match names.into_iter().find(|name| name.symlink_metadata().is_err()) {
        Some(free) => std::fs::rename(path, free),
        None => Ok(()),
    }
}

/// When a log began, Unix time in ns; `None` where there is not even a header.
fn began_ns(path: &Path) -> io::Result<Option<u64>> {
    let mut start = Vec::new();
    let file = open_existing(path, OpenOptions::new().read(true))?;
    file.take(header::BLOCK as u64).read_to_end(&mut start)?;
    let at = header::field::WALL_NS;
    let field = start.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    Ok(field.map(u64::from_le_bytes))
}

/// Gives a file a name that nothing has.
///
/// # Errors
/// As `link(2)`; `AlreadyExists` when something has it.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    // Unlike a rename, it replaces nothing.
    std::fs::hard_link(from, to)?;
    let _ = std::fs::remove_file(from);
    Ok(())
}

/// Gives a file the name `archived`, which is free, and the one after it the name that it had.
/// Where the file system has links, that name is there all the time.
///
/// # Errors
/// As `link(2)` and `rename(2)`. The file may have the name `archived` all the same, if it has
/// no other.
pub fn replace(path: &Path, archived: &Path, next: &Path) -> io::Result<()> {
    match std::fs::hard_link(path, archived) {
        Ok(()) => {
            let replaced = std::fs::rename(next, path);
            if replaced.is_err() && is_same_file(path, archived) {
                let _ = std::fs::remove_file(archived);
            }
            replaced
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not all file systems have links.
        Err(_) => {
            std::fs::rename(path, archived)?;
            std::fs::rename(next, path)
        }
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.symlink_metadata().map(|it| (it.dev(), it.ino())).ok();
    identity(one).is_some_and(|it| Some(it) == identity(other))
}

/// The name that a log gets where another process writes to the one of its name.
pub fn own(path: &Path) -> PathBuf {
    with_part(path, &std::process::id().to_string())
}

/// A name with another part before its ending.
fn with_part(path: &Path, part: &str) -> PathBuf {
    with_word(path, &format!(".{part}"))
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
    create_new(&next)
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

fn create_new(path: &Path) -> io::Result<(File, PathBuf)> {
    locked(open_new(path)?, path)
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

/// Whether a file is a log, be it a damaged one. One in which there is nothing yet is anybody's.
fn is_log(path: &Path) -> bool {
    let mut first = [0; header::MAGIC.len()];
    let file = open_existing(path, OpenOptions::new().read(true));
    file.and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == header::MAGIC
}

/// Whether no living JVM writes to a log.
fn is_free(path: &Path) -> io::Result<bool> {
    Ok(lock_free(path)?.is_some())
}

/// Takes the lock of a log that no living JVM writes to.
fn lock_free(path: &Path) -> io::Result<Option<File>> {
    let file = open_existing(path, OpenOptions::new().write(true))?;
    Ok(file.try_lock().is_ok().then_some(file))
}

/// Removes a log that no living JVM writes to: whether it is gone. Two JVMs that do so at the
/// same time do not remove what the other one has put there since.
fn remove_free(path: &Path) -> io::Result<bool> {
    let Some(file) = lock_free(path)? else { return Ok(false) };
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let is_there = path.symlink_metadata().map(identity).ok() == Some(identity(file.metadata()?));
    if !is_there {
        return Ok(false);
    }
    std::fs::remove_file(path)?;
    Ok(true)
}

fn locked(file: File, path: &Path) -> io::Result<(File, PathBuf)> {
    // Only a sign for others; file systems without locks work too. Whoever looks whether
    // somebody has the lock has it for that moment.
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            _ => break,
        }
    }
    if file.metadata()?.nlink() == 0 {
        // Another JVM has taken it for one that nobody has, and has one of its own by now.
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok((file, std::path::absolute(path)?))
}

/// How often to try to lock a file that is new,
const LOCK_ATTEMPTS: u32 = 50;
/// and how long to wait in between.
const LOCK_PAUSE: Duration = Duration::from_millis(1);

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

    /// Somebody looks whether it is in use just when it is new.
    #[test]
    fn a_new_file_is_locked_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let file = open_new(&path).unwrap();
        let other = lock_free(&path).unwrap();
        assert!(other.is_some());
        let looker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            drop(other);
        });
        let (_file, path) = locked(file, &path).unwrap();
        looker.join().unwrap();
        assert!(!is_free(&path).unwrap());
    }

    /// Another JVM was faster, and writes to a new file by this name.
    #[test]
    fn only_what_was_looked_at_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        std::fs::write(&path, header::MAGIC).unwrap();
        for _ in 0..50 {
            let begin = std::sync::Barrier::new(2);
            let start = || {
                begin.wait();
                create(&path, true)
            };
            let made = std::thread::scope(|scope| {
                let other = scope.spawn(start);
                [start(), other.join().unwrap()]
            });
            // Each has one of its own, or learns that it has none.
            let is_there = |made: &(File, PathBuf)| made.0.metadata().unwrap().nlink() == 1;
            assert!(made.iter().flatten().all(is_there), "a file in use was removed");
            assert!(made.iter().any(Result::is_ok));
            drop(made);
            let _ = std::fs::remove_file(own(&path));
        }
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
    fn an_earlier_recording_gets_the_name_of_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let began_ns: u64 = 1_795_258_140_123_456_789;
        let mut block = vec![0; header::BLOCK];
        block[..header::MAGIC.len()].copy_from_slice(&header::MAGIC);
        block[header::field::WALL_NS..][..8].copy_from_slice(&began_ns.to_le_bytes());
        for nth in ["0", "1"] {
            std::fs::write(at("a.log"), &block).unwrap();
            assert_eq!(create_after_earlier(&at("a.log")).unwrap().1, at("a.log"));
            let aside = at(&format!("a.log.20261121-104900.{nth}"));
            assert_eq!(std::fs::read(aside).unwrap(), block);
            std::fs::remove_file(at("a.log")).unwrap();
        }
        // Nothing is in it.
        std::fs::write(at("a.log"), "").unwrap();
        let (_writing, path) = create_after_earlier(&at("a.log")).unwrap();
        assert_eq!(path, at("a.log"));
        let (_other, path) = create_after_earlier(&at("a.log")).unwrap();
        assert_eq!(path, own(&at("a.log")), "a JVM writes to the other one");
        std::fs::write(at("b.log"), "precious").unwrap();
        assert!(create_after_earlier(&at("b.log")).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 5);
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
