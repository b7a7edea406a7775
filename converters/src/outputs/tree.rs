//! What every output walks: the profile's stacks with the locks, and the states
//! of samples, as leaves.

use super::{
    OutputOptions,
    rows::{OutputRow, Rows},
};
use std::{collections::HashMap, io};
use tyrion_model::{
    names::{self, LockFrame},
    profile::{NO_LOCK, Profile, State},
};
use tyrion_wire::WaitKind;

/// The name of [`TreeStep::NoStack`].
pub(super) const NO_STACK: &str = "[no stack]";

/// What a node adds to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TreeStep {
    /// Nothing: it is the empty stack.
    Root,
    /// What stands for a stack without frames where no lock does.
    NoStack,
    /// A frame, an index into [`Profile::frames`].
    Frame(u32),
    /// A lock, an index into [`StackTree::locks`].
    Lock(u32),
    /// What a thread was doing.
    State(State),
}

/// What stands below stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaves {
    /// Locks that were waited for or taken, and the states of samples.
    any: bool,
    /// Locks are told apart by identity.
    lock_identity: bool,
    states: StateLeaves,
}

/// Which states stand below the stacks of samples, where no lock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateLeaves {
    /// All.
    All,
    /// All but that of a thread that runs: what it costs stands at its own line.
    ButRunning,
    /// None: they stand elsewhere.
    None,
}

impl Leaves {
    /// What the options ask for.
    pub(super) fn new(options: &OutputOptions, states: StateLeaves) -> Leaves {
        Leaves { any: options.lock_frame, lock_identity: options.lock_identity, states }
    }

    fn has(self, state: State) -> bool {
        match self.states {
            StateLeaves::All => true,
            StateLeaves::ButRunning => state != State::Running,
            StateLeaves::None => false,
        }
    }
}

/// The stacks of a profile, each lock that was waited for or taken below its
/// stack.
///
/// Nodes are named by index: the first is the empty stack, in which nobody waits,
/// and every other stands after its parent.
pub(super) struct StackTree {
    /// Each node's parent.
    pub(super) parents: Vec<u32>,
    /// What each node adds to its parent.
    pub(super) steps: Vec<TreeStep>,
    /// The node of each row, in their order.
    pub(super) node_of_row: Vec<u32>,
    /// The frames that stand for locks.
    pub(super) locks: Vec<LockFrame>,
}

impl StackTree {
    /// The tree of a profile, with these leaves.
    ///
    /// # Errors
    /// The profile breaks a rule of [`Profile::check`].
    pub(super) fn new(profile: &Profile, rows: &Rows<'_>, leaves: Leaves) -> io::Result<StackTree> {
        profile.check().map_err(|rule| {
            io::Error::new(io::ErrorKind::InvalidData, format!("broken profile: {rule}"))
        })?;
        let mut steps: Vec<TreeStep> =
            profile.stacks.iter().map(|stack| TreeStep::Frame(stack.frame)).collect();
        steps[0] = TreeStep::Root;
        let mut tree = StackTree {
            parents: profile.stacks.iter().map(|stack| stack.parent).collect(),
            steps,
            node_of_row: Vec::new(),
            locks: Vec::new(),
        };
        tree.add_rows(profile, rows, leaves);
        Ok(tree)
    }

    fn add_rows(&mut self, profile: &Profile, rows: &Rows<'_>, leaves: Leaves) {
        let mut frames = LockFrames::new(profile, leaves.lock_identity);
        let mut nodes = HashMap::new();
        self.node_of_row.reserve_exact(rows.len());
        for row in rows.iter() {
            let leaf = match leaf(&row, leaves, &mut frames) {
                Some(leaf) => leaf,
                None if row.stack == 0 => TreeStep::NoStack,
                None => {
                    self.node_of_row.push(row.stack);
                    continue;
                }
            };
            let next = self.steps.len() as u32;
            let node = *nodes.entry((row.stack, leaf)).or_insert(next);
            if node == next {
                self.parents.push(row.stack);
                self.steps.push(leaf);
            }
            self.node_of_row.push(node);
        }
        self.locks = frames.frames;
    }

    /// The states that are steps, in the order of [`State::ALL`].
    pub(super) fn states(&self) -> impl Iterator<Item = State> + use<> {
        let mut in_use = [false; State::ALL.len()];
        for step in &self.steps {
            if let TreeStep::State(state) = step {
                in_use[*state as usize] = true;
            }
        }
        State::ALL.into_iter().filter(move |state| in_use[*state as usize])
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

/// What stands below the stack of a row, if anything does.
fn leaf(row: &OutputRow, leaves: Leaves, frames: &mut LockFrames<'_>) -> Option<TreeStep> {
    match row.state {
        _ if !leaves.any => None,
        None => row.kind.map(|kind| TreeStep::Lock(frames.of(row.lock, kind))),
        Some(State::Blocked) if row.lock != NO_LOCK => {
            let kind = row.kind.unwrap_or(WaitKind::Monitor);
            Some(TreeStep::Lock(frames.of(row.lock, kind)))
        }
        Some(state) => leaves.has(state).then_some(TreeStep::State(state)),
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
