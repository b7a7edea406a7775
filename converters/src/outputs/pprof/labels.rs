//! The labels of samples, encoded once: a million samples share some thousands.

use crate::outputs::{
    OutputOptions,
    rows::{OutputRow, RowOwner},
    tables::Strings,
};
use tyrion_model::{
    harmless, names,
    profile::{Function, Profile, State},
};
use tyrion_wire::{WaitKind, varint};

/// `Sample.label`, a message.
const LABEL: u8 = 3 << 3 | 2;
/// `Label.key` and `Label.str`, numbers of strings.
const KEY: u8 = 1 << 3;
const STR: u8 = 2 << 3;

/// The labels with one key.
#[derive(Default)]
struct KeyLabels {
    /// The string that each thing has, by its number; 0, the empty string, for none.
    values: Vec<i64>,
    /// The labels as they stand in a sample, one behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyLabels {
    fn new(key: i64, values: Vec<i64>) -> KeyLabels {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(values.len()));
        let mut label = Vec::new();
        // The empty string is how a label says that it is a number.
        for &value in &values {
            if value != 0 {
                label.clear();
                for (tag, id) in [(KEY, key), (STR, value)] {
                    label.push(tag);
                    varint::put(&mut label, id as u64);
                }
                bytes.push(LABEL);
                varint::put(&mut bytes, label.len() as u64);
                bytes.extend_from_slice(&label);
            }
            ends.push(bytes.len());
        }
        KeyLabels { values, bytes, ends }
    }

    fn value(&self, at: usize) -> i64 {
        self.values.get(at).copied().unwrap_or(0)
    }

    /// The label of a thing; nothing if it has none.
    fn put(&self, at: usize, out: &mut Vec<u8>) {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).unwrap_or(&0);
        let end = self.ends.get(at).unwrap_or(&0);
        out.extend_from_slice(self.bytes.get(*start..*end).unwrap_or_default());
    }
}

/// Every label that a sample may have.
pub(super) struct LabelTable {
    /// Whether threads are told apart; without, these and owners have no labels.
    pub(super) tells_threads: bool,
    thread: KeyLabels,
    /// Of a row whose thread is the owner, by that thread.
    own: KeyLabels,
    owner: KeyLabels,
    lock: KeyLabels,
    lock_class: KeyLabels,
    kind: KeyLabels,
    /// Only if threads were sampled.
    state: KeyLabels,
    /// By stack; only if there are groups.
    group: KeyLabels,
}

impl LabelTable {
    pub(super) fn new(
        profile: &Profile,
        options: &OutputOptions,
        strings: &mut Strings,
    ) -> LabelTable {
        let tells_threads = options.thread_label;
        let [thread, own, owner] = match tells_threads {
            true => threads(profile, strings),
            false => Default::default(),
        };
        let locks = || 0..profile.locks.len() as u32;
        let names = locks().map(|lock| strings.id(&names::lock(profile, lock))).collect();
        let lock = KeyLabels::new(strings.id("lock"), names);
        let class_key = strings.id("lock_class");
        let classes = locks().map(|lock| strings.id(&names::lock_class(profile, lock))).collect();
        let kind_key = strings.id("kind");
        let kinds = WaitKind::ALL.iter().map(|kind| strings.id(kind.name())).collect();
        let state = match profile.has_samples {
            true => {
                let key = strings.id("state");
                let states = State::ALL.iter().map(|state| strings.id(state.name())).collect();
                KeyLabels::new(key, states)
            }
            false => KeyLabels::default(),
        };
        LabelTable {
            tells_threads,
            thread,
            own,
            owner,
            lock,
            lock_class: KeyLabels::new(class_key, classes),
            kind: KeyLabels::new(kind_key, kinds),
            state,
            group: groups(profile, strings),
        }
    }

    /// Which string a row's owner is; 0 for none.
    pub(super) fn owner(&self, row: &OutputRow) -> i64 {
        match row.owner {
            RowOwner::Unknown => 0,
            RowOwner::Itself => self.own.value(row.thread as usize),
            RowOwner::Other(owner) => self.owner.value(owner as usize),
        }
    }

    /// Writes the labels of a row; each key at most once.
    pub(super) fn put(&self, row: &OutputRow, out: &mut Vec<u8>) {
        self.thread.put(row.thread as usize, out);
        match row.owner {
            RowOwner::Unknown => {}
            RowOwner::Itself => self.own.put(row.thread as usize, out),
            RowOwner::Other(owner) => self.owner.put(owner as usize, out),
        }
        // Samples need not have a lock.
        self.lock.put(row.lock as usize, out);
        self.lock_class.put(row.lock as usize, out);
        if let Some(kind) = row.kind {
            self.kind.put(usize::from(kind.code()) - 1, out);
        }
        if let Some(state) = row.state {
            self.state.put(state as usize, out);
        }
        self.group.put(row.stack as usize, out);
    }
}

/// The labels of threads, and those of owners by thread and by owner.
fn threads(profile: &Profile, strings: &mut Strings) -> [KeyLabels; 3] {
    let threads = 0..profile.threads.len() as u32;
    let key = strings.id("thread");
    let names: Vec<i64> =
        threads.map(|thread| strings.id(&harmless::name(&profile.thread_name(thread)))).collect();
    let owner_key = strings.id("owner_thread");
    let owners = profile.owners.iter();
    let owners = owners.map(|owner| strings.id(&harmless::name(&owner.label()))).collect();
    [
        KeyLabels::new(key, names.clone()),
        KeyLabels::new(owner_key, names),
        KeyLabels::new(owner_key, owners),
    ]
}

/// The group of each stack; nothing if there are no groups.
fn groups(profile: &Profile, strings: &mut Strings) -> KeyLabels {
    if !profile.functions.iter().any(Function::is_group) {
        return KeyLabels::default();
    }
    let key = strings.id("group");
    let name = |group: u32| harmless::name(&profile.functions[group as usize].method);
    let groups = profile.groups_of_stacks().into_iter();
    let groups = groups.map(|group| group.map_or(0, |group| strings.id(&name(group)))).collect();
    KeyLabels::new(key, groups)
}
