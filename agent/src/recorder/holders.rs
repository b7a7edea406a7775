//! Stacks of threads that hold a lock which others wait for, and which of their frames has
//! taken it.

use super::Recorder;
use crate::{
    jvm::{Java, Object, code::MethodCode},
    log::Generation,
    sync::lock,
};
use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};
use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::{Arc, Mutex},
};
use tyrion_bytecode::{
    Pc,
    naming::{Body, called_method, lock_instructions, lock_names, method_lock_name},
    opcode,
};
use tyrion_plan::{probe, program::acquisition};
use tyrion_stacks::Role;
use tyrion_wire::def::id;

/// What is known of methods is forgotten beyond this many.
const LIMIT: usize = 1 << 14;
/// So many classes that have one lock are noted.
const MANY: usize = 64;

/// What a lock that is held is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sought {
    /// What the code of a waiter calls it; empty unknown.
    pub name: String,
    /// The internal name of the class whose code calls it so.
    pub class: String,
    /// Whether it is a monitor.
    pub is_monitor: bool,
}

/// The sections of methods in which they have locks, by method and version.
#[derive(Default)]
pub struct Sections {
    known: Mutex<HashMap<(usize, u64), Arc<Sectioned>>>,
    /// Which classes had what is sought, by their internal names.
    had: Mutex<HashMap<Sought, BTreeSet<String>>>,
}

impl Sections {
    fn note(&self, sought: &Sought, of: &Sectioned) {
        let mut had = lock(&self.had);
        if had.len() >= LIMIT {
            had.clear();
        }
        let classes = had.entry(sought.clone()).or_default();
        if classes.len() < MANY && !classes.contains(&of.class) {
            classes.insert(of.class.clone());
        }
    }
}

/// Where a method has locks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sectioned {
    /// The internal name of its class.
    class: String,
    /// What it has as a whole: its object, or its class.
    own: Option<String>,
    /// In the order of the code.
    steps: Vec<Step>,
}

/// An instruction that takes a lock, or gives it back.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    pc: u16,
    takes: bool,
    is_monitor: bool,
    name: String,
}

impl Sectioned {
    fn of(method: &MethodCode) -> Sectioned {
        let own = || method_lock_name(&method.class, method.is_static);
        Sectioned {
            class: String::from_utf8_lossy(&method.class).into_owned(),
            own: method.is_synchronized.then(own),
            steps: method.with_body(steps).unwrap_or_default(),
        }
    }

    /// Whether a frame of the method has the lock at an offset of its code.
    fn has(&self, sought: &Sought, location: i64) -> bool {
        // `this` is an object of the class.
        let is_meant = sought.name != "this" || self.class == sought.class;
        let is_own = sought.is_monitor && self.own.as_ref() == Some(&sought.name);
        is_meant && (is_own || self.is_within(sought, location))
    }

    /// Whether it is between an instruction that takes the lock and one that gives it back,
    /// as blocks and `try` statements of a compiler are: the last one that takes it comes
    /// before, and it is given back later, before it is taken again.
    fn is_within(&self, sought: &Sought, location: i64) -> bool {
        let of_lock = |step: &&Step| {
            step.is_monitor == sought.is_monitor
                && !sought.name.is_empty()
                && step.name == sought.name
        };
        let is_before = |step: &&Step| i64::from(step.pc) < location;
        let taken = self.steps.iter().filter(of_lock).filter(is_before).any(|step| step.takes);
        let next = self.steps.iter().filter(of_lock).find(|step| !is_before(step));
        taken && next.is_some_and(|step| !step.takes)
    }
}

fn steps(body: &Body<'_>) -> Option<Vec<Step>> {
    let sites: Vec<(Pc, bool, bool)> = lock_instructions(body)
        .into_iter()
        .filter_map(|(pc, instruction)| match instruction {
            opcode::MONITORENTER => Some((pc, true, true)),
            opcode::MONITOREXIT => Some((pc, false, true)),
            _ => {
                let called = called_method(body, pc)?;
                let releases = matches!(
                    called.name.as_bytes(),
                    b"unlock" | b"unlockRead" | b"unlockWrite" | b"release"
                );
                match acquisition(&called) {
                    Some(_) => Some((pc, true, false)),
                    None => releases.then_some((pc, false, false)),
                }
            }
        })
        .collect();
    let pcs: Vec<Pc> = sites.iter().map(|&(pc, ..)| pc).collect();
    let names = lock_names(body, &pcs);
    let step = |((pc, takes, is_monitor), name): ((Pc, bool, bool), Option<_>)| Step {
        pc: pc.0,
        takes,
        is_monitor,
        name: name.map_or_else(String::new, |name: tyrion_bytecode::naming::LockName| name.text),
    };
    Some(sites.into_iter().zip(names).map(step).collect())
}

/// `java.net.Net` of `Ljava/net/Net;`.
fn class_name(signature: &[u8]) -> String {
    let inner = signature.strip_prefix(b"L").and_then(|it| it.strip_suffix(b";"));
    String::from_utf8_lossy(inner.unwrap_or(signature)).replace('/', ".")
}

/// A stack of a thread that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderStack {
    /// Its id in the log.
    pub stack: u32,
    /// How many of its frames, the innermost ones, were called by the one that has taken
    /// the lock; 0 also where that one is not known.
    pub above: u32,
    /// Whether the code of one of them says that it has the lock.
    pub has_lock: bool,
}

impl Recorder {
    /// The stack of a platform thread that holds a lock, not the current one, in no group;
    /// `None` if it has none, or the JVM does not tell.
    pub fn stack_of_holder(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
        sought: &Sought,
    ) -> Option<HolderStack> {
        let (mut frames, of_program) = self.frames_of(java, thread)?;
        let (frames, count) = (&mut frames[of_program.start..], of_program.len());
        let taker = self.frame_with(java, &frames[..count.min(self.depth)], sought);
        let (above, has_lock) = (taker.unwrap_or(0), taker.is_some());
        let stack = self.stack_of_frames(generation, java, frames, count);
        (stack != id::EMPTY_STACK).then_some(HolderStack { stack, above, has_lock })
    }

    /// The frames of a platform thread, not the current one, and which of them are the program's,
    /// not what the agent has added; `None` if it has none, or the JVM does not tell.
    fn frames_of(
        &self,
        java: Java,
        thread: Object<'_>,
    ) -> Option<(Vec<jvmtiFrameInfo>, Range<usize>)> {
        let none = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        let mut frames = vec![none; self.frames_wanted()];
        let count = self.ti.stack_of(thread, 0, &mut frames).ok().filter(|&count| count != 0)?;
        let own = frames[..count].iter().take_while(|it| self.is_of_probe(java, it.method)).count();
        Some((frames, own..count))
    }

    /// Whether a platform thread, not the current one, waits for work, by the names of its
    /// innermost methods: those beyond the program's first one tell nothing. `None` if the JVM
    /// does not tell.
    pub fn waits_for_work(&self, java: Java, thread: Object<'_>) -> Option<bool> {
        let (frames, of_program) = self.frames_of(java, thread)?;
        let mut names = Vec::new();
        for frame in &frames[of_program] {
            let name = self.name_of_method(java, frame.method)?;
            let is_last = tyrion_stacks::role(&name.0, &name.1) == Role::Program;
            names.push(name);
            if is_last {
                break;
            }
        }
        let names: Vec<_> = names.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
        Some(tyrion_stacks::takes_input(&names))
    }

    /// The names of a method's class, with dots, and its own.
    fn name_of_method(&self, java: Java, method: jmethodID) -> Option<(String, String)> {
        let described = self.ti.method(java, method).ok()?;
        let name = String::from_utf8_lossy(&described.name).into_owned();
        Some((class_name(&described.class), name))
    }

    fn is_of_probe(&self, java: Java, method: jmethodID) -> bool {
        let class = self.ti.class_of_method(java, method);
        let name = probe::wait::CLASS.as_bytes();
        class.is_ok_and(|it| it.strip_prefix(b"L").is_some_and(|it| it.starts_with(name)))
    }

    /// The number of the innermost frame that has a lock, if one is known to.
    fn frame_with(&self, java: Java, frames: &[jvmtiFrameInfo], sought: &Sought) -> Option<u32> {
        let has = |(nth, frame): (usize, &jvmtiFrameInfo)| {
            // A thread that is about to take a method's own monitor is at its beginning.
            let may_be_outside = nth == 0 && frame.location == 0;
            let sections = (!may_be_outside).then(|| self.sections(java, frame.method)).flatten();
            let has = sections.filter(|it| it.has(sought, frame.location))?;
            self.sections.note(sought, &has);
            Some(nth as u32)
        };
        frames.iter().enumerate().find_map(has)
    }

    /// The classes whose code was seen to have a lock, by their internal names.
    pub fn holders_of(&self, sought: &Sought) -> BTreeSet<String> {
        lock(&self.sections.had).get(sought).cloned().unwrap_or_default()
    }

    fn sections(&self, java: Java, method: jmethodID) -> Option<Arc<Sectioned>> {
        let version = self.versions.of(method);
        let key = (method as usize, version);
        if let Some(known) = lock(&self.sections.known).get(&key) {
            return Some(Arc::clone(known));
        }
        // Native methods have no code.
        let code = self.ti.code(java, method);
        let found = Arc::new(code.map_or_else(|_| Sectioned::default(), |it| Sectioned::of(&it)));
        // What was looked at must be what the frame runs.
        if self.versions.of(method) != version {
            return None;
        }
        let mut known = lock(&self.sections.known);
        if known.len() >= LIMIT {
            known.clear();
        }
        known.insert(key, Arc::clone(&found));
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(pc: u16, takes: bool, is_monitor: bool, name: &str) -> Step {
        Step { pc, takes, is_monitor, name: name.to_owned() }
    }

    fn sought(name: &str, is_monitor: bool) -> Sought {
        Sought { name: name.to_owned(), class: "a/Cache".to_owned(), is_monitor }
    }

    #[test]
    fn a_frame_has_what_it_has_taken_and_not_given_back() {
        // Two blocks, one after the other, each with the exit of its handler; a lock.
        let method = Sectioned {
            class: "a/Cache".to_owned(),
            own: None,
            steps: vec![
                step(4, true, true, "a/Cache.lock"),
                step(10, true, true, "a/Cache.other"),
                step(14, false, true, "a/Cache.other"),
                step(20, false, true, "a/Cache.lock"),
                step(24, false, true, "a/Cache.lock"),
                step(40, true, true, "a/Cache.lock"),
                step(50, false, true, "a/Cache.lock"),
                step(60, true, false, "a/Cache.own"),
                step(70, false, false, "a/Cache.own"),
            ],
        };
        let lock = sought("a/Cache.lock", true);
        let within: Vec<i64> = (0..80).filter(|&at| method.has(&lock, at)).collect();
        let expected: Vec<i64> = (5..=24).chain(41..=50).collect();
        assert_eq!(within, expected);
        let own = sought("a/Cache.own", false);
        assert_eq!([60, 61, 70, 71].map(|at| method.has(&own, at)), [false, true, true, false]);
        assert!(!method.has(&sought("a/Cache.own", true), 65), "it is no monitor");
        assert!(!method.has(&sought("", true), 15), "its name is not known");
    }

    #[test]
    fn synchronized_methods_have_their_own_monitor() {
        let method = |class: &str, own: &str| Sectioned {
            class: class.to_owned(),
            own: Some(own.to_owned()),
            steps: Vec::new(),
        };
        assert!(method("a/Cache", "this").has(&sought("this", true), 7));
        assert!(!method("a/Other", "this").has(&sought("this", true), 7), "another object");
        assert!(!method("a/Cache", "this").has(&sought("a/Cache.lock", true), 7));
        assert!(!method("a/Cache", "this").has(&sought("this", false), 7));
        assert!(method("a/Other", "a/Other.class").has(&sought("a/Other.class", true), 7));
        assert!(!method("a/Other", "a/Other.class").has(&sought("this", true), 7));
    }
}
