//! HotSpot's attach protocol: how a running JVM is told to load a library.
//!
//! The JVM listens on a socket `.java_pid<pid>` in its /tmp once it has been
//! asked to, by a file `.attach_pid<pid>` and a SIGQUIT. A request is a few
//! texts, each with a zero byte behind it: the version "1", the command and
//! three arguments; the answer is text. (HotSpot, `attachListener_posix.cpp`.)
//! No JDK is needed on either side.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::{fs::MetadataExt, net::UnixStream},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// HotSpot cuts longer arguments (`AttachOperation::arg_length_max`).
const LONGEST_ARGUMENT: usize = 1024;
/// How long a JVM may take to open its socket.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running process that should be a JVM.
pub struct Jvm {
    pid: u32,
    /// Its id in its own PID namespace (a container's).
    inner_pid: u32,
    /// Its root folder, as seen from here.
    root: PathBuf,
}

impl Jvm {
    /// The JVM with this process id.
    ///
    /// # Errors
    /// One line: no such process, or not a JVM.
    pub fn find(pid: u32) -> Result<Jvm, String> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .map_err(|_| format!("there is no process {pid}"))?;
        let inner_pid = inner_pid(&status).unwrap_or(pid);
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))
            .map_err(|error| unreadable(pid, &status, &error))?;
        if !maps.contains("libjvm.so") {
            return Err(format!("process {pid} is not a JVM (HotSpot)"));
        }
        Ok(Jvm { pid, inner_pid, root: PathBuf::from(format!("/proc/{pid}/root")) })
    }

    /// The agent's library that the JVM has loaded already, by the JVM's path:
    /// another copy would be another agent.
    ///
    /// # Errors
    /// One line: the file has been replaced since.
    pub fn loaded_agent(&self) -> Result<Option<PathBuf>, String> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        match loaded_agent(&maps) {
            Some(path) if path.ends_with(" (deleted)") => Err(format!(
                "the agent in process {} was replaced on disk; restart the JVM to use the new one",
                self.pid
            )),
            path => Ok(path.map(PathBuf::from)),
        }
    }

    /// Whether the process sees the same files as this one.
    pub fn shares_files(&self) -> bool {
        let id = |path: &Path| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
        id(&self.root) == id(Path::new("/"))
    }

    /// A path of the process's as seen from here.
    pub fn seen_from_here(&self, path: &Path) -> PathBuf {
        if self.shares_files() {
            return path.to_owned();
        }
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A file name in the JVM's /tmp that nobody else uses: the JVM's path.
    pub fn scratch(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/tmp/.tyrion-{name}-{}-{}", self.inner_pid, std::process::id()))
    }

    /// Has the JVM load a library with options: the library's answer, a
    /// number, 0 for well done.
    ///
    /// # Errors
    /// One line: the JVM cannot be reached or cannot load the library.
    pub fn load(&self, library: &Path, options: &str) -> Result<i32, String> {
        let library = library.to_string_lossy();
        if options.len().max(library.len()) > LONGEST_ARGUMENT {
            return Err("the paths are too long for the JVM; use shorter ones".to_owned());
        }
        let answer = self.request(&["load", &library, "true", options])?;
        let mut lines = answer.lines();
        let status = lines.next().unwrap_or_default().trim();
        let rest: Vec<&str> = lines.collect();
        if status != "0" {
            return Err(format!("the JVM refuses: {}", rest.join(" ").trim()));
        }
        let line = rest.first().copied().unwrap_or_default();
        let code = line.strip_prefix("return code: ").unwrap_or(line).trim();
        code.parse().map_err(|_| format!("the JVM cannot load {library}: {}", rest.join(" ")))
    }

    fn request(&self, texts: &[&str]) -> Result<String, String> {
        let told = |error: io::Error| format!("process {}: {error}", self.pid);
        let mut socket = self.connect()?;
        let mut request = b"1\0".to_vec();
        for text in texts {
            request.extend_from_slice(text.as_bytes());
            request.push(0);
        }
        socket.set_read_timeout(Some(Duration::from_secs(60))).map_err(told)?;
        socket.write_all(&request).map_err(told)?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).map_err(told)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn connect(&self) -> Result<UnixStream, String> {
        let socket = self.root.join(format!("tmp/.java_pid{}", self.inner_pid));
        if let Ok(stream) = UnixStream::connect(&socket) {
            return Ok(stream);
        }
        self.check_answers()?;
        let trigger = self.trigger()?;
        let connected = self.wait_for(&socket);
        let _ = fs::remove_file(trigger);
        connected
    }

    /// A JVM that does not take SIGQUIT would be ended by it (`-Xrs`), and one
    /// with attaching disabled would only print its threads.
    fn check_answers(&self) -> Result<(), String> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", self.pid));
        let caught = caught_signals(&read("status").unwrap_or_default()).unwrap_or(0);
        let disabled = read("cmdline").unwrap_or_default().contains("+DisableAttachMechanism");
        if caught & 1 << (libc::SIGQUIT - 1) == 0 || disabled {
            return Err(format!(
                "process {} cannot be attached to: it is still starting, or runs with -Xrs or \
                 -XX:+DisableAttachMechanism",
                self.pid
            ));
        }
        Ok(())
    }

    /// Asks the JVM to open its socket: the file that says so, to be removed.
    fn trigger(&self) -> Result<PathBuf, String> {
        let name = format!(".attach_pid{}", self.inner_pid);
        let places = [PathBuf::from(format!("/proc/{}/cwd", self.pid)), self.root.join("tmp")];
        let mut failure = String::new();
        for place in places {
            let file = place.join(&name);
            match fs::write(&file, b"") {
                // The JVM ignores the file of anybody but its own user.
                Ok(()) if self.owns(&file) => {
                    // SAFETY: sending a signal touches no memory. A JVM takes
                    // SIGQUIT as a question; `find` made sure that it is one.
                    if unsafe { libc::kill(self.pid as libc::pid_t, libc::SIGQUIT) } != 0 {
                        let error = io::Error::last_os_error();
                        let _ = fs::remove_file(&file);
                        return Err(format!("process {}: {error}; use its user", self.pid));
                    }
                    return Ok(file);
                }
                Ok(()) => {
                    let _ = fs::remove_file(&file);
                    failure = "it belongs to another user; attach as that user".to_owned();
                }
                Err(error) => failure = error.to_string(),
            }
        }
        Err(format!("process {}: {failure}", self.pid))
    }

    fn owns(&self, file: &Path) -> bool {
        let process = fs::metadata(format!("/proc/{}", self.pid)).map(|m| m.uid());
        let ours = fs::metadata(file).map(|m| m.uid());
        matches!((process, ours), (Ok(process), Ok(ours)) if process == ours || ours == 0)
    }

    fn wait_for(&self, socket: &Path) -> Result<UnixStream, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match UnixStream::connect(socket) {
                Ok(stream) => return Ok(stream),
                Err(_) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(_) => {
                    return Err(format!(
                        "process {} does not answer; was it started with \
                         -XX:+DisableAttachMechanism?",
                        self.pid
                    ));
                }
            }
        }
    }
}

/// Why it cannot be told whether a process is a JVM.
fn unreadable(pid: u32, status: &str, error: &io::Error) -> String {
    // SAFETY: asks for a number, and cannot fail.
    let own = unsafe { libc::geteuid() };
    let name = field(status, "Name:").unwrap_or("unknown");
    let user = field(status, "Uid:").and_then(|ids| ids.split_whitespace().nth(1));
    match user.and_then(|id| id.parse::<u32>().ok()) {
        _ if error.kind() != io::ErrorKind::PermissionDenied => {
            format!("process {pid} ({name}): {error}")
        }
        Some(user) if user != own && own != 0 => format!(
            "process {pid} ({name}) belongs to another user, of id {user}; if it is a JVM, run \
             tyrion as that user"
        ),
        // The kernel wants more than the same user: rights of its own, or a sandbox.
        _ => format!(
            "process {pid} ({name}) may not be looked at from here, not even by its user or root; \
             it is no JVM, or one in a sandbox: then run tyrion inside of that"
        ),
    }
}

/// What stands behind a name at the begin of a line of /proc/PID/status.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// The set of signals in the line `SigCgt:` of /proc/PID/status.
fn caught_signals(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// The path of the agent's library in /proc/PID/maps.
fn loaded_agent(maps: &str) -> Option<&str> {
    maps.lines().find_map(|line| {
        let path = &line[line.find('/')?..];
        let name = path.rsplit('/').next()?;
        name.starts_with("libtyrion_agent").then_some(path)
    })
}

/// The last number of the line `NSpid:` of /proc/PID/status.
fn inner_pid(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_pid_counts() {
        assert_eq!(inner_pid("Name:\tjava\nNSpid:\t4711\t7\nUid:\t0"), Some(7));
        assert_eq!(inner_pid("NSpid:\t4711"), Some(4711));
        assert_eq!(inner_pid("Name:\tjava"), None);
    }

    #[test]
    fn proc_is_understood() {
        assert_eq!(caught_signals("SigCgt:\t0000000000000004\n"), Some(4));
        let maps = "7f0-7f1 r-xp 00000000 fe:00 12  /opt/my apps/libtyrion_agent.so\n";
        assert_eq!(loaded_agent(maps), Some("/opt/my apps/libtyrion_agent.so"));
        assert_eq!(loaded_agent("7f0-7f1 r-xp 00000000 fe:00 12  /lib/libjvm.so\n"), None);
    }

    #[test]
    fn what_is_no_jvm_is_left_alone() {
        assert!(Jvm::find(std::process::id()).is_err_and(|e| e.contains("not a JVM")));
        assert!(Jvm::find(u32::MAX).is_err_and(|e| e.contains("no process")));
    }

    #[test]
    fn who_may_not_look_is_told_why() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        // SAFETY: asks for a number, and cannot fail.
        let own = unsafe { libc::geteuid() };
        let said = |user: u32| {
            let status = format!("Name:\tinit\nUid:\t{user}\t{user}\t{user}\t{user}\n");
            unreadable(1, &status, &denied)
        };
        assert!(said(own).contains("process 1 (init) may not be looked at"), "{}", said(own));
        if own != 0 {
            assert!(said(own + 1).contains("another user"), "{}", said(own + 1));
        }
        let gone = unreadable(7, "", &io::Error::from(io::ErrorKind::NotFound));
        assert!(gone.starts_with("process 7 (unknown): "), "{gone}");
    }
}
