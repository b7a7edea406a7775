//! The log goes on in another file because the user wants that, or has deleted the
//! one that was written to.

use super::{Log, names, set_metadata};
use crate::{
    clock,
    log::{Generation, LogFile, file::Trouble},
    message::say,
    options::Rotation,
    sync::lock,
};
use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::Ordering::Relaxed,
        mpsc::{self, RecvTimeoutError, SyncSender},
    },
    time::Duration,
};

/// How long the switch may take: threads in the middle of an event go over first.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the user is told that files are deleted, at most.
const DELETIONS_TOLD_EVERY_NS: u64 = 60_000_000_000;

/// What the user wants of the log.
pub(super) struct Wanted {
    /// Another path, and the file there; `None` for the same path, whose file gets a
    /// number.
    file: Option<(File, PathBuf)>,
    rotation: Option<Rotation>,
    answer: SyncSender<io::Result<()>>,
}

impl Log {
    /// Has the log go on in another file: in this one, which is empty, or under the
    /// same path, whose file gets a number as in rotation. `rotation` holds from then
    /// on. Returns when it has.
    ///
    /// # Errors
    /// When the file cannot be allocated, or threads are still at a switch before.
    pub fn go_on_in(
        &self,
        file: Option<(File, PathBuf)>,
        rotation: Option<Rotation>,
    ) -> io::Result<()> {
        let path = file.as_ref().map(|(_, path)| path.clone());
        let (answer, answered) = mpsc::sync_channel(1);
        *lock(&self.wanted) = Some(Wanted { file, rotation, answer });
        // Whoever waits for room has something else to do.
        self.lack_ends.notify_one();
        let mut result = answered.recv_timeout(PATIENCE);
        let is_late = matches!(result, Err(RecvTimeoutError::Timeout));
        let is_taken_back = is_late && lock(&self.wanted).take().is_some();
        if is_late && !is_taken_back {
            // It is being done.
            result = answered.recv_timeout(PATIENCE);
        }
        // Nobody needs an empty file; but it may still be switched to.
        let is_unused = is_taken_back || matches!(result, Ok(Err(_)));
        if let Some(path) = path.filter(|_| is_unused) {
            let _ = std::fs::remove_file(path);
        }
        result.unwrap_or_else(|_| {
            Err(io::Error::other("the file before is still being left; try again"))
        })
    }

    /// Does what the user wants, if anything: whether there was a switch.
    pub(super) fn answer_wanted(
        &self,
        current: &Arc<Generation>,
        tidied: &mut impl FnMut() -> io::Result<()>,
    ) -> bool {
        if !self.may_switch() {
            return false;
        }
        let Some(wanted) = lock(&self.wanted).take() else { return false };
        let Wanted { file, rotation, answer } = wanted;
        let result = tidied().and_then(|()| self.go_over(current, file, rotation));
        let is_done = result.is_ok();
        // Whoever asked may have given up.
        let _ = answer.send(result);
        is_done
    }

    /// Goes on in a new file where the one that is written to was deleted, if the log
    /// has several: whether it has, or will as soon as it can; `None` if it cannot.
    pub(super) fn replace_deleted(&self, current: &Arc<Generation>) -> Option<bool> {
        let rotation = self.rotation().filter(|_| current.log.is_deleted())?;
        if !self.may_switch() {
            return Some(false);
        }
        if let Err(error) = self.go_over(current, None, Some(rotation)) {
            // What was deleted takes its room until it is left.
            let Trouble::NoRoom(reason) = Trouble::of(&error) else { return None };
            *lock(&self.lack) = Some(reason);
            return Some(false);
        }
        let (now_ns, told_ns) = (clock::now_ns(), self.deletion_told_ns.load(Relaxed));
        // Whoever clears the folder again and again need not read of it each time.
        if told_ns == 0 || now_ns.saturating_sub(told_ns) >= DELETIONS_TOLD_EVERY_NS {
            self.deletion_told_ns.store(now_ns, Relaxed);
            let path = self.path();
            say(&format!("{}: the file was deleted; a new one is written", path.display()));
        }
        Some(true)
    }

    fn go_over(
        &self,
        current: &Arc<Generation>,
        file: Option<(File, PathBuf)>,
        rotation: Option<Rotation>,
    ) -> io::Result<()> {
        // Held to the end: whoever closes the log waits for it, and closes the new file.
        let mut prepared = lock(&self.prepared);
        if self.is_closed() {
            return Err(io::Error::other("the JVM ends"));
        }
        // It has another length.
        super::drop_prepared(prepared.take());
        let number = current.number + 1;
        let mut header = self.header_of(number);
        if let Some(rotation) = rotation {
            for (key, value) in rotation.in_force() {
                set_metadata(&mut header, key, &value);
            }
        }
        let limit = rotation.map(|rotation| rotation.filesize);
        let log = match file {
            Some((file, path)) => {
                let log = LogFile::start(file, &header, limit)?;
                *lock(&self.path) = path;
                // Those of the log before are kept.
                self.forget_archived();
                log
            }
            None => {
                let (file, next) = names::create_next(&self.path())?;
                let renamed = LogFile::start(file, &header, limit).and_then(|log| {
                    self.rename(current, &next)?;
                    Ok(log)
                });
                renamed.inspect_err(|_| drop(std::fs::remove_file(next)))?
            }
        };
        *lock(&self.rotation) = rotation;
        lock(&self.header).metadata = header.metadata;
        self.begin_generation(number, log);
        self.is_found();
        Ok(())
    }
}
