//! Trees: each frame opens to show those that it called. Without a script, too.

use super::escape::{escape, names};
use crate::view::{Node, Tree};
use std::fmt::{self, Write};
use tyrion_converters::outputs::units;

/// Frames with at least this share of their tree, in percent, are open.
const OPEN: u128 = 5;

pub(super) fn write(page: &mut String, tree: &Tree) -> fmt::Result {
    let roots = tree.nodes.iter().filter(|node| node.depth == 0);
    let all_ns = roots.fold(0u64, |sum, node| sum.saturating_add(node.cumulative_ns));
    writeln!(page, "<div class=tree><h3>{}</h3>", names(&tree.title))?;
    if tree.nodes.is_empty() {
        return writeln!(page, "<p class=\"none\">None.</p></div>");
    }
    writeln!(
        page,
        "<div class=\"line head\"><span>frame</span><span class=n>time in all</span>\
         <span class=n>in itself</span><span>states</span></div>"
    )?;
    let mut open = 0;
    for (at, node) in tree.nodes.iter().enumerate() {
        close(page, &mut open, node.depth)?;
        let calls = tree.nodes.get(at + 1).is_some_and(|next| next.depth > node.depth);
        let share = percent(node.cumulative_ns, all_ns);
        if calls {
            let state = if share >= OPEN { " open" } else { "" };
            write!(page, "<details class=frame{state}><summary class=line")?;
            line(page, node, share)?;
            writeln!(page, "</summary>")?;
            open += 1;
        } else {
            write!(page, "<div class=\"frame line\"")?;
            line(page, node, share)?;
            writeln!(page, "</div>")?;
        }
    }
    close(page, &mut open, 0)?;
    writeln!(page, "</div>")
}

/// Ends frames until only so many are open.
fn close(page: &mut String, open: &mut usize, depth: usize) -> fmt::Result {
    while *open > depth {
        writeln!(page, "</details>")?;
        *open -= 1;
    }
    Ok(())
}

/// The rest of a tag, and what stands in the element.
fn line(page: &mut String, node: &Node, share: u128) -> fmt::Result {
    let cumulative = units::duration(node.cumulative_ns);
    let method = units::duration(node.method_ns);
    write!(
        page,
        " style=\"--share:{share}%\"><span class=name>{}</span><span class=n>{cumulative}</span>\
         <span class=n>{method}</span><span class=states>{}</span>",
        names(&node.name),
        escape(&node.states),
    )
}

fn percent(part: u64, whole: u64) -> u128 {
    (u128::from(part) * 100).checked_div(u128::from(whole)).unwrap_or(0).min(100)
}
