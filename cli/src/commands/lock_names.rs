//! Names of locks, those of the records of trace mode too, and which of them a
//! filter wants.

use super::cache::Cache;
use schemars::JsonSchema;
use serde::Serialize;
use std::{borrow::Cow, cell::RefCell, collections::HashMap, rc::Rc};
use tyrion_formats::{Recording, UNKNOWN};
use tyrion_model::{
    describe::Names,
    filter::{Filter, Kinds},
    harmless,
    identity::{Locks, Node},
};
use tyrion_wire::{
    WaitKind,
    def::id,
    trace::{Held, Instance},
};

/// A place, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSite {
    /// What kind of lock; `None` when the place's definition is lost.
    pub kind: Option<WaitKind>,
    /// What the program calls the lock there, as the log has it; may be empty.
    pub name: String,
    /// `com.acme.Cache.get(Cache.java:22)`.
    pub at: String,
}

impl NamedSite {
    /// The name of the kind of lock.
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or(UNKNOWN, WaitKind::name)
    }
}

/// A lock that was taken somewhere.
#[derive(Serialize, JsonSchema)]
pub struct TakenLock<'a> {
    /// The kind of lock.
    pub kind: &'static str,
    /// `java.lang.Object#7`, or `@` and the identity hash if nobody waited for it.
    pub lock: String,
    /// What the program calls it; may be empty.
    pub lock_name: &'a str,
    /// Its class.
    pub lock_class: &'a str,
    /// Its identity hash. `null` if it is not known.
    pub hash: Option<u32>,
    /// Where.
    pub at: &'a str,
}

/// A lock that was taken somewhere, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLock {
    /// Where.
    pub site: Rc<NamedSite>,
    /// What it is called; may be empty.
    name: Rc<String>,
    /// What it is.
    node: Node,
    /// Its class.
    pub class: Rc<String>,
    /// Its identity hash, 0 when unknown.
    hash: u32,
    /// What tells it from others of its class: `#7` as in waits if it was
    /// contended, else `@` and its identity hash, or nothing.
    pub identity: String,
}

impl NamedLock {
    /// What there is to say of it in a record.
    pub fn fields(&self) -> TakenLock<'_> {
        TakenLock {
            kind: self.site.kind_name(),
            lock: self.id(),
            lock_name: &self.name,
            lock_class: &self.class,
            hash: (self.hash != 0).then_some(self.hash),
            at: &self.site.at,
        }
    }

    /// `java.lang.Object#7`.
    pub fn id(&self) -> String {
        format!("{}{}", self.class, self.identity)
    }

    /// `Cache.map (java.lang.Object#7)`, or without a name `java.lang.Object#7`.
    pub fn text(&self) -> String {
        with_name(&self.name, &self.id())
    }

    /// The same, as it may be shown.
    pub fn shown(&self) -> String {
        shown_lock(&self.name, &self.id())
    }

    /// The lock and its place, as they may be shown.
    pub fn at_place(&self) -> String {
        format!("{} at {}", self.shown(), harmless::name(&self.site.at))
    }
}

/// Finds names, most of them once.
pub struct LockNames<'a> {
    log: &'a Recording,
    names: Names<'a>,
    filter: &'a Filter,
    sites: RefCell<Cache<u32, NamedSite>>,
    classes: RefCell<Cache<u32, String>>,
    locks: Locks<'a>,
    /// Names by what locks are and where they are taken.
    called: RefCell<Cache<(Node, u32), String>>,
    /// The ids of contended locks, by class and identity hash.
    contended: HashMap<(u32, u32), u32>,
}

impl<'a> LockNames<'a> {
    pub fn new(log: &'a Recording, filter: &'a Filter) -> LockNames<'a> {
        let definitions = log.definitions();
        let instances = definitions.lock_instances();
        let contended = instances
            .filter_map(|(lock, hash)| Some(((*definitions.locks().get(lock)?, hash), lock)))
            .collect();
        let (sites, classes) = (RefCell::new(Cache::new()), RefCell::new(Cache::new()));
        let (locks, called) = (Locks::of(log), RefCell::new(Cache::new()));
        LockNames { log, names: Names(log), filter, sites, classes, locks, called, contended }
    }

    /// A place.
    pub fn site(&self, id: u32) -> Rc<NamedSite> {
        let (log, names) = (self.log, self.names);
        self.sites.borrow_mut().get(id, || {
            let place = match log.definitions().places().get(id) {
                Some(place) => NamedSite {
                    kind: Some(place.kind),
                    name: log.text(place.name).into_owned(),
                    at: names.place(place),
                },
                None => NamedSite { kind: None, name: String::new(), at: UNKNOWN.to_owned() },
            };
            let len = place.name.len() + place.at.len();
            (place, len)
        })
    }

    /// A lock that was taken at a place.
    pub fn lock(&self, held: Held) -> NamedLock {
        let identity = match (held.hash, self.contended.get(&(held.class, held.hash))) {
            (0, _) => String::new(),
            (_, Some(lock)) => format!("#{lock}"),
            (hash, None) => format!("@{hash:x}"),
        };
        let names = self.names;
        let class = self.classes.borrow_mut().get(held.class, || {
            let class = names.class(held.class);
            let len = class.len();
            (class, len)
        });
        let site = self.site(held.place);
        let node = self.locks.at_place(held.place, held.class);
        let name = self.called.borrow_mut().get((node, held.place), || {
            let name = match self.locks.tells_places() {
                true => self.locks.label(node).1,
                false => site.name.clone(),
            };
            let len = name.len();
            (name, len)
        });
        NamedLock { site, name, node, class, hash: held.hash, identity }
    }

    /// Whether the filter wants this lock: its kind, and its class with or
    /// without identity, or its name.
    pub fn wants(&self, lock: &NamedLock) -> bool {
        let kinds = self.filter.kinds;
        let kind = lock.site.kind.map_or(kinds == Kinds::all(), |kind| kinds.contains(kind));
        let named = || {
            self.filter.lock.as_ref().is_none_or(|regex| {
                let names = [&*lock.class, &lock.id(), &lock.name, &lock.text()];
                names.into_iter().any(|name| !name.is_empty() && regex.is_match(name))
                    || self.locks.tells_places()
                        && self.locks.matches(regex, lock.node, &lock.class, id::UNKNOWN)
            })
        };
        kind && named()
    }

    /// Whether the filter asks for locks or kinds at all.
    pub fn filters(&self) -> bool {
        self.filter.lock.is_some() || self.filter.kinds != Kinds::all()
    }
}

/// What the program calls a lock of waits, by its id and what it is where it is waited
/// for; empty when that is not known. Where places are not known it is as the log has it.
pub fn name_of(log: &Recording, lock: u32, node: Node) -> String {
    let locks = Locks::of(log);
    if locks.tells_places() {
        return locks.label(node).1;
    }
    let name = log.definitions().lock_name(lock);
    name.map_or(String::new(), |name| log.text(name).into_owned())
}

/// The same of a lock of which it is not known where it is waited for.
pub fn lock_name(log: &Recording, lock: u32) -> String {
    name_of(log, lock, Locks::of(log).with_id(lock))
}

/// `Cache.map (java.lang.Object#7)`, or without a name what stands in brackets.
pub fn with_name(name: &str, lock: &str) -> String {
    if name.is_empty() { lock.to_owned() } else { format!("{name} ({lock})") }
}

/// What [`with_name`] tells, as it may be shown.
pub fn shown_lock(name: &str, lock: &str) -> String {
    harmless::name(&with_name(name, lock)).into_owned()
}

/// A stack in a line, its frames as they may be shown.
pub fn in_a_line(stack: &[String]) -> String {
    let frames: Vec<Cow<'_, str>> = stack.iter().map(|frame| harmless::name(frame)).collect();
    frames.join(" < ")
}

/// The lock of an instance record.
pub fn held(instance: &Instance) -> Held {
    Held { place: instance.place, class: instance.class, hash: instance.hash }
}

/// The lock of a cell, which does not tell instances apart.
pub fn any_of(place: u32, class: u32) -> Held {
    Held { place, class, hash: id::UNKNOWN }
}
