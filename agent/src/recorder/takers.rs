//! Where waits take their locks: the place of a wait, and so what the program calls the lock.
//!
//! The class of a lock seldom says which one it is. The code that takes it does:
//! `Cache.lock` was loaded from there a few bytecodes earlier. So when a stack is met for
//! the first time, the JVM is asked for the code of the frame that takes the lock. Nobody's
//! mutex is held meanwhile, and each instruction of each version of a method is looked at
//! only once, however many locks are taken there.

use super::Recorder;
use crate::{
    jvm::{
        Java,
        code::{MethodCode, at_monitor_enter},
        walk::word,
    },
    sync::lock,
};
use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};
use std::{collections::HashMap, sync::Mutex};
use tyrion_bytecode::{
    Pc,
    naming::{Body, called_method, initialized_class, lock_names, method_lock_name},
    opcode,
};
use tyrion_plan::{
    Place,
    program::acquisition,
    taking::{self, Taken},
};
use tyrion_wire::{
    WaitKind,
    def::{id, place_flag},
    lock_flavor::implements_locks,
};

/// How many frames a lock's own machinery has at most.
pub const DEEPEST: usize = 24;
/// What is known of instructions is forgotten beyond this many.
const LIMIT: usize = 1 << 16;

const UTIL: &[u8] = b"Ljava/util/concurrent/";
/// What a thread parks by: a probe, the native method, and how virtual threads come there.
const PARKING: [&[u8]; 5] = [
    b"Ljava/lang/TyrionProbe;",
    b"Ljdk/internal/misc/Unsafe;",
    b"Lsun/misc/Unsafe;",
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
    /// It calls `Object.wait`.
    ObjectWait,
    /// It parks, in the slow path of a lock or for a condition.
    Park,
}

impl Way {
    /// Whether a method, given with its class's signature, belongs to the way
    /// and not to the program.
    fn leads_through(self, class: &[u8], method: impl FnOnce() -> Option<Vec<u8>>) -> bool {
        match self {
            Way::Monitor => false,
            Way::ObjectWait => class == b"Ljava/lang/Object;",
            Way::Park => match class.strip_prefix(UTIL).unwrap_or_default() {
                // How conditions park on JDK 17 and later.
                b"ForkJoinPool;" => method().is_some_and(|name| name.ends_with(b"edBlock")),
                _ => {
                    implements_locks(class.strip_prefix(b"L").unwrap_or_default())
                        || PARKING.contains(&class)
                        || is_within_system(class)
                }
            },
        }
    }
}

/// How a lock is waited for, in which version of which method, at which offset.
type CodeSite = (Way, usize, u64, i64);

/// Finds the places of waits, and keeps those found.
#[derive(Default)]
pub struct Takers {
    known: Mutex<HashMap<CodeSite, Found>>,
}

/// What an instruction is found to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// It takes a lock at a place, which has a number; 0 where that is not known.
    Takes(u32),
    /// It is a lock's own method that calls itself: its caller takes the lock.
    IsCalled,
}

/// A frame that may take a lock, and the method that it calls to do so, unless it does it
/// itself.
type Taker = (jvmtiFrameInfo, Option<jmethodID>);

impl Recorder {
    /// The number of the place where a stack takes what it waits for, coming by a way; 0 if
    /// it is not known. The frames are the innermost ones, the first one included; a frame
    /// that waits for a monitor may be one instruction too far.
    /// `is_own` says that they are the current thread's.
    pub(super) fn taker(
        &self,
        java: Java,
        (way, is_own): (Way, bool),
        frames: &[jvmtiFrameInfo],
    ) -> u32 {
        let mut frames = frames.get(..frames.len().min(DEEPEST)).unwrap_or_default();
        let mut called = None;
        while let Some(taker) = self.next_taker(java, way, &mut frames, called) {
            match self.found(java, (way, is_own), taker) {
                Found::Takes(place) => return place,
                Found::IsCalled => called = Some(taker.0.method),
            }
        }
        id::UNKNOWN
    }

    /// The next frame of the program, and with it the method that it calls, if that belongs
    /// to the way, or is what the frames before have `called`; leaves the frames that are
    /// further out.
    fn next_taker(
        &self,
        java: Java,
        way: Way,
        frames: &mut &[jvmtiFrameInfo],
        mut called: Option<jmethodID>,
    ) -> Option<Taker> {
        if way == Way::Monitor {
            let (innermost, rest) = frames.split_first()?;
            // There is one alone.
            *frames = rest.get(rest.len()..)?;
            return Some((*innermost, None));
        }
        let ti = self.ti;
        while let Some((frame, rest)) = frames.split_first() {
            let class = ti.class_of_method(java, frame.method).ok()?;
            let name = || Some(ti.method_name(frame.method).ok()?.0);
            if !way.leads_through(&class, name) {
                // Nothing of the lock's own was on top: that is no call of it.
                let taker = (*frame, Some(called?));
                *frames = rest;
                return Some(taker);
            }
            called = Some(frame.method);
            *frames = rest;
        }
        None
    }

    fn found(&self, java: Java, (way, is_own): (Way, bool), (taker, called): Taker) -> Found {
        let version = self.versions.of(taker.method);
        let key = (way, taker.method as usize, version, taker.location);
        if let Some(known) = lock(&self.takers.known).get(&key) {
            return *known;
        }
        let own = self.versions.of_own(taker.method).filter(|_| is_own);
        let found = self.look(java, (way, is_own), (taker, called));
        let found = found.unwrap_or(Found::Takes(id::UNKNOWN));
        // What was looked at must be what the frame runs.
        if self.versions.of(taker.method) != version {
            let is_same = own.is_some() && self.versions.of_own(taker.method) == own;
            return if is_same { found } else { Found::Takes(id::UNKNOWN) };
        }
        // Of other threads' frames not all is known.
        if is_own {
            let mut known = lock(&self.takers.known);
            if known.len() >= LIMIT {
                known.clear();
            }
            known.insert(key, found);
        }
        found
    }

    /// Where the JVM has the method of a frame of the current thread, by its id.
    fn method_address(&self, java: Java, id: jmethodID) -> Option<usize> {
        if self.versions.has_words() {
            // SAFETY: the JVM has told the id, which is the address of such a word.
            return Some(unsafe { word(id as usize) }).filter(|&method| method != 0);
        }
        self.walker.as_ref()?.method_of(java, id)
    }

    fn look(
        &self,
        java: Java,
        (way, is_own): (Way, bool),
        (taker, called): Taker,
    ) -> Option<Found> {
        let ti = self.ti;
        let called = match called {
            Some(called) => Some(ti.method_name(called).ok()?.0),
            None => None,
        };
        let mut method = ti.code(java, taker.method).ok()?;
        let mut knows_variables = false;
        if let Some(variables) = self.variables.as_ref().filter(|_| is_own)
            && let Some(at) = self.method_address(java, taker.method)
        {
            // SAFETY: the frame is the current thread's.
            method.variables = unsafe { variables.of_method(at) };
            knows_variables = true;
        }
        let (at, taken) = match taken(&method, (way, taker.location), called.as_deref())? {
            Taking::IsCalled => return Some(Found::IsCalled),
            Taking::Takes(at, taken) => (at, taken),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let info = ti.method(java, taker.method).ok()?;
        let class = text(info.class.strip_prefix(b"L")?.strip_suffix(b";")?);
        let (name, descriptor) = (text(&info.name), text(&info.descriptor));
        let first_line = info.lines.iter().map(|&(_, line)| line).min().unwrap_or(0);
        let is_method = taken.flags & place_flag::METHOD != 0;
        let (line, bytecode) = match is_method {
            true => (first_line, 0),
            false => {
                let of = (class.as_str(), name.as_str(), descriptor.as_str());
                let bytecode = self.places.in_class_file(of, &method.code, at.0);
                (info.line_at(at.0.into()), bytecode)
            }
        };
        let place = Place {
            source_file: Some(text(&info.source)).filter(|source| !source.is_empty()),
            class,
            method: name,
            descriptor,
            first_line,
            line,
            bytecode: Some(bytecode),
            taken,
        };
        Some(Found::Takes(self.places.number_in_jvm(place, knows_variables)))
    }

    /// What the program calls the initialization of a class that the current thread waits
    /// for, by its innermost frame; `None` if it does nothing that initializes a class.
    pub fn initialization(&self, java: Java) -> Option<String> {
        let mut frames = [jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 }];
        let frame = match self.ti.stack(java, &mut frames) {
            0 => return None,
            _ => frames[0],
        };
        let method = self.ti.code(java, frame.method).ok()?;
        let pc = may_initialize(&method.code, frame.location)?;
        method.with_body(|body| {
            let class = initialized_class(body, pc)?.to_string().replace('/', ".");
            Some(format!("initialization of {class}"))
        })
    }
}

/// What a frame does.
enum Taking {
    Takes(Pc, Taken),
    IsCalled,
}

/// What is taken at an offset of a method, by a call or not; `None` where that is not known.
fn taken(
    method: &MethodCode,
    (way, location): (Way, i64),
    called: Option<&[u8]>,
) -> Option<Taking> {
    let Some(called) = called else {
        let at = at_monitor_enter(&method.code, location);
        return match enters_monitor(&method.code, at) {
            Some(pc) => method.with_body(|body| {
                let name = lock_names(body, &[pc]).pop()?;
                Some(Taking::Takes(pc, taking::monitor(name)))
            }),
            // The monitor of a synchronized method is entered before its first instruction.
            None if method.is_synchronized && location <= 0 => {
                Some(Taking::Takes(Pc(0), of_method(method)))
            }
            None => None,
        };
    };
    let pc = Pc(u16::try_from(location).ok()?);
    method.with_body(|body| called_at(body, pc, called, (way, method)))
}

/// What a call takes, if it is one of the method that has been called.
fn called_at(
    body: &Body<'_>,
    pc: Pc,
    called: &[u8],
    (way, method): (Way, &MethodCode),
) -> Option<Taking> {
    // Where frames are hidden, as those of lambdas are, the program calls something else
    // here, whose receiver is no lock.
    let member = called_method(body, pc).filter(|found| found.name.as_bytes() == called)?;
    let name = lock_names(body, &[pc]).pop()?;
    if way == Way::ObjectWait {
        return Some(Taking::Takes(pc, taking::monitor(name)));
    }
    let kind = acquisition(&member).unwrap_or(WaitKind::Lock);
    let of = (method.class.as_slice(), method.name.as_slice(), method.descriptor.as_slice());
    let taken = taking::lock(kind, (member.owner.as_bytes(), name), of);
    Some(taken.map_or(Taking::IsCalled, |taken| Taking::Takes(pc, taken)))
}

fn of_method(method: &MethodCode) -> Taken {
    let flags = place_flag::METHOD | if method.is_static { place_flag::STATIC } else { 0 };
    let name = method_lock_name(&method.class, method.is_static);
    Taken { kind: WaitKind::Monitor, flags, name }
}

/// The place of a `monitorenter`; `None` when there is another instruction, as
/// at the start of a synchronized method, whose lock its class tells.
fn enters_monitor(code: &[u8], location: i64) -> Option<Pc> {
    let pc = u16::try_from(location).ok()?;
    (code.get(usize::from(pc)) == Some(&opcode::MONITORENTER)).then_some(Pc(pc))
}

/// The place of an instruction that has a class initialized.
pub(super) fn may_initialize(code: &[u8], location: i64) -> Option<Pc> {
    let pc = u16::try_from(location).ok()?;
    let initializes = matches!(
        *code.get(usize::from(pc))?,
        opcode::NEW | opcode::GETSTATIC | opcode::PUTSTATIC | opcode::INVOKESTATIC
    );
    initializes.then_some(Pc(pc))
}

/// Whether a name says more than the class of the lock, or the stack.
pub fn is_telling(name: &str) -> bool {
    let parameter = name.strip_prefix("parameter ");
    let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    !name.is_empty()
        && name != "this"
        && !name.ends_with(".class")
        && !parameter.is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tyrion_plan::probe;

    #[test]
    fn frames_of_the_lock_itself_are_passed() {
        for (way, class, method, passes) in [
            (Way::Park, "Ljava/util/concurrent/locks/ReentrantLock;", "lock", true),
            (Way::Park, "Ljava/util/concurrent/Semaphore;", "acquire", true),
            (Way::Park, "Ljava/util/concurrent/LinkedBlockingQueue;", "take", false),
            (Way::Park, "Lcom/acme/Mutex$Sync;", "lock", false),
            (Way::Park, "Ljava/lang/Object;", "wait", false),
            (Way::Park, "Ljava/lang/System$1;", "parkVirtualThread", true),
            (Way::Park, "Ljava/lang/System$2;", "parkVirtualThread", true),
            (Way::Park, "Ljava/lang/System$Logger;", "log", false),
            (Way::Park, "Ljava/lang/System;", "exit", false),
            (Way::Park, "Ljava/util/concurrent/ForkJoinPool;", "managedBlock", true),
            (Way::Park, "Ljava/util/concurrent/ForkJoinPool;", "compensatedBlock", true),
            (Way::Park, "Ljava/util/concurrent/ForkJoinPool;", "registerWorker", false),
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
    fn only_names_that_say_something_are_kept() {
        for name in ["", "this", "com/acme/Foo.class", "parameter 2"] {
            assert!(!is_telling(name), "{name}");
        }
        for name in ["com/acme/Foo.lock", "account", "parameter 2[]", "Pool.get()"] {
            assert!(is_telling(name), "{name}");
        }
    }

    #[test]
    fn what_is_taken_is_told_by_the_instruction() {
        const ENTER: u8 = opcode::MONITORENTER;
        // An element of the parameter is locked, the parameter, and `this`.
        let code = vec![0x2b, 0x03, 0x32, ENTER, 0x2b, ENTER, 0x2a, ENTER, 0xb1];
        let method = MethodCode {
            code,
            class: b"com/acme/Foo".to_vec(),
            name: b"run".to_vec(),
            descriptor: b"([Ljava/lang/Object;)V".to_vec(),
            is_static: false,
            is_synchronized: true,
            ..MethodCode::default()
        };
        let at = |location| match taken(&method, (Way::Monitor, location), None) {
            Some(Taking::Takes(pc, taken)) => Some((pc.0, taken.name)),
            Some(Taking::IsCalled) | None => None,
        };
        let named = |pc, name: &str| Some((pc, name.to_owned()));
        // The interpreter has stepped past it.
        assert_eq!((at(3), at(4)), (named(3, "parameter 1[]"), named(3, "parameter 1[]")));
        assert_eq!((at(5), at(7)), (named(5, "parameter 1"), named(7, "this")));
        // The method's own monitor; native code; nonsense.
        assert_eq!((at(0), at(-1)), (named(0, "this"), named(0, "this")));
        assert_eq!((at(1), at(9), at(1 << 40)), (None, None, None));
    }
}
