//! Somebody who exchanges files, folders and links while they are looked at:
//! whatever is opened, made or removed lies where it was meant to be.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::{
    exchange::sweep,
    folder::Folder,
    identity,
    root::{RootFolder, Trust, open_regular},
};
use rustix::{
    fs::{CWD, Mode, OFlags, RenameFlags, renameat_with},
    process::geteuid,
};
use std::{
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{
            fs::{PermissionsExt, symlink},
            net::UnixListener,
        },
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};
use tempfile::TempDir;

/// How often each race is run.
const TRIES: usize = 10_000;
/// How long to wait for both outcomes.
const PATIENCE: Duration = Duration::from_secs(60);
/// A name such as an exchange has.
const EXCHANGE: &str = ".tyrion-00112233445566778899aabbccddeeff";

/// A process's root folder, `root`, and beside it what must not be reached,
/// `outside`.
struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let ground = Ground { folder: tempfile::tempdir().unwrap() };
        for name in ["outside", "root", "root/a"] {
            fs::create_dir(ground.path(name)).unwrap();
        }
        fs::write(ground.path("outside/f"), "outside").unwrap();
        fs::write(ground.path("root/a/f"), "inside").unwrap();
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root(&self) -> RootFolder {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(self.path("root"), flags, Mode::empty()).unwrap();
        RootFolder::new(folder, geteuid().as_raw()).unwrap()
    }

    /// Fails if anything has been made, changed or removed outside.
    fn check(&self) {
        let names: Vec<_> =
            fs::read_dir(self.path("outside")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, ["f"]);
        assert_eq!(fs::read_to_string(self.path("outside/f")).unwrap(), "outside");
    }
}

/// A thread that does something again and again.
struct Meanwhile {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meanwhile {
    fn run(mut action: impl FnMut() + Send + 'static) -> Meanwhile {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                action();
            }
        });
        Meanwhile { ends, thread: Some(thread) }
    }

    /// Exchanges two paths.
    fn exchange(one: PathBuf, other: PathBuf) -> Meanwhile {
        Meanwhile::run(move || {
            let _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
        })
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(std::thread::panicking() || ended.is_ok());
    }
}

/// Tries so often, and on until it has both succeeded and failed: else it was
/// no race.
fn race<T, E>(what: &str, mut attempt: impl FnMut() -> Result<T, E>) {
    let begin = Instant::now();
    let (mut tries, mut succeeded, mut failed) = (0, false, false);
    while tries < TRIES || !(succeeded && failed) {
        match attempt() {
            Ok(_) => succeeded = true,
            Err(_) => failed = true,
        }
        tries += 1;
        let is_late = tries >= TRIES && begin.elapsed() > PATIENCE;
        assert!(!is_late, "{what}: no race in {tries} tries: {succeeded} {failed}");
    }
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

/// The three ways to find what is at a path.
fn ways(root: &RootFolder, path: &Path) -> [io::Result<OwnedFd>; 3] {
    [
        root.find_by_kernel(path).map_err(io::Error::from),
        root.walk(path, Trust::Anybody),
        root.find_trusted(path),
    ]
}

#[test]
fn no_link_leads_out() {
    for (name, is_absolute) in [("../outside", false), ("outside", true)] {
        let ground = Ground::new();
        let outside = File::open(ground.path("outside/f")).unwrap();
        let outside = identity(&outside.into()).unwrap();
        let target = if is_absolute { ground.path(name) } else { name.into() };
        symlink(&target, ground.path("root/link")).unwrap();
        let root = ground.root();
        let _swapping = Meanwhile::exchange(ground.path("root/a"), ground.path("root/link"));
        for way in 0..3 {
            race("a link", || {
                let found = ways(&root, Path::new("/a/f")).into_iter().nth(way).unwrap()?;
                assert_ne!(identity(&found).unwrap(), outside, "{target:?} {way}");
                assert_eq!(text(open_regular(&found)?), "inside");
                Ok::<_, io::Error>(())
            });
        }
        ground.check();
    }
}

/// A folder that is moved out of the root folder while somebody is in it does
/// not take them along: `..` leads back inside.
#[test]
fn no_folder_that_moves_leads_out() {
    let ground = Ground::new();
    fs::write(ground.path("f"), "outside").unwrap();
    fs::write(ground.path("root/f"), "inside").unwrap();
    let (inner, outer) = (ground.path("root/a"), ground.path("a"));
    let root = ground.root();
    let _moving = Meanwhile::run(move || {
        let _ = fs::rename(&inner, &outer);
        let _ = fs::rename(&outer, &inner);
    });
    for way in 0..3 {
        race("a folder", || {
            let found = ways(&root, Path::new("a/../f")).into_iter().nth(way).unwrap()?;
            assert_eq!(text(open_regular(&found)?), "inside", "{way}");
            Ok::<_, io::Error>(())
        });
    }
}

#[test]
fn a_folder_is_that_which_was_opened() {
    let ground = Ground::new();
    symlink(ground.path("outside"), ground.path("root/link")).unwrap();
    let root = ground.root();
    let uid = geteuid().as_raw();
    let _swapping = Meanwhile::exchange(ground.path("root/a"), ground.path("root/link"));
    race("a folder", || {
        let folder = Folder::any(&root, Path::new("/a"))?;
        folder.create("new", Mode::RUSR)?.write_all(b"new").unwrap();
        assert_eq!(text(folder.open_of("f", uid)?), "inside");
        folder.remove("new").unwrap();
        assert_eq!(folder.names()?, [b"f"]);
        Ok::<_, io::Error>(())
    });
    ground.check();
}

#[test]
fn a_file_is_no_link() {
    let ground = Ground::new();
    symlink(ground.path("outside/f"), ground.path("root/a/link")).unwrap();
    let folder = Folder::any(&ground.root(), Path::new("/a")).unwrap();
    let uid = geteuid().as_raw();
    let _swapping = Meanwhile::exchange(ground.path("root/a/f"), ground.path("root/a/link"));
    race("a file", || {
        assert_eq!(text(folder.open_of("f", uid)?), "inside");
        Ok::<_, io::Error>(())
    });
}

#[test]
fn a_new_file_is_ours() {
    let ground = Ground::new();
    let folder = Folder::any(&ground.root(), Path::new("/a")).unwrap();
    let (link, target) = (ground.path("root/a/new"), ground.path("outside/new"));
    let _linking = Meanwhile::run(move || {
        let _ = symlink(&target, &link);
        let _ = fs::remove_file(&link);
    });
    race("a new file", || {
        let file = folder.create("new", Mode::RUSR | Mode::WUSR)?;
        // The other one may have removed it already.
        let _ = folder.remove("new");
        assert!(file.metadata()?.is_file());
        Ok::<_, io::Error>(())
    });
    ground.check();
}

#[test]
fn a_new_folder_is_ours() {
    let ground = Ground::new();
    let folder = Folder::any(&ground.root(), Path::new("/a")).unwrap();
    let uid = geteuid().as_raw();
    let (new, moved) = (ground.path("root/a/new"), ground.path("root/a/moved"));
    fs::set_permissions(ground.path("outside"), Permissions::from_mode(0o700)).unwrap();
    let target = ground.path("outside");
    let _swapping = Meanwhile::run(move || {
        if fs::rename(&new, &moved).is_ok() {
            let _ = symlink(&target, &new);
            let _ = fs::remove_dir_all(&moved);
            let _ = fs::remove_file(&new);
        }
    });
    race("a new folder", || {
        let made = folder.create_folder("new", uid);
        let done = made.and_then(|made| {
            made.create("x", Mode::RUSR)?;
            made.remove("x")
        });
        let _ = folder.remove_folder("new");
        done
    });
    ground.check();
}

#[test]
fn a_socket_is_no_link() {
    let ground = Ground::new();
    let bind = |name: &str| {
        let listener = UnixListener::bind(ground.path(name)).unwrap();
        fs::set_permissions(ground.path(name), Permissions::from_mode(0o600)).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    };
    let (inside, other) = (bind("root/a/socket"), bind("socket"));
    symlink(ground.path("socket"), ground.path("root/a/link")).unwrap();
    let folder = Folder::any(&ground.root(), Path::new("/a")).unwrap();
    let uid = geteuid().as_raw();
    let _swapping = Meanwhile::exchange(ground.path("root/a/socket"), ground.path("root/a/link"));
    race("a socket", || {
        let connected = folder.connect("socket", uid)?;
        inside.accept().unwrap();
        drop(connected);
        Ok::<_, io::Error>(())
    });
    assert!(other.accept().is_err(), "a link was followed");
}

/// What commands have left behind is removed; what a link leads to is not.
#[test]
fn nothing_else_is_swept_away() {
    let ground = Ground::new();
    let around = Folder::any(&ground.root(), Path::new("/a")).unwrap();
    let uid = geteuid().as_raw();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let make = |folder: &Path| {
        fs::create_dir_all(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        fs::write(folder.join("reply"), "x")?;
        File::open(folder)?.set_modified(old)
    };
    let elsewhere = ground.path("elsewhere");
    make(&elsewhere).unwrap();
    let (left, link) = (ground.path("root/a").join(EXCHANGE), ground.path("root/a/link"));
    symlink(&elsewhere, &link).unwrap();
    let _swapping = Meanwhile::exchange(left.clone(), link);
    race("an old exchange", || {
        // There is a link by one of the names, or the swapping was faster.
        let _ = make(&ground.path("root/a/made"));
        let _ = fs::rename(ground.path("root/a/made"), &left);
        sweep(&around, uid);
        assert!(elsewhere.join("reply").exists(), "a link was followed");
        if left.symlink_metadata().is_err() { Ok(()) } else { Err(()) }
    });
}
