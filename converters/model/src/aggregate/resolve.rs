//! From the ids of a log to those of the profile.

use super::{ids::LogIds, result::Aggregate};
use crate::hash::Table;
use crate::identity::{Locks, Node};
use crate::java;
use crate::profile::{CUT, Frame, Function, GROUP, Lock, NO_LOCK, NO_PROBE, Profile, Stack};
use regex::Regex;
use std::collections::HashMap;
use tyrion_formats::{LockSite, Recording, UNKNOWN, WaitSite, limits::MAX_DEPTH};
use tyrion_wire::def::id::{self, CUT_STACK, EMPTY_STACK};

/// At most this many frames of a lock's own methods stand above the place where
/// it was taken.
const MAX_LOCK_FRAMES: usize = 16;

/// Finds functions, frames and stacks again that the profile has already: they
/// are merged by what they are, over all logs.
pub(super) struct Interner {
    functions: Table<Function, u32>,
    frames: Table<Frame, u32>,
    stacks: Table<Stack, u32>,
}

impl Interner {
    /// For an empty profile, which gets the empty stack.
    pub(super) fn new(profile: &mut Profile) -> Interner {
        profile.stacks.push(Stack::default());
        let (functions, frames, stacks) = Default::default();
        Interner { functions, frames, stacks }
    }

    fn function(&mut self, profile: &mut Profile, function: Function) -> u32 {
        let table = &mut profile.functions;
        *self.functions.entry(function).or_insert_with_key(|function| {
            table.push(function.clone());
            table.len() as u32 - 1
        })
    }

    fn frame(&mut self, profile: &mut Profile, function: u32, line: u32) -> u32 {
        let frames = &mut profile.frames;
        *self.frames.entry(Frame { function, line }).or_insert_with_key(|frame| {
            frames.push(*frame);
            frames.len() as u32 - 1
        })
    }

    fn stack(&mut self, profile: &mut Profile, parent: u32, function: u32, line: u32) -> u32 {
        let frame = self.frame(profile, function, line);
        let stacks = &mut profile.stacks;
        *self.stacks.entry(Stack { parent, frame }).or_insert_with_key(|stack| {
            stacks.push(*stack);
            stacks.len() as u32 - 1
        })
    }
}

/// What is known of an id of the log: its id in the profile, once asked for.
type ProfileIds = Vec<Option<u32>>;

/// From the ids of one log to those of the profile.
pub(super) struct Resolver<'a> {
    log: &'a Recording,
    run: u32,
    out: &'a mut Aggregate,
    interner: &'a mut Interner,
    methods: ProfileIds,
    /// With the number of frames.
    stacks: Vec<Option<(u32, u32)>>,
    lost_stack: Option<u32>,
    names: Locks<'a>,
    /// Locks that are told apart, by their ids in the log and what they are where they are
    /// waited for: one object may be so under several names.
    by_id: HashMap<(u32, Node), u32>,
    /// Locks that are not told apart, by class and name; none if the filter
    /// leaves them out.
    by_name: HashMap<(String, String), Option<u32>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        log: &'a Recording,
        run: u32,
        out: &'a mut Aggregate,
        interner: &'a mut Interner,
    ) -> Self {
        let methods = vec![None; log.definitions().methods().len()];
        let stacks = vec![None; log.definitions().stacks().len()];
        let (names, by_id, by_name) = (Locks::of(log), HashMap::new(), HashMap::new());
        let lost_stack = None;
        Resolver { log, run, out, interner, methods, stacks, lost_stack, names, by_id, by_name }
    }

    /// Takes locks up, in the order given, each as what it is at its sites: the id of each
    /// in the profile, but for those that the filter leaves out.
    pub(super) fn locks(
        &mut self,
        locks: &[(u32, Node)],
        filter: Option<&Regex>,
    ) -> HashMap<(u32, Node), u32> {
        for &(id, node) in locks {
            self.lock(id, node, filter);
        }
        self.by_id.clone()
    }

    /// What the lock of a site is.
    pub(super) fn node_of(&self, site: &WaitSite) -> Node {
        self.names.at_site(site)
    }

    fn lock(&mut self, id: u32, node: Node, filter: Option<&Regex>) -> Option<u32> {
        if let Some(&known) = self.by_id.get(&(id, node)) {
            return Some(known);
        }
        let jvm_class = match self.log.definitions().locks().get(id) {
            Some(&class) => self.class(class),
            None => UNKNOWN.to_owned(),
        };
        if !filter.is_none_or(|regex| self.names.matches(regex, node, &jvm_class, id)) {
            return None;
        }
        let (class, name) = self.names.label(node);
        let lock = match id {
            // One that is not known, where others are taken that are.
            id::UNKNOWN if !node.is_called() => self.named(class, name, true)?,
            _ => {
                let locks = &mut self.out.profile.locks;
                locks.push(Lock { run: self.run, id, class, name });
                locks.len() as u32 - 1
            }
        };
        self.by_id.insert((id, node), lock);
        Some(lock)
    }

    /// The profile's id of the lock that a sampled thread waits for, [`NO_LOCK`]
    /// if none is known; `None` if the filter leaves it out.
    pub(super) fn lock_of_sample(&mut self, id: u32, filter: Option<&Regex>) -> Option<u32> {
        match id {
            0 => filter.is_none().then_some(NO_LOCK),
            id => self.lock(id, self.names.with_id(id), filter),
        }
    }

    /// The profile's id of the locks of a class that are taken at a place, unless the
    /// filter leaves them out: they are not told apart.
    pub(super) fn lock_of_place(
        &mut self,
        place: u32,
        class: u32,
        filter: Option<&Regex>,
    ) -> Option<u32> {
        // Notes whether its name is lost.
        let jvm_class = self.class(class);
        let node = self.names.at_place(place, class);
        let label = self.names.label(node);
        if let Some(&known) = self.by_name.get(&label) {
            return known;
        }
        let wanted =
            filter.is_none_or(|regex| self.names.matches(regex, node, &jvm_class, id::UNKNOWN));
        self.named(label.0, label.1, wanted)
    }

    fn named(&mut self, class: String, name: String, wanted: bool) -> Option<u32> {
        let (run, locks) = (self.run, &mut self.out.profile.locks);
        *self.by_name.entry((class, name)).or_insert_with_key(|(class, name)| {
            wanted.then(|| {
                locks.push(Lock { run, id: 0, class: class.clone(), name: name.clone() });
                locks.len() as u32 - 1
            })
        })
    }

    /// The profile's id of the frame of a place.
    pub(super) fn place_frame(&mut self, place: &LockSite) -> u32 {
        let function = self.place_function(place);
        self.interner.frame(&mut self.out.profile, function, place.line)
    }

    /// The profile's id of a stack of one frame, the place; of the empty stack
    /// for a place that is not known.
    pub(super) fn place_stack(&mut self, place: u32) -> u32 {
        let log = self.log;
        let Some(place) = log.definitions().places().get(place) else { return 0 };
        let function = self.place_function(place);
        self.interner.stack(&mut self.out.profile, 0, function, place.line)
    }

    /// The method that a place is in, which may be no method that is known.
    fn place_function(&mut self, place: &LockSite) -> u32 {
        if place.method != id::UNKNOWN {
            return self.method(place.method);
        }
        let function = Function { method: NO_PROBE.to_owned(), ..Function::default() };
        self.interner.function(&mut self.out.profile, function)
    }

    /// The profile's id of a stack in which a lock was taken at a place: it
    /// ends with the place. What stands above that is the lock's own methods,
    /// and the line is where the program was when the stack was taken.
    pub(super) fn acquiring_stack(&mut self, id: u32, place: u32) -> u32 {
        let log = self.log;
        let definitions = log.definitions();
        let place = definitions.places().get(place).filter(|place| place.method != id::UNKNOWN);
        let Some(place) = place else { return self.stack(id) };
        let mut at = id;
        for _ in 0..MAX_LOCK_FRAMES {
            let Some(own) = definitions.stacks().get(at) else { break };
            if self.is_same_method(own.method, place.method) {
                let line = if place.line == 0 { own.line } else { place.line };
                let parent = if own.parent < at { own.parent } else { EMPTY_STACK };
                let parent = self.stack(parent);
                let function = self.method(place.method);
                return self.interner.stack(&mut self.out.profile, parent, function, line);
            }
            if own.parent >= at {
                break;
            }
            at = own.parent;
        }
        self.stack(id)
    }

    /// Whether two ids stand for one method.
    fn is_same_method(&self, a: u32, b: u32) -> bool {
        let methods = self.log.definitions().methods();
        if a == b {
            return true;
        }
        let (Some(a), Some(b)) = (methods.get(a), methods.get(b)) else { return false };
        let text = |id| self.log.text(id);
        let class = |id| self.log.definitions().classes().get(id).map(|class| text(class.name));
        text(a.name) == text(b.name)
            && text(a.descriptor) == text(b.descriptor)
            && class(a.class) == class(b.class)
    }

    /// The profile's id of a stack.
    pub(super) fn stack(&mut self, id: u32) -> u32 {
        // From the innermost frame outwards to one whose stack is known …
        let mut inner = Vec::new();
        let mut at = id;
        let (mut stack, mut depth) = loop {
            if let Some(known) = self.known_stack(at) {
                break known;
            }
            if let Some(name) = self.log.definitions().stacks().group(at) {
                let group = self.group(name);
                self.remember(at, group);
                break group;
            }
            inner.push(at);
            let parent = self.log.definitions().stacks().get(at).map(|stack| stack.parent);
            // Parents are defined before their children; anything else could
            // be a circle.
            match parent.filter(|&parent| parent < at) {
                Some(parent) => at = parent,
                None => break self.synthetic(UNKNOWN),
            }
        };
        // … and back, one frame after another.
        for id in inner.into_iter().rev() {
            let Some(&own) = self.log.definitions().stacks().get(id) else {
                // Lost: the `[unknown]` that the loop above has ended with.
                self.out.notes.unknown_names += 1;
                self.remember(id, (stack, depth));
                continue;
            };
            if depth >= MAX_DEPTH {
                (stack, depth) = self.synthetic(CUT);
            }
            let function = self.method(own.method);
            stack = self.interner.stack(&mut self.out.profile, stack, function, own.line);
            depth += 1;
            self.remember(id, (stack, depth));
        }
        if id as usize >= self.stacks.len() {
            self.lost_stack = Some(stack);
        }
        stack
    }

    /// What the log's ids of stacks and locks are in the profile, as far as they
    /// were asked for.
    pub(super) fn into_ids(self) -> LogIds {
        let stacks = self.stacks.into_iter().map(|known| known.map(|(stack, _)| stack));
        // A lock that is several things at its sites is here what it is by its id.
        let mut by_id: Vec<((u32, Node), u32)> = self.by_id.into_iter().collect();
        by_id.sort_unstable_by_key(|&((id, node), _)| (id, node == self.names.with_id(id), node));
        let locks = by_id.into_iter().map(|((id, _), lock)| (id, lock)).collect();
        LogIds { stacks: stacks.collect(), lost_stack: self.lost_stack, locks, ..LogIds::default() }
    }

    fn known_stack(&mut self, id: u32) -> Option<(u32, u32)> {
        match id {
            EMPTY_STACK => Some((0, 0)),
            CUT_STACK => {
                let cut = self.synthetic(CUT);
                self.remember(id, cut);
                Some(cut)
            }
            _ => self.stacks.get(id as usize).copied().flatten(),
        }
    }

    fn remember(&mut self, id: u32, stack: (u32, u32)) {
        if let Some(known) = self.stacks.get_mut(id as usize) {
            *known = Some(stack);
        }
    }

    /// A stack of one frame, what the program said that a thread was doing.
    fn group(&mut self, name: u32) -> (u32, u32) {
        let method = self.log.text(name).into_owned();
        self.root(Function { method, descriptor: GROUP.to_owned(), ..Function::default() })
    }

    /// A stack of one frame that is no Java method.
    fn synthetic(&mut self, name: &str) -> (u32, u32) {
        self.root(Function { method: name.to_owned(), ..Function::default() })
    }

    fn root(&mut self, function: Function) -> (u32, u32) {
        let function = self.interner.function(&mut self.out.profile, function);
        (self.interner.stack(&mut self.out.profile, 0, function, 0), 1)
    }

    fn method(&mut self, id: u32) -> u32 {
        if let Some(Some(known)) = self.methods.get(id as usize) {
            return *known;
        }
        let log = self.log;
        let function = match log.definitions().methods().get(id) {
            Some(method) => Function {
                class: self.class(method.class),
                method: log.text(method.name).into_owned(),
                descriptor: log.text(method.descriptor).into_owned(),
                source: self.source(method.class),
                first_line: method.first_line,
            },
            None => {
                self.out.notes.unknown_names += 1;
                Function { method: UNKNOWN.to_owned(), ..Function::default() }
            }
        };
        let function = self.interner.function(&mut self.out.profile, function);
        if let Some(known) = self.methods.get_mut(id as usize) {
            *known = Some(function);
        }
        function
    }

    fn class(&mut self, id: u32) -> String {
        match self.log.definitions().classes().get(id) {
            Some(class) => java::class_name(&self.log.text(class.name)),
            None => {
                self.out.notes.unknown_names += 1;
                UNKNOWN.to_owned()
            }
        }
    }

    fn source(&self, class: u32) -> String {
        let class = self.log.definitions().classes().get(class);
        class.map_or_else(String::new, |class| {
            java::source_path(&self.log.text(class.name), &self.log.text(class.source))
        })
    }
}
