//! Which of the earlier files are kept: those that are too many, too large all together,
//! or too old are removed.

use super::{Log, names};
use crate::{
    log::names::{Earlier, Family},
    options::FileNames,
    sync::lock,
};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How often files are looked at when no other one begins: they become older.
const LOOK: Duration = Duration::from_secs(10);

/// The earlier files.
#[derive(Default)]
pub(super) struct Kept {
    /// Those of this recording, the oldest first.
    own: Vec<PathBuf>,
    /// What the user calls the log, with `%p` in it.
    family: Option<Family>,
    /// When they were looked at last; not since there is another one, if `None`.
    looked_at: Option<Instant>,
}

impl Log {
    /// Says what the user calls the log, with `%p` for the process id: earlier recordings
    /// had other ids.
    pub fn set_template(&self, template: &Path) {
        let mut kept = lock(&self.kept);
        kept.family = Some(Family::new(template));
        kept.looked_at = None;
    }

    /// A file has got the name of an earlier one.
    pub(super) fn note_archived(&self, path: PathBuf) {
        let mut kept = lock(&self.kept);
        kept.own.push(path);
        kept.looked_at = None;
    }

    /// The earlier files are another log's.
    pub(super) fn forget_archived(&self) {
        *lock(&self.kept) = Kept::default();
    }

    /// Removes earlier files until those that are left are within the limits.
    pub(super) fn remove_surplus(&self) {
        let Some(rotation) = self.rotation() else { return };
        let path = self.path();
        let (own, family) = {
            let mut kept = lock(&self.kept);
            if kept.looked_at.is_some_and(|at| at.elapsed() < LOOK) {
                return;
            }
            kept.looked_at = Some(Instant::now());
            (kept.own.clone(), kept.family.clone())
        };
        let files = match rotation.filenames {
            // Those of other recordings, too.
            FileNames::Time => family.unwrap_or_else(|| Family::new(&path)).earlier(&path),
            FileNames::Number => own.iter().filter_map(|path| Earlier::of(path)).collect(),
        };
        let own: HashSet<PathBuf> = own.into_iter().collect();
        let mut gone = HashSet::new();
        names::keep_within(&rotation, &files, |path| {
            // Own files may still be finished: that does not need their names. Of others
            // only those are removed that nobody writes to.
            let is_gone = match own.contains(path) {
                true => names::remove_own(path),
                false => names::remove_log(path),
            };
            if is_gone {
                gone.insert(path.to_owned());
            }
            is_gone
        });
        let there: HashSet<&PathBuf> = files.iter().map(|file| &file.path).collect();
        let mut kept = lock(&self.kept);
        // The user may have moved some away. What came meanwhile was not looked at.
        kept.own.retain(|path| !own.contains(path) || there.contains(path) && !gone.contains(path));
    }
}
