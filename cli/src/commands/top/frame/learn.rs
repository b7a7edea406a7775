//! What a window teaches of classes whose locks go by the class alone.

use crate::{
    commands::top::model::WindowSums,
    live::{FileNumber, telling::TellingClasses},
};
use std::collections::HashSet;
use tyrion_formats::{Recording, wire::slot::Pending};
use tyrion_model::identity::{self, Locks, Node};

/// Takes up what is to be shown.
pub fn learn(
    telling: &mut TellingClasses,
    sums: &WindowSums,
    logs: &[(FileNumber, &Recording)],
    pending: &[Pending],
) {
    // The files of a recording that rotates call the same locks the same.
    identity::agree(logs.iter().map(|(_, log)| *log));
    let log = |file: FileNumber| logs.iter().find(|(number, _)| *number == file);
    let mut known: HashSet<(FileNumber, Node, u8)> = HashSet::new();
    let waited = sums.waits.keys().filter_map(|key| {
        let (file, log) = log(key.file)?;
        let site = log.definitions().sites().get(key.site)?;
        Some((*file, *log, Locks::of(log).at_site(site), site.kind))
    });
    let last = logs.last();
    let pending = pending.iter().filter_map(|pending| {
        let (file, log) = last?;
        Some((*file, *log, Locks::of(log).with_id(pending.lock), pending.kind))
    });
    for (file, log, node, kind) in waited.chain(pending) {
        if known.insert((file, node, kind.code())) {
            let (class, name) = Locks::of(log).label(node);
            telling.add(&class, &name, kind);
        }
    }
    let mut known: HashSet<(FileNumber, Node, u8)> = HashSet::new();
    for (key, _) in sums.taken.iter().filter(|(_, sum)| sum.count != 0) {
        let Some((file, log)) = log(key.file) else { continue };
        let Some(place) = log.definitions().places().get(key.place) else { continue };
        let locks = Locks::of(log);
        let node = locks.at_place(key.place, key.class);
        if known.insert((*file, node, place.kind.code())) {
            let (class, name) = locks.label(node);
            telling.add(&class, &name, place.kind);
        }
    }
}
