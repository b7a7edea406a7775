//! Which log is meant: by its path, or by the JVM that writes it.

use crate::{jvm::attach::Jvm, outcome::Failure};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use tyrion_formats::{Begin, Follower};

/// What ends the name of a file that is prepared to be the next one.
const PREPARED: &str = ".next";

/// The path of a log, or of the one that the JVM with this process id writes.
///
/// # Errors
/// When there is no such process, or nothing records in it; or for `-`, which
/// elsewhere is stdin.
pub fn log(target: &str) -> Result<PathBuf, Failure> {
    if target == "-" {
        return Err(Failure::Usage("stdin cannot be followed; name the log's file".to_owned()));
    }
    let path = Path::new(target);
    match target.parse::<u32>() {
        Ok(pid) if !path.exists() => of_process(pid),
        _ => Ok(path.to_owned()),
    }
}

/// The JVM has its log mapped, so nobody needs to ask it.
fn of_process(pid: u32) -> Result<PathBuf, Failure> {
    let jvm = Jvm::find(pid).map_err(Failure::Failed)?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))
        .map_err(|error| Failure::new(format!("process {pid}: {error}")))?;
    let mut newest: Option<(u32, PathBuf)> = None;
    for path in shared_files(&maps) {
        let seen = jvm.seen_from_here(Path::new(path));
        // Others map files, too.
        let Ok(follower) = Follower::open(&seen, Begin::Start) else { continue };
        let number = follower.log().header().metadata("file-number");
        let number = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        if newest.as_ref().is_none_or(|(other, _)| number > *other) {
            newest = Some((number, seen));
        }
    }
    match newest {
        Some((_, path)) => Ok(path),
        None if jvm.loaded_agent().is_ok_and(|agent| agent.is_some()) => Err(Failure::new(
            format!("process {pid} has no log that can be read; tyrion status {pid} tells more"),
        )),
        None => {
            Err(Failure::new(format!("process {pid} is not recorded; tyrion attach {pid} begins")))
        }
    }
}

/// The files in /proc/PID/maps that a process writes to and shares, but for
/// those that are prepared or gone.
fn shared_files(maps: &str) -> BTreeSet<&str> {
    let path_of = |line: &'_ str| -> Option<usize> {
        let rights = line.split_whitespace().nth(1)?;
        rights.starts_with("rw-s").then_some(())?;
        line.find('/')
    };
    let paths = maps.lines().filter_map(|line| Some(&line[path_of(line)?..]));
    paths.filter(|path| !path.ends_with(PREPARED) && !path.ends_with(" (deleted)")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_tell_the_files_that_are_written() {
        let maps = "\
7f00-7f01 rw-s 00000000 fe:00 12  /tmp/my logs/a.log
7f01-7f02 rw-s 00100000 fe:00 12  /tmp/my logs/a.log
7f02-7f03 rw-s 00000000 fe:00 13  /tmp/my logs/a.log.next
7f03-7f04 rw-s 00000000 fe:00 14  /tmp/b.log (deleted)
7f04-7f05 r-xp 00000000 fe:00 15  /usr/lib/libjvm.so
7f05-7f06 rw-s 00000000 00:01 16
7f06-7f07 rw-p 00000000 00:00 0   [heap]
";
        assert_eq!(shared_files(maps), BTreeSet::from(["/tmp/my logs/a.log"]));
    }

    #[test]
    fn a_file_may_be_called_like_a_process() {
        assert_eq!(log("a.log").ok(), Some(PathBuf::from("a.log")));
        assert!(log(&std::process::id().to_string()).is_err(), "no JVM");
        assert!(matches!(log("-"), Err(Failure::Usage(_))), "it does not grow");
    }
}
