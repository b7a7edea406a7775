//! The folder that assistants may read.

use crate::{outcome::Failure, system};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A folder without links in its path.
pub struct LogFolder {
    path: PathBuf,
}

impl LogFolder {
    /// The folder at a path.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(path: &Path) -> Result<LogFolder, Failure> {
        let found = system::canonical(path).map_err(|error| (path, error.to_string()));
        let found = found.and_then(|found| match found.is_dir() {
            true => Ok(found),
            false => Err((path, "it is no folder".to_owned())),
        });
        match found {
            Ok(path) => Ok(LogFolder { path }),
            Err((path, reason)) => Err(Failure::Usage(format!(
                "--folder {}: {reason}; give a folder that is there",
                path.display()
            ))),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file or a folder in it, by a path that begins here or is absolute. Whatever is read
    /// together with it, as the other files of a log that rotates are, must be here as well.
    ///
    /// # Errors
    /// Why it may not be read: in words for the assistant.
    pub fn inside(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path.join(name);
        let outside = || format!("{name}: only what is in {} is read", self.path.display());
        // Looking there alone would tell another machine who asks.
        if system::is_of_network(Path::new(name)) {
            return Err(outside());
        }
        let found = system::canonical(&path).map_err(|error| format!("{name}: {error}"))?;
        if !found.starts_with(&self.path) {
            return Err(outside());
        }
        let beside = match found.is_dir() {
            true => entries(&found, "")?,
            false => {
                let file = found.file_name().unwrap_or_default().to_string_lossy().into_owned();
                entries(found.parent().unwrap_or(&self.path), &format!("{file}."))?
            }
        };
        for other in beside {
            // What is gone by now is not read either.
            if system::canonical(&other).is_ok_and(|it| !it.starts_with(&self.path)) {
                let other = other.display();
                return Err(format!("{name}: {other} leads out of {}", self.path.display()));
            }
        }
        Ok(found)
    }
}

/// What a folder has whose names begin in a way.
fn entries(folder: &Path, begin: &str) -> Result<Vec<PathBuf>, String> {
    let all = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let named = all.flatten().map(|entry| entry.path());
    let begins = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin))
    };
    Ok(named.filter(begins).collect())
}
