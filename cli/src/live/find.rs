//! Which log is meant: by its path, or by the JVM that writes it.

#[cfg_attr(windows, path = "find/windows.rs")]
mod jvms;

use crate::{
    logs::{Here, LogFiles},
    outcome::Failure,
};
use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

/// The usual ending of a log's name.
const LOG: &str = "log";

/// A log's path, and the files that it is one of.
type LogSource = (Rc<dyn LogFiles>, PathBuf);

/// The path of a log that grows, or of the one that this JVM writes.
///
/// # Errors
/// When there is no such process, or nothing records in it; or for `-`, which
/// elsewhere is stdin.
pub fn log(target: &str) -> Result<LogSource, Failure> {
    if target == "-" {
        return Err(Failure::Usage("stdin cannot be followed; name the log's file".to_owned()));
    }
    let path = Path::new(target);
    // Even if there is a file of that name: somebody may have put it there.
    match jvms::is_process(target) || jvms::may_be(target) && !is_path(path) {
        true => jvms::log(target),
        false => Ok((Rc::new(Here), path.to_owned())),
    }
}

/// Whether this is a file, or looks like the name of a log.
fn is_path(target: &Path) -> bool {
    let is_log = target.extension().is_some_and(|extension| extension == LOG);
    is_log || target.components().count() != 1 || target.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_called_like_a_process() {
        assert_eq!(log("a.log").ok().map(|found| found.1), Some(PathBuf::from("a.log")));
        assert!(log(&std::process::id().to_string()).is_err(), "no JVM");
        assert!(is_path(Path::new("src/x")) && is_path(Path::new("src")));
        assert!(!is_path(Path::new("com.acme.Main")));
        let nobody = log("com.acme.NoSuchMain").err().map(|error| error.to_string());
        assert!(nobody.is_some_and(|error| error.contains("no JVM matches")));
        assert!(matches!(log("-"), Err(Failure::Usage(_))), "it does not grow");
    }
}
