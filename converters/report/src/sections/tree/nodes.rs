//! The frames of a group: which there are, and which are shown.
//!
//! A node is known by its caller and its name, so that no two of a caller look
//! the same: overloads on one line, say, are one.

use super::{
    super::sampled::ShownStacks,
    TreeNode,
    sums::{Leaf, SampledTimes},
};
use crate::findings::names;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use tyrion_model::{
    names::{LockFrame, lock_class, lock_own_name},
    profile::Profile,
};
use tyrion_wire::WaitKind;

/// What stands for a thread without frames.
const NO_FRAME: &str = "[no Java frame]";

/// The frames of a group, and the locks that its threads were blocked on.
pub(super) struct Nodes<'a> {
    profile: &'a Profile,
    stacks: &'a ShownStacks,
    /// Callers stand in front of what they called; the first is the caller of
    /// the roots.
    nodes: Vec<NodeDraft>,
    /// By caller and name.
    by_name: HashMap<(usize, String), usize>,
    by_stack: HashMap<u32, usize>,
}

/// A node under way.
#[derive(Default)]
struct NodeDraft {
    caller: usize,
    name: String,
    /// How many frames stand outside of it.
    level: u32,
    method_ns: u64,
    sums: SampledTimes,
    called: Vec<usize>,
    /// It says where the program waited for a lock, so it is shown.
    is_place: bool,
}

impl NodeDraft {
    fn cumulative_ns(&self) -> u64 {
        self.sums.states.sum_ns()
    }
}

impl<'a> Nodes<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        stacks: &'a ShownStacks,
        leaves: &BTreeMap<Leaf, SampledTimes>,
    ) -> Nodes<'a> {
        let (by_name, by_stack) = Default::default();
        let nodes = vec![NodeDraft::default()];
        let mut nodes = Nodes { profile, stacks, nodes, by_name, by_stack };
        for (&(stack, lock), sums) in leaves {
            let mut at = nodes.of_stack(stack);
            if let Some(lock) = lock {
                nodes.mark_place(at);
                at = nodes.of_lock(at, lock);
            }
            let own_ns = &mut nodes.nodes[at].method_ns;
            *own_ns = own_ns.saturating_add(sums.states.sum_ns());
            while at != 0 {
                nodes.nodes[at].sums.add(sums);
                at = nodes.nodes[at].caller;
            }
        }
        nodes
    }

    /// The node of a stack.
    fn of_stack(&mut self, stack: u32) -> usize {
        // Outwards to a stack that is known, and back.
        let mut inner = Vec::new();
        let mut outer = Some(stack);
        let mut at = 0;
        while let Some(stack) = outer {
            if let Some(&known) = self.by_stack.get(&stack) {
                at = known;
                break;
            }
            inner.push(stack);
            outer = self.stacks.parent(self.profile, stack);
        }
        for stack in inner.into_iter().rev() {
            let level = self.stacks.depth(stack).saturating_sub(1);
            at = self.called(at, self.frame_name(stack), level);
            self.by_stack.insert(stack, at);
        }
        at
    }

    /// What a node called by this name.
    fn called(&mut self, caller: usize, name: String, level: u32) -> usize {
        let next = self.nodes.len();
        let at = *self.by_name.entry((caller, name.clone())).or_insert(next);
        if at == next {
            self.nodes.push(NodeDraft { caller, name, level, ..NodeDraft::default() });
            self.nodes[caller].called.push(at);
        }
        at
    }

    fn of_lock(&mut self, caller: usize, (lock, kind): (u32, WaitKind)) -> usize {
        let (class, name) = (lock_class(self.profile, lock), lock_own_name(self.profile, lock));
        let name = LockFrame { class, name, identity: String::new(), kind }.dotted();
        let level = self.nodes[caller].level + 1;
        self.called(caller, name, level)
    }

    /// Marks where the program is in the stack of a node: outside of what locks
    /// are made of.
    fn mark_place(&mut self, stack: usize) {
        let mut at = stack;
        while names::is_machinery(&self.nodes[at].name) && self.nodes[at].caller != 0 {
            at = self.nodes[at].caller;
        }
        self.nodes[at].is_place = true;
    }

    fn frame_name(&self, stack: u32) -> String {
        if self.stacks.is_empty(stack) {
            return NO_FRAME.to_owned();
        }
        let frame = self.profile.frames_of(stack).next();
        frame.map_or_else(|| NO_FRAME.to_owned(), |frame| names::frame(self.profile, frame))
    }

    /// The nodes that are shown, each in front of those that it called: those
    /// without time of their own that only called one other are left out, and so
    /// are those without time, unless all of them are asked for.
    pub(super) fn shown(&mut self, all: bool) -> Vec<TreeNode> {
        self.sort(all);
        let mut shown = Vec::new();
        let mut todo: Vec<(usize, usize)> = Vec::new();
        let (mut at, mut depth) = (0, 0);
        loop {
            // The last one is taken first.
            let inner = self.shown_below(at, all);
            todo.extend(inner.into_iter().rev().map(|at| (at, depth)));
            let Some((next, its_depth)) = todo.pop() else { return shown };
            let node = &self.nodes[next];
            shown.push(TreeNode {
                depth: its_depth,
                level: node.level,
                frame: node.name.clone(),
                cumulative_ns: node.cumulative_ns(),
                method_ns: node.method_ns,
                cpu_ns: node.sums.cpu_ns,
                samples: node.sums.samples,
                states: node.sums.states,
            });
            (at, depth) = (next, its_depth + 1);
        }
    }

    /// Sorts what each node called, most time first, and forgets what has none.
    fn sort(&mut self, all: bool) {
        for at in 0..self.nodes.len() {
            let mut called = std::mem::take(&mut self.nodes[at].called);
            called.retain(|&node| all || self.nodes[node].cumulative_ns() != 0);
            called.sort_by_cached_key(|&node| {
                let node = &self.nodes[node];
                (Reverse(node.cumulative_ns()), node.name.clone())
            });
            self.nodes[at].called = called;
        }
    }

    /// What is shown next below a node. Where nodes are left out, those behind
    /// them may look the same: then what tells them apart is shown instead.
    fn shown_below(&self, caller: usize, all: bool) -> Vec<usize> {
        let called = &self.nodes[caller].called;
        if all {
            return called.clone();
        }
        let mut shown: Vec<usize> = called.iter().map(|&node| self.first_shown(node)).collect();
        loop {
            let mut times: HashMap<&str, usize> = HashMap::new();
            for &node in &shown {
                *times.entry(&self.nodes[node].name).or_default() += 1;
            }
            let same = |node: usize| times[self.nodes[node].name.as_str()] > 1;
            let told_apart = shown.iter().zip(called);
            let told_apart: Vec<usize> =
                told_apart.map(|(&node, &called)| if same(node) { called } else { node }).collect();
            if told_apart == shown {
                return shown;
            }
            shown = told_apart;
        }
    }

    /// The node, or the first one behind it that is not left out.
    fn first_shown(&self, node: usize) -> usize {
        let mut at = node;
        loop {
            let node = &self.nodes[at];
            match node.called[..] {
                [only]
                    if node.method_ns == 0
                        && !node.is_place
                        && self.nodes[only].cumulative_ns() == node.cumulative_ns() =>
                {
                    at = only;
                }
                _ => return at,
            }
        }
    }
}
