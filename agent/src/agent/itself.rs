//! Java 8 has no command by which it loads an agent into itself. So the library, which
//! `tyrion-agent.jar` has loaded as any native one, asks the JVM over the JVM's own socket,
//! as `tyrion attach` does from outside.

use super::api::new_string;
use crate::message::PANICKED;
use jvmti_bindings::sys::jni::{JNIEnv, jbyteArray, jclass, jstring};
use std::{
    fs::OpenOptions,
    io::{self, Read, Write},
    mem,
    os::{
        fd::AsRawFd,
        unix::{fs::OpenOptionsExt, net::UnixStream},
    },
    panic::catch_unwind,
    ptr, thread,
    time::{Duration, Instant},
};

/// Where HotSpot has its socket, and looks for whoever wants one.
const TEMPORARY: &str = "/tmp";
/// How long the JVM may take to open its socket, and then to load the library.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether it has.
const PERIOD: Duration = Duration::from_millis(2);
/// The longest answer, in bytes.
const LONGEST_ANSWER: u64 = 4096;

/// Has the JVM load the library at a path as an agent with options: null, or what went wrong.
#[unsafe(export_name = "Java_tyrion_agent_AttachDoor_attach0")]
extern "system" fn attach(
    env: *mut JNIEnv,
    _: jclass,
    library: jbyteArray,
    options: jbyteArray,
) -> jstring {
    let (library, options) = (bytes(env, library), bytes(env, options));
    match catch_unwind(|| load(&library, &options)) {
        Ok(Ok(())) => ptr::null_mut(),
        Ok(Err(error)) => new_string(env, &format!("the JVM does not load it: {error}")),
        Err(_) => new_string(env, PANICKED),
    }
}

/// The bytes of a Java array.
fn bytes(env: *mut JNIEnv, array: jbyteArray) -> Vec<u8> {
    if array.is_null() {
        return Vec::new();
    }
    // SAFETY: the environment is the current thread's, the array is a valid reference.
    let length = unsafe { ((**env).GetArrayLength)(env, array) };
    let mut bytes = vec![0u8; usize::try_from(length).unwrap_or(0)];
    // SAFETY: as above; the region is the whole array, and there is room for it.
    unsafe { ((**env).GetByteArrayRegion)(env, array, 0, length, bytes.as_mut_ptr().cast()) };
    bytes
}

fn load(library: &[u8], options: &[u8]) -> io::Result<()> {
    let mut socket = connect(std::process::id())?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let texts: [&[u8]; 5] = [b"1", b"load", library, b"true", options];
    let mut request = Vec::new();
    for text in texts {
        request.extend_from_slice(text);
        request.push(0);
    }
    socket.write_all(&request)?;
    let mut answer = String::new();
    socket.take(LONGEST_ANSWER).read_to_string(&mut answer)?;
    // The command's status, and what `Agent_OnAttach` has returned.
    match answer.lines().take(2).all(|line| line.trim() == "0") && !answer.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(answer.lines().collect::<Vec<_>>().join(" "))),
    }
}

/// Connects to this JVM's socket, which it opens when it is asked to.
fn connect(pid: u32) -> io::Result<UnixStream> {
    let path = format!("{TEMPORARY}/.java_pid{pid}");
    if let Ok(socket) = UnixStream::connect(&path) {
        return own(socket, pid);
    }
    if !takes_quit() {
        return Err(io::Error::other("it does not take SIGQUIT"));
    }
    let trigger = format!("{TEMPORARY}/.attach_pid{pid}");
    let is_ours = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&trigger) {
        Ok(_) => true,
        // Of a command at the same moment; the JVM looks at its owner.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    // SAFETY: a signal to this process, for which the JVM has a handler.
    unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) };
    let begin = Instant::now();
    let connected = loop {
        match UnixStream::connect(&path) {
            Ok(socket) => break own(socket, pid),
            Err(error) if begin.elapsed() > PATIENCE => break Err(error),
            Err(_) => thread::sleep(PERIOD),
        }
    };
    if is_ours {
        // The JVM removes it as well.
        let _ = std::fs::remove_file(&trigger);
    }
    connected
}

/// Whether SIGQUIT has a handler: without one it would end the process.
fn takes_quit() -> bool {
    // SAFETY: zero is a value of every field.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: asks only, and `action` is a valid place for the answer.
    let asked = unsafe { libc::sigaction(libc::SIGQUIT, ptr::null(), &mut action) };
    asked == 0 && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
}

/// The socket, if it is this very process that listens: another user may have put one there.
fn own(socket: UnixStream, pid: u32) -> io::Result<UnixStream> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = mem::size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `peer` is a valid place for an answer of `length` bytes.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut length,
        )
    };
    match failed == 0 && u32::try_from(peer.pid) == Ok(pid) {
        true => Ok(socket),
        false => Err(io::Error::other("another process listens on its socket")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn another_process_is_not_spoken_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let socket = || UnixStream::connect(&path).unwrap();
        assert!(own(socket(), std::process::id()).is_ok());
        assert!(own(socket(), std::process::id() + 1).is_err());
    }

    /// A process of tests has no handler, and lives on.
    #[test]
    fn a_process_that_quit_would_end_is_not_asked() {
        assert!(!takes_quit());
        let error = connect(std::process::id()).unwrap_err().to_string();
        assert_eq!(error, "it does not take SIGQUIT");
    }
}
