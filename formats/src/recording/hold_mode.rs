//! What the numbers of trace mode mean.

use super::Recording;
use tyrion_wire::trace::AcquisitionCell;

/// Agents that measure a cell's first holds by the thousand measured at least so many;
/// earlier ones measured the first eight.
const MANY_FIRST: u64 = 64;
/// Behind so many, fewer sampled holds say less of the others than all that were measured.
const FEW_SAMPLED: u64 = 64;

/// How the agent measured holds: the option `hold`. What a cell says of itself goes
/// before what the log says, since the option can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldMode {
    /// Not at all.
    None,
    /// The first few of each thread and place, then one in so many (0 when the
    /// log does not say).
    Sampled(u64),
    /// All of them.
    All,
}

impl HoldMode {
    /// Reads `none`, `all` or `1/64`.
    pub fn from_text(text: &str) -> Option<HoldMode> {
        match text {
            "none" => Some(HoldMode::None),
            "all" => Some(HoldMode::All),
            _ => Some(HoldMode::Sampled(text.strip_prefix("1/")?.parse().ok()?)),
        }
    }

    /// By how many holds one is measured of: 1 all, 0 none.
    pub(crate) fn one_in(holds: u64) -> HoldMode {
        match holds {
            0 => HoldMode::None,
            1 => HoldMode::All,
            more => HoldMode::Sampled(more),
        }
    }

    /// How the holds of a cell were measured, in a log of which this is known.
    fn of(self, cell: &AcquisitionCell) -> HoldMode {
        cell.one_in.map_or(self, |holds| HoldMode::one_in(holds.into()))
    }

    /// The time that the acquisitions of a cell held the lock, all together,
    /// in ns: added up where all were measured, estimated otherwise.
    ///
    /// The first ones are exact. The others count as much as the sampled ones
    /// on the average, or, if there are too few, as all that were measured:
    /// `first_ns + (acquisitions − first) × sampled_ns ÷ sampled`, or
    /// `acquisitions × (first_ns + sampled_ns) ÷ (first + sampled)`, or 0. Rounded
    /// down. Estimate each cell and add, not the other way round: threads and places
    /// differ.
    pub fn estimate_ns(self, cell: &AcquisitionCell) -> u64 {
        let wide = u128::from;
        let (first_ns, sampled_ns) = (wide(cell.first_ns), wide(cell.sampled_ns));
        let measured = wide(cell.first_count) + wide(cell.sampled_count);
        let estimate = if self.of(cell) == HoldMode::All {
            first_ns + sampled_ns
        } else if !has_few_samples(cell) {
            // A cell that is written to, or was when the process was killed,
            // may tell of a hold that its acquisitions do not.
            let others = cell.acquisitions.saturating_sub(cell.first_count);
            let share = wide(others) * sampled_ns / wide(cell.sampled_count);
            first_ns.saturating_add(share)
        } else if measured != 0 {
            let all = wide(cell.acquisitions).max(measured);
            all.saturating_mul(first_ns + sampled_ns) / measured
        } else {
            0
        };
        u64::try_from(estimate).unwrap_or(u64::MAX)
    }

    /// How many measured holds the average is taken of that the holds of a cell count as
    /// which were not measured.
    pub fn basis(self, cell: &AcquisitionCell) -> u64 {
        match has_few_samples(cell) {
            true => cell.first_count.saturating_add(cell.sampled_count),
            false => cell.sampled_count,
        }
    }
}

/// Whether all holds that were measured say more of the others than those that were
/// sampled behind the first ones.
fn has_few_samples(cell: &AcquisitionCell) -> bool {
    let least = if cell.first_count >= MANY_FIRST { FEW_SAMPLED } else { 1 };
    cell.sampled_count < least
}

impl Recording {
    /// What the two probes of an acquisition take in this program, in ns, where the agent
    /// has measured that. What it was when the recording ended.
    pub fn pair_ns(&self) -> Option<u64> {
        self.statistics().get("probes.pair_ns").copied()
    }

    /// The time that the acquisitions of a cell held the lock, as
    /// [`HoldMode::estimate_ns`] has it, but no longer than is possible: no thread
    /// holds a lock for longer than it lives, as far as the recording tells of it. What
    /// was measured stands, and so do the estimates of virtual threads, which are told
    /// as one.
    pub fn hold_ns(&self, mode: HoldMode, cell: &AcquisitionCell) -> u64 {
        let mode = mode.of(cell);
        let estimate_ns = mode.estimate_ns(cell);
        let measured = cell.first_count.saturating_add(cell.sampled_count);
        if mode == HoldMode::All || measured >= cell.acquisitions {
            return estimate_ns;
        }
        let measured_ns = cell.first_ns.saturating_add(cell.sampled_ns);
        match self.life_ns(cell.thread) {
            Some(life_ns) => estimate_ns.min(life_ns.max(measured_ns)),
            None => estimate_ns,
        }
    }

    /// How long a thread lived within this recording, in ns: all of it where that does
    /// not tell. `None` for virtual threads.
    fn life_ns(&self, thread: u32) -> Option<u64> {
        let is_virtual = |id| {
            let thread = self.definitions().threads().get(id);
            thread.is_some_and(|thread| thread.is_virtual || thread.java_id == 0)
        };
        if is_virtual(thread) {
            return None;
        }
        let (start_ns, end_ns) = (self.start_ns(), self.end_ns());
        let span = self.definitions().thread_span(thread);
        let from_ns = span.map_or(start_ns, |span| span.started_ns.clamp(start_ns, end_ns));
        let ended_ns = span.and_then(|span| span.ended_ns);
        let to_ns = ended_ns.map_or(end_ns, |ended| ended.get().clamp(from_ns, end_ns));
        Some(to_ns.saturating_sub(from_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(acquisitions: u64, first: (u64, u64), sampled: (u64, u64)) -> AcquisitionCell {
        AcquisitionCell {
            acquisitions,
            first_count: first.0,
            first_ns: first.1,
            sampled_count: sampled.0,
            sampled_ns: sampled.1,
            ..AcquisitionCell::default()
        }
    }

    #[test]
    fn holds_are_scaled_after_the_first_few() {
        let sampled = HoldMode::Sampled(64);
        for (cell, expected) in [
            (cell(0, (0, 0), (0, 0)), 0),
            (cell(5, (0, 0), (0, 0)), 0),
            (cell(5, (5, 700), (0, 0)), 700),
            (cell(8, (5, 700), (0, 0)), 1_120),
            (cell(1_000, (8, 800), (15, 1_500)), 100_000),
            (cell(10, (8, 800), (1, 7)), 814),
            // Fewer acquisitions than measured holds: a torn cell.
            (cell(0, (8, 800), (1, 7)), 800),
            (cell(u64::MAX, (1, u64::MAX), (1, u64::MAX)), u64::MAX),
            (cell(u64::MAX, (64, u64::MAX), (1, u64::MAX)), u64::MAX),
            // Of the many that are measured first, and a few more.
            (cell(300, (100, 10_000), (5, 5_750)), 45_000),
            (cell(100, (99, 9_900), (0, 0)), 10_000),
            (cell(7_000, (100, 10_000), (64, 6_400)), 700_000),
        ] {
            assert_eq!(sampled.estimate_ns(&cell), expected, "{cell:?}");
        }
        assert_eq!(HoldMode::All.estimate_ns(&cell(9, (8, 800), (1, 7))), 807);
        let basis = |first, count| sampled.basis(&cell(1_000, (first, 1), (count, 1)));
        assert_eq!((basis(8, 1), basis(8, 0), basis(64, 63), basis(64, 64)), (1, 8, 127, 64));
    }

    #[test]
    fn a_cell_knows_best_how_its_holds_were_measured() {
        let of = |one_in| AcquisitionCell { one_in, ..cell(100, (2, 20), (10, 50)) };
        for mode in [HoldMode::None, HoldMode::Sampled(0), HoldMode::Sampled(64), HoldMode::All] {
            assert_eq!(mode.estimate_ns(&of(Some(1))), 70, "{mode:?}");
            assert_eq!(mode.estimate_ns(&of(Some(8))), 20 + 98 * 5, "{mode:?}");
            let unsaid = if mode == HoldMode::All { 70 } else { 510 };
            assert_eq!(mode.estimate_ns(&of(None)), unsaid, "{mode:?}");
        }
    }

    #[test]
    fn texts_are_read() {
        assert_eq!(HoldMode::from_text("1/64"), Some(HoldMode::Sampled(64)));
        assert_eq!(HoldMode::from_text("all"), Some(HoldMode::All));
        assert_eq!(HoldMode::from_text("none"), Some(HoldMode::None));
        for text in ["", "1/", "1/x", "64", "2/3"] {
            assert_eq!(HoldMode::from_text(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_numbers_are_estimated(acquisitions: u64, first: (u64, u64), sampled: (u64, u64)) {
            let cell = cell(acquisitions, first, sampled);
            for mode in [HoldMode::None, HoldMode::Sampled(0), HoldMode::All] {
                prop_assert!(mode.estimate_ns(&cell) >= first.1.min(1) * u64::from(mode == HoldMode::All));
            }
        }
    }
}
