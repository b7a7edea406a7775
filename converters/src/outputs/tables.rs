//! The tables that the samples of pprof and of OpenTelemetry point into.

use super::tree::{NO_STACK, StackTree, TreeStep};
use std::{collections::HashMap, io};
use tyrion_model::{
    harmless, names,
    profile::{Profile, State},
};

/// A row of the tables of locations and functions, whose ids ascend from 1 on.
pub(super) enum TableEntry {
    /// A line of a function; 0 if it is not known.
    Location { id: u64, function_id: u64, line: i64 },
    /// A function: its texts are ids of strings, and its first line is 0 if it is not
    /// known.
    Function { id: u64, name: i64, system_name: i64, filename: i64, first_line: i64 },
}

/// The string table.
pub(super) struct Strings {
    ids: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { ids: HashMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    /// The id of a string.
    pub(super) fn id(&mut self, string: &str) -> i64 {
        if let Some(&id) = self.ids.get(string) {
            return id;
        }
        let id = self.ids.len() as i64;
        self.ids.insert(string.to_owned(), id);
        id
    }

    /// The strings in the order of their ids.
    pub(super) fn into_table(self) -> Vec<String> {
        let mut table = vec![String::new(); self.ids.len()];
        for (string, id) in self.ids {
            table[id as usize] = string;
        }
        table
    }
}

/// The ids of locations and functions. Ids ascend without gaps, so only what
/// stands in stacks has one; what is no method comes after frames and methods.
pub(super) struct Locations {
    /// The location of each frame, 0 for none.
    of_frame: Vec<u64>,
    /// The function of each method, 0 for none.
    of_function: Vec<u64>,
    /// How many frames have a location.
    frames: u64,
    /// The location of each state, 0 for none.
    of_state: [u64; State::ALL.len()],
    /// The location before that of the first lock.
    before_locks: u64,
    /// How many methods have a function.
    functions: u64,
}

impl Locations {
    pub(super) fn new(profile: &Profile, tree: &StackTree) -> Locations {
        let mut of_frame = vec![0; profile.frames.len()];
        let mut of_function = vec![0; profile.functions.len()];
        for frame in frames_in_use(tree) {
            of_frame[frame as usize] = 1;
            of_function[profile.frames[frame as usize].function as usize] = 1;
        }
        let (frames, functions) = (number(&mut of_frame), number(&mut of_function));
        let mut before_locks = frames + u64::from(has_no_stack(tree));
        let mut of_state = [0; State::ALL.len()];
        for state in tree.states() {
            before_locks += 1;
            of_state[state as usize] = before_locks;
        }
        Locations { of_frame, of_function, frames, of_state, before_locks, functions }
    }

    /// The location of a step.
    pub(super) fn id(&self, step: TreeStep) -> u64 {
        match step {
            TreeStep::Root => 0,
            TreeStep::NoStack => self.frames + 1,
            TreeStep::Frame(frame) => self.of_frame[frame as usize],
            TreeStep::State(state) => self.of_state[state as usize],
            TreeStep::Lock(lock) => self.before_locks + 1 + u64::from(lock),
        }
    }

    /// Hands out all locations and then all functions, in the order of their ids.
    ///
    /// # Errors
    /// Those of `take`.
    pub(super) fn each(
        &self,
        profile: &Profile,
        tree: &StackTree,
        strings: &mut Strings,
        take: &mut dyn FnMut(TableEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        for (frame, &id) in profile.frames.iter().zip(&self.of_frame) {
            if id != 0 {
                let function_id = self.of_function[frame.function as usize];
                take(TableEntry::Location { id, function_id, line: i64::from(frame.line) })?;
            }
        }
        for at in 1..=synthetic_names(tree).count() as u64 {
            let (id, function_id) = (self.frames + at, self.functions + at);
            take(TableEntry::Location { id, function_id, line: 0 })?;
        }
        for (function, &id) in profile.functions.iter().zip(&self.of_function) {
            if id != 0 {
                take(TableEntry::Function {
                    id,
                    name: strings.id(&names::dotted(function)),
                    system_name: strings.id(&names::with_descriptor(function)),
                    filename: strings.id(&harmless::name(&function.source)),
                    first_line: i64::from(function.first_line),
                })?;
            }
        }
        for (at, (name, system_name)) in (1..).zip(synthetic_names(tree)) {
            let (name, system_name) = (strings.id(&name), strings.id(&system_name));
            let id = self.functions + at;
            take(TableEntry::Function { id, name, system_name, filename: 0, first_line: 0 })?;
        }
        Ok(())
    }
}

fn has_no_stack(tree: &StackTree) -> bool {
    tree.steps.contains(&TreeStep::NoStack)
}

/// What stands in stacks and is no method, [`TreeStep::NoStack`], states and locks:
/// the name for people and that for machines. Where the two are equal,
/// `go tool pprof` takes brackets for C++ and cuts what stands in `(…)`. Its web pages
/// also cut names at `/` and `(`, and at dots where there is no room, so the name for
/// people is the brief one.
fn synthetic_names(tree: &StackTree) -> impl Iterator<Item = (String, String)> + '_ {
    let no_stack = has_no_stack(tree).then(|| NO_STACK.to_owned());
    let states = tree.states().map(names::state_frame);
    let others = no_stack.into_iter().chain(states).map(|name| (name.clone(), name));
    let locks = tree.locks.iter().map(|lock| (lock.brief(), lock.callgrind()));
    others.chain(locks)
}

/// Every frame of a stack that has rows.
fn frames_in_use(tree: &StackTree) -> impl Iterator<Item = u32> + '_ {
    let mut in_use = vec![false; tree.len()];
    for &node in &tree.node_of_row {
        in_use[node as usize] = true;
    }
    for node in (1..tree.len()).rev() {
        if in_use[node] {
            in_use[tree.parents[node] as usize] = true;
        }
    }
    let steps = tree.steps.iter().zip(in_use);
    steps.filter_map(|(step, in_use)| match step {
        TreeStep::Frame(frame) if in_use => Some(*frame),
        _ => None,
    })
}

/// Numbers what is not 0 from 1 on, and says how many there are.
fn number(ids: &mut [u64]) -> u64 {
    let mut last = 0;
    for id in ids.iter_mut().filter(|id| **id != 0) {
        last += 1;
        *id = last;
    }
    last
}
