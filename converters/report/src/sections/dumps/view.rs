//! The section as eyes see it.

use super::{BlockedOn, DumpFindings, WaitingCrowd, brief};
use crate::{
    ReportOptions, View,
    view::{Column, Detail, Part, Row, Table, TableCell, harmless_names},
};
use tyrion_model::units;

pub(super) fn view(found: &DumpFindings, options: &ReportOptions) -> View {
    let tables = [
        deadlocks(found),
        blocked(found, options),
        crowds(found, options),
        unmoved(found, options),
        cpu(found, options),
        idle(found, options),
    ];
    let mut parts = vec![Part::Text(summary(found))];
    parts.extend(tables.into_iter().filter(|it| !it.rows.is_empty()).map(Part::Table));
    View { parts }
}

fn summary(found: &DumpFindings) -> String {
    let dumps = units::counted(found.dumps, "dump");
    let span = match found.span_ns.filter(|&ns| ns != 0) {
        Some(ns) => format!(" over {}", units::duration(ns)),
        None => String::new(),
    };
    let states: Vec<String> =
        found.states.iter().map(|row| format!("{} {}", row.threads, row.state)).collect();
    let threads = units::counted(found.threads, "thread");
    let last = if found.dumps > 1 { " in the last one" } else { "" };
    format!("{dumps}{span}, {threads}{last}: {}.", states.join(", "))
}

/// The rows that are shown, and how many more there are.
fn top<T>(all: &[T], options: &ReportOptions) -> (usize, usize) {
    let shown = if options.top == 0 { all.len() } else { all.len().min(options.top) };
    (shown, all.len() - shown)
}

fn place(frame: &str) -> TableCell {
    TableCell::name(&brief(frame))
}

fn table<T>(
    title: &str,
    columns: Vec<Column>,
    all: &[T],
    options: &ReportOptions,
    row: impl Fn(&T) -> Row,
) -> Table {
    let (shown, left_out) = top(all, options);
    let rows = all.iter().take(shown).map(row).collect();
    Table { title: title.to_owned(), columns, rows, left_out }
}

fn deadlocks(found: &DumpFindings) -> Table {
    let columns = vec![
        Column::new("thread", "A thread in a circle", 0),
        Column::new("waits for", "The class of the lock, which the next thread has", 0),
        Column::new("at", "Where it waits", 0),
    ];
    let threads = found.deadlocks.iter().flat_map(|deadlock| &deadlock.threads);
    let rows = threads.map(|it| Row {
        cells: vec![TableCell::name(&it.thread), TableCell::name(&it.class), place(&it.place)],
        details: Vec::new(),
    });
    Table { title: "Deadlock".to_owned(), columns, rows: rows.collect(), left_out: 0 }
}

fn blocked(found: &DumpFindings, options: &ReportOptions) -> Table {
    let columns = vec![
        Column::new("waiters", "Threads that wait, in the latest dump that shows any", 0),
        Column::new("dumps", "In how many dumps", 2),
        Column::new("lock", "The class of the lock, and its name if it has one", 0),
        Column::new("held by", "Who has it; a question mark where that is inferred", 0),
        Column::new("which is", "What the holder does", 1),
        Column::new("at", "Where the holder is", 1),
    ];
    table("Who blocks whom", columns, &found.blocked, options, blocked_row)
}

fn blocked_row(it: &BlockedOn) -> Row {
    let first = it.holders.first();
    let mark = if first.is_some_and(|it| it.known_by == "beyond-the-call") { "?" } else { "" };
    let more = match it.holders.len() {
        0 | 1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let held = first.map(|holder| TableCell::name(&format!("{}{mark}{more}", holder.thread)));
    let lock = match it.name.as_str() {
        "" => it.class.clone(),
        name => format!("{} {name}", it.class),
    };
    let title = format!(
        "waiting at {}",
        it.places.iter().map(|it| brief(it)).collect::<Vec<_>>().join(", ")
    );
    let mut details = vec![Detail { title, lines: harmless_names(&it.threads).collect() }];
    details.extend(it.holders.iter().map(|holder| {
        Detail::of_names(format!("{} ({})", holder.thread, holder.state), &holder.stack)
    }));
    Row {
        cells: vec![
            TableCell::Count(it.waiters),
            TableCell::Count(it.in_dumps),
            TableCell::name(&lock),
            held.unwrap_or(TableCell::Unknown),
            first.map_or(TableCell::Unknown, |it| TableCell::Text(it.state.to_owned())),
            first.map_or(TableCell::Unknown, |it| place(&it.place)),
        ],
        details,
    }
}

fn crowds(found: &DumpFindings, options: &ReportOptions) -> Table {
    let columns = vec![
        Column::new("threads", "Threads that wait there, in the last dump", 0),
        Column::new("by dump", "The same in each dump", 2),
        Column::new("at", "Where they wait: of a pool, its method", 0),
        Column::new("called by", "Who asks the pool", 1),
        Column::new("who", "Their groups", 0),
    ];
    table("Waiting for what is no lock", columns, &found.crowds, options, crowd_row)
}

fn crowd_row(it: &WaitingCrowd) -> Row {
    let mut details = vec![Detail::of_names("threads".to_owned(), &it.names)];
    details.extend(it.holders.iter().map(|holder| {
        let title = format!("{} seems to have one ({})", holder.thread, holder.state);
        Detail::of_names(title, &holder.stack)
    }));
    Row {
        cells: vec![
            TableCell::Count(it.count),
            TableCell::Text(it.course()),
            place(&it.place),
            match it.caller.as_str() {
                "" => TableCell::Unknown,
                caller => place(caller),
            },
            TableCell::name(&it.groups.join(", ")),
        ],
        details,
    }
}

fn unmoved(found: &DumpFindings, options: &ReportOptions) -> Table {
    let columns = vec![
        Column::new("thread", "A thread with the same stack in all dumps", 0),
        Column::new("state", "What it does", 0),
        Column::new("at", "Where", 0),
    ];
    table("The same in all dumps", columns, &found.unmoved, options, |it| Row {
        cells: vec![
            TableCell::name(&it.thread),
            TableCell::Text(it.state.to_owned()),
            place(&it.place),
        ],
        details: Vec::new(),
    })
}

fn cpu(found: &DumpFindings, options: &ReportOptions) -> Table {
    let columns = vec![
        Column::new("CPU", "CPU time between the dumps; of one dump, since the start", 0),
        Column::new("of", "The time meanwhile", 1),
        Column::new("thread", "The thread", 0),
        Column::new("state", "What it does in the last dump", 1),
    ];
    table("CPU time", columns, &found.cpu, options, |it| Row {
        cells: vec![
            TableCell::Ns(it.cpu_ns),
            it.elapsed_ns.map_or(TableCell::Unknown, TableCell::Ns),
            TableCell::name(&it.thread),
            TableCell::Text(it.state.to_owned()),
        ],
        details: Vec::new(),
    })
}

fn idle(found: &DumpFindings, options: &ReportOptions) -> Table {
    let columns = vec![
        Column::new("idle", "Threads that wait for work", 0),
        Column::new("who", "Their group", 0),
        Column::new("at", "Where they wait", 0),
    ];
    table("Idle", columns, &found.idle, options, |it| Row {
        cells: vec![TableCell::Count(it.count), TableCell::name(&it.threads), place(&it.place)],
        details: Vec::new(),
    })
}
