//! Critical sections for eyes.

use super::{Counts, CriticalSections, Holder, Meanwhile, Own, SectionPlace, SeenHold};
use crate::{
    cells::percent,
    sections::shared::{ns, plus_minus, share_of, within},
    view::{Column, Detail, Part, Row, Table, TableCell, View},
};
use tyrion_model::{harmless, units};

/// The most sections shown below a thread.
const SECTIONS_OF_THREAD: usize = 3;

const PLACE: Column = Column::new("place", "where the program takes the lock", 0);
const LOCK: Column = Column::new("lock", "what the program calls it, and its class", 0);
const THREAD: Column = Column::new("thread", "a thread that took locks", 0);
const HOLDER: Column = Column::new("method", "the method that had the lock", 0);
const LOOKS: Column = Column::new("looks", "how often the agent saw it so", 1);
const WAIT: Column = Column::new("wait", "how long others waited for it, estimated", 0);
const TAKEN: Column = Column::new("taken", "acquisitions, reentrant ones left out", 0);
const TAKEN_ERROR: Column = Column::new(
    "taken ±",
    "how far that may be off where acquisitions were counted in bursts, for 95 % of such \
     estimates: two standard errors",
    0,
);
const REENTRANT: Column = Column::new("reentrant", "acquisitions of a lock already held", 4);
const REENTRANT_ERROR: Column =
    Column::new("reentrant ±", "how far that may be off, for 95 % of such estimates", 4);
/// The columns that are left out where nothing was counted in bursts.
const OF_BURSTS: [&str; 2] = [TAKEN_ERROR.name, REENTRANT_ERROR.name];
const FAILED: Column = Column::new("failed", "failed attempts to take the lock", 5);
const HOLD: Column = Column::new("hold", "how long it was held in all; nested locks count each", 0);
const ERROR: Column = Column::new(
    "±",
    "how far the estimated hold may be off, for 95 % of such estimates; in bursts with what the probes \
     take",
    4,
);
const MEAN: Column = Column::new("mean", "how long it was held on average", 0);
const P50: Column =
    Column::new("p50", "half of the measured holds were not longer, to a power of two", 3);
const P99: Column =
    Column::new("p99", "99 % of the measured holds were not longer, to a power of two", 1);
const LONGEST: Column = Column::new("longest", "the longest measured hold", 2);
const SHARE: Column = Column::new("of time", "share of the time of the threads that came here", 0);

/// What both tables have of how often, and for how long.
const COUNTED: [Column; 8] =
    [TAKEN, TAKEN_ERROR, REENTRANT, REENTRANT_ERROR, FAILED, HOLD, ERROR, MEAN];

/// The answer for eyes.
pub(super) fn view(answer: &CriticalSections) -> View {
    if answer.site_count == 0 {
        let is_seen = answer.seen_count != 0;
        return View { parts: is_seen.then(|| Part::Table(seen(answer))).into_iter().collect() };
    }
    let total = &answer.total;
    let held = match total.mean_hold_ns {
        Some(mean_ns) => format!(
            " and held them for {}, {} on average",
            units::duration(total.hold_ns),
            units::duration(mean_ns)
        ),
        None => "; no hold was measured".to_owned(),
    };
    let text = format!(
        "{} took locks {}{} at {}{held}. p50 and p99 are known to a power of two.",
        units::counted(answer.thread_count, "thread"),
        units::counted(total.acquisitions, "time"),
        plus_minus(total.acquisitions_error),
        units::counted(answer.site_count, "place"),
    );
    View { parts: vec![Part::Text(text), Part::Table(sites(answer)), Part::Table(threads(answer))] }
}

/// What looks at owners have found.
fn seen(answer: &CriticalSections) -> Table {
    Table {
        title: "Methods that had locks while others waited, from looks".to_owned(),
        columns: vec![HOLDER, LOCK, LOOKS, WAIT],
        rows: answer.seen.iter().map(seen_hold).collect(),
        left_out: (answer.seen_count as usize).saturating_sub(answer.seen.len()),
    }
}

fn seen_hold(hold: &SeenHold) -> Row {
    let does = |it: &Meanwhile| format!("{} in {}", percent(it.share), harmless::name(&it.frame));
    let lines = hold.meanwhile.iter().map(does).collect();
    Row {
        cells: vec![
            TableCell::name(&hold.place),
            TableCell::name(&format!("[{}] {}", hold.kind, hold.lock.label())),
            TableCell::Count(hold.looks),
            TableCell::Ns(hold.wait_ns),
        ],
        details: vec![Detail { title: "what it did meanwhile".to_owned(), lines }],
    }
}

fn sites(answer: &CriticalSections) -> Table {
    Table {
        title: "By place".to_owned(),
        columns: [&[PLACE, LOCK][..], &COUNTED, &[P50, P99, LONGEST, SHARE]].concat(),
        rows: answer.sites.iter().map(site).collect(),
        left_out: (answer.site_count as usize).saturating_sub(answer.sites.len()),
    }
    .without_unknown(&OF_BURSTS)
}

fn site(site: &SectionPlace) -> Row {
    let counts = &site.counts;
    let lock = format!("[{}] {}", site.kind, site.lock.label());
    let mut cells = vec![TableCell::name(&site.place), TableCell::name(&lock)];
    cells.extend(counted(counts));
    cells.extend([site.p50_hold_ns, site.p99_hold_ns, counts.longest_hold_ns].map(ns));
    cells.push(share_of(site.thread_share));
    Row { cells, details: Vec::new() }
}

fn threads(answer: &CriticalSections) -> Table {
    Table {
        title: "By thread".to_owned(),
        columns: [&[THREAD][..], &COUNTED, &[LONGEST, SHARE]].concat(),
        rows: answer.threads.iter().map(thread).collect(),
        left_out: (answer.thread_count as usize).saturating_sub(answer.threads.len()),
    }
    .without_unknown(&OF_BURSTS)
}

fn thread(holder: &Holder) -> Row {
    let counts = &holder.counts;
    let mut cells = vec![TableCell::name(&holder.thread)];
    cells.extend(counted(counts));
    cells.extend([ns(counts.longest_hold_ns), share_of(holder.thread_share)]);
    let entered = holder.sections.iter().filter(|own| own.counts.acquisitions != 0);
    let lines = entered.take(SECTIONS_OF_THREAD).map(own).collect();
    let details = vec![Detail { title: "its sections, the longest first".to_owned(), lines }];
    Row { cells, details }
}

/// A section of a thread in a line.
fn own(own: &Own) -> String {
    let counts = &own.counts;
    let taken = units::thousands(counts.acquisitions) + &plus_minus(counts.acquisitions_error);
    let held = match counts.mean_hold_ns {
        Some(mean_ns) => {
            format!("{}, mean {}", units::duration(counts.hold_ns), units::duration(mean_ns))
        }
        None => "not measured".to_owned(),
    };
    format!("{taken} × {}: {held}; {}", harmless::name(&own.place), own.lock.label())
}

/// The cells below [`COUNTED`].
fn counted(counts: &Counts) -> [TableCell; COUNTED.len()] {
    [
        TableCell::Count(counts.acquisitions),
        within(counts.acquisitions_error),
        TableCell::Count(counts.reentrant),
        within(counts.reentrant_error),
        TableCell::Count(counts.failed),
        hold(counts),
        error(counts),
        ns(counts.mean_hold_ns),
    ]
}

fn hold(counts: &Counts) -> TableCell {
    if counts.measured == 0 { TableCell::Unknown } else { TableCell::Ns(counts.hold_ns) }
}

/// Nothing where nothing was estimated.
fn error(counts: &Counts) -> TableCell {
    if counts.hold_error_ns == 0 { TableCell::Unknown } else { TableCell::Ns(counts.hold_error_ns) }
}
