//! Locks by class and name, and threads by name: what stays the same from run
//! to run.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tyrion_model::{harmless, names::lock_called, profile::Profile};

/// A lock as sections name it: a group of locks, or one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct LockRef {
    /// What the program calls it, `Cache.lock`; empty when that is not known
    /// or says no more than the class.
    pub name: String,
    /// Its class, `java.lang.Object`.
    pub class: String,
    /// Its identity within its log; 0 when that is not known, or when several
    /// are meant.
    pub id: u32,
}

/// How the agent names the lock that HotSpot takes while it initializes a class.
const INITIALIZATION: &str = "initialization of ";

impl LockRef {
    /// For people: `Cache.lock (java.lang.Object#7)`, as far as it is known, and
    /// harmless.
    pub fn label(&self) -> String {
        let (name, class) = self.telling();
        harmless::name(&lock_called(name, class, &self.identity())).into_owned()
    }

    /// The name and the class, without what tells nothing of the program.
    pub fn telling(&self) -> (&str, &str) {
        if self.initializes().is_some() {
            // HotSpot's own object, an `int[]`.
            return (&self.name, "");
        }
        let is_bare = self.name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_jdks_own = self.class.starts_with("java.") && self.class.contains('$');
        // Only the JDK's code locks these, and `f` is what it calls them.
        if is_bare && is_jdks_own { ("", &self.class) } else { (&self.name, &self.class) }
    }

    /// What tells it from others of the same name, `#7`, if that is known and needed.
    pub fn identity(&self) -> String {
        match self.id {
            0 => String::new(),
            _ if self.initializes().is_some() => String::new(),
            id => format!("#{id}"),
        }
    }

    /// The class that is being initialized, if this is the lock of that.
    pub fn initializes(&self) -> Option<&str> {
        self.name.strip_prefix(INITIALIZATION).filter(|_| self.class == "int[]")
    }
}

/// Locks of one class that the program calls by one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockGroup {
    /// Their class.
    pub class: String,
    /// What the program calls them; may be empty.
    pub name: String,
    /// Those that are told apart: their ids in the profile, ascending.
    pub instances: Vec<u32>,
    /// The identity of the only one; 0 when there are none or several.
    id: u32,
}

/// The locks of a profile by class and name. A group's id is its place in the
/// order of class and name.
///
/// A name is that of the code that takes a lock: an object which one class
/// calls `from` and another one `account` is `this` in its own synchronized
/// methods, which says no more than its class. So where locks of one of the
/// program's own classes have no name, all locks of the class go by that alone;
/// otherwise the waits for an object would stand in one group, and its
/// acquisitions in another. Classes of the JDK are not so telling: their names
/// are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockGroups {
    list: Vec<LockGroup>,
    of_lock: Vec<u32>,
    /// Classes whose locks go by the class alone, whatever they are called.
    telling: BTreeSet<String>,
}

/// Prefixes of classes that say little of a lock: the JDK's, and arrays.
const COMMON: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];

/// Whether a class by itself says what its locks are for.
pub fn is_telling(class: &str) -> bool {
    !class.is_empty()
        && class != tyrion_formats::UNKNOWN
        && !class.ends_with("[]")
        && !COMMON.iter().any(|prefix| class.starts_with(prefix))
}

impl LockGroups {
    /// Groups the locks of a profile.
    pub fn new(profile: &Profile) -> LockGroups {
        let unnamed = profile.locks.iter().filter(|lock| lock.name.is_empty());
        let telling = unnamed.map(|lock| lock.class.as_str()).filter(|class| is_telling(class));
        let telling: BTreeSet<&str> = telling.collect();
        let mut locks: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
        for (at, lock) in profile.locks.iter().enumerate() {
            let name = if telling.contains(lock.class.as_str()) { "" } else { &lock.name };
            locks.entry((&lock.class, name)).or_default().push(at as u32);
        }
        let of_lock = vec![0; profile.locks.len()];
        let telling = telling.into_iter().map(str::to_owned).collect();
        let mut groups = LockGroups { list: Vec::new(), of_lock, telling };
        for ((class, name), locks) in locks {
            let identity = |lock: u32| profile.locks.get(lock as usize).map_or(0, |lock| lock.id);
            locks.iter().for_each(|&lock| {
                if let Some(of_lock) = groups.of_lock.get_mut(lock as usize) {
                    *of_lock = groups.list.len() as u32;
                }
            });
            let instances: Vec<u32> =
                locks.into_iter().filter(|&lock| identity(lock) != 0).collect();
            let id = match instances[..] {
                [only] => identity(only),
                _ => 0,
            };
            let (class, name) = (class.to_owned(), name.to_owned());
            groups.list.push(LockGroup { class, name, instances, id });
        }
        groups
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All of them, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &LockGroup> {
        self.list.iter()
    }

    /// The group of a lock of the profile.
    pub fn of(&self, lock: u32) -> u32 {
        self.of_lock.get(lock as usize).copied().unwrap_or(0)
    }

    /// A group by its id.
    pub fn get(&self, group: u32) -> Option<&LockGroup> {
        self.list.get(group as usize)
    }

    /// The group of this class and name.
    pub fn find(&self, class: &str, name: &str) -> Option<u32> {
        let name = if self.telling.contains(class) { "" } else { name };
        let key =
            |group: &LockGroup| (group.class.as_str(), group.name.as_str()).cmp(&(class, name));
        self.list.binary_search_by(key).ok().map(|at| at as u32)
    }

    /// What sections call a group: with the identity of its only instance, if
    /// it has no more.
    pub fn lock_ref(&self, group: u32) -> LockRef {
        self.get(group).map_or_else(LockRef::default, |group| LockRef {
            name: group.name.clone(),
            class: group.class.clone(),
            id: group.id,
        })
    }
}

/// The group of a thread by its name: pools number their threads, so a run of
/// digits at the end becomes a star. `pool-1-thread-7` is of
/// `pool-1-thread-*`.
pub fn thread_group(name: &str) -> String {
    let stem = name.trim_end_matches(|char: char| char.is_ascii_digit());
    if stem.len() == name.len() { name.to_owned() } else { format!("{stem}*") }
}

/// The same wherever the numbers are in its name: `rooms(*)` of `rooms(7)`.
pub fn numberless(name: &str) -> String {
    let mut masked = String::new();
    for char in name.chars() {
        match char.is_ascii_digit() {
            true if masked.ends_with('*') => {}
            true => masked.push('*'),
            false => masked.push(char),
        }
    }
    masked
}

/// The groups of threads by name, over all logs.
#[derive(Default)]
pub(super) struct ThreadGroups {
    ids: HashMap<String, u32>,
    names: Vec<String>,
}

impl ThreadGroups {
    pub(super) fn id(&mut self, name: String) -> u32 {
        let names = &mut self.names;
        *self.ids.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    }

    pub(super) fn name(&self, id: u32) -> String {
        self.names.get(id as usize).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_model::profile::Lock;

    fn lock(id: u32, class: &str, name: &str) -> Lock {
        Lock { run: 0, id, class: class.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn a_class_of_the_programs_own_stands_for_all_names_where_some_have_none() {
        let locks = vec![
            lock(1, "a.Account", "from"),
            lock(2, "a.Account", ""),
            lock(3, "java.util.Vector", "Bank.list"),
            lock(4, "java.util.Vector", ""),
            lock(5, "java.lang.Object[]", "Bank.array"),
            lock(6, "java.lang.Object[]", ""),
        ];
        let groups = LockGroups::new(&Profile { locks, ..Profile::default() });
        assert_eq!(groups.len(), 5);
        assert_eq!(groups.of(0), groups.of(1));
        assert_eq!(groups.find("a.Account", "to"), Some(groups.of(0)));
        assert_eq!(groups.lock_ref(groups.of(0)).label(), "a.Account");
        assert_ne!(groups.of(2), groups.of(3));
        assert_ne!(groups.of(4), groups.of(5));
    }

    #[test]
    fn locks_are_grouped_by_class_and_name() {
        let locks = vec![
            lock(7, "b.Foo", ""),
            lock(3, "a.Foo", "Cache.map"),
            lock(0, "a.Foo", "Cache.map"),
            lock(8, "b.Foo", ""),
        ];
        let groups = LockGroups::new(&Profile { locks, ..Profile::default() });
        assert_eq!(groups.len(), 2);
        assert_eq!([0, 1, 2, 3].map(|lock| groups.of(lock)), [1, 0, 0, 1]);
        assert_eq!(groups.lock_ref(0).label(), "Cache.map (a.Foo#3)");
        assert_eq!(groups.lock_ref(1).label(), "b.Foo", "two instances have no identity");
        assert_eq!(groups.get(1).unwrap().instances, [0, 3]);
        assert_eq!(groups.find("a.Foo", "Cache.map"), Some(0));
        assert_eq!(groups.find("a.Foo", ""), None);
    }

    #[test]
    fn labels_have_what_tells_something_of_the_program() {
        let label = |name: &str, class: &str| {
            LockRef { name: name.to_owned(), class: class.to_owned(), id: 7 }.label()
        };
        for (name, class, shown) in [
            ("initialization of a.Foo", "int[]", "initialization of a.Foo"),
            ("Foo.table", "int[]", "Foo.table (int[]#7)"),
            (
                "f",
                "java.util.concurrent.ConcurrentHashMap$Node",
                "java.util.concurrent.ConcurrentHashMap$Node#7",
            ),
            ("lock", "java.lang.Object", "lock (java.lang.Object#7)"),
            ("from", "a.Bank$Account", "from (a.Bank$Account#7)"),
        ] {
            assert_eq!(label(name, class), shown);
        }
    }

    #[test]
    fn numbered_threads_are_one_group() {
        for (name, group) in [
            ("pool-1-thread-7", "pool-1-thread-*"),
            ("main", "main"),
            ("http-8080 reader", "http-8080 reader"),
            ("42", "*"),
            ("", ""),
        ] {
            assert_eq!(thread_group(name), group);
        }
    }
}
