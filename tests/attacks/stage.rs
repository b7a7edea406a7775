//! What every attack needs: files of root's that must stay as they are, and the
//! processes of others.

use super::actor::{ActorPart, PART};
use crate::support::{agent, err, out, output_in_time, skip, tyrion_within, wait_for};
use std::{
    ffi::CString,
    fs::{File, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};
use tempfile::TempDir;

/// The user whose processes are looked at: nobody.
pub const NOBODY: u32 = 65_534;
/// One more user, who has no name.
pub const STRANGER: u32 = 65_533;
/// What only root may read: it would pass for an answer of the agent's.
const SECRET: &str = "state=the-secret-of-root\n";
/// More than any command needs that looks at a process.
const MEMORY: u64 = 1 << 30;

/// All commands that look at a process, without its id.
pub const COMMANDS: [&[&str]; 6] = [
    &["status"],
    &["stop"],
    &["attach"],
    &["sample", "--duration", "100ms"],
    &["top", "--once", "--interval", "50ms"],
    &["dump-threads", "-n", "1"],
];

/// Those that ask the JVM for something.
pub const ASKING: [&[&str]; 5] = [COMMANDS[0], COMMANDS[1], COMMANDS[2], COMMANDS[3], COMMANDS[5]];

/// Those that talk to the agent in the process.
pub const TALKING: [&[&str]; 4] = [COMMANDS[0], COMMANDS[1], COMMANDS[2], COMMANDS[3]];

/// A folder that everybody may look into, with files of root's.
pub struct Stage {
    folder: TempDir,
    /// What root's folder looked like.
    before: String,
}

impl Stage {
    /// One, or `None` after a message where this process is not root's.
    pub fn set() -> Option<Stage> {
        // SAFETY: asks for a number, and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            skip("root's rights, which these attacks are on");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("tyrion-stage-").tempdir_in("/tmp").unwrap();
        let mut stage = Stage { folder, before: String::new() };
        for name in ["", "root", "here", "jvm"] {
            stage.folder(name, 0o755);
        }
        std::fs::write(stage.secret(), SECRET).unwrap();
        std::fs::set_permissions(stage.secret(), Permissions::from_mode(0o600)).unwrap();
        stage.folder("nobody", 0o755);
        chown(stage.path("nobody"), Some(NOBODY), Some(NOBODY)).unwrap();
        std::fs::write(stage.path("jvm/libjvm.so"), [0; 4096]).unwrap();
        // A copy where the JVM's user sees it, wherever the repository lies.
        std::fs::copy(agent(), stage.agent()).unwrap();
        stage.before = stage.roots();
        Some(stage)
    }

    /// A path on it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A folder of root's, with this mode.
    pub fn folder(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    /// A folder of nobody's.
    pub fn home(&self) -> PathBuf {
        self.path("nobody")
    }

    /// A file that only root may read.
    pub fn secret(&self) -> PathBuf {
        self.path("root/secret")
    }

    /// A device as /dev/zero, which nobody would miss.
    pub fn zero(&self) -> PathBuf {
        let path = self.path("zero");
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the name ends with a zero byte.
        unsafe { libc::mknod(name.as_ptr(), libc::S_IFCHR | 0o666, libc::makedev(1, 5)) };
        assert!(path.symlink_metadata().is_ok(), "it cannot be made");
        path
    }

    /// The agent that the commands have.
    pub fn agent(&self) -> PathBuf {
        self.path("jvm/libtyrion_agent.so")
    }

    /// All that is in root's folder.
    fn roots(&self) -> String {
        let mut entries: Vec<String> = std::fs::read_dir(self.path("root"))
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let it = path.symlink_metadata().unwrap();
                let bytes = std::fs::read(&path).unwrap();
                format!(
                    "{path:?} {} {:o} {}:{} {}.{:09} {bytes:?}\n",
                    it.ino(),
                    it.mode(),
                    it.uid(),
                    it.gid(),
                    it.ctime(),
                    it.ctime_nsec()
                )
            })
            .collect();
        entries.sort();
        entries.concat()
    }

    /// Another file of root's, for root alone.
    pub fn keep(&mut self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path("root").join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        self.before = self.roots();
        path
    }

    /// What passes for a JVM of nobody's.
    pub fn jvm(&self) -> ActorPart {
        let maps = vec![self.path("jvm/libjvm.so")];
        ActorPart { uid: NOBODY, folder: self.home(), maps, ..ActorPart::default() }
    }

    /// The same, with our agent loaded.
    pub fn recorded_jvm(&self) -> ActorPart {
        let mut part = self.jvm();
        part.maps.push(self.agent());
        part
    }

    /// Begins to play a part.
    pub fn play(&self, part: &ActorPart) -> Actor {
        Actor::play(self, part)
    }

    /// Runs a command on a process, as root. It has to end, and to leave root's
    /// files alone, and to say nothing that a terminal would obey.
    #[track_caller]
    pub fn run(&self, command: &[&str], pid: u32) -> Output {
        let output = output_in_time(&mut self.command(command, pid));
        self.check(&format!("{command:?}"), &output);
        output
    }

    /// A command on a process, to be run as root.
    pub fn command(&self, command: &[&str], pid: u32) -> Command {
        let mut tyrion = tyrion_within(MEMORY);
        tyrion.env("TYRION_AGENT", self.agent()).current_dir(self.path("here"));
        tyrion.args(command).arg(pid.to_string());
        tyrion
    }

    /// Fails if an attack has succeeded.
    #[track_caller]
    pub fn check(&self, what: &str, output: &Output) {
        assert_eq!(self.roots(), self.before, "{what}: root's files have changed");
        for said in [out(output), err(output)] {
            assert!(!said.contains("the-secret-of-root"), "{what}: told what only root may read");
            let evil = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
            assert!(!said.contains(evil), "{what}: {said:?}");
        }
        // By itself, not by a signal, and in words.
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{what}: {} {}", output.status, err(output));
        assert!(code == Some(0) || err(output).starts_with("tyrion: "), "{what}: {}", err(output));
    }

    /// As [`Stage::run`], of a command that has to fail: what it said.
    #[track_caller]
    pub fn refused(&self, command: &[&str], pid: u32) -> String {
        let output = self.run(command, pid);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {}{}", out(&output), err(&output));
        assert_eq!(out(&output), "", "{command:?}");
        err(&output)
    }

    /// As [`Stage::run`], of a command that has to work: what it printed.
    #[track_caller]
    pub fn worked(&self, command: &[&str], pid: u32) -> String {
        let output = self.run(command, pid);
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", err(&output));
        out(&output)
    }
}

/// A process that plays a part; killed when dropped.
pub struct Actor {
    child: Child,
    pid: u32,
    said: PathBuf,
}

impl Actor {
    fn play(stage: &Stage, part: &ActorPart) -> Actor {
        let said = tempfile::Builder::new().prefix("said-").tempfile_in(stage.folder.path());
        let (file, said) = said.unwrap().keep().unwrap();
        let errors = File::options().append(true).open(&said).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(PART, serde_json::to_string(part).unwrap());
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        let child = command.spawn().unwrap();
        let mut actor = Actor { pid: child.id(), child, said };
        if part.is_contained {
            let children = format!("/proc/{0}/task/{0}/children", actor.pid);
            actor.pid = wait_for("child", || {
                std::fs::read_to_string(&children).ok()?.split_whitespace().next()?.parse().ok()
            });
        }
        match part.program {
            Some(_) => wait_for("JVM", || has_begun(actor.pid).then_some(())),
            None => wait_for("part being played", || {
                let ended = actor.child.try_wait().unwrap();
                assert!(ended.is_none(), "it ended: {}", actor.said());
                actor.has_said("ready").then_some(())
            }),
        }
        actor
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// The folders in which the agent was to answer, as it was told.
    pub fn exchanges(&self) -> Vec<PathBuf> {
        let said = self.said();
        let options = said.split([' ', ',', '\n']);
        let replies = options.filter_map(|option| option.strip_prefix("reply="));
        let folders = replies.filter_map(|path| Some(Path::new(path).parent()?.to_owned()));
        // Such a folder and no other: it will be removed.
        folders.filter(|folder| folder.to_string_lossy().starts_with("/tmp/.tyrion-")).collect()
    }

    /// Whether it has said a word.
    pub fn has_said(&self, word: &str) -> bool {
        self.said().lines().any(|line| line.starts_with(word))
    }
}

/// Whether a process is a JVM by now whose program has begun: the threads of
/// `storm` have their names. Before, it cannot be attached to.
fn has_begun(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    let names = tasks.flatten().filter_map(|task| std::fs::read(task.path().join("comm")).ok());
    names.into_iter().any(|name| name.starts_with(b"storm-"))
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What it has put there that no command knows.
        for folder in self.exchanges() {
            let _ = std::fs::remove_dir_all(folder);
        }
        for name in [".java_pid", ".attach_pid"] {
            let path = Path::new("/tmp").join(format!("{name}{}", self.id()));
            let _ = std::fs::remove_file(&path);
            let _ = std::fs::remove_dir(&path);
        }
    }
}
