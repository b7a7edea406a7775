//! Opening logs, and telling what is wrong with them.

use crate::outcome::{Done, Failure, tell};
use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io::Read,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};
use tyrion_formats::{Damage, Log};

/// Opens a log; `-` is stdin.
///
/// # Errors
/// When it is no log, or cannot be read.
pub fn open(path: &Path) -> Result<Log, Failure> {
    Opened::new(path)?.read()
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
        let (name, file) = if is_stdin {
            let file = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
            ("stdin".to_owned(), file)
        } else {
            (path.display().to_string(), File::open(path))
        };
        match file {
            Ok(file) => Ok(Opened { name, file, is_stdin }),
            Err(source) => Err(tyrion_formats::Error::Io { log: name, source }.into()),
        }
    }

    /// Device and inode: what a file is, by whatever name.
    fn identity(&self) -> Option<(u64, u64)> {
        self.file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }

    fn read(mut self) -> Result<Log, Failure> {
        if self.is_stdin {
            let mut bytes = Vec::new();
            let read = self.file.read_to_end(&mut bytes);
            read.map_err(|error| Failure::new(format!("stdin: {error}")))?;
            return Ok(Log::from_bytes(&self.name, bytes)?);
        }
        let log = Log::from_file(&self.name, &self.file)?;
        if is_being_written(&self.file) {
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
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Log>, Failure> {
    let mut seen: HashMap<(u64, u64), String> = HashMap::new();
    let mut logs = Vec::new();
    for path in paths {
        let opened = Opened::new(path)?;
        // As long as its log is mapped, no other file gets its inode.
        if let Some(identity) = opened.identity() {
            if let Some(first) = seen.get(&identity) {
                let again = &opened.name;
                tell(&if first == again {
                    format!("note: {again} is named twice; it is counted once")
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

/// Tells the damage, one line each: whether there was any.
pub fn tell_damage(damage: &[Damage]) -> Done {
    for place in damage {
        tell(&format!("warning: {place}"));
    }
    if damage.is_empty() { Done::Whole } else { Done::Partly }
}
