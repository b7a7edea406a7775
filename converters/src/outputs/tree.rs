//! What every output walks: the profile's stacks with the locks as leaves.

use super::rows::Rows;
use crate::{
    names::{self, LockFrame},
    profile::Profile,
};
use std::{collections::HashMap, io};
use tyrion_wire::WaitKind;

/// The name of [`Step::NoStack`].
pub(super) const NO_STACK: &str = "[no stack]";

/// What a node adds to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: it is the empty stack.
    Root,
    /// What stands for a stack without frames where no lock does.
    NoStack,
    /// A frame, an index into [`Profile::frames`].
    Frame(u32),
    /// A lock, an index into [`Tree::locks`].
    Lock(u32),
}

/// The stacks of a profile, each lock that was waited for or taken below its
/// stack.
///
/// Nodes are named by index: the first is the empty stack, in which nobody waits,
/// and every other stands after its parent.
pub(super) struct Tree {
    /// Each node's parent.
    pub(super) parents: Vec<u32>,
    /// What each node adds to its parent.
    pub(super) steps: Vec<Step>,
    /// The node of each row, in their order.
    pub(super) node_of_row: Vec<u32>,
    /// The frames that stand for locks.
    pub(super) locks: Vec<LockFrame>,
}

impl Tree {
    /// The tree of a profile, with locks as leaves if `lock_frame`, told apart
    /// by identity if `lock_identity`.
    ///
    /// # Errors
    /// The profile breaks a rule of [`Profile::check`].
    pub(super) fn new(
        profile: &Profile,
        rows: &Rows<'_>,
        lock_frame: bool,
        lock_identity: bool,
    ) -> io::Result<Tree> {
        profile.check().map_err(|rule| {
            io::Error::new(io::ErrorKind::InvalidData, format!("broken profile: {rule}"))
        })?;
        let mut steps: Vec<Step> =
            profile.stacks.iter().map(|stack| Step::Frame(stack.frame)).collect();
        steps[0] = Step::Root;
        let mut tree = Tree {
            parents: profile.stacks.iter().map(|stack| stack.parent).collect(),
            steps,
            node_of_row: Vec::new(),
            locks: Vec::new(),
        };
        if lock_frame {
            tree.add_locks(profile, rows, lock_identity);
        } else {
            tree.add_rows(rows);
        }
        Ok(tree)
    }

    fn add_rows(&mut self, rows: &Rows<'_>) {
        let no_stack = self.steps.len() as u32;
        if rows.iter().any(|row| row.stack == 0) {
            self.parents.push(0);
            self.steps.push(Step::NoStack);
        }
        let node = |stack| if stack == 0 { no_stack } else { stack };
        self.node_of_row = rows.iter().map(|row| node(row.stack)).collect();
    }

    fn add_locks(&mut self, profile: &Profile, rows: &Rows<'_>, lock_identity: bool) {
        let mut frames = LockFrames::new(profile, lock_identity);
        let mut leaves = HashMap::new();
        self.node_of_row.reserve_exact(rows.len());
        for row in rows.iter() {
            let lock = frames.of(row.lock, row.kind);
            let next = self.steps.len() as u32;
            let node = *leaves.entry((row.stack, lock)).or_insert(next);
            if node == next {
                self.parents.push(row.stack);
                self.steps.push(Step::Lock(lock));
            }
            self.node_of_row.push(node);
        }
        self.locks = frames.frames;
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The nodes from this one up to a child of the empty stack.
    pub(super) fn path_up(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = node;
        std::iter::from_fn(move || {
            let node = at;
            at = self.parents[node as usize];
            (node != 0).then_some(node)
        })
    }
}

/// Gives each pair of lock and kind its frame.
struct LockFrames<'p> {
    profile: &'p Profile,
    with_identity: bool,
    frames: Vec<LockFrame>,
    by_lock: HashMap<(u32, WaitKind), u32>,
    by_name: HashMap<(String, String, String, WaitKind), u32>,
}

impl<'p> LockFrames<'p> {
    fn new(profile: &'p Profile, with_identity: bool) -> Self {
        let (frames, by_lock, by_name) = Default::default();
        LockFrames { profile, with_identity, frames, by_lock, by_name }
    }

    fn of(&mut self, lock: u32, kind: WaitKind) -> u32 {
        if let Some(&frame) = self.by_lock.get(&(lock, kind)) {
            return frame;
        }
        let class = names::lock_class(self.profile, lock);
        let name = names::lock_own_name(self.profile, lock);
        let identity = match self.with_identity {
            true => self.profile.lock_identity(lock),
            false => String::new(),
        };
        let next = self.frames.len() as u32;
        let key = (class.clone(), name.clone(), identity.clone(), kind);
        let frame = *self.by_name.entry(key).or_insert(next);
        if frame == next {
            self.frames.push(LockFrame { class, name, identity, kind });
        }
        self.by_lock.insert((lock, kind), frame);
        frame
    }
}
