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

use super::{
    By, Format, Metrics, OutputOptions,
    create::{write as write_file, write_new},
    facts::RowKinds,
    rows::{RowColumn, Rows},
    tree::{Leaves, StackTree, StateLeaves},
};
use body::Body;
use graph::Graph;
use parts::ThreadPart;
use rayon::prelude::*;
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};
use tyrion_formats::Fact;
use tyrion_model::profile::Profile;

/// The output's registration.
pub const FORMAT: Format = Format {
    name: "callgrind",
    default_file: "out.callgrind",
    about: "Callgrind profile for KCacheGrind, one part (file) for each thread",
    metrics: Metrics::All,
    by: &[By::Waiter, By::Holder, By::Waker],
    features: &[],
    loses: &[Fact::Moments, Fact::Outcomes, Fact::Owners, Fact::Nesting, Fact::Collections],
    looked_at: Some("KCacheGrind"),
    open_with: "kcachegrind {}",
    stream: super::Stream::Sums(stream),
    files: Some(files),
};

/// Workers each hold vectors as long as the call graph; more would cost memory
/// and gain little beside the disk.
const MAX_WORKERS: usize = 8;

/// The columns of logs without trace mode; most logs are such, and their costs
/// shall not take more memory than these need.
const WAIT_COLUMNS: usize = 2;
/// Those of logs with samples alone, or with waits and blame.
const SAMPLE_COLUMNS: usize = 3;
/// Those of trace mode, or of waits and samples.
const MORE_COLUMNS: usize = 5;
/// All columns.
const ALL_COLUMNS: usize = 9;

/// Everything that the parts of a profile have in common.
struct PartContext<'p> {
    profile: &'p Profile,
    rows: Rows<'p>,
    tree: StackTree,
    graph: Graph,
    /// What the costs are, in their order.
    columns: Vec<RowColumn>,
    kinds: RowKinds,
    by: By,
}

impl<'p> PartContext<'p> {
    fn new(profile: &'p Profile, options: &OutputOptions) -> io::Result<PartContext<'p>> {
        let rows = Rows::all(profile, options);
        let tree = StackTree::new(profile, &rows, Leaves::new(options, StateLeaves::ButRunning))?;
        let graph = Graph::new(profile, &tree);
        let mut columns = rows.columns();
        // Reentrant acquisitions cost nothing: they are in pprof's output only.
        columns.retain(|it| !matches!(it, RowColumn::Reentrant | RowColumn::ReentrantError));
        if let [RowColumn::Count, RowColumn::WaitNs, ..] = columns[..] {
            // What comes first is what KCacheGrind shows first.
            columns.swap(0, 1);
        }
        let (kinds, by) = (RowKinds::of(&rows), options.by.unwrap_or(By::Waiter));
        Ok(PartContext { profile, rows, tree, graph, columns, kinds, by })
    }
}

/// Writes all threads as one part. It must not stand under the name that the
/// parts of the same profile begin with: KCacheGrind would count both.
fn stream(profile: &Profile, options: &OutputOptions, out: &mut dyn Write) -> io::Result<()> {
    let shared = PartContext::new(profile, options)?;
    let parts = parts::plan(profile, &shared.rows, options.max_parts);
    let header = header::merged(&shared);
    match shared.columns.len() {
        len if len <= WAIT_COLUMNS => {
            Body::<WAIT_COLUMNS>::new(&shared).write(&header, &parts, out)
        }
        len if len <= SAMPLE_COLUMNS => {
            Body::<SAMPLE_COLUMNS>::new(&shared).write(&header, &parts, out)
        }
        len if len <= MORE_COLUMNS => {
            Body::<MORE_COLUMNS>::new(&shared).write(&header, &parts, out)
        }
        _ => Body::<ALL_COLUMNS>::new(&shared).write(&header, &parts, out),
    }
}

/// Writes an empty file at `path` and a part beside it for each thread: as
/// `valgrind --separate-threads=yes` leaves them, and KCacheGrind opens all files
/// whose names begin with the one it is given. Parts of an earlier profile are
/// removed.
fn files(profile: &Profile, options: &OutputOptions, path: &Path) -> io::Result<Vec<PathBuf>> {
    if options.merged {
        stale::remove(path)?;
        let written = write_file(path, |out| stream(profile, options, out));
        return written.map(|()| vec![path.to_owned()]).map_err(|error| with_path(path, error));
    }
    let shared = PartContext::new(profile, options)?;
    let parts = parts::plan(profile, &shared.rows, options.max_parts);

    stale::remove(path)?;
    // Nor the file that stood for them.
    if path.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == 0) {
        std::fs::remove_file(path).map_err(|error| with_path(path, error))?;
    }
    let names: Vec<PathBuf> = parts::suffixes(profile, &parts)
        .iter()
        .map(|suffix| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        })
        .collect();
    let written = match shared.columns.len() {
        len if len <= WAIT_COLUMNS => write_parts::<WAIT_COLUMNS>(&shared, &parts, &names),
        len if len <= SAMPLE_COLUMNS => write_parts::<SAMPLE_COLUMNS>(&shared, &parts, &names),
        len if len <= MORE_COLUMNS => write_parts::<MORE_COLUMNS>(&shared, &parts, &names),
        _ => write_parts::<ALL_COLUMNS>(&shared, &parts, &names),
    };
    // Parts alone are no profile yet: the file that is opened comes last.
    let opened = |()| write_file(path, |_| Ok(())).map_err(|error| with_path(path, error));
    written.and_then(opened).inspect_err(|_| {
        // Some of the parts would look like all of them. The first error is the
        // one to report.
        let _ = stale::remove(path);
    })?;
    Ok(std::iter::once(path.to_owned()).chain(names).collect())
}

/// Writes the parts to the files of these names.
fn write_parts<const N: usize>(
    shared: &PartContext<'_>,
    parts: &[ThreadPart],
    names: &[PathBuf],
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let write_parts = |_| -> io::Result<()> {
        let mut body = Body::<N>::new(shared);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((part, name)) = parts.get(at).zip(names.get(at)) else { return Ok(()) };
            let header = header::of_part(shared, part);
            write_part(name, |out| body.write(&header, std::slice::from_ref(part), out))?;
        }
    };
    let workers = rayon::current_num_threads().min(MAX_WORKERS).min(parts.len());
    (0..workers).into_par_iter().try_for_each(write_parts)
}

/// Writes a part, which may be no file that exists.
fn write_part(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write_new(path, write).map_err(|error| {
        let in_the_way = "is in the way, and not part of an earlier profile";
        let is_there = error.kind() == io::ErrorKind::AlreadyExists;
        with_path(path, if is_there { io::Error::new(error.kind(), in_the_way) } else { error })
    })
}

/// Says which file it is that an error is about.
fn with_path(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
