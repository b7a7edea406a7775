//! Programs of some classes, and what is done with them.

use super::{
    class::{TestClass, TestMethod, class},
    random::Random,
};
use std::path::Path;

/// A source file, and how and where it is compiled.
pub struct SourceFile {
    /// Without lines and the names of variables.
    pub is_stripped: bool,
    /// Beside the first version, or the first generation, of the same name.
    pub is_later: bool,
    /// Its path below the folder of sources.
    pub path: String,
    pub text: String,
}

/// A program: its sources, and the steps of the script.
#[derive(Default)]
pub struct GeneratedProgram {
    pub sources: Vec<SourceFile>,
    pub script: Vec<String>,
}

/// Where compiled classes are.
pub struct Folders<'a> {
    pub first: &'a Path,
    pub later: &'a Path,
}

/// An object of a class, as the script knows it.
#[derive(Clone)]
struct ScriptObject {
    id: String,
    /// The class's number: objects of one class share what is static.
    class: usize,
    methods: Vec<TestMethod>,
}

/// Makes the program of a seed. Its places are numbered on from those of others.
pub fn program(seed: u64, folders: &Folders, places: &mut u32) -> GeneratedProgram {
    let mut random = Random::new(seed);
    let mut made = GeneratedProgram::default();
    let package = format!("generated.p{seed}");
    let classes = random.between(1, 4);
    let mut objects: Vec<ScriptObject> = Vec::new();
    let mut later: Vec<(usize, bool, TestClass)> = Vec::new();
    for nth in 0..classes {
        let name = format!("C{nth}");
        let is_stripped = random.one_in(3);
        let is_alone = random.one_in(3);
        let own = seed.wrapping_mul(1_000_003).wrapping_add(nth as u64);
        let first = class(&package, &name, own, 0, places);
        let id = format!("p{seed}c{nth}");
        let word = if is_alone { "alone" } else { "load" };
        made.script.push(format!("{word} {id} {} {package}.{name}", folders.first.display()));
        objects.push(ScriptObject { id: id.clone(), class: nth, methods: first.methods.clone() });
        if random.one_in(3) {
            made.script.push(format!("again {id}b {id}"));
            let methods = first.methods.clone();
            objects.push(ScriptObject { id: format!("{id}b"), class: nth, methods });
        }
        let mut add = |class: &TestClass, is_later| {
            let path = format!("{}/{name}.java", package.replace('.', "/"));
            let text = class.source.clone();
            made.sources.push(SourceFile { is_stripped, is_later, path, text });
        };
        add(&first, false);
        // What is loaded alone makes room for another class of the same name; the others may
        // become another version of themselves.
        if is_alone {
            let next = class(&package, &name, own ^ 0x5555, 0, places);
            add(&next, true);
            later.push((nth, true, next));
        } else if random.one_in(2) {
            let next = class(&package, &name, own, 1, places);
            add(&next, true);
            later.push((nth, false, next));
        }
    }
    steps(&mut random, &objects, &mut made.script);
    for (nth, is_alone, next) in later {
        let id = format!("p{seed}c{nth}");
        let of_class = objects.iter().filter(|object| object.class == nth);
        let ids: Vec<String> = of_class.map(|object| object.id.clone()).collect();
        if is_alone {
            made.script.extend(ids.iter().map(|id| format!("drop {id}")));
            made.script.push("collect".to_owned());
            let folder = folders.later.display();
            made.script.push(format!("alone {id} {folder} {package}.{}", next.name));
            objects.retain(|object| object.class != nth);
            objects.push(ScriptObject { id, class: nth, methods: next.methods });
        } else {
            let file = package.replace('.', "/");
            let folder = folders.later.display();
            made.script.push(format!("redefine {id} {folder}/{file}/{}.class", next.name));
            for object in objects.iter_mut().filter(|object| object.class == nth) {
                object.methods.clone_from(&next.methods);
            }
        }
    }
    steps(&mut random, &objects, &mut made.script);
    made.script.extend(objects.iter().map(|object| format!("drop {}", object.id)));
    made.script.push("collect".to_owned());
    made
}

fn steps(random: &mut Random, objects: &[ScriptObject], script: &mut Vec<String>) {
    for _ in 0..random.between(5, 12) {
        let object = random.choice(objects);
        let method = random.below(object.methods.len());
        if random.one_in(3) {
            script.push(format!("call {} {method}", object.id));
            continue;
        }
        let takes = &object.methods[method].takes;
        let taken = random.below(takes.len());
        let place = takes[taken].place;
        // The place may take several locks, and it is the first one that is kept.
        if takes[..taken].iter().any(|take| take.place == place) {
            continue;
        }
        let held = held(object, method, taken);
        let of_class: Vec<&ScriptObject> =
            objects.iter().filter(|other| other.class == object.class).collect();
        let mut waiters = Vec::new();
        for other in of_class {
            for (number, takes) in other.methods.iter().enumerate() {
                if is_waiting(other, takes, &held) {
                    waiters.push((other, number));
                }
            }
        }
        if let Some((other, number)) = (!waiters.is_empty()).then(|| *random.choice(&waiters)) {
            let id = &object.id;
            script.push(format!("contend {id} {method} {place} {} {number}", other.id));
        }
    }
}

/// A lock of an object, or of its class; and whether others like it may have it, too.
#[derive(Debug, PartialEq, Eq)]
struct HeldObject {
    lock: (Option<String>, usize),
    is_read: bool,
}

fn lock_of(object: &ScriptObject, takes: &TestMethod, nth: usize) -> HeldObject {
    let take = &takes.takes[nth];
    let owner = (!take.is_static).then(|| object.id.clone());
    HeldObject { lock: (owner, take.object), is_read: take.is_read }
}

/// What is held at a place, its own lock first.
fn held(object: &ScriptObject, method: usize, nth: usize) -> Vec<HeldObject> {
    let method = &object.methods[method];
    let mut held = Vec::new();
    let mut around = Some(nth);
    while let Some(take) = around {
        held.push(lock_of(object, method, take));
        around = method.takes[take].within;
    }
    held
}

/// Whether a method has to wait for the first lock that is held, and for no other one:
/// they are released one after the other.
fn is_waiting(object: &ScriptObject, method: &TestMethod, held: &[HeldObject]) -> bool {
    let takes = (0..method.takes.len()).map(|nth| lock_of(object, method, nth));
    let conflicts: Vec<&HeldObject> = takes
        .filter_map(|lock| {
            held.iter().find(|held| held.lock == lock.lock && !(held.is_read && lock.is_read))
        })
        .collect();
    !conflicts.is_empty() && conflicts.iter().all(|conflict| *conflict == &held[0])
}
