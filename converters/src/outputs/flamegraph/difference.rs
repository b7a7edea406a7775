//! Differential flame graphs: the widths of one profile, and in colours how it
//! differs from another one.

use super::{MAX_LINES, contention_only, svg::SvgWriter, titles::TitleClasses, unit};
use crate::outputs::{Metric, OutputOptions, lines::Lines};
use inferno::flamegraph::{self, color::BackgroundColor};
use std::{
    cmp::Ordering,
    io::{self, BufWriter, Write},
};
use tyrion_model::profile::Profile;

/// Whose waits the widths are. What is new has none before, and what has
/// vanished has none after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Widths {
    /// Those before.
    Before,
    /// Those after.
    #[default]
    After,
}

/// Two profiles, and how to draw what they differ in.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'p> {
    /// What it was before, scaled to compare with what it is after.
    pub before: &'p Profile,
    /// What it is after.
    pub after: &'p Profile,
    /// What of waits is drawn: how long they took, or how many there were.
    pub metric: Metric,
    /// Whose waits the widths are.
    pub widths: Widths,
    /// The line below the title.
    pub subtitle: &'p str,
}

impl Difference<'_> {
    /// Writes the picture.
    ///
    /// # Errors
    /// As writing to `out`, or a profile breaks a rule of [`Profile::check`].
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let options = OutputOptions { metric: Some(self.metric), ..OutputOptions::default() };
        let (before, after) =
            (Lines::brief(self.before, &options)?, Lines::brief(self.after, &options)?);
        let drawn = match self.widths {
            Widths::Before => &before,
            Widths::After => &after,
        };
        if drawn.total() == 0 {
            self.write_empty(&mut out)?;
        } else {
            self.write_graph(&before, &after, drawn, &mut out)?;
        }
        out.flush()
    }

    fn write_graph(
        &self,
        before: &Lines<'_>,
        after: &Lines<'_>,
        drawn: &Lines<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut style = flamegraph::Options::default();
        style.title = self.title(contention_only(before) && contention_only(after));
        style.subtitle = Some(self.subtitle.to_owned());
        style.name_type = "Frame:".to_owned();
        style.count_name = unit(drawn).to_owned();
        style.deterministic = true;
        style.bgcolors = Some(BackgroundColor::Grey);
        // Inferno takes the second number for the width, and what it is more
        // than the first one for the change.
        style.negate_differentials = self.widths == Widths::Before;
        // As for other flame graphs: lines are in order of frames.
        style.flame_chart = true;

        // What is too narrow to be drawn on either side belongs to its caller on
        // both, or else it would seem to come and go.
        let totals = [before.total(), after.total()].into_iter().filter(|&total| total != 0);
        let smallest = style.min_width / 100.0 * totals.min().unwrap_or(0) as f64;
        let (_, smallest) = before.text(smallest, MAX_LINES)?;
        let classes = TitleClasses::of(&[before, after]);
        let (after, smallest) = after.text(smallest, MAX_LINES)?;
        // What is too narrow on one side for the picture to have room for it, too.
        let (before, _) = before.text(smallest, MAX_LINES)?;
        let (before, after) = (split(&before), split(&after));
        let lines = match self.widths {
            Widths::Before => merged(&after, &before),
            Widths::After => merged(&before, &after),
        };
        // The colours say how much has changed, which the title explains.
        let mut svg = SvgWriter::new(out, classes, Vec::new());
        let last_first = lines.iter().rev().map(String::as_str);
        flamegraph::from_lines(&mut style, last_first, &mut svg)?;
        svg.finish()
    }

    fn title(&self, is_contention: bool) -> String {
        let what = match (self.metric, is_contention) {
            (Metric::Contentions, true) => "Contended lock acquisitions",
            (Metric::Contentions, false) => "Waits",
            (_, true) => "Lock wait time",
            (_, false) => "Wait time",
        };
        let whose = match self.widths {
            Widths::Before => "widths: before",
            Widths::After => "widths: after",
        };
        format!("{what}: red is more than before, blue is less ({whose})")
    }

    /// A picture that says that there is nothing to draw, which is no error.
    fn write_empty(&self, out: &mut dyn Write) -> io::Result<()> {
        let nothing = match self.widths {
            Widths::Before => "no waits before, and widths are those before",
            Widths::After => "no waits after, and widths are those after",
        };
        super::write_nothing([&self.title(true), self.subtitle, nothing], out)
    }
}

/// The lines, each with its number.
fn split(text: &str) -> Vec<(&str, u64)> {
    let split = text.lines().filter_map(|line| line.rsplit_once(' '));
    split.map(|(path, value)| (path, value.parse().unwrap_or(0))).collect()
}

/// The lines of both, `path FIRST SECOND`, in order of frames as both are.
fn merged(first: &[(&str, u64)], second: &[(&str, u64)]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut at, mut to) = (first.iter().peekable(), second.iter().peekable());
    loop {
        let order = match (at.peek(), to.peek()) {
            (None, None) => return lines,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.0.split(';').cmp(b.0.split(';')),
        };
        let a = at.next_if(|_| order != Ordering::Greater);
        let b = to.next_if(|_| order != Ordering::Less);
        let path = a.or(b).map_or("", |(path, _)| path);
        let value = |line: Option<&(&str, u64)>| line.map_or(0, |(_, value)| *value);
        lines.push(format!("{path} {} {}", value(a), value(b)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_merged_in_order_of_frames() {
        let before = [("a", 1), ("a;b", 2), ("a;get", 3), ("a;get;x", 4), ("a;get0", 5)];
        let after = [("a;b;c", 6), ("a;get", 7), ("a;get0", 8), ("z", 9)];
        assert_eq!(
            merged(&before, &after),
            ["a 1 0", "a;b 2 0", "a;b;c 0 6", "a;get 3 7", "a;get;x 4 0", "a;get0 5 8", "z 0 9"]
        );
        assert_eq!(merged(&[], &[]), Vec::<String>::new());
    }
}
