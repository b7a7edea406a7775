//! What is ambiguous in the recordings that are read together.

use super::{
    groups::GroupTable,
    keys::hash,
    names::{Style, label_hash, method, own, short, whole},
};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use tyrion_formats::Recording;

/// What is known of the locks of a recording.
#[derive(Debug)]
pub(super) struct RecordingLocks {
    /// As of so many definitions.
    stamp: u64,
    pub(super) table: GroupTable,
    pub(super) agreed: Arc<Ambiguities>,
}

/// Which names and labels stand for several, by their hashes; `None` stands for several.
#[derive(Debug, Default)]
pub(super) struct Ambiguities {
    pub(super) style: Style,
    /// What a short name is short for.
    names: HashMap<u64, Option<u64>>,
    /// The print of the group that a label is of.
    labels: HashMap<(u64, u64), Option<u64>>,
}

impl Ambiguities {
    /// Whether a name would stand for several without its package.
    pub(super) fn is_ambiguous(&self, name: &str) -> bool {
        name.contains('/') && self.names.get(&hash(short(name))) == Some(&None)
    }

    /// Whether several groups would have a label.
    pub(super) fn is_shared(&self, label: (u64, u64)) -> bool {
        self.labels.get(&label) == Some(&None)
    }

    /// Whether some group has a label.
    pub(super) fn is_known(&self, label: (u64, u64)) -> bool {
        self.labels.contains_key(&label)
    }

    fn add_names(&mut self, log: &Recording) {
        let exact = log.definitions().places().iter().filter(|(_, place)| place.bytecode != 0);
        let mut methods = BTreeSet::new();
        for (_, place) in exact {
            self.add_name(&own(log, place));
            if methods.insert(place.method) {
                self.add_name(&method(log, place));
            }
        }
    }

    fn add_name(&mut self, name: &str) {
        let is = Some(hash(whole(name)));
        let known = self.names.entry(hash(short(name))).or_insert(is);
        *known = known.filter(|_| *known == is);
    }

    fn add_labels(&mut self, log: &Recording, table: &GroupTable) {
        for group in &table.groups {
            let is = Some(group.print);
            let known = self.labels.entry(label_hash(log, group)).or_insert(is);
            *known = known.filter(|_| *known == is);
        }
    }

    /// Adds what another side found: what is ambiguous there is so everywhere.
    fn add(&mut self, other: Ambiguities) {
        for (label, is) in other.labels {
            let known = self.labels.entry(label).or_insert(is);
            *known = known.and(is.and(*known));
        }
    }
}

impl RecordingLocks {
    /// What is known of a recording, found out if it is not, or not any more.
    pub(super) fn of(log: &Recording) -> Arc<RecordingLocks> {
        RecordingLocks::kept(log).unwrap_or_else(|| {
            agree([log]);
            let alone = || {
                let stamp = log.definitions().of_locks();
                Arc::new(RecordingLocks {
                    stamp,
                    table: GroupTable::new(log),
                    agreed: Arc::default(),
                })
            };
            RecordingLocks::kept(log).unwrap_or_else(alone)
        })
    }

    fn kept(log: &Recording) -> Option<Arc<RecordingLocks>> {
        let stamp = log.definitions().of_locks();
        log.kept::<RecordingLocks>().filter(|known| known.stamp == stamp)
    }
}

/// Lets recordings that are read together agree on what locks are called in all of them.
/// If they have done so before, alone or with others, this changes nothing.
pub fn agree<'a>(logs: impl IntoIterator<Item = &'a Recording>) {
    agree_as(&[logs.into_iter().collect()], Style::Short);
}

/// The same, with whole names and the bytecode of each place: for what is compared with
/// what was told of an earlier state of the recordings.
pub fn agree_on_whole<'a>(logs: impl IntoIterator<Item = &'a Recording>) {
    agree_as(&[logs.into_iter().collect()], Style::Whole);
}

/// The same of recordings that are compared: a lock of one side and one of the other may
/// have the same label, whatever their places are. The program may be another version.
pub fn agree_on_sides(sides: [&[Recording]; 2]) {
    agree_as(&sides.map(|logs| logs.iter().collect()), Style::Short);
}

fn agree_as(sides: &[Vec<&Recording>], style: Style) {
    let logs = || sides.iter().flatten().copied();
    if have_agreed(logs(), style) {
        return;
    }
    let mut agreed = Ambiguities { style, ..Ambiguities::default() };
    let mut tables = Vec::new();
    for side in sides {
        let mut of_side = Ambiguities::default();
        for log in side {
            let table = GroupTable::new(log);
            if !table.is_plain() {
                agreed.add_names(log);
                of_side.add_labels(log, &table);
            }
            tables.push(table);
        }
        agreed.add(of_side);
    }
    let agreed = Arc::new(agreed);
    for (log, table) in logs().zip(tables) {
        let stamp = log.definitions().of_locks();
        log.keep(Arc::new(RecordingLocks { stamp, table, agreed: agreed.clone() }));
    }
}

/// Whether recordings have agreed with one another, on names that are as whole at least,
/// and tell nothing new since.
fn have_agreed<'a>(mut logs: impl Iterator<Item = &'a Recording>, style: Style) -> bool {
    let agreed = |log: &Recording| RecordingLocks::kept(log).map(|known| known.agreed.clone());
    let Some(first) = logs.next() else { return true };
    let Some(first) = agreed(first) else { return false };
    (style == Style::Short || first.style == style)
        && logs.all(|log| agreed(log).is_some_and(|own| Arc::ptr_eq(&first, &own)))
}
