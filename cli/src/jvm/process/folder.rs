//! A folder of another process's, and the files in it by their bare names.
//!
//! Nothing here takes a path: who moves the folder, or puts a link in its
//! place, changes nothing, and no name leads out of it.

use super::root::{RootFolder, open_regular, own_path, reopen};
use rustix::{
    fs::{
        AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, ResolveFlags, fchmod, flock, fstat,
        mkdirat, openat, openat2, unlinkat,
    },
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::File,
    io, mem,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream},
    },
    path::{Path, PathBuf},
};

/// More names of a folder are not read.
const MOST_NAMES: usize = 100_000;

/// A folder of a process's.
pub struct Folder {
    folder: OwnedFd,
    /// Its path as that process sees it.
    path: PathBuf,
}

impl Folder {
    /// The folder at a path, if nobody could have put another one there but
    /// those whom the process has to trust.
    ///
    /// # Errors
    /// As `openat(2)`; `PermissionDenied` when somebody else could have.
    pub fn trusted(root: &RootFolder, path: &Path) -> io::Result<Folder> {
        Folder::new(root.find_trusted(path)?, path)
    }

    /// The folder at a path, whoever has put it there.
    ///
    /// # Errors
    /// As `openat(2)`.
    pub fn any(root: &RootFolder, path: &Path) -> io::Result<Folder> {
        Folder::new(root.find(path)?, path)
    }

    fn new(folder: OwnedFd, path: &Path) -> io::Result<Folder> {
        match FileType::from_raw_mode(fstat(&folder)?.st_mode) {
            FileType::Directory => Ok(Folder { folder, path: path.to_owned() }),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    /// The path of an entry, as the process sees it.
    pub fn path_of(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// Its path, as the process sees it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is there by a name, to be looked at; a link is not followed.
    fn find(&self, name: &OsStr) -> io::Result<OwnedFd> {
        self.open(name, OFlags::PATH)
    }

    /// Opens what is there by a name, but no link, and nothing that is mounted
    /// over it: another file system might never answer.
    fn open(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let (name, flags) = (bare(name)?, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC);
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.folder, name, flags, Mode::empty(), resolve) {
            // Linux before 5.6, or a sandbox of old.
            Err(Errno::NOSYS | Errno::PERM) => {
                Ok(openat(&self.folder, name, flags, Mode::empty())?)
            }
            Err(Errno::XDEV) => Err(io::Error::other("something is mounted over it")),
            found => Ok(found?),
        }
    }

    /// A regular file of this user's, to be read.
    ///
    /// # Errors
    /// As `openat(2)`, or that it is not a regular file, but a link, for example;
    /// `PermissionDenied` when it is another user's.
    pub fn open_of(&self, name: impl AsRef<OsStr>, uid: u32) -> io::Result<File> {
        let found = self.find(name.as_ref())?;
        if fstat(&found)?.st_uid != uid {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user's"));
        }
        open_regular(&found)
    }

    /// A new file, to be written.
    ///
    /// # Errors
    /// As `openat(2)`; `AlreadyExists` when there is anything by that name.
    pub fn create(&self, name: impl AsRef<OsStr>, mode: Mode) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, bare(name.as_ref())?, flags, Mode::RUSR | Mode::WUSR)?;
        // Whatever the mask of this process is.
        fchmod(&file, mode)?;
        Ok(file.into())
    }

    /// A new folder in it, for one user alone: it is opened and locked, so that
    /// nobody takes it for one that was left behind.
    ///
    /// # Errors
    /// As `mkdirat(2)`; `AlreadyExists` when there is anything by that name.
    pub fn create_folder(&self, name: &str, uid: u32) -> io::Result<Folder> {
        mkdirat(&self.folder, bare(OsStr::new(name))?, Mode::RWXU)?;
        let folder = self.open_private(OsStr::new(name), uid)?;
        flock(&folder.folder, FlockOperation::NonBlockingLockShared)?;
        Ok(folder)
    }

    /// A folder in it that only this user may use.
    ///
    /// # Errors
    /// As `openat(2)`; `PermissionDenied` when it is another user's, or others
    /// may use it.
    pub fn open_private(&self, name: &OsStr, uid: u32) -> io::Result<Folder> {
        let folder = self.open(name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let stat = fstat(&folder)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        if stat.st_uid != uid || mode.intersects(Mode::RWXG | Mode::RWXO) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not this user's alone"));
        }
        Ok(Folder { folder, path: self.path_of(name) })
    }

    /// Whether nobody uses a folder that [`Folder::open_private`] has opened;
    /// from now on it is ours.
    pub fn claim(&self) -> bool {
        flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Connects to a socket: to the one that was looked at, whatever has its
    /// name by then. It does not wait for a process that does not accept.
    ///
    /// # Errors
    /// `WouldBlock` when too many others want to be connected;
    /// `PermissionDenied` when it is no socket, or not one of this user alone;
    /// else as `openat(2)` and `connect(2)`.
    pub fn connect(&self, name: &str, uid: u32) -> io::Result<UnixStream> {
        let socket = self.find(OsStr::new(name))?;
        let stat = fstat(&socket)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
        if !is_socket || stat.st_uid != uid || mode.intersects(OPEN_TO_OTHERS) {
            let reason = "not a socket of the JVM's user alone";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        connect(&own_path(&socket))
    }

    /// Removes a file, or whatever has its name but is no folder.
    ///
    /// # Errors
    /// As `unlinkat(2)`.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.folder, bare(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As `unlinkat(2)`.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.folder, bare(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// The names in it.
    ///
    /// # Errors
    /// As `openat(2)` and `getdents(2)`.
    pub fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let readable = reopen(&self.folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let entries = Dir::new(readable)?.take(MOST_NAMES).filter_map(Result::ok);
        let names = entries.map(|entry| entry.file_name().to_bytes().to_vec());
        Ok(names.filter(|name| name != b"." && name != b"..").collect())
    }

    /// When something in it changed last, in seconds since 1970.
    ///
    /// # Errors
    /// As `fstat(2)`.
    pub fn changed_s(&self) -> io::Result<i64> {
        Ok(fstat(&self.folder)?.st_mtime)
    }

    /// Whether programs may be run from it.
    pub fn allows_programs(&self) -> bool {
        allows_programs(&self.folder)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// Connects to a socket, unless that would take until somebody else lets it.
fn connect(path: &str) -> io::Result<UnixStream> {
    // SAFETY: all-zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The address ends with a zero byte at least.
    if path.len() >= address.sun_path.len() {
        return Err(Errno::NAMETOOLONG.into());
    }
    for (to, byte) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = byte as libc::c_char;
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

/// What the socket of a JVM never allows (HotSpot, `attachListener_posix.cpp`).
const OPEN_TO_OTHERS: Mode = Mode::RGRP.union(Mode::WGRP).union(Mode::ROTH).union(Mode::WOTH);

/// Whether the file system of a file lets its code be run.
pub fn allows_programs(file: impl AsFd) -> bool {
    rustix::fs::fstatvfs(file)
        .is_ok_and(|system| !system.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

/// A name that leads nowhere else.
fn bare(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a bare name"));
    }
    Ok(name)
}
