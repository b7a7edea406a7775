//! A process that cannot be confused with a later one of the same number.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, openat},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal},
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::fd::{AsFd, OwnedFd},
};

/// Files of a process that the kernel writes are not read beyond this many
/// bytes, but for its mappings.
const LONGEST_FILE: u64 = 4 << 20;
/// A process has at most some 65 530 mappings. Their paths have up to 4 096 bytes,
/// of which the kernel writes some as four: what a list of more than these bytes
/// tells is not read, which harms that process alone.
const LONGEST_MAPS: u64 = 512 << 20;

/// A process. The kernel ties both descriptors to the process itself: once it
/// has ended they answer no more, whoever has its id by then.
pub struct Process {
    pid: u32,
    /// `/proc/PID`.
    folder: OwnedFd,
    /// `None` before Linux 5.3.
    handle: Option<OwnedFd>,
}

impl Process {
    /// The process with this id.
    ///
    /// # Errors
    /// One line: there is none, or it is a thread.
    pub fn open(pid: u32) -> Result<Process, String> {
        let none = || format!("there is no process {pid}");
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(none)?;
        check_proc()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder =
            rustix::fs::open(format!("/proc/{pid}"), flags, Mode::empty()).map_err(|_| none())?;
        let handle = match pidfd_open(raw, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(Errno::NOSYS | Errno::PERM) => None,
            Err(Errno::SRCH) => return Err(none()),
            Err(_) => return Err(format!("{pid} is the id of a thread, not of a process")),
        };
        let process = Process { pid, folder, handle };
        // The folder was opened first. If its process is still there, the other
        // descriptor is of the same one.
        process.read("stat").map_err(|_| none())?;
        Ok(process)
    }

    /// Its id, as seen from here.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The text of one of its files under `/proc/PID`.
    ///
    /// # Errors
    /// As `openat(2)` and `read(2)`.
    pub fn read(&self, name: &str) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.file(name)?.take(LONGEST_FILE).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Goes over its mappings, line by line.
    ///
    /// # Errors
    /// As `openat(2)` and `read(2)`.
    pub fn mappings(&self, mut look: impl FnMut(&[u8])) -> io::Result<()> {
        let mut maps = BufReader::with_capacity(1 << 16, self.file("maps")?.take(LONGEST_MAPS));
        let mut line = Vec::new();
        while maps.read_until(b'\n', &mut line)? > 0 {
            look(line.strip_suffix(b"\n").unwrap_or(&line));
            line.clear();
        }
        Ok(())
    }

    /// What one of its links under `/proc/PID` stands for, such as its root
    /// folder. It is neither read nor written to by this.
    ///
    /// # Errors
    /// As `openat(2)`.
    pub fn link(&self, name: &str) -> io::Result<OwnedFd> {
        Ok(openat(&self.folder, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// The path that one of its links under `/proc/PID` shows.
    ///
    /// # Errors
    /// As `readlinkat(2)`.
    pub fn link_text(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.folder, name, Vec::new())?.into_bytes())
    }

    fn file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.folder, name, flags, Mode::empty())?.into())
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        match &self.handle {
            Some(handle) => !has_ended(handle.as_fd()),
            None => self.read("stat").is_ok_and(|stat| is_running(&stat)),
        }
    }

    /// Sends it SIGQUIT, which a JVM takes as a question.
    ///
    /// # Errors
    /// As `pidfd_send_signal(2)`.
    pub fn send_quit(&self) -> io::Result<()> {
        let gone = || io::Error::from(Errno::SRCH);
        match &self.handle {
            Some(handle) => Ok(pidfd_send_signal(handle, Signal::QUIT)?),
            None if !self.is_alive() => Err(gone()),
            // We have no more rights than the target's user by now: at the worst
            // the signal reaches another process of that user, which got the id
            // in the last few microseconds.
            None => {
                let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
                Ok(kill_process(pid, Signal::QUIT)?)
            }
        }
    }
}

/// Whether a process is in our namespace of a kind, `mnt` for example.
pub fn shares_namespace(process: &Process, kind: &str) -> bool {
    let own = rustix::fs::readlink(format!("/proc/self/ns/{kind}"), Vec::new());
    let other = process.link_text(&format!("ns/{kind}"));
    own.is_ok_and(|own| other.is_ok_and(|other| own.into_bytes() == other))
}

/// In another PID namespace, `/proc` and the kernel's calls would mean different
/// processes by a number.
fn check_proc() -> Result<(), String> {
    let own = rustix::fs::readlink("/proc/self", Vec::new());
    match own.is_ok_and(|own| own.to_bytes() == std::process::id().to_string().as_bytes()) {
        true => Ok(()),
        false => {
            Err("/proc is missing, or belongs to another PID namespace; mount the one of this \
                      namespace (mount -t proc proc /proc)"
                .to_owned())
        }
    }
}

/// A descriptor of a process becomes readable when the process ends.
fn has_ended(handle: impl AsFd) -> bool {
    let mut handles = [PollFd::new(&handle, PollFlags::IN)];
    poll(&mut handles, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// Whether the text of `/proc/PID/stat` is of a process that has not ended.
fn is_running(stat: &str) -> bool {
    // The state stands behind the name, which is in brackets.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;
    use std::{
        os::unix::process::CommandExt,
        process::{Child, Command, Stdio},
    };

    #[test]
    fn a_process_is_known_until_it_ends() {
        let mut child = sleeper();
        let process = Process::open(child.id()).unwrap();
        assert!(process.is_alive() && process.read("stat").is_ok());
        assert!(process.read("status").unwrap().contains("sleep"));
        end(&mut child);
        assert!(!process.is_alive());
        // Whoever gets the id next is not meant.
        assert!(process.read("stat").is_err());
        assert_eq!(process.send_quit().unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert!(Process::open(child.id()).is_err());
    }

    fn sleeper() -> Child {
        let mut sleep = Command::new("sleep");
        sleep.arg("600").stdin(Stdio::null());
        // Tests may run where SIGQUIT is ignored, as in the background of a script.
        let heed = || {
            // SAFETY: sets what the signal does in the child alone.
            unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes one system call.
        unsafe { sleep.pre_exec(heed) };
        sleep.spawn().unwrap()
    }

    fn end(child: &mut Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A new process with the id of one that has ended; `None` where that is not
    /// allowed, or others were faster.
    fn sleeper_as(pid: u32) -> Option<Child> {
        for _ in 0..100 {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
            let mut child = sleeper();
            if child.id() == pid {
                return Some(child);
            }
            end(&mut child);
        }
        None
    }

    #[test]
    fn the_next_process_of_that_id_is_another() {
        for _ in 0..10 {
            let mut child = sleeper();
            let mut process = Process::open(child.id()).unwrap();
            end(&mut child);
            let Some(mut next) = sleeper_as(child.id()) else { continue };
            for with_handle in [true, false] {
                if !with_handle {
                    process.handle = None;
                }
                assert!(!process.is_alive() && process.read("status").is_err());
                assert!(process.link("root").is_err() && process.link_text("root").is_err());
                assert!(process.mappings(|_| {}).is_err());
                assert_eq!(process.send_quit().unwrap_err().raw_os_error(), Some(libc::ESRCH));
            }
            assert!(next.try_wait().unwrap().is_none(), "it got a signal that was not for it");
            assert!(Process::open(next.id()).unwrap().is_alive());
            end(&mut next);
            return;
        }
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!in_ci, "missing in CI: the right to choose process ids");
        eprintln!("skipped: no right to choose process ids");
    }

    #[test]
    fn without_a_handle_the_folder_tells() {
        let mut child = sleeper();
        let mut process = Process::open(child.id()).unwrap();
        process.handle = None;
        assert!(process.is_alive());
        process.send_quit().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert!(process.send_quit().is_err());
    }

    #[test]
    fn threads_are_no_processes() {
        let told = std::thread::spawn(|| {
            // SAFETY: asks for a number, and cannot fail.
            let id = unsafe { libc::gettid() };
            Process::open(id as u32).err()
        });
        assert!(told.join().unwrap().unwrap().contains("thread"));
        assert!(Process::open(u32::MAX).err().unwrap().contains("no process"));
    }

    #[test]
    fn states_are_read_behind_the_name() {
        assert!(is_running("7 (a) Z) S 1 7"));
        assert!(!is_running("7 (a) S) Z 1 7"));
        assert!(!is_running(""));
    }
}
