//! Who blocks whom, for eyes.

use super::{Blockers, CodePair, Source, ThreadPair};
use crate::{
    Findings,
    sections::{
        charged::{self, known},
        shared::nobody_waited,
    },
    view::{Column, Detail, Part, Row, Table, TableCell, View},
};
use tyrion_formats::Owners;
use tyrion_model::units;

/// The most locks shown below a pair of thread groups.
const LOCKS_OF_PAIR: usize = 3;

const WAITERS: Column = Column::new("waiting", "the group of threads that waited", 0);
const HOLDERS: Column = Column::new("for", "the group of threads that held the lock", 0);
const WAITER: Column = Column::new("waiting at", "where the thread waited", 0);
const HOLDER: Column = Column::new("for", "where the holder left the lock, or else took it", 0);
const ASKED: Column = Column::new("for", "which method of the owner had the lock, estimated", 0);
const OWNERS: Column = Column::new("for", "the group of threads that had the lock", 0);
const PREVIOUS: Column = Column::new("for", "the group of threads that had the lock before", 0);
const LOCK: Column = Column::new("lock", "what the program calls it, and its class", 0);
const WAITS: Column = Column::new("charges", "how many waits, or parts of them", 1);
const WAIT: Column = Column::new("wait", "how long they were in all", 0);
const ERROR: Column = Column::new(
    "wait ±",
    "how far that may be off, for 95 % of such estimates: which holder is charged is partly chance",
    2,
);
const SHARE: Column = Column::new("share", "the share of all wait whose holder is known", 0);

/// The answer for eyes.
pub(super) fn view(answer: &Blockers, findings: &Findings<'_>) -> View {
    let mut parts = vec![Part::Text(how_much(answer, findings))];
    if answer.thread_pairs != 0 {
        parts.push(Part::Table(threads(answer)));
        parts.push(Part::Table(code(answer)));
    }
    View { parts }
}

/// How much is known.
fn how_much(answer: &Blockers, findings: &Findings<'_>) -> String {
    let of_threads = findings.filter.thread.is_some();
    let known = units::duration(answer.known_ns);
    let all = units::duration(answer.wait_ns);
    match (answer.source, of_threads) {
        (_, false) if answer.waits == 0 => nobody_waited(findings),
        (Source::Charged, true) => {
            format!(
                "{known} were charged to the selected threads, as holders; how far that may be off is \
                 not known with a filter on threads."
            )
        }
        (Source::Charged, false) => format!("{known} of {all} are charged to a holder."),
        (_, _) if answer.thread_pairs == 0 && findings.lacks_times() => {
            "Who held the locks is not known: profiles do not tell.".to_owned()
        }
        (_, _) if answer.thread_pairs == 0 => {
            "Who held the locks is not known: no wait tells.".to_owned()
        }
        (Source::Asked, _) => {
            let mut text = format!(
                "For {known} of {all} it is estimated who had the lock: the agent looked at random \
                 moments."
            );
            if answer.free_ns != 0 {
                let free = units::duration(answer.free_ns);
                text += &format!(
                    " For {free} nobody had it: it had been released, and the next thread did not \
                     run yet; that is charged to those who have it otherwise."
                );
            }
            if answer.unseen_ns != 0 {
                let unseen = units::duration(answer.unseen_ns);
                text += &format!(
                    " For {unseen} it was not seen who had it, mostly because the waits were too \
                     short."
                );
            }
            if answer.code_unseen_ns > answer.unseen_ns {
                let code = units::duration(answer.code_unseen_ns - answer.unseen_ns);
                text += &format!(
                    " For {code} it was not seen what code had it, mostly because the holds were \
                     too short."
                );
            }
            text
        }
        (Source::PreviousOwner, _) => format!(
            "For {known} of {all}, the recording says who had the lock last before the waiter: a \
             previous owner, who need not have had it when the wait began. Locks of \
             java.util.concurrent do not tell."
        ),
        (Source::OwnerAtStart, _) if has_previous(findings) => format!(
            "For {known} of {all}, the lock said who had it when the wait began, or a recording of \
             Flight Recorder who had it last before the waiter: other holders are not known."
        ),
        (Source::OwnerAtStart, _) => format!(
            "For {known} of {all}, the lock said who had it when the wait began: later holders are \
             not known."
        ),
    }
}

/// Whether any log names previous owners.
fn has_previous(findings: &Findings<'_>) -> bool {
    findings.logs.iter().any(|log| log.facts().owners == Owners::Previous)
}

fn threads(answer: &Blockers) -> Table {
    Table {
        title: "By threads".to_owned(),
        columns: vec![WAITERS, HOLDERS, WAITS, WAIT, ERROR, SHARE],
        rows: answer.threads.iter().map(thread_pair).collect(),
        left_out: (answer.thread_pairs as usize).saturating_sub(answer.threads.len()),
    }
    .without_unknown(&[ERROR.name])
}

fn thread_pair(pair: &ThreadPair) -> Row {
    let line = |lock: &super::LockShare| {
        let wait = units::duration(lock.wait_ns);
        format!("[{}] {}: {wait}", lock.kind, lock.lock.label())
    };
    let lines = pair.locks.iter().take(LOCKS_OF_PAIR).map(line).collect();
    Row {
        cells: vec![
            TableCell::name(&pair.waiters),
            TableCell::name(&pair.holders),
            TableCell::Count(pair.waits),
            TableCell::Ns(pair.wait_ns),
            error(pair.wait_error_ns),
            TableCell::Share(pair.wait_share),
        ],
        details: vec![Detail { title: "locks, most wait first".to_owned(), lines }],
    }
}

fn code(answer: &Blockers) -> Table {
    let holder = match answer.source {
        Source::Charged => HOLDER,
        Source::Asked => ASKED,
        Source::OwnerAtStart => OWNERS,
        Source::PreviousOwner => PREVIOUS,
    };
    Table {
        title: "By code".to_owned(),
        columns: vec![WAITER, holder, LOCK, WAITS, WAIT, ERROR, SHARE],
        rows: answer.code.iter().map(code_pair).collect(),
        left_out: (answer.code_pairs as usize).saturating_sub(answer.code.len()),
    }
    .without_unknown(&[ERROR.name])
}

fn code_pair(pair: &CodePair) -> Row {
    let holder = known(pair.holder.as_ref().or(pair.holders.as_ref()));
    let mut row = charged::row(&pair.charged, [holder], ("its holder", &pair.holder_stack));
    // Before the share.
    let at = row.cells.len().saturating_sub(1);
    row.cells.insert(at, error(pair.wait_error_ns));
    row
}

/// Nothing where it is not by chance.
fn error(error_ns: Option<u64>) -> TableCell {
    error_ns.filter(|&ns| ns != 0).map_or(TableCell::Unknown, TableCell::Ns)
}
