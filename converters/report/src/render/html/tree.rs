//! Trees: each frame opens to show those that it called. Without a script, too.

use super::escape::{escape, names};
use crate::view::{Node, Tree};
use std::fmt::{self, Write};
use tyrion_model::units;

/// Frames with at least this share of their tree, in percent, are open.
const OPEN: u128 = 5;
/// A tree has at most so many frames; those with little time are left out.
const MOST_FRAMES: usize = 2_000;

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
    let nodes = longest(tree);
    let mut open = 0;
    for (at, node) in nodes.iter().enumerate() {
        close(page, &mut open, node.depth)?;
        let calls = nodes.get(at + 1).is_some_and(|next| next.depth > node.depth);
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
    if nodes.len() < tree.nodes.len() {
        let left_out = units::thousands((tree.nodes.len() - nodes.len()) as u64);
        writeln!(page, "<p class=\"none\">… and {left_out} more, with less time.</p>")?;
    }
    writeln!(page, "</div>")
}

/// The frames with most time, as many as there may be. A frame has no more than that
/// which it stands in, so none is without it.
fn longest(tree: &Tree) -> Vec<&Node> {
    let mut nodes: Vec<&Node> = tree.nodes.iter().collect();
    if nodes.len() > MOST_FRAMES {
        let mut times: Vec<u64> = nodes.iter().map(|node| node.cumulative_ns).collect();
        times.sort_unstable_by_key(|&ns| std::cmp::Reverse(ns));
        let least_ns = times[MOST_FRAMES];
        nodes.retain(|node| node.cumulative_ns > least_ns);
    }
    nodes
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_tree_keeps_what_has_most() {
        let node = |at: usize| Node {
            depth: at % 2,
            name: format!("a.B.m{at}"),
            cumulative_ns: 10_000 - (at / 2) as u64,
            ..Node::default()
        };
        let tree = Tree { title: "all".to_owned(), nodes: (0..5_000).map(node).collect() };
        let nodes = longest(&tree);
        assert_eq!((nodes.len(), nodes[0].name.as_str()), (MOST_FRAMES, "a.B.m0"));
        assert!(nodes.windows(2).all(|pair| pair[0].cumulative_ns >= pair[1].cumulative_ns));
        let mut page = String::new();
        assert!(write(&mut page, &tree).is_ok());
        assert!(page.contains("… and 3,000 more, with less time."), "{}", page.len());
        assert_eq!(page.matches("<details").count(), page.matches("</details").count());
        let short = Tree { nodes: tree.nodes[..9].to_vec(), ..tree };
        assert_eq!(longest(&short).len(), 9);
    }
}
