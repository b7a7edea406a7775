//! HotSpot's attach protocol: how a running JVM is told to load a library.
//!
//! The JVM listens on a socket `.java_pid<pid>` in its /tmp once it has been
//! asked to, by a file `.attach_pid<pid>` there and a SIGQUIT. A request is a few
//! texts, each with a zero byte behind it: the version "1", the command and
//! three arguments; the answer is text. (HotSpot, `attachListener_posix.cpp`.)
//! No JDK is needed on either side.

use super::process::{JvmProcess, folder::Folder};
use crate::signals::is_interrupted;
use rustix::fs::Mode;
use std::{
    borrow::Cow,
    io::{self, Read, Write},
    mem,
    os::{fd::AsRawFd, unix::net::UnixStream},
    path::Path,
    time::{Duration, Instant},
};
use tyrion_model::harmless;

/// HotSpot cuts longer arguments (`AttachOperation::arg_length_max`).
const LONGEST_ARGUMENT: usize = 1024;
/// How long a JVM may take to open its socket.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// A wait that the user interrupts goes on until it has lasted so long: most have
/// ended by then, and so well that the user gets what there is.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait until we look again whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(100);
/// What a JVM says of an error is shown up to so many characters.
const LONGEST_SAID: usize = 500;
/// The longest answer, in bytes.
const LONGEST_ANSWER: u64 = 64 << 10;
/// The longest thread dump: a thread takes some kilobytes.
const LONGEST_DUMP: u64 = 256 << 20;

/// Has a JVM load a library with options: the library's answer, a number, 0
/// for well done.
///
/// # Errors
/// One line: the JVM cannot be reached or cannot load the library.
pub fn load(
    jvm: &JvmProcess,
    temporary: &Folder,
    library: &Path,
    options: &[u8],
) -> Result<i32, String> {
    let path = library.as_os_str().as_encoded_bytes();
    if options.len().max(path.len()) > LONGEST_ARGUMENT {
        return Err("the paths are too long for the JVM; use shorter ones".to_owned());
    }
    let answer = request(jvm, temporary, &[b"load", path, b"true", options])?;
    let mut lines = answer.lines();
    let status = lines.next().unwrap_or_default().trim();
    let rest: Vec<&str> = lines.collect();
    if status != "0" {
        return Err(format!("the JVM refuses: {}", said(rest.join(" ").trim())));
    }
    let line = rest.first().copied().unwrap_or_default();
    let code = line.strip_prefix("return code: ").unwrap_or(line).trim();
    let failed = || format!("the JVM cannot load {}: {}", library.display(), said(&rest.join(" ")));
    code.parse().map_err(|_| failed())
}

/// A thread dump as `jstack -l` prints it.
///
/// # Errors
/// One line: the JVM cannot be reached, or does not do it.
pub fn thread_dump(jvm: &JvmProcess, temporary: &Folder) -> Result<Vec<u8>, String> {
    let texts: [&[u8]; 4] = [b"threaddump", b"-l", b"", b""];
    let mut answer = request_bytes(jvm, temporary, &texts, LONGEST_DUMP)?;
    match answer.strip_prefix(b"0\n") {
        Some(_) => Ok(answer.split_off(b"0\n".len())),
        None => {
            let start = answer.get(..LONGEST_SAID.min(answer.len())).unwrap_or_default();
            Err(format!("the JVM refuses: {}", said(String::from_utf8_lossy(start).trim())))
        }
    }
}

/// A JVM's release of Java, such as 17; `None` if it does not say.
pub fn java_release(jvm: &JvmProcess, temporary: &Folder) -> Option<u32> {
    release_in(&request(jvm, temporary, &[b"jcmd", b"VM.version", b"", b""]).ok()?)
}

/// The release in an answer to `VM.version`, whose last line is `JDK 17.0.15`.
fn release_in(answer: &str) -> Option<u32> {
    let version = answer.lines().find_map(|line| line.strip_prefix("JDK "))?;
    version.split(|char: char| !char.is_ascii_digit()).next()?.parse().ok()
}

/// What somebody says whom we do not know.
fn said(text: &str) -> Cow<'_, str> {
    harmless::within(text, LONGEST_SAID)
}

/// Fails if the user has interrupted a wait that began then.
///
/// # Errors
/// That it was interrupted.
fn check_interrupts(begin: Instant) -> Result<(), String> {
    match begin.elapsed() > GRACE && is_interrupted() {
        true => Err("interrupted".to_owned()),
        false => Ok(()),
    }
}

fn request(jvm: &JvmProcess, temporary: &Folder, texts: &[&[u8]]) -> Result<String, String> {
    let answer = request_bytes(jvm, temporary, texts, LONGEST_ANSWER)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The answer to a request, which has `longest` bytes at most.
fn request_bytes(
    jvm: &JvmProcess,
    temporary: &Folder,
    texts: &[&[u8]],
    longest: u64,
) -> Result<Vec<u8>, String> {
    let told = |error: io::Error| format!("process {}: {error}", jvm.pid());
    let mut socket = connect(jvm, temporary)?;
    let mut request = b"1\0".to_vec();
    for text in texts {
        request.extend_from_slice(text);
        request.push(0);
    }
    socket.set_write_timeout(Some(ANSWER)).map_err(told)?;
    // The kernel takes a request, which is short, without the JVM.
    socket.write_all(&request).map_err(told)?;
    let answer = read_answer(socket, longest).map_err(told)?;
    match answer.is_empty() {
        true => Err(format!("process {} closes the connection without an answer", jvm.pid())),
        false => Ok(answer),
    }
}

/// Reads to the end, but no more and no longer than a JVM would write.
fn read_answer(socket: UnixStream, longest: u64) -> io::Result<Vec<u8>> {
    let begin = Instant::now();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    socket.set_read_timeout(Some(LOOK))?;
    loop {
        if begin.elapsed() > ANSWER {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        check_interrupts(begin).map_err(io::Error::other)?;
        match (&socket).read(&mut piece) {
            Ok(0) => return Ok(answer),
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if answer.len() as u64 > longest {
            return Err(io::Error::other("its answer is too long to be a JVM's"));
        }
    }
}

fn connect(jvm: &JvmProcess, temporary: &Folder) -> Result<UnixStream, String> {
    let begin = Instant::now();
    let mut trigger = None;
    loop {
        match try_connect(jvm, temporary)? {
            Door::Open(stream) => return Ok(stream),
            Door::None if trigger.is_none() => {
                trigger = Some(Trigger::set(jvm, temporary)?);
                jvm.ask_for_socket()?;
            }
            Door::None | Door::Busy => {}
        }
        if !jvm.is_alive() {
            return Err(ended(jvm));
        }
        check_interrupts(begin)?;
        if begin.elapsed() > PATIENCE {
            return Err(format!(
                "process {} does not answer; was it started with -XX:+DisableAttachMechanism?",
                jvm.pid()
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ended(jvm: &JvmProcess) -> String {
    format!("process {} has ended", jvm.pid())
}

/// A JVM's socket.
enum Door {
    /// We are connected.
    Open(UnixStream),
    /// It is there, but others stand before it.
    Busy,
    /// There is none yet, or nobody listens.
    None,
}

/// Connects to the JVM's socket, if it is there.
fn try_connect(jvm: &JvmProcess, temporary: &Folder) -> Result<Door, String> {
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
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(Door::None),
                io::ErrorKind::WouldBlock => Ok(Door::Busy),
                _ => Err(refuse(&error.to_string())),
            };
        }
    };
    match peer(&stream) {
        // The number alone could be the next process's by now.
        Ok((pid, uid)) if pid == i64::from(jvm.pid()) && uid == jvm.uid() => {
            if jvm.is_alive() {
                Ok(Door::Open(stream))
            } else {
                Err(ended(jvm))
            }
        }
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
    fn set<'a>(jvm: &JvmProcess, temporary: &'a Folder) -> Result<Trigger<'a>, String> {
        let name = format!(".attach_pid{}", jvm.inner_pid());
        let is_ours = match temporary.create(&name, Mode::RUSR | Mode::WUSR) {
            Ok(_) => true,
            // Of another command at the same time; the JVM looks at the owner.
            // If it is older than such a command lasts, that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = temporary.open_of(&name, jvm.uid());
                let file = file.map_err(|error| {
                    let path = temporary.path_of(&name);
                    format!(
                        "process {}: {} is in the way ({error}); remove it, and try again",
                        jvm.pid(),
                        path.display()
                    )
                })?;
                let made = file.metadata().and_then(|it| it.modified());
                made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > 2 * PATIENCE))
            }
            Err(error) => return Err(jvm.unusable_temporary(&error)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_the_first_number_of_the_version() {
        let answer = |jdk: &str| format!("0\nOpenJDK 64-Bit Server VM version 17.0.15+6\n{jdk}");
        assert_eq!(release_in(&answer("JDK 17.0.15\n")), Some(17));
        assert_eq!(release_in(&answer("JDK 25")), Some(25));
        assert_eq!(release_in(&answer("JDK 26-ea+1")), Some(26));
        assert_eq!(release_in(&answer("")), None);
        assert_eq!(release_in("100\nOperation VM.version not recognized!"), None);
    }
}
