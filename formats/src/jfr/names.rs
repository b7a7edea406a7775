//! What a chunk's keys stand for in the log that is made: each looked up once.

use super::{
    block::{
        SiteKey,
        own::{self, OwnEvent},
    },
    constants::{Constants, JfrThread},
    layout::Tells,
    park::park,
    scan::within,
    state::{ON_CPU, state},
};
use crate::{
    import::Importer,
    limits::{
        MAX_DEPTH, MAX_TOLD_APART,
        jfr::{MAX_LOCKS, MAX_REMEMBERED},
        stack_frames,
    },
};
use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash},
    io,
    sync::Arc,
};
use tyrion_wire::{
    WaitKind,
    def::{id, thread_flag},
    sample::ThreadState,
};

/// Set in the keys of threads that are not the program's.
const NATIVE: u64 = 1 << 62;
/// Stands for the class of a lock of native code, which has none.
const NATIVE_LOCK: &str = "native lock";
/// The descriptor that async-profiler gives to functions of native code, whose class is
/// their library.
const NATIVE_METHOD: &str = "()L;";

/// What does not end with a chunk.
#[derive(Debug, Default)]
pub(super) struct FileNames {
    /// By the id of a thread: its number, and a hash of the name it had last. Many threads
    /// may have the same long name.
    threads: HashMap<u64, (u32, u64)>,
    /// By class and address.
    locks: HashMap<(u32, u64), u32>,
    /// Whether there were too many.
    are_locks_full: bool,
}

/// What sampled a thread: each has a period of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SamplerKind {
    /// Flight Recorder's of threads that run Java code.
    Java,
    /// Flight Recorder's of threads in native code.
    Native,
    /// Flight Recorder's of time on a processor: each sample says how much.
    CpuTime,
    /// async-profiler's of time on a processor.
    Cpu,
    /// async-profiler's of time that passes.
    Wall,
}

/// What a site is in the log.
#[derive(Clone, Copy, Debug)]
pub(super) enum SiteKind {
    /// One of waits.
    Wait(u32),
    /// One of `Object.wait`: the other thread is not who has the lock, but who ended it.
    ObjectWait(u32),
    /// One of samples: the stack, and the thread's state.
    Sample(u32, ThreadState, SamplerKind),
}

/// What a stack and a class tell: a site without its lock.
#[derive(Clone, Copy, Debug)]
enum StackClass {
    /// The kind of waits, the stack, and the class of the lock.
    Wait(WaitKind, u32, u32),
    Sample(u32, ThreadState, SamplerKind),
}

/// A method of the log.
struct JfrMethod {
    id: u32,
    class: String,
    name: String,
}

/// The methods and lines of a stack, the innermost first.
type FrameList = Vec<(Arc<JfrMethod>, u32)>;

/// The keys of a chunk that were looked up.
pub(super) struct ChunkNames {
    /// How many frames may still be looked up: a stack is looked up with each class, and
    /// may be as deep as can be.
    frames_left: usize,
    methods: HashMap<u64, Arc<JfrMethod>>,
    /// By what an event tells, and the keys of its stack, class and kind.
    places: HashMap<(Tells, u64, u64, u64), StackClass>,
    sites: HashMap<SiteKey, SiteKind>,
    threads: HashMap<u64, u32>,
}

impl ChunkNames {
    /// Of a chunk of so many bytes.
    pub(super) fn new(len: usize) -> ChunkNames {
        let (methods, places, sites, threads) = Default::default();
        ChunkNames { frames_left: stack_frames(len), methods, places, sites, threads }
    }
}

/// What is needed to look something up.
pub(super) struct LookUp<'l, 'a> {
    pub(super) constants: &'l Constants<'a>,
    pub(super) importer: &'l mut Importer,
    pub(super) known: &'l mut FileNames,
    pub(super) names: &'l mut ChunkNames,
    /// The chunk's start, in ns.
    pub(super) start_ns: u64,
    /// Where it stands in the file.
    pub(super) offset: u64,
}

impl LookUp<'_, '_> {
    /// The number of a thread.
    pub(super) fn thread(&mut self, key: u64) -> io::Result<u32> {
        if key == 0 {
            return Ok(id::UNKNOWN);
        }
        if let Some(&known) = self.names.threads.get(&key) {
            return Ok(known);
        }
        let number = match self.constants.thread(key) {
            Some(thread) => self.define_thread(&thread)?,
            None => id::UNKNOWN,
        };
        remember(&mut self.names.threads, key, number);
        Ok(number)
    }

    fn define_thread(&mut self, thread: &JfrThread<'_>) -> io::Result<u32> {
        let text = |text| self.constants.text(text);
        // The JVM's own threads, and all others that it does not know, have no Java id.
        let java_id = Some(thread.java_id).filter(|id| *id != 0 && id >> 62 == 0);
        let name = Some(text(thread.java_name)).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| match thread.is_virtual {
            // What the system calls it is its carrier's.
            true => String::new(),
            false => text(thread.os_name),
        });
        let key = java_id.unwrap_or(NATIVE | thread.os_id);
        let log = &mut self.importer.log;
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&name);
        if let Some((number, last)) = self.known.threads.get_mut(&key) {
            if *last != hash {
                log.rename(*number, &name, self.start_ns)?;
                *last = hash;
            }
            return Ok(*number);
        }
        let flags = if thread.is_virtual { thread_flag::VIRTUAL } else { 0 };
        let group = self.constants.group(thread.group);
        let number = log.thread(java_id.unwrap_or(0), &name, &group, flags)?;
        self.known.threads.insert(key, (number, hash));
        Ok(number)
    }

    /// What a site is.
    pub(super) fn site(&mut self, key: SiteKey) -> io::Result<SiteKind> {
        if let Some(&known) = self.names.sites.get(&key) {
            return Ok(known);
        }
        let site = match self.place(key)? {
            StackClass::Sample(stack, state, sampler) => SiteKind::Sample(stack, state, sampler),
            StackClass::Wait(kind, stack, class) => {
                let lock = self.lock(class, key.address)?;
                let site = self.importer.log.site(kind, stack, lock)?;
                match key.tells {
                    Tells::MonitorWait => SiteKind::ObjectWait(site),
                    _ => SiteKind::Wait(site),
                }
            }
        };
        remember(&mut self.names.sites, key, site);
        Ok(site)
    }

    /// What a site is but for its lock: locks get other addresses when the collector
    /// moves them, so many sites are at a place.
    fn place(&mut self, key: SiteKey) -> io::Result<StackClass> {
        let of = (key.tells, key.stack, key.class, key.kind);
        if let Some(&known) = self.names.places.get(&of) {
            return Ok(known);
        }
        let (frames, is_cut) = self.frames(key.stack)?;
        let place = match key.tells.is_sample() {
            true => self.sample(key, &frames, is_cut)?,
            false => self.wait(key, &frames, is_cut)?,
        };
        remember(&mut self.names.places, of, place);
        Ok(place)
    }

    fn sample(
        &mut self,
        key: SiteKey,
        frames: &[(Arc<JfrMethod>, u32)],
        is_cut: bool,
    ) -> io::Result<StackClass> {
        let name = self.constants.state(key.class);
        let (state, inner) = match key.tells {
            Tells::NativeSample => (ThreadState::Native, 0),
            Tells::CpuTimeSample | Tells::DatadogCpuSample => (ThreadState::Running, 0),
            _ => state(&name, names(frames)),
        };
        let sampler = match key.tells {
            Tells::NativeSample => SamplerKind::Native,
            Tells::WallSample | Tells::DatadogWallSample => SamplerKind::Wall,
            Tells::CpuTimeSample => SamplerKind::CpuTime,
            Tells::DatadogCpuSample => SamplerKind::Cpu,
            _ if name == ON_CPU => SamplerKind::Cpu,
            _ => SamplerKind::Java,
        };
        let stack = self.stack(frames.get(inner..).unwrap_or_default(), is_cut)?;
        Ok(StackClass::Sample(stack, state, sampler))
    }

    fn wait(
        &mut self,
        key: SiteKey,
        frames: &[(Arc<JfrMethod>, u32)],
        is_cut: bool,
    ) -> io::Result<StackClass> {
        let class = match key.tells {
            Tells::NativeLock => NATIVE_LOCK.to_owned(),
            _ => self.constants.class(key.class).unwrap_or_default(),
        };
        let told = WaitKind::from_name(&self.constants.kind(key.kind));
        let (kind, inner) = match key.tells {
            _ if told.is_some() => (told.unwrap_or(WaitKind::Park), 0),
            Tells::MonitorEnter => (WaitKind::Monitor, 0),
            Tells::MonitorWait => (WaitKind::ObjectWait, 0),
            Tells::NativeLock => (WaitKind::Lock, 0),
            _ => {
                let park = park(names(frames), &class);
                (park.kind, park.machinery)
            }
        };
        let stack = self.stack(frames.get(inner..).unwrap_or_default(), is_cut)?;
        let class = match class.is_empty() {
            true => id::UNKNOWN,
            false => self.importer.log.class(&class, "")?,
        };
        Ok(StackClass::Wait(kind, stack, class))
    }

    /// The state of a thread in a sample that `tyrion convert` wrote, its stack, the kind of its
    /// wait and its lock.
    pub(super) fn own_sample(
        &mut self,
        seen: &OwnEvent,
    ) -> io::Result<(ThreadState, u32, Option<WaitKind>, u32)> {
        let key = seen.site;
        let StackClass::Sample(stack, ..) = self.place(key)? else {
            return Ok((ThreadState::Other, id::EMPTY_STACK, None, id::UNKNOWN));
        };
        let state = own::state(key.tells, &self.constants.state(key.class));
        let kind = WaitKind::from_name(&self.constants.kind(key.kind));
        let class = match self.constants.class(seen.lock_class) {
            Some(class) if !class.is_empty() => self.importer.log.class(&class, "")?,
            _ => id::UNKNOWN,
        };
        Ok((state, stack, kind, self.lock(class, key.address)?))
    }

    fn lock(&mut self, class: u32, address: u64) -> io::Result<u32> {
        if class == id::UNKNOWN {
            return Ok(id::UNKNOWN);
        }
        let locks = &mut self.known.locks;
        if let Some(&known) = locks.get(&(class, address)) {
            return Ok(known);
        }
        let is_full = locks.len() >= MAX_LOCKS;
        if is_full && !std::mem::replace(&mut self.known.are_locks_full, true) {
            let what = "more locks than are told apart; of the others only the class is known";
            self.importer.add_damage(self.offset, what, 0);
        }
        let address = if is_full { 0 } else { address };
        if let Some(&known) = locks.get(&(class, address)) {
            return Ok(known);
        }
        let lock = self.importer.log.lock(class)?;
        locks.insert((class, address), lock);
        Ok(lock)
    }

    /// A stack's frames, and whether it was cut.
    fn frames(&mut self, key: u64) -> io::Result<(FrameList, bool)> {
        let left = &mut self.names.frames_left;
        let most = (MAX_DEPTH as usize).min(*left);
        let (frames, is_cut) = self.constants.stack(key, most);
        if *left != 0 {
            *left -= frames.len();
            if is_cut && *left == 0 {
                let what = "more frames than are read of a chunk; later stacks are cut";
                self.importer.add_damage(self.offset, what, 0);
            }
        }
        let mut found = Vec::with_capacity(frames.len());
        for frame in frames {
            found.push((self.method(frame.method)?, frame.line));
        }
        Ok((found, is_cut))
    }

    fn method(&mut self, key: u64) -> io::Result<Arc<JfrMethod>> {
        if let Some(known) = self.names.methods.get(&key) {
            return Ok(known.clone());
        }
        let (class, name, descriptor) = self.constants.method(key).unwrap_or_default();
        let log = &mut self.importer.log;
        let id = match name.is_empty() {
            true => id::UNKNOWN,
            false => {
                let class = log.class(&class, "")?;
                log.method(class, &name, &descriptor, 0)?
            }
        };
        // What tells stacks apart knows classes of Java alone.
        let class = if descriptor == NATIVE_METHOD { String::new() } else { class };
        let (class, name) = (within(class, MAX_TOLD_APART), within(name, MAX_TOLD_APART));
        let method = Arc::new(JfrMethod { id, class, name });
        remember(&mut self.names.methods, key, method.clone());
        Ok(method)
    }

    fn stack(&mut self, frames: &[(Arc<JfrMethod>, u32)], is_cut: bool) -> io::Result<u32> {
        let outermost = if is_cut { id::CUT_STACK } else { id::EMPTY_STACK };
        let log = &mut self.importer.log;
        let mut frames = frames.iter().rev();
        frames.try_fold(outermost, |parent, (method, line)| log.stack(parent, method.id, *line))
    }
}

/// Remembers what was looked up.
fn remember<K: Eq + Hash, V>(known: &mut HashMap<K, V>, key: K, value: V) {
    if known.len() >= MAX_REMEMBERED {
        known.clear();
    }
    known.insert(key, value);
}

/// The classes and methods of frames.
fn names(frames: &[(Arc<JfrMethod>, u32)]) -> impl Iterator<Item = (&str, &str)> {
    frames.iter().map(|(method, _)| (method.class.as_str(), method.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = HashMap::new();
        for key in 0..3 * MAX_REMEMBERED {
            remember(&mut known, key, ());
            assert!(known.len() <= MAX_REMEMBERED);
        }
        assert!(known.contains_key(&(3 * MAX_REMEMBERED - 1)));
    }
}
