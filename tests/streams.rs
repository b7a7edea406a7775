//! Pipes, devices and whatever else a path may name: outputs go there, logs
//! come from there, and nothing hangs or is read for ever.

use crate::support::{
    err, finish, out, output_in_time, run, sample_log, text, tyrion, tyrion_within,
};
use std::{
    ffi::CString,
    fs::File,
    io::{Read, Write},
    os::fd::{FromRawFd, OwnedFd},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// More than any of these commands needs.
const MEMORY: u64 = 1 << 30;

fn fifo(folder: &Path) -> PathBuf {
    let path = folder.join("fifo");
    let name = CString::new(text(&path)).unwrap();
    // SAFETY: the name ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    path
}

/// The two ends of a pipe: to read from, and to write to.
fn pipe() -> (File, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: there is room for both ends, which nobody else owns.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

/// Commands that write something with `-o`.
fn writing() -> Vec<Vec<String>> {
    let log = sample_log();
    let log = text(&log);
    [
        &["convert", "--to", "collapsed", log][..],
        &["convert", "--to", "pprof", log],
        &["convert", "--to", "flamegraph", log],
        &["convert", "--to", "callgrind", "--merged", log],
        &["report", log],
        &["report", "--json", log],
        &["report", "--html", log],
        &["diff", log, log],
        &["diff", "--json", log, log],
        &["diff", "--to", "flamegraph", log, log],
        &["api-jar"],
    ]
    .iter()
    .map(|words| words.iter().map(|word| (*word).to_owned()).collect())
    .collect()
}

fn to(command: &[String], target: &str) -> Command {
    let mut tyrion = tyrion();
    tyrion.args(command).args(["-o", target]);
    tyrion
}

#[test]
fn outputs_go_into_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let (fifo, file) = (fifo(folder.path()), folder.path().join("file"));
    for command in writing() {
        let wanted = output_in_time(&mut to(&command, text(&file)));
        assert_eq!(wanted.status.code(), Some(0), "{command:?}: {}", err(&wanted));
        let wanted = std::fs::read(&file).unwrap();

        let source = fifo.clone();
        let reader = std::thread::spawn(move || std::fs::read(source).unwrap());
        let written = output_in_time(&mut to(&command, text(&fifo)));
        assert_eq!(written.status.code(), Some(0), "{command:?}: {}", err(&written));
        assert_eq!(reader.join().unwrap(), wanted, "{command:?}");
        assert!(!err(&written).contains("open with"), "{}", err(&written));

        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let written = output_in_time(&mut to(&command, name));
            assert_eq!(written.status.code(), Some(0), "{command:?}: {}", err(&written));
            assert_eq!(written.stdout, wanted, "{command:?} to {name}");
        }
        let nowhere = output_in_time(&mut to(&command, "/dev/null"));
        assert_eq!(nowhere.status.code(), Some(0), "{command:?}: {}", err(&nowhere));
        assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
    }
}

#[test]
fn several_files_are_not_written_into_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path());
    let log = sample_log();
    let log = text(&log);
    for (command, said) in [
        (&["convert", "--to", "callgrind", log][..], "use --merged"),
        (&["convert", "--to", "all", log], "-o must name a folder"),
        (&["diff", "--to", "pprof", log, log], "-o must name a folder"),
    ] {
        let output = output_in_time(tyrion().args(command).args(["-o", text(&fifo)]));
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", err(&output));
        assert!(err(&output).contains(said), "{command:?}: {}", err(&output));
    }
}

#[test]
fn a_pipe_that_nobody_reads_any_more_is_no_error() {
    for command in writing() {
        let (reader, writer) = pipe();
        drop(reader);
        let mut tyrion = to(&command, "/dev/stdout");
        let child = tyrion.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn();
        // It has the other copy of the end.
        drop(tyrion);
        let output = finish(child.unwrap());
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", err(&output));
    }
}

#[test]
fn logs_are_recorded_into_regular_files() {
    let folder = tempfile::tempdir().unwrap();
    let (fifo, link) = (fifo(folder.path()), folder.path().join("link"));
    std::os::unix::fs::symlink(sample_log(), &link).unwrap();
    for (name, said) in [
        (text(&fifo), "is a pipe"),
        (text(&link), "is a symbolic link"),
        ("/dev/null", "is a pipe, a socket or a device"),
        (text(folder.path()), "is a folder"),
    ] {
        let output = output_in_time(tyrion().args(["record", "-o", name, "--", "echo", "ran"]));
        let stderr = err(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("a regular file"), "{stderr}");
        assert_eq!(out(&output), "", "the program did not run unrecorded");
    }
    assert!(link.is_symlink() && sample_log().is_file());
}

/// Commands that read a log.
const READING: [&[&str]; 6] = [
    &["info"],
    &["dump"],
    &["convert", "--to", "collapsed", "-o", "-"],
    &["convert", "--to", "pprof", "-o", "-"],
    &["report"],
    &["report", "--json"],
];

fn reading(command: &[&str], log: &str) -> Command {
    let mut tyrion = tyrion_within(MEMORY);
    tyrion.args(command).arg(log);
    tyrion
}

#[test]
fn what_has_no_end_is_refused_at_once() {
    for command in READING.iter().chain([&["diff", "/dev/null"][..], &["top", "--once"]].iter()) {
        let output = output_in_time(&mut reading(command, "/dev/zero"));
        assert_eq!(output.status.code(), Some(1), "{command:?}: {}", err(&output));
        assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
    }
    for (command, said) in
        READING.iter().zip(["only zeros", "text", "not those of a format"].iter().cycle())
    {
        let bytes: &'static [u8] = match *said {
            "only zeros" => &[0; 4096],
            "text" => b"y\n",
            _ => &[0xff; 4096],
        };
        let mut child = reading(command, "-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Ends when the child does.
        let writer = std::thread::spawn(move || while stdin.write_all(bytes).is_ok() {});
        let output = finish(child);
        writer.join().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {}", err(&output));
        assert!(err(&output).contains("not a recording that Tyrion reads"), "{}", err(&output));
        assert!(err(&output).contains(said), "{}", err(&output));
    }
}

#[test]
fn logs_come_through_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path());
    for command in READING.iter().filter(|command| command[0] != "info") {
        let wanted = output_in_time(&mut reading(command, text(&sample_log())));
        let to = fifo.clone();
        let writer = std::thread::spawn(move || {
            std::fs::write(to, std::fs::read(sample_log()).unwrap()).unwrap();
        });
        let piped = output_in_time(&mut reading(command, text(&fifo)));
        writer.join().unwrap();
        assert_eq!(piped.status.code(), Some(0), "{command:?}: {}", err(&piped));
        // The others tell the log's name.
        if ["dump", "convert"].contains(&command[0]) && !command.contains(&"pprof") {
            assert_eq!(out(&piped), out(&wanted), "{command:?}");
        }
        for name in ["-", "/dev/stdin", "/dev/fd/0"] {
            let mut tyrion = reading(command, name);
            tyrion.stdin(File::open(sample_log()).unwrap());
            tyrion.stdout(Stdio::piped()).stderr(Stdio::piped());
            let read = finish(tyrion.spawn().unwrap());
            assert_eq!(read.status.code(), Some(0), "{command:?} {name}: {}", err(&read));
        }
    }
    let top = output_in_time(tyrion().args(["top", "--once", text(&fifo)]));
    assert_eq!(top.status.code(), Some(1), "it does not wait for a writer");
    assert!(err(&top).contains("not a regular file"), "{}", err(&top));
}

/// A shell may have read the beginning of what stdin is.
#[test]
fn stdin_is_read_from_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("behind");
    let mut bytes = b"a line\n".to_vec();
    bytes.extend(std::fs::read(sample_log()).unwrap());
    std::fs::write(&path, bytes).unwrap();
    let mut file = File::open(&path).unwrap();
    file.read_exact(&mut [0; 7]).unwrap();
    let mut dump = reading(&["dump"], "-");
    dump.stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(dump.spawn().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(output.stdout, run(["dump", text(&sample_log())]).stdout);
}

#[test]
fn what_can_hold_no_log_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, said) in [(text(folder.path()), "is a directory"), (text(&socket), "is a socket")] {
        let output = output_in_time(&mut reading(&["info"], path));
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains(said), "{}", err(&output));
    }
}
