//! Nothing more can be written: there is no room on the disk, and recording rests until
//! there is, or the file is lost, and it rests until the log goes on in another one.

use super::Log;
use crate::{
    log::{Generation, file::Trouble},
    sync::lock,
};
use std::{
    sync::atomic::Ordering::{AcqRel, Acquire, Release},
    time::Duration,
};

impl Log {
    /// Why nothing more can be written for now, if that is so.
    pub fn lack_of_room(&self) -> Option<String> {
        lock(&self.lack).clone()
    }

    pub(super) fn lacks_room(&self) -> bool {
        lock(&self.lack).is_some()
    }

    /// Whether the file that was written to is lost. What was written may still be there.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Acquire)
    }

    /// The file is lost: nothing more is written to it.
    pub(super) fn lose(&self, current: &Generation, reason: &Trouble) {
        current.log.give_up();
        super::drop_prepared(lock(&self.prepared).take());
        *lock(&self.lack) = Some(reason.to_string());
        self.lost.store(true, Release);
    }

    /// The log goes on in another file.
    pub(super) fn is_found(&self) {
        if self.lost.swap(false, AcqRel) {
            self.has_room();
        }
    }

    /// Whether the file that is written to is not to be found by its path: it is lost, or
    /// it was moved, or what was mounted there is not there any more.
    pub fn is_astray(&self) -> bool {
        // Held while files are renamed.
        let _prepared = lock(&self.prepared);
        self.is_lost() || !self.current().log.is_at(&self.path())
    }

    /// Looks whether there is room by now, if there was none.
    ///
    /// # Errors
    /// Why there is none.
    pub fn try_for_room(&self) -> Result<(), Trouble> {
        if let Some(reason) = self.lack_of_room() {
            if self.is_lost() {
                return Err(Trouble::Broken(reason));
            }
            self.current().log.grow_now()?;
            self.has_room();
        }
        Ok(())
    }

    fn has_room(&self) {
        if lock(&self.lack).take().is_some() {
            self.lack_ends.notify_one();
        }
    }

    /// Waits until somebody has found room, the log is closed, or it is time to
    /// look again.
    pub(super) fn await_room(&self, patience: Duration) {
        let lack = lock(&self.lack);
        if lack.is_some() && !self.is_closed() {
            drop(self.lack_ends.wait_timeout(lack, patience));
        }
    }

    /// Keeps a file ahead of its writers, or notes that there is no room.
    ///
    /// # Errors
    /// The file cannot be written on: [`Trouble::Broken`].
    pub(super) fn tend(&self, current: &Generation) -> Result<(), Trouble> {
        match current.log.tend() {
            Ok(()) => self.has_room(),
            Err(Trouble::NoRoom(reason)) => *lock(&self.lack) = Some(reason),
            Err(broken) => return Err(broken),
        }
        Ok(())
    }
}
