//! The call graph that all parts share, worked out once.

use super::functions::{Callee, FunctionNames};
use crate::outputs::tree::{StackTree, TreeStep};
use rayon::prelude::*;
use std::collections::HashMap;
use tyrion_model::profile::Profile;

/// No line of cost.
pub(super) const NONE: u32 = u32::MAX;

/// A line of cost: a function's own on a line of source, or that of a call. They
/// are sorted, so that those of a function stand together, its own cost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CostLine {
    /// The function, an index into [`Graph::functions`].
    pub(super) function: u32,
    /// The function that is called; 0 for the function's own cost, since nobody
    /// calls the thread.
    pub(super) callee: u32,
    /// The line of source in `function`.
    pub(super) line: u32,
}

/// A call graph, and which of its lines the rows of each node add to.
pub(super) struct Graph {
    /// The functions, first the one that stands for a thread. A function that
    /// stands in a stack again is another one, `f'2`: readers take a call of
    /// itself for more cost.
    pub(super) functions: Vec<Callee>,
    /// Source files.
    pub(super) files: Vec<String>,
    /// Objects.
    pub(super) objects: Vec<String>,
    /// All lines of cost, sorted, each once.
    pub(super) entries: Vec<CostLine>,
    /// The call that leads to each node; [`NONE`] for the empty stack.
    pub(super) call_of_node: Vec<u32>,
    /// The own cost of each node's function; [`NONE`] if it has
    /// none.
    pub(super) own_of_node: Vec<u32>,
}

impl Graph {
    pub(super) fn new(profile: &Profile, tree: &StackTree) -> Graph {
        let names = FunctionNames::new(profile, tree);
        let (functions, of_node) = tell_recursion_apart(&names, tree);
        let line = |node: u32| match tree.steps[node as usize] {
            TreeStep::Frame(frame) => profile.frames[frame as usize].line,
            _ => 0,
        };
        let call = |node: u32| {
            let caller = tree.parents[node as usize];
            CostLine {
                function: of_node[caller as usize],
                callee: of_node[node as usize],
                line: line(caller),
            }
        };
        let own =
            |node: u32| CostLine { function: of_node[node as usize], callee: 0, line: line(node) };
        let mut is_own = vec![false; tree.len()];
        for &node in &tree.node_of_row {
            is_own[node as usize] = true;
        }
        let nodes = 0..tree.len() as u32;
        let own_nodes = nodes.clone().filter(|&node| is_own[node as usize]);
        let mut entries: Vec<CostLine> =
            nodes.clone().skip(1).map(call).chain(own_nodes.map(own)).collect();
        entries.par_sort_unstable();
        entries.dedup();
        entries.shrink_to_fit();

        let id = |entry: CostLine| entries.partition_point(|other| *other < entry) as u32;
        let call_of_node = nodes.clone().into_par_iter();
        let call_of_node =
            call_of_node.map(|node| if node == 0 { NONE } else { id(call(node)) }).collect();
        let own_of_node = nodes
            .into_par_iter()
            .map(|node| if is_own[node as usize] { id(own(node)) } else { NONE })
            .collect();
        let (files, objects) = (names.files.strings, names.objects.strings);
        Graph { functions, files, objects, entries, call_of_node, own_of_node }
    }
}

/// The functions with their recurrences, and the one of each node.
fn tell_recursion_apart(names: &FunctionNames, tree: &StackTree) -> (Vec<Callee>, Vec<u32>) {
    let mut functions = names.functions.clone();
    let mut recurrences = HashMap::new();
    let mut of_node = Vec::with_capacity(tree.len());
    let function = |node: u32| names.function(tree.steps[node as usize]);
    for node in 0..tree.len() as u32 {
        let first = function(node);
        let occurrence = tree.path_up(node).filter(|&above| function(above) == first).count();
        if occurrence < 2 {
            of_node.push(first);
            continue;
        }
        let next = functions.len() as u32;
        let id = *recurrences.entry((first, occurrence)).or_insert(next);
        if id == next {
            let mut callee = functions[first as usize].clone();
            callee.name = format!("{}'{occurrence}", callee.name);
            functions.push(callee);
        }
        of_node.push(id);
    }
    (functions, of_node)
}
