//! Agents that this program has in itself, where it was installed without files beside
//! it, as `cargo install` does. The JVM needs a file: it is unpacked into the user's
//! cache, and compared each time, since a JVM runs whatever is in it.

use super::{AGENT, Libc};
use crate::outcome::Failure;
use flate2::read::GzDecoder;
use std::{
    fs::{self, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// An agent, packed.
struct PackedAgent {
    libc: &'static str,
    /// Tells builds apart, so that none replaces the file of another.
    build: &'static str,
    gzip: &'static [u8],
}

// Written by build.rs: AGENTS, of all libraries or none.
include!(concat!(env!("OUT_DIR"), "/agents.rs"));

/// An agent is not longer, unpacked.
const LONGEST: u64 = 16 << 20;
const OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The path of an agent's file, which is there from now on; `None` if this program has
/// no agent in itself.
///
/// # Errors
/// When it cannot be written to where nobody else could replace it.
pub fn unpack(libc: Libc) -> Result<Option<PathBuf>, Failure> {
    let Some(packed) = AGENTS.iter().find(|packed| packed.libc == libc.name()) else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let unpacked = GzDecoder::new(packed.gzip).take(LONGEST).read_to_end(&mut bytes);
    unpacked.map_err(|error| Failure::new(format!("the agent in this program: {error}")))?;
    let folder = folder()?.join(packed.build).join(libc.name());
    put(&folder, &bytes).map(Some).map_err(|error| {
        Failure::new(format!(
            "{}: {error}; name another place in XDG_CACHE_HOME, or the agent in TYRION_AGENT",
            folder.display()
        ))
    })
}

/// Where users have what programs can make anew.
fn folder() -> Result<PathBuf, Failure> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || named("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".cache"));
    cache.or_else(home).map(|cache| cache.join("tyrion")).ok_or_else(|| {
        Failure::new(
            "no place for the agent: set HOME or XDG_CACHE_HOME, or name the agent in TYRION_AGENT",
        )
    })
}

/// Has a file with these bytes in a folder: the one that is there, or a new one.
fn put(folder: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    // First what is there: a folder that root has made is in its owner's way later.
    if let Some(there) = folder.ancestors().find(|folder| folder.exists()) {
        check(&there.canonicalize()?, there == folder)?;
    }
    // The JVM may be another user's: it may read and run it.
    fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    let folder = folder.canonicalize()?;
    check(&folder, true)?;
    let path = folder.join(AGENT);
    let is_there = path.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_file() && is_ours(&metadata) && metadata.mode() & OTHERS_MAY_WRITE == 0
    });
    if is_there && fs::read(&path).is_ok_and(|read| read == bytes) {
        return Ok(path);
    }
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(0o755))?;
    // Whoever has the old one mapped keeps it.
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

/// Nobody but the user and root may put another file, or another folder, in place of
/// one that is on the way to a folder, or in it if the agent `is_for` that very folder.
fn check(folder: &Path, is_for: bool) -> io::Result<()> {
    for (depth, folder) in folder.ancestors().enumerate() {
        let metadata = folder.symlink_metadata()?;
        let mode = metadata.mode();
        // In a sticky folder, as /tmp, others may only put something beside.
        let is_open = mode & OTHERS_MAY_WRITE != 0 && (depth == 0 && is_for || mode & STICKY == 0);
        if !is_ours(&metadata) || is_open {
            let folder = folder.display();
            let advice = match is_ours(&metadata) {
                true => format!(" (chmod go-w {folder} changes that)"),
                false => String::new(),
            };
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("another user could replace what is in {folder}{advice}"),
            ));
        }
    }
    Ok(())
}

fn is_ours(metadata: &fs::Metadata) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_another_one_is_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("tyrion/1/glibc");
        let path = put(&folder, b"agent").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"agent");
        let inode = |path: &Path| path.symlink_metadata().unwrap().ino();
        let first = inode(&path);
        assert_eq!(inode(&put(&folder, b"agent").unwrap()), first);
        // Changed, open to others, or a link: a new one each time.
        let target = cache.path().join("planted");
        fs::write(&target, "agent").unwrap();
        let spoil: [&dyn Fn(); 3] = [
            &|| fs::write(&path, "agenu").unwrap(),
            &|| fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap(),
            &|| {
                fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink(&target, &path).unwrap();
            },
        ];
        for (number, spoil) in spoil.iter().enumerate() {
            spoil();
            let before = inode(&path);
            assert_eq!(put(&folder, b"agent").unwrap(), path);
            let metadata = path.symlink_metadata().unwrap();
            assert!(metadata.is_file() && metadata.ino() != before, "{number}");
            assert_eq!(metadata.mode() & 0o777, 0o755);
            assert_eq!(fs::read(&path).unwrap(), b"agent");
        }
        assert_eq!(fs::read(&target).unwrap(), b"agent");
    }

    #[test]
    fn nothing_is_put_where_others_could_replace_it() {
        let cache = tempfile::tempdir().unwrap();
        let open = cache.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        let refused = put(&open.join("tyrion"), b"agent").unwrap_err().to_string();
        assert!(refused.contains("another user could replace what is in"), "{refused}");
        // As in /tmp, where this very test has its folder.
        fs::set_permissions(&open, Permissions::from_mode(0o1777)).unwrap();
        put(&open.join("tyrion"), b"agent").unwrap();
        assert!(put(&open, b"agent").is_err(), "files beside it");
    }
}
