//! Which log is meant: by its path, or by the JVM that writes it.

use crate::{
    jvm::{
        names::{JvmName, jvm_name},
        process::JvmProcess,
    },
    logs::{Here, LogFiles},
    outcome::Failure,
};
use std::{
    path::{Path, PathBuf},
    rc::Rc,
};
use tyrion_formats::{Begin, Follower};

/// What ends the name of a file that is prepared to be the next one.
const PREPARED: &str = ".next";
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
    match jvm_name(target) {
        // Even if there is a file of that name: somebody may have put it there.
        Ok(JvmName::Pid(pid)) => of_process(pid),
        Ok(name) if !is_path(path) => of_process(name.pid()?),
        _ => Ok((Rc::new(Here), path.to_owned())),
    }
}

/// Whether this is a file, or looks like the name of a log.
fn is_path(target: &Path) -> bool {
    let is_log = target.extension().is_some_and(|extension| extension == LOG);
    is_log || target.components().count() != 1 || target.symlink_metadata().is_ok()
}

/// The JVM has its log mapped, so nobody needs to ask it.
fn of_process(pid: u32) -> Result<LogSource, Failure> {
    let jvm = JvmProcess::enter(pid).map_err(Failure::Failed)?;
    let mut newest: Option<(u32, PathBuf)> = None;
    for path in jvm.shared_files() {
        let name = path.display().to_string();
        if name.ends_with(PREPARED) {
            continue;
        }
        // Others map files, too.
        let Ok(file) = jvm.open(path) else { continue };
        let Ok(follower) = Follower::from_file(&name, file, Begin::Start) else { continue };
        let number = follower.recording().facts().metadata("file-number");
        let number = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        if newest.as_ref().is_none_or(|(other, _)| number > *other) {
            newest = Some((number, path.to_owned()));
        }
    }
    match newest {
        Some((_, path)) => Ok((Rc::new(jvm), path)),
        None if jvm.has_agent() => Err(Failure::new(format!(
            "the log of process {pid} cannot be read; tyrion status {pid} tells more"
        ))),
        None => Err(Failure::new(format!(
            "process {pid} is not being recorded; tyrion attach {pid} starts that"
        ))),
    }
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
