//! The ids of what waits refer to, and their definitions in one file of the log.
//!
//! Everything here is off the usual path: lanes remember the ids they use. One
//! mutex keeps the ids dense and the definitions in order; the JVM is asked
//! before it is taken.
//!
//! Each file of a log that rotates has a dictionary of its own, and all ids
//! begin anew in it. Locks and places only keep their numbers: a lock's id is
//! its identity, and the numbers of places stand in the program's code. So
//! the caller gives these two, and they are merely defined here.

mod copies;
mod groups;
mod methods;
mod names;

use crate::{
    fingerprint::Fingerprint,
    groups::Group,
    jvm::{
        Java, Ti,
        code::at_monitor_enter,
        ti::{MethodInfo, ThreadInfo, line_at},
        versions::MethodVersions,
    },
    log::{Chunk, LogFile, Writer},
    sync::lock,
    table::Table,
};
use copies::Content;
pub use groups::within;
use jvmti_bindings::sys::jvmti::jvmtiFrameInfo;
use methods::{describe, key_of, role_of};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};
use tyrion_wire::{
    WaitKind,
    chunk::ChunkKind,
    def::{Definition, id, thread_flag},
    slow_path::SlowPath,
};

/// Sites are forgotten beyond this many; a site seen again then gets a second
/// id, which readers merge.
const SITE_LIMIT: usize = 1 << 20;
/// Likewise for the fingerprints of stacks, their nodes, and methods.
const STACK_LIMIT: usize = 1 << 20;
const NODE_LIMIT: usize = 1 << 21;
const METHOD_LIMIT: usize = 1 << 18;
/// In a log of one file, what ids stand for is remembered of so many locks, names and
/// groups.
const CONTENT_LIMIT: usize = 1 << 18;

/// A stack's id, and what its frames say about the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackRef {
    /// The id in the log.
    pub id: u32,
    /// The number of the place where it takes what it waits for; 0 when that is not known,
    /// or it waits for nothing.
    pub place: u32,
    /// The lock is being taken again by `Condition.await`.
    pub reacquires: bool,
    /// What the JDK's methods among its innermost frames say of the acquisition.
    pub path: SlowPath,
}

impl StackRef {
    /// For a wait whose stack could not be had.
    pub const UNKNOWN: StackRef = StackRef {
        id: id::EMPTY_STACK,
        place: id::UNKNOWN,
        reacquires: false,
        path: SlowPath { shared: false, interruptible: false },
    };
}

/// A method's id in the JVM, and its version.
type MethodKey = (usize, u64);

/// Whose stack it is, what is special about it, and what is known of it already.
#[derive(Clone, Copy)]
pub struct StackOf<'a> {
    /// What tells versions of methods apart.
    pub versions: &'a MethodVersions,
    /// There are more frames.
    pub cut: bool,
    /// The innermost frame waits for a monitor.
    pub at_monitor: bool,
    /// Its group, if it has one.
    pub group: Option<&'a Group>,
    /// The number of the place where it takes what it waits for.
    pub place: u32,
}

/// A version of a method that stands in stacks.
struct Method {
    id: u32,
    lines: Vec<(i64, u32)>,
    role: Role,
    path: Option<SlowPath>,
}

/// What a frame says about the wait above it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Machinery of j.u.c. locks: look further out.
    Machinery,
    /// `ConditionObject`: what is taken here is taken again.
    Condition,
    /// Anything else.
    Caller,
}

/// A method by its names, when there is no `jmethodID` to ask the JVM about.
#[derive(Clone, Copy, Debug)]
pub struct MethodText<'a> {
    /// The signature of its class, `Lcom/acme/Foo;`, or the name without `L` and `;`.
    pub class: &'a [u8],
    /// The source file of its class, or empty.
    pub source: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Its first line, 0 when unknown.
    pub first_line: u32,
}

/// Where the program takes a lock, as the log says it.
#[derive(Clone, Copy, Debug)]
pub struct PlaceText<'a> {
    /// The method that takes the lock.
    pub method: MethodText<'a>,
    /// The line, 0 when unknown.
    pub line: u32,
    /// The offset of the instruction plus 1, 0 when unknown.
    pub bytecode: u32,
    /// What a wait there would be.
    pub kind: WaitKind,
    /// Bits of `tyrion_wire::def::place_flag`.
    pub flags: u64,
    /// What the program calls the lock, or empty.
    pub name: &'a [u8],
}

/// The tables.
pub struct Dictionary {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    chunk: Option<Chunk>,
    carved: u32,
    scratch: Vec<u8>,
    strings: HashMap<Arc<[u8]>, u32>,
    classes: Table<(u32, u32), u32>,
    methods: Table<MethodKey, Method>,
    named_methods: Table<(u32, u32, u32), u32>,
    nodes: Table<(u32, u32, u32), u32>,
    stacks: Table<Fingerprint, StackRef>,
    sites: Table<(u8, u32, u32, u32), u32>,
    /// The roots of stacks by the numbers of groups.
    groups: Table<u32, u32>,
    places: HashSet<u32>,
    last: LastIds,
    /// Kept only where waits may outlast the file.
    content: Option<Content>,
    /// Whether that must be kept, however much it becomes.
    is_outlasted: bool,
}

/// The highest id of each type so far.
#[derive(Default)]
struct LastIds {
    string: u32,
    class: u32,
    method: u32,
    node: u32,
    thread: u32,
    site: u32,
}

#[derive(Clone, Copy, Default)]
struct LockRow {
    class: u32,
    name: u32,
    hash: u32,
}

impl Dictionary {
    /// An empty one, that remembers what its ids stand for: waits may go on in
    /// another file. Unless one is sure to follow, as `is_outlasted` says, it forgets
    /// that once it is too much.
    pub fn new(is_outlasted: bool) -> Dictionary {
        let content = Some(Content::default());
        Dictionary { inner: Mutex::new(Inner { content, is_outlasted, ..Inner::default() }) }
    }

    /// A stack that is known by this fingerprint.
    pub fn known_stack(&self, print: Fingerprint) -> Option<StackRef> {
        lock(&self.inner).stacks.get(&print).copied()
    }

    /// The id of a stack, innermost frame first; `None` when it could not be
    /// defined for lack of room. The frames must be the current thread's.
    /// In a group, which the fingerprint must tell, the stack
    /// stands on the group's root, and a cut is not marked.
    pub fn stack(
        &self,
        log: &LogFile,
        (ti, java): (Ti, Java),
        print: Fingerprint,
        frames: &mut [jvmtiFrameInfo],
        of: StackOf<'_>,
    ) -> Option<StackRef> {
        let StackOf { versions, cut, at_monitor, group, place } = of;
        let keys: Vec<MethodKey> = frames.iter().map(|frame| key_of(versions, frame)).collect();
        let unknown: Vec<MethodKey> = {
            let inner = lock(&self.inner);
            if let Some(&known) = inner.stacks.get(&print) {
                return Some(known);
            }
            keys.iter().filter(|key| !inner.methods.contains_key(key)).copied().collect()
        };
        let found: Vec<_> =
            unknown.into_iter().map(|key| (key, describe(ti, java, versions, key))).collect();
        if let Some(innermost) = frames.first_mut().filter(|_| at_monitor)
            && let Ok(code) = ti.bytecodes(innermost.method)
        {
            innermost.location = at_monitor_enter(&code, innermost.location);
        }
        let mut inner = lock(&self.inner);
        for (key, info) in found {
            inner.method(log, key, info)?;
        }
        let root = match group {
            Some(group) => inner.group(log, group)?,
            None if cut => id::CUT_STACK,
            None => id::EMPTY_STACK,
        };
        let stack = StackRef { place, ..inner.nodes(log, frames, &keys, root)? };
        if inner.stacks.len() >= STACK_LIMIT {
            inner.stacks.clear();
        }
        inner.stacks.insert(print, stack);
        inner.trim();
        Some(stack)
    }

    /// The id of a class by its JVM signature.
    pub fn class(&self, log: &LogFile, signature: &[u8], source: &[u8]) -> Option<u32> {
        lock(&self.inner).class(log, signature, source)
    }

    /// Defines a place under its number, which is the same in all files;
    /// once in this file, however often it is called.
    pub fn place(&self, log: &LogFile, number: u32, place: &PlaceText<'_>) -> Option<()> {
        let mut inner = lock(&self.inner);
        if inner.places.contains(&number) {
            return Some(());
        }
        let method = match place.method.class {
            // Where a lock is taken by reflection or by native code.
            b"" => id::UNKNOWN,
            _ => inner.method_by_name(log, &place.method)?,
        };
        let name = inner.string(log, place.name)?;
        let PlaceText { line, bytecode, flags, .. } = *place;
        let kind = place.kind.code();
        inner.define(
            log,
            &Definition::Place { id: number, method, line, kind, flags, name, bytecode },
        )?;
        inner.places.insert(number);
        Some(())
    }

    /// Defines a lock, whose id is its identity and the same in all files.
    pub fn lock_object(&self, log: &LogFile, id: u32, class: u32) -> Option<()> {
        let mut inner = lock(&self.inner);
        if inner.lock_row(id).is_some() {
            return Some(());
        }
        inner.define(log, &Definition::Lock { id, class })?;
        inner.keep_lock(id, |row| row.class = class);
        Some(())
    }

    /// Says what the program calls a lock that is defined. To be called once
    /// for each lock and file; where the log rotates, more often does no harm.
    pub fn lock_name(&self, log: &LogFile, lock_id: u32, text: &[u8]) -> Option<()> {
        let mut inner = lock(&self.inner);
        if inner.lock_row(lock_id).is_some_and(|row| row.name != id::NO_STRING) {
            return Some(());
        }
        let name = inner.string(log, text)?;
        inner.define(log, &Definition::LockName { lock: lock_id, name })?;
        inner.keep_lock(lock_id, |row| row.name = name);
        Some(())
    }

    /// Says which instance a lock is that is defined. As often as
    /// [`Dictionary::lock_name`].
    pub fn lock_instance(&self, log: &LogFile, lock_id: u32, hash: u32) -> Option<()> {
        let mut inner = lock(&self.inner);
        if inner.lock_row(lock_id).is_some_and(|row| row.hash == hash) {
            return Some(());
        }
        inner.define(log, &Definition::LockInstance { lock: lock_id, hash })?;
        inner.keep_lock(lock_id, |row| row.hash = hash);
        Some(())
    }

    /// Says which instance was taken at a place that is defined; with hash 0, that it was
    /// several. The latest of a place holds.
    pub fn place_instance(&self, log: &LogFile, place: u32, hash: u32) -> Option<()> {
        lock(&self.inner).define(log, &Definition::PlaceInstance { place, hash })
    }

    /// Writes a number about the recording; the latest of a key holds.
    pub fn statistic(&self, log: &LogFile, key: &str, value: u64) -> Option<()> {
        let mut inner = lock(&self.inner);
        let key = inner.string(log, key.as_bytes())?;
        inner.define(log, &Definition::Statistic { key, value })
    }

    /// The id of a stack of methods, innermost first, without a JVM.
    #[cfg(test)]
    pub fn stack_of(
        &self,
        log: &LogFile,
        group: Option<&Group>,
        methods: &[MethodText<'_>],
    ) -> Option<u32> {
        let mut inner = lock(&self.inner);
        let root = match group {
            Some(group) => inner.group(log, group)?,
            None => id::EMPTY_STACK,
        };
        methods.iter().rev().try_fold(root, |node, method| {
            let method = inner.method_by_name(log, method)?;
            inner.node(log, (node, method, 1))
        })
    }

    /// The id of a site. Its place must be defined.
    pub fn site(
        &self,
        log: &LogFile,
        kind: WaitKind,
        (stack, place): (u32, u32),
        lock_id: u32,
    ) -> Option<u32> {
        let mut inner = lock(&self.inner);
        let key = (kind.code(), stack, lock_id, place);
        if let Some(&known) = inner.sites.get(&key) {
            return Some(known);
        }
        let id = inner.last.site + 1;
        let site = Definition::Site { id, kind: kind.code(), stack, lock: lock_id, place };
        inner.define(log, &site)?;
        inner.last.site = id;
        if inner.sites.len() >= SITE_LIMIT {
            inner.sites.clear();
        }
        inner.sites.insert(key, id);
        Some(id)
    }

    /// A new thread's id.
    pub fn thread(
        &self,
        log: &LogFile,
        java_id: u64,
        info: &ThreadInfo,
        is_virtual: bool,
    ) -> Option<u32> {
        let mut inner = lock(&self.inner);
        let name = inner.name(log, &info.name)?;
        let group = inner.string(log, &info.group)?;
        let flags = if info.daemon { thread_flag::DAEMON } else { 0 }
            | if is_virtual { thread_flag::VIRTUAL } else { 0 };
        let id = inner.last.thread + 1;
        inner.define(log, &Definition::Thread { id, java_id, flags, name, group })?;
        inner.last.thread = id;
        Some(id)
    }

    /// How many threads have an id.
    pub fn threads(&self) -> u32 {
        lock(&self.inner).last.thread
    }

    /// Says when a thread started and ended, monotonic ns; 0 ns: it has not
    /// ended, or started before the log.
    pub fn thread_span(
        &self,
        log: &LogFile,
        id: u32,
        started_ns: u64,
        ended_ns: u64,
    ) -> Option<()> {
        lock(&self.inner).define(log, &Definition::ThreadSpan { id, started_ns, ended_ns })
    }

    /// Says that nothing is recorded from a moment on, or was until another one,
    /// monotonic ns; 0 ns: it has not ended. There is room kept for it, since there
    /// may be a pause for lack of room.
    pub fn pause(&self, log: &LogFile, from_ns: u64, to_ns: u64) -> Option<()> {
        let mut inner = lock(&self.inner);
        let pause = Definition::Pause { from_ns, to_ns };
        inner.define(log, &pause).or_else(|| {
            let reserve = log.carve_reserve(inner.writer())?;
            inner.go_on_in(log, reserve).then_some(())
        })
    }

    /// Says that something else is recorded from a moment on, in bits of
    /// [`tyrion_wire::def::mode`].
    pub fn mode(&self, log: &LogFile, from_ns: u64, recorded: u64) -> Option<()> {
        lock(&self.inner).define(log, &Definition::Mode { from_ns, recorded })
    }

    /// Says that an option has another value from a moment on, as the metadata have it.
    pub fn option(&self, log: &LogFile, from_ns: u64, key: &str, value: &str) -> Option<()> {
        let mut inner = lock(&self.inner);
        let key = inner.string(log, key.as_bytes())?;
        let value = inner.string(log, value.as_bytes())?;
        inner.define(log, &Definition::Option { from_ns, key, value })
    }

    /// Says from when to when the garbage collector had all threads stopped, monotonic
    /// ns.
    pub fn collection(&self, log: &LogFile, start_ns: u64, end_ns: u64) -> Option<()> {
        lock(&self.inner).define(log, &Definition::Collection { start_ns, end_ns })
    }

    /// Says that a thread has another name from now on.
    pub fn rename(&self, log: &LogFile, thread: u32, name: &[u8], at_ns: u64) -> Option<()> {
        let mut inner = lock(&self.inner);
        let name = inner.name(log, name)?;
        inner.define(log, &Definition::ThreadName { id: thread, name, at_ns })
    }
}

impl Inner {
    /// Writes a definition; `None` for lack of room.
    fn define(&mut self, log: &LogFile, definition: &Definition<'_>) -> Option<()> {
        self.scratch.clear();
        definition.encode(&mut self.scratch);
        if self.chunk.as_mut().is_some_and(|chunk| chunk.append(&self.scratch)) {
            return Some(());
        }
        let len = log.chunk_len(self.carved, self.scratch.len());
        let chunk = log.carve(ChunkKind::Definitions, len, self.writer())?;
        self.go_on_in(log, chunk).then_some(())
    }

    fn writer(&self) -> Writer {
        Writer { sequence: self.carved, ..Writer::default() }
    }

    /// Goes on in a new chunk with the definition that is encoded: whether it fits.
    fn go_on_in(&mut self, log: &LogFile, mut chunk: Chunk) -> bool {
        self.carved += 1;
        let written = chunk.append(&self.scratch);
        if let Some(full) = self.chunk.replace(chunk) {
            log.retire(full);
        }
        written
    }

    /// Forgets what programs that load and unload classes for ever would fill
    /// the memory with. Things seen again get a second id.
    fn trim(&mut self) {
        if self.nodes.len() >= NODE_LIMIT || self.methods.len() >= METHOD_LIMIT {
            self.nodes.clear();
            self.stacks.clear();
            self.methods.clear();
            self.named_methods.clear();
            self.classes.clear();
            self.strings.clear();
            if !self.is_outlasted {
                self.content = None;
            }
        }
    }

    fn method(&mut self, log: &LogFile, key: MethodKey, info: Option<MethodInfo>) -> Option<()> {
        if self.methods.contains_key(&key) {
            return Some(());
        }
        let Some(info) = info else {
            // The JVM does not tell: its frames stand as unknown.
            let unknown =
                Method { id: id::UNKNOWN, lines: Vec::new(), role: Role::Caller, path: None };
            self.methods.insert(key, unknown);
            return Some(());
        };
        let text = MethodText {
            class: &info.class,
            source: &info.source,
            name: &info.name,
            descriptor: &info.descriptor,
            first_line: info.lines.iter().map(|&(_, line)| line).min().unwrap_or(0),
        };
        let id = self.method_by_name(log, &text)?;
        let (role, path) = (role_of(&info.class), SlowPath::of(&info.class, &info.name));
        self.methods.insert(key, Method { id, lines: info.lines, role, path });
        Some(())
    }

    /// Frames on top of a root, with the versions of their methods.
    fn nodes(
        &mut self,
        log: &LogFile,
        frames: &[jvmtiFrameInfo],
        keys: &[MethodKey],
        root: u32,
    ) -> Option<StackRef> {
        let mut node = root;
        for (frame, key) in frames.iter().zip(keys).rev() {
            let (method, line) = match self.methods.get(key) {
                Some(method) => (method.id, line_at(&method.lines, frame.location)),
                None => (id::UNKNOWN, 0),
            };
            node = self.node(log, (node, method, line))?;
        }
        let known = keys.iter().map(|key| self.methods.get(key));
        let role = |method: Option<&Method>| method.map_or(Role::Caller, |method| method.role);
        let outside = known.clone().map(role).find(|&role| role != Role::Machinery);
        let path = known.map_while(|method| method?.path).reduce(SlowPath::or).unwrap_or_default();
        let reacquires = outside == Some(Role::Condition);
        Some(StackRef { id: node, place: id::UNKNOWN, reacquires, path })
    }

    /// One frame, (parent, method, line), on top of others.
    fn node(&mut self, log: &LogFile, key: (u32, u32, u32)) -> Option<u32> {
        if let Some(&known) = self.nodes.get(&key) {
            return Some(known);
        }
        let (parent, method, line) = key;
        // Ids 0 and 1 are taken.
        let id = self.last.node.max(id::CUT_STACK) + 1;
        self.define(log, &Definition::Stack { id, parent, method, line })?;
        self.last.node = id;
        self.nodes.insert(key, id);
        if let Some(content) = &mut self.content {
            content.nodes.push([parent, method, line]);
        }
        Some(id)
    }

    fn lock_row(&self, lock_id: u32) -> Option<LockRow> {
        self.content.as_ref()?.locks.get(&lock_id).copied()
    }

    fn keep_lock(&mut self, lock_id: u32, change: impl FnOnce(&mut LockRow)) {
        self.bound_content();
        if let Some(content) = &mut self.content {
            change(content.locks.entry(lock_id).or_default());
        }
    }
}

impl Inner {
    /// Locks, names and groups may be without number, and in a log of one file it is
    /// not likely that anybody asks what their ids stand for.
    fn bound_content(&mut self) {
        let is_too_much = |content: &Content| {
            let most = content.locks.len().max(content.strings.len()).max(content.groups.len());
            most >= CONTENT_LIMIT
        };
        if !self.is_outlasted && self.content.as_ref().is_some_and(is_too_much) {
            self.content = None;
        }
    }
}

#[cfg(test)]
mod tests;
