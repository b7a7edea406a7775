//! Which lock is which: one label, class and name, for each wait site, place and lock of
//! a recording. Equal labels are one lock (or locks that nothing tells apart), and
//! different locks have different labels, so whoever joins waits, acquisitions, holds and
//! blame by label joins them by what the lock is.
//!
//! A *place* is a method and an offset in its bytecode. Where places are not known (logs
//! of earlier agents, and of other tools), locks go by class and name, as they always did.
//! Elsewhere:
//!
//! 1. Each place has a *key* for each class of lock that is taken there ([`keys`]): the
//!    class, if the name tells nothing and the class does; class and name, if the name is
//!    a field's; else the place itself, since `lock` is what many a method calls its own.
//! 2. Keys of one class become one *group* ([`groups`]) where all their places have
//!    always taken one and the same instance: an object under the names of two fields is
//!    one lock. A place that has taken one instance only joins the field of which that
//!    instance is known to be. Where some locks of a class of the program's go by the
//!    class, all do.
//! 3. Waits that are no contention (`Object.wait`, conditions, parks) are of the group
//!    that the same lock's contention is of, if that is one; so are waits whose place is
//!    not known. A wait for a lock that is not known is of the group that the others at
//!    its place are of, if that is one.
//! 4. A group is named ([`names`]) after its fields, or else after its places: `lock in
//!    OrderBook.match`, and where several locks would be called so, `, bytecode 41` tells
//!    them apart. Names are shown without packages where that is not ambiguous.
//!
//! What is ambiguous depends on all recordings that are read together, so they have to
//! [`agree()`]; otherwise the same lock would have two labels in two logs.

mod agree;
mod groups;
mod keys;
mod names;
#[cfg(test)]
mod tests;

pub use agree::{agree, agree_on_sides, agree_on_whole};

use crate::java;
use agree::RecordingLocks;
use groups::Only;
use names::Style;
use regex::Regex;
use std::sync::Arc;
use tyrion_formats::{LockSite, Recording, WaitSite};
use tyrion_wire::def::id;

/// What the locks of a recording are called.
#[derive(Clone, Debug)]
pub struct Locks<'a> {
    log: &'a Recording,
    known: Arc<RecordingLocks>,
    style: Style,
}

/// What stands for a lock, or for several that nothing tells apart: equal ones have
/// equal labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(NodeKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum NodeKind {
    /// By class and name, the ids of a class and a string.
    Called { class: u32, name: u32 },
    /// A group, by its number.
    Group(u32),
    /// A place that is of no group, and the class of the lock.
    Place { place: u32, class: u32 },
}

impl Node {
    /// Whether it goes by class and name alone, as where places are not known.
    pub fn is_called(self) -> bool {
        matches!(self.0, NodeKind::Called { .. })
    }
}

/// Class and name. The name is empty if it says no more than the class.
pub type Label = (String, String);

impl<'a> Locks<'a> {
    /// Those of a recording. It is worked out once, and anew when a log that is being
    /// written tells more.
    pub fn of(log: &'a Recording) -> Locks<'a> {
        let known = RecordingLocks::of(log);
        let style = known.agreed.style;
        Locks { log, known, style }
    }

    /// The same with whole names, and with the bytecode of each place: they do not depend
    /// on what else there is, so they stay the same while a log grows.
    pub fn whole(self) -> Locks<'a> {
        Locks { style: Style::Whole, ..self }
    }

    /// Whether places are known, so that names alone do not tell one lock from another.
    pub fn tells_places(&self) -> bool {
        !self.known.table.is_plain()
    }

    /// The lock of a wait site.
    pub fn at_site(&self, site: &WaitSite) -> Node {
        let table = &self.known.table;
        let is_contention = site.kind.is_contention();
        let of_lock = table.locks.get(&site.lock).filter(|_| site.lock != id::UNKNOWN);
        let contended = of_lock.map_or(Only::None, |it| it.contended);
        if let (false, Only::One(group)) = (is_contention, contended) {
            return Node(NodeKind::Group(group));
        }
        if self.exact_place(site.place).is_some() {
            return self.at_exact(site.place, self.class_of(site.lock));
        }
        match (contended, of_lock.map_or(Only::None, |it| it.other)) {
            (Only::One(group), _) | (Only::None, Only::One(group)) => Node(NodeKind::Group(group)),
            _ => self.called(self.class_of(site.lock), self.name_of(site.lock)),
        }
    }

    /// A lock by its id: what its waits are for. If those are for several, the first of
    /// them in the order of the sites, contention before others.
    pub fn with_id(&self, lock: u32) -> Node {
        let of_lock = self.known.table.locks.get(&lock).filter(|_| lock != id::UNKNOWN);
        match of_lock.and_then(|it| it.first_contended.or(it.first_other)) {
            Some(group) => Node(NodeKind::Group(group)),
            None => self.called(self.class_of(lock), self.name_of(lock)),
        }
    }

    /// Locks of a class, by its id, that are taken at a place.
    pub fn at_place(&self, place: u32, class: u32) -> Node {
        match self.log.definitions().places().get(place) {
            Some(own) if own.bytecode == 0 => self.called(class, own.name),
            Some(_) => self.at_exact(place, class),
            None => self.called(class, id::NO_STRING),
        }
    }

    /// The label of the same by the name of the class, as the JVM has it: of a class that
    /// another file of the recording defines.
    pub fn label_at(&self, place: u32, class: &str) -> Label {
        match self.group_at(place, class) {
            Some(group) => self.group_label(group),
            None => (java::public_class(class).to_owned(), self.own_name_at(place, class)),
        }
    }

    /// As [`Locks::matches`], of [`Locks::label_at`].
    pub fn matches_at(&self, regex: &Regex, place: u32, class: &str) -> bool {
        match self.group_at(place, class) {
            Some(group) => self.matches(regex, Node(NodeKind::Group(group)), class, id::UNKNOWN),
            None => {
                let whole = self.clone().whole().own_name_at(place, class);
                let name = self.own_name_at(place, class);
                [name, whole].iter().any(|name| java::lock_matches(regex, class, name, 0))
            }
        }
    }

    fn group_at(&self, place: u32, class: &str) -> Option<u32> {
        let own = self.exact_place(place)?;
        match self.found(place, own, java::public_class(class))? {
            NodeKind::Group(group) => Some(group),
            _ => None,
        }
    }

    /// The name of locks that are of no group.
    fn own_name_at(&self, place: u32, class: &str) -> String {
        match self.log.definitions().places().get(place) {
            Some(own) if own.bytecode == 0 => {
                self.shown(java::telling_name(&self.log.text(own.name)))
            }
            Some(_) => self.name_at(place, java::public_class(class)),
            None => String::new(),
        }
    }

    /// Class and name of a lock.
    pub fn label(&self, Node(what): Node) -> Label {
        match what {
            NodeKind::Called { class, name } => {
                let name = self.log.text(name);
                (self.class(class), self.shown(java::telling_name(&name)))
            }
            NodeKind::Group(group) => self.group_label(group),
            NodeKind::Place { place, class } => {
                let class = self.class(class);
                let name = self.name_at(place, &class);
                (class, name)
            }
        }
    }

    /// Whether a filter finds something in what a lock is called: its class, as the
    /// program or the JVM calls it (`class` is that), all names that it has, short and
    /// whole, or its identity, which is 0 if it has none.
    pub fn matches(&self, regex: &Regex, node: Node, class: &str, lock: u32) -> bool {
        let matches = |name: &str| java::lock_matches(regex, class, name, lock);
        let called = self.log.text(self.name_of(lock));
        let own = java::telling_name(&called);
        if self.known.table.is_plain() {
            let NodeKind::Called { name, .. } = node.0 else { return matches(own) };
            return matches(java::telling_name(&self.log.text(name)));
        }
        let (shown, whole) = (self.label(node).1, self.clone().whole().label(node).1);
        if matches(&shown) || matches(&whole) || matches(&names::whole(own)) {
            return true;
        }
        self.names_of(node)
            .any(|name| matches(&names::short(&name)) || matches(&names::whole(&name)))
    }

    fn class_of(&self, lock: u32) -> u32 {
        self.log.definitions().locks().get(lock).copied().unwrap_or(id::UNKNOWN)
    }

    fn name_of(&self, lock: u32) -> u32 {
        self.log.definitions().lock_name(lock).unwrap_or(id::NO_STRING)
    }

    /// A class for people.
    fn class(&self, class: u32) -> String {
        java::public_class(&keys::class_name(self.log, class)).to_owned()
    }

    /// A place whose bytecode is known.
    fn exact_place(&self, place: u32) -> Option<&LockSite> {
        let place = self.log.definitions().places().get(place)?;
        (place.bytecode != 0).then_some(place)
    }

    /// By class and name, unless there is a group of the field that is called so.
    fn called(&self, class: u32, name: u32) -> Node {
        let called = Node(NodeKind::Called { class, name });
        if self.known.table.is_plain() {
            return called;
        }
        let (class, name) = (self.class(class), self.log.text(name));
        let group = self.known.table.of_field(&class, java::telling_name(&name));
        group.map_or(called, |group| Node(NodeKind::Group(group)))
    }

    /// Locks of a class at a place whose bytecode is known.
    fn at_exact(&self, place: u32, class: u32) -> Node {
        let table = &self.known.table;
        if let Some(&group) = table.pairs.get(&(place, class)) {
            return Node(NodeKind::Group(group));
        }
        if class == id::UNKNOWN
            && let Some(Only::One(group)) = table.places.get(&place)
        {
            return Node(NodeKind::Group(*group));
        }
        let own = self.exact_place(place);
        let found = own.and_then(|own| self.found(place, own, &self.class(class)));
        Node(found.unwrap_or(NodeKind::Place { place, class }))
    }

    /// What a place is of that no wait and no acquisition was known of when the groups
    /// were made.
    fn found(&self, place: u32, own: &LockSite, class: &str) -> Option<NodeKind> {
        let table = &self.known.table;
        let key = keys::Texts::new(self.log).key(own, class);
        let instance = self.log.definitions().place_instance(place);
        table.find(&key, instance.filter(|&hash| hash != 0)).map(NodeKind::Group)
    }
}
