//! Trees for eyes.

use super::{Interval, TreeGroup, Trees};
use crate::{
    clock,
    view::{Node, Part, Tree, View, harmless_names},
};
use tyrion_model::{harmless, units};

/// The most thread names shown; the JSON has them all.
const NAMES: usize = 8;

pub(super) fn view(trees: &Trees) -> View {
    let mut parts = Vec::new();
    if trees.idle_hidden_ns != 0 {
        parts.push(Part::Text(format!(
            "Threads that waited for work are not shown: {} of real time; --state all shows it.",
            units::duration(trees.idle_hidden_ns),
        )));
    }
    for interval in &trees.intervals {
        parts.push(Part::Heading(heading(interval)));
        parts.extend(interval.groups.iter().map(|group| Part::Tree(tree(group))));
        if interval.left_out > 0 {
            let more = units::thousands(interval.left_out as u64);
            let groups = if interval.left_out == 1 { "group" } else { "groups" };
            parts.push(Part::Text(format!("… and {more} more {groups}; --top 0 shows all")));
        }
        if interval.groups.is_empty() {
            parts.push(Part::Text("No thread was seen doing anything that is shown.".to_owned()));
        }
    }
    View { parts }
}

fn heading(interval: &Interval) -> String {
    let end_ns = interval.start_wall_ns.saturating_add(interval.duration_ns);
    format!(
        "Report interval: from {} till {}",
        clock::moment(interval.start_wall_ns),
        clock::moment(end_ns),
    )
}

fn tree(group: &TreeGroup) -> Tree {
    let mut names: Vec<String> = harmless_names(&group.threads).take(NAMES).collect();
    if group.threads.len() > NAMES {
        names.push("...".to_owned());
    }
    let title = format!(
        "Aggregated thread: {}. Max depth: {}. Distinct threads: {} [{}]",
        harmless::name(&group.group),
        group.max_depth,
        group.thread_count,
        names.join(", "),
    );
    let nodes = group.nodes.iter().map(|node| Node {
        depth: node.depth,
        name: harmless::name(&node.frame).into_owned(),
        cumulative_ns: node.cumulative_ns,
        method_ns: node.method_ns,
        states: node.states.in_words(),
    });
    Tree { title, nodes: nodes.collect() }
}
