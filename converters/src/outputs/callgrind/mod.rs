//! Callgrind profiles: for KCacheGrind a file for each thread, which it shows as
//! parts of one profile; merged into one file for `callgrind_annotate` and
//! speedscope.

mod body;
mod file;
mod functions;
mod graph;
mod header;
mod parts;
mod stale;

use super::{Format, Options, tree::WaitTree};
use crate::profile::Profile;
use body::Body;
use graph::Graph;
use parts::Part;
use rayon::prelude::*;
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "callgrind",
    default_file: "out.callgrind",
    about: "Callgrind profile for KCacheGrind, one part (file) for each thread",
    open_with: "kcachegrind {}",
    stream,
    files: Some(files),
};

/// Workers each hold vectors as long as the call graph; more would cost memory
/// and gain little beside the disk.
const MAX_WORKERS: usize = 8;

/// Writes all threads as one part. It must not stand under the name that the
/// parts of the same profile begin with: KCacheGrind would count both.
fn stream(profile: &Profile, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let tree = WaitTree::new(profile, options.lock_frame, options.lock_identity)?;
    let graph = Graph::new(profile, &tree);
    let parts = parts::plan(profile, options.max_parts);
    let mut body = Body::new(profile, &tree, &graph);
    body.write(&header::merged(profile), &parts, out)
}

/// Writes an empty file at `path` and a part beside it for each thread: as
/// `valgrind --separate-threads=yes` leaves them, and KCacheGrind opens all files
/// whose names begin with the one it is given. Parts of an earlier profile are
/// removed.
fn files(profile: &Profile, options: &Options, path: &Path) -> io::Result<Vec<PathBuf>> {
    if options.merged {
        stale::remove(path)?;
        let write = |out: &mut File| stream(profile, options, out);
        return create(path, false, write).map(|()| vec![path.to_owned()]);
    }
    let tree = WaitTree::new(profile, options.lock_frame, options.lock_identity)?;
    let graph = Graph::new(profile, &tree);
    let parts = parts::plan(profile, options.max_parts);

    stale::remove(path)?;
    create(path, false, |_| Ok(()))?;
    let names: Vec<PathBuf> = parts::suffixes(profile, &parts)
        .iter()
        .map(|suffix| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        })
        .collect();
    let next = AtomicUsize::new(0);
    let write_parts = |_| -> io::Result<()> {
        let mut body = Body::new(profile, &tree, &graph);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((part, name)) = parts.get(at).zip(names.get(at)) else { return Ok(()) };
            write_part(profile, &mut body, part, name)?;
        }
    };
    let workers = rayon::current_num_threads().min(MAX_WORKERS).min(parts.len());
    (0..workers).into_par_iter().try_for_each(write_parts).inspect_err(|_| {
        // Some of the parts would look like all of them. The first error is the
        // one to report.
        let _ = stale::remove(path);
    })?;
    Ok(std::iter::once(path.to_owned()).chain(names).collect())
}

fn write_part(profile: &Profile, body: &mut Body<'_>, part: &Part, name: &Path) -> io::Result<()> {
    let header = header::of_part(profile, part);
    create(name, true, |out| body.write(&header, std::slice::from_ref(part), out))
}

/// Creates a file, which may be no file that exists if `must_be_new`. What could
/// not be written whole is removed.
fn create(
    path: &Path,
    must_be_new: bool,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = if must_be_new { File::create_new(path) } else { File::create(path) };
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            named(io::Error::new(error.kind(), "is in the way, and no part of an earlier profile"))
        }
        _ => named(error),
    })?;
    write(&mut file).map_err(|error| {
        // The first error is the one to report.
        let _ = std::fs::remove_file(path);
        named(error)
    })
}

/// Says which file it is that an error is about.
fn with_path(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
