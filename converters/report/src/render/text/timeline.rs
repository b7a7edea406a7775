//! Amounts over time, a character for some boxes.

use super::{
    Ink, Page,
    lines::{Short, clip, clip_name, columns, pad},
};
use crate::{cells::plain, clock, render::heat, view::Timeline};
use tyrion_model::units;

/// Names are not longer than this.
const NAME: usize = 32;
/// From little to much.
pub(super) const BARS: [char; heat::LEVELS] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Page {
    pub(super) fn timeline(&mut self, timeline: &Timeline) {
        let names: Vec<String> =
            timeline.rows.iter().map(|(name, _)| plain(name).into_owned()).collect();
        let names = Short::to_fit(&names, NAME);
        let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0).min(NAME);
        let boxes = timeline.rows.iter().map(|(_, boxes)| boxes.len()).max().unwrap_or(0);
        if boxes == 0 {
            self.line(Ink::Strong, &clip(&plain(&timeline.title), self.width));
            self.line(Ink::Faint, "none");
            return;
        }
        let total = |(_, values): &(String, Vec<u64>)| units::duration(values.iter().fold(0, add));
        let totals: Vec<String> = timeline.rows.iter().map(total).collect();
        let longest = totals.iter().map(|total| columns(total)).max().unwrap_or(0);
        let room = self.width - widest - longest - 4;
        let joined = boxes.div_ceil(room);
        let bars = boxes.div_ceil(joined);
        let bar_ns = timeline.box_ns.saturating_mul(joined as u64);
        let title = format!("{} (each bar {})", plain(&timeline.title), units::duration(bar_ns));
        self.line(Ink::Strong, &clip(&title, self.width));
        self.axis(timeline, widest, boxes, bars);
        let sums = |values: &[u64]| -> Vec<u64> {
            values.chunks(joined).map(|chunk| chunk.iter().fold(0, add)).collect()
        };
        let rows: Vec<Vec<u64>> = timeline.rows.iter().map(|(_, values)| sums(values)).collect();
        let most = rows.iter().flatten().copied().max().unwrap_or(0);
        for ((name, row), total) in names.iter().zip(&rows).zip(&totals) {
            let bar = |&ns: &u64| heat::level(ns, most).map_or(' ', |level| BARS[level]);
            let drawn: String = row.iter().map(bar).collect();
            let name = pad(&clip_name(name, widest), widest, false);
            let total = pad(total, longest, true);
            self.line(Ink::Plain, &format!("{name}  {}  {total}", pad(&drawn, bars, false)));
        }
    }

    /// When it begins and when it ends.
    fn axis(&mut self, timeline: &Timeline, indent: usize, boxes: usize, bars: usize) {
        let start = timeline.start_wall_ns;
        let length = timeline.box_ns.saturating_mul(boxes as u64);
        let (first, last) = (clock::time(start), clock::time(start.saturating_add(length)));
        let first = format!("{}{first}", " ".repeat(indent + 2));
        let blanks = (indent + 2 + bars).saturating_sub(columns(&first));
        let last = format!("{} UTC", pad(&last, blanks, true));
        let line =
            if blanks > columns(&clock::time(start)) { first + &last } else { first + " UTC" };
        self.line(Ink::Faint, &clip(&line, self.width));
    }
}

fn add(sum: u64, value: &u64) -> u64 {
    sum.saturating_add(*value)
}
