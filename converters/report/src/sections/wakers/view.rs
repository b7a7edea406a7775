//! The view of the wakers.

use super::{WakerPair, Wakers};
use crate::{
    Findings,
    sections::{
        charged::{self, known},
        shared::nobody_waited,
    },
    view::{Column, Part, Row, Table, TableCell, View},
};
use tyrion_model::units;

const WAITER: Column = Column::new("waiting at", "where the thread waited", 0);
const WAKERS: Column = Column::new("ended by", "the group of threads that ended the waits", 0);
const WAKER: Column = Column::new("at", "where they were when they did", 1);
const LOCK: Column = Column::new("lock", "what the program calls it, and its class", 0);
const WAITS: Column = Column::new("waits", "how many waits", 1);
const WAIT: Column = Column::new("wait", "how long they were in all", 0);
const SHARE: Column = Column::new("share", "the share of all wait whose waker is known", 0);

/// The view of the answer.
pub(super) fn view(answer: &Wakers, findings: &Findings<'_>) -> View {
    let mut parts = vec![Part::Text(how_much(answer, findings))];
    if answer.pairs != 0 {
        parts.push(Part::Table(Table {
            title: "By code".to_owned(),
            columns: vec![WAITER, WAKERS, WAKER, LOCK, WAITS, WAIT, SHARE],
            rows: answer.code.iter().map(row).collect(),
            left_out: (answer.pairs as usize).saturating_sub(answer.code.len()),
        }));
    }
    View { parts }
}

/// How much is known.
fn how_much(answer: &Wakers, findings: &Findings<'_>) -> String {
    let known = units::duration(answer.known_ns);
    match findings.filter.thread {
        None if answer.waits == 0 => nobody_waited(findings),
        None => format!(
            "Who ended waits is known for {known} of {}; for monitors it is never known.",
            units::duration(answer.wait_ns)
        ),
        Some(_) => format!("The selected threads ended waits of {known}."),
    }
}

fn row(pair: &WakerPair) -> Row {
    let wakers = TableCell::name(&pair.wakers);
    let ended = [wakers, known(pair.waker.as_ref())];
    charged::row(&pair.charged, ended, ("its waker", &pair.waker_stack))
}
