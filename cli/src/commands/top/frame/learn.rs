//! What a window teaches of classes whose locks go by the class alone.

use crate::{
    commands::top::model::Sums,
    live::{FileNumber, telling::Telling},
};
use std::collections::HashSet;
use tyrion_converters::describe::Names;
use tyrion_formats::{Recording, wire::slot::Pending};

/// Takes up what is to be shown.
pub fn learn(
    telling: &mut Telling,
    sums: &Sums,
    logs: &[(FileNumber, &Recording)],
    pending: &[Pending],
) {
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
            telling.add(&class, &name, kind);
        }
    }
    let mut known: HashSet<(FileNumber, u32, u32, u8)> = HashSet::new();
    for (key, _) in sums.taken.iter().filter(|(_, sum)| sum.count != 0) {
        let Some((file, log)) = log(key.file) else { continue };
        let Some(place) = log.definitions().places().get(key.place) else { continue };
        if known.insert((*file, key.class, place.name, place.kind.code())) {
            let (class, name) = Names(log).class_parts(key.class, place.name);
            telling.add(&class, &name, place.kind);
        }
    }
}
