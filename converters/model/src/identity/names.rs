//! What locks are called.

use super::{
    Label, Locks, Node, NodeKind,
    keys::{Group, class_name, hash},
};
use crate::java;
use std::collections::BTreeSet;
use tyrion_formats::{LockSite, Recording, UNKNOWN};

/// How many names of a group are shown.
const SHOWN: usize = 3;

/// How names are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// Without packages, where these recordings have but one that is called so.
    #[default]
    Short,
    /// With packages, and places with their bytecode.
    Whole,
}

/// A name with its packages: `com.acme.Cache.lock` of `com/acme/Cache.lock`. What the
/// program has as a string constant stays as it is.
pub(super) fn whole(name: &str) -> String {
    if name.starts_with('"') { name.to_owned() } else { name.replace('/', ".") }
}

/// The same without them: `Cache.lock`.
pub(super) fn short(name: &str) -> String {
    if name.starts_with('"') || !name.contains('/') {
        return name.to_owned();
    }
    let (mut out, mut start) = (String::with_capacity(name.len()), 0);
    for char in name.chars() {
        match char {
            '/' => out.truncate(start),
            _ => out.push(char),
        }
        if matches!(char, ' ' | ',' | '(' | ')' | '[' | ']') {
            start = out.len();
        }
    }
    out
}

/// The class of a method and its name, as class files have them.
pub(super) fn method(log: &Recording, place: &LockSite) -> String {
    let Some(method) = log.definitions().methods().get(place.method) else {
        return UNKNOWN.to_owned();
    };
    let name = log.text(method.name);
    match class_name(log, method.class) {
        class if class.is_empty() => name.into_owned(),
        // As in the names of fields: `short` takes packages off.
        class => format!("{}.{name}", class.replace('.', "/")),
    }
}

/// The name that a place gives the locks that are taken there, as the log has it; empty
/// if it tells nothing.
pub(super) fn own(log: &Recording, place: &LockSite) -> String {
    java::telling_name(&log.text(place.name)).to_owned()
}

/// What one place, or one field, contributes to the name of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NamePart {
    name: String,
    /// Empty of a field.
    method: String,
    bytecode: u16,
}

impl NamePart {
    fn of(log: &Recording, place: &LockSite, is_field: bool) -> NamePart {
        match is_field {
            true => NamePart { name: own(log, place), method: String::new(), bytecode: 0 },
            false => NamePart {
                name: own(log, place),
                method: method(log, place),
                bytecode: place.bytecode,
            },
        }
    }

    fn show(&self, shown: impl Fn(&str) -> String, has_bytecode: bool) -> String {
        if self.method.is_empty() {
            return shown(&self.name);
        }
        let (name, method) = (shown(&self.name), shown(&self.method));
        let name = if name.is_empty() { "a lock" } else { &name };
        match self.bytecode.checked_sub(1).filter(|_| has_bytecode) {
            Some(bytecode) => format!("{name} in {method}, bytecode {bytecode}"),
            None => format!("{name} in {method}"),
        }
    }
}

/// Those of the places of a group that its name is made of, in the order of names; one more
/// than are shown if there are more.
pub(super) fn first_places(log: &Recording, group: &Group) -> Vec<u32> {
    let mut parts = BTreeSet::new();
    for &place in &group.places {
        let Some(own) = log.definitions().places().get(place) else { continue };
        if !group.has_field || own.is_field() {
            parts.insert((NamePart::of(log, own, group.has_field), place));
        }
        if parts.len() > SHOWN + 1 {
            parts.pop_last();
        }
    }
    parts.into_iter().map(|(_, place)| place).collect()
}

/// What the name of a group is made of.
fn parts(log: &Recording, group: &Group) -> Vec<NamePart> {
    let places = group.first.iter().filter_map(|&place| log.definitions().places().get(place));
    places.map(|place| NamePart::of(log, place, group.has_field)).collect()
}

/// Parts one after the other; those that read the same once.
fn listed(parts: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = Vec::new();
    for part in parts {
        if !names.contains(&part) {
            names.push(part);
        }
    }
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    names.join(", ") + more
}

/// What a group is called if nothing else is called so: the hashes of its class and of its
/// whole name.
pub(super) fn label_hash(log: &Recording, group: &Group) -> (u64, u64) {
    let of_class = hash(java::public_class(&class_name(log, group.class)));
    let name = match group.is_class {
        true => String::new(),
        false => listed(parts(log, group).iter().map(|part| part.show(whole, false))),
    };
    (of_class, hash(name))
}

impl Locks<'_> {
    /// A name of the log as it is shown.
    pub(super) fn shown(&self, name: &str) -> String {
        // A log that has only begun is plain until it tells of a place.
        if self.known.table.is_plain() && self.style == Style::Short {
            return name.to_owned();
        }
        match self.style {
            Style::Short if !self.known.agreed.is_ambiguous(name) => short(name),
            _ => whole(name),
        }
    }

    pub(super) fn group_label(&self, group: u32) -> Label {
        let Some(group) = self.known.table.groups.get(group as usize) else {
            return (UNKNOWN.to_owned(), String::new());
        };
        let class = self.class(group.class);
        if group.is_class {
            return (class, String::new());
        }
        let has_bytecode =
            self.style == Style::Whole || self.known.agreed.is_shared(label_hash(self.log, group));
        let parts = parts(self.log, group);
        let shown = parts.iter().map(|part| part.show(|name| self.shown(name), has_bytecode));
        (class, listed(shown))
    }

    /// The name of a place that is of no group, of a class as people know it.
    pub(super) fn name_at(&self, place: u32, class: &str) -> String {
        let Some(place) = self.log.definitions().places().get(place) else { return String::new() };
        let part = NamePart::of(self.log, place, place.is_field());
        let base = (hash(class), hash(part.show(whole, false)));
        let has_bytecode = self.style == Style::Whole || self.known.agreed.is_known(base);
        part.show(|name| self.shown(name), has_bytecode)
    }

    /// All names of a lock as the log has them, those that are not shown, too.
    pub(super) fn names_of(&self, Node(what): Node) -> impl Iterator<Item = String> {
        let places = match what {
            NodeKind::Called { .. } => &[][..],
            NodeKind::Group(group) => {
                self.known.table.groups.get(group as usize).map_or(&[][..], |it| &it.places)
            }
            NodeKind::Place { .. } => &[],
        };
        let places = places.iter().filter_map(|&place| self.log.definitions().places().get(place));
        places
            .map(|place| NamePart::of(self.log, place, place.is_field()).show(str::to_owned, true))
    }
}
