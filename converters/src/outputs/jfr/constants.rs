//! What keys stand for: threads, stacks, methods, classes and texts.
//!
//! Keys of what the profile has are its indices there plus one, since 0 stands for nothing. They
//! mean the same in all chunks, but each chunk has to tell those that stand in it.

use super::{
    bytes::{begin, end, number, text, text_if_any},
    types::id,
};
use std::collections::HashMap;
use tyrion_formats::{Recording, UNKNOWN};
use tyrion_model::{
    profile::{CUT, Function, Profile, Thread},
    timeline::Timeline,
};
use tyrion_wire::{WaitKind, sample::ThreadState};

/// The type of the event that has constants.
const CHECKPOINT: u64 = 1;
/// What the event is for: nothing in particular.
const GENERIC: u8 = 0;
/// A thread of a log: the number of its recording, and `Thread.getId()` or what stands for it.
type ThreadKey = (u32, u64);
/// Stands before the ids in the log of threads that have none of Java.
const WITHOUT_ID: u64 = 1 << 63;

/// Keys that a chunk has used so far.
#[derive(Default)]
struct UsedKeys {
    /// In which chunk each key was used last.
    last: Vec<u32>,
    keys: Vec<u64>,
}

impl UsedKeys {
    /// Whether it is the first use in the chunk of this number.
    #[inline]
    fn mark(&mut self, key: u64, chunk: u32) -> bool {
        let at = key as usize;
        if at >= self.last.len() {
            self.last.resize(at + 1, 0);
        }
        let Some(last) = self.last.get_mut(at) else { return false };
        let is_first = *last != chunk;
        if is_first {
            *last = chunk;
            self.keys.push(key);
        }
        is_first
    }
}

/// Texts by their keys, from 1 on.
#[derive(Default)]
struct TextKeys {
    of: HashMap<String, u64>,
    all: Vec<String>,
}

impl TextKeys {
    fn key(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.of.get(text) {
            return known;
        }
        self.all.push(text.to_owned());
        let key = self.all.len() as u64;
        self.of.insert(text.to_owned(), key);
        key
    }

    fn text(&self, key: u64) -> &str {
        let at = (key as usize).checked_sub(1);
        at.and_then(|at| self.all.get(at)).map_or("", String::as_str)
    }
}

/// A thread as constants tell of it.
struct KnownThread {
    java_id: u64,
    name: String,
    group: u64,
    is_virtual: bool,
}

/// All keys, and which of them the chunk that is being made has used.
pub(super) struct ConstantPools<'p> {
    profile: &'p Profile,
    /// The number of the chunk, from 1 on.
    chunk: u32,
    /// By their names.
    classes: TextKeys,
    symbols: TextKeys,
    groups: TextKeys,
    threads: Vec<KnownThread>,
    by_thread: HashMap<ThreadKey, u64>,
    /// By log and id in the log; 0 where it was not asked for yet.
    by_id: Vec<Vec<u64>>,
    /// The class of each lock of the profile.
    lock_classes: Vec<u64>,
    /// The class of each function of the profile, and then of each place.
    function_classes: Vec<u64>,
    places: Vec<(Function, u32)>,
    used_threads: UsedKeys,
    used_stacks: UsedKeys,
    used_methods: UsedKeys,
    used_classes: UsedKeys,
}

impl<'p> ConstantPools<'p> {
    pub(super) fn new(timeline: &Timeline<'p>) -> ConstantPools<'p> {
        let profile = timeline.profile();
        let mut classes = TextKeys::default();
        let lock_classes = profile
            .locks
            .iter()
            .map(|lock| if lock.class == UNKNOWN { 0 } else { classes.key(&lock.class) })
            .collect();
        let function_classes =
            profile.functions.iter().map(|function| classes.key(&function.class)).collect();
        ConstantPools {
            profile,
            chunk: 1,
            classes,
            symbols: TextKeys::default(),
            groups: TextKeys::default(),
            threads: Vec::new(),
            by_thread: HashMap::new(),
            by_id: timeline.logs().iter().map(|_| Vec::new()).collect(),
            lock_classes,
            function_classes,
            places: Vec::new(),
            used_threads: UsedKeys::default(),
            used_stacks: UsedKeys::default(),
            used_methods: UsedKeys::default(),
            used_classes: UsedKeys::default(),
        }
    }

    /// The key of a thread by its log and its id there; 0 if it is not known.
    #[inline]
    pub(super) fn thread(&mut self, timeline: &Timeline<'_>, (run, id): (u32, u32)) -> u64 {
        let known = self.by_id.get(run as usize).and_then(|of_run| of_run.get(id as usize));
        let key = match known {
            Some(&key) if key != 0 => key,
            _ => self.look_up(timeline, run, id),
        };
        if key != 0 {
            self.used_threads.mark(key, self.chunk);
        }
        key
    }

    #[cold]
    fn look_up(&mut self, timeline: &Timeline<'_>, run: u32, id: u32) -> u64 {
        let log = timeline.logs().get(run as usize);
        let Some((log, thread)) =
            log.and_then(|log| Some((log, log.definitions().threads().get(id)?)))
        else {
            return 0;
        };
        let recording = timeline.axis().recording(run);
        let java_id = if thread.java_id == 0 { WITHOUT_ID | u64::from(id) } else { thread.java_id };
        let known = self.by_thread.get(&(recording, java_id)).copied();
        let key = known.unwrap_or_else(|| {
            let known = KnownThread {
                java_id: thread.java_id,
                name: log.text(thread.name).into_owned(),
                group: self.group(log, thread.group),
                is_virtual: thread.is_virtual,
            };
            self.add(known, (recording, java_id))
        });
        if let Some(of_run) = self.by_id.get_mut(run as usize) {
            let len = of_run.len().max(id as usize + 1);
            of_run.resize(len, 0);
            if let Some(place) = of_run.get_mut(id as usize) {
                *place = key;
            }
        }
        key
    }

    fn group(&mut self, log: &Recording, group: u32) -> u64 {
        match &*log.text(group) {
            "" => 0,
            name => self.groups.key(name),
        }
    }

    fn add(&mut self, thread: KnownThread, key: ThreadKey) -> u64 {
        self.threads.push(thread);
        let next = self.threads.len() as u64;
        self.by_thread.insert(key, next);
        next
    }

    /// The key of a thread of the profile's tables.
    pub(super) fn thread_of_profile(&mut self, timeline: &Timeline<'_>, thread: &Thread) -> u64 {
        let recording = timeline.axis().recording(thread.run);
        let known = self.by_thread.get(&(recording, thread.java_id)).copied();
        let key = known.unwrap_or_else(|| {
            let group = if thread.group.is_empty() { 0 } else { self.groups.key(&thread.group) };
            let Thread { java_id, ref name, is_virtual, .. } = *thread;
            let known = KnownThread { java_id, name: name.clone(), group, is_virtual };
            self.add(known, (recording, java_id))
        });
        self.used_threads.mark(key, self.chunk);
        key
    }

    /// The key of a stack of the profile; 0 for the empty one.
    #[inline]
    pub(super) fn stack(&mut self, stack: u32) -> u64 {
        if stack != 0 {
            self.used_stacks.mark(u64::from(stack), self.chunk);
        }
        u64::from(stack)
    }

    /// Adds a place, a line of a method that the profile need not have: its number.
    pub(super) fn add_place(&mut self, function: Function, line: u32) -> u32 {
        self.function_classes.push(self.classes.key(&function.class));
        self.places.push((function, line));
        self.places.len() as u32 - 1
    }

    /// The key of a stack of nothing but a place. Those come behind those of stacks.
    #[inline]
    pub(super) fn place(&mut self, nth: u32) -> u64 {
        let key = self.profile.stacks.len() as u64 + u64::from(nth);
        self.used_stacks.mark(key, self.chunk);
        key
    }

    /// A function by its key: those of places come behind those of the profile.
    fn function(&self, key: u64) -> Option<&Function> {
        let functions = &self.profile.functions;
        let at = (key as usize).checked_sub(1)?;
        functions.get(at).or_else(|| Some(&self.places.get(at - functions.len())?.0))
    }

    /// The key of the class of a lock of the profile.
    #[inline]
    pub(super) fn lock_class(&mut self, lock: u32) -> u64 {
        let key = self.lock_classes.get(lock as usize).copied().unwrap_or(0);
        if key != 0 {
            self.used_classes.mark(key, self.chunk);
        }
        key
    }

    /// The key of a class by its name.
    pub(super) fn class(&mut self, name: &str) -> u64 {
        let key = self.classes.key(name);
        self.used_classes.mark(key, self.chunk);
        key
    }

    /// Adds the event with all that the chunk has used, and begins with the next chunk.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, at_ticks: u64) {
        let at = begin(out, CHECKPOINT);
        number(out, at_ticks);
        // It took no time, and there is none before it.
        number(out, 0);
        number(out, 0);
        out.push(GENERIC);
        // Stacks name methods, these classes, and these symbols: so they come in this order.
        let (stacks, methods, threads) = (self.stacks(), self.methods(), self.threads());
        let (classes, packages) = self.classes_and_packages();
        let mut pools = vec![
            stacks,
            methods,
            threads,
            classes,
            packages,
            symbols_of(id::GROUP, &self.groups, true),
            symbols_of(id::SYMBOL, &self.symbols, false),
            states(),
            kinds(),
        ];
        // The JDK refuses those that are empty: of a type, and of none, in a byte each.
        pools.retain(|pool| pool.len() > 2);
        number(out, pools.len() as u64);
        for pool in pools {
            out.extend_from_slice(&pool);
        }
        end(out, at);
        self.chunk += 1;
    }

    /// What stacks consist of, and which functions stand in them.
    fn stacks(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut keys = std::mem::take(&mut self.used_stacks.keys);
        keys.sort_unstable();
        pool(&mut out, id::STACK, keys.len());
        for &key in &keys {
            number(&mut out, key);
            self.one_stack(key, &mut out);
        }
        keys.clear();
        self.used_stacks.keys = keys;
        out
    }

    fn one_stack(&mut self, key: u64, out: &mut Vec<u8>) {
        let profile = self.profile;
        let place = (key as usize).checked_sub(profile.stacks.len());
        // Keys of methods, and lines.
        let mut frames: Vec<(u64, u32)> = match place {
            Some(nth) => {
                let line = self.places.get(nth).map_or(0, |(_, line)| *line);
                vec![((profile.functions.len() + nth) as u64 + 1, line)]
            }
            None => profile
                .frames_of(key as u32)
                .map(|frame| (u64::from(frame.function) + 1, frame.line))
                .collect(),
        };
        let outermost = frames.last().and_then(|&(method, _)| self.function(method));
        let is_cut = outermost.is_some_and(|function| function.method == CUT);
        if is_cut {
            frames.pop();
        }
        out.push(u8::from(is_cut));
        number(out, frames.len() as u64);
        for (method, line) in frames {
            self.used_methods.mark(method, self.chunk);
            number(out, method);
            number(out, line.into());
            // Neither the place in the bytecode nor how it was compiled is known.
            number(out, 0);
            number(out, 0);
        }
    }

    fn methods(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut keys = std::mem::take(&mut self.used_methods.keys);
        keys.sort_unstable();
        pool(&mut out, id::METHOD, keys.len());
        for &key in &keys {
            let class = self.function_classes.get(key as usize - 1).copied().unwrap_or(0);
            if class != 0 {
                self.used_classes.mark(class, self.chunk);
            }
            let Some(function) = self.function(key) else { continue };
            // Viewers take descriptors apart; what is no method has none.
            let descriptor = match function.descriptor.starts_with('(') {
                true => function.descriptor.clone(),
                false => "()V".to_owned(),
            };
            let method = function.method.clone();
            number(&mut out, key);
            number(&mut out, class);
            number(&mut out, self.symbols.key(&method));
            number(&mut out, self.symbols.key(&descriptor));
            // Modifiers, and whether it is hidden.
            number(&mut out, 0);
            out.push(0);
        }
        keys.clear();
        self.used_methods.keys = keys;
        out
    }

    fn threads(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut keys = std::mem::take(&mut self.used_threads.keys);
        keys.sort_unstable();
        pool(&mut out, id::THREAD, keys.len());
        for &key in &keys {
            let Some(thread) = self.threads.get(key as usize - 1) else { continue };
            number(&mut out, key);
            // What the system calls it, and its id there, the log does not tell; but something has
            // to tell those apart that have no id of Java.
            text_if_any(&mut out, "");
            number(&mut out, if thread.java_id == 0 { key } else { 0 });
            text(&mut out, &thread.name);
            number(&mut out, thread.java_id);
            number(&mut out, thread.group);
            out.push(u8::from(thread.is_virtual));
        }
        keys.clear();
        self.used_threads.keys = keys;
        out
    }

    fn classes_and_packages(&mut self) -> (Vec<u8>, Vec<u8>) {
        let mut out = Vec::new();
        let mut keys = std::mem::take(&mut self.used_classes.keys);
        keys.sort_unstable();
        let mut packages: Vec<u64> = Vec::new();
        pool(&mut out, id::CLASS, keys.len());
        for &key in &keys {
            let name = self.classes.text(key).replace('.', "/");
            let package = name.rsplit_once('/').map_or(0, |(package, _)| self.symbols.key(package));
            packages.extend(Some(package).filter(|&package| package != 0));
            number(&mut out, key);
            // Its loader is not known.
            number(&mut out, 0);
            number(&mut out, self.symbols.key(&name));
            // A package has the key of its name.
            number(&mut out, package);
            number(&mut out, 0);
            out.push(0);
        }
        keys.clear();
        self.used_classes.keys = keys;
        packages.sort_unstable();
        packages.dedup();
        let mut of_packages = Vec::new();
        pool(&mut of_packages, id::PACKAGE, packages.len());
        for package in packages {
            number(&mut of_packages, package);
            number(&mut of_packages, package);
            // Neither its module, nor whether that exports it.
            number(&mut of_packages, 0);
            of_packages.push(0);
        }
        (out, of_packages)
    }
}

/// Begins a pool of constants of a type.
fn pool(out: &mut Vec<u8>, of: u64, count: usize) {
    number(out, of);
    number(out, count as u64);
}

/// All texts that were ever used, as constants of a type; of groups, with no parent.
fn symbols_of(of: u64, texts: &TextKeys, has_parent: bool) -> Vec<u8> {
    let mut out = Vec::new();
    pool(&mut out, of, texts.all.len());
    for (key, known) in (1..).zip(&texts.all) {
        number(&mut out, key);
        if has_parent {
            number(&mut out, 0);
        }
        text(&mut out, known);
    }
    out
}

/// The states of threads, as the JDK names them.
fn states() -> Vec<u8> {
    let mut out = Vec::new();
    pool(&mut out, id::STATE, ThreadState::ALL.len());
    for state in ThreadState::ALL {
        number(&mut out, state.code().into());
        text(
            &mut out,
            match state {
                ThreadState::Running | ThreadState::Native => "STATE_RUNNABLE",
                ThreadState::Blocked => "STATE_BLOCKED_ON_MONITOR_ENTER",
                ThreadState::Waiting => "STATE_IN_OBJECT_WAIT",
                ThreadState::Parked => "STATE_PARKED",
                ThreadState::Sleeping => "STATE_SLEEPING",
                ThreadState::Other => "STATE_OTHER",
            },
        );
    }
    out
}

/// The kinds of waits, by their codes.
fn kinds() -> Vec<u8> {
    let mut out = Vec::new();
    pool(&mut out, id::KIND, WaitKind::ALL.len());
    for kind in WaitKind::ALL {
        number(&mut out, kind.code().into());
        text(&mut out, kind.name());
    }
    out
}
