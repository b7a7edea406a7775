//! Locks that are traced alone, while all others are left as they are.

use crate::{Place, taking::Taken};
use std::{
    collections::BTreeSet,
    fmt::{self, Display, Formatter},
};
use tyrion_wire::{WaitKind, def::place_flag};

/// What a lock is known by in code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeName {
    /// The internal name of the class whose code calls it so; empty if all code does that
    /// means this lock.
    class: String,
    /// What it is called.
    name: String,
}

impl CodeName {
    /// That of what a class takes. `None` if the code does not tell.
    pub fn of(class: &str, taken: &Taken) -> Option<CodeName> {
        let is_field = taken.flags & place_flag::FIELD != 0;
        let class = if is_field { String::new() } else { class.to_owned() };
        (!taken.name.is_empty()).then(|| CodeName { class, name: taken.name.clone() })
    }

    /// The internal name of the class that declares it, if it is a field of one.
    fn declared_by(&self) -> Option<&str> {
        let (class, _) = self.name.rsplit_once('.')?;
        self.class.is_empty().then_some(class)
    }
}

impl Display for CodeName {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let text = match self.class.is_empty() {
            true => self.name.clone(),
            false => format!("{} in {}", self.name, self.class),
        };
        out.write_str(&text.replace('/', "."))
    }
}

/// The instruction that takes a lock: class, method, descriptor and offset.
type Site = (String, String, String, Option<u16>);

/// Locks that are traced alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aim {
    names: BTreeSet<CodeName>,
    sites: BTreeSet<Site>,
    classes: BTreeSet<String>,
    has_locks: bool,
}

impl Aim {
    /// Aims at what is taken at a place, wherever code of the classes known takes it.
    pub fn add(&mut self, place: &Place) {
        let name = CodeName::of(&place.class, &place.taken);
        if let Some(class) = name.as_ref().and_then(CodeName::declared_by) {
            self.classes.insert(class.to_owned());
        }
        self.names.extend(name);
        self.sites.insert(site(place));
        self.add_class(&place.class);
        self.has_locks |= place.taken.kind != WaitKind::Monitor;
    }

    /// Adds a class, by its internal name, whose code takes one of the locks.
    pub fn add_class(&mut self, class: &str) {
        if !class.is_empty() {
            self.classes.insert(class.to_owned());
        }
    }

    /// Whether there is nothing to aim at.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Whether one of them is a lock of `java.util.concurrent`.
    pub fn has_locks(&self) -> bool {
        self.has_locks
    }

    /// The classes that take them, by their internal names, without those within them.
    pub fn classes(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().map(String::as_str)
    }

    /// Whether the code of a class may take one of them. So may that of classes within a class
    /// that does: they share what is private.
    pub fn has_class(&self, class: &str) -> bool {
        let mut outer = class;
        loop {
            if self.classes.contains(outer) {
                return true;
            }
            match outer.rsplit_once('$') {
                Some((next, _)) => outer = next,
                None => return false,
            }
        }
    }

    /// Whether what is taken at a place is one of them.
    pub fn has(&self, place: &Place) -> bool {
        let name = CodeName::of(&place.class, &place.taken);
        name.is_some_and(|name| self.names.contains(&name)) || self.sites.contains(&site(place))
    }
}

fn site(place: &Place) -> Site {
    let Place { class, method, descriptor, bytecode, .. } = place.clone();
    (class, method, descriptor, bytecode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(class: &str, bytecode: u16, name: &str, flags: u64) -> Place {
        Place {
            class: class.to_owned(),
            source_file: None,
            method: "run".to_owned(),
            descriptor: "()V".to_owned(),
            first_line: 1,
            line: 4,
            bytecode: Some(bytecode),
            taken: Taken { kind: WaitKind::Monitor, flags, name: name.to_owned() },
        }
    }

    #[test]
    fn a_field_is_the_same_lock_everywhere_and_this_is_not() {
        let mut aim = Aim::default();
        assert!(aim.is_empty());
        aim.add(&place("a/Pool", 3, "a/Cache.lock", place_flag::FIELD));
        aim.add(&place("a/Own", 3, "this", 0));
        assert!(aim.has(&place("b/Other", 9, "a/Cache.lock", place_flag::FIELD)));
        assert!(!aim.has(&place("b/Other", 9, "a/Cache.other", place_flag::FIELD)));
        assert!(
            aim.has(&place("a/Own", 7, "this", 0)) && !aim.has(&place("b/Other", 7, "this", 0))
        );
        // The same instruction, whatever is known of the lock.
        assert!(aim.has(&place("a/Pool", 3, "", 0)) && !aim.has(&place("a/Pool", 4, "", 0)));
    }

    #[test]
    fn classes_are_those_that_take_or_declare_it_and_what_is_within_them() {
        let mut aim = Aim::default();
        aim.add(&place("a/Pool$Worker", 3, "a/Cache.lock", place_flag::FIELD));
        for class in ["a/Pool$Worker", "a/Pool$Worker$1", "a/Cache", "a/Cache$Entry"] {
            assert!(aim.has_class(class), "{class}");
        }
        for class in ["a/Pool", "a/Pool$Other", "a/Cached", "a"] {
            assert!(!aim.has_class(class), "{class}");
        }
        assert!(!aim.has_locks());
    }
}
