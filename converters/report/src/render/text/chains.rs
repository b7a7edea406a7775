//! Chains of waits: who waits for whom stands below it.

use super::{
    Ink, Page,
    lines::{Short, clip, columns, pad},
};
use crate::{
    cells::{percent, plain},
    view::{ChainNode, ChainTree},
};
use tyrion_model::units;

/// Blanks in front of a node for each that it waits for.
const INDENT: usize = 2;
/// Nodes that wait for more than so many are not indented further.
const MAX_DEPTH: usize = 12;
/// Blanks between columns.
const GAP: usize = 2;

impl Page {
    pub(super) fn chains(&mut self, tree: &ChainTree) {
        self.paragraph(Ink::Strong, "", &tree.title);
        let time = |node: &ChainNode| units::duration(node.ns);
        let share = |node: &ChainNode| percent(node.ns as f64 / tree.all_ns.max(1) as f64);
        let widest = |of: &dyn Fn(&ChainNode) -> String| {
            tree.nodes.iter().map(|node| columns(&of(node))).max().unwrap_or(0)
        };
        let (times, shares) = (widest(&time), widest(&share));
        let room = self.width.saturating_sub(times + shares + 2 * GAP);
        for node in &tree.nodes {
            let time = pad(&time(node), times, true);
            let share = self.paint(Ink::Faint, &pad(&share(node), shares, true));
            let line = [time, share, words(node, room)].join(&" ".repeat(GAP));
            self.line(Ink::Plain, &line);
        }
        if tree.left_out != 0 {
            let more = units::counted(tree.left_out as u64, "chain");
            self.line(Ink::Faint, &format!("… and {more} more"));
        }
    }
}

/// Who waits for what, indented, names shortened as little as it takes.
fn words(node: &ChainNode, width: usize) -> String {
    let blanks = " ".repeat(INDENT * node.depth.min(MAX_DEPTH));
    let waits = if node.depth == 0 { "" } else { "waits for " };
    let (who, what) = (plain(&node.who), plain(&node.what));
    let room = width.saturating_sub(columns(&blanks));
    let mut text = format!("{who} {waits}{what}");
    for how in Short::ALL {
        if columns(&text) <= room {
            break;
        }
        text = format!("{who} {waits}{}", how.of(&what));
    }
    blanks + &clip(&text, room)
}
