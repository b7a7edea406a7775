//! What the ids in a log stand for.

use super::{
    stacks::{StackDef, StackNode, Stacks},
    table::{DenseTable, SparseTable},
};
use crate::limits;
use std::{collections::HashMap, num::NonZeroU64};
use tyrion_wire::{
    WaitKind,
    def::{Definition, place_flag, thread_flag},
};

/// Where a text stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// In bytes from the file's start, never 0: the header stands there.
    pub offset: NonZeroU64,
    /// Its length in bytes.
    pub len: u32,
}

/// A Java class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassDef {
    /// String id of its name, as in class files.
    pub name: u32,
    /// String id of its source file's name.
    pub source: u32,
}

/// A Java method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodDef {
    /// Class id of the class that declares it.
    pub class: u32,
    /// String id of its name.
    pub name: u32,
    /// String id of its descriptor.
    pub descriptor: u32,
    /// Its first line, 0 when unknown.
    pub first_line: u32,
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadDef {
    /// `Thread.getId()`.
    pub java_id: u64,
    /// String id of the name that it was defined with.
    pub first_name: u32,
    /// String id of the last name that it took.
    pub name: u32,
    /// String id of its group's name.
    pub group: u32,
    /// A daemon thread.
    pub daemon: bool,
    /// A virtual thread.
    pub is_virtual: bool,
}

/// From when to when a thread lived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadSpan {
    /// When it started, or was seen first, monotonic ns.
    pub started_ns: u64,
    /// When it ended, monotonic ns; `None` when it had not.
    pub ended_ns: Option<NonZeroU64>,
}

/// A while in which nothing was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pause {
    /// When recording was switched off, monotonic ns.
    pub from_ns: u64,
    /// When it was switched on again, monotonic ns; `None` when it was not.
    pub to_ns: Option<NonZeroU64>,
}

/// What is recorded from a moment on, where that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModeChange {
    /// Since when, monotonic ns.
    pub from_ns: u64,
    /// Bits of [`tyrion_wire::def::mode`]; unknown ones may be set.
    pub recorded: u64,
}

/// An option has another value from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangedOption {
    /// Since when, monotonic ns.
    pub(crate) from_ns: u64,
    /// String id of its key in the metadata.
    pub(crate) key: u32,
    /// String id of its value.
    pub(crate) value: u32,
}

/// A pause of the garbage collector: it had all threads of the program stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collection {
    /// Since when, monotonic ns.
    pub start_ns: u64,
    /// Until when, monotonic ns; not before the start.
    pub end_ns: u64,
}

/// Who waits for what, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitSite {
    /// What kind of wait.
    pub kind: WaitKind,
    /// The waiter's stack id.
    pub stack: u32,
    /// The lock's id.
    pub lock: u32,
    /// The id of the place where the program takes it, or calls `Object.wait`; 0 when
    /// that is not known.
    pub place: u32,
}

/// Where the program takes a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockSite {
    /// Method id.
    pub method: u32,
    /// The line in it, 0 when unknown.
    pub line: u32,
    /// String id of what the program calls the lock, or no string.
    pub name: u32,
    /// The offset of the instruction in the method as its class file has it, plus 1; 0
    /// when unknown.
    pub bytecode: u16,
    /// What kind of lock; always one that is contention.
    pub kind: WaitKind,
    /// The bits of [`place_flag`] that are known.
    flags: u8,
}

impl LockSite {
    /// A synchronized method.
    pub fn is_method(&self) -> bool {
        self.has(place_flag::METHOD)
    }

    /// A static synchronized method, whose lock is the class object.
    pub fn is_static(&self) -> bool {
        self.has(place_flag::STATIC)
    }

    /// A call of `java.util.concurrent`.
    pub fn is_juc(&self) -> bool {
        self.has(place_flag::JUC)
    }

    /// The name is that of a field, or of what a field leads to.
    pub fn is_field(&self) -> bool {
        self.has(place_flag::FIELD)
    }

    fn has(&self, flag: u64) -> bool {
        u64::from(self.flags) & flag != 0
    }
}

/// A definition, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined<'a> {
    /// In bytes from the file's start.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// What it says.
    pub definition: Definition<'a>,
}

/// A statistic's value, and its place in the order of the log.
#[derive(Clone, Copy, Debug)]
struct Statistic {
    nth: u64,
    value: u64,
}

/// All definitions of a log.
#[derive(Debug)]
pub struct Definitions {
    pub(crate) strings: DenseTable<Text>,
    pub(crate) classes: DenseTable<ClassDef>,
    pub(crate) methods: DenseTable<MethodDef>,
    pub(crate) stacks: Stacks,
    pub(crate) threads: DenseTable<ThreadDef>,
    thread_spans: SparseTable<ThreadSpan>,
    pub(crate) sites: DenseTable<WaitSite>,
    locks: SparseTable<u32>,
    places: SparseTable<LockSite>,
    place_instances: SparseTable<u32>,
    lock_instances: SparseTable<u32>,
    lock_names: SparseTable<u32>,
    statistics: HashMap<u32, Statistic>,
    pauses: Vec<Pause>,
    mode_changes: Vec<ModeChange>,
    changed_options: Vec<ChangedOption>,
    collections: Vec<Collection>,
    /// How many definitions there were of what tells one lock from another.
    of_locks: u64,
    /// The last moment that a definition tells, monotonic ns.
    pub(crate) last_at_ns: u64,
    /// How many more ids may be missing.
    missing: usize,
}

impl Default for Definitions {
    fn default() -> Self {
        Definitions {
            strings: DenseTable::default(),
            classes: DenseTable::default(),
            methods: DenseTable::default(),
            stacks: Stacks::default(),
            threads: DenseTable::default(),
            thread_spans: SparseTable::default(),
            sites: DenseTable::default(),
            locks: SparseTable::default(),
            places: SparseTable::default(),
            place_instances: SparseTable::default(),
            lock_instances: SparseTable::default(),
            lock_names: SparseTable::default(),
            statistics: HashMap::new(),
            mode_changes: Vec::new(),
            changed_options: Vec::new(),
            collections: Vec::new(),
            of_locks: 0,
            pauses: Vec::new(),
            last_at_ns: 0,
            missing: limits::MAX_MISSING_IDS,
        }
    }
}

impl Definitions {
    /// None yet, for a file of this many bytes.
    pub(crate) fn of_file(len: usize) -> Definitions {
        Definitions { missing: limits::missing_ids(len), ..Definitions::default() }
    }

    /// Where texts stand.
    pub fn strings(&self) -> &DenseTable<Text> {
        &self.strings
    }

    /// Classes.
    pub fn classes(&self) -> &DenseTable<ClassDef> {
        &self.classes
    }

    /// Methods.
    pub fn methods(&self) -> &DenseTable<MethodDef> {
        &self.methods
    }

    /// Stacks, and the groups that share their ids. A parent that is not
    /// defined before its child is as good as lost; ids below are always
    /// smaller.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// Threads.
    pub fn threads(&self) -> &DenseTable<ThreadDef> {
        &self.threads
    }

    /// From when to when a thread lived; `None` if the log does not tell.
    pub fn thread_span(&self, thread: u32) -> Option<ThreadSpan> {
        self.thread_spans.get(thread).copied()
    }

    /// The pauses of the recording, in the order of the log.
    pub fn pauses(&self) -> &[Pause] {
        &self.pauses
    }

    /// What was recorded after the log's beginning, where that changed, in the order of
    /// the log.
    pub fn mode_changes(&self) -> &[ModeChange] {
        &self.mode_changes
    }

    /// The options that changed after the log's beginning, in the order of the log.
    pub(crate) fn changed_options(&self) -> &[ChangedOption] {
        &self.changed_options
    }

    /// The pauses of the garbage collector, in the order of the log;
    /// [`Recording::collections`](crate::Recording::collections) has them in that of
    /// time.
    pub fn collections(&self) -> &[Collection] {
        &self.collections
    }

    /// Locks: the class id of each. Their ids are those of the recording, so a
    /// file may have any.
    pub fn locks(&self) -> &SparseTable<u32> {
        &self.locks
    }

    /// Sites.
    pub fn sites(&self) -> &DenseTable<WaitSite> {
        &self.sites
    }

    /// Places where the program takes locks. Their ids are those of the recording, so
    /// a file may have any.
    pub fn places(&self) -> &SparseTable<LockSite> {
        &self.places
    }

    /// Trace mode: the identity hash of the only instance that was taken at a place; 0
    /// if there were several, `None` if the log does not tell.
    pub fn place_instance(&self, place: u32) -> Option<u32> {
        self.place_instances.get(place).copied()
    }

    /// The identity hash of a lock, by the lock's id: the instance that it is
    /// in the records of trace mode.
    pub fn lock_instance(&self, lock: u32) -> Option<u32> {
        self.lock_instances.get(lock).copied()
    }

    /// All locks whose identity hash is known: lock id and hash, in the order
    /// of the ids.
    pub fn lock_instances(&self) -> impl Iterator<Item = (u32, u32)> {
        self.lock_instances.iter().map(|(lock, &hash)| (lock, hash))
    }

    /// String id of what the program calls a lock, by the lock's id.
    pub fn lock_name(&self, lock: u32) -> Option<u32> {
        self.lock_names.get(lock).copied()
    }

    /// All places of which it is told which instance is taken there, as
    /// [`Definitions::place_instance`] does, in the order of the ids.
    pub fn place_instances(&self) -> impl Iterator<Item = (u32, u32)> {
        self.place_instances.iter().map(|(place, &hash)| (place, hash))
    }

    /// How many definitions there were of sites, places, locks, instances and names: it
    /// grows where a log that is being written tells more of its locks.
    pub fn of_locks(&self) -> u64 {
        self.of_locks
    }

    /// The string ids of statistics' keys and their latest values, in the
    /// order of the log. [`Recording::statistics`](crate::Recording::statistics) has them
    /// by key.
    pub fn statistics(&self) -> impl Iterator<Item = (u32, u64)> {
        let mut list: Vec<(u32, Statistic)> =
            self.statistics.iter().map(|(&key, &statistic)| (key, statistic)).collect();
        list.sort_unstable_by_key(|(_, statistic)| statistic.nth);
        list.into_iter().map(|(key, statistic)| (key, statistic.value))
    }

    /// Takes a definition up; `None` when its id leaves out too many others.
    pub(crate) fn add(&mut self, found: &Defined<'_>) -> Option<()> {
        let missing = &mut self.missing;
        let is_of_locks = matches!(
            found.definition,
            Definition::Lock { .. }
                | Definition::Site { .. }
                | Definition::Place { .. }
                | Definition::PlaceInstance { .. }
                | Definition::LockInstance { .. }
                | Definition::LockName { .. }
        );
        self.of_locks += u64::from(is_of_locks);
        match found.definition {
            Definition::String { id, text } => {
                // The text is what a string's definition ends with.
                let text_at = found.offset + found.len - text.len() as u64;
                let len = text.len().min(limits::MAX_TEXT) as u32;
                let text = Text { offset: NonZeroU64::new(text_at)?, len };
                self.strings.put(id, text, missing)
            }
            Definition::Class { id, name, source } => {
                self.classes.put(id, ClassDef { name, source }, missing)
            }
            Definition::Method { id, class, name, descriptor, first_line } => {
                self.methods.put(id, MethodDef { class, name, descriptor, first_line }, missing)
            }
            Definition::Stack { id, parent, method, line } => {
                self.stacks.put(id, StackNode::Frame(StackDef { parent, method, line }), missing)
            }
            Definition::Group { stack, name } => {
                self.stacks.put(stack, StackNode::Group(name), missing)
            }
            Definition::Thread { id, java_id, flags, name, group } => {
                let thread = ThreadDef {
                    java_id,
                    first_name: name,
                    name,
                    group,
                    daemon: flags & thread_flag::DAEMON != 0,
                    is_virtual: flags & thread_flag::VIRTUAL != 0,
                };
                self.threads.put(id, thread, missing)
            }
            Definition::ThreadName { id, name, at_ns } => {
                self.last_at_ns = self.last_at_ns.max(at_ns);
                if let Some(thread) = self.threads.get_mut(id) {
                    thread.name = name;
                }
                Some(())
            }
            Definition::ThreadSpan { id, started_ns, ended_ns } => {
                self.last_at_ns = self.last_at_ns.max(started_ns).max(ended_ns);
                if self.threads.get(id).is_some() {
                    let ended_ns = NonZeroU64::new(ended_ns);
                    self.thread_spans.put(id, ThreadSpan { started_ns, ended_ns });
                }
                Some(())
            }
            Definition::Pause { from_ns, to_ns } => {
                self.last_at_ns = self.last_at_ns.max(from_ns).max(to_ns);
                let to_ns = NonZeroU64::new(to_ns);
                self.pauses.pop_if(|last| last.from_ns == from_ns);
                if self.pauses.len() < limits::MAX_PAUSES {
                    self.pauses.push(Pause { from_ns, to_ns });
                }
                Some(())
            }
            Definition::Mode { from_ns, recorded } => {
                self.last_at_ns = self.last_at_ns.max(from_ns);
                if self.mode_changes.len() < limits::MAX_PAUSES {
                    self.mode_changes.push(ModeChange { from_ns, recorded });
                }
                Some(())
            }
            Definition::Option { from_ns, key, value } => {
                self.last_at_ns = self.last_at_ns.max(from_ns);
                if self.changed_options.len() < limits::MAX_OPTION_CHANGES {
                    self.changed_options.push(ChangedOption { from_ns, key, value });
                }
                Some(())
            }
            Definition::Collection { start_ns, end_ns } => {
                // What ends before it begins has never been.
                if start_ns <= end_ns {
                    self.last_at_ns = self.last_at_ns.max(end_ns);
                    self.collections.push(Collection { start_ns, end_ns });
                }
                Some(())
            }
            Definition::Lock { id, class } => {
                self.locks.put(id, class);
                Some(())
            }
            Definition::Site { id, kind, stack, lock, place } => {
                let kind = WaitKind::from_code(kind)?;
                self.sites.put(id, WaitSite { kind, stack, lock, place }, missing)
            }
            Definition::Place { id, method, line, kind, flags, name, bytecode } => {
                let place = LockSite {
                    method,
                    line,
                    name,
                    kind: WaitKind::from_code(kind)?,
                    flags: (flags & 0xff) as u8,
                    // No method is longer.
                    bytecode: u16::try_from(bytecode).unwrap_or(0),
                };
                self.places.put(id, place);
                Some(())
            }
            Definition::PlaceInstance { place, hash } => {
                self.place_instances.put(place, hash);
                Some(())
            }
            Definition::LockInstance { lock, hash } => {
                self.lock_instances.put(lock, hash);
                Some(())
            }
            Definition::LockName { lock, name } => {
                self.lock_names.put(lock, name);
                Some(())
            }
            Definition::Statistic { key, value } => {
                if self.statistics.len() >= limits::MAX_STATISTICS
                    && !self.statistics.contains_key(&key)
                {
                    return None;
                }
                // Where it stands is its number in the order of the log.
                self.statistics.insert(key, Statistic { nth: found.offset, value });
                Some(())
            }
            Definition::Unknown(_) => Some(()),
        }
    }
}
