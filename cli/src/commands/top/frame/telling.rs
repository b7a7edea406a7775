//! Classes whose locks go by the class alone.

use super::{super::model::Sums, FileNumber, clean_class};
use std::collections::{HashMap, HashSet};
use tyrion_converters::{describe::Names, filter::Kinds};
use tyrion_formats::{Recording, wire::slot::Pending};
use tyrion_report::findings::groups::is_telling;
use tyrion_wire::WaitKind;

/// Classes of the program's own of which some locks were seen that have no
/// name: as in the report, all locks of such a class are one row, or else the
/// waits for an object would stand in one and its acquisitions in another.
/// What was seen stays, so that rows do not come and go with the window.
#[derive(Clone, Debug, Default)]
pub struct Telling {
    /// By class: how locks without a name were waited for, or taken.
    unnamed: HashMap<String, HashSet<u8>>,
}

impl Telling {
    /// Takes up what is to be shown.
    pub fn learn(&mut self, sums: &Sums, logs: &[(FileNumber, &Recording)], pending: &[Pending]) {
        let log = |file: FileNumber| logs.iter().find(|(number, _)| *number == file);
        let mut known: HashSet<(FileNumber, u32, u8)> = HashSet::new();
        let waited = sums.waits.keys().filter_map(|key| {
            let (file, log) = log(key.file)?;
            let site = log.definitions().sites().get(key.site)?;
            Some((*file, *log, site.lock, site.kind))
        });
        let last = logs.last();
        let pending = pending.iter().filter_map(|pending| {
            let (file, log) = last?;
            Some((*file, *log, pending.lock, pending.kind))
        });
        for (file, log, lock, kind) in waited.chain(pending) {
            if known.insert((file, lock, kind.code())) {
                let (class, name) = Names(log).lock_parts(lock);
                self.add(class, &name, kind);
            }
        }
        let mut known: HashSet<(FileNumber, u32, u32, u8)> = HashSet::new();
        for (key, _) in sums.taken.iter().filter(|(_, sum)| sum.count != 0) {
            let Some((file, log)) = log(key.file) else { continue };
            let Some(place) = log.definitions().places().get(key.place) else { continue };
            if known.insert((*file, key.class, place.name, place.kind.code())) {
                let (class, name) = Names(log).class_parts(key.class, place.name);
                self.add(class, &name, place.kind);
            }
        }
    }

    fn add(&mut self, class: String, name: &str, kind: WaitKind) {
        if name.is_empty() && is_telling(&class) {
            self.unnamed.entry(clean_class(&class)).or_default().insert(kind.code());
        }
    }

    /// Whether all locks of a class go by it, where these kinds are shown.
    pub(super) fn holds(&self, class: &str, kinds: Kinds) -> bool {
        let is_shown =
            |&code: &u8| WaitKind::from_code(code).is_some_and(|kind| kinds.contains(kind));
        self.unnamed.get(class).is_some_and(|of_class| of_class.iter().any(is_shown))
    }
}
