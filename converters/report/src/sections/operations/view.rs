//! The view of operations.

use super::{OperationLock, OperationWaits, Operations};
use crate::{
    Findings,
    sections::shared::{nobody_waited, share},
    view::{Column, Part, Row, Table, TableCell, View},
};
use tyrion_model::{harmless, units};

const OPERATION: Column = Column::new("operation", "what the waiting thread was doing", 0);
const LOCK: Column = Column::new("lock", "what the program calls it, and its class", 0);
const HOLDER: Column = Column::new("held by", "what the thread was doing that had it", 0);
const WAITS: Column = Column::new("waits", "how many waits", 1);
const WAIT: Column = Column::new("wait", "how long they were in all", 0);
const SHARE: Column = Column::new("share", "the share of the operation's wait for the lock", 0);

/// So many holders of a lock are named in a sentence.
const HOLDERS: usize = 2;

/// The view of the answer.
pub(super) fn view(answer: &Operations, findings: &Findings<'_>) -> View {
    if answer.waits == 0 {
        return View { parts: vec![Part::Text(nobody_waited(findings))] };
    }
    let mut parts = vec![Part::Text(format!(
        "Of {} of waiting for locks, {} were in operations.",
        units::duration(answer.wait_ns),
        units::duration(answer.named_ns),
    ))];
    let named = answer.waiters.iter().filter(|of| of.operation.is_some());
    let lines: Vec<String> =
        named.flat_map(|of| of.locks.iter().map(move |lock| sentence(of, lock))).collect();
    if !lines.is_empty() {
        parts.push(Part::Lines(lines));
        parts.push(Part::Table(Table {
            title: "By operation, lock and holder".to_owned(),
            columns: vec![OPERATION, LOCK, HOLDER, WAITS, WAIT, SHARE],
            rows: answer.waiters.iter().flat_map(rows).collect(),
            left_out: (answer.operations as usize).saturating_sub(answer.waiters.len()),
        }));
    }
    View { parts }
}

fn shown(operation: Option<&String>) -> String {
    operation.map_or("no operation".to_owned(), |name| harmless::name(name).into_owned())
}

fn lock_name(lock: &OperationLock) -> String {
    harmless::name(&lock.lock.label()).into_owned()
}

/// `GET /price waited 41 s for PriceCache.lru, 88 % held by POST /import`.
fn sentence(of: &OperationWaits, lock: &OperationLock) -> String {
    let mut text = format!(
        "{} waited {} for {}",
        shown(of.operation.as_ref()),
        units::duration(lock.wait_ns),
        lock_name(lock),
    );
    for holder in lock.holders.iter().take(HOLDERS) {
        let percent = 100.0 * holder.wait_share;
        text += &format!(", {percent:.0} % held by {}", shown(Some(&holder.operation)));
    }
    if lock.holders.is_empty() {
        text += ", whose holder's operation is not known";
    }
    text
}

/// One for each holder, and one for what is not known.
fn rows(of: &OperationWaits) -> impl Iterator<Item = Row> {
    of.locks.iter().flat_map(move |lock| {
        let row = |holder: TableCell, waits: u64, wait_ns: u64| Row {
            cells: vec![
                TableCell::Text(shown(of.operation.as_ref())),
                TableCell::name(&format!("[{}] {}", lock.kind, lock.lock.label())),
                holder,
                TableCell::Count(waits),
                TableCell::Ns(wait_ns),
                TableCell::Share(share(wait_ns, lock.wait_ns)),
            ],
            details: Vec::new(),
        };
        let known = lock.holders.iter().map(move |holder| {
            row(TableCell::name(&holder.operation), holder.waits, holder.wait_ns)
        });
        let (waits, wait_ns) = lock.holders.iter().fold((0, 0), |(waits, ns): (u64, u64), it| {
            (waits.saturating_add(it.waits), ns.saturating_add(it.wait_ns))
        });
        let rest = (lock.waits.saturating_sub(waits), lock.wait_ns.saturating_sub(wait_ns));
        let unknown = (rest != (0, 0)).then(|| row(TableCell::Unknown, rest.0, rest.1));
        known.chain(unknown)
    })
}
