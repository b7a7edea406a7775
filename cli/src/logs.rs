//! Opening logs, and telling what is wrong with them.

mod together;

pub use crate::system::now_ns;
pub use together::{open_all, open_filtered};

use crate::{
    inputs::InputArgs,
    outcome::{Completion, Failure, tell, tell_error, tell_step},
    system,
};
use std::{
    cmp::Reverse,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Seek},
    path::{Path, PathBuf},
    time::Duration,
};
use tyrion_formats::{Damage, Hints, Recording, identity, open_input, open_regular};
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
        match system::stdin() {
            Ok(file) => Ok(OpenLog { name, file, is_stdin }),
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

    /// What a file is, by whatever name.
    fn identity(&self) -> Option<(u64, u64)> {
        identity(&self.file).ok()
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
    system::is_locked(file)
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
    paths.sort_by_key(|path| Reverse(file_order(path)));
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

/// When a file of a recording that rotates began, which is empty where its name does not
/// say it, and its number in the recording: full ones have them at the end of their names.
pub type FileOrder = (String, u32);

/// The length of the time in a name, `20261121-104900`.
const STAMP_LEN: usize = 15;

/// The name of a log, and which of its files this is, if it is one that is full.
fn log_and_order(path: &Path) -> Option<(PathBuf, FileOrder)> {
    let number = path.extension()?.to_str()?;
    let number =
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())??;
    let log = path.with_extension("");
    match log.extension().and_then(OsStr::to_str).filter(|end| is_stamp(end)).map(str::to_owned) {
        Some(began) => Some((log.with_extension(""), (began, number))),
        None => Some((log, (String::new(), number))),
    }
}

fn is_stamp(text: &str) -> bool {
    let is_of_one = |(at, byte): (usize, u8)| byte.is_ascii_digit() || (at, byte) == (8, b'-');
    text.len() == STAMP_LEN && text.bytes().enumerate().all(is_of_one)
}

/// Which of the files of its recording one is that is full.
pub fn file_order(path: &Path) -> Option<FileOrder> {
    log_and_order(path).map(|(_, order)| order)
}

/// The number of a file of a recording that is full, by its name.
pub fn name_number(path: &Path) -> Option<u32> {
    file_order(path).map(|(_, number)| number)
}

/// The paths `report.log.0`, `report.log.1`, ... that there are, and those with times, which
/// may be of several recordings.
pub fn numbered(files: &dyn LogFiles, path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name() else { return Vec::new() };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Ok(names) = files.names(folder) else { return Vec::new() };
    let is_numbered = |other: &OsString| {
        let log = log_and_order(Path::new(other)).map(|(log, _)| log);
        log.is_some_and(|log| log.as_os_str() == name)
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_told_by_their_names() {
        let told = |name: &str| {
            let (log, order) = log_and_order(&Path::new("/x").join(name))?;
            Some((log.to_str()?.to_owned(), order))
        };
        let full = |log: &str, began: &str, number| {
            Some((format!("/x/{log}"), (began.to_owned(), number)))
        };
        assert_eq!(told("a.log.12"), full("a.log", "", 12));
        assert_eq!(told("a.log.20261121-104900.3"), full("a.log", "20261121-104900", 3));
        assert_eq!(told("log.20261121-104900.0"), full("log", "20261121-104900", 0));
        // What only looks like a time is part of the log's name.
        assert_eq!(told("a.2026112-1104900.3"), full("a.2026112-1104900", "", 3));
        for name in ["a.log", "a.log.", "a.log.next", "a.log.+1", "a.log.1x", "7", "a.99999999999"]
        {
            assert_eq!(told(name), None, "{name}");
        }
        assert!(
            file_order(Path::new("a.20261121-104900.3"))
                < file_order(Path::new("a.20261121-104901.0"))
        );
        assert!(file_order(Path::new("a.7")) < file_order(Path::new("a.20261121-104900.0")));
    }
}
