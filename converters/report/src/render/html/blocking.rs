//! Who blocks whom as a picture: holders on the left, those who waited for them on the
//! right, and between them bands as high as the time, coloured by the lock.

use super::{
    escape::escape,
    glance::{address, class_of},
};
use crate::{
    cells::percent,
    glance::{Block, Glance},
};
use std::fmt::{self, Write};
use tyrion_model::units;

/// The height of all bands together, in pixels.
const HEIGHT: f64 = 180.0;
/// What is between two groups of threads, so that their names have room.
const GAP: f64 = 10.0;
/// The least height of a band, which can be seen, and of a group, which has a name.
const LEAST: f64 = 2.0;
const LEAST_GROUP: f64 = 14.0;
/// How wide the groups' own bars are, in percent.
const BAR: f64 = 1.0;

/// A group of threads on one of the sides.
struct BlockEnd<'g> {
    name: &'g str,
    ns: u64,
    top: f64,
    height: f64,
    /// Where the next band begins.
    next: f64,
}

pub(super) fn write(page: &mut String, glance: &Glance) -> fmt::Result {
    let blocks = &glance.blocks;
    let Some(most) = blocks.first() else { return Ok(()) };
    let sum = blocks.iter().fold(0u64, |sum, of| sum.saturating_add(of.ns));
    let scale = HEIGHT / sum.max(1) as f64;
    let mut holders = groups(blocks, scale, |of| &of.holders);
    let mut waiters = groups(blocks, scale, |of| &of.waiters);
    let height = [&holders, &waiters].into_iter().map(|side| end(side)).fold(0.0, f64::max);
    let label = format!("From holders to waiters; most: {}", words(most, sum));
    writeln!(
        page,
        "<div class=picture><div class=sides aria-hidden=true><span>held the lock</span>\
         <span>waited</span></div>\
         <svg class=blocking role=group aria-label=\"{}\" height={height:.0}>\n\
         <svg viewBox=\"0 0 100 {height:.0}\" preserveAspectRatio=none width=\"100%\" height={height:.0}>",
        escape(&label)
    )?;
    for of in blocks {
        band(page, of, (&mut holders, &mut waiters), (scale, sum))?;
    }
    for (side, x) in [(&holders, 0.0), (&waiters, 100.0 - BAR)] {
        for BlockEnd { top, height, .. } in side {
            write!(
                page,
                "<rect class=threads x={x} y={top:.1} width={BAR} height={height:.1}></rect>"
            )?;
        }
    }
    writeln!(page, "</svg>")?;
    names(page, &holders, false)?;
    names(page, &waiters, true)?;
    writeln!(page, "</svg></div>")?;
    write!(
        page,
        "<p class=legend>A band is as high as the time that those on the right waited for those on \
         the left; its colour is the lock's, and a click shows what is of this lock."
    )?;
    if glance.other_blocks_ns != 0 {
        let others = units::duration(glance.other_blocks_ns);
        write!(page, " Other waits of {others} in all are left out.")?;
    }
    writeln!(page, "</p>")
}

/// The groups of a side, those with most time first.
fn groups<'b>(blocks: &'b [Block], scale: f64, name: fn(&Block) -> &String) -> Vec<BlockEnd<'b>> {
    let mut side: Vec<BlockEnd<'b>> = Vec::new();
    for of in blocks {
        let height = band_height(of, scale);
        let found = side.iter_mut().find(|group| group.name == name(of));
        match found {
            Some(group) => {
                group.ns = group.ns.saturating_add(of.ns);
                group.height += height;
            }
            None => side.push(BlockEnd { name: name(of), ns: of.ns, top: 0.0, height, next: 0.0 }),
        }
    }
    side.sort_by_key(|group| std::cmp::Reverse(group.ns));
    let mut top = 0.0;
    for group in &mut side {
        (group.top, group.next) = (top, top);
        top += group.height.max(LEAST_GROUP) + GAP;
    }
    side
}

fn end(side: &[BlockEnd<'_>]) -> f64 {
    side.last().map_or(0.0, |group| group.top + group.height.max(LEAST_GROUP))
}

fn band_height(of: &Block, scale: f64) -> f64 {
    (of.ns as f64 * scale).max(LEAST)
}

fn words(of: &Block, sum: u64) -> String {
    let share = percent(of.ns as f64 / sum.max(1) as f64);
    let Block { waiters, holders, label, ns, .. } = of;
    format!("{waiters} waited {} ({share}) for {label}, held by {holders}", units::duration(*ns))
}

fn band(
    page: &mut String,
    of: &Block,
    (holders, waiters): (&mut [BlockEnd<'_>], &mut [BlockEnd<'_>]),
    (scale, sum): (f64, u64),
) -> fmt::Result {
    let height = band_height(of, scale);
    let take = |side: &mut [BlockEnd<'_>], name: &str| {
        let group = side.iter_mut().find(|group| group.name == name);
        group.map_or(0.0, |group| {
            group.next += height;
            group.next - height
        })
    };
    let (from, to) = (take(holders, &of.holders), take(waiters, &of.waiters));
    let (from_end, to_end) = (from + height, to + height);
    let (right, class) = (100.0 - BAR, class_of(of.place));
    let (words, label) = (escape(&words(of, sum)), escape(&of.label));
    writeln!(
        page,
        "<a class=of-lock href=\"{address}\" data-lock=\"{label}\" aria-label=\"{words}\">\
         <path class={class} d=\"M{BAR} {from:.1}C50 {from:.1} 50 {to:.1} {right} {to:.1}\
         V{to_end:.1}C50 {to_end:.1} 50 {from_end:.1} {BAR} {from_end:.1}Z\">\
         <title>{words}</title></path></a>",
        address = address(&of.label),
    )
}

/// Names of a side; what has no room is cut off.
fn names(page: &mut String, side: &[BlockEnd<'_>], is_right: bool) -> fmt::Result {
    // Beside the bars of the groups, which are twice as wide in a half.
    let (x, at, anchor) = if is_right { (51, "97.9%", "end") } else { (0, "2.1%", "start") };
    let shift = if is_right { -0.4 } else { 0.4 };
    for BlockEnd { name, ns, top, height, .. } in side {
        let words = escape(&format!("{name}, {}", units::duration(*ns)));
        let middle = height / 2.0 + 4.5;
        let middle = middle.max(12.0);
        writeln!(
            page,
            "<svg class=name x=\"{x}%\" y=\"{top:.1}\" width=\"49%\" height=\"{:.1}\">\
             <title>{words}</title>\
             <text x=\"{at}\" dx=\"{shift}em\" y=\"{middle:.1}\" text-anchor={anchor}>{words}</text></svg>",
            height.max(LEAST_GROUP) + GAP,
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(holders: &str, waiters: &str, ns: u64) -> Block {
        let label = "a.B <x>".to_owned();
        Block { holders: holders.to_owned(), waiters: waiters.to_owned(), label, place: None, ns }
    }

    #[test]
    fn bands_are_as_high_as_the_time() {
        let blocks = vec![block("w", "r", 600), block("w", "s", 200), block("r", "r", 200)];
        let sides = groups(&blocks, HEIGHT / 1_000.0, |of| &of.holders);
        let heights: Vec<_> = sides.iter().map(|it| (it.name, it.ns, it.height)).collect();
        assert_eq!(heights, [("w", 800, 144.0), ("r", 200, 36.0)]);
        assert_eq!(sides[1].top, 144.0 + GAP);
        let glance = Glance { blocks, other_blocks_ns: 5, ..Glance::default() };
        let mut page = String::new();
        assert!(write(&mut page, &glance).is_ok());
        assert!(page.contains("r waited 200 ns (20.0 %) for a.B &lt;x&gt;, held by r"), "{page}");
        assert!(page.contains("Other waits of 5 ns in all are left out."), "{page}");
        // Below the first band of the holder, and at the top of those who waited.
        assert!(page.contains("M1 108.0C50 108.0 50 154.0 99 154.0V190.0"), "{page}");
    }

    #[test]
    fn nothing_is_drawn_of_nobody() {
        let mut page = String::new();
        assert!(write(&mut page, &Glance::default()).is_ok());
        assert_eq!(page, "");
    }
}
