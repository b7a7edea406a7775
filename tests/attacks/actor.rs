//! The other user's process of an attack: this test binary, run once more, plays
//! it before its `main`, in a process with one thread whose rights, mounts and
//! root folder are the attacker's.

use super::place::{c_text, check, contain, die_with_parent, drop_rights, map_users, mount};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::AsRawFd,
        unix::{
            ffi::OsStrExt,
            fs::symlink,
            net::{UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// The variable that has this binary play a part.
pub const PART: &str = "TYRION_TEST_PART";

/// What a process is, and what it does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ActorPart {
    /// Its user, and its group.
    pub uid: u32,
    /// Folders that it mounts at others, for itself alone.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// File systems in memory that it mounts, with their options.
    pub tmpfs: Vec<(PathBuf, String)>,
    /// Whether those allow no programs.
    pub no_programs: bool,
    /// Whether it can write to no file of its root folder, but for what is mounted
    /// there.
    pub is_read_only: bool,
    /// Whether it is root in a user namespace of its own.
    pub maps_users: bool,
    /// Its root folder, if it has one of its own.
    pub root: Option<PathBuf>,
    /// Whether that is the root of its mounts (`pivot_root`), as a container's is.
    pub pivots: bool,
    /// Whether its process ids are a container's, where it is the first.
    pub is_contained: bool,
    /// Its working folder.
    pub folder: PathBuf,
    /// A program that it becomes: nothing else is done by itself.
    pub program: Option<Vec<OsString>>,
    /// Files that it maps to read them, libraries to run them, too: one called libjvm.so makes
    /// it a JVM.
    pub maps: Vec<PathBuf>,
    /// Files that it maps to write to them.
    pub writes: Vec<PathBuf>,
    /// What it does about SIGQUIT.
    pub quit: Quit,
    /// Whether it listens from the beginning.
    pub listens: bool,
    /// Whether so many stand before its socket that nobody else is let in.
    pub is_crowded: bool,
    /// The process that it wants to be taken for; 0 is itself.
    pub poses_as: u32,
    /// After so many answers it ends instead of giving another; 0 is never.
    pub answers: u32,
    /// How it answers who connects first, if that is in another way than later.
    pub first: Option<String>,
    /// How it answers who connects.
    pub answer: ProtocolAnswer,
    /// What it puts where the agent's answer belongs.
    pub reply: ActorReply,
    /// A file that it puts where the one belongs that asks it for its socket,
    /// and exchanges with what has the same name and `.link`, all the time.
    pub trigger: Option<PathBuf>,
    /// Pairs of paths that it exchanges all the time.
    pub swaps: Vec<(PathBuf, PathBuf)>,
}

/// What a process does about SIGQUIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Quit {
    /// It listens for one request, as a JVM does; then it forgets the socket.
    #[default]
    Listen,
    /// It ends.
    End,
    /// It listens, and ends: a child of its goes on.
    Bequeath,
}

/// The answer to a request, by the JVM's protocol.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum ProtocolAnswer {
    /// As a JVM does.
    #[default]
    Good,
    /// This.
    Text(String),
    /// Without end.
    Endless,
    /// None: it ends.
    End,
    /// None, as long as it is waited for.
    Never,
    /// As a JVM does, once there is such a file.
    After(PathBuf),
}

/// The answer of the agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum ActorReply {
    /// None.
    #[default]
    Nothing,
    /// This.
    Text(String),
    /// A link to a path.
    Link(PathBuf),
    /// A pipe with a name.
    Fifo,
    /// A folder.
    Folder,
    /// This many zero bytes.
    Zeros(u64),
    /// A file that becomes a link to the path, and a file again, and so on.
    Swapped(String, PathBuf),
}

extern "C" fn play_if_asked() {
    let Some(part) = std::env::var_os(PART) else { return };
    let part: ActorPart = serde_json::from_slice(part.as_bytes()).expect("a part");
    if let Err(error) = play(&part) {
        eprintln!("a part cannot be played: {error}");
    }
    std::process::exit(1);
}

/// The harness runs tests on threads; mounts and root folder are those of the
/// first thread, which runs this before the harness begins.
#[used]
// SAFETY: the C library calls what is listed here before `main`, by this type.
#[unsafe(link_section = ".init_array")]
static PLAY: extern "C" fn() = play_if_asked;

/// Whether SIGQUIT has come.
static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn asked(_: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}

fn play(part: &ActorPart) -> io::Result<()> {
    die_with_parent()?;
    if part.is_contained {
        contain()?;
    }
    mount(part)?;
    // Of JVMs that had the same id, and were killed.
    for name in [".java_pid", ".attach_pid"] {
        let _ = std::fs::remove_file(format!("/tmp/{name}{}", std::process::id()));
    }
    drop_rights(part.uid)?;
    if part.maps_users {
        map_users(part.uid)?;
    }
    std::env::set_current_dir(&part.folder)?;
    if let Some(program) = &part.program {
        // SAFETY: this process has one thread.
        unsafe { std::env::remove_var(PART) };
        return Err(Command::new(&program[0]).args(&program[1..]).exec());
    }
    catch_quit();
    for path in &part.maps {
        let is_library = path.extension().is_some_and(|extension| extension == "so");
        let runs = if is_library { libc::PROT_EXEC } else { 0 };
        map(path, libc::PROT_READ | runs, libc::MAP_PRIVATE)?;
    }
    for path in &part.writes {
        map(path, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED)?;
    }
    let mut swaps = part.swaps.clone();
    if let Some(file) = &part.trigger {
        let place = PathBuf::from(format!("/tmp/.attach_pid{}", std::process::id()));
        std::fs::rename(file, &place)?;
        swaps.push((place, file.with_extension("link")));
    }
    for (one, other) in swaps {
        std::thread::spawn(move || {
            loop {
                exchange(&one, &other);
            }
        });
    }
    serve(part)
}

fn serve(part: &ActorPart) -> io::Result<()> {
    let pid = if part.poses_as == 0 { std::process::id() } else { part.poses_as };
    let path = PathBuf::from(format!("/tmp/.java_pid{pid}"));
    let mut answers = 0;
    let mut listener = part.listens.then(|| listen(&path)).transpose()?;
    if let (Some(listener), true) = (&listener, part.is_crowded) {
        crowd(listener, &path)?;
        say("ready");
        loop {
            std::thread::park();
        }
    }
    say("ready");
    loop {
        if ASKED.swap(false, Ordering::Relaxed) {
            say("asked");
            if part.quit == Quit::End {
                std::process::exit(0);
            }
            if listener.is_none() {
                listener = Some(listen(&path)?);
            }
            if part.quit == Quit::Bequeath {
                bequeath(&path);
            }
        }
        match listener.as_ref().map(UnixListener::accept) {
            Some(Ok(_)) if part.answers > 0 && answers == part.answers => std::process::exit(0),
            Some(Ok((client, _))) => {
                answers += 1;
                // Who has gone is no reason to end.
                let first = part.first.clone().filter(|_| answers == 1);
                let how = first.map_or_else(|| part.answer.clone(), ProtocolAnswer::Text);
                let _ = answer(part, &how, client);
                if !part.listens {
                    listener = None;
                    std::fs::remove_file(&path)?;
                }
            }
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// For the test to read.
fn say(word: &str) {
    let _ = writeln!(io::stdout(), "{word}");
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    // SAFETY: sets a number.
    unsafe { libc::umask(0o177) };
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    // SAFETY: as above.
    unsafe { libc::umask(0o022) };
    Ok(listener)
}

/// Connects to a socket until nobody else can.
fn crowd(listener: &UnixListener, path: &Path) -> io::Result<()> {
    let name = c_text(path);
    let name = name.as_bytes_with_nul();
    // SAFETY: all-zero is a valid address, and the path is shorter. The sockets
    // stay open as long as this process lives.
    unsafe {
        check(libc::listen(listener.as_raw_fd(), 0))?;
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        name.as_ptr().copy_to(address.sun_path.as_mut_ptr().cast(), name.len());
        let length = std::mem::size_of_val(&address) as libc::socklen_t;
        loop {
            let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
            let socket = libc::socket(libc::AF_UNIX, kind, 0);
            let connected = check(libc::connect(socket, (&raw const address).cast(), length));
            match connected.map_err(|error| error.kind()) {
                Ok(()) => {}
                Err(io::ErrorKind::WouldBlock) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Leaves what it has to a child, which ends when the socket is gone.
fn bequeath(path: &Path) {
    // SAFETY: this process has one thread.
    if unsafe { libc::fork() } > 0 {
        std::process::exit(0);
    }
    let path = path.to_owned();
    std::thread::spawn(move || {
        while path.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::process::exit(0);
    });
}

fn answer(part: &ActorPart, how: &ProtocolAnswer, mut client: UnixStream) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let mut request = Vec::new();
    // The version, the command and three arguments.
    while request.iter().filter(|&&byte| byte == 0).count() < 5 {
        let mut piece = [0; 4096];
        match client.read(&mut piece)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&piece[..read]),
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    say(&format!("request {}", text.replace('\0', " ")));
    let path = text.split(['\0', ',']).find_map(|option| option.strip_prefix("reply="));
    if let Some(path) = path {
        reply(part, Path::new(path))?;
    }
    match how {
        ProtocolAnswer::Good => client.write_all(b"0\nreturn code: 0\n"),
        ProtocolAnswer::Text(text) => client.write_all(text.as_bytes()),
        ProtocolAnswer::After(file) => {
            while !file.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
            client.write_all(b"0\nreturn code: 0\n")
        }
        ProtocolAnswer::Endless => loop {
            client.write_all(&[b'0'; 1 << 16])?;
        },
        ProtocolAnswer::End => std::process::exit(0),
        ProtocolAnswer::Never => client.read(&mut [0]).map(drop),
    }
}

fn reply(part: &ActorPart, path: &Path) -> io::Result<()> {
    match &part.reply {
        ActorReply::Nothing => Ok(()),
        ActorReply::Text(text) => {
            let draft = path.with_extension("draft");
            std::fs::write(&draft, text)?;
            std::fs::rename(&draft, path)
        }
        ActorReply::Link(target) => symlink(target, path),
        ActorReply::Fifo => {
            let name = c_text(path);
            // SAFETY: the name ends with a zero byte.
            check(unsafe { libc::mkfifo(name.as_ptr(), 0o600) })
        }
        ActorReply::Folder => std::fs::create_dir(path),
        ActorReply::Zeros(len) => File::create(path)?.set_len(*len),
        ActorReply::Swapped(text, target) => {
            let name = path.parent().and_then(Path::file_name).unwrap_or_default();
            let (path, other) = (path.to_owned(), part.folder.join(name));
            symlink(target, &other)?;
            std::fs::write(&path, text)?;
            // Until it has been removed.
            std::thread::spawn(move || while exchange(&path, &other) {});
            Ok(())
        }
    }
}

/// Has two paths change places, at once; whether both were there.
pub fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

fn catch_quit() {
    let handler = asked as extern "C" fn(libc::c_int);
    // SAFETY: the handler sets a flag, and does nothing else.
    unsafe { libc::signal(libc::SIGQUIT, handler as libc::sighandler_t) };
}

fn map(path: &Path, rights: libc::c_int, flags: libc::c_int) -> io::Result<()> {
    let writes = rights & libc::PROT_WRITE != 0;
    let file = File::options().read(true).write(writes).open(path)?;
    let len = usize::try_from(file.metadata()?.len()).unwrap_or(4096);
    // SAFETY: nothing looks at the mapping, which is at an address of the
    // kernel's choice.
    let mapped =
        unsafe { libc::mmap(std::ptr::null_mut(), len, rights, flags, file.as_raw_fd(), 0) };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}
