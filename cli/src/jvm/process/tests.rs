#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

#[test]
fn the_innermost_pid_counts() {
    assert_eq!(inner_pid("Name:\tjava\nNSpid:\t4711\t7\nUid:\t0"), Some(7));
    assert_eq!(inner_pid("NSpid:\t4711"), Some(4711));
    assert_eq!(inner_pid("Name:\tjava"), None);
    assert_eq!(caught_signals("SigCgt:\t0000000000000004\n"), Some(4));
}

#[test]
fn mappings_tell_the_agent_and_the_files_that_are_written() {
    let mut mapped = Mappings::default();
    for line in [
        "0040-0050 r-xp 00000000 fe:00 12  /srv/root/opt/my apps/libtyrion_agent.so",
        "7f0-7f1 r-xp 00000000 fe:00 12  /lib/libjvm.so",
        "7f00-7f01 rw-s 00000000 fe:00 12  /srv/root/tmp/my logs/a.log",
        "7f01-7f02 rw-s 00100000 fe:00 12  /srv/root/tmp/my logs/a.log",
        "7f03-7f04 rw-s 00000000 fe:00 14  /tmp/b.log (deleted)",
        "7f05-7f06 rw-s 00000000 00:01 16",
        "7f06-7f07 rw-p 00000000 00:00 0   [heap]",
    ] {
        mapped.add(line.as_bytes(), b"/srv/root");
    }
    assert!(mapped.has_jvm && !mapped.has_musl);
    mapped.add(b"7f0-7f1 r-xp 00000000 fe:00 12  /lib/ld-musl-x86_64.so.1", b"/");
    assert!(mapped.has_musl);
    let [(addresses, path)] = &mapped.agents[..] else { panic!("{:?}", mapped.agents) };
    assert_eq!(addresses, "40-50");
    assert_eq!(path, b"/srv/root/opt/my apps/libtyrion_agent.so");
    assert!(mapped.runs_agent);
    let log = PathBuf::from("/tmp/my logs/a.log");
    assert_eq!(mapped.shared, [SharedFile { addresses: "7f00-7f01".to_owned(), path: log }]);
    let mut data = Mappings::default();
    data.add(b"40-50 r--p 00000000 fe:00 12  /x/libtyrion_agent.so", b"/");
    data.add(b"50-60 r-xp 00000000 fe:00 12  /x/libtyrion_agent.txt", b"/");
    assert!(!data.agents.is_empty() && !data.runs_agent, "nothing of it is run");
    data.add(b"60-70 r-xp 00000000 fe:00 12  /x/libtyrion_agent.so (deleted)", b"/");
    assert!(data.runs_agent);
}

/// What its descriptors show may be of the program before.
#[test]
fn another_program_of_the_same_process_is_noticed() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "read line; exec sleep 600"]).stdin(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let process = Process::open(child.id()).unwrap();
    // A program has its name before its code and its stack: only when it sleeps
    // (state S) is it sure to have begun.
    let sleeps = |name: &str| {
        while !process.read("stat").unwrap().contains(&format!("({name}) S")) {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    sleeps("sh");
    let said = |seen: Result<Option<Observation>, String>| seen.map(|seen| seen.is_some());
    let not_a_jvm = |seen| said(seen).is_err_and(|error: String| error.contains("not a JVM"));
    assert!(not_a_jvm(Observation::look(&process, || {})));
    let seen = Observation::look(&process, || {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        sleeps("sleep");
    });
    assert_eq!(said(seen), Ok(false), "what was seen is of both");
    assert!(not_a_jvm(Observation::look(&process, || {})));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Observation::of(&process).is_err());
}

#[test]
fn what_is_no_jvm_is_left_alone() {
    let refused = |pid| JvmProcess::enter(pid).err().unwrap();
    assert!(refused(std::process::id()).contains("not a JVM"));
    assert!(refused(u32::MAX).contains("no process"));
}

#[test]
fn a_path_of_the_processs_stays_below_its_root_folder() {
    let root = Path::new("/proc/7/root");
    for (theirs, here) in [
        ("/tmp/a.log", "/proc/7/root/tmp/a.log"),
        ("/tmp/../../../etc/shadow", "/proc/7/root/etc/shadow"),
        ("/../a", "/proc/7/root/a"),
    ] {
        assert_eq!(reach::below(root, Path::new(theirs)), Path::new(here));
    }
    assert_eq!(reach::below(Path::new("/"), Path::new("/tmp/a.log")), Path::new("/tmp/a.log"));
}

#[test]
fn who_may_not_look_is_told_why() {
    let denied = io::Error::from(io::ErrorKind::PermissionDenied);
    let own = rustix::process::geteuid().as_raw();
    let said = |user: u32| {
        let status = format!("Name:\tinit\nUid:\t{user}\t{user}\t{user}\t{user}\n");
        reach::unreadable(1, &status, &denied)
    };
    assert!(said(own).contains("process 1 (init) cannot be inspected"), "{}", said(own));
    if own != 0 {
        assert!(said(own + 1).contains("another user"), "{}", said(own + 1));
    }
    let gone = reach::unreadable(7, "", &io::Error::from(io::ErrorKind::NotFound));
    assert!(gone.starts_with("process 7 (unknown): "), "{gone}");
}
