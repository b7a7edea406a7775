//! Files below the root folder of another process.
//!
//! A path of the target's means something inside of its root folder only: an
//! absolute link there must not lead to a file of ours, and `..` must not lead
//! out. `openat2(2)` with `RESOLVE_IN_ROOT` sees to that in the kernel; before
//! Linux 5.6, and where it matters who could have put something there, the path
//! is walked name by name.

use rustix::{
    fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Component, Path},
};

/// As many links as the kernel follows in a path (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;
/// How often the kernel is asked again when folders move meanwhile.
const ATTEMPTS: usize = 16;
/// Opens nothing: the descriptor only stands for what is there.
const STAND_FOR: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The root folder of a process.
pub struct RootFolder {
    folder: OwnedFd,
    /// Who may change what the process relies on: root, its user, and whoever
    /// owns its root folder.
    owners: [u32; 3],
    /// A folder in which others may replace files, which the user vouches for.
    vouched: Option<(u64, u64)>,
}

/// Who must be able to change what a path stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Anybody may.
    Anybody,
    /// Nobody but the [owners](RootFolder::owners).
    Owners,
}

impl RootFolder {
    /// The root folder of a process of this user.
    ///
    /// # Errors
    /// As `fstat(2)`.
    pub fn new(folder: OwnedFd, uid: u32) -> io::Result<RootFolder> {
        let owner = fstat(&folder)?.st_uid;
        Ok(RootFolder { folder, owners: [0, uid, owner], vouched: None })
    }

    /// From now on a folder is trusted although others may replace files in it.
    ///
    /// # Errors
    /// As `openat2(2)` and `fstat(2)`.
    pub fn vouch_for(&mut self, path: &Path) -> io::Result<()> {
        let stat = fstat(self.find(path)?)?;
        self.vouched = Some((stat.st_dev, stat.st_ino));
        Ok(())
    }

    /// What is at a path, to be looked at; a link at its end is not followed.
    ///
    /// # Errors
    /// As `openat2(2)`.
    pub fn find(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.find_by_kernel(path) {
            // Sandboxes of old refuse what they do not know.
            Err(Errno::NOSYS | Errno::PERM) => self.walk(path, Trust::Anybody),
            found => Ok(found?),
        }
    }

    pub(super) fn find_by_kernel(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let mut attempts = 0;
        loop {
            match openat2(&self.folder, path, STAND_FOR, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) if attempts < ATTEMPTS => attempts += 1,
                found => return found,
            }
        }
    }

    /// What is at a path, if nobody could have put something else there but
    /// root, the process's user, or whoever owns its root folder.
    ///
    /// # Errors
    /// As `openat(2)`; `PermissionDenied` when somebody else could have.
    pub fn find_trusted(&self, path: &Path) -> io::Result<OwnedFd> {
        self.walk(path, Trust::Owners)
    }

    /// Goes along a path, name by name. Links are followed in here, so that
    /// none leads out of the root folder.
    pub(super) fn walk(&self, path: &Path, trust: Trust) -> io::Result<OwnedFd> {
        let mut folders = vec![self.folder.try_clone()?];
        let mut names = Vec::new();
        push_names(path, &mut names);
        let mut links = 0;
        while let Some(name) = names.pop() {
            if name == ".." {
                // Above the root folder there is only itself.
                folders.truncate(folders.len().saturating_sub(1).max(1));
                continue;
            }
            let folder = folders.last().ok_or(Errno::NOENT)?;
            let entry = openat(folder, &name, STAND_FOR, Mode::empty())?;
            let stat = fstat(&entry)?;
            if trust == Trust::Owners {
                self.check_folder(&fstat(folder)?)?;
                self.check_owner(&stat)?;
            }
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink if !names.is_empty() || trust == Trust::Owners => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    let target = readlinkat(&entry, "", Vec::new())?.into_bytes();
                    let target = OsString::from_vec(target);
                    if target.as_bytes().starts_with(b"/") {
                        folders.truncate(1);
                    }
                    push_names(Path::new(&target), &mut names);
                }
                FileType::Directory => folders.push(entry),
                _ if !names.is_empty() => return Err(Errno::NOTDIR.into()),
                _ if trust == Trust::Owners && is_writable_by_others(&stat) => {
                    return Err(denied("others may write to it"));
                }
                _ => return Ok(entry),
            }
        }
        let last = folders.pop().ok_or(Errno::NOENT)?;
        if trust == Trust::Owners {
            self.check_folder(&fstat(&last)?)?;
        }
        Ok(last)
    }

    /// Nobody else may put something into a folder in place of what is there:
    /// they may not write to it, or only what is new, as in /tmp.
    fn check_folder(&self, stat: &Stat) -> io::Result<()> {
        self.check_owner(stat)?;
        let is_sticky = Mode::from_raw_mode(stat.st_mode).contains(Mode::SVTX);
        let is_vouched = self.vouched == Some((stat.st_dev, stat.st_ino));
        if is_writable_by_others(stat) && !is_sticky && !is_vouched {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, OpenToOthers));
        }
        Ok(())
    }

    fn check_owner(&self, stat: &Stat) -> io::Result<()> {
        if !self.owners.contains(&stat.st_uid) {
            return Err(denied("it, or a folder that it is in, belongs to another user"));
        }
        Ok(())
    }
}

/// Others may replace what is in a folder.
#[derive(Debug)]
pub struct OpenToOthers;

impl std::error::Error for OpenToOthers {}

impl std::fmt::Display for OpenToOthers {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("others may write to its folder")
    }
}

fn is_writable_by_others(stat: &Stat) -> bool {
    Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH)
}

fn denied(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

/// Puts the names in a path on a stack, the first on top.
fn push_names(path: &Path, names: &mut Vec<OsString>) {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.extend(named.map(OsStr::to_owned).rev());
}

/// Opens for reading what a descriptor stands for, if it is a regular file:
/// to open anything else could block, or set a device going.
///
/// # Errors
/// As `open(2)`, or that it is no regular file.
pub fn open_regular(stands_for: &OwnedFd) -> io::Result<File> {
    if FileType::from_raw_mode(fstat(stands_for)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("not a regular file"));
    }
    reopen(stands_for, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map(File::from)
}

/// Opens what a descriptor stands for: that, and not what has its name by now.
///
/// # Errors
/// As `open(2)`.
pub fn reopen(stands_for: impl AsFd, flags: OFlags) -> io::Result<OwnedFd> {
    let path = own_path(stands_for);
    Ok(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?)
}

/// A path by which this process alone reaches what a descriptor stands for.
pub fn own_path(stands_for: impl AsFd) -> String {
    format!("/proc/self/fd/{}", stands_for.as_fd().as_raw_fd())
}
