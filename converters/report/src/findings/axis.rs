//! The time that logs span, cut into steps, and amounts of time over it.

use schemars::JsonSchema;
use serde::Serialize;
use tyrion_formats::Recording;
use tyrion_model::filter::Filter;

/// More phases than that would not be read by anybody.
const MAX_PHASES: u64 = 10_000;
/// Boxes of a timeline.
const BOXES: u64 = 120;

/// The time that logs span, as far as the filter asks for it. Times on it are
/// ns after its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Axis {
    /// Unix time of its start, in ns.
    pub start_wall_ns: u64,
    /// Its length, in ns.
    pub duration_ns: u64,
    /// The length of a phase, in ns: what was asked for, or a multiple of it
    /// where that would be more than 10 000 phases. The last one may be cut.
    pub phase_ns: u64,
    /// The length of a box of the timelines, in ns. The last one may be cut.
    pub box_ns: u64,
}

impl Axis {
    /// That of these logs.
    pub(crate) fn of(logs: &[Recording], filter: &Filter, phase_ns: u64) -> Axis {
        // What happened at no known time has no place on it.
        let is_timed = |log: &&Recording| !log.facts().lacks.times;
        let any_is = logs.iter().any(|log| is_timed(&log));
        let walls = logs.iter().filter(|log| !any_is || is_timed(log)).map(|log| {
            let window = filter.window(log);
            let start_ns = window.since_ns.clamp(log.start_ns(), log.end_ns());
            let end_ns = window.until_ns.clamp(start_ns, log.end_ns());
            (wall(log, start_ns), wall(log, end_ns))
        });
        let both = walls.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (start_wall_ns, end_wall_ns) = both.unwrap_or_default();
        let duration_ns = end_wall_ns - start_wall_ns;
        let phase_ns = phase_ns.max(1);
        let times = duration_ns.div_ceil(phase_ns).div_ceil(MAX_PHASES).max(1);
        Axis {
            start_wall_ns,
            duration_ns,
            phase_ns: phase_ns.saturating_mul(times),
            box_ns: duration_ns.div_ceil(BOXES).max(1),
        }
    }

    /// The phases.
    pub(crate) fn phases(&self) -> Grid {
        Grid { step_ns: self.phase_ns, end_ns: self.duration_ns }
    }

    /// The boxes of the timelines.
    pub(crate) fn boxes(&self) -> Grid {
        Grid { step_ns: self.box_ns, end_ns: self.duration_ns }
    }
}

fn wall(log: &Recording, mono_ns: u64) -> u64 {
    let facts = log.facts();
    let wall = i128::from(facts.start_wall_ns) + i128::from(mono_ns) - i128::from(facts.start_ns);
    u64::try_from(wall.max(0)).unwrap_or(u64::MAX)
}

/// From the monotonic times of a log to those of an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// What is added.
    shift: i128,
    end_ns: u64,
}

impl Clock {
    pub(crate) fn new(log: &Recording, axis: &Axis) -> Clock {
        let facts = log.facts();
        let shift = i128::from(facts.start_wall_ns)
            - i128::from(facts.start_ns)
            - i128::from(axis.start_wall_ns);
        Clock { shift, end_ns: axis.duration_ns }
    }

    /// A monotonic time of the log as one of the axis, or the end of the axis
    /// that is nearer.
    pub(crate) fn at(&self, mono_ns: u64) -> u64 {
        self.exact(mono_ns).clamp(0, i128::from(self.end_ns)) as u64
    }

    /// The same, wherever it is.
    pub(crate) fn exact(&self, mono_ns: u64) -> i128 {
        i128::from(mono_ns) + self.shift
    }

    /// The first monotonic time of the log that is this one of the axis or
    /// later.
    pub(crate) fn mono(&self, at_ns: u64) -> u64 {
        (i128::from(at_ns) - self.shift).clamp(0, i128::from(u64::MAX)) as u64
    }
}

/// Time cut into steps of the same length; the last one may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) step_ns: u64,
    pub(crate) end_ns: u64,
}

impl Grid {
    /// How many steps: one at least.
    pub(crate) fn len(&self) -> usize {
        (self.end_ns.div_ceil(self.step_ns) as usize).max(1)
    }

    /// The step that a time is in; the last one for the end.
    pub(crate) fn step(&self, at_ns: u64) -> usize {
        ((at_ns / self.step_ns) as usize).min(self.len() - 1)
    }

    /// Where a step begins and ends.
    pub(crate) fn bounds(&self, step: usize) -> (u64, u64) {
        let start_ns = step as u64 * self.step_ns;
        (start_ns, start_ns.saturating_add(self.step_ns).min(self.end_ns))
    }
}

/// How much time went into something in each step of a grid.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    /// In ns, what covers a step in part.
    parts: Vec<u64>,
    /// How many spans more than in the step before cover all of the step.
    covers: Vec<i64>,
}

impl Series {
    pub(crate) fn new(grid: &Grid) -> Series {
        Series { parts: vec![0; grid.len()], covers: vec![0; grid.len() + 1] }
    }

    /// Adds an amount to a step.
    #[inline]
    pub(crate) fn add_to(&mut self, step: usize, ns: u64) {
        if let Some(part) = self.parts.get_mut(step) {
            *part = part.saturating_add(ns);
        }
    }

    /// Adds a span of time, at once however many steps it covers.
    pub(crate) fn add_span(&mut self, grid: &Grid, from_ns: u64, to_ns: u64) {
        let (from_ns, to_ns) = (from_ns.min(grid.end_ns), to_ns.min(grid.end_ns));
        if from_ns >= to_ns {
            return;
        }
        let (first, last) = (grid.step(from_ns), grid.step(to_ns - 1));
        if first == last {
            return self.add_to(first, to_ns - from_ns);
        }
        self.add_to(first, grid.bounds(first).1 - from_ns);
        self.add_to(last, to_ns - grid.bounds(last).0);
        self.covers[first + 1] += 1;
        self.covers[last] -= 1;
    }

    /// Adds an amount that is spread evenly over a span of time; outside of the
    /// grid it is lost.
    pub(crate) fn add_spread(&mut self, grid: &Grid, (from_ns, to_ns): (i128, i128), ns: u64) {
        let length = (to_ns - from_ns).max(1);
        let inside = |at_ns: i128| at_ns.clamp(0, i128::from(grid.end_ns)) as u64;
        let up_to = |at_ns: u64| {
            let part = (i128::from(at_ns) - from_ns).clamp(0, length);
            (u128::from(ns) * part as u128 / length as u128) as u64
        };
        let (from_ns, to_ns) = (inside(from_ns), inside(to_ns.max(from_ns + 1)));
        if from_ns >= to_ns {
            return;
        }
        for step in grid.step(from_ns)..=grid.step(to_ns - 1) {
            let (start_ns, end_ns) = grid.bounds(step);
            self.add_to(step, up_to(end_ns.min(to_ns)) - up_to(start_ns.max(from_ns)));
        }
    }

    pub(crate) fn add(&mut self, other: &Series) {
        for (sum, part) in self.parts.iter_mut().zip(&other.parts) {
            *sum = sum.saturating_add(*part);
        }
        for (sum, covers) in self.covers.iter_mut().zip(&other.covers) {
            *sum += covers;
        }
    }

    /// The sums by step, in ns.
    pub(crate) fn sums(&self, grid: &Grid) -> Vec<u64> {
        let mut covers = 0i64;
        let steps = self.parts.iter().zip(&self.covers).enumerate();
        steps
            .map(|(step, (part, more))| {
                covers += more;
                let (start_ns, end_ns) = grid.bounds(step);
                let whole = (covers.max(0) as u64).saturating_mul(end_ns.saturating_sub(start_ns));
                part.saturating_add(whole)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    const GRID: Grid = Grid { step_ns: 10, end_ns: 35 };

    #[test]
    fn spans_are_cut_at_the_steps() {
        let mut series = Series::new(&GRID);
        series.add_span(&GRID, 5, 33);
        series.add_span(&GRID, 12, 14);
        series.add_span(&GRID, 20, 30);
        series.add_span(&GRID, 30, 99);
        series.add_span(&GRID, 40, 50);
        series.add_span(&GRID, 9, 9);
        assert_eq!(series.sums(&GRID), [5, 12, 20, 8]);
    }

    #[test]
    fn amounts_are_spread_evenly_and_whole() {
        let mut series = Series::new(&GRID);
        series.add_spread(&GRID, (5, 25), 7);
        assert_eq!(series.sums(&GRID), [1, 4, 2, 0]);
        series.add_spread(&GRID, (30, 30), 9);
        assert_eq!(series.sums(&GRID), [1, 4, 2, 9]);
        series.add_spread(&GRID, (-10, 10), 100);
        assert_eq!(series.sums(&GRID), [51, 4, 2, 9], "what is before the start is lost");
        series.add_spread(&GRID, (50, 60), 100);
        assert_eq!(series.sums(&GRID), [51, 4, 2, 9]);
    }

    #[test]
    fn a_grid_of_no_time_has_a_step() {
        let grid = Grid { step_ns: 10, end_ns: 0 };
        let mut series = Series::new(&grid);
        series.add_span(&grid, 0, 5);
        assert_eq!((grid.len(), series.sums(&grid)), (1, vec![0]));
    }

    proptest! {
        #[test]
        fn no_time_is_lost(
            step_ns in 1u64..50,
            end_ns in 1u64..500,
            spans in vec((0u64..600, 0u64..600), 0..20),
        ) {
            let grid = Grid { step_ns, end_ns };
            let (mut series, mut expected) = (Series::new(&grid), 0);
            for (a, b) in spans {
                let (from, to) = (a.min(b), a.max(b));
                series.add_span(&grid, from, to);
                expected += to.min(end_ns) - from.min(end_ns);
                series.add_spread(&grid, (from.min(end_ns - 1).into(), end_ns.into()), a);
                expected += a;
            }
            prop_assert_eq!(series.sums(&grid).iter().sum::<u64>(), expected);
        }
    }
}
