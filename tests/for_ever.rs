//! Recording for ever: files named by time, in a folder that one JVM after another goes on
//! in, and reports over all of it.

use crate::{
    rotation::storm_until,
    support::{Jdk, Program, collapsed_sum, info, on_jdks, tyrion, wait_for},
};
use std::path::{Path, PathBuf};

on_jdks!(restarts_go_on_in_the_same_folder: one, everywhere all);
on_jdks!(files_begin_when_it_is_time: one);

/// All that is in a folder, by name.
fn all(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.to_string_lossy().ends_with(".next"));
    paths.sort();
    paths
}

fn is_timed(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    let Some((stamp, number)) = name.strip_prefix("test.log.").and_then(|it| it.split_once('.'))
    else {
        return false;
    };
    stamp.len() == 15 && stamp.starts_with("20") && number.parse::<u32>().is_ok()
}

/// Waits that `convert` finds, and what it says.
fn waits_in(options: &[&str], paths: &[&Path]) -> (u64, String) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("waits");
    let mut convert = tyrion();
    convert.args(["convert", "--to", "collapsed", "--metric", "contentions", "-o"]).arg(&to);
    let output = convert.args(options).args(paths).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    (collapsed_sum(&std::fs::read_to_string(to).unwrap()), stderr)
}

fn total(files: &[PathBuf]) -> u64 {
    let of = |file: &PathBuf| info(file)["totals"]["contentions"].as_u64().unwrap();
    files.iter().map(of).sum()
}

/// Each run leaves some files, all of which are kept until there are too many.
fn restarts_go_on_in_the_same_folder(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let run = |filecount: usize, least: usize| {
        let program = Program::truth(jdk, "storm 60 monitor")
            .option("--threshold=0")
            .option("--filesize=64k")
            .option("--filenames=time")
            .option(&format!("--filecount={filecount}"))
            .pinned();
        let output = storm_until(program, &log, "files", |_| all(folder.path()).len() >= least);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(1000, 4);
    let first = all(folder.path());
    assert!(first.iter().all(|path| *path == log || is_timed(path)), "{first:?}");
    let waits_of_first = total(&first);
    run(1000, first.len() + 3);
    let both = all(folder.path());
    let kept = first.iter().filter(|path| **path != log && both.contains(path)).count();
    assert_eq!(kept, first.len() - 1, "{first:?} {both:?}");
    let (waits, _) = waits_in(&[], &[folder.path()]);
    assert_eq!(waits, total(&both), "all files of both");
    // The file that the first one wrote to last has the name of its time.
    let recording = |path: &PathBuf| info(path)["metadata"]["recording"].to_string();
    let (second, of_first): (Vec<PathBuf>, Vec<PathBuf>) =
        both.iter().cloned().partition(|path| recording(path) == recording(&log));
    assert_eq!((of_first.len(), total(&of_first)), (first.len(), waits_of_first));
    // Between the two runs there is time: the second alone.
    let number = |path: &PathBuf, key: &str| info(path)[key].as_u64().unwrap();
    let began_ns = second.iter().map(|path| number(path, "start_wall_ns")).min().unwrap();
    let end_ns = number(&log, "start_wall_ns") + number(&log, "duration_ns");
    let since_ns = end_ns - began_ns + 1_000_000;
    let (waits, _) = waits_in(&["--last", &format!("{since_ns}ns")], &[folder.path()]);
    assert_eq!(waits, total(&second), "--last");
    // One that is removed between listing and reading is told; the others are read.
    let gone = folder.path().join("test.log.20200101-000000.0");
    let listed: Vec<&Path> = [&gone].into_iter().chain(&both).map(PathBuf::as_path).collect();
    let (waits, said) = waits_in(&[], &listed);
    assert!(said.contains("000000.0 is gone, as its recording rotates"), "{said}");
    assert_eq!(waits, total(&both));
    std::fs::write(folder.path().join("test.log.bak"), "mine").unwrap();
    run(3, 1);
    let left = all(folder.path());
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(folder.path().join("test.log.bak").is_file());
    assert!(!first.iter().any(|path| *path != log && left.contains(path)), "{left:?}");
}

/// Offsets are of the recording as a whole, whatever files it has.
fn files_begin_when_it_is_time(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let until = tempfile::tempdir().unwrap();
    let program = Program::truth(jdk, "storm 60 monitor")
        .option("--filesize=1m")
        .option("--filetime=1s")
        .option("--filenames=time")
        .option("--maxage=1h")
        .pinned();
    let program = program.flag(format!("-Dtruth.until={}", until.path().join("over").display()));
    let mut running = program.start_at(log.clone(), tempfile::tempdir().unwrap());
    wait_for("three files", || (all(folder.path()).len() > 2).then_some(()));
    std::fs::write(until.path().join("over"), "").unwrap();
    assert!(running.finish().status.success());
    let files = all(folder.path());
    assert!(files[1..].iter().all(|path| is_timed(path)), "{files:?}");
    for file in &files[1..] {
        let ns = info(file)["duration_ns"].as_u64().unwrap();
        assert!(ns >= 900_000_000, "{}: {ns} ns", file.display());
    }
    // Half of the recording by an offset from either end.
    let whole: u64 = files.iter().map(|file| info(file)["duration_ns"].as_u64().unwrap()).sum();
    let half = format!("{}ns", whole / 2);
    let (before, _) = waits_in(&["--until", &half], &[folder.path()]);
    let (after, _) = waits_in(&["--since", &half], &[folder.path()]);
    assert_eq!(before + after, total(&files));
    assert!(before > 0 && after > 0, "{before} and {after}");
    let all_ns = format!("-{}ns", 2 * whole);
    assert_eq!(waits_in(&["--since", &all_ns], &[folder.path()]).0, total(&files));
    assert_eq!(waits_in(&["--last", &all_ns[1..]], &[folder.path()]).0, total(&files));
}
