//! Reads a recording while it is made: file after file if it rotates.

use super::FileNumber;
use crate::{
    logs::{self, LogFiles},
    outcome::Failure,
    system,
};
use std::{
    cmp::Reverse,
    fs::File,
    path::{Path, PathBuf},
    rc::Rc,
};
use tyrion_formats::{
    Begin, Changes, Entry, Follower, Recording, event_log, identity, read_start, recognise,
};
use tyrion_wire::{header::RecordingState, slot::Pending};

/// The most files created meanwhile that are looked at.
const MOST_NEXT: usize = 100;
/// How files begin that are compressed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What has become of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It goes on.
    Recording,
    /// It may go on, when `tyrion attach` says so.
    Paused,
    /// It ended in an orderly way.
    Closed,
    /// Its file could not be written on.
    Broken,
    /// The process has gone without a word.
    Killed,
}

impl Life {
    /// Whether nothing more will come.
    pub fn has_ended(self) -> bool {
        !matches!(self, Life::Recording | Life::Paused)
    }

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Life::Recording => "recording",
            Life::Paused => "paused",
            Life::Closed => "ended",
            Life::Broken => "broken off",
            Life::Killed => "killed",
        }
    }
}

/// Takes up what a recording tells.
pub trait ChangeSink {
    /// A record of this file.
    fn add(&mut self, file: FileNumber, entry: &Entry<'_>);

    /// What the cells of this file have counted since the last look.
    fn add_changes(&mut self, file: FileNumber, log: &Recording, changes: &Changes);
}

/// The files of a recording, from the one that was opened on.
pub struct Feed {
    /// Opens the files.
    paths: Rc<dyn LogFiles>,
    path: PathBuf,
    files: Vec<FeedFile>,
    life: Life,
    /// The recording has files besides these: earlier ones, or later ones.
    has_others: bool,
}

struct FeedFile {
    number: FileNumber,
    /// What it is, by whatever name.
    identity: (u64, u64),
    follower: Follower,
}

/// Refuses what is not written record by record, so that nothing can be read of it
/// while it grows.
///
/// # Errors
/// What it is instead.
pub fn refuse_others(command: &str, name: &str, file: &File) -> Result<(), Failure> {
    let mut start = [0; GZIP.len()];
    // What cannot be read is told by who reads it next.
    let mut is_packed = || read_start(file, &mut start).is_ok() && start == GZIP;
    let what = match recognise(file) {
        Some(input) if input.name != event_log::INPUT.name => input.what,
        None if is_packed() => "compressed with gzip",
        _ => return Ok(()),
    };
    Err(Failure::new(format!(
        "{name}: offset 0x0: it is {what}, and {command} only follows Tyrion's own logs; \
         tyrion report shows what is in it"
    )))
}

impl Feed {
    /// Opens the file that a log's path stands for now. `begin` says from where
    /// to read, given what has become of the recording. `command` stands in messages.
    ///
    /// # Errors
    /// When it is no log, or cannot be read.
    pub fn open(
        command: &str,
        files: Rc<dyn LogFiles>,
        path: &Path,
        begin: impl FnOnce(Life) -> Begin,
    ) -> Result<Feed, Failure> {
        let name = path.display().to_string();
        let io = |source| Failure::from(tyrion_formats::Error::Io { log: name.clone(), source });
        // What is no regular file cannot grow.
        let file = files.open(path).map_err(io)?;
        refuse_others(command, &name, &file)?;
        // The header tells whether there is more to come.
        let follower = Follower::from_file(&name, file, Begin::Start)?;
        let life = life(follower.recording().facts().state, has_writer(&follower));
        let file = follower.file().try_clone().map_err(io)?;
        let follower = Follower::from_file(&name, file, begin(life))?;
        let first = FeedFile::new(follower)?;
        let rotates = first.follower.recording().facts().metadata("recording").is_some();
        let has_others = rotates && (first.number != 0 || has_number(path));
        Ok(Feed { paths: files, path: path.to_owned(), files: vec![first], life, has_others })
    }

    /// Where the recording was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the recording has files that are not read: those before the one
    /// that was opened, or those after a file that is no longer written to.
    pub fn has_others(&self) -> bool {
        self.has_others
    }

    /// What has become of the recording, as of the last look.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Whether another file has the recording's path now: after its end, that of a
    /// recording that began later.
    pub fn is_replaced(&self) -> bool {
        let Some(newest) = self.files.last() else { return false };
        let there = self.paths.open(&self.path).and_then(|file| identity(&file));
        there.is_ok_and(|there| there != newest.identity)
    }

    /// The log that is written to now.
    pub fn log(&self) -> Option<&Recording> {
        self.files.last().map(|file| file.follower.recording())
    }

    /// The last moment that anything tells of, monotonic ns.
    pub fn last_ns(&self) -> u64 {
        self.files.last().map_or(0, |file| file.follower.last_ns())
    }

    /// The logs that what was told may be of, the newest last.
    pub fn logs(&self) -> Vec<(FileNumber, &Recording)> {
        self.files.iter().map(|file| (file.number, file.follower.recording())).collect()
    }

    /// Who waits now. A switch to another file takes pending waits along.
    pub fn pending(&self) -> &[Pending] {
        self.log().map_or(&[], Recording::pending)
    }

    /// What was found damaged.
    pub fn damage(&self) -> Vec<tyrion_formats::Damage> {
        self.files.iter().flat_map(|file| file.follower.damage()).collect()
    }

    /// Reads what is new.
    ///
    /// # Errors
    /// When a file cannot be read any more.
    pub fn read_on(&mut self, now_ns: u64, taker: &mut impl ChangeSink) -> Result<(), Failure> {
        loop {
            // Asked before reading: what was written before it went is read.
            let is_written = self.files.last().is_some_and(|file| has_writer(&file.follower));
            self.read(now_ns, taker)?;
            let newest = self.files.last().map(|file| file.follower.recording().facts().state);
            self.life = life(newest.unwrap_or(RecordingState::Broken), is_written);
            let more = self.next_files();
            if more.is_empty() {
                break;
            }
            self.files.extend(more);
        }
        if self.life.has_ended() {
            // It may have been closed after what it has was looked at.
            self.read(now_ns, taker)?;
        }
        Ok(())
    }

    fn read(&mut self, now_ns: u64, taker: &mut impl ChangeSink) -> Result<(), Failure> {
        for file in &mut self.files {
            let number = file.number;
            let changes = file.follower.read_on(now_ns, |entry| taker.add(number, &entry))?;
            taker.add_changes(number, file.follower.recording(), &changes);
        }
        Ok(())
    }

    /// Forgets files that ended before this time, but for the newest.
    pub fn forget_before(&mut self, from_ns: u64) {
        let newest = self.files.last().map_or(0, |file| file.number);
        self.files.retain(|file| {
            let end_ns = file.follower.recording().facts().end_ns;
            // Killed at the switch it has no end, and nobody closes it.
            file.number == newest || end_ns == 0 || end_ns >= from_ns
        });
    }

    /// The files of the recording that came after the newest one.
    fn next_files(&self) -> Vec<FeedFile> {
        let Some(newest) = self.files.last() else { return Vec::new() };
        let Some(recording) = newest.follower.recording().facts().metadata("recording") else {
            return Vec::new();
        };
        match self.paths.open(&self.path).and_then(|file| identity(&file)) {
            Ok(there) if there != newest.identity => {}
            // It is still the one that is written to, or its name is gone for
            // the moment of a switch.
            _ => return Vec::new(),
        }
        let is_next = |file: &FeedFile| {
            let header = file.follower.recording().facts();
            header.metadata("recording") == Some(recording) && file.number > newest.number
        };
        let mut paths = logs::numbered(&*self.paths, &self.path);
        paths.retain(|path| logs::name_number(path).is_some_and(|number| number > newest.number));
        // Where they have times, others may be of earlier recordings.
        paths.sort_by_key(|path| Reverse(logs::file_order(path)));
        let paths = paths.into_iter().take(MOST_NEXT).chain([self.path.clone()]);
        let open = |path: PathBuf| {
            let file = self.paths.open(&path).ok()?;
            let name = path.display().to_string();
            FeedFile::new(Follower::from_file(&name, file, Begin::Start).ok()?).ok()
        };
        let files = paths.filter_map(open);
        let mut files: Vec<FeedFile> = files.filter(is_next).collect();
        // A file may have got its number meanwhile, and be there twice.
        files.sort_by_key(|file| file.number);
        files.dedup_by_key(|file| file.number);
        files
    }
}

impl FeedFile {
    fn new(follower: Follower) -> Result<FeedFile, Failure> {
        let name = follower.recording().name();
        let identity = identity(follower.file());
        let identity = identity.map_err(|error| Failure::new(format!("{name}: {error}")))?;
        let number = logs::file_number(follower.recording());
        Ok(FeedFile { number, identity, follower })
    }
}

/// Whether a path is that of a file that is full, `report.log.0`.
fn has_number(path: &Path) -> bool {
    let end = path.extension().unwrap_or_default().as_encoded_bytes();
    !end.is_empty() && end.iter().all(u8::is_ascii_digit)
}

/// What has become of a recording, by its newest file.
fn life(state: RecordingState, is_written: bool) -> Life {
    match state {
        RecordingState::Closed => Life::Closed,
        RecordingState::Broken => Life::Broken,
        _ if !is_written => Life::Killed,
        RecordingState::Paused => Life::Paused,
        RecordingState::Recording => Life::Recording,
    }
}

/// Whether the JVM that writes to a file is there: it holds a lock, or, where
/// the file system knows none, it has mapped the file.
fn has_writer(follower: &Follower) -> bool {
    is_written(follower.file(), follower.recording().facts().pid)
}

/// The same of a file and the JVM that its log names.
pub fn is_written(file: &File, pid: u32) -> bool {
    logs::is_being_written(file) || system::is_mapped(file, pid)
}
