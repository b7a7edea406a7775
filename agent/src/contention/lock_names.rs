//! What the program calls the locks that it waits for.
//!
//! The class of a lock seldom says which one it is. The code that takes it
//! does: `Cache.lock` was loaded from there a few bytecodes earlier. So when a
//! lock is met for the first time, the JVM is asked for that code. Nobody's
//! mutex is held meanwhile, and each place is looked at only once, however
//! many locks are taken there. Some programs make a new lock for each wait: where
//! the log knows the stack, the JVM is not even asked which place it is.

use crate::{
    jvm::{Java, Ti, code::at_monitor_enter},
    sync::lock,
};
use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tyrion_bytecode::{
    Pc,
    naming::{Body, called_method, initialized_class, lock_names},
    opcode,
};
use tyrion_wire::{def::id, lock_flavor::LockFlavor};

/// How many frames a lock's own machinery has at most.
const DEEPEST: usize = 24;
/// Of these, `Object.wait` has so many, with the one that calls it.
pub const DEEPEST_OBJECT_WAIT: usize = 6;
/// What is known of places is forgotten beyond this many.
const LIMIT: usize = 1 << 16;

const UTIL: &[u8] = b"Ljava/util/concurrent/";
/// What a thread parks by: a probe, the native method, and how virtual threads come there.
const PARKING: [&[u8]; 4] = [
    b"Ljava/lang/TyrionProbe;",
    b"Ljdk/internal/misc/Unsafe;",
    b"Ljava/lang/VirtualThread;",
    b"Ljdk/internal/misc/VirtualThreads;",
];

/// Whether it is one of the anonymous classes of `System`: by which of them virtual threads
/// come to a park differs between JDKs.
fn is_within_system(class: &[u8]) -> bool {
    let number = class.strip_prefix(b"Ljava/lang/System$").and_then(|rest| rest.strip_suffix(b";"));
    number.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// How a thread comes to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// It enters a monitor.
    Monitor,
    /// It has entered a monitor, and a probe of trace mode says that it took
    /// long; or it is not the current thread.
    Unseen,
    /// It calls `Object.wait`.
    ObjectWait,
    /// It parks, in the slow path of a lock or for a condition.
    Park,
    /// It parks within a condition, or takes the lock again after that: the
    /// program calls the condition, not the lock.
    Condition,
}

impl Way {
    /// Whether the code that a thread comes from tells the name of a lock of
    /// this flavor.
    #[inline]
    pub fn tells(self, flavor: LockFlavor) -> bool {
        match self {
            Way::Monitor | Way::ObjectWait => true,
            Way::Unseen => false,
            Way::Park => flavor.is_held() || flavor == LockFlavor::Condition,
            Way::Condition => flavor == LockFlavor::Condition,
        }
    }

    /// Whether a method, given with its class's signature, belongs to the way
    /// and not to the program.
    fn leads_through(self, class: &[u8], method: impl FnOnce() -> Option<Vec<u8>>) -> bool {
        match self {
            Way::Monitor | Way::Unseen => false,
            Way::ObjectWait => class == b"Ljava/lang/Object;",
            Way::Park | Way::Condition => match class.strip_prefix(UTIL).unwrap_or_default() {
                // How conditions park on JDK 17 and later.
                b"ForkJoinPool;" => method().is_some_and(|name| name.ends_with(b"edBlock")),
                name => {
                    name.starts_with(b"locks/")
                        || name.starts_with(b"Semaphore")
                        || PARKING.contains(&class)
                        || is_within_system(class)
                }
            },
        }
    }
}

/// How a lock is waited for, in which method, at which offset.
type CodeSite = (Way, usize, i64);

/// What the program calls a lock, in UTF-8.
pub type Name = Arc<[u8]>;

/// Finds names of locks in bytecode, and keeps those found.
#[derive(Default)]
pub struct LockNameFinder {
    known: Mutex<HashMap<CodeSite, Option<Name>>>,
    by_stack: Mutex<ByStack>,
}

/// Names by the stacks of a generation of the log, which have ids there.
#[derive(Default)]
struct ByStack {
    generation: u32,
    names: HashMap<(Way, u32), Option<Name>>,
}

impl ByStack {
    fn of(&mut self, generation: u32) -> &mut HashMap<(Way, u32), Option<Name>> {
        if self.generation != generation || self.names.len() >= LIMIT {
            self.names.clear();
            self.generation = generation;
        }
        &mut self.names
    }
}

impl LockNameFinder {
    /// As [`find`](Self::find), where the log knows the current stack by this id in a
    /// generation, with at least [`DEEPEST_OBJECT_WAIT`] frames of it.
    pub fn find_at(
        &self,
        ti: Ti,
        java: Java,
        way: Way,
        (generation, stack): (u32, u32),
    ) -> Option<Name> {
        // Of parks the log leaves out frames that tell the name.
        if stack == id::UNKNOWN || !matches!(way, Way::Monitor | Way::ObjectWait) {
            return self.find(ti, java, way);
        }
        let key = (way, stack);
        if let Some(known) = lock(&self.by_stack).of(generation).get(&key) {
            return known.clone();
        }
        let name = self.find(ti, java, way);
        lock(&self.by_stack).of(generation).insert(key, name.clone());
        name
    }

    /// The name of the lock that the current thread is about to wait for;
    /// `None` when the code does not tell more than the lock's class does.
    pub fn find(&self, ti: Ti, java: Java, way: Way) -> Option<Name> {
        let mut frames = [jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 }; DEEPEST];
        let room = match way {
            // A monitor is taken by the innermost frame.
            Way::Monitor => 1,
            Way::ObjectWait => DEEPEST_OBJECT_WAIT,
            _ => DEEPEST,
        };
        let count = ti.stack(java, &mut frames[..room]);
        let (taker, called) = taker(ti, java, way, frames.get(..count)?)?;
        let place = (way, taker.method as usize, taker.location);
        if let Some(known) = lock(&self.known).get(&place) {
            return known.clone();
        }
        let name = name(ti, java, taker, called).map(|name| Name::from(name.into_bytes()));
        let mut known = lock(&self.known);
        if known.len() >= LIMIT {
            known.clear();
        }
        known.insert(place, name.clone());
        name
    }
}

/// The frame of the program that takes the lock, and the method that it calls
/// to do so, unless it does it itself.
fn taker(
    ti: Ti,
    java: Java,
    way: Way,
    frames: &[jvmtiFrameInfo],
) -> Option<(jvmtiFrameInfo, Option<jmethodID>)> {
    if way == Way::Monitor {
        return Some((*frames.first()?, None));
    }
    let mut called = None;
    for frame in frames {
        let class = ti.class_of_method(java, frame.method).ok()?;
        let name = || Some(ti.method_name(frame.method).ok()?.0);
        if !way.leads_through(&class, name) {
            // Nothing of the lock's own was on top: that is no call of it.
            return Some((*frame, Some(called?)));
        }
        called = Some(frame.method);
    }
    None
}

fn name(ti: Ti, java: Java, taker: jvmtiFrameInfo, called: Option<jmethodID>) -> Option<String> {
    let called = match called {
        Some(called) => Some(ti.method_name(called).ok()?.0),
        None => {
            // Synchronized methods need no look at the constants.
            let code = ti.bytecodes(taker.method).ok()?;
            let at = at_monitor_enter(&code, taker.location);
            enters_monitor(&code, at).or_else(|| may_initialize(&code, at))?;
            None
        }
    };
    let method = ti.code(java, taker.method).ok()?;
    method.with_body(|body| name_in(body, taker.location, called.as_deref()))
}

/// The name of the lock that is taken at an offset, by a call or not.
fn name_in(body: &Body<'_>, location: i64, called: Option<&[u8]>) -> Option<String> {
    let pc = match called {
        Some(called) => {
            let pc = Pc(u16::try_from(location).ok()?);
            // Where frames are hidden, as those of lambdas are, the program
            // calls something else here, whose receiver is no lock.
            Some(pc).filter(|&pc| {
                called_method(body, pc).is_some_and(|found| found.name.as_bytes() == called)
            })?
        }
        None => {
            let at = at_monitor_enter(body.code, location);
            if let Some(pc) = may_initialize(body.code, at) {
                let class = initialized_class(body, pc)?.to_string().replace('/', ".");
                return Some(format!("initialization of {class}"));
            }
            enters_monitor(body.code, at)?
        }
    };
    let name = lock_names(body, &[pc]).pop()??;
    is_listing(&name.text).then_some(name.text)
}

/// The place of a `monitorenter`; `None` when there is another instruction, as
/// at the start of a synchronized method, whose lock its class tells.
fn enters_monitor(code: &[u8], location: i64) -> Option<Pc> {
    let pc = u16::try_from(location).ok()?;
    (code.get(usize::from(pc)) == Some(&opcode::MONITORENTER)).then_some(Pc(pc))
}

/// The place of an instruction that has a class initialized: a monitor that is waited
/// for there is that of the initialization, for which HotSpot has an `int[]`.
fn may_initialize(code: &[u8], location: i64) -> Option<Pc> {
    let pc = u16::try_from(location).ok()?;
    let initializes = matches!(
        *code.get(usize::from(pc))?,
        opcode::NEW | opcode::GETSTATIC | opcode::PUTSTATIC | opcode::INVOKESTATIC
    );
    initializes.then_some(Pc(pc))
}

/// Whether a name says more than the class of the lock, or the stack.
fn is_listing(name: &str) -> bool {
    let parameter = name.strip_prefix("parameter ");
    let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    name != "this" && !name.ends_with(".class") && !parameter.is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_bytecode::ConstantPool;
    use tyrion_plan::probe;

    const ENTER: u8 = opcode::MONITORENTER;

    #[test]
    fn frames_of_the_lock_itself_are_passed() {
        for (way, class, method, passes) in [
            (Way::Park, "Ljava/util/concurrent/locks/ReentrantLock;", "lock", true),
            (Way::Park, "Ljava/util/concurrent/Semaphore;", "acquire", true),
            (Way::Park, "Ljava/util/concurrent/LinkedBlockingQueue;", "take", false),
            (Way::Park, "Lcom/acme/Mutex$Sync;", "lock", false),
            (Way::Park, "Ljava/lang/Object;", "wait", false),
            (Way::Park, "Ljava/lang/System$1;", "parkVirtualThread", true),
            (Way::Condition, "Ljava/lang/System$2;", "parkVirtualThread", true),
            (Way::Park, "Ljava/lang/System$Logger;", "log", false),
            (Way::Park, "Ljava/lang/System;", "exit", false),
            (Way::Condition, "Ljava/util/concurrent/ForkJoinPool;", "managedBlock", true),
            (Way::Condition, "Ljava/util/concurrent/ForkJoinPool;", "compensatedBlock", true),
            (Way::Condition, "Ljava/util/concurrent/ForkJoinPool;", "registerWorker", false),
            (Way::ObjectWait, "Ljava/lang/Object;", "wait", true),
            (Way::ObjectWait, "Ljava/lang/Thread;", "join", false),
            (Way::Monitor, "Ljava/util/concurrent/locks/ReentrantLock;", "lock", false),
        ] {
            let found = way.leads_through(class.as_bytes(), || Some(method.into()));
            assert_eq!(found, passes, "{way:?} {class} {method}");
        }
        let probes = [&b"L"[..], probe::wait::CLASS.as_bytes(), b";"].concat();
        assert!(PARKING.contains(&probes.as_slice()));
        assert!(Way::Park.leads_through(&probes, || None));
    }

    #[test]
    fn what_parks_on_no_lock_has_no_name() {
        assert!(Way::Park.tells(LockFlavor::Semaphore) && Way::Park.tells(LockFlavor::Condition));
        assert!(!Way::Park.tells(LockFlavor::Plain) && !Way::Park.tells(LockFlavor::Latch));
        assert!(Way::Monitor.tells(LockFlavor::Plain) && Way::ObjectWait.tells(LockFlavor::Lock));
        assert!(
            !Way::Condition.tells(LockFlavor::Lock) && Way::Condition.tells(LockFlavor::Condition)
        );
    }

    #[test]
    fn only_names_that_say_something_are_kept() {
        // An element of the parameter is locked, the parameter, and `this`.
        let code = [0x2b, 0x03, 0x32, ENTER, 0x2b, ENTER, 0x2a, ENTER, 0xb1];
        let pool = ConstantPool::from_entries(1, &[]).unwrap();
        let (descriptor, variables) = (b"([Ljava/lang/Object;)V", Vec::new());
        let body = Body { pool: &pool, code: &code, descriptor, is_static: false, variables };
        for location in [3, 4] {
            assert_eq!(name_in(&body, location, None).as_deref(), Some("parameter 1[]"));
        }
        // Parameter, `this`, a synchronized method, native code, nonsense.
        for location in [5, 6, 7, 8, 0, -1, 9, 1 << 40] {
            assert_eq!(name_in(&body, location, None), None);
        }
        assert_eq!(name_in(&body, 3, Some(b"lock")), None);
    }

    #[test]
    fn initialization_is_named_by_its_class() {
        let entries = [&[7, 0, 2, 1, 0, 12][..], b"com/acme/Foo"].concat();
        let pool = ConstantPool::from_entries(3, &entries).unwrap();
        let code = [opcode::NEW, 0, 1, opcode::NEW, 0, 9];
        let (descriptor, variables) = (b"()V", Vec::new());
        let body = Body { pool: &pool, code: &code, descriptor, is_static: true, variables };
        let name = name_in(&body, 0, None);
        assert_eq!(name.as_deref(), Some("initialization of com.acme.Foo"));
        assert_eq!(name_in(&body, 3, None), None);
    }
}
