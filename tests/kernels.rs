//! Kernels and containers that lack something: it is recorded without that, or one line
//! says why not; the program is unharmed in any case. What they lack is played by calls
//! that fail.

use crate::support::{
    Jdk, Program, Refusal, Tmpfs, agent, classes, err, info, limit_addresses, list, on_jdks, ours,
    out, output, refuse, skip_for_root, stdout_of, text, tyrion, waits,
};
use libc::{EACCES, ENODEV, ENOMEM, ENOSYS, EOPNOTSUPP, EPERM};
use std::{
    path::Path,
    process::{Command, Output},
};

on_jdks!(calls_that_a_container_refuses: ends, everywhere three);
on_jdks!(calls_that_an_old_kernel_has_not: ends, everywhere three);
on_jdks!(attaching_from_such_a_container: one);
on_jdks!(blocks_cannot_be_reserved: one);
on_jdks!(blocks_that_are_written_may_find_no_room: one);
on_jdks!(files_cannot_be_mapped: one);
on_jdks!(the_address_space_is_limited: two);
on_jdks!(large_ranges_are_refused: one);
on_jdks!(all_ranges_are_refused: one);
on_jdks!(proc_is_hidden: since(17));

/// What the profile of container engines refuses, as far as both architectures have it.
const NOT_IN_CONTAINERS: [libc::c_long; 34] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_get_mempolicy,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mbind,
    libc::SYS_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_request_key,
    libc::SYS_set_mempolicy,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// What kernels got after the oldest one on which current JVMs run.
const NOT_IN_OLD_KERNELS: [libc::c_long; 15] = [
    libc::SYS_clone3,
    libc::SYS_close_range,
    libc::SYS_copy_file_range,
    libc::SYS_execveat,
    libc::SYS_faccessat2,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    libc::SYS_openat2,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_renameat2,
    libc::SYS_rseq,
    libc::SYS_statx,
    libc::SYS_userfaultfd,
];

fn all(calls: &[libc::c_long], error: i32) -> Vec<Refusal> {
    calls.iter().map(|&call| Refusal::of(call, error)).collect()
}

/// A program with one wait that is long, recorded in all modes.
fn program(jdk: &Jdk) -> Program {
    let program = Program::truth(jdk, "holder-monitor").option("--threshold=0");
    program.option("--mode=trace+sample")
}

/// The same in few addresses.
fn small(jdk: &Jdk) -> Program {
    let flags = [
        // None of its ranges is as long as one of the log's.
        "-Xmx96m",
        "-XX:+UseSerialGC",
        "-XX:ReservedCodeCacheSize=48m",
        "-XX:CompressedClassSpaceSize=48m",
    ];
    flags.iter().fold(program(jdk), |it, flag| it.flag((*flag).to_owned()))
}

/// The program ended well, and said what it says without Tyrion; the lines that are ours.
#[track_caller]
fn unharmed(output: &Output) -> Vec<String> {
    let stderr = err(output);
    assert!(output.status.success(), "{}\n{stderr}", output.status);
    let stdout = out(output);
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert!(stdout.starts_with("{\"scenario\":\"holder-monitor\""), "{stdout}");
    ours(&stderr).into_iter().map(str::to_owned).collect()
}

/// It was recorded as ever, without a word.
#[track_caller]
fn check_recorded(output: &Output, log: &Path) {
    assert_eq!(unharmed(output), [""; 0]);
    let info = info(log);
    assert_eq!((&info["complete"], list(&info, "damage").len()), (&true.into(), 0), "{info}");
    let waits = waits(log);
    // What the JVM itself waits for, as for the initialization of a class, comes by chance.
    let own = waits
        .iter()
        .filter(|wait| wait.is_contention() && wait.is_in_the_program() && !wait.is_of_the_jvm());
    assert_eq!(own.count(), 1, "{waits:?}");
}

/// Nothing is recorded, and one line names the log and the reason.
#[track_caller]
fn check_told(output: &Output, log: &Path, reason: &str) {
    let lines = unharmed(output);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let begin = format!("tyrion: {}: ", log.display());
    assert!(line.starts_with(&begin) && line.contains(reason), "{line}");
    assert!(line.ends_with("; the program runs unprofiled"), "{line}");
    assert!(!log.exists(), "nothing is left behind");
}

/// Records a program of which, and of `tyrion record`, these calls fail.
fn record(program: &Program, log: &Path, refusals: &[Refusal]) -> Output {
    let mut command = program.record_command(log);
    refuse(&mut command, refusals);
    output(&mut command)
}

#[track_caller]
fn check_recorded_without(program: &Program, refusals: &[Refusal]) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    check_recorded(&record(program, &log, refusals), &log);
}

fn calls_that_a_container_refuses(jdk: &Jdk) {
    check_recorded_without(&program(jdk), &all(&NOT_IN_CONTAINERS, EPERM));
}

fn calls_that_an_old_kernel_has_not(jdk: &Jdk) {
    check_recorded_without(&program(jdk), &all(&NOT_IN_OLD_KERNELS, ENOSYS));
}

/// Both sides are restricted: the JVM and the command.
fn attaching_from_such_a_container(jdk: &Jdk) {
    for refusals in [all(&NOT_IN_CONTAINERS, EPERM), all(&NOT_IN_OLD_KERNELS, ENOSYS)] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("test.log");
        let line = Program::truth(jdk, "storm 60 lock").command_line();
        let mut java = Command::new(&line[0]);
        refuse(java.args(&line[1..]), &refusals);
        let running = crate::support::RunningCommand::of(&mut java, folder, log);
        running.await_line("raging");
        let pid = running.id().to_string();
        let tyrion = |arguments: &[&str]| {
            let mut command = tyrion();
            refuse(command.args(arguments), &refusals);
            stdout_of(&mut command)
        };
        tyrion(&["attach", &pid, "-o", text(&running.log)]);
        assert!(tyrion(&["status", &pid]).contains("recording"));
        // However late its threads run.
        crate::support::wait_for("contention", || {
            let contentions = info(&running.log)["totals"]["contentions"].as_u64();
            (contentions > Some(0)).then_some(())
        });
        tyrion(&["stop", &pid]);
    }
}

/// As on some network file systems, or for a filter of calls. That C libraries have a
/// way around it, or have not, makes no difference.
fn blocks_cannot_be_reserved(jdk: &Jdk) {
    for error in [EOPNOTSUPP, ENOSYS, EPERM] {
        check_recorded_without(&program(jdk), &[Refusal::of(libc::SYS_fallocate, error)]);
    }
}

fn blocks_that_are_written_may_find_no_room(jdk: &Jdk) {
    let Some(disk) = Tmpfs::mount("1m") else { return };
    let log = disk.path().join("full.log");
    let refusals = [Refusal::of(libc::SYS_fallocate, EOPNOTSUPP)];
    check_told(&record(&program(jdk), &log, &refusals), &log, "No space left");
}

/// As on file systems that are shared with another machine. The JVM maps other files in
/// other ways.
fn files_cannot_be_mapped(jdk: &Jdk) {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
    for error in [ENODEV, EACCES] {
        let refusal = Refusal::of(libc::SYS_mmap, error);
        let refusal = refusal.if_argument(2, access as u32).if_argument(3, flags as u32);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("test.log");
        let reason = "cannot be mapped into memory";
        check_told(&record(&program(jdk), &log, &[refusal]), &log, reason);
    }
}

/// `ulimit -v`; a machine that has given out all its memory refuses much the same.
fn the_address_space_is_limited(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    for (nth, gib) in [3, 8].into_iter().enumerate() {
        let log = folder.path().join(format!("{nth}.log"));
        let mut command = small(jdk).record_command(&log);
        limit_addresses(&mut command, gib << 30);
        check_recorded(&output(&mut command), &log);
    }
}

/// What the log wants to reserve: this many bytes of addresses, for nothing yet.
fn range(bytes: u64) -> Refusal {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let refusal = Refusal::of(libc::SYS_mmap, ENOMEM).if_whole_argument(1, bytes);
    refusal.if_argument(2, libc::PROT_NONE as u32).if_argument(3, flags as u32)
}

/// As where a process has fewer addresses than usual.
fn large_ranges_are_refused(jdk: &Jdk) {
    check_recorded_without(&small(jdk), &[256, 128, 64].map(|gib| range(gib << 30)));
}

fn all_ranges_are_refused(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    // For a short file: the range it would like, and the shortest one.
    let refusals = [range((2 << 20) + (64 << 20)), range(32 << 20)];
    let program = small(jdk).option("--filesize=1m");
    check_told(&record(&program, &log, &refusals), &log, "no addresses are left for the log");
}

/// The agent is named by hand: without /proc, a program does not know where it lies.
/// Nor does `java`, which is told where its libraries are.
fn proc_is_hidden(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("test.log");
    let lib = jdk.java().canonicalize().unwrap().parent().unwrap().with_file_name("lib");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs /proc || exit 77; exec \"$@\""]);
    command.arg("sh").arg(jdk.java());
    command.env("LD_LIBRARY_PATH", format!("{0}:{0}/server", lib.display()));
    let options = "threshold=0,mode=trace+sample";
    command.arg(format!("-agentpath:{}=file={},{options}", text(&agent()), log.display()));
    command.arg("-cp").arg(classes()).args(["tyrion.truth.Truth", "holder-monitor"]);
    let hidden = output(&mut command);
    let said = err(&hidden);
    if hidden.status.code() == Some(77) || said.starts_with("unshare:") {
        return skip_for_root("hiding /proc");
    }
    check_recorded(&hidden, &log);
}
