//! What eyes see of who still waits.

use super::{Deadlock, Idle, StillWaiting, Waiting};
use crate::{
    View,
    findings::names,
    view::{Column, Detail, Part, Row, Table, TableCell, harmless_names},
};
use tyrion_model::{harmless, units};

/// Draws the answer.
pub(super) fn view(found: &StillWaiting) -> View {
    let mut text = summary(found);
    if found.unfinished_logs != 0 && found.threads != 0 {
        text += " The log of a program that was killed, or still runs, ends with its last record: \
                 waits lasted at least as long as shown.";
    }
    let mut parts = vec![Part::Text(text)];
    for deadlock in &found.deadlocks {
        parts.push(Part::Table(ring("Deadlock", deadlock, found)));
    }
    for deadlock in &found.possible_deadlocks {
        parts.push(Part::Table(ring("Possibly a deadlock", deadlock, found)));
    }
    let waiting = waiting(found);
    // All that it lists may be in deadlocks, and so not in this table.
    if !waiting.rows.is_empty() || waiting.left_out != 0 {
        parts.push(Part::Table(waiting));
    }
    if !found.idle.is_empty() {
        parts.push(Part::Table(idle(found)));
    }
    View { parts }
}

fn summary(found: &StillWaiting) -> String {
    let threads = |count: u64| match count {
        1 => "1 thread".to_owned(),
        count => format!("{} threads", units::thousands(count)),
    };
    if found.threads == 0 {
        return "Nobody waited when the log ended.".to_owned();
    }
    let idle = found.threads - found.blocked_threads;
    match (found.deadlocks.len() + found.deadlocks_left_out, found.blocked_threads) {
        (0, 0) => format!("{} waited for something to happen, and none for a lock.", threads(idle)),
        (0, blocked) => format!("{} waited for a lock; no deadlock is known.", threads(blocked)),
        (1, blocked) => format!(
            "A deadlock of {}; {} waited for a lock in all.",
            threads(found.deadlocked_threads),
            threads(blocked)
        ),
        (count, blocked) => format!(
            "{} deadlocks of {} together; {} waited for a lock in all.",
            units::thousands(count as u64),
            threads(found.deadlocked_threads),
            threads(blocked)
        ),
    }
}

fn columns(found: &StillWaiting) -> Vec<Column> {
    let waited = match found.unfinished_logs {
        0 => Column::new("waited", "How long, when the log ended", 0),
        _ => Column::new("waited at least", "How long, at the log's last record", 0),
    };
    vec![
        Column::new("thread", "Who waits", 0),
        waited,
        Column::new("kind", "What kind of wait", 2),
        Column::new("lock", "What it waits for", 0),
        Column::new(
            "owner",
            "Who has it, or had it so long before the end, as far as that is known",
            0,
        ),
    ]
}

fn row(waiting: &Waiting) -> Row {
    let owner = match (waiting.owner.as_str(), waiting.owner_known_by) {
        ("", _) => TableCell::Unknown,
        (owner, "earlier-nesting") => TableCell::name(&format!("{owner} (most likely)")),
        (owner, "nesting") => TableCell::name(owner),
        (owner, _) if waiting.owner_seen_before_ns == 0 => TableCell::name(owner),
        (owner, _) => {
            let before = units::duration(waiting.owner_seen_before_ns);
            TableCell::name(&format!("{owner}, {before} before"))
        }
    };
    let title = format!("{} waits in", harmless::name(&waiting.thread));
    Row {
        cells: vec![
            TableCell::name(&waiting.thread),
            TableCell::Ns(waiting.waited_ns),
            TableCell::Text(waiting.kind.to_owned()),
            TableCell::Text(waiting.lock.label()),
            owner,
        ],
        details: vec![Detail::of_names(title, &waiting.stack)],
    }
}

fn ring(what: &str, deadlock: &Deadlock, found: &StillWaiting) -> Table {
    let mut all = found.deadlocks.iter().chain(&found.possible_deadlocks);
    let is_one_log = all.all(|other| other.log == deadlock.log);
    let log =
        if is_one_log { String::new() } else { format!(" in {}", harmless::name(&deadlock.log)) };
    Table {
        title: format!("{what}{log}: each waits for the next one"),
        columns: columns(found),
        rows: deadlock.threads.iter().map(row).collect(),
        left_out: 0,
    }
}

fn waiting(found: &StillWaiting) -> Table {
    let mut columns = columns(found);
    columns.push(Column::new(
        "state",
        "Whether it is in a deadlock, or waits for a thread in one",
        1,
    ));
    let is_other = |it: &&Waiting| !matches!(it.state, "deadlock" | "possible-deadlock");
    let others = found.waiting.iter().filter(is_other);
    let rows = others.map(|waiting| {
        let mut row = row(waiting);
        let state = if waiting.state == "lock" { "" } else { waiting.state };
        row.cells.push(TableCell::Text(state.to_owned()));
        row
    });
    let rows: Vec<Row> = rows.collect();
    // Of the list, the rows that were cut off may be in deadlocks.
    let left_out = (found.others as usize).saturating_sub(rows.len());
    Table { title: "Waiting for a lock".to_owned(), columns, rows, left_out }
}

fn idle(found: &StillWaiting) -> Table {
    let row = |idle: &Idle| {
        let more = idle.count.saturating_sub(idle.threads.len() as u64);
        let more =
            if more == 0 { String::new() } else { format!(" and {} more", units::thousands(more)) };
        let threads: Vec<String> = harmless_names(&idle.threads).collect();
        let place =
            idle.stack.iter().find(|frame| !names::is_machinery(frame)).or(idle.stack.first());
        Row {
            cells: vec![
                TableCell::Count(idle.count),
                TableCell::Ns(idle.longest_ns),
                TableCell::Text(idle.kind.to_owned()),
                TableCell::name(place.map_or("", |place| place)),
                TableCell::Text(threads.join(", ") + &more),
            ],
            details: Vec::new(),
        }
    };
    let longest = match found.unfinished_logs {
        0 => Column::new("longest", "How long the longest had lasted, when the log ended", 0),
        _ => {
            Column::new("longest at least", "How long the longest had lasted at the last record", 0)
        }
    };
    Table {
        title: "Waiting for something to happen".to_owned(),
        columns: vec![
            Column::new("count", "How many threads", 0),
            longest,
            Column::new("kind", "What kind of wait", 1),
            Column::new("where", "The innermost frame outside of what parks threads", 0),
            Column::new("threads", "Who", 2),
        ],
        rows: found.idle.iter().map(row).collect(),
        left_out: found.idle_left_out,
    }
}
