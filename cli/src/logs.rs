//! Opening logs, and telling what is wrong with them.

use crate::{
    inputs::InputArgs,
    outcome::{Completion, Failure, tell, tell_error, tell_step},
};
use std::{
    cmp::Reverse,
    collections::HashMap,
    ffi::OsString,
    fs::{File, TryLockError},
    io::{self, Seek},
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};
use tyrion_formats::{Damage, FileKind, Hints, Recording, open_input, open_regular};
use tyrion_model::units;
use tyrion_wire::header::RecordingState;

/// Opens a log; `-` is stdin. What concerns other formats than its own is told.
///
/// # Errors
/// When it is no log, or cannot be read.
pub fn open(path: &Path, inputs: &InputArgs) -> Result<Recording, Failure> {
    let log = OpenLog::named(path)?.read(&inputs.hints())?;
    inputs.tell_unused(std::iter::once(&log));
    Ok(log)
}

/// As [`open`], of a regular file among these.
///
/// # Errors
/// When it is no log, or cannot be read.
pub fn open_of(files: &dyn LogFiles, path: &Path) -> Result<Recording, Failure> {
    Ok(OpenLog::regular(files, path)?.read(&Hints::default())?)
}

/// Opens logs by their paths: on this machine, or as another process sees them.
pub trait LogFiles {
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

/// What ends the name of a file that is prepared to be the next one.
const PREPARED: &str = "next";
/// How long a log that rotates may be without its name.
pub const BETWEEN_NAMES: Duration = Duration::from_millis(100);
/// More names of a folder are not read.
const MOST_NAMES: usize = 100_000;
/// The most earlier files of a recording that are read.
const MOST_EARLIER: usize = 100;

/// The files that this process sees.
pub struct Here;

impl LogFiles for Here {
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
struct OpenLog {
    name: String,
    file: File,
    is_stdin: bool,
}

impl OpenLog {
    fn named(path: &Path) -> Result<OpenLog, tyrion_formats::Error> {
        let is_stdin = path == Path::new("-");
        if !is_stdin {
            let (name, file) = (path.display().to_string(), open_input(path)?);
            return Ok(OpenLog { name, file, is_stdin });
        }
        let name = "stdin".to_owned();
        match std::io::stdin().as_fd().try_clone_to_owned() {
            Ok(file) => Ok(OpenLog { name, file: file.into(), is_stdin }),
            Err(source) => Err(tyrion_formats::Error::Io { log: name, source }),
        }
    }

    /// As [`OpenLog::named`], of a regular file: nothing else is waited for.
    fn regular(files: &dyn LogFiles, path: &Path) -> Result<OpenLog, tyrion_formats::Error> {
        let name = path.display().to_string();
        match files.open(path) {
            Ok(file) => Ok(OpenLog { name, file, is_stdin: false }),
            Err(source) => Err(tyrion_formats::Error::Io { log: name, source }),
        }
    }

    /// Device and inode: what a file is, by whatever name.
    fn identity(&self) -> Option<(u64, u64)> {
        self.file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    fn read(mut self, hints: &Hints) -> Result<Recording, tyrion_formats::Error> {
        if self.is_stdin {
            // Of a file somebody else may have read the beginning already.
            let is_at_start = self.file.stream_position().unwrap_or(0) == 0;
            return match is_at_start {
                true => Recording::from_file_as(&self.name, &self.file, hints),
                false => Recording::from_reader_as(&self.name, &self.file, hints),
            };
        }
        let log = Recording::from_file_as(&self.name, &self.file, hints)?;
        tell_step(|| {
            let bytes = self.file.metadata().map_or(0, |metadata| metadata.len());
            format!("reading {}, {} bytes", self.name, units::thousands(bytes))
        });
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
/// once: a log that rotates may get another name between two of them. What such
/// a log has lost, or not begun, since somebody listed its files is told and
/// left out, and what it has got since is read.
///
/// # Errors
/// At the first that cannot be opened, or when all are gone.
pub fn open_all(paths: &[PathBuf], inputs: &InputArgs) -> Result<Vec<Recording>, Failure> {
    let mut all = Together { hints: inputs.hints(), ..Together::default() };
    for path in paths {
        let belongs = belongs_to_one_of(path, paths);
        let opened = match OpenLog::named(path) {
            Err(error) if is_gone(&error) && belongs => {
                tell(&format!(
                    "note: {} is gone, as its recording rotates; the others are read",
                    path.display()
                ));
                all.gone.get_or_insert(error);
                continue;
            }
            // Between two names for an instant.
            Err(error) if is_gone(&error) && paths.iter().any(|other| is_part(other, path)) => {
                std::thread::sleep(BETWEEN_NAMES);
                OpenLog::named(path)
            }
            opened => opened,
        };
        all.add(opened?, belongs && is_prepared(path))?;
    }
    for path in paths.iter().filter(|path| is_prepared(path)) {
        all.add_new(&path.with_extension(""), paths)?;
    }
    match (all.gone, all.logs.is_empty()) {
        (Some(error), true) => Err(error.into()),
        _ => Ok(all.logs),
    }
}

/// What was opened so far.
#[derive(Default)]
struct Together {
    hints: Hints,
    logs: Vec<Recording>,
    /// By device and inode. As long as a log is mapped, no other file gets its
    /// inode.
    seen: HashMap<(u64, u64), String>,
    /// Why the first one that is gone could not be opened.
    gone: Option<tyrion_formats::Error>,
}

impl Together {
    /// Reads one. Nothing may be in it yet if it `may_be_empty`.
    fn add(&mut self, opened: OpenLog, may_be_empty: bool) -> Result<(), Failure> {
        let identity = opened.identity();
        if let Some(first) = identity.and_then(|identity| self.seen.get(&identity)) {
            let again = &opened.name;
            tell(&if first == again {
                format!("note: {again} is given twice; it is counted once")
            } else {
                format!("note: {again} is the same file as {first}; it is counted once")
            });
            return Ok(());
        }
        let name = opened.name.clone();
        let read = opened.read(&self.hints);
        let is_empty = may_be_empty
            && match &read {
                // Its header is not complete.
                Err(error) => is_unwritten(error),
                Ok(log) => log.is_empty(),
            };
        if is_empty {
            tell(&format!("note: {name} is prepared as the next file; nothing is in it yet"));
            return Ok(());
        }
        self.logs.push(read?);
        self.seen.extend(identity.map(|identity| (identity, name)));
        Ok(())
    }

    /// Reads the files of a recording that have become others' successors since
    /// those in `paths` were listed.
    fn add_new(&mut self, log: &Path, paths: &[PathBuf]) -> Result<(), Failure> {
        let given = paths.iter().filter(|path| is_part(path, log));
        let newest = given.filter_map(|path| name_number(path)).max();
        let mut new = numbered(&Here, log);
        new.retain(|path| name_number(path) > newest);
        new.sort_by_key(|path| name_number(path));
        for path in new {
            // Another one may have been removed meanwhile.
            let Ok(opened) = OpenLog::named(&path) else { continue };
            if opened.identity().is_some_and(|identity| self.seen.contains_key(&identity)) {
                continue;
            }
            tell(&format!("note: {} is new; it is read, too", path.display()));
            self.add(opened, false)?;
        }
        Ok(())
    }
}

/// Whether this is the name of a file that is prepared to be the next one.
fn is_prepared(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PREPARED)
}

/// Whether a file is one of those that a log of this name leaves, or prepares,
/// when it rotates.
fn is_part(path: &Path, log: &Path) -> bool {
    (is_prepared(path) || name_number(path).is_some()) && path.with_extension("") == log
}

/// Whether a file is one of those, and others of them are here.
fn belongs_to_one_of(path: &Path, paths: &[PathBuf]) -> bool {
    let log = path.with_extension("");
    let is_other = |other: &&PathBuf| *other != path;
    is_part(path, &log)
        && paths.iter().filter(is_other).any(|other| *other == log || is_part(other, &log))
}

fn is_gone(error: &tyrion_formats::Error) -> bool {
    let tyrion_formats::Error::Io { source, .. } = error else { return false };
    source.kind() == io::ErrorKind::NotFound
}

/// Whether a file is as its agent leaves it before it writes the header.
fn is_unwritten(error: &tyrion_formats::Error) -> bool {
    use tyrion_formats::Error;
    matches!(error, Error::Empty { .. } | Error::NotALog { seems: FileKind::Zeros, .. })
}

/// The earlier files of a recording that rotates, the oldest first, back to
/// this monotonic time, as far as they are there. `last` is the newest file,
/// which `path` stood for.
pub fn earlier(
    files: &dyn LogFiles,
    path: &Path,
    last: &Recording,
    from_ns: u64,
) -> Vec<Recording> {
    let Some(recording) = last.facts().metadata("recording") else { return Vec::new() };
    let mut paths = numbered(files, path);
    // The newest first: of a long recording all of them would be too many.
    paths.sort_by_key(|path| Reverse(name_number(path)));
    let mut logs: Vec<Recording> = Vec::new();
    let read = |path: &PathBuf| {
        let opened = OpenLog::regular(files, path);
        opened.and_then(|opened| opened.read(&Hints::default())).ok()
    };
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

/// The files of a recording that hold what was recorded since a monotonic time,
/// the oldest first: `path`, and earlier ones if it has rotated since. What is
/// missing is told.
///
/// # Errors
/// When the file cannot be read.
pub fn open_since(
    files: &dyn LogFiles,
    path: &Path,
    from_ns: Option<u64>,
) -> Result<Vec<Recording>, Failure> {
    let last = open_of(files, path)?;
    let Some(from_ns) = from_ns.filter(|&from_ns| from_ns < last.start_ns()) else {
        return Ok(vec![last]);
    };
    let mut logs = earlier(files, path, &last, from_ns);
    logs.push(last);
    // Before the very first file there is nothing to miss.
    if let Some(first) = logs.first().filter(|first| file_number(first) > 0)
        && first.start_ns() > from_ns
    {
        let missing = units::duration(first.start_ns() - from_ns);
        tell(&format!(
            "note: the first {missing} are missing: the log has been rotated since, and the files \
             that had them were removed; see --filesize and --filecount"
        ));
    }
    Ok(logs)
}

/// The Unix time of a monotonic one, in ns.
pub fn wall_ns(log: &Recording, mono_ns: u64) -> u64 {
    let facts = log.facts();
    let ns = i128::from(facts.start_wall_ns) + i128::from(mono_ns) - i128::from(facts.start_ns);
    u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
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
pub fn numbered(files: &dyn LogFiles, path: &Path) -> Vec<PathBuf> {
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
pub fn tell_damage(damage: &[Damage]) -> Completion {
    for place in damage {
        tell_error(&format!("warning: {place}"));
    }
    if damage.is_empty() { Completion::Whole } else { Completion::Partly }
}
