//! The rows of a profile as outputs show them: waits, by who waited or who ended
//! them, acquisitions, blame and samples, each with a stack and a thread, and most with a lock.

use super::{Metric, OutputOptions};
use std::ops::Range;
use tyrion_model::profile::{
    AcquisitionRow, BlameRow, NO_OWNER, Profile, SampleRow, State, WaitRow,
};
use tyrion_wire::WaitKind;

/// A number that rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowColumn {
    /// Number of waits.
    Count,
    /// Their durations, in ns.
    WaitNs,
    /// Number of acquisitions.
    Acquisitions,
    /// The standard error of that number, where acquisitions were counted in bursts.
    AcquisitionsError,
    /// Number of reentrant ones.
    Reentrant,
    /// The standard error of that number.
    ReentrantError,
    /// How long locks were held, in ns.
    HoldNs,
    /// How long others waited for them, in ns.
    BlamedNs,
    /// The elapsed time that samples stand for, in ns.
    WallNs,
    /// The CPU time that was used meanwhile, in ns.
    CpuNs,
    /// The real time of those of blocked threads, in ns.
    BlockedNs,
    /// How many samples there are.
    Samples,
}

impl RowColumn {
    /// Whether it comes from samples.
    pub(super) fn is_sampled(self) -> bool {
        matches!(
            self,
            RowColumn::WallNs | RowColumn::CpuNs | RowColumn::BlockedNs | RowColumn::Samples
        )
    }

    /// What pprof and OpenTelemetry call it, and its unit: Go's names for waits, and names
    /// like them.
    pub(super) fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            RowColumn::Count => ("contentions", "count"),
            RowColumn::WaitNs => ("delay", "nanoseconds"),
            RowColumn::Acquisitions => ("acquisitions", "count"),
            RowColumn::AcquisitionsError => ("acquisitions_error", "count"),
            RowColumn::Reentrant => ("reentrant", "count"),
            RowColumn::ReentrantError => ("reentrant_error", "count"),
            RowColumn::HoldNs => ("hold", "nanoseconds"),
            RowColumn::BlamedNs => ("blamed", "nanoseconds"),
            RowColumn::WallNs => ("wall", "nanoseconds"),
            RowColumn::CpuNs => ("cpu", "nanoseconds"),
            RowColumn::BlockedNs => ("blocked", "nanoseconds"),
            RowColumn::Samples => ("samples", "count"),
        }
    }
}

/// Who had the lock that a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOwner {
    /// That is not known, or the row is about no lock.
    Unknown,
    /// The row's own thread: it took the lock, or others waited for what it held.
    Itself,
    /// Another one, an index into [`Profile::owners`].
    Other(u32),
}

/// How many columns there are.
const COLUMNS: usize = RowColumn::Samples as usize + 1;

/// A row of a profile; numbers that it does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutputRow {
    pub(super) thread: u32,
    pub(super) stack: u32,
    /// [`NO_LOCK`](tyrion_model::profile::NO_LOCK) in samples that wait for none.
    pub(super) lock: u32,
    /// Samples need not have one.
    pub(super) kind: Option<WaitKind>,
    /// Samples alone have one.
    pub(super) state: Option<State>,
    pub(super) owner: RowOwner,
    values: [u64; COLUMNS],
}

impl OutputRow {
    fn new(thread: u32, stack: u32, lock: u32, kind: Option<WaitKind>) -> OutputRow {
        let (state, owner) = (None, RowOwner::Unknown);
        OutputRow { thread, stack, lock, kind, state, owner, values: [0; COLUMNS] }
    }

    /// The row with these numbers.
    #[inline]
    fn with<const N: usize>(mut self, values: [(RowColumn, u64); N]) -> OutputRow {
        for (column, value) in values {
            self.values[column as usize] = value;
        }
        self
    }

    fn of_wait(wait: &WaitRow) -> OutputRow {
        let row = OutputRow::new(wait.thread, wait.stack, wait.lock, Some(wait.kind))
            .with([(RowColumn::Count, wait.count), (RowColumn::WaitNs, wait.wait_ns)]);
        match wait.owner {
            NO_OWNER => row,
            owner => OutputRow { owner: RowOwner::Other(owner), ..row },
        }
    }

    fn of_acquisition(row: &AcquisitionRow) -> OutputRow {
        let taken = OutputRow::new(row.thread, row.stack, row.lock, Some(row.kind));
        OutputRow { owner: RowOwner::Itself, ..taken }.with([
            (RowColumn::Acquisitions, row.acquisitions),
            (RowColumn::AcquisitionsError, row.acquisitions_error),
            (RowColumn::Reentrant, row.reentrant),
            (RowColumn::ReentrantError, row.reentrant_error),
            (RowColumn::HoldNs, row.hold_ns),
        ])
    }

    /// With `is_wait` it stands for the waits of others, too.
    fn of_blame(blame: &BlameRow, is_wait: bool) -> OutputRow {
        let held = OutputRow::new(blame.thread, blame.stack, blame.lock, Some(blame.kind));
        let row = OutputRow { owner: RowOwner::Itself, ..held }
            .with([(RowColumn::BlamedNs, blame.blamed_ns)]);
        if is_wait {
            row.with([(RowColumn::Count, blame.count), (RowColumn::WaitNs, blame.blamed_ns)])
        } else {
            row
        }
    }

    /// The waits that a thread has ended.
    fn of_wake(wake: &BlameRow) -> OutputRow {
        OutputRow::new(wake.thread, wake.stack, wake.lock, Some(wake.kind))
            .with([(RowColumn::Count, wake.count), (RowColumn::WaitNs, wake.blamed_ns)])
    }

    fn of_sample(sample: &SampleRow) -> OutputRow {
        let blocked_ns = if sample.state == State::Blocked { sample.wall_ns } else { 0 };
        let row = OutputRow::new(sample.thread, sample.stack, sample.lock, sample.kind);
        OutputRow { state: Some(sample.state), ..row }.with([
            (RowColumn::WallNs, sample.wall_ns),
            (RowColumn::CpuNs, sample.cpu_ns),
            (RowColumn::BlockedNs, blocked_ns),
            (RowColumn::Samples, sample.count),
        ])
    }

    /// Takes one wait out of a row of waits: a row of it alone. `None` if it is no part of it.
    pub(super) fn take_wait(&mut self, wait_ns: u64) -> Option<OutputRow> {
        let rest = [(RowColumn::Count, 1), (RowColumn::WaitNs, wait_ns)]
            .map(|(column, value)| Some((column, self.value(column).checked_sub(value)?)));
        let [Some(count), Some(ns)] = rest else { return None };
        let part = OutputRow { values: [0; COLUMNS], ..*self }
            .with([(RowColumn::Count, 1), (RowColumn::WaitNs, wait_ns)]);
        *self = self.with([count, ns]);
        Some(part)
    }

    /// Whether a thread with this Java id had the lock; 0 stands for one that is not known.
    pub(super) fn is_owned_by(&self, profile: &Profile, java_id: u64) -> bool {
        match self.owner {
            RowOwner::Other(owner) => {
                profile.owners.get(owner as usize).is_some_and(|owner| owner.java_id == java_id)
            }
            _ => java_id == 0,
        }
    }

    /// The number in a column.
    #[inline]
    pub(super) fn value(&self, column: RowColumn) -> u64 {
        self.values[column as usize]
    }
}

/// The rows that an output shows, one after another: waits, or else who ended them,
/// acquisitions, blame and samples, each sort by thread in ascending order.
#[derive(Clone, Copy)]
pub(super) struct Rows<'p> {
    waits: &'p [WaitRow],
    wakes: &'p [BlameRow],
    acquisitions: &'p [AcquisitionRow],
    blames: &'p [BlameRow],
    samples: &'p [SampleRow],
    blame_is_wait: bool,
    lacks_waits: bool,
    has_acquisitions: bool,
    has_blame: bool,
    has_samples: bool,
    lacks_sample_times: bool,
}

impl<'p> Rows<'p> {
    /// All rows, for outputs with all columns.
    pub(super) fn all(profile: &'p Profile, options: &OutputOptions) -> Rows<'p> {
        let (by_holder, by_waker) = (options.is_by_holder(), options.is_by_waker());
        Rows {
            waits: if by_holder || by_waker { &[] } else { &profile.waits },
            wakes: if by_waker { &profile.wakes } else { &[] },
            acquisitions: &profile.acquisitions,
            blames: &profile.blames,
            samples: &profile.samples,
            blame_is_wait: by_holder,
            lacks_waits: profile.lacks_waits,
            has_acquisitions: profile.has_acquisitions,
            has_blame: profile.has_blame,
            has_samples: profile.has_samples,
            lacks_sample_times: profile.lacks_sample_times,
        }
    }

    /// The rows that have the metric of the options, and the column with it: for
    /// outputs that show one.
    pub(super) fn with_metric(
        profile: &'p Profile,
        options: &OutputOptions,
    ) -> (Rows<'p>, RowColumn) {
        let all = Rows::all(profile, options);
        let none =
            Rows { waits: &[], wakes: &[], acquisitions: &[], blames: &[], samples: &[], ..all };
        let blames = Rows { blames: all.blames, ..none };
        let waits = match options.is_by_holder() {
            true => blames,
            false => Rows { waits: all.waits, wakes: all.wakes, ..none },
        };
        let holds = Rows { acquisitions: all.acquisitions, ..none };
        let samples = Rows { samples: all.samples, ..none };
        match options.metric_of(profile) {
            Metric::Wait => (waits, RowColumn::WaitNs),
            Metric::Contentions => (waits, RowColumn::Count),
            Metric::Hold => (holds, RowColumn::HoldNs),
            Metric::Acquisitions => (holds, RowColumn::Acquisitions),
            Metric::Blame => (blames, RowColumn::BlamedNs),
            Metric::Wall => (samples, RowColumn::WallNs),
            Metric::Cpu => (samples, RowColumn::CpuNs),
            Metric::Blocked => (samples, RowColumn::BlockedNs),
            Metric::Samples => (samples, RowColumn::Samples),
        }
    }

    /// The columns that outputs with all of them show: waits first, unless there
    /// are samples and no waits were recorded; the others only if there is
    /// something behind them, errors if one is not 0.
    pub(super) fn columns(&self) -> Vec<RowColumn> {
        let mut columns = Vec::new();
        if !self.lacks_waits() {
            columns.extend([RowColumn::Count, RowColumn::WaitNs]);
        }
        if self.has_acquisitions {
            columns.extend([RowColumn::Acquisitions, RowColumn::Reentrant, RowColumn::HoldNs]);
            columns.extend(self.errors());
        }
        if self.has_blame {
            columns.push(RowColumn::BlamedNs);
        }
        if self.lacks_sample_times {
            columns.push(RowColumn::Samples);
        } else if self.has_samples {
            columns.extend([RowColumn::WallNs, RowColumn::CpuNs, RowColumn::BlockedNs]);
        }
        columns
    }

    /// The errors that are not 0 everywhere.
    fn errors(&self) -> impl Iterator<Item = RowColumn> + use<> {
        let is_any =
            |error: fn(&AcquisitionRow) -> u64| self.acquisitions.iter().any(|row| error(row) != 0);
        let errors = [
            (RowColumn::AcquisitionsError, is_any(|row| row.acquisitions_error)),
            (RowColumn::ReentrantError, is_any(|row| row.reentrant_error)),
        ];
        errors.into_iter().filter(|(_, is_any)| *is_any).map(|(column, _)| column)
    }

    /// Whether threads were sampled, and nothing else was recorded.
    pub(super) fn lacks_waits(&self) -> bool {
        self.lacks_waits && self.has_samples
    }

    /// The states that rows have, in the order of [`State::ALL`].
    pub(super) fn states(&self) -> impl Iterator<Item = State> + use<> {
        let mut present = [false; State::ALL.len()];
        self.samples.iter().for_each(|sample| present[sample.state as usize] = true);
        State::ALL.into_iter().filter(move |state| present[*state as usize])
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        let waits = self.waits.len() + self.wakes.len();
        waits + self.acquisitions.len() + self.blames.len() + self.samples.len()
    }

    /// A row by its number.
    #[inline]
    pub(super) fn row(&self, at: usize) -> OutputRow {
        if let Some(wait) = self.waits.get(at) {
            return OutputRow::of_wait(wait);
        }
        let at = at - self.waits.len();
        if let Some(wake) = self.wakes.get(at) {
            return OutputRow::of_wake(wake);
        }
        let at = at - self.wakes.len();
        if let Some(acquisition) = self.acquisitions.get(at) {
            return OutputRow::of_acquisition(acquisition);
        }
        let at = at - self.acquisitions.len();
        match self.blames.get(at) {
            Some(blame) => OutputRow::of_blame(blame, self.blame_is_wait),
            None => OutputRow::of_sample(&self.samples[at - self.blames.len()]),
        }
    }

    /// All rows in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = OutputRow> + use<'p> {
        let is_wait = self.blame_is_wait;
        let blames = self.blames.iter().map(move |blame| OutputRow::of_blame(blame, is_wait));
        let acquisitions = self.acquisitions.iter().map(OutputRow::of_acquisition);
        let samples = self.samples.iter().map(OutputRow::of_sample);
        let waits = self
            .waits
            .iter()
            .map(OutputRow::of_wait)
            .chain(self.wakes.iter().map(OutputRow::of_wake));
        waits.chain(acquisitions).chain(blames).chain(samples)
    }

    /// Where the rows of each of so many threads stand.
    pub(super) fn by_thread(&self, threads: usize) -> Vec<RowSpans> {
        let mut spans = vec![RowSpans::default(); threads];
        let mut start = 0;
        let mut chunk = |thread: u32, sort: usize, len: usize| {
            spans[thread as usize].0[sort] = start..start + len;
            start += len;
        };
        for rows in self.waits.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 0, rows.len());
        }
        for rows in self.wakes.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 1, rows.len());
        }
        for rows in self.acquisitions.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 2, rows.len());
        }
        for rows in self.blames.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 3, rows.len());
        }
        for rows in self.samples.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 4, rows.len());
        }
        spans
    }
}

/// Numbers of a thread's rows: waits, those that it ended, acquisitions, blame and
/// samples stand apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RowSpans([Range<usize>; 5]);

impl RowSpans {
    /// The numbers from 0 to below `len`.
    pub(super) fn all(len: usize) -> RowSpans {
        RowSpans([0..len, 0..0, 0..0, 0..0, 0..0])
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Range::is_empty)
    }

    /// The numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        self.0.clone().into_iter().flatten()
    }
}
