//! What the sections about samples have in common.

use crate::Findings;
use schemars::JsonSchema;
use serde::Serialize;
use tyrion_model::{
    filter::Filter,
    packages,
    profile::{CUT, Function, Profile, State},
};

/// Real time by what threads were doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StateTimes {
    /// Running Java code, or ready to run.
    pub running_ns: u64,
    /// In native code: in I/O, or computing.
    pub native_ns: u64,
    /// Waiting for a lock that another thread held.
    pub blocked_ns: u64,
    /// In `Object.wait`.
    pub waiting_ns: u64,
    /// Parked, for something other than a lock.
    pub parked_ns: u64,
    /// In `Thread.sleep`.
    pub sleeping_ns: u64,
    /// Waiting for work.
    pub idle_ns: u64,
    /// Suspended, or not known.
    pub other_ns: u64,
}

impl StateTimes {
    fn of(&mut self, state: State) -> &mut u64 {
        match state {
            State::Running => &mut self.running_ns,
            State::Native => &mut self.native_ns,
            State::Blocked => &mut self.blocked_ns,
            State::Waiting => &mut self.waiting_ns,
            State::Parked => &mut self.parked_ns,
            State::Sleeping => &mut self.sleeping_ns,
            State::Idle => &mut self.idle_ns,
            State::Other => &mut self.other_ns,
        }
    }

    /// Adds time in a state.
    pub fn add(&mut self, state: State, ns: u64) {
        let sum = self.of(state);
        *sum = sum.saturating_add(ns);
    }

    /// Adds all of these times.
    pub fn add_all(&mut self, other: &StateTimes) {
        let mut other = *other;
        State::ALL.into_iter().for_each(|state| self.add(state, *other.of(state)));
    }

    /// All of them added up.
    pub fn sum_ns(&self) -> u64 {
        let mut times = *self;
        State::ALL.into_iter().fold(0u64, |sum, state| sum.saturating_add(*times.of(state)))
    }

    /// In few words, those with most time first: `run 80% blk 20%`.
    pub fn in_words(&self) -> String {
        let (all_ns, mut times) = (u128::from(self.sum_ns().max(1)), *self);
        let mut shares = State::ALL.map(|state| {
            let part = u128::from(*times.of(state));
            ((part * 100 + all_ns / 2) / all_ns, short(state))
        });
        shares.sort_by_key(|(share, _)| std::cmp::Reverse(*share));
        let shown = shares.iter().filter(|(share, _)| *share != 0);
        shown.map(|(share, state)| format!("{state} {share}%")).collect::<Vec<_>>().join(" ")
    }
}

fn short(state: State) -> &'static str {
    match state {
        State::Running => "run",
        State::Native => "nat",
        State::Blocked => "blk",
        State::Waiting => "wait",
        State::Parked => "park",
        State::Sleeping => "sleep",
        State::Idle => "idle",
        State::Other => "other",
    }
}

/// The names of the states that are shown.
pub fn states(filter: &Filter) -> Vec<&'static str> {
    let shown = State::ALL.into_iter().filter(|state| filter.states.contains(*state));
    shown.map(State::name).collect()
}

/// What logs with nothing but samples lack. What they say of locks is nothing,
/// not 0.
pub const NO_LOCKS: &str = "locks were not recorded: --mode contention+sample records both";

/// What logs without samples lack.
pub fn lacking(findings: &Findings<'_>) -> String {
    match findings.profile().has_samples {
        true => String::new(),
        false => "needs samples: tyrion sample PID -o LOG, or --mode contention+sample".to_owned(),
    }
}

/// What trees and lines ask of the stacks of a profile.
pub struct ShownStacks {
    /// What is left of each stack: itself, or an outer part of it.
    kept: Vec<u32>,
    /// How many frames each has.
    depths: Vec<u32>,
    /// The outermost stack of each, if it stands for what the program says that
    /// the thread did; 0 if not.
    groups: Vec<u32>,
}

impl ShownStacks {
    /// Those of a profile, cut down to packages if there are any.
    pub fn new(profile: &Profile, names: &[String]) -> ShownStacks {
        let (mut depths, mut groups) = (vec![0u32], vec![0u32]);
        for (at, stack) in profile.stacks.iter().enumerate().skip(1) {
            let outer = |list: &[u32]| list.get(stack.parent as usize).copied().unwrap_or(0);
            let function = function_of(profile, at as u32);
            let is_group = stack.parent == 0 && function.is_some_and(Function::is_group);
            let is_frame = !is_group && function.is_some_and(|function| !is_cut(function));
            let (depth, group) = (outer(&depths), outer(&groups));
            depths.push(depth.saturating_add(u32::from(is_frame)));
            groups.push(if is_group { at as u32 } else { group });
        }
        ShownStacks { kept: packages::kept(profile, names), depths, groups }
    }

    /// What is left of a stack.
    pub fn kept(&self, stack: u32) -> u32 {
        self.kept.get(stack as usize).copied().unwrap_or(0)
    }

    /// How many frames a stack has.
    pub fn depth(&self, stack: u32) -> u32 {
        self.depths.get(stack as usize).copied().unwrap_or(0)
    }

    /// What the program says that the thread did.
    pub fn given_group<'a>(&self, profile: &'a Profile, stack: u32) -> Option<&'a str> {
        let group = self.groups.get(stack as usize).copied().filter(|group| *group != 0)?;
        function_of(profile, group).map(|function| function.method.as_str())
    }

    /// Whether a stack has no frame.
    pub fn is_empty(&self, stack: u32) -> bool {
        stack == 0 || self.groups.get(stack as usize) == Some(&stack)
    }

    /// The stack that called the innermost frame of this one, if it has a frame.
    pub fn parent(&self, profile: &Profile, stack: u32) -> Option<u32> {
        let parent = profile.stacks.get(stack as usize)?.parent;
        (!self.is_empty(parent)).then_some(parent)
    }
}

fn function_of(profile: &Profile, stack: u32) -> Option<&Function> {
    let frame = profile.stacks.get(stack as usize)?.frame;
    let frame = profile.frames.get(frame as usize)?;
    profile.functions.get(frame.function as usize)
}

fn is_cut(function: &Function) -> bool {
    function.class.is_empty() && function.method == CUT
}
