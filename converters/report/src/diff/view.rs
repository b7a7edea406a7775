//! What changed, for eyes.

use super::{
    Amount, Change, Diff, LockChange, Measure, Per, PlaceChange, Presence, Side, StackChange,
};
use crate::{
    cells::{change, ns_change, ns_rate, percent, shown},
    sections::{
        estimate,
        shared::{plus_minus, share},
    },
    view::{Column, Detail, Part, Row, Table, TableCell, View, harmless_names},
};
use tyrion_model::units;

const LOCK: Column = Column::new("lock", "what the program calls it, and its class", 0);
const KIND: Column = Column::new("kind", "how threads waited", 4);
const PLACE: Column = Column::new("place", "the innermost frame of the program", 0);
const BEFORE: Column = Column::new("before", "per second, or per acquisition, before", 0);
const AFTER: Column = Column::new("after", "per second, or per acquisition, after", 0);
const CHANGE: Column = Column::new("change", "by how much that changed", 0);
const SHARE: Column = Column::new("%", "the change as a share of what it was before", 0);
const WAITS_BEFORE: Column =
    Column::new("waits before", "waits per second, or per acquisition, before", 2);
const WAITS_AFTER: Column =
    Column::new("waits after", "waits per second, or per acquisition, after", 2);
const P99_BEFORE: Column = Column::new("p99 before", "99 % of the waits before were not longer", 1);
const P99_AFTER: Column = Column::new("p99 after", "99 % of the waits after were not longer", 1);

/// What changed, for eyes.
pub fn view(diff: &Diff) -> View {
    let mut parts = vec![Part::Facts(facts(diff))];
    let lacking = [("before", &diff.before), ("after", &diff.after)];
    let lacking = lacking.into_iter().filter(|(_, side)| !side.lacking.is_empty());
    let lacking: Vec<Part> =
        lacking.map(|(name, side)| Part::Text(format!("{name}: {}", side.lacking))).collect();
    if !lacking.is_empty() {
        // Whatever the other side has, there is nothing to compare it with.
        parts.extend(lacking);
        return View { parts };
    }
    if diff.locks.is_empty() && diff.places.is_empty() {
        parts.push(Part::Text("No thread waited for a lock, neither before nor after.".to_owned()));
        return View { parts };
    }
    parts.extend(chance(diff).map(Part::Text));
    let others = (!diff.places.is_empty()).then(|| Part::Table(places(diff)));
    // What hurts comes first.
    let (first, last) = match diff.is_about_other_waits() {
        true => (others, None),
        false => (None, others),
    };
    parts.extend(first);
    parts.push(Part::Table(locks(diff)));
    parts.push(Part::Table(stacks(diff)));
    parts.extend(last);
    View { parts }
}

fn facts(diff: &Diff) -> Vec<(String, TableCell)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), TableCell::Text(text)));
    for (name, side) in [("before", &diff.before), ("after", &diff.after)] {
        let taken = side.acquisitions.map_or(String::new(), |taken| {
            let error = plus_minus(side.acquisitions_error.unwrap_or(0));
            format!(", {}{error}", units::counted(taken, "acquisition"))
        });
        let recorded = side.recorded_ns.map_or("duration not known".to_owned(), units::duration);
        let logs: Vec<String> = harmless_names(&side.logs).collect();
        fact(name, format!("{}: {recorded}{taken}", logs.join(", ")));
    }
    if [&diff.before, &diff.after].into_iter().any(|side| !side.lacking.is_empty()) {
        return facts;
    }
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), TableCell::Text(text)));
    let (compared, terms) = (compared(diff.measure), (diff.measure, diff.per));
    let of_locks = (compared, &diff.total);
    let of_others = (!diff.places.is_empty()).then_some(("other waits", &diff.withheld));
    let all = match diff.is_about_other_waits() {
        true => [of_others, Some(of_locks)],
        false => [Some(of_locks), of_others],
    };
    for (name, change) in all.into_iter().flatten() {
        fact(name, told(change, |amount| amount, terms));
    }
    for (name, lock) in
        [("most improved", &diff.most_improved), ("most worsened", &diff.most_worsened)]
    {
        fact(
            name,
            lock.as_ref().map_or("none".to_owned(), |lock| {
                let told = told(&lock.change, |lock| &lock.amount, terms);
                format!("{}: {told}", lock.lock.label())
            }),
        );
    }
    if (diff.appeared, diff.vanished) != (0, 0) {
        let (new, gone) = (diff.appeared, diff.vanished);
        fact("locks", format!("{new} waited for that were not before, {gone} no longer"));
    }
    facts
}

/// Which changes mean nothing, if waits are divided by estimates.
fn chance(diff: &Diff) -> Option<String> {
    let share = |side: &Side| {
        let error = side.acquisitions_error.unwrap_or(0);
        share(estimate::within(error), side.acquisitions.unwrap_or(0))
    };
    let (before, after) = (share(&diff.before), share(&diff.after));
    // Both may be off, independently of each other.
    let both = before.hypot(after);
    (diff.per == Per::Acquisition && both > 0.0).then(|| {
        format!(
            "Acquisitions were counted in bursts: a change of all waits by less than {} may be \
             chance, and of the waits for single locks a greater one.",
            percent(both)
        )
    })
}

/// What of waits is compared, in a word.
fn compared(measure: Measure) -> &'static str {
    match measure {
        Measure::Wait => "wait",
        Measure::Contentions => "waits",
    }
}

/// What of an amount is compared, for each second, or acquisition.
fn rate(amount: Option<&Amount>, measure: Measure) -> Option<f64> {
    amount.map_or(Some(0.0), |amount| match measure {
        Measure::Wait => amount.rate_ns,
        Measure::Contentions => amount.rate_waits,
    })
}

/// A number of waits, whole where it is.
fn waits(number: f64) -> TableCell {
    match number {
        whole if whole.fract() == 0.0 => TableCell::Count(whole as u64),
        number => TableCell::Number(number),
    }
}

/// `700 ms/s → 2 ms/s (−698 ms, −99.7 %)`, or `700/s → 2/s (−99.7 %)`
fn told<T>(
    changed: &Change<T>,
    amount: fn(&T) -> &Amount,
    (measure, per): (Measure, Per),
) -> String {
    let rate = |side: &Option<T>| {
        let rate = rate(side.as_ref().map(amount), measure).map(|rate| match measure {
            Measure::Wait => ns_rate(rate),
            Measure::Contentions => shown(&waits(rate)).into_owned(),
        });
        format!("{}{}", rate.as_deref().unwrap_or("unknown"), per.unit())
    };
    let share = changed.change_share.map_or("new".to_owned(), change);
    let by = match (changed.known_by(), changed.change_rate_ns) {
        (None, _) => "unknown".to_owned(),
        (Some(_), Some(by_ns)) => format!("{}, {share}", ns_change(by_ns)),
        (Some(_), None) => share,
    };
    format!("{} → {} ({by})", rate(&changed.before), rate(&changed.after))
}

/// The title of a table, and what its numbers are.
fn title(of: &str, diff: &Diff) -> String {
    let per = match diff.per {
        Per::Second => "in each second recorded",
        Per::Acquisition => "for each acquisition of the lock",
        Per::Recording => "in each recording",
    };
    format!("{of}: {} {per}", compared(diff.measure))
}

/// How something changed: before, after, change and share. By how much the number of
/// waits changed, its share says.
fn change_columns(measure: Measure) -> Vec<Column> {
    match measure {
        Measure::Wait => vec![BEFORE, AFTER, CHANGE, SHARE],
        Measure::Contentions => vec![BEFORE, AFTER, SHARE],
    }
}

fn locks(diff: &Diff) -> Table {
    let mut columns = vec![LOCK, KIND];
    columns.extend(change_columns(diff.measure));
    if diff.measure == Measure::Wait {
        columns.extend([WAITS_BEFORE, WAITS_AFTER, P99_BEFORE, P99_AFTER]);
    }
    Table {
        title: title("Locks", diff),
        columns,
        rows: diff.locks.iter().map(|it| lock(it, diff.measure)).collect(),
        left_out: diff.locks_left_out,
    }
}

fn lock(lock: &LockChange, measure: Measure) -> Row {
    let (before, after) = (&lock.change.before, &lock.change.after);
    let mut cells = vec![TableCell::Text(lock.lock.label()), TableCell::Text(lock.kind.to_owned())];
    cells.extend(changes(&lock.change, |lock| &lock.amount, measure));
    if measure == Measure::Contentions {
        return Row { cells, details: Vec::new() };
    }
    for side in [before, after] {
        let waits = side.as_ref().map_or(Some(0.0), |side| side.amount.rate_waits);
        cells.push(waits.map_or(TableCell::Unknown, TableCell::Number));
    }
    for side in [before, after] {
        let p99_ns = side.as_ref().and_then(|side| side.p99_wait_ns);
        cells.push(p99_ns.map_or(TableCell::Unknown, TableCell::Ns));
    }
    Row { cells, details: Vec::new() }
}

fn places(diff: &Diff) -> Table {
    let mut columns = vec![PLACE];
    columns.extend(change_columns(diff.measure));
    let row = |it: &PlaceChange| {
        let mut cells = vec![TableCell::name(&it.place)];
        cells.extend(changes(&it.change, |amount| amount, diff.measure));
        Row { cells, details: Vec::new() }
    };
    Table {
        title: title("Waits for no lock that keep threads from work", diff),
        columns,
        rows: diff.places.iter().map(row).collect(),
        left_out: diff.places_left_out,
    }
}

fn stacks(diff: &Diff) -> Table {
    let mut columns = vec![PLACE, LOCK, KIND];
    columns.extend(change_columns(diff.measure));
    Table {
        title: title("Stacks", diff),
        columns,
        rows: diff.stacks.iter().map(|it| stack(it, diff.measure)).collect(),
        left_out: diff.stacks_left_out,
    }
}

fn stack(stack: &StackChange, measure: Measure) -> Row {
    let mut cells = vec![
        TableCell::name(&stack.place),
        TableCell::Text(stack.lock.label()),
        TableCell::Text(stack.kind.to_owned()),
    ];
    cells.extend(changes(&stack.change, |amount| amount, measure));
    let title = match stack.change.state {
        Presence::Both => "called from",
        Presence::Appeared => "new, called from",
        Presence::Vanished => "gone, was called from",
    };
    let callers = stack.stack.get(1..).unwrap_or_default();
    Row { cells, details: vec![Detail::of_names(title.to_owned(), callers)] }
}

/// The cells of [`change_columns`].
fn changes<T>(changed: &Change<T>, amount: fn(&T) -> &Amount, measure: Measure) -> Vec<TableCell> {
    let rate = |side: &Option<T>| match (rate(side.as_ref().map(amount), measure), measure) {
        (None, _) => TableCell::Unknown,
        (Some(_), Measure::Wait) if side.is_none() => TableCell::Ns(0),
        (Some(ns), Measure::Wait) => TableCell::NsRate(ns),
        (Some(number), Measure::Contentions) => waits(number),
    };
    let share = match (changed.known_by(), changed.change_share) {
        (Some(_), Some(share)) => TableCell::Change(share),
        (Some(_), None) => TableCell::Change(f64::INFINITY),
        (None, _) => TableCell::Unknown,
    };
    let mut cells = vec![rate(&changed.before), rate(&changed.after)];
    if measure == Measure::Wait {
        cells.push(changed.change_rate_ns.map_or(TableCell::Unknown, TableCell::NsChange));
    }
    cells.push(share);
    cells
}
