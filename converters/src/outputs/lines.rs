//! The lines of collapsed text, `root;caller;leaf 123`: the one place that
//! builds them, for the text itself and for flame graphs.

use super::{
    OutputOptions,
    bits::BitSet,
    facts::RowKinds,
    rows::{RowColumn, RowSpans, Rows},
    tree::{Leaves, NO_STACK, StackTree, StateLeaves, TreeStep},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
};
use tyrion_model::{
    harmless,
    names::{self, LockFrame},
    profile::{Function, Profile, State},
};
use tyrion_wire::WaitKind;

/// What a label is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LabelKind {
    /// A method of the application or its libraries.
    Method,
    /// A method of the JDK.
    JdkMethod,
    /// A lock, with how it was waited for, or taken.
    Lock(WaitKind),
    /// A thread.
    Thread,
    /// What the program said that a thread was doing.
    Group,
    /// What a thread was doing.
    State(State),
}

/// The names of the frames that some lines begin with: none, a state, a thread,
/// or both.
type RootNames = Vec<(String, LabelKind)>;

/// What frames call locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockNames {
    /// All that is known: [`LockFrame::dotted`].
    Whole,
    /// One word: [`LockFrame::brief`].
    Brief,
}

/// The rows of a root.
#[derive(Default)]
struct Selection {
    spans: Vec<RowSpans>,
    /// Those of this state alone.
    state: Option<State>,
}

/// The tree whose paths are the lines: stacks whose frames have the same names
/// are one path, whatever their lines of source and parameters were.
///
/// Nodes are numbered as a walk meets them that visits the children of a node in
/// the order of their names, so that ascending numbers are sorted lines.
pub(super) struct Lines<'p> {
    rows: Rows<'p>,
    column: RowColumn,
    kinds: RowKinds,
    /// Names, sorted, each once.
    labels: Vec<(String, LabelKind)>,
    nodes: Vec<LineNode>,
    node_of_row: Vec<u32>,
    /// The frames that all lines of some threads, or states, begin with, sorted.
    roots: BTreeMap<RootNames, Selection>,
    /// The classes of the locks whose names do not tell them, by label.
    classes: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Clone, Copy)]
struct LineNode {
    parent: u32,
    label: u32,
    depth: u32,
}

impl<'p> Lines<'p> {
    /// The lines of a profile. They follow the options `lock_frame`,
    /// `lock_identity`, `by_thread`, `metric` and `by`.
    ///
    /// # Errors
    /// The profile breaks a rule of [`Profile::check`].
    pub(super) fn new(profile: &'p Profile, options: &OutputOptions) -> io::Result<Lines<'p>> {
        Lines::with(profile, options, LockNames::Whole)
    }

    /// The same for pictures, with locks called by one word; [`Lines::classes`] tells
    /// what that leaves out.
    ///
    /// # Errors
    /// As [`Lines::new`].
    pub(super) fn brief(profile: &'p Profile, options: &OutputOptions) -> io::Result<Lines<'p>> {
        Lines::with(profile, options, LockNames::Brief)
    }

    fn with(
        profile: &'p Profile,
        options: &OutputOptions,
        lock_names: LockNames,
    ) -> io::Result<Lines<'p>> {
        let (rows, column) = Rows::with_metric(profile, options);
        let by_state = options.is_by_state(profile);
        let states = if by_state { StateLeaves::None } else { StateLeaves::All };
        let tree = StackTree::new(profile, &rows, Leaves::new(options, states))?;
        let labels = StepNames::new(profile, &tree, lock_names);
        let (merged, merged_of_node) = merge(&tree, &labels);
        let (nodes, number) = in_order_of_lines(&merged);
        let node_of_row = tree
            .node_of_row
            .iter()
            .map(|&node| number[merged_of_node[node as usize] as usize])
            .collect();
        Ok(Lines {
            rows,
            column,
            kinds: RowKinds::of(&rows),
            labels: labels.names,
            nodes,
            node_of_row,
            roots: roots(profile, &rows, options.by_thread, by_state),
            classes: match lock_names {
                LockNames::Whole => BTreeMap::new(),
                LockNames::Brief => classes(&tree.locks),
            },
        })
    }

    /// The sum of all lines.
    pub(super) fn total(&self) -> u64 {
        self.sum(self.column)
    }

    /// The sum of another column of what the lines are made of.
    pub(super) fn sum(&self, column: RowColumn) -> u64 {
        self.rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.value(column)))
    }

    /// What the lines sum.
    pub(super) fn column(&self) -> RowColumn {
        self.column
    }

    /// The kinds of what they sum.
    pub(super) fn kinds(&self) -> &RowKinds {
        &self.kinds
    }

    /// Every name that stands in a line.
    pub(super) fn labels(&self) -> impl Iterator<Item = (&str, LabelKind)> {
        self.labels.iter().chain(self.roots.keys().flatten()).map(|(name, kind)| (&**name, *kind))
    }

    /// What the frames of lines are, which are some of these lines.
    pub(super) fn kinds_of_frames(&self, lines: &str) -> BTreeSet<LabelKind> {
        let kinds: HashMap<&str, LabelKind> = self.labels().collect();
        let paths = lines.lines().filter_map(|line| line.rsplit_once(' '));
        let frames = paths.flat_map(|(path, _)| path.split(';'));
        frames.filter_map(|frame| kinds.get(frame).copied()).collect()
    }

    /// The classes of the locks whose names do not tell them, by label. Locks of several
    /// classes may have one name.
    pub(super) fn classes(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.classes
    }

    /// Calls `write` with each line, in order. What is below a path whose sum is
    /// smaller than `smallest` is added to the line of the path above, so that
    /// what nobody could see is not written; the first frame of a path always
    /// stays.
    ///
    /// # Errors
    /// The first error of `write`.
    pub(super) fn for_each(
        &self,
        smallest: f64,
        mut write: impl FnMut(&str) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut sums = RootSums::new(self.nodes.len());
        let mut line = PathLine::default();
        for (root, Selection { spans, state }) in &self.roots {
            for at in spans.iter().flat_map(RowSpans::iter) {
                let row = self.rows.row(at);
                if state.is_none() || row.state == *state {
                    sums.add(self.node_of_row[at], row.value(self.column));
                }
            }
            let never_folded = if root.is_empty() { 1 } else { 0 };
            line.start(root);
            for (node, value) in sums.take_lines(&self.nodes, smallest, never_folded) {
                write(line.of(self, node, value))?;
            }
        }
        Ok(())
    }

    /// The lines, those of [`Lines::for_each`], as one text of `most` bytes at
    /// most: as long as there are more, narrower paths are added to the ones
    /// above. With it what `smallest` was in the end.
    ///
    /// # Errors
    /// When there are too many even so.
    pub(super) fn text(&self, smallest: f64, most: usize) -> io::Result<(String, f64)> {
        let total = self.total() as f64;
        let mut smallest = smallest;
        loop {
            let mut text = String::new();
            let written = self.for_each(smallest, |line| {
                if text.len() + line.len() >= most {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                text.push_str(line);
                text.push('\n');
                Ok(())
            });
            match written {
                Ok(()) => return Ok((text, smallest)),
                Err(error) if smallest > total => {
                    let advice = "the names are too long to be drawn; use --to pprof";
                    return Err(io::Error::new(error.kind(), advice));
                }
                Err(_) => smallest = 4.0 * smallest.max(total / 1e5),
            }
        }
    }
}

/// Names of locks that tell no class, with those of the locks that have them.
fn classes(locks: &[LockFrame]) -> BTreeMap<String, BTreeSet<String>> {
    let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for lock in locks.iter().filter(|lock| !lock.name.is_empty() && !lock.class.is_empty()) {
        classes.entry(label(&lock.brief())).or_default().insert(lock.class.clone());
    }
    classes
}

/// The rows of each root: all of them under none, or those of each state, of each
/// thread, or of both under their names.
fn roots(
    profile: &Profile,
    rows: &Rows<'_>,
    by_thread: bool,
    by_state: bool,
) -> BTreeMap<RootNames, Selection> {
    let mut roots: BTreeMap<RootNames, Selection> = BTreeMap::new();
    let states: Vec<Option<State>> =
        if by_state { rows.states().map(Some).collect() } else { vec![None] };
    let threads: Vec<(Option<String>, RowSpans)> = if by_thread {
        let name = |at| names::thread_frame(&profile.thread_name(at));
        let spans = (0..).zip(rows.by_thread(profile.threads.len()));
        let spans = spans.filter(|(_, spans)| !spans.is_empty());
        spans.map(|(at, spans)| (Some(label(&name(at))), spans)).collect()
    } else {
        vec![(None, RowSpans::all(rows.len()))]
    };
    for state in states {
        for (thread, spans) in &threads {
            let state_frame = |state| (names::state_frame(state), LabelKind::State(state));
            let thread_frame = |name: &String| (name.clone(), LabelKind::Thread);
            let root = state.map(state_frame).into_iter();
            let root = root.chain(thread.as_ref().map(thread_frame)).collect();
            let selection = roots.entry(root).or_default();
            selection.spans.push(spans.clone());
            selection.state = state;
        }
    }
    roots
}

/// The name as it may stand in a line. `;` ends a frame; a last word of digits
/// would be read as a number; lines that begin with `# ` are dropped, and spaces
/// around a line are cut.
fn label(name: &str) -> String {
    let mut label = harmless::name(name).trim().replace(';', ":");
    if label.starts_with("# ") {
        label.replace_range(1..2, "_");
    }
    if let Some(space) = label.rfind(' ') {
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.';
        if label[space + 1..].bytes().all(is_digit) {
            label.replace_range(space..=space, "_");
        }
    }
    if label.is_empty() { "_".to_owned() } else { label }
}

/// The names of all steps of a tree.
struct StepNames {
    names: Vec<(String, LabelKind)>,
    of_frame: Vec<u32>,
    of_lock: Vec<u32>,
    of_state: [u32; State::ALL.len()],
    of_no_stack: u32,
}

impl StepNames {
    fn new(profile: &Profile, tree: &StackTree, lock_names: LockNames) -> StepNames {
        let functions: Vec<_> = profile
            .functions
            .iter()
            .map(|function| (label(&names::dotted(function)), kind_of(function)))
            .collect();
        let lock_label = |lock: &LockFrame| match lock_names {
            LockNames::Whole => label(&lock.dotted()),
            LockNames::Brief => label(&lock.brief()),
        };
        let locks = tree.locks.iter();
        let locks: Vec<_> =
            locks.map(|lock| (lock_label(lock), LabelKind::Lock(lock.kind))).collect();
        let no_stack = (NO_STACK.to_owned(), LabelKind::Method);
        let states = State::ALL.map(|state| (names::state_frame(state), LabelKind::State(state)));
        let rest = std::slice::from_ref(&no_stack);
        let mut names = [&functions[..], &locks[..], &states[..], rest].concat();
        names.sort_unstable();
        names.dedup_by(|a, b| a.0 == b.0);
        let rank =
            |name: &(String, LabelKind)| names.partition_point(|other| other.0 < name.0) as u32;
        let of_function: Vec<u32> = functions.iter().map(rank).collect();
        let of_frame =
            profile.frames.iter().map(|frame| of_function[frame.function as usize]).collect();
        let of_lock = locks.iter().map(rank).collect();
        let (of_state, of_no_stack) = (states.each_ref().map(rank), rank(&no_stack));
        StepNames { names, of_frame, of_lock, of_state, of_no_stack }
    }

    fn of(&self, step: TreeStep) -> u32 {
        match step {
            TreeStep::Root | TreeStep::NoStack => self.of_no_stack,
            TreeStep::Frame(frame) => self.of_frame[frame as usize],
            TreeStep::Lock(lock) => self.of_lock[lock as usize],
            TreeStep::State(state) => self.of_state[state as usize],
        }
    }
}

fn kind_of(function: &Function) -> LabelKind {
    match function {
        _ if function.is_group() => LabelKind::Group,
        _ if names::is_jdk(&function.class) => LabelKind::JdkMethod,
        _ => LabelKind::Method,
    }
}

/// Merges nodes that have the same name and parent. The result is in no order
/// but that parents come first; with it the merged node of each node.
fn merge(tree: &StackTree, labels: &StepNames) -> (Vec<LineNode>, Vec<u32>) {
    let mut merged = vec![LineNode { parent: 0, label: 0, depth: 0 }];
    let mut children = HashMap::new();
    let mut merged_of_node = vec![0u32; tree.len()];
    for node in 1..tree.len() {
        let parent = merged_of_node[tree.parents[node] as usize];
        let label = labels.of(tree.steps[node]);
        let next = merged.len() as u32;
        let at = *children.entry((parent, label)).or_insert(next);
        if at == next {
            merged.push(LineNode { parent, label, depth: merged[parent as usize].depth + 1 });
        }
        merged_of_node[node] = at;
    }
    (merged, merged_of_node)
}

/// The nodes in the order of their lines, and the new number of each.
fn in_order_of_lines(merged: &[LineNode]) -> (Vec<LineNode>, Vec<u32>) {
    let mut by_parent: Vec<u32> = (1..merged.len() as u32).collect();
    let key = |&node: &u32| (merged[node as usize].parent, merged[node as usize].label);
    by_parent.sort_unstable_by_key(key);
    let mut first_child = vec![0usize; merged.len() + 1];
    for node in &merged[1..] {
        first_child[node.parent as usize + 1] += 1;
    }
    for at in 1..first_child.len() {
        first_child[at] += first_child[at - 1];
    }
    let mut number = vec![0u32; merged.len()];
    let mut nodes = Vec::with_capacity(merged.len());
    let mut open = vec![0u32];
    while let Some(node) = open.pop() {
        let at = node as usize;
        number[at] = nodes.len() as u32;
        let parent = number[merged[at].parent as usize];
        nodes.push(LineNode { parent, ..merged[at] });
        open.extend(by_parent[first_child[at]..first_child[at + 1]].iter().rev());
    }
    (nodes, number)
}

/// The sums of one root's waits.
struct RootSums {
    /// Of the waits that end at each node, and what was folded into it.
    own: Vec<u64>,
    /// Of all waits at and below each node.
    inclusive: Vec<u64>,
    touched: BitSet,
}

impl RootSums {
    fn new(nodes: usize) -> RootSums {
        RootSums { own: vec![0; nodes], inclusive: vec![0; nodes], touched: BitSet::new(nodes) }
    }

    fn add(&mut self, node: u32, value: u64) {
        let at = node as usize;
        self.own[at] = self.own[at].saturating_add(value);
        self.inclusive[at] = self.inclusive[at].saturating_add(value);
        self.touched.insert(node);
    }

    /// The nodes that have a line, with their values. Nothing is left after.
    fn take_lines(
        &mut self,
        nodes: &[LineNode],
        smallest: f64,
        never_folded: u32,
    ) -> impl Iterator<Item = (u32, u64)> + use<> {
        let mut lines = Vec::new();
        // Children have greater numbers: what comes out is complete.
        while let Some(node) = self.touched.pop_last() {
            let at = node as usize;
            let own = std::mem::take(&mut self.own[at]);
            let inclusive = std::mem::take(&mut self.inclusive[at]);
            let LineNode { parent, depth, .. } = nodes[at];
            let above = parent as usize;
            let is_folded = depth > never_folded && (inclusive as f64) < smallest;
            if is_folded {
                self.own[above] = self.own[above].saturating_add(own);
            } else if own > 0 {
                lines.push((node, own));
            }
            if node != 0 {
                self.inclusive[above] = self.inclusive[above].saturating_add(inclusive);
                self.touched.insert(parent);
            }
        }
        lines.into_iter().rev()
    }
}

/// A line, built from the one before it: neighbours share most of their path.
#[derive(Default)]
struct PathLine {
    text: String,
    /// Where the path ends that all lines share.
    start: usize,
    /// The nodes of the path, and where each one's name ends.
    path: Vec<(u32, usize)>,
    above: Vec<u32>,
}

impl PathLine {
    /// Begins the lines of a root.
    fn start(&mut self, root: &RootNames) {
        self.path.clear();
        let names: Vec<&str> = root.iter().map(|(name, _)| &**name).collect();
        self.text = names.join(";");
        self.start = self.text.len();
    }

    /// The line of a node.
    fn of(&mut self, lines: &Lines<'_>, node: u32, value: u64) -> &str {
        let mut at = node;
        while at != 0 {
            let LineNode { parent, depth, .. } = lines.nodes[at as usize];
            let place = depth as usize - 1;
            if self.path.get(place).is_some_and(|&(shared, _)| shared == at) {
                break;
            }
            self.above.push(at);
            at = parent;
        }
        self.path.truncate(lines.nodes[at as usize].depth as usize);
        self.text.truncate(self.path.last().map_or(self.start, |&(_, end)| end));
        while let Some(node) = self.above.pop() {
            if !self.text.is_empty() {
                self.text.push(';');
            }
            self.text.push_str(&lines.labels[lines.nodes[node as usize].label as usize].0);
            self.path.push((node, self.text.len()));
        }
        self.text.push(' ');
        self.text.push_str(&value.to_string());
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn labels_cannot_be_misread() {
        for (name, escaped) in [
            ("a.B.c", "a.B.c"),
            ("pool-1 thread", "pool-1 thread"),
            ("a;b", "a:b"),
            ("fun 5", "fun_5"),
            ("a b 1.5", "a b_1.5"),
            ("# x", "#_x"),
            (" x\t", "x_"),
            ("a\0\nb", "a__b"),
            ("", "_"),
            (" ", "_"),
        ] {
            assert_eq!(label(name), escaped, "{name:?}");
        }
    }
}
