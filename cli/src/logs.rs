//! Opening logs, and telling what is wrong with them.

use crate::outcome::{Done, Failure, tell};
use std::{
    collections::BTreeSet,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use tyrion_formats::{Damage, Log};

/// Opens a log; `-` is stdin.
///
/// # Errors
/// When it is no log, or cannot be read.
pub fn open(path: &Path) -> Result<Log, Failure> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::new(format!("stdin: {error}")))?;
        return Ok(Log::from_bytes("stdin", bytes)?);
    }
    let log = Log::open(path)?;
    if is_being_written(path) {
        log.assume_end_ns(now_ns());
    }
    Ok(log)
}

/// Whether a JVM on this machine still writes to a log: it holds a lock.
fn is_being_written(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
}

/// The clock that logs are on.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; every Linux has the clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Opens several logs.
///
/// # Errors
/// At the first that cannot be opened, or when one is named twice: its waits
/// would count twice.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Log>, Failure> {
    let mut seen = BTreeSet::new();
    for path in paths {
        let same = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if !seen.insert(same) {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} is named twice; its waits would count twice"
            )));
        }
    }
    paths.iter().map(|path| open(path)).collect()
}

/// Tells the damage, one line each: whether there was any.
pub fn tell_damage(damage: &[Damage]) -> Done {
    for place in damage {
        tell(&format!("warning: {place}"));
    }
    if damage.is_empty() { Done::Whole } else { Done::Partly }
}
