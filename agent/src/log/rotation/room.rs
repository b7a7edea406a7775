//! No room on the disk: what was allocated before can still be written to, and
//! recording rests until there is more.

use super::{Helper, Log};
use crate::{
    log::{Generation, file::Trouble},
    sync::lock,
};
use std::time::{Duration, Instant};

/// How often it is tried again to make the file longer.
pub(super) const PERIOD: Duration = Duration::from_secs(1);

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
    pub fn try_for_room(&self) -> Result<(), String> {
        if !self.lacks_room() {
            return Ok(());
        }
        match self.current().log.grow() {
            Ok(()) => {
                self.has_room();
                Ok(())
            }
            Err(Trouble::NoRoom(reason) | Trouble::Broken(reason)) => Err(reason),
        }
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
    /// The reason why the file cannot be written on.
    pub(super) fn tend(&self, helper: &mut Helper, current: &Generation) -> Result<(), String> {
        let is_retry = self.lacks_room();
        let is_time = !is_retry || helper.grow_at.is_none_or(|at| Instant::now() >= at);
        if is_time {
            helper.grow_at = Some(Instant::now() + PERIOD);
        }
        let may_help = is_time && (!is_retry || current.log.may_have_room());
        match current.log.tend(may_help) {
            Ok(()) if may_help => self.has_room(),
            Ok(()) => {}
            Err(Trouble::NoRoom(reason)) => *lock(&self.lack) = Some(reason),
            Err(Trouble::Broken(reason)) => return Err(reason),
        }
        Ok(())
    }
}
