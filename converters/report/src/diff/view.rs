//! What changed, for eyes.

use super::{Amount, Change, Diff, LockChange, Per, Presence, StackChange};
use crate::{
    render::{change, ns_change, ns_rate},
    view::{Column, Detail, Part, Row, Table, TableCell, View, harmless_names},
};
use tyrion_converters::outputs::units;

const LOCK: Column = Column::new("lock", "what the program calls it, and its class", 0);
const KIND: Column = Column::new("kind", "how threads waited", 4);
const PLACE: Column = Column::new("place", "the innermost frame of the program", 0);
const BEFORE: Column = Column::new("before", "wait per second, or per acquisition, before", 0);
const AFTER: Column = Column::new("after", "wait per second, or per acquisition, after", 0);
const CHANGE: Column = Column::new("change", "by how much that changed", 0);
const SHARE: Column = Column::new("%", "the change as a share of the wait before", 0);
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
    if diff.locks.is_empty() {
        parts.push(Part::Text("No thread waited for a lock, neither before nor after.".to_owned()));
        return View { parts };
    }
    parts.push(Part::Table(locks(diff)));
    parts.push(Part::Table(stacks(diff)));
    View { parts }
}

fn facts(diff: &Diff) -> Vec<(String, TableCell)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), TableCell::Text(text)));
    for (name, side) in [("before", &diff.before), ("after", &diff.after)] {
        let taken = side
            .acquisitions
            .map_or(String::new(), |taken| format!(", {}", units::counted(taken, "acquisition")));
        let recorded = units::duration(side.recorded_ns);
        let logs: Vec<String> = harmless_names(&side.logs).collect();
        fact(name, format!("{}: {recorded}{taken}", logs.join(", ")));
    }
    if [&diff.before, &diff.after].into_iter().any(|side| !side.lacking.is_empty()) {
        return facts;
    }
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), TableCell::Text(text)));
    fact("wait", told(&diff.total, |amount| amount, diff.per));
    for (name, lock) in
        [("most improved", &diff.most_improved), ("most worsened", &diff.most_worsened)]
    {
        fact(
            name,
            lock.as_ref().map_or("none".to_owned(), |lock| {
                let told = told(&lock.change, |lock| &lock.amount, diff.per);
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

/// `700 ms/s → 2 ms/s (−698 ms, −99.7 %)`
fn told<T>(changed: &Change<T>, amount: fn(&T) -> &Amount, per: Per) -> String {
    let rate = |side: &Option<T>| {
        let ns = side.as_ref().map_or(Some(0.0), |side| amount(side).rate_ns);
        let ns = ns.map_or("unknown".to_owned(), ns_rate);
        format!("{ns}{}", per.unit())
    };
    let by = match (changed.change_rate_ns, changed.change_share) {
        (None, _) => "unknown".to_owned(),
        (Some(by_ns), Some(share)) => format!("{}, {}", ns_change(by_ns), change(share)),
        (Some(by_ns), None) => format!("{}, new", ns_change(by_ns)),
    };
    format!("{} → {} ({by})", rate(&changed.before), rate(&changed.after))
}

/// Behind the title of a table: what its numbers are.
fn unit(per: Per) -> &'static str {
    match per {
        Per::Second => "wait in each second recorded",
        Per::Acquisition => "wait for each acquisition of the lock",
        Per::Recording => "wait in each recording",
    }
}

fn locks(diff: &Diff) -> Table {
    Table {
        title: format!("Locks: {}", unit(diff.per)),
        columns: vec![
            LOCK,
            KIND,
            BEFORE,
            AFTER,
            CHANGE,
            SHARE,
            WAITS_BEFORE,
            WAITS_AFTER,
            P99_BEFORE,
            P99_AFTER,
        ],
        rows: diff.locks.iter().map(lock).collect(),
        left_out: diff.locks_left_out,
    }
}

fn lock(lock: &LockChange) -> Row {
    let (before, after) = (&lock.change.before, &lock.change.after);
    let mut cells = vec![TableCell::Text(lock.lock.label()), TableCell::Text(lock.kind.to_owned())];
    cells.extend(changes(&lock.change, |lock| &lock.amount));
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

fn stacks(diff: &Diff) -> Table {
    Table {
        title: format!("Stacks: {}", unit(diff.per)),
        columns: vec![PLACE, LOCK, KIND, BEFORE, AFTER, CHANGE, SHARE],
        rows: diff.stacks.iter().map(stack).collect(),
        left_out: diff.stacks_left_out,
    }
}

fn stack(stack: &StackChange) -> Row {
    let mut cells = vec![
        TableCell::name(&stack.place),
        TableCell::Text(stack.lock.label()),
        TableCell::Text(stack.kind.to_owned()),
    ];
    cells.extend(changes(&stack.change, |amount| amount));
    let title = match stack.change.state {
        Presence::Both => "called from",
        Presence::Appeared => "new, called from",
        Presence::Vanished => "gone, was called from",
    };
    let callers = stack.stack.get(1..).unwrap_or_default();
    Row { cells, details: vec![Detail::of_names(title.to_owned(), callers)] }
}

/// Before, after, change, and share.
fn changes<T>(changed: &Change<T>, amount: fn(&T) -> &Amount) -> [TableCell; 4] {
    let rate = |side: &Option<T>| match side.as_ref().map(|side| amount(side).rate_ns) {
        Some(Some(ns)) => TableCell::NsRate(ns),
        Some(None) => TableCell::Unknown,
        None => TableCell::Ns(0),
    };
    let share = match (changed.change_rate_ns, changed.change_share) {
        (Some(_), Some(share)) => TableCell::Change(share),
        (Some(_), None) => TableCell::Change(f64::INFINITY),
        (None, _) => TableCell::Unknown,
    };
    let by = changed.change_rate_ns.map_or(TableCell::Unknown, TableCell::NsChange);
    [rate(&changed.before), rate(&changed.after), by, share]
}
