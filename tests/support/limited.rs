//! Runs `tyrion` with limits: one that hangs, or takes memory without end, fails
//! its test instead of the machine.

use super::tyrion;
use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

/// How long a command may take, even on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A `tyrion` limited to this many bytes of address space.
pub fn tyrion_within(bytes: u64) -> Command {
    let mut command = tyrion();
    // Each thread's arena would take 64 MiB of addresses.
    command.env("MALLOC_ARENA_MAX", "1").env("RUST_BACKTRACE", "0");
    limit_addresses(&mut command, bytes);
    command
}

/// Limits a command, and all that it starts, to this many bytes of address space each.
pub fn limit_addresses(command: &mut Command, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    let restrict = move || {
        // SAFETY: the pointer is valid, and the call allocates nothing.
        match unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec the closure makes one system call.
    unsafe { command.pre_exec(restrict) };
}

/// Waits until a child has ended; kills one that does not end by itself.
#[track_caller]
pub fn finish(child: Child) -> Output {
    let pid = child.id() as libc::pid_t;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    match receive.recv_timeout(PATIENCE) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            // SAFETY: sending a signal touches no memory, and the process is a
            // child that nobody has waited for.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            panic!("it hangs: no end after {} s", PATIENCE.as_secs());
        }
    }
}

/// Runs a command to its end, if it has one; nobody types.
#[track_caller]
pub fn output_in_time(command: &mut Command) -> Output {
    command.stdin(Stdio::null());
    finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}
