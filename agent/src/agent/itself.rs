//! Java 8 has no command by which it loads an agent into itself, nor have later JVMs that lack
//! the module jdk.jfr. So the library, which `tyrion-agent.jar` has loaded as any native one,
//! asks the JVM over the JVM's own socket, as `tyrion attach` does from outside.

use super::api::new_string;
use crate::{jvm::agents, message::PANICKED};
use jvmti_bindings::sys::jni::{JNIEnv, jbyteArray, jclass, jstring};
use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    mem,
    os::{
        fd::{AsRawFd, FromRawFd},
        unix::{
            ffi::OsStrExt,
            fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
            net::UnixStream,
        },
    },
    panic::catch_unwind,
    path::{Path, PathBuf},
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
    agents::is_a_library();
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
    let is_good = |line: &str| matches!(line.trim(), "0" | "return code: 0");
    match answer.lines().take(2).all(is_good) && !answer.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other(answer.lines().collect::<Vec<_>>().join(" "))),
    }
}

/// Connects to this JVM's socket, which it opens when it is asked to.
fn connect(pid: u32) -> io::Result<UnixStream> {
    let path = PathBuf::from(format!("{TEMPORARY}/.java_pid{pid}"));
    // SAFETY: asks for a number.
    let uid = unsafe { libc::geteuid() };
    let connected = match connect_to(&path, uid) {
        Err(error) if is_closed(&error) => ask(&path, (pid, uid)),
        connected => await_socket(connected, &path, uid),
    };
    own(connected?, pid)
}

/// Asks this JVM to open its socket.
fn ask(path: &Path, (pid, uid): (u32, u32)) -> io::Result<UnixStream> {
    if !takes_quit() {
        return Err(io::Error::other("it does not take SIGQUIT"));
    }
    let trigger = PathBuf::from(format!("{TEMPORARY}/.attach_pid{pid}"));
    let is_new = put_trigger(&trigger, uid)?;
    // SAFETY: a signal to this process, for which the JVM has a handler.
    unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) };
    let connected = await_socket(connect_to(path, uid), path, uid);
    if is_new {
        // The JVM removes it as well.
        let _ = fs::remove_file(&trigger);
    }
    connected
}

/// Makes the file that tells SIGQUIT to open the socket, not to print all threads: whether it
/// is new, or of a command at the same moment.
fn put_trigger(trigger: &Path, uid: u32) -> io::Result<bool> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(trigger) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(trigger)?.uid() == uid {
                true => Ok(false),
                false => Err(not_ours(trigger)),
            }
        }
        Err(error) => Err(error),
    }
}

fn not_ours(path: &Path) -> io::Error {
    let reason = format!("{} is another user's", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

/// Nobody listens yet.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// Tries again as long as nobody listens, or too many others want to be connected.
fn await_socket(
    mut connected: io::Result<UnixStream>,
    path: &Path,
    uid: u32,
) -> io::Result<UnixStream> {
    let begin = Instant::now();
    loop {
        match connected {
            Err(error) if is_closed(&error) || error.kind() == io::ErrorKind::WouldBlock => {
                if begin.elapsed() > PATIENCE {
                    return Err(error);
                }
            }
            connected => return connected,
        }
        thread::sleep(PERIOD);
        connected = connect_to(path, uid);
    }
}

/// Connects to a socket of this user's alone, unless that would take until somebody else lets
/// it.
fn connect_to(path: &Path, uid: u32) -> io::Result<UnixStream> {
    let found = fs::symlink_metadata(path)?;
    if !found.file_type().is_socket() || found.uid() != uid || found.mode() & 0o066 != 0 {
        return Err(not_ours(path));
    }
    // SAFETY: all-zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    // The address ends with a zero byte at least.
    if bytes.len() >= address.sun_path.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    for (to, byte) in address.sun_path.iter_mut().zip(bytes) {
        *to = *byte as libc::c_char;
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: makes a descriptor, which nobody else owns.
    let stream = unsafe {
        match libc::socket(libc::AF_UNIX, kind, 0) {
            -1 => return Err(io::Error::last_os_error()),
            socket => UnixStream::from_raw_fd(socket),
        }
    };
    let length = mem::size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // SAFETY: the address is valid, and has this length.
    let failed =
        unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), length) } != 0;
    if failed {
        return Err(io::Error::last_os_error());
    }
    stream.set_nonblocking(false)?;
    Ok(stream)
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
    use std::os::unix::{fs::PermissionsExt, net::UnixListener};

    #[test]
    fn another_process_is_not_spoken_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let socket = || UnixStream::connect(&path).unwrap();
        assert!(own(socket(), std::process::id()).is_ok());
        assert!(own(socket(), std::process::id() + 1).is_err());
    }

    /// Whoever has put it there could have us wait for ever.
    #[test]
    fn a_socket_that_is_full_or_not_ours_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let uid = fs::metadata(dir.path()).unwrap().uid();
        let refused = |uid: u32| connect_to(&path, uid).unwrap_err().kind();
        assert_eq!(refused(uid), io::ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(refused(uid + 1), io::ErrorKind::PermissionDenied);
        // SAFETY: the descriptor is open.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let first = connect_to(&path, uid).unwrap();
        assert_eq!(refused(uid), io::ErrorKind::WouldBlock);
        drop((first, listener));
        assert_eq!(refused(uid), io::ErrorKind::ConnectionRefused);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
        assert_eq!(refused(uid), io::ErrorKind::PermissionDenied);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        assert_eq!(refused(uid), io::ErrorKind::PermissionDenied);
    }

    /// With another user's file the JVM would print all threads.
    #[test]
    fn another_user_s_trigger_is_not_taken_for_a_command_s() {
        let dir = tempfile::tempdir().unwrap();
        let trigger = dir.path().join("trigger");
        let uid = fs::metadata(dir.path()).unwrap().uid();
        assert!(put_trigger(&trigger, uid).unwrap());
        assert!(!put_trigger(&trigger, uid).unwrap());
        let error = put_trigger(&trigger, uid + 1).unwrap_err();
        assert_eq!(error.to_string(), format!("{} is another user's", trigger.display()));
    }

    /// A process of tests has no handler, and lives on.
    #[test]
    fn a_process_that_quit_would_end_is_not_asked() {
        assert!(!takes_quit());
        let error = connect(std::process::id()).unwrap_err().to_string();
        assert_eq!(error, "it does not take SIGQUIT");
    }
}
