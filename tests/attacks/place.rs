//! Where a process of an attack runs: its mounts, its root folder, its process
//! ids and its rights.

use super::actor::ActorPart;
use std::{ffi::CString, io, os::unix::ffi::OsStrExt, path::Path};

/// Ends this process with the one that started it.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: sets a number.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })
}

/// Goes on as a child with process ids of its own; this process waits for it.
pub fn contain() -> io::Result<()> {
    // SAFETY: this process has one thread, and goes on as two.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWPID))?;
        let child = libc::fork();
        check(child)?;
        if child > 0 {
            libc::waitpid(child, std::ptr::null_mut(), 0);
            libc::_exit(0);
        }
    }
    die_with_parent()
}

/// Mounts what is its own, and makes its root folder its root.
pub fn mount(part: &ActorPart) -> io::Result<()> {
    if !part.mounts.is_empty() || part.root.is_some() {
        // SAFETY: this process has one thread.
        check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
        mount_at(Path::new("none"), Path::new("/"), libc::MS_REC | libc::MS_PRIVATE)?;
    }
    for (from, to) in &part.mounts {
        mount_at(from, to, libc::MS_BIND | libc::MS_REC)?;
    }
    for (folder, options) in &part.tmpfs {
        let (folder, options) = (c_text(folder), c_text(Path::new(options)));
        let kind = c"tmpfs".as_ptr();
        // SAFETY: the names and the options end with a zero byte.
        check(unsafe {
            let flags = if part.no_programs { libc::MS_NOEXEC } else { 0 };
            libc::mount(kind, folder.as_ptr(), kind, flags, options.as_ptr().cast())
        })?;
    }
    if part.is_contained {
        let proc = c_text(&part.root.clone().unwrap_or("/".into()).join("proc"));
        let (kind, none) = (c"proc".as_ptr(), std::ptr::null());
        // SAFETY: the names end with a zero byte, and the last one may be missing.
        check(unsafe { libc::mount(kind, proc.as_ptr(), kind, 0, none) })?;
    }
    let Some(root) = &part.root else { return Ok(()) };
    if part.pivots {
        mount_at(root, root, libc::MS_BIND | libc::MS_REC)?;
        if part.is_read_only {
            mount_at(root, root, libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY)?;
        }
        std::env::set_current_dir(root)?;
        let here = c".".as_ptr();
        // SAFETY: the names end with a zero byte.
        unsafe {
            check(libc::syscall(libc::SYS_pivot_root, here, here) as libc::c_int)?;
            return check(libc::umount2(here, libc::MNT_DETACH));
        }
    }
    std::os::unix::fs::chroot(root)?;
    std::env::set_current_dir("/")
}

fn mount_at(from: &Path, to: &Path, flags: libc::c_ulong) -> io::Result<()> {
    let (from, to) = (c_text(from), c_text(to));
    let none = std::ptr::null();
    // SAFETY: the names end with a zero byte, and the others may be missing.
    check(unsafe { libc::mount(from.as_ptr(), to.as_ptr(), none, flags, none.cast()) })
}

/// Becomes a user whose rights no other has.
pub fn drop_rights(id: u32) -> io::Result<()> {
    // SAFETY: one group is passed, and counted; the others are numbers.
    unsafe {
        check(libc::setgroups(1, &id))?;
        check(libc::setresgid(id, id, id))?;
        check(libc::setresuid(id, id, id))?;
        // As a program that was started by its user.
        check(libc::prctl(libc::PR_SET_DUMPABLE, 1))?;
    }
    die_with_parent()
}

/// Becomes root in a user namespace of its own, in which it is the only user.
pub fn map_users(id: u32) -> io::Result<()> {
    // SAFETY: this process has one thread.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {id} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {id} 1"))
}

/// A path as C takes it.
pub fn c_text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("a path has no zero byte")
}

/// What the kernel answered, if that is less than zero an error.
pub fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
