//! The log: one file, or, with `filesize`, one after another.
//!
//! As GC logs have it, `report.log` is written to; when it is long enough, or has been
//! written to for long enough, it becomes `report.log.0`, `.1`, ..., or gets the name of
//! its time, and the oldest are removed. A helper
//! thread prepares the next file ahead and switches: from then on
//! [`Log::generation_number`] is another one, and whoever begins an event sees
//! that and goes over to the new [`Generation`]. Those in the middle of an event
//! finish it in the old one, which stays as it is until nobody is left there. No
//! thread of the application waits for any of this.
//!
//! All ids but those of locks and places are new in each generation, so a file
//! needs nothing of the others. What outlasts a switch are pending waits: as
//! long as any still has ids of the generation before, the dictionary of that one
//! says what they stand for, and until then there is no further switch.

mod kept;
mod room;

use crate::{
    clock,
    log::{
        Generation, LogFile,
        file::{RETRY as RETRY_ROOM, Trouble},
        names,
    },
    message::say,
    options::{FileNames, Rotation},
    spawn,
    sync::{lock, try_lock_for},
};
use kept::Kept;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, OnceLock,
        atomic::{
            AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};
use tyrion_wire::header::{self, Header, RecordingState};
use wanted::Wanted;

/// How the helper looks after the log when nobody wakes it.
const PATIENCE: Duration = Duration::from_millis(200);
/// The same while there is much to do for a switch.
const HURRY: Duration = Duration::from_millis(2);
/// How long Java code may still store into cells of a file that has ended.
const GRACE: Duration = Duration::from_secs(2);
/// At most this many files may wait to be cut and closed: until then each
/// takes what was allocated ahead for it.
const UNFINISHED: usize = 4;
/// After a failure, the next file is tried again after this time.
const RETRY: Duration = Duration::from_secs(10);

/// What runs on the helper thread right after a switch.
type OnSwitch = fn(&Arc<Generation>);

/// The log.
pub struct Log {
    path: Mutex<PathBuf>,
    /// Changed while there is a switch.
    rotation: Mutex<Option<Rotation>>,
    /// Another file that the user wants.
    wanted: Mutex<Option<Wanted>>,
    /// What the next file's header says. Held while there is a switch.
    header: Mutex<Header>,
    current: Mutex<Arc<Generation>>,
    /// The generation before, while waits have ids of it.
    previous: Mutex<Option<Arc<Generation>>>,
    number: AtomicU32,
    dead: AtomicBool,
    closed: AtomicBool,
    /// Why nothing more can be written for now, if that is so.
    lack: Mutex<Option<String>>,
    /// When the user was last told that a file was deleted, monotonic ns; 0: never.
    deletion_told_ns: AtomicU64,
    /// The lack may have ended, or the log has.
    lack_ends: Condvar,
    /// It cannot end before the log goes on in another file.
    lost: AtomicBool,
    prepared: Mutex<Option<Prepared>>,
    kept: Mutex<Kept>,
    leftovers: Mutex<Leftovers>,
    /// How many generations are not finished, besides the current one.
    unfinished: AtomicUsize,
    /// There are leftovers, or the log has ended.
    tidy: Condvar,
    /// Held while leftovers are at work.
    tidying: Mutex<()>,
    on_switch: OnceLock<OnSwitch>,
}

/// The next file.
struct Prepared {
    log: LogFile,
    path: PathBuf,
}

/// What earlier generations have left to do.
#[derive(Default)]
struct Leftovers {
    ending: Vec<Ending>,
}

/// A generation that nothing more is written to.
struct Ending {
    generation: Arc<Generation>,
    end_ns: u64,
    since: Instant,
}

/// What the helper thread keeps for itself.
#[derive(Default)]
struct Helper {
    /// Not before this there is another attempt.
    retry_at: Option<Instant>,
    /// Whether the user knows that there is no next file.
    warned: bool,
}

impl Log {
    /// Starts a log in an empty file.
    ///
    /// # Errors
    /// When the file cannot be allocated or mapped.
    pub fn start(
        file: File,
        path: PathBuf,
        mut header: Header,
        rotation: Option<Rotation>,
    ) -> io::Result<Log> {
        // Also where no other file is to follow: the user may want one later.
        header.metadata.push(("recording".to_owned(), recording_id(&header)));
        header.metadata.push((FILE_NUMBER.to_owned(), "0".to_owned()));
        let log = LogFile::start(file, &header, rotation.map(|rotation| rotation.filesize))?;
        let first = Arc::new(Generation::new(0, log, rotation.is_some()));
        Ok(Log {
            path: Mutex::new(path),
            rotation: Mutex::new(rotation),
            wanted: Mutex::default(),
            header: Mutex::new(header),
            current: Mutex::new(first),
            previous: Mutex::default(),
            number: AtomicU32::new(0),
            dead: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            lack: Mutex::default(),
            deletion_told_ns: AtomicU64::new(0),
            lack_ends: Condvar::new(),
            lost: AtomicBool::new(false),
            prepared: Mutex::default(),
            kept: Mutex::default(),
            leftovers: Mutex::default(),
            unfinished: AtomicUsize::new(0),
            tidy: Condvar::new(),
            tidying: Mutex::default(),
            on_switch: OnceLock::new(),
        })
    }

    /// Has the metadata of files that begin from now on say this of a key.
    pub fn set_metadata(&self, key: &str, value: &str) {
        // Held to the end: no file begins meanwhile. What is prepared says what was so
        // before, and is prepared once more.
        let mut prepared = lock(&self.prepared);
        drop_prepared(prepared.take());
        set_metadata(&mut lock(&self.header), key, value);
    }

    /// How long a file becomes, in bytes, if another one follows.
    pub fn filesize(&self) -> Option<u64> {
        self.rotation().map(|rotation| rotation.filesize)
    }

    /// How long files become and how many are kept; `None` for one file without end.
    pub fn rotation(&self) -> Option<Rotation> {
        *lock(&self.rotation)
    }

    /// A moment, monotonic ns, as the current file has it in Unix time, in ns.
    pub fn wall_ns(&self, at_ns: u64) -> u64 {
        let header = lock(&self.header);
        header.wall_ns.saturating_add(at_ns).saturating_sub(header.mono_ns)
    }

    /// The path, absolute, of the file that is written to.
    pub fn path(&self) -> PathBuf {
        lock(&self.path).clone()
    }

    /// Gives the file another name, which must be free and in the same file system.
    ///
    /// # Errors
    /// As `link(2)`; and for a log that has several files.
    pub fn move_to(&self, path: &Path) -> io::Result<()> {
        if self.rotation().is_some() {
            return Err(io::Error::other("a log with filesize cannot be moved"));
        }
        let path = std::path::absolute(path)?;
        let mut now = lock(&self.path);
        names::rename_new(&now, &path)?;
        *now = path;
        Ok(())
    }

    /// The number of the current generation: when it changes, all ids, places and
    /// chunks of before are out of date.
    #[inline]
    pub fn generation_number(&self) -> u32 {
        self.number.load(Acquire)
    }

    /// The generation to begin something in.
    pub fn current(&self) -> Arc<Generation> {
        Arc::clone(&lock(&self.current))
    }

    /// The generation before, while waits may have ids of it.
    pub fn previous(&self) -> Option<Arc<Generation>> {
        lock(&self.previous).clone()
    }

    /// Has something run on the helper thread right after each switch, with
    /// the new generation. To be called once.
    pub fn on_switch(&self, run: fn(&Arc<Generation>)) {
        let _ = self.on_switch.set(run);
    }

    /// Whether the log has ended in an orderly way.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Whether recording has stopped for good.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Relaxed)
    }

    /// Says in the log whether recording is on, unless the log has ended.
    pub fn set_state(&self, state: RecordingState) {
        let mut header = lock(&self.header);
        header.state = state;
        self.current().log.set_state(state);
    }

    /// Says in the log below which duration waits are folded.
    pub fn set_threshold_ns(&self, threshold_ns: u64) {
        let mut header = lock(&self.header);
        header.threshold_ns = threshold_ns;
        let current = self.current();
        current.log.header().u64_at(header::field::THRESHOLD_NS).store(threshold_ns, Relaxed);
    }

    /// Ends the log in an orderly way. Threads may go on writing into the
    /// chunks that they have.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        let end_ns = clock::now_ns();
        // A disk that hangs shall not hang the JVM's end.
        if let Some(mut prepared) = try_lock_for(&self.prepared, Duration::from_secs(1)) {
            drop_prepared(prepared.take());
        }
        self.tidy.notify_one();
        self.lack_ends.notify_one();
        // Who has it may be held up by that disk.
        if let Some(_tidied) = try_lock_for(&self.tidying, Duration::from_secs(1)) {
            self.remove_surplus();
        }
        let leftovers = lock(&self.leftovers);
        for ending in &leftovers.ending {
            ending.generation.log.close(ending.end_ns);
        }
        drop(leftovers);
        if let Some(previous) = self.previous() {
            previous.log.close(end_ns);
        }
        self.current().log.close(end_ns);
    }

    /// Recording stops for good; what was written stays.
    pub fn give_up(&self) {
        self.dead.store(true, Relaxed);
        self.current().log.give_up();
    }

    /// What the helper thread does for ever: keeps the file ahead of its
    /// writers, and switches to the next one. `go_over` has lanes and waits go
    /// over from one generation to another, and says whether all have. `each` gets
    /// the current one time and again, and whether nothing more can be written: recording
    /// is to pause then. Returns when the log is closed, or with the reason why it
    /// cannot be kept.
    pub fn keep(
        &self,
        go_over: impl Fn(&Arc<Generation>, &Arc<Generation>) -> bool,
        each: impl Fn(&Generation, bool),
    ) -> Option<String> {
        std::thread::scope(|scope| {
            let mut is_tidied = false;
            let tidied = || {
                if is_tidied {
                    return Ok(());
                }
                // Cutting and removing files takes up to half a second on a busy
                // disk: not while threads need room.
                let tidy = std::thread::Builder::new().name("tyrion-tidy".to_owned());
                tidy.spawn_scoped(scope, || spawn::counted(|| self.keep_tidy())).map_err(
                    |error| io::Error::other(format!("no thread for rotation: {error}")),
                )?;
                is_tidied = true;
                Ok(())
            };
            let reason = self.keep_ahead(go_over, each, tidied);
            self.tidy.notify_one();
            reason
        })
    }

    fn keep_ahead(
        &self,
        go_over: impl Fn(&Arc<Generation>, &Arc<Generation>) -> bool,
        each: impl Fn(&Generation, bool),
        mut tidied: impl FnMut() -> io::Result<()>,
    ) -> Option<String> {
        let mut helper = Helper::default();
        if self.rotation().is_some()
            && let Err(error) = tidied()
        {
            return Some(error.to_string());
        }
        loop {
            let current = self.current();
            let may_switch = self.may_switch();
            if self.lacks_room() {
                self.await_room(if may_switch { RETRY_ROOM } else { HURRY });
            } else {
                let patience = if may_switch { PATIENCE } else { HURRY };
                current.log.wait(patience, may_switch && helper.may_try());
            }
            if self.is_closed() || self.is_dead() {
                drop_prepared(lock(&self.prepared).take());
                return None;
            }
            if !self.is_lost()
                && let Err(reason) = self.tend(&current)
            {
                match self.replace_deleted(&current) {
                    Some(true) => continue,
                    Some(false) => {}
                    None => self.lose(&current, &reason),
                }
            }
            each(&current, self.lacks_room());
            self.leave_previous(&current, &go_over);
            if self.answer_wanted(&current, &mut tidied) {
                continue;
            }
            if let Some(rotation) = self.rotation().filter(|_| !self.is_lost()) {
                self.rotate(&mut helper, &current, rotation);
            }
        }
    }

    /// Has what is still in the generation before go over, and lets go of it when
    /// all has.
    fn leave_previous(
        &self,
        current: &Arc<Generation>,
        go_over: impl Fn(&Arc<Generation>, &Arc<Generation>) -> bool,
    ) {
        let Some(previous) = self.previous() else { return };
        // Threads may be in the middle of an event there. Should the disk be
        // full they lose that, and count it.
        let _ = previous.log.grow();
        previous.log.seal_retired();
        if go_over(&previous, current) {
            current.log.settle();
            *lock(&self.previous) = None;
            let (end_ns, since) = (clock::now_ns(), Instant::now());
            self.unfinished.fetch_add(1, Relaxed);
            lock(&self.leftovers).ending.push(Ending { generation: previous, end_ns, since });
            self.tidy.notify_one();
        }
    }

    /// Seals and closes the generations that nobody has any more.
    fn finish_ended(&self) {
        let is_done = |ending: &mut Ending| {
            // Nobody can get hold of it again.
            Arc::strong_count(&ending.generation) == 1
                && (!ending.generation.log.is_known_to_java() || ending.since.elapsed() >= GRACE)
        };
        let done: Vec<Ending> = lock(&self.leftovers).ending.extract_if(.., is_done).collect();
        for ending in done {
            ending.generation.log.finish(ending.end_ns);
            drop(ending);
            self.unfinished.fetch_sub(1, Relaxed);
            // There may be another file for each that is finished: what is surplus
            // must not pile up meanwhile.
            self.remove_surplus();
        }
    }

    /// What the other helper does for ever: it ends and removes files.
    fn keep_tidy(&self) {
        while !self.is_closed() && !self.is_dead() {
            let leftovers = lock(&self.leftovers);
            drop(self.tidy.wait_timeout(leftovers, PATIENCE));
            let _tidying = lock(&self.tidying);
            self.remove_surplus();
            self.finish_ended();
        }
    }

    /// Whether the generations before are done with.
    fn may_switch(&self) -> bool {
        lock(&self.previous).is_none() && self.unfinished.load(Relaxed) < UNFINISHED
    }

    fn rotate(&self, helper: &mut Helper, current: &Arc<Generation>, rotation: Rotation) {
        let is_due = rotation.filetime.is_some_and(|most| self.is_written_for(most));
        if !(is_due || current.log.is_nearly_full()) || !helper.may_try() {
            return;
        }
        let result = self.prepare(current.number + 1, rotation).and_then(|()| {
            let now = self.may_switch() && (is_due || current.log.is_full());
            if now { self.switch(current) } else { Ok(()) }
        });
        match result {
            Ok(()) => helper.retry_at = None,
            Err(error) => {
                helper.retry_at = Some(Instant::now() + RETRY);
                // That is said when this file cannot grow either.
                let is_told = matches!(Trouble::of(&error), Trouble::NoRoom(_));
                if !is_told && !std::mem::replace(&mut helper.warned, true) {
                    let path = self.path();
                    let path = path.display();
                    say(&format!("{path}: no further file: {error}; this one grows instead"));
                }
            }
        }
    }

    /// Whether the current file has been written to for so long. While nothing is recorded
    /// it goes on: files with nothing in them would have others removed.
    fn is_written_for(&self, most: Duration) -> bool {
        let header = lock(&self.header);
        let for_ns = clock::now_ns().saturating_sub(header.mono_ns);
        header.state == RecordingState::Recording && Duration::from_nanos(for_ns) >= most
    }

    fn prepare(&self, number: u32, rotation: Rotation) -> io::Result<()> {
        let mut prepared = lock(&self.prepared);
        if prepared.is_some() || self.is_closed() {
            return Ok(());
        }
        let header = self.header_of(number);
        let (file, path) = names::create_next(&self.path())?;
        match LogFile::start(file, &header, Some(rotation.filesize)) {
            Ok(log) => *prepared = Some(Prepared { log, path }),
            Err(error) => {
                let _ = std::fs::remove_file(path);
                return Err(error);
            }
        }
        Ok(())
    }

    /// What the header of the file of this number says.
    fn header_of(&self, number: u32) -> Header {
        let mut header = lock(&self.header);
        set_metadata(&mut header, FILE_NUMBER, &number.to_string());
        header.clone()
    }

    fn switch(&self, current: &Arc<Generation>) -> io::Result<()> {
        let mut prepared = lock(&self.prepared);
        if self.is_closed() {
            return Ok(());
        }
        let Some(Prepared { log, path }) = prepared.take() else { return Ok(()) };
        if !log.is_at(&path) {
            // Somebody has removed it: another one is prepared, and switched to.
            return Ok(());
        }
        let number = current.number + 1;
        if let Err(error) = self.rename(current, &path) {
            *prepared = Some(Prepared { log, path });
            return Err(error);
        }
        self.begin_generation(number, log);
        Ok(())
    }

    /// From now on events begin in this file.
    fn begin_generation(&self, number: u32, log: LogFile) {
        let generation = {
            let mut header = lock(&self.header);
            (header.wall_ns, header.mono_ns) = (clock::wall_ns(), clock::now_ns());
            log.begin(&header);
            let generation = Arc::new(Generation::new(number, log, self.rotation().is_some()));
            let mut previous = lock(&self.previous);
            let mut current = lock(&self.current);
            current.log.note_continued();
            *previous = Some(std::mem::replace(&mut current, Arc::clone(&generation)));
            self.number.store(number, Release);
            generation
        };
        self.tidy.notify_one();
        if let Some(run) = self.on_switch.get() {
            run(&generation);
        }
    }

    /// Gives the current file its number and the next one its name.
    fn rename(&self, current: &Generation, next: &Path) -> io::Result<()> {
        let path = self.path();
        if current.log.is_at(&path) {
            let archived = self.name_of_earlier(&path, current.number);
            let replaced = names::replace(&path, &archived, next);
            if archived.symlink_metadata().is_ok() {
                self.note_archived(archived);
            }
            return replaced;
        }
        if path.symlink_metadata().is_ok() {
            return self.rename_beside(&path, next);
        }
        // Somebody has moved it, and keeps it.
        std::fs::rename(next, &path)
    }

    /// A name that the file of this number gets, where nothing is.
    fn name_of_earlier(&self, path: &Path, number: u32) -> PathBuf {
        let began_ns = lock(&self.header).wall_ns;
        let is_by_time = self.rotation().is_some_and(|it| it.filenames == FileNames::Time);
        let name = |number| match is_by_time {
            true => names::archived_by_time(path, began_ns, number),
            false => names::archived(path, number),
        };
        let free = (number..=u32::MAX).map(name).find(|path| path.symlink_metadata().is_err());
        free.unwrap_or_else(|| name(number))
    }

    /// Gives the next file a name of this process's own: somebody has moved the current one, and
    /// put another file there, which is not ours.
    fn rename_beside(&self, path: &Path, next: &Path) -> io::Result<()> {
        let own = names::own(path);
        names::rename_new(next, &own)?;
        say(&format!(
            "{}: not this log any more, which goes on in {}",
            path.display(),
            own.display()
        ));
        *lock(&self.path) = own;
        Ok(())
    }
}

impl Helper {
    fn may_try(&self) -> bool {
        self.retry_at.is_none_or(|at| Instant::now() >= at)
    }
}

/// The key in the metadata of a file's number.
const FILE_NUMBER: &str = "file-number";

/// Has the header say this of a key, whether it did before or not.
fn set_metadata(header: &mut Header, key: &str, value: &str) {
    match header.metadata.iter_mut().find(|(known, _)| known == key) {
        Some((_, old)) => value.clone_into(old),
        None => header.metadata.push((key.to_owned(), value.to_owned())),
    }
}

/// What the files of one recording have in common, and no others.
fn recording_id(header: &Header) -> String {
    format!("{:x}-{:x}", header.wall_ns, header.pid)
}

fn drop_prepared(prepared: Option<Prepared>) {
    if let Some(Prepared { log, path }) = prepared {
        drop(log);
        let _ = std::fs::remove_file(path);
    }
}

mod wanted;

#[cfg(test)]
mod tests;
