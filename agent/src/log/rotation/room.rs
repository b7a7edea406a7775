//! No room on the disk: what was allocated before can still be written to, and
//! recording rests until there is more.

use super::Log;
use crate::{
    log::{Generation, file::Trouble},
    sync::lock,
};
use std::time::Duration;

impl Log {
    /// Why there is no room for more, if there is none.
    pub fn lack_of_room(&self) -> Option<String> {
        lock(&self.lack).clone()
    }

    pub(super) fn lacks_room(&self) -> bool {
        lock(&self.lack).is_some()
    }

    /// Looks whether there is room by now, if there was none.
    ///
    /// # Errors
    /// Why there is none.
    pub fn try_for_room(&self) -> Result<(), Trouble> {
        if self.lacks_room() {
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
