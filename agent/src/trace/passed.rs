//! Which classes trace mode has seen before it was off for a while.

use crate::{
    jvm::{Java, Local, Object, Ti, Vm, loaders::Loaders},
    sync::lock,
};
use std::{
    collections::{HashMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Mutex,
};

/// The classes that had passed through the class file load hook when trace mode was
/// last switched off. Those that got no probes there are not retransformed when it is
/// on again. That would be worse than needless: whenever a class is redefined, HotSpot
/// adds its constants that are not a number (NaN), none of which equals another, to
/// those that it has, and so doubles them.
pub struct Passed {
    /// `None` where the JVM gives loaders no numbers: then nothing is remembered.
    loaders: Option<Loaders>,
    /// By loader and name, what stood in the constants; `None` before it was linked.
    classes: Mutex<HashMap<u64, Option<u64>>>,
    /// By loader and name, the classes that were loaded when trace mode last began, as
    /// long as newcomers are looked for.
    listed: Mutex<HashSet<u64>>,
    /// By name, those that have passed through the class file load hook since then.
    seen: Mutex<Option<HashSet<u64>>>,
}

impl Passed {
    /// None has.
    pub fn new(vm: Option<Vm>) -> Passed {
        Passed {
            loaders: vm.and_then(Loaders::new),
            classes: Mutex::default(),
            listed: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Remembers all classes that are loaded, and forgets those that were.
    pub fn remember(&self, ti: Ti, java: Java) {
        let Ok(loaded) = ti.loaded_classes(java) else { return };
        let mut classes = HashMap::with_capacity(loaded.len());
        for class in loaded {
            if let Some(key) = self.key(ti, java, class.get()) {
                classes.insert(key, fingerprint(ti, class.get()));
            }
            java.drop_local(class);
        }
        *lock(&self.classes) = classes;
    }

    /// Whether this class had passed, and nobody has given it other constants since.
    pub fn has(&self, ti: Ti, java: Java, class: Object<'_>) -> bool {
        let Some(key) = self.key(ti, java, class) else { return false };
        match lock(&self.classes).get(&key) {
            Some(Some(then)) => fingerprint(ti, class) == Some(*then),
            Some(None) => true,
            None => false,
        }
    }

    /// Trace mode begins: from now on, whatever passes through the hook is noted.
    pub fn begin(&self) {
        *lock(&self.seen) = Some(HashSet::new());
    }

    /// Notes that a class of this name passes through the hook.
    pub fn see(&self, name: &str) {
        if let Some(seen) = &mut *lock(&self.seen) {
            seen.insert(hash(&name.as_bytes()));
        }
    }

    /// Notes which classes trace mode found when it began.
    pub fn list(&self, ti: Ti, java: Java, loaded: &[Local<'_>]) {
        let keys = loaded.iter().filter_map(|class| self.key(ti, java, class.get()));
        *lock(&self.listed) = keys.collect();
    }

    /// Whether a class was not there yet when trace mode began, and has not passed
    /// through the hook either; never where the JVM gives loaders no numbers. Of two
    /// classes of one name that come at that moment, one is taken for the other.
    pub fn is_newcomer(&self, ti: Ti, java: Java, class: Object<'_>) -> bool {
        let is_new =
            self.key(ti, java, class).is_some_and(|key| !lock(&self.listed).contains(&key));
        is_new && !self.has_seen(ti, class)
    }

    fn has_seen(&self, ti: Ti, class: Object<'_>) -> bool {
        let signature = ti.class_signature(class).unwrap_or_default();
        let name = signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
        let seen = lock(&self.seen);
        seen.as_ref().zip(name).is_some_and(|(seen, name)| seen.contains(&hash(&name)))
    }

    /// Newcomers are not looked for any more.
    pub fn forget_list(&self) {
        *lock(&self.listed) = HashSet::new();
        *lock(&self.seen) = None;
    }

    /// The number of a class loader, if it has one.
    pub fn number_of(&self, loader: Object<'_>) -> Option<i64> {
        self.loaders.as_ref()?.number_of(loader).ok()
    }

    /// Whether a class's loader is known, and is not the JVM's own.
    pub fn is_loaded_by_program(&self, java: Java, class: Object<'_>) -> bool {
        let loader = self.loaders.as_ref().and_then(|loaders| loaders.number(java, class).ok());
        loader.is_some_and(|number| number != 0)
    }

    /// Among the classes that are loaded, loader and name are one class's alone.
    fn key(&self, ti: Ti, java: Java, class: Object<'_>) -> Option<u64> {
        let signature = ti.class_signature(class).ok()?;
        let loader = self.loaders.as_ref()?.number(java, class).ok()?;
        Some(hash(&(loader, signature)))
    }
}

fn fingerprint(ti: Ti, class: Object<'_>) -> Option<u64> {
    ti.constants(class).map(|constants| hash(&constants))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
