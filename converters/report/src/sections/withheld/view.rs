//! The view of withheld waits.

use super::{WithheldPlace, WithheldWaits};
use crate::{
    cells::percent,
    view::{Column, Detail, Part, Row, Table, TableCell, View},
};
use tyrion_model::{harmless, units};

/// The number of thread groups and objects that are named below a row.
const NAMED: usize = 3;

pub(super) fn view(withheld: &WithheldWaits) -> View {
    let mut parts = vec![Part::Text(sum(withheld))];
    if !withheld.places.is_empty() {
        parts.push(Part::Table(places(withheld)));
    }
    if !withheld.others.is_empty() {
        parts.push(Part::Listing(others(withheld)));
    }
    View { parts }
}

fn sum(withheld: &WithheldWaits) -> String {
    let mut text = match withheld.waits {
        0 => "No thread is known to have been kept from work by a wait other than for a lock."
            .to_owned(),
        waits => format!(
            "{}, not for locks, kept threads from work for {} in all.",
            units::counted(waits, "wait"),
            units::duration(withheld.wait_ns)
        ),
    };
    if withheld.unclear_waits != 0 {
        text += &format!(
            " {} of {} are unclear and not counted.",
            units::counted(withheld.unclear_waits, "wait"),
            units::duration(withheld.unclear_wait_ns)
        );
    }
    text
}

fn places(withheld: &WithheldWaits) -> Table {
    let row = |place: &WithheldPlace| {
        let mut details =
            vec![Detail { title: format!("counted: {}", place.reason), lines: vec![] }];
        details.extend(names(place));
        details.extend(woken_by(place));
        details.extend(place.hottest.as_ref().map(|it| it.detail("hottest", "the wait")));
        Row {
            cells: vec![
                TableCell::name(&place.place),
                TableCell::Count(place.waits),
                TableCell::Ns(place.wait_ns),
                TableCell::Ns(place.wait_ns / place.waits.max(1)),
                TableCell::Ns(place.max_wait_ns),
                TableCell::Count(place.threads),
            ],
            details,
        }
    };
    Table {
        title: "Where threads were kept from work".to_owned(),
        columns: vec![
            Column::new("place", "the innermost frame of the program", 0),
            Column::new("waits", "how often threads waited", 0),
            Column::new("wait", "how long in all", 0),
            Column::new("mean", "how long on average", 1),
            Column::new("longest", "the longest wait", 2),
            Column::new("threads", "how many threads waited", 1),
        ],
        rows: withheld.places.iter().map(row).collect(),
        left_out: withheld.left_out,
    }
}

/// Who ended most of the wait.
fn woken_by(place: &WithheldPlace) -> Option<Detail> {
    let first = place.wakers.first()?;
    let threads = harmless::name(&first.threads);
    let method = |at: &str| at.split('(').next().unwrap_or_default().to_owned();
    let at = first.at.as_ref().map(|at| format!(" in {}", harmless::name(&method(at))));
    let share = percent(first.wait_share);
    let title = format!("woken by {threads}{}, {share} of the wait", at.unwrap_or_default());
    Some(Detail::of_names(title, &first.stack))
}

/// Who waited, and for what.
fn names(place: &WithheldPlace) -> impl Iterator<Item = Detail> {
    let groups: Vec<String> = place.groups.iter().map(|it| it.threads.clone()).collect();
    let objects: Vec<String> = place.objects.iter().map(|it| it.lock.label()).collect();
    [("threads", groups), ("for", objects)].into_iter().filter(|(_, names)| !names.is_empty()).map(
        |(what, mut names)| {
            let more = names.len().saturating_sub(NAMED);
            names.truncate(NAMED);
            let names: Vec<String> =
                names.iter().map(|name| harmless::name(name).into_owned()).collect();
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            Detail { title: format!("{what} {}{more}", names.join(", ")), lines: Vec::new() }
        },
    )
}

fn others(withheld: &WithheldWaits) -> Table {
    let row = |place: &WithheldPlace| Row {
        cells: vec![
            TableCell::name(&place.place),
            TableCell::Text(place.verdict.to_owned()),
            TableCell::Count(place.waits),
            TableCell::Ns(place.wait_ns),
            TableCell::Text(place.why.to_owned()),
        ],
        details: [Detail { title: place.reason.clone(), lines: Vec::new() }]
            .into_iter()
            .chain(woken_by(place))
            .collect(),
    };
    Table {
        title: "Not counted".to_owned(),
        columns: vec![
            Column::new("place", "the innermost frame of the program", 0),
            Column::new("as", "what the waits are taken for", 0),
            Column::new("waits", "how often threads waited", 1),
            Column::new("wait", "how long in all", 0),
            Column::new("why", "what its waits have in common", 2),
        ],
        rows: withheld.others.iter().map(row).collect(),
        left_out: withheld.others_left_out,
    }
}
