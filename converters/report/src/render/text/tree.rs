//! Trees and listings. Their names are never shortened: they are there to be
//! searched, and lines are as long as that takes.

use super::{
    Ink, Page,
    lines::{columns, pad},
};
use crate::{
    render::cells::{plain, shown},
    view::{Cell, Table, Tree},
};

/// Blanks in front of a frame for each that it stands in.
const INDENT: usize = 2;
/// Times of a tree stand below each other, as far as names are not longer.
const ALIGNED: usize = 110;

impl Page {
    pub(super) fn tree(&mut self, tree: &Tree) {
        self.line(Ink::Strong, &plain(&tree.title));
        let names: Vec<String> = tree
            .nodes
            .iter()
            .map(|node| format!("{}{}", " ".repeat(INDENT * node.depth), plain(&node.name)))
            .collect();
        let widths = names.iter().map(|name| columns(name)).filter(|width| *width <= ALIGNED);
        let width = widths.max().unwrap_or(0);
        for (name, node) in names.iter().zip(&tree.nodes) {
            let (cumulative, method) = (millis(node.cumulative_ns), millis(node.method_ns));
            let times = format!("Cumulative time(ms): {cumulative}, Method time(ms): {method}");
            let states = self.paint(Ink::Faint, &plain(&node.states));
            self.line(Ink::Plain, &format!("{}  {times}  {states}", pad(name, width, false)));
        }
    }

    pub(super) fn listing(&mut self, table: &Table) {
        let names = table.rows.iter().filter_map(|row| row.cells.get(1));
        let widths = names.map(|name| columns(&shown(name))).filter(|width| *width <= ALIGNED);
        let width = widths.max().unwrap_or(0);
        for row in &table.rows {
            let Some((count, rest)) = row.cells.split_first() else { continue };
            let count = match count {
                Cell::Count(count) => count.to_string(),
                other => shown(other).into_owned(),
            };
            let Some((name, rest)) = rest.split_first() else { continue };
            let rest: Vec<String> = rest.iter().map(|cell| format!("{:>8}", shown(cell))).collect();
            let name = pad(&shown(name), width, false);
            self.line(Ink::Plain, &format!("{count:>5} {name}  {}", rest.join("  ")));
        }
        if table.left_out > 0 {
            let left_out = shown(&Cell::Count(table.left_out as u64)).into_owned();
            self.line(Ink::Faint, &format!("… and {left_out} more; --top 0 shows all"));
        }
    }
}

/// Whole ms, halves up.
fn millis(ns: u64) -> u64 {
    ns / 1_000_000 + u64::from(ns % 1_000_000 >= 500_000)
}
