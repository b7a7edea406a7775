//! Trees and listings: numbers to the left, below headings, and names behind
//! them.

use super::{
    Ink, Page,
    lines::{Short, clip, clip_name, columns, pad},
};
use crate::{
    cells::plain,
    view::{Node, Row, Table, Tree},
};

/// Blanks in front of a frame for each that it stands in.
const INDENT: usize = 2;
/// Frames that stand in more frames than that say in how many more, since names
/// need the room.
const MAX_DEPTH: usize = 12;
/// The most states shown, those with most time; HTML has them all.
const STATES: usize = 2;
/// Blanks between columns.
const GAP: usize = 2;
const TOTAL: &str = "total ms";
const OWN: &str = "own ms";
const HEADINGS: [&str; 2] = ["states", "frame"];

/// How wide columns are.
struct Widths {
    total: usize,
    own: usize,
    states: usize,
    frame: usize,
}

impl Page {
    pub(super) fn tree(&mut self, tree: &Tree) {
        self.paragraph(Ink::Strong, "", &tree.title);
        if tree.nodes.is_empty() {
            return;
        }
        let widths = self.widths(tree);
        let [states, frame] = HEADINGS;
        let (total, own) = (pad(TOTAL, widths.total, true), pad(OWN, widths.own, true));
        let states = pad(states, widths.states, false);
        self.line(Ink::Faint, &[total, own, states, frame.to_owned()].join(&" ".repeat(GAP)));
        for node in &tree.nodes {
            let total = pad(&millis(node.cumulative_ns).to_string(), widths.total, true);
            let own = pad(&millis(node.method_ns).to_string(), widths.own, true);
            let states = pad(&most(node), widths.states, false);
            let states = self.paint(Ink::Faint, &states);
            let frame = frame_to_fit(node, widths.frame);
            self.line(Ink::Plain, &[total, own, states, frame].join(&" ".repeat(GAP)));
        }
    }

    fn widths(&self, tree: &Tree) -> Widths {
        let widest = |heading: &str, of: &dyn Fn(&Node) -> String| {
            let widths = tree.nodes.iter().map(|node| columns(&of(node)));
            widths.max().unwrap_or(0).max(columns(heading))
        };
        let total = widest(TOTAL, &|node| millis(node.cumulative_ns).to_string());
        let own = widest(OWN, &|node| millis(node.method_ns).to_string());
        let states = widest(HEADINGS[0], &most).min(self.width / 4);
        let frame = self.width.saturating_sub(total + own + states + 3 * GAP);
        Widths { total, own, states, frame }
    }

    /// A table without what stands below its rows: there are many of them.
    pub(super) fn listing(&mut self, table: &Table) {
        let row = |row: &Row| Row { cells: row.cells.clone(), details: Vec::new() };
        self.table(&Table { rows: table.rows.iter().map(row).collect(), ..table.clone() });
    }
}

/// A frame, indented, its names shortened as little as it takes.
fn frame_to_fit(node: &Node, width: usize) -> String {
    let deepest = MAX_DEPTH.min(width / 2 / INDENT);
    let blanks = " ".repeat(INDENT * node.depth.min(deepest));
    let deeper = match node.depth.saturating_sub(deepest) {
        0 => String::new(),
        more => format!("+{more} "),
    };
    let indent = blanks + &deeper;
    let room = width.saturating_sub(columns(&indent));
    let name = plain(&node.name);
    let mut short = name.clone().into_owned();
    for how in Short::ALL {
        if columns(&short) <= room {
            break;
        }
        short = how.of(&name);
    }
    clip(&(indent + &clip_name(&short, room)), width)
}

/// The states with most time.
fn most(node: &Node) -> String {
    let states = plain(&node.states);
    // Each is a name and a share.
    let words: Vec<&str> = states.split(' ').take(2 * STATES).collect();
    clip(&words.join(" "), columns("sleep 50% other 50%"))
}

/// Whole ms, halves up.
fn millis(ns: u64) -> u64 {
    ns / 1_000_000 + u64::from(ns % 1_000_000 >= 500_000)
}
