//! Several logs: files, and folders of them, of one recording or of many.

use super::{
    BETWEEN_NAMES, FileOrder, Here, LogFiles, OpenLog, PREPARED, file_order, is_being_written,
    log_and_order, numbered, wall_ns,
};
use crate::{
    inputs::InputArgs,
    outcome::{Failure, tell, tell_step},
};
use std::{
    collections::HashMap,
    io::{self, Read},
    ops::Range,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};
use tyrion_formats::{FileKind, Hints, Recording, limits, open_regular, read_start};
use tyrion_model::{
    filter::{Filter, Moment},
    units::counted,
};
use tyrion_wire::header::{Header, MAGIC};

/// How often a folder is listed again, for files that came meanwhile.
const LISTINGS: usize = 3;

/// Opens several logs, and all that are in a folder. One that is named twice, be it by two
/// names, is counted once: a log that rotates may get another name between two of them.
/// What such a log has lost, or not begun, since somebody listed its files is told and
/// left out, and what it has got since is read.
///
/// # Errors
/// At the first that cannot be opened, or when all are gone.
pub fn open_all(paths: &[PathBuf], inputs: &InputArgs) -> Result<Vec<Recording>, Failure> {
    open_filtered(paths, inputs, &mut Filter::default(), None)
}

/// The same for who filters them so: files that have nothing of the filter's time are left
/// out, if there are others. With `last_ns`, the filter begins so long before the end of the
/// latest.
///
/// # Errors
/// The same.
pub fn open_filtered(
    paths: &[PathBuf],
    inputs: &InputArgs,
    filter: &mut Filter,
    last_ns: Option<u64>,
) -> Result<Vec<Recording>, Failure> {
    let (paths, folders) = expand(paths)?;
    if let Some(last_ns) = last_ns {
        let end_ns = latest_end_ns(&paths, &inputs.hints())?;
        filter.since = Some(Moment::Wall(end_ns.saturating_sub(last_ns)));
    }
    let mut all =
        Together { hints: inputs.hints(), wanted: wanted_of(filter), ..Together::default() };
    for path in &paths {
        all.add_path(path, &paths, &folders)?;
    }
    for path in paths.iter().filter(|path| is_prepared(path)) {
        all.add_new(&numbered(&Here, &path.with_extension("")), &paths)?;
    }
    for _ in 0..LISTINGS {
        let now = folders.iter().filter_map(|folder| logs_in(folder).ok()).flatten();
        all.add_new(&now.collect::<Vec<_>>(), &[])?;
    }
    if all.logs.is_empty()
        && let Some(last) = all.passed_over.take()
    {
        all.wanted = EVER;
        all.read(OpenLog::named(&last)?, false)?;
    }
    match (all.gone, all.logs.is_empty()) {
        (Some(error), true) => return Err(error.into()),
        _ => tell_step(|| {
            let (left, read) = (all.left_out as u64, all.logs.len() as u64);
            format!("{} of other times left out, {} read", counted(left, "file"), read)
        }),
    }
    tell_whole(&all.logs);
    all.logs.iter_mut().for_each(|log| filter.choose_groups(log));
    Ok(all.logs)
}

/// The files that are named, and those in the folders that are, and these folders.
fn expand(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let shown = path.display();
        let logs = logs_in(path).map_err(|error| Failure::new(format!("{shown}: {error}")))?;
        if logs.is_empty() {
            return Err(Failure::new(format!("{shown}: no Tyrion log is in this folder")));
        }
        files.extend(logs);
        folders.push(path.clone());
    }
    Ok((files, folders))
}

/// The logs of Tyrion in a folder, those of each recording in the order of time.
fn logs_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = Here.names(folder)?.into_iter().map(|name| folder.join(name));
    let mut logs: Vec<PathBuf> =
        paths.filter(|path| !is_prepared(path) && starts_as_log(path)).collect();
    logs.sort_by_cached_key(|path| match log_and_order(path) {
        Some((log, order)) => (log, Some(order)),
        // It is written to, or was last.
        None => (path.clone(), Some((LAST.to_owned(), u32::MAX))),
    });
    Ok(logs)
}

/// Behind all times in names.
const LAST: &str = "~";

fn starts_as_log(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let read = open_regular(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MAGIC
}

/// Unix time, ns.
type Wall = Range<u64>;

const EVER: Wall = 0..u64::MAX;

/// Outside of which a filter wants nothing, as far as that is known before logs are read.
fn wanted_of(filter: &Filter) -> Wall {
    let wall = |moment: Option<Moment>| match moment {
        Some(Moment::Wall(ns)) => Some(ns),
        _ => None,
    };
    wall(filter.since).unwrap_or(0)..wall(filter.until).unwrap_or(u64::MAX)
}

/// What a log's header says: when it began, and when it ended if it has.
struct Times {
    began_ns: u64,
    ended_ns: Option<u64>,
}

impl Times {
    /// `None` of what is no log of Tyrion, or damaged.
    fn of(opened: &OpenLog) -> Option<Times> {
        if opened.is_stdin || !opened.file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        let mut block = vec![0; limits::MAX_HEADER_LEN];
        let len = read_start(&opened.file, &mut block).ok()?;
        let header = Header::decode(&block[..len]).ok()?;
        let lasted_ns = header.end_ns.checked_sub(header.mono_ns);
        let ended_ns = lasted_ns.map(|lasted_ns| header.wall_ns.saturating_add(lasted_ns));
        Some(Times { began_ns: header.wall_ns, ended_ns })
    }

    fn meet(&self, wanted: &Wall) -> bool {
        self.began_ns < wanted.end && self.ended_ns.is_none_or(|ended| ended >= wanted.start)
    }
}

/// When the latest of these logs ends, Unix time in ns.
fn latest_end_ns(paths: &[PathBuf], hints: &Hints) -> Result<u64, Failure> {
    let mut latest_ns = 0;
    for path in paths {
        // What is gone is told when all are read.
        let Ok(opened) = OpenLog::named(path) else { continue };
        if opened.is_stdin {
            return Err(Failure::Usage(
                "--last cannot be known of stdin before it is read; use --since=-10m".to_owned(),
            ));
        }
        let end_ns = match Times::of(&opened) {
            Some(Times { ended_ns: Some(ended_ns), .. }) => ended_ns,
            Some(_) if is_being_written(&opened.file) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
            }
            // Its JVM was killed, or it is not one of Tyrion's.
            _ => match opened.read(hints) {
                Ok(log) => wall_ns(&log, log.end_ns()),
                Err(error) if may_be_empty(path, paths) && is_unwritten(&error) => continue,
                Err(error) => return Err(error.into()),
            },
        };
        latest_ns = latest_ns.max(end_ns);
    }
    Ok(latest_ns)
}

/// Has each log know from when to when its whole recording lasts, as far as it is here.
fn tell_whole(logs: &[Recording]) {
    let recording = |log: &Recording| log.facts().metadata("recording").map(str::to_owned);
    let mut whole: HashMap<String, Range<u64>> = HashMap::new();
    for log in logs {
        let Some(id) = recording(log) else { continue };
        let span = whole.entry(id).or_insert(log.start_ns()..log.end_ns());
        *span = span.start.min(log.start_ns())..span.end.max(log.end_ns());
    }
    for log in logs {
        if let Some(span) = recording(log).and_then(|id| whole.get(&id)) {
            log.set_whole(span.clone());
        }
    }
}

/// What was opened so far.
struct Together {
    hints: Hints,
    /// Files that have nothing of this time are left out.
    wanted: Wall,
    logs: Vec<Recording>,
    /// By what they are. As long as a log is mapped, no other file gets its
    /// inode.
    seen: HashMap<(u64, u64), String>,
    /// Why the first one that is gone could not be opened.
    gone: Option<tyrion_formats::Error>,
    left_out: usize,
    /// The last one that was left out.
    passed_over: Option<PathBuf>,
}

impl Default for Together {
    fn default() -> Together {
        Together {
            hints: Hints::default(),
            wanted: EVER,
            logs: Vec::new(),
            seen: HashMap::new(),
            gone: None,
            left_out: 0,
            passed_over: None,
        }
    }
}

impl Together {
    /// Reads one of `paths`, some of which were found in `folders`.
    fn add_path(
        &mut self,
        path: &Path,
        paths: &[PathBuf],
        folders: &[PathBuf],
    ) -> Result<(), Failure> {
        let was_listed = path.parent().is_some_and(|it| folders.iter().any(|folder| folder == it));
        let opened = match OpenLog::named(path) {
            Err(error) if is_gone(&error) && paths.iter().any(|other| is_part(other, path)) => {
                // Between two names for an instant.
                std::thread::sleep(BETWEEN_NAMES);
                OpenLog::named(path)
            }
            opened => opened,
        };
        match opened {
            Err(error) if is_gone(&error) && (was_listed || belongs_to_one_of(path, paths)) => {
                tell(&format!(
                    "note: {} is gone, as its recording rotates; the others are read",
                    path.display()
                ));
                self.gone.get_or_insert(error);
                Ok(())
            }
            opened => self.add(opened?, path, may_be_empty(path, paths)),
        }
    }

    /// Reads one, unless it was, or has nothing of the time that is wanted. Nothing may be in
    /// it yet if it `may_be_empty`.
    fn add(&mut self, opened: OpenLog, path: &Path, may_be_empty: bool) -> Result<(), Failure> {
        let identity = opened.identity();
        if let Some(first) = identity.and_then(|identity| self.seen.get(&identity)) {
            let again = &opened.name;
            tell(&if first == again {
                format!("note: {again} is given twice; it is counted once")
            } else {
                format!("note: {again} is the same file as {first}; it is counted once")
            });
            return Ok(());
        }
        if self.wanted != EVER && Times::of(&opened).is_some_and(|it| !it.meet(&self.wanted)) {
            self.seen.extend(identity.map(|identity| (identity, opened.name)));
            self.left_out += 1;
            self.passed_over = Some(path.to_owned());
            return Ok(());
        }
        self.read(opened, may_be_empty)
    }

    fn read(&mut self, opened: OpenLog, may_be_empty: bool) -> Result<(), Failure> {
        let (identity, name) = (opened.identity(), opened.name.clone());
        let read = opened.read(&self.hints);
        let is_empty = may_be_empty
            && match &read {
                // Its header is not complete.
                Err(error) => is_unwritten(error),
                Ok(log) => log.is_empty(),
            };
        if is_empty {
            tell(&format!("note: {name} is prepared as the next file; nothing is in it yet"));
            return Ok(());
        }
        self.logs.push(read?);
        self.seen.extend(identity.map(|identity| (identity, name)));
        Ok(())
    }

    /// Of these files, reads those that have become others' successors since `paths` were
    /// listed.
    fn add_new(&mut self, found: &[PathBuf], paths: &[PathBuf]) -> Result<(), Failure> {
        let newest_of = |log: &Path| -> Option<FileOrder> {
            let given = paths.iter().filter(|path| is_part(path, log));
            given.filter_map(|path| file_order(path)).max()
        };
        let mut new: Vec<&PathBuf> = found.iter().collect();
        new.retain(|path| {
            let newest = log_and_order(path).and_then(|(log, _)| newest_of(&log));
            newest.is_none_or(|newest| file_order(path) > Some(newest))
        });
        new.sort_by_key(|path| file_order(path));
        for path in new {
            // Another one may have been removed meanwhile.
            let Ok(opened) = OpenLog::named(path) else { continue };
            if opened.identity().is_some_and(|identity| self.seen.contains_key(&identity)) {
                continue;
            }
            tell(&format!("note: {} is new; it is read, too", path.display()));
            self.add(opened, path, false)?;
        }
        Ok(())
    }
}

/// Whether this is the name of a file that is prepared to be the next one.
fn is_prepared(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PREPARED)
}

/// Whether a file is one of those that a log of this name leaves, or prepares,
/// when it rotates.
fn is_part(path: &Path, log: &Path) -> bool {
    log_of(path).is_some_and(|of| of == log)
}

/// The name of the log that leaves or prepares files of this name.
fn log_of(path: &Path) -> Option<PathBuf> {
    match is_prepared(path) {
        true => Some(path.with_extension("")),
        false => log_and_order(path).map(|(log, _)| log),
    }
}

/// Whether a file is one of those, and others of them are here.
fn belongs_to_one_of(path: &Path, paths: &[PathBuf]) -> bool {
    let Some(log) = log_of(path) else { return false };
    let is_other = |other: &&PathBuf| *other != path;
    paths.iter().filter(is_other).any(|other| *other == log || is_part(other, &log))
}

fn may_be_empty(path: &Path, paths: &[PathBuf]) -> bool {
    is_prepared(path) && belongs_to_one_of(path, paths)
}

fn is_gone(error: &tyrion_formats::Error) -> bool {
    let tyrion_formats::Error::Io { source, .. } = error else { return false };
    source.kind() == io::ErrorKind::NotFound
}

/// Whether a file is as its agent leaves it before it writes the header.
fn is_unwritten(error: &tyrion_formats::Error) -> bool {
    use tyrion_formats::Error;
    matches!(error, Error::Empty { .. } | Error::NotALog { seems: FileKind::Zeros, .. })
}
