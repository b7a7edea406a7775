//! Finds stacks of one recording again in another one.

use crate::{Findings, findings::names::is_machinery_function};
use std::collections::HashMap;
use tyrion_model::profile::{Frame, Function, Profile};

/// When two stacks are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// When their methods are: what was changed above a line, or how the JDK
    /// does it, makes no other stack of it.
    #[default]
    Methods,
    /// When their methods and lines are.
    Lines,
}

/// A frame, whatever profile it is of: class, method, line or 0.
type Call = (String, String, u32);

/// Numbers for stacks that are the same in several profiles.
#[derive(Debug, Default)]
pub(super) struct StackNumbers {
    calls: HashMap<Call, u32>,
    /// Number of the callers' stack, and of the frame.
    stacks: HashMap<(u32, u32), u32>,
}

/// The empty stack's number.
const EMPTY: u32 = 0;

/// A stack of a profile as the program called it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CalledStack {
    /// Its shared number.
    pub(super) number: u32,
    /// The stack of the profile, which is the one that was asked for or one of
    /// its callers.
    pub(super) stack: u32,
    /// Whether anything of the program is in it.
    has_program: bool,
}

impl CalledStack {
    /// Whether nothing is left of it.
    pub(super) fn is_empty(&self) -> bool {
        self.number == EMPTY
    }
}

impl StackNumbers {
    /// Numbers the stacks of a profile, by its ids. Two kinds of frames are left
    /// out: those of `java.util.concurrent` at the inner end, where threads
    /// park, and those that run a thread at the outer end. Both differ between
    /// JDKs.
    pub(super) fn number(
        &mut self,
        findings: &Findings<'_>,
        matching: Matching,
    ) -> Vec<CalledStack> {
        let profile = findings.profile();
        let calls: Vec<Option<u32>> =
            profile.frames.iter().map(|frame| self.call(profile, *frame, matching)).collect();
        let mut whole = vec![EMPTY; profile.stacks.len()];
        let mut called = vec![CalledStack::default(); profile.stacks.len()];
        // Parents stand before their children.
        for (at, stack) in profile.stacks.iter().enumerate().skip(1) {
            let parent = whole.get(stack.parent as usize).copied().unwrap_or(EMPTY);
            let call = calls.get(stack.frame as usize).copied().flatten();
            let runs_thread = parent == EMPTY && is(profile, stack.frame, runs_thread);
            whole[at] = match call {
                Some(call) if !runs_thread => self.stack(parent, call),
                _ => parent,
            };
            let outer = called.get(stack.parent as usize).copied().unwrap_or_default();
            let is_machinery = is(profile, stack.frame, is_machinery_function);
            called[at] = if is_machinery && outer.has_program {
                outer
            } else {
                let has_program = outer.has_program || !(is_machinery || runs_thread);
                CalledStack { number: whole[at], stack: at as u32, has_program }
            };
        }
        called
    }

    fn call(&mut self, profile: &Profile, frame: Frame, matching: Matching) -> Option<u32> {
        let function = profile.functions.get(frame.function as usize)?;
        let line = if matching == Matching::Lines { frame.line } else { 0 };
        let next = self.calls.len() as u32;
        let call = (function.class.clone(), function.method.clone(), line);
        Some(*self.calls.entry(call).or_insert(next))
    }

    fn stack(&mut self, parent: u32, call: u32) -> u32 {
        let next = self.stacks.len() as u32 + 1;
        *self.stacks.entry((parent, call)).or_insert(next)
    }
}

fn is(profile: &Profile, frame: u32, rule: fn(&Function) -> bool) -> bool {
    let frame = profile.frames.get(frame as usize);
    frame.and_then(|frame| profile.functions.get(frame.function as usize)).is_some_and(rule)
}

fn runs_thread(function: &Function) -> bool {
    let is_thread = ["java.lang.Thread", "java.lang.VirtualThread"].contains(&&*function.class);
    is_thread && function.method.starts_with("run")
}
