//! Opening logs, and telling what is wrong with them.

use crate::outcome::{Done, Failure, tell};
use std::{
    cmp::Reverse,
    collections::HashMap,
    ffi::OsString,
    fs::{File, TryLockError},
    io::{self, Seek},
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};
use tyrion_formats::{Damage, Recording, open_input, open_regular};
use tyrion_wire::header::RecordingState;

/// Opens a log; `-` is stdin.
///
/// # Errors
/// When it is no log, or cannot be read.
pub fn open(path: &Path) -> Result<Recording, Failure> {
    Opened::new(path)?.read()
}

/// As [`open`], of a regular file among these.
///
/// # Errors
/// When it is no log, or cannot be read.
pub fn open_of(files: &dyn Files, path: &Path) -> Result<Recording, Failure> {
    Opened::regular(files, path)?.read()
}

/// Opens logs by their paths: on this machine, or as another process sees them.
pub trait Files {
    /// Opens a regular file for reading; nothing else is waited for.
    ///
    /// # Errors
    /// As `open(2)`, or that it is no regular file.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// The names in a folder.
    ///
    /// # Errors
    /// As `open(2)`.
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>>;
}

/// More names of a folder are not read.
const MOST_NAMES: usize = 100_000;
/// The most earlier files of a recording that are read.
const MOST_EARLIER: usize = 100;

/// The files that this process sees.
pub struct Here;

impl Files for Here {
    fn open(&self, path: &Path) -> io::Result<File> {
        open_regular(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let entries = std::fs::read_dir(folder)?.flatten().take(MOST_NAMES);
        Ok(entries.map(|entry| entry.file_name()).collect())
    }
}

/// An open file, and the name that the user gave it. Whatever becomes of that
/// name meanwhile: the file that it stands for is decided once.
struct Opened {
    name: String,
    file: File,
    is_stdin: bool,
}

impl Opened {
    fn new(path: &Path) -> Result<Opened, Failure> {
        let is_stdin = path == Path::new("-");
        if !is_stdin {
            let (name, file) = (path.display().to_string(), open_input(path)?);
            return Ok(Opened { name, file, is_stdin });
        }
        let name = "stdin".to_owned();
        match std::io::stdin().as_fd().try_clone_to_owned() {
            Ok(file) => Ok(Opened { name, file: file.into(), is_stdin }),
            Err(source) => Err(tyrion_formats::Error::Io { log: name, source }.into()),
        }
    }

    /// As [`Opened::new`], of a regular file: nothing else is waited for.
    fn regular(files: &dyn Files, path: &Path) -> Result<Opened, Failure> {
        let name = path.display().to_string();
        match files.open(path) {
            Ok(file) => Ok(Opened { name, file, is_stdin: false }),
            Err(source) => Err(tyrion_formats::Error::Io { log: name, source }.into()),
        }
    }

    /// Device and inode: what a file is, by whatever name.
    fn identity(&self) -> Option<(u64, u64)> {
        self.file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    fn read(mut self) -> Result<Recording, Failure> {
        if self.is_stdin {
            // Of a file somebody else may have read the beginning already.
            let is_at_start = self.file.stream_position().unwrap_or(0) == 0;
            return Ok(match is_at_start {
                true => Recording::from_file(&self.name, &self.file)?,
                false => Recording::from_reader(&self.name, &self.file)?,
            });
        }
        let log = Recording::from_file(&self.name, &self.file)?;
        // One that could not be written on any more ends with what it tells of last.
        if is_being_written(&self.file) && log.facts().state != RecordingState::Broken {
            log.assume_end_ns(now_ns());
        }
        Ok(log)
    }
}

/// Whether a JVM on this machine still writes to a log: it holds a lock.
pub fn is_being_written(file: &File) -> bool {
    let is_locked = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    if !is_locked {
        // A map of the file would keep the lock.
        let _ = file.unlock();
    }
    is_locked
}

/// The clock that logs are on.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; every Linux has the clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Opens several logs. One that is named twice, be it by two names, is counted
/// once: a log that rotates may get another name between two of them.
///
/// # Errors
/// At the first that cannot be opened.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Recording>, Failure> {
    let mut seen: HashMap<(u64, u64), String> = HashMap::new();
    let mut logs = Vec::new();
    for path in paths {
        let opened = Opened::new(path)?;
        // As long as its log is mapped, no other file gets its inode.
        if let Some(identity) = opened.identity() {
            if let Some(first) = seen.get(&identity) {
                let again = &opened.name;
                tell(&if first == again {
                    format!("note: {again} is given twice; it is counted once")
                } else {
                    format!("note: {again} is the same file as {first}; it is counted once")
                });
                continue;
            }
            seen.insert(identity, opened.name.clone());
        }
        logs.push(opened.read()?);
    }
    Ok(logs)
}

/// The earlier files of a recording that rotates, the oldest first, back to
/// this monotonic time, as far as they are there. `last` is the newest file,
/// which `path` stood for.
pub fn earlier(files: &dyn Files, path: &Path, last: &Recording, from_ns: u64) -> Vec<Recording> {
    let Some(recording) = last.facts().metadata("recording") else { return Vec::new() };
    let mut paths = numbered(files, path);
    // The newest first: of a long recording all of them would be too many.
    paths.sort_by_key(|path| Reverse(name_number(path)));
    let mut logs: Vec<Recording> = Vec::new();
    let read = |path: &PathBuf| Opened::regular(files, path).and_then(Opened::read).ok();
    for log in paths.iter().take(MOST_EARLIER).filter_map(read) {
        let is_of_it = log.facts().metadata("recording") == Some(recording);
        let later = logs.last().unwrap_or(last);
        // The last may have got a number, too, by now.
        let is_before =
            file_number(&log) < file_number(later) && log.start_ns() <= later.start_ns();
        if !is_of_it || !is_before {
            continue;
        }
        let is_first = log.start_ns() <= from_ns;
        logs.push(log);
        if is_first {
            break;
        }
    }
    logs.reverse();
    logs
}

/// The number of a file of a recording that rotates, 0 for others.
pub fn file_number(log: &Recording) -> u32 {
    let number = log.facts().metadata("file-number");
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The number at the end of a file's name, that of its file in the recording.
pub fn name_number(path: &Path) -> Option<u32> {
    path.extension()?.to_str()?.parse().ok()
}

/// The paths `report.log.0`, `report.log.1`, ... that there are.
pub fn numbered(files: &dyn Files, path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name() else { return Vec::new() };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Ok(names) = files.names(folder) else { return Vec::new() };
    let is_numbered = |other: &OsString| {
        let rest = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        let number = rest.and_then(|rest| rest.strip_prefix(b"."));
        number.is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit))
    };
    names.into_iter().filter(is_numbered).map(|name| folder.join(name)).collect()
}

/// Tells the damage, one line each: whether there was any.
pub fn tell_damage(damage: &[Damage]) -> Done {
    for place in damage {
        tell(&format!("warning: {place}"));
    }
    if damage.is_empty() { Done::Whole } else { Done::Partly }
}
