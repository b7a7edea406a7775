//! Chains of waits as a picture: each bar stands below the one that it waits for,
//! as wide as the time.

use super::escape::escape;
use crate::{
    cells::percent,
    view::{ChainNode, ChainTree},
};
use std::fmt::{self, Write};
use tyrion_model::units;

/// The height of a bar, in pixels, and of what is between two.
const BAR: usize = 22;
const GAP: usize = 2;
/// Bars of less than this share of the whole are not drawn.
const LEAST: f64 = 0.001;

pub(super) fn write(page: &mut String, tree: &ChainTree) -> fmt::Result {
    writeln!(page, "<h3>{}</h3>", escape(&tree.title))?;
    let rows = tree.nodes.iter().map(|node| node.depth + 1).max().unwrap_or(0);
    let label = match tree.nodes.first() {
        Some(node) => format!("{}: most wait for {}", tree.title, node.who),
        None => tree.title.clone(),
    };
    writeln!(
        page,
        "<div class=picture><svg class=chains role=img aria-label=\"{}\" height={}>",
        escape(&label),
        rows * (BAR + GAP)
    )?;
    // Where the next bar of each depth begins, in ns.
    let mut next = vec![0u64; rows + 1];
    for node in &tree.nodes {
        let from_ns = next.get(node.depth).copied().unwrap_or(0);
        for (depth, ns) in
            [(node.depth, from_ns.saturating_add(node.ns)), (node.depth + 1, from_ns)]
        {
            if let Some(next) = next.get_mut(depth) {
                *next = ns;
            }
        }
        bar(page, tree, node, from_ns)?;
    }
    let shown_ns = next.first().copied().unwrap_or(0);
    if tree.left_out != 0 {
        rest(page, tree, shown_ns)?;
    }
    writeln!(page, "</svg></div>")?;
    writeln!(
        page,
        "<p class=legend>A bar is as wide as the time that threads waited. Those above it had \
         what they waited for; those at the top ran, if nothing else is said.</p>"
    )
}

/// The chains that are cut off.
fn rest(page: &mut String, tree: &ChainTree, shown_ns: u64) -> fmt::Result {
    let who = format!("{} more", units::counted(tree.left_out as u64, "chain"));
    let ns = tree.all_ns.saturating_sub(shown_ns);
    bar(page, tree, &ChainNode { depth: 0, who, what: String::new(), ns }, shown_ns)
}

fn bar(page: &mut String, tree: &ChainTree, node: &ChainNode, from_ns: u64) -> fmt::Result {
    let share = |ns: u64| ns as f64 / tree.all_ns.max(1) as f64;
    if share(node.ns) < LEAST {
        return Ok(());
    }
    let waits = if node.depth == 0 { "" } else { "waits for " };
    let words = format!("{} {waits}{}", node.who, node.what);
    let words = escape(words.trim_end());
    let (x, width) = (100.0 * share(from_ns), 100.0 * share(node.ns));
    let class = if node.depth == 0 { "end" } else { "step" };
    // A picture of its own cuts off what of the words has no room.
    writeln!(
        page,
        "<svg class={class} x=\"{x:.3}%\" y={y} width=\"{width:.3}%\" height={BAR}>\
         <title>{words}: {time}, {part}</title><rect width=\"100%\" height=\"100%\"></rect>\
         <text x=5 y=15>{words}</text></svg>",
        y = node.depth * (BAR + GAP),
        time = units::duration(node.ns),
        part = percent(share(node.ns)),
    )
}
