//! What a chunk's keys stand for in the log that is made: each looked up once.

use super::{
    block::SiteKey,
    constants::{Constants, Thread},
    layout::Tells,
    park::park,
};
use crate::import::Importer;
use std::{collections::HashMap, io, sync::Arc};
use tyrion_wire::{
    WaitKind,
    def::{id, thread_flag},
    sample::ThreadState,
};

/// Beyond so many, locks of a class are not told apart.
const MOST_LOCKS: usize = 1 << 18;
/// Set in the ids of threads that are not the program's.
const NATIVE: u64 = 1 << 62;

/// What does not end with a chunk.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By the id of a thread: its number, and the name it had last.
    threads: HashMap<u64, (u32, String)>,
    /// By class and address.
    locks: HashMap<(u32, u64), u32>,
}

/// What a site is in the log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Site {
    /// One of waits.
    Wait(u32),
    /// One of samples: the stack, and the thread's state.
    Sample(u32, ThreadState),
}

/// A method of the log.
struct Method {
    id: u32,
    class: String,
    name: String,
}

/// The keys of a chunk that were looked up.
#[derive(Default)]
pub(super) struct Names {
    methods: HashMap<u64, Arc<Method>>,
    sites: HashMap<SiteKey, Site>,
    threads: HashMap<u64, u32>,
}

/// What is needed to look something up.
pub(super) struct LookUp<'l, 'a> {
    pub(super) constants: &'l Constants<'a>,
    pub(super) importer: &'l mut Importer,
    pub(super) known: &'l mut Known,
    pub(super) names: &'l mut Names,
    /// The chunk's start, in ns.
    pub(super) start_ns: u64,
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
        self.names.threads.insert(key, number);
        Ok(number)
    }

    fn define_thread(&mut self, thread: &Thread<'_>) -> io::Result<u32> {
        let text = |text| self.constants.text(text);
        let name = Some(text(thread.java_name)).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| text(thread.os_name));
        let is_java = thread.java_id != 0 && thread.java_id >> 62 == 0;
        let java_id = if is_java { thread.java_id } else { NATIVE | thread.os_id };
        let log = &mut self.importer.log;
        if let Some((number, last)) = self.known.threads.get_mut(&java_id) {
            if *last != name {
                log.rename(*number, &name, self.start_ns)?;
                *last = name;
            }
            return Ok(*number);
        }
        let flags = if thread.is_virtual { thread_flag::VIRTUAL } else { 0 };
        let number = log.thread(java_id, &name, &self.constants.group(thread.group), flags)?;
        self.known.threads.insert(java_id, (number, name));
        Ok(number)
    }

    /// What a site is.
    pub(super) fn site(&mut self, key: SiteKey) -> io::Result<Site> {
        if let Some(&known) = self.names.sites.get(&key) {
            return Ok(known);
        }
        let site = self.define_site(key)?;
        self.names.sites.insert(key, site);
        Ok(site)
    }

    fn define_site(&mut self, key: SiteKey) -> io::Result<Site> {
        let (frames, is_cut) = self.frames(key.stack)?;
        if matches!(key.tells, Tells::Sample | Tells::NativeSample) {
            let state = self.state(key);
            return Ok(Site::Sample(self.stack(&frames, is_cut)?, state));
        }
        let class = self.constants.class(key.class).unwrap_or_default();
        let (kind, machinery) = match key.tells {
            Tells::MonitorEnter => (WaitKind::Monitor, 0),
            Tells::MonitorWait => (WaitKind::ObjectWait, 0),
            Tells::NativeLock => (WaitKind::Lock, 0),
            _ => {
                let names = frames.iter().map(|(of, _)| (of.class.as_str(), of.name.as_str()));
                let park = park(names, &class);
                (park.kind, park.machinery)
            }
        };
        let stack = self.stack(frames.get(machinery..).unwrap_or_default(), is_cut)?;
        let lock = self.lock(key, &class)?;
        Ok(Site::Wait(self.importer.log.site(kind, stack, lock)?))
    }

    fn state(&self, key: SiteKey) -> ThreadState {
        match self.constants.state(key.class).as_str() {
            _ if key.tells == Tells::NativeSample => ThreadState::Native,
            "STATE_RUNNABLE" => ThreadState::Running,
            "STATE_SLEEPING" => ThreadState::Sleeping,
            "STATE_BLOCKED_ON_MONITOR_ENTER" => ThreadState::Blocked,
            "STATE_IN_OBJECT_WAIT" | "STATE_IN_OBJECT_WAIT_TIMED" => ThreadState::Waiting,
            "STATE_PARKED" | "STATE_PARKED_TIMED" => ThreadState::Parked,
            _ => ThreadState::Other,
        }
    }

    fn lock(&mut self, key: SiteKey, class: &str) -> io::Result<u32> {
        let log = &mut self.importer.log;
        let class = match class {
            "" if key.tells == Tells::NativeLock => log.class("native lock", "")?,
            "" => return Ok(id::UNKNOWN),
            class => log.class(class, "")?,
        };
        let is_full = self.known.locks.len() >= MOST_LOCKS;
        let address = if is_full { 0 } else { key.address };
        if let Some(&lock) = self.known.locks.get(&(class, key.address)) {
            return Ok(lock);
        }
        if let Some(&lock) = self.known.locks.get(&(class, address)) {
            return Ok(lock);
        }
        let lock = log.lock(class)?;
        self.known.locks.insert((class, address), lock);
        Ok(lock)
    }

    /// The methods and lines of a stack, the innermost first, and whether it was cut.
    fn frames(&mut self, key: u64) -> io::Result<(Vec<(Arc<Method>, u32)>, bool)> {
        let (frames, is_cut) = self.constants.stack(key);
        let most = crate::limits::MAX_DEPTH as usize;
        let is_cut = is_cut || frames.len() > most;
        let mut found = Vec::with_capacity(frames.len().min(most));
        for frame in frames.iter().take(most) {
            found.push((self.method(frame.method)?, frame.line));
        }
        Ok((found, is_cut))
    }

    fn method(&mut self, key: u64) -> io::Result<Arc<Method>> {
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
        let method = Arc::new(Method { id, class, name });
        self.names.methods.insert(key, method.clone());
        Ok(method)
    }

    fn stack(&mut self, frames: &[(Arc<Method>, u32)], is_cut: bool) -> io::Result<u32> {
        let outermost = if is_cut { id::CUT_STACK } else { id::EMPTY_STACK };
        let log = &mut self.importer.log;
        let mut frames = frames.iter().rev();
        frames.try_fold(outermost, |parent, (method, line)| log.stack(parent, method.id, *line))
    }
}
