//! Logs that are cut, damaged, foreign or too new: one clear line with the
//! offset, the right status, and never a panic.

use crate::support::{err, finish, out, run, sample_log, text, tyrion};
use std::{
    fs::File,
    io::Read,
    path::Path,
    process::{ChildStdout, Stdio},
};
use tempfile::TempDir;
use tyrion_formats::{
    wire::WaitKind,
    write::{LogOptions, LogWriter, Wait},
};

/// A file and what `tyrion` is to make of it.
struct DamageCase {
    folder: TempDir,
}

impl DamageCase {
    fn new(bytes: &[u8]) -> DamageCase {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.log"), bytes).unwrap();
        DamageCase { folder }
    }

    /// Gives the file to every command that reads logs: each must end with
    /// `status` and complain with `said` at an offset.
    fn check(&self, status: i32, said: &str) {
        self.check_both(status, said, said);
    }

    /// The same, where `top`, which follows event logs alone, says something else.
    fn check_both(&self, status: i32, said: &str, said_by_top: &str) {
        let bad = self.folder.path().join("bad.log");
        let bad = text(&bad);
        for command in [
            &["info", bad][..],
            &["info", "--json", bad],
            &["dump", bad],
            &["dump", "--json", bad],
            &["convert", "--to", "collapsed", "-o", "-", bad],
            &["convert", "--to", "pprof", "-o", "-", bad],
            &["report", bad],
            &["report", "--json", bad],
            &["report", "--html", "-o", "-", bad],
            &["diff", bad, bad],
            &["top", "--once", bad],
        ] {
            let output = run(command);
            let stderr = err(&output);
            assert_eq!(output.status.code(), Some(status), "{command:?}: {stderr}");
            check_complaints(&stderr, if command[0] == "top" { said_by_top } else { said });
            assert!(output.stdout.is_empty() || status == 3, "{command:?}");
        }
    }
}

fn check_complaints(stderr: &str, said: &str) {
    let complaints: Vec<&str> =
        stderr.lines().filter(|line| !line.starts_with("tyrion: note: ")).collect();
    let Some(first) = complaints.first() else { panic!("nothing said of: {said}") };
    for line in &complaints {
        assert!(line.starts_with("tyrion: "), "{line}");
        assert!(line.contains("bad.log: offset 0x"), "{line}");
    }
    assert!(first.contains(said), "{first:?} does not say {said:?}");
}

fn sample() -> Vec<u8> {
    std::fs::read(sample_log()).unwrap()
}

#[test]
fn empty_and_foreign_files_are_refused() {
    DamageCase::new(b"").check(1, "offset 0x0: the file is empty");
    let jfr = DamageCase::new(b"FLR\0\0\x02\0\x01 and what follows");
    jfr.check_both(1, "ends within its header", "Flight Recorder");
    DamageCase::new(b"\x1f\x8b\x08\0 and what follows").check(1, "gzip");
    DamageCase::new(b"Tea:\n1 2: 3\n").check(1, "not a recording that Tyrion reads");
    // As the text of pprof begins.
    let pprof = DamageCase::new(b"Samples:\n1 2: 3\n");
    pprof.check_both(1, "none of its sample types", "a profile of pprof");
    DamageCase::new(&[0; 8192]).check(1, "not a recording that Tyrion reads");
}

#[test]
fn a_newer_version_is_refused() {
    let mut bytes = sample();
    bytes[8] = 2;
    DamageCase::new(&bytes).check(1, "version 2");
}

#[test]
fn a_file_cut_in_its_header_is_refused() {
    for len in [1, 8, 100, 255] {
        let said = if len < 8 { "offset 0x" } else { "ends within its header" };
        DamageCase::new(&sample()[..len]).check(1, said);
    }
}

#[test]
fn what_stands_before_a_cut_is_used() {
    let bytes = sample();
    for len in [4096, 4097, bytes.len() / 2, bytes.len() - 4096, bytes.len() - 1] {
        DamageCase::new(&bytes[..len]).check(3, &format!("offset {len:#x}: the file was cut here"));
    }
}

#[test]
fn flipped_bits_never_panic() {
    let bytes = sample();
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.log");
    let (mut whole, mut damaged) = (0, 0);
    // Headers of chunks, definitions and records alike.
    for at in (0..bytes.len()).step_by(613) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&bad, flipped).unwrap();
        match check_flipped(&bad, at) {
            0 => whole += 1,
            _ => damaged += 1,
        }
    }
    assert!(damaged > 10, "{damaged} of {} flips were noticed", whole + damaged);
}

/// Whatever it makes of it, it must say it in its way.
fn check_flipped(bad: &Path, at: usize) -> i32 {
    let output = run(["convert", "--to", "collapsed", "-o", "-", text(bad)]);
    let (status, stderr) = (output.status.code(), err(&output));
    match status {
        Some(0) => assert!(!out(&output).is_empty(), "{at:#x}"),
        Some(1 | 3) => check_complaints(&stderr, "offset 0x"),
        _ => panic!("flipped at {at:#x}: {}\n{stderr}", output.status),
    }
    status.unwrap()
}

#[test]
fn missing_files_and_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.log");
    for path in [text(&missing), text(folder.path())] {
        let output = run(["info", path]);
        assert_eq!(output.status.code(), Some(1));
        let stderr = err(&output);
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.starts_with(&format!("tyrion: {path}: ")), "{stderr}");
    }
}

/// A log whose dump is far longer than a pipe holds.
fn write_long(path: &Path) {
    let mut log = LogWriter::new(File::create(path).unwrap(), LogOptions::default()).unwrap();
    let class = log.class("com/acme/Bank", "Bank.java").unwrap();
    let lock = log.lock(class).unwrap();
    let site = log.site(WaitKind::Monitor, 0, lock).unwrap();
    let main = log.thread(1, "main", "main", 0).unwrap();
    let lane = log.lane(main);
    for end_ns in 1..100_000 {
        log.wait(lane, Wait { end_ns, wait_ns: 1, site, ..Wait::default() }).unwrap();
    }
    log.finish().unwrap();
}

/// Reads what a command prints and does not keep it.
fn drain(mut stdout: ChildStdout) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()).unwrap())
}

#[test]
fn a_log_that_is_cut_while_it_is_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("cut.log");
    write_long(&log);
    let mut dump = tyrion();
    dump.args(["dump", text(&log)]).stdin(Stdio::null());
    let mut child = dump.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // It has begun, and cannot go on until somebody reads.
    stdout.read_exact(&mut [0; 1]).unwrap();
    File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    let reader = drain(stdout);
    let output = finish(child);
    reader.join().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}: {}", output.status, err(&output));
    assert_eq!(
        err(&output),
        "tyrion: a log was cut short while it was read, or its disk failed; run the command again\n"
    );
}
