//! The rows of a profile as outputs show them: waits, acquisitions and blame,
//! each with a stack, a lock and a thread.

use super::{By, Options, Value};
use crate::profile::{Acquisition, Blame, Profile, Wait};
use std::ops::Range;
use tyrion_wire::WaitKind;

/// A number that rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Number of waits.
    Count,
    /// Their durations, in ns.
    WaitNs,
    /// Number of acquisitions.
    Acquisitions,
    /// Number of reentrant ones.
    Reentrant,
    /// How long locks were held, in ns.
    HoldNs,
    /// How long others waited for them, in ns.
    BlamedNs,
}

/// A row of a profile; numbers that it does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) thread: u32,
    pub(super) stack: u32,
    pub(super) lock: u32,
    pub(super) kind: WaitKind,
    pub(super) count: u64,
    pub(super) wait_ns: u64,
    pub(super) acquisitions: u64,
    pub(super) reentrant: u64,
    pub(super) hold_ns: u64,
    pub(super) blamed_ns: u64,
}

impl Row {
    fn new(thread: u32, stack: u32, lock: u32, kind: WaitKind) -> Row {
        let (count, wait_ns, acquisitions, reentrant, hold_ns, blamed_ns) = Default::default();
        Row {
            thread,
            stack,
            lock,
            kind,
            count,
            wait_ns,
            acquisitions,
            reentrant,
            hold_ns,
            blamed_ns,
        }
    }

    fn of_wait(wait: &Wait) -> Row {
        Row {
            count: wait.count,
            wait_ns: wait.wait_ns,
            ..Row::new(wait.thread, wait.stack, wait.lock, wait.kind)
        }
    }

    fn of_acquisition(row: &Acquisition) -> Row {
        Row {
            acquisitions: row.acquisitions,
            reentrant: row.reentrant,
            hold_ns: row.hold_ns,
            ..Row::new(row.thread, row.stack, row.lock, row.kind)
        }
    }

    /// With `is_wait` it stands for the waits of others, too.
    fn of_blame(blame: &Blame, is_wait: bool) -> Row {
        let (count, wait_ns) = if is_wait { (blame.count, blame.blamed_ns) } else { (0, 0) };
        Row {
            count,
            wait_ns,
            blamed_ns: blame.blamed_ns,
            ..Row::new(blame.thread, blame.stack, blame.lock, blame.kind)
        }
    }

    /// The number in a column.
    #[inline]
    pub(super) fn value(&self, column: Column) -> u64 {
        match column {
            Column::Count => self.count,
            Column::WaitNs => self.wait_ns,
            Column::Acquisitions => self.acquisitions,
            Column::Reentrant => self.reentrant,
            Column::HoldNs => self.hold_ns,
            Column::BlamedNs => self.blamed_ns,
        }
    }
}

/// The rows that an output shows, one after another: waits, acquisitions and
/// blame, each kind by thread in ascending order.
#[derive(Clone, Copy)]
pub(super) struct Rows<'p> {
    waits: &'p [Wait],
    acquisitions: &'p [Acquisition],
    blames: &'p [Blame],
    blame_is_wait: bool,
    has_acquisitions: bool,
    has_blame: bool,
}

impl<'p> Rows<'p> {
    /// All rows, for outputs with all columns.
    pub(super) fn all(profile: &'p Profile, options: &Options) -> Rows<'p> {
        let by_holder = options.by == By::Holder;
        Rows {
            waits: if by_holder { &[] } else { &profile.waits },
            acquisitions: &profile.acquisitions,
            blames: &profile.blames,
            blame_is_wait: by_holder,
            has_acquisitions: profile.has_acquisitions,
            has_blame: profile.has_blame,
        }
    }

    /// The rows that have the value of the options, and the column with it: for
    /// outputs that show one.
    pub(super) fn with_value(profile: &'p Profile, options: &Options) -> (Rows<'p>, Column) {
        let mut rows = Rows::all(profile, options);
        let column = match options.value {
            Value::Wait if options.count => Column::Count,
            Value::Wait => Column::WaitNs,
            Value::Hold => Column::HoldNs,
            Value::Acquisitions => Column::Acquisitions,
            Value::Blame => Column::BlamedNs,
        };
        match (options.value, options.by) {
            (Value::Wait, By::Waiter) => (rows.acquisitions, rows.blames) = (&[], &[]),
            (Value::Blame, _) | (Value::Wait, By::Holder) => {
                (rows.waits, rows.acquisitions) = (&[], &[]);
            }
            (Value::Hold | Value::Acquisitions, _) => (rows.waits, rows.blames) = (&[], &[]),
        }
        (rows, column)
    }

    /// The columns that outputs with all of them show: waits first, and those
    /// of trace mode only if there is something behind them.
    pub(super) fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::Count, Column::WaitNs];
        if self.has_acquisitions {
            columns.extend([Column::Acquisitions, Column::Reentrant, Column::HoldNs]);
        }
        if self.has_blame {
            columns.push(Column::BlamedNs);
        }
        columns
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.waits.len() + self.acquisitions.len() + self.blames.len()
    }

    /// A row by its number.
    #[inline]
    pub(super) fn row(&self, at: usize) -> Row {
        if let Some(wait) = self.waits.get(at) {
            return Row::of_wait(wait);
        }
        let at = at - self.waits.len();
        match self.acquisitions.get(at) {
            Some(acquisition) => Row::of_acquisition(acquisition),
            None => Row::of_blame(&self.blames[at - self.acquisitions.len()], self.blame_is_wait),
        }
    }

    /// All rows in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Row> + use<'p> {
        let is_wait = self.blame_is_wait;
        let blames = self.blames.iter().map(move |blame| Row::of_blame(blame, is_wait));
        let acquisitions = self.acquisitions.iter().map(Row::of_acquisition);
        self.waits.iter().map(Row::of_wait).chain(acquisitions).chain(blames)
    }

    /// Where the rows of each of so many threads stand.
    pub(super) fn by_thread(&self, threads: usize) -> Vec<Spans> {
        let mut spans = vec![Spans::default(); threads];
        let mut start = 0;
        let mut chunk = |thread: u32, kind: usize, len: usize| {
            spans[thread as usize].0[kind] = start..start + len;
            start += len;
        };
        for rows in self.waits.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 0, rows.len());
        }
        for rows in self.acquisitions.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 1, rows.len());
        }
        for rows in self.blames.chunk_by(|a, b| a.thread == b.thread) {
            chunk(rows[0].thread, 2, rows.len());
        }
        spans
    }
}

/// Numbers of a thread's rows: waits, acquisitions and blame stand apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans([Range<usize>; 3]);

impl Spans {
    /// The numbers from 0 to below `len`.
    pub(super) fn all(len: usize) -> Spans {
        Spans([0..len, 0..0, 0..0])
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
