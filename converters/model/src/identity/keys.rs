//! What a place tells of the locks that are taken there.

use crate::{java, names::is_jdk};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};
use tyrion_formats::{LockSite, Recording, UNKNOWN};

/// What stands for locks of a class. Texts are kept as hashes: a log of a megabyte may
/// have gigabytes of them once each name is combined with each method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct GroupKey {
    /// The class, as people know it.
    pub(super) class: u64,
    pub(super) sort: Sort,
}

/// What tells locks of a class from others of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Sort {
    /// Nothing: the class says what they are.
    Class {
        /// Whether it is one of the program's, so that all locks of it are meant.
        is_telling: bool,
    },
    /// The name of a field.
    Field(u64),
    /// The place alone: its method and the offset in that.
    Place(u64),
}

/// Keys that stand for one lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The id of their class.
    pub(super) class: u32,
    /// A place for each that is not by the class, ascending.
    pub(super) places: Vec<u32>,
    /// Those that its name is made of.
    pub(super) first: Vec<u32>,
    /// Whether some go by the name of a field: those of others do not matter.
    pub(super) has_field: bool,
    /// Whether the class says it all.
    pub(super) is_class: bool,
    /// What tells it from other groups, of other recordings, too.
    pub(super) print: u64,
}

/// A class as source code names it, `[unknown]` if it is not defined.
pub(super) fn class_name(log: &Recording, class: u32) -> String {
    match log.definitions().classes().get(class) {
        Some(class) => java::class_name(&log.text(class.name)),
        None => UNKNOWN.to_owned(),
    }
}

/// The hash of a text, or of several together; the same in each run.
pub(super) fn hash(texts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}

/// Whether a class by itself says what its locks are for: one of the program's, and each
/// class object.
pub(super) fn is_telling(class: &str) -> bool {
    let is_object = class.ends_with(".class");
    !class.is_empty() && class != UNKNOWN && !class.ends_with("[]") && (is_object || !is_jdk(class))
}

/// Whether only the JDK's code locks these, so that a name such as `f` tells nothing.
fn is_jdks_own(class: &str, name: &str) -> bool {
    class.starts_with("java.")
        && class.contains('$')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Finds keys, and reads each text once.
pub(super) struct Texts<'a> {
    log: &'a Recording,
    /// The class of each id as people know it, by its hash.
    classes: HashMap<u32, u64>,
    /// The keys of places by class.
    sorts: HashMap<(u32, u32), Sort>,
}

impl<'a> Texts<'a> {
    pub(super) fn new(log: &'a Recording) -> Texts<'a> {
        Texts { log, classes: HashMap::new(), sorts: HashMap::new() }
    }

    /// The key of a place and of a class by its id.
    pub(super) fn key_of(&mut self, place: u32, own: &LockSite, class: u32) -> GroupKey {
        if let (Some(&of_class), Some(&sort)) =
            (self.classes.get(&class), self.sorts.get(&(place, class)))
        {
            return GroupKey { class: of_class, sort };
        }
        let text = class_name(self.log, class);
        let key = self.key(own, java::public_class(&text));
        self.classes.insert(class, key.class);
        self.sorts.insert((place, class), key.sort);
        key
    }

    /// The key of a place and of a class as people know it.
    pub(super) fn key(&self, own: &LockSite, class: &str) -> GroupKey {
        let text = self.log.text(own.name);
        let name = java::telling_name(&text);
        let is_telling = is_telling(class);
        let sort = if is_jdks_own(class, name) {
            Sort::Class { is_telling: false }
        } else if name.is_empty() && (is_telling || own.is_method()) {
            Sort::Class { is_telling }
        } else if !name.is_empty() && own.is_field() {
            Sort::Field(hash(name))
        } else {
            Sort::Place(self.place(own))
        };
        GroupKey { class: hash(class), sort }
    }

    /// A place by its method, whatever ids that has, and the offset in it.
    fn place(&self, own: &LockSite) -> u64 {
        let definitions = self.log.definitions();
        let Some(method) = definitions.methods().get(own.method) else {
            return hash((own.method, own.bytecode));
        };
        let class = definitions.classes().get(method.class).map(|class| self.log.text(class.name));
        let (name, descriptor) = (self.log.text(method.name), self.log.text(method.descriptor));
        hash((class, name, descriptor, own.bytecode))
    }
}
