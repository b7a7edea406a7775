//! What eyes see of the order of locks.

use super::{Cycle, Edge, Harmless, LockOrder, OrderedLock};
use crate::{
    View,
    view::{Column, Detail, Part, Row, Table, TableCell},
};
use tyrion_model::{harmless, units};

/// Draws the answer.
pub(super) fn view(found: &LockOrder) -> View {
    let mut parts = Vec::new();
    if found.nestings != 0 {
        parts.push(Part::Text(summary(found)));
    }
    if !found.cycles.is_empty() {
        parts.push(Part::Table(cycles(found)));
    }
    if !found.harmless.is_empty() {
        parts.push(Part::Table(safe(found)));
    }
    View { parts }
}

fn thousands(number: usize) -> String {
    units::thousands(number as u64)
}

fn summary(found: &LockOrder) -> String {
    let mut text = match found.cycles.len() + found.left_out {
        0 => "No order of locks can end in a deadlock".to_owned(),
        1 => "One order of locks can end in a deadlock".to_owned(),
        count => format!("{} orders of locks can end in a deadlock", thousands(count)),
    };
    let edges = units::counted(found.edges as u64, "pair");
    let locks = units::counted(found.locks as u64, "lock");
    text += &format!(", of {edges} of {locks} that were taken within each other.");
    if !found.complete {
        text += " There are too many cycles to look at all of them: the shortest come first.";
    }
    text
}

fn cycles(found: &LockOrder) -> Table {
    Table {
        title: "Possible deadlocks".to_owned(),
        columns: vec![
            Column::new("locks", "Locks, and threads, of the shortest such cycle", 0),
            Column::new("cycles", "Cycles that differ in nothing but the lock objects", 0),
            Column::new("ring", "Each of these is held while the next one is taken", 0),
        ],
        rows: found.cycles.iter().map(cycle).collect(),
        left_out: found.left_out,
    }
}

fn cycle(cycle: &Cycle) -> Row {
    let mut ring = ring(cycle.edges.iter().map(|edge| &edge.outer));
    if cycle.by_name {
        ring += " (if they are the same objects)";
    }
    Row {
        cells: vec![
            TableCell::Count(cycle.locks as u64),
            TableCell::Count(cycle.cycles),
            TableCell::Text(ring),
        ],
        details: cycle.edges.iter().flat_map(edge).collect(),
    }
}

/// The locks one after another, and the first one once more. Those of one name
/// are told apart by their hashes.
fn ring<'a>(locks: impl Iterator<Item = &'a OrderedLock>) -> String {
    let locks: Vec<&OrderedLock> = locks.collect();
    let name = |lock: &OrderedLock| match (lock.lock.name.as_str(), lock.lock.id) {
        ("", _) => lock.lock.label(),
        (name, 0) => harmless::name(name).into_owned(),
        (name, id) => harmless::name(&format!("{name}#{id}")).into_owned(),
    };
    let again = locks.first().map(|lock| name(lock));
    let mut names: Vec<String> = locks.iter().map(|lock| name(lock)).collect();
    names.extend(again);
    names.join(" → ")
}

/// An edge's two stacks.
fn edge(edge: &Edge) -> [Detail; 2] {
    let label = |lock: &OrderedLock| {
        let hash = if lock.hash == 0 { String::new() } else { format!(" @{:x}", lock.hash) };
        format!("{} {}{hash}", lock.kind, lock.lock.label())
    };
    let others = match edge.threads {
        0 | 1 => String::new(),
        2 => " and another thread".to_owned(),
        count => format!(" and {} other threads", thousands(count - 1)),
    };
    let mut holds = format!("{}{others} held {}", harmless::name(&edge.thread), label(&edge.outer));
    if !edge.also_held.is_empty() {
        let also: Vec<String> = edge.also_held.iter().map(label).collect();
        holds += &format!(", and {},", also.join(" and "));
    }
    holds += if edge.outer_stack_known { " taken in" } else { " taken at" };
    let takes = format!("and asked for {} in", label(&edge.inner));
    [Detail::of_names(holds, &edge.outer_stack), Detail::of_names(takes, &edge.inner_stack)]
}

fn safe(found: &LockOrder) -> Table {
    let row = |it: &Harmless| {
        let gates: Vec<String> = it.gates.iter().map(|gate| gate.label()).collect();
        let why = match it.reason {
            "one-thread" => format!("one thread did all of it, {}", harmless::name(&it.thread)),
            _ if gates.is_empty() => "a lock around them".to_owned(),
            _ => format!("all within {}", gates.join(" or ")),
        };
        let cells = vec![
            TableCell::Count(it.locks.len() as u64),
            TableCell::Count(it.cycles),
            TableCell::Text(ring(it.locks.iter())),
            TableCell::Text(why),
        ];
        Row { cells, details: Vec::new() }
    };
    Table {
        title: "Cycles that cannot become a deadlock".to_owned(),
        columns: vec![
            Column::new("locks", "Locks of the shortest such cycle", 0),
            Column::new("cycles", "Cycles that differ in nothing but the lock objects", 0),
            Column::new("ring", "Each of these is held while the next one is taken", 0),
            Column::new("why not", "What keeps it from becoming a deadlock", 0),
        ],
        rows: found.harmless.iter().map(row).collect(),
        left_out: found.harmless_left_out,
    }
}
