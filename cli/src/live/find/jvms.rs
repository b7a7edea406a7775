//! The log that a JVM writes.

use super::LogSource;
use crate::{
    jvm::{
        names::{JvmName, jvm_name},
        process::JvmProcess,
    },
    logs::LogFiles,
    outcome::Failure,
};
use std::{path::PathBuf, rc::Rc};
use tyrion_formats::{Begin, Follower};

/// What ends the name of a file that is prepared to be the next one.
const PREPARED: &str = ".next";

/// Whether this is a process id.
pub(super) fn is_process(target: &str) -> bool {
    matches!(jvm_name(target), Ok(JvmName::Pid(_)))
}

/// Whether a JVM can be called so.
pub(super) fn may_be(target: &str) -> bool {
    jvm_name(target).is_ok()
}

/// The log of the JVM that is called so.
///
/// # Errors
/// When there is none, or nothing records in it.
pub(super) fn log(target: &str) -> Result<LogSource, Failure> {
    of_process(jvm_name(target).map_err(Failure::Usage)?.pid()?)
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
