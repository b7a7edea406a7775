//! The functions of a call graph as callgrind names them.

use crate::outputs::tree::{NO_STACK, StackTree, TreeStep};
use std::collections::HashMap;
use tyrion_model::{
    harmless, names,
    profile::{Profile, State},
};

/// What callgrind writes for a file that is not known; both readers know it.
const UNKNOWN_FILE: &str = "???";

/// The object of threads.
const THREADS: &str = "threads";
/// The object of groups.
const GROUPS: &str = "groups";
/// The object of states.
const STATES: &str = "states";

/// A function that stands in the file. Readers tell functions apart by name,
/// file and object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Callee {
    /// Its name.
    pub(super) name: String,
    /// Its source, an index into [`FunctionNames::files`].
    pub(super) file: u32,
    /// What it is part of, an index into [`FunctionNames::objects`].
    pub(super) object: u32,
    /// Its first line.
    pub(super) first_line: u32,
}

/// Strings, each once.
#[derive(Default)]
pub(super) struct StringPool {
    pub(super) strings: Vec<String>,
    ids: HashMap<String, u32>,
}

impl StringPool {
    fn id(&mut self, string: &str) -> u32 {
        if let Some(&id) = self.ids.get(string) {
            return id;
        }
        let id = self.strings.len() as u32;
        self.strings.push(string.to_owned());
        self.ids.insert(string.to_owned(), id);
        id
    }
}

/// The functions of a profile. What readers cannot tell apart is one function:
/// overloads that differ in what they return only, or a class loaded twice.
pub(super) struct FunctionNames {
    /// The functions, first the one that stands for a thread, whose name is each
    /// part's own.
    pub(super) functions: Vec<Callee>,
    /// Source files.
    pub(super) files: StringPool,
    /// Objects, which KCacheGrind can group by: packages, and for locks the kinds
    /// of wait.
    pub(super) objects: StringPool,
    of_frame: Vec<u32>,
    of_lock: Vec<u32>,
    of_state: [u32; State::ALL.len()],
    no_stack: u32,
}

impl FunctionNames {
    pub(super) fn new(profile: &Profile, tree: &StackTree) -> FunctionNames {
        let mut interner = Interner::default();
        interner.add(String::new(), "", THREADS, 0);
        let of_function: Vec<u32> = profile
            .functions
            .iter()
            .map(|function| {
                let package = match names::package(&function.class) {
                    Some(package) => package,
                    None if function.is_group() => GROUPS,
                    None => "no package",
                };
                let name = names::callgrind(function);
                interner.add(name, &function.source, package, function.first_line)
            })
            .collect();
        let of_frame =
            profile.frames.iter().map(|frame| of_function[frame.function as usize]).collect();
        let of_lock = tree
            .locks
            .iter()
            .map(|lock| interner.add(lock.callgrind(), "", lock.kind.name(), 0))
            .collect();
        let no_stack = interner.add(NO_STACK.to_owned(), "", THREADS, 0);
        let mut of_state = [0; State::ALL.len()];
        for state in tree.states() {
            of_state[state as usize] = interner.add(names::state_frame(state), "", STATES, 0);
        }
        let Interner { functions, files, objects, .. } = interner;
        FunctionNames { functions, files, objects, of_frame, of_lock, of_state, no_stack }
    }

    /// The function of a step.
    pub(super) fn function(&self, step: TreeStep) -> u32 {
        match step {
            TreeStep::Root => 0,
            TreeStep::NoStack => self.no_stack,
            TreeStep::Frame(frame) => self.of_frame[frame as usize],
            TreeStep::Lock(lock) => self.of_lock[lock as usize],
            TreeStep::State(state) => self.of_state[state as usize],
        }
    }
}

#[derive(Default)]
struct Interner {
    functions: Vec<Callee>,
    files: StringPool,
    objects: StringPool,
    ids: HashMap<(String, u32, u32), u32>,
}

impl Interner {
    fn add(&mut self, name: String, file: &str, object: &str, first_line: u32) -> u32 {
        let file = if file.is_empty() { UNKNOWN_FILE } else { file };
        let file = self.files.id(&harmless::name(file));
        let object = self.objects.id(&harmless::name(object));
        let next = self.functions.len() as u32;
        let id = *self.ids.entry((name.clone(), file, object)).or_insert(next);
        if id == next {
            self.functions.push(Callee { name, file, object, first_line });
        }
        let known = &mut self.functions[id as usize].first_line;
        if first_line != 0 && (*known == 0 || first_line < *known) {
            *known = first_line;
        }
        id
    }
}
