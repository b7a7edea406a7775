//! The stacks of waits with the locks as leaves, for outputs that show single waits.

use super::{
    OutputOptions,
    metric::{By, Metric},
    rows::Rows,
    tree::{Leaves, NO_STACK, StackTree, StateLeaves, TreeStep},
};
use std::{collections::HashMap, io};
use tyrion_model::{
    harmless,
    names::{self, LockFrame},
    profile::Profile,
};
use tyrion_wire::WaitKind;

/// The rows of waits of a profile.
pub(super) fn wait_rows<'p>(profile: &'p Profile, options: &OutputOptions) -> Rows<'p> {
    let (metric, by) = (Some(Metric::Wait), Some(By::Waiter));
    Rows::with_metric(profile, &OutputOptions { metric, by, ..options.clone() }).0
}

/// The stacks of waits, each with its lock below it.
pub(super) struct LockStacks<'p> {
    profile: &'p Profile,
    /// Nodes: the first is the empty stack, and every other stands after its parent.
    pub(super) tree: StackTree,
    node_of: HashMap<(u32, u32, WaitKind), u32>,
}

/// A frame, as viewers show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ViewerFrame {
    /// Its name.
    pub(super) name: String,
    /// Its source file, or the class of a lock that has a name of its own; empty when
    /// unknown.
    pub(super) file: String,
    /// The line in it, 0 when unknown.
    pub(super) line: u32,
}

impl<'p> LockStacks<'p> {
    /// Those of a profile's waits.
    ///
    /// # Errors
    /// The profile breaks a rule of [`Profile::check`].
    pub(super) fn new(profile: &'p Profile, options: &OutputOptions) -> io::Result<LockStacks<'p>> {
        let rows = wait_rows(profile, options);
        let tree = StackTree::new(profile, &rows, Leaves::new(options, StateLeaves::None))?;
        let keys = profile.waits.iter().map(|row| (row.stack, row.lock, row.kind));
        let node_of = keys.zip(tree.node_of_row.iter().copied()).collect();
        Ok(LockStacks { profile, tree, node_of })
    }

    /// The node of a wait; the empty stack for one that the profile lacks.
    pub(super) fn node(&self, stack: u32, lock: u32, kind: WaitKind) -> u32 {
        self.node_of.get(&(stack, lock, kind)).copied().unwrap_or(0)
    }

    /// How many frames there are: those of the profile, then [`NO_STACK`], then those of
    /// locks.
    pub(super) fn frames(&self) -> u32 {
        self.profile.frames.len() as u32 + 1 + self.tree.locks.len() as u32
    }

    /// The frame that a step adds.
    pub(super) fn frame(&self, step: TreeStep) -> u32 {
        let frames = self.profile.frames.len() as u32;
        match step {
            TreeStep::Frame(frame) => frame,
            TreeStep::Lock(lock) => frames + 1 + lock,
            // Stacks of waits have no states, and the empty stack adds no frame.
            TreeStep::NoStack | TreeStep::State(_) | TreeStep::Root => frames,
        }
    }

    /// A frame as viewers show it.
    pub(super) fn shown(&self, frame: u32) -> ViewerFrame {
        let known = self.profile.frames.get(frame as usize);
        let function = known.and_then(|it| self.profile.functions.get(it.function as usize));
        if let Some((frame, function)) = known.zip(function) {
            return ViewerFrame {
                name: names::dotted(function),
                file: harmless::name(&function.source).into_owned(),
                line: frame.line,
            };
        }
        let lock = (frame as usize).checked_sub(self.profile.frames.len() + 1);
        let lock = lock.and_then(|lock| self.tree.locks.get(lock));
        let name = lock.map_or_else(|| NO_STACK.to_owned(), LockFrame::brief);
        let file = lock.map_or_else(String::new, |lock| lock.class_beside_name().to_owned());
        ViewerFrame { name, file, line: 0 }
    }

    /// The frames of a node, root first.
    pub(super) fn path(&self, node: u32) -> Vec<u32> {
        let steps = self.tree.path_up(node).map(|node| self.tree.steps[node as usize]);
        let mut path: Vec<u32> = steps.map(|step| self.frame(step)).collect();
        path.reverse();
        path
    }
}
