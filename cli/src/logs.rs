//! Opening logs, and telling what is wrong with them.

use crate::outcome::{Done, Failure, tell};
use std::{
    collections::BTreeSet,
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
    Ok(Log::open(path)?)
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
