//! HotSpot's attach protocol: how a running JVM is told to load a library.
//!
//! The JVM listens on a socket `.java_pid<pid>` in its /tmp once it has been
//! asked to, by a file `.attach_pid<pid>` there and a SIGQUIT. A request is a few
//! texts, each with a zero byte behind it: the version "1", the command and
//! three arguments; the answer is text. (HotSpot, `attachListener_posix.cpp`.)
//! No JDK is needed on either side.

use crate::target::{Target, folder::Folder};
use rustix::fs::Mode;
use std::{
    io::{self, Read, Write},
    mem,
    os::{fd::AsRawFd, unix::net::UnixStream},
    path::Path,
    time::{Duration, Instant},
};

/// HotSpot cuts longer arguments (`AttachOperation::arg_length_max`).
const LONGEST_ARGUMENT: usize = 1024;
/// How long a JVM may take to open its socket.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// The longest answer, in bytes.
const LONGEST_ANSWER: u64 = 64 << 10;

/// Has a JVM load a library with options: the library's answer, a number, 0
/// for well done.
///
/// # Errors
/// One line: the JVM cannot be reached or cannot load the library.
pub fn load(
    jvm: &Target,
    temporary: &Folder,
    library: &Path,
    options: &[u8],
) -> Result<i32, String> {
    let path = library.as_os_str().as_encoded_bytes();
    if options.len().max(path.len()) > LONGEST_ARGUMENT {
        return Err("the paths are too long for the JVM; use shorter ones".to_owned());
    }
    let answer = request(jvm, temporary, &[b"load", path, b"true", options])?;
    if answer.is_empty() {
        return Err(format!("process {} closes the connection without an answer", jvm.pid()));
    }
    let mut lines = answer.lines();
    let status = lines.next().unwrap_or_default().trim();
    let rest: Vec<&str> = lines.collect();
    if status != "0" {
        return Err(format!("the JVM refuses: {}", rest.join(" ").trim()));
    }
    let line = rest.first().copied().unwrap_or_default();
    let code = line.strip_prefix("return code: ").unwrap_or(line).trim();
    let failed = || format!("the JVM cannot load {}: {}", library.display(), rest.join(" "));
    code.parse().map_err(|_| failed())
}

fn request(jvm: &Target, temporary: &Folder, texts: &[&[u8]]) -> Result<String, String> {
    let told = |error: io::Error| format!("process {}: {error}", jvm.pid());
    let mut socket = connect(jvm, temporary)?;
    let mut request = b"1\0".to_vec();
    for text in texts {
        request.extend_from_slice(text);
        request.push(0);
    }
    socket.set_write_timeout(Some(ANSWER)).map_err(told)?;
    socket.write_all(&request).map_err(told)?;
    read_answer(socket).map_err(told)
}

/// Reads to the end, but no more and no longer than a JVM would write.
fn read_answer(socket: UnixStream) -> io::Result<String> {
    let end = Instant::now() + ANSWER;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        socket.set_read_timeout(Some(left))?;
        match (&socket).read(&mut piece) {
            Ok(0) => return Ok(String::from_utf8_lossy(&answer).into_owned()),
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if answer.len() as u64 > LONGEST_ANSWER {
            return Err(io::Error::other("its answer is too long for a JVM's"));
        }
    }
}

fn connect(jvm: &Target, temporary: &Folder) -> Result<UnixStream, String> {
    if let Some(stream) = try_connect(jvm, temporary)? {
        return Ok(stream);
    }
    let _trigger = Trigger::set(jvm, temporary)?;
    jvm.ask_for_socket()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        std::thread::sleep(Duration::from_millis(20));
        if let Some(stream) = try_connect(jvm, temporary)? {
            return Ok(stream);
        }
        if !jvm.is_alive() {
            return Err(format!("process {} has ended", jvm.pid()));
        }
        if Instant::now() > deadline {
            return Err(format!(
                "process {} does not answer; was it started with -XX:+DisableAttachMechanism?",
                jvm.pid()
            ));
        }
    }
}

/// Connects to the JVM's socket; `None` if there is none yet, or nobody listens.
fn try_connect(jvm: &Target, temporary: &Folder) -> Result<Option<UnixStream>, String> {
    let name = format!(".java_pid{}", jvm.inner_pid());
    let refuse = |reason: &str| {
        let path = temporary.path_of(&name);
        format!(
            "process {}: {} is not its socket ({reason}); somebody may have put it there: remove \
             it, and try again",
            jvm.pid(),
            path.display()
        )
    };
    let stream = match temporary.connect(&name, jvm.uid()) {
        Ok(stream) => stream,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
                _ => Err(refuse(&error.to_string())),
            };
        }
    };
    match peer(&stream) {
        Ok((pid, uid)) if pid == i64::from(jvm.pid()) && uid == jvm.uid() => Ok(Some(stream)),
        Ok((pid, uid)) => Err(refuse(&format!("process {pid} of user {uid} listens"))),
        Err(error) => Err(refuse(&error.to_string())),
    }
}

/// Process and user of whoever listens at the other end, as the kernel noted
/// them then; process 0 is one that is not seen from here.
fn peer(stream: &UnixStream) -> io::Result<(i64, u32)> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = mem::size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `peer` is a valid place for an answer of `length` bytes.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut length,
        )
    };
    if failed != 0 || length as usize != mem::size_of::<libc::ucred>() {
        return Err(io::Error::last_os_error());
    }
    Ok((i64::from(peer.pid), peer.uid))
}

/// The file that asks a JVM to open its socket.
struct Trigger<'a> {
    temporary: &'a Folder,
    name: String,
    /// Whether it is ours, to be removed.
    is_ours: bool,
}

impl Trigger<'_> {
    fn set<'a>(jvm: &Target, temporary: &'a Folder) -> Result<Trigger<'a>, String> {
        let name = format!(".attach_pid{}", jvm.inner_pid());
        let is_ours = match temporary.create(&name, Mode::RUSR | Mode::WUSR) {
            Ok(_) => true,
            // Of another command at the same time; the JVM looks at the owner.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = temporary.open_of(&name, jvm.uid());
                file.map_err(|error| {
                    let path = temporary.path_of(&name);
                    format!(
                        "process {}: {} is in the way ({error}); remove it, and try again",
                        jvm.pid(),
                        path.display()
                    )
                })?;
                false
            }
            Err(error) => return Err(format!("process {}: its /tmp: {error}", jvm.pid())),
        };
        Ok(Trigger { temporary, name, is_ours })
    }
}

impl Drop for Trigger<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = self.temporary.remove(&self.name);
        }
    }
}
