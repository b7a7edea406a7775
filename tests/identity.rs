//! Which lock is which: programs that keep an account of their locks, and where they are
//! taken, which the log has to have to the unit.
//!
//! A place is an instruction of one version of a method. What the programs tell of it is
//! a number; which instruction that is, their class files say.

mod account;
mod generated;
mod kinds;
mod lines;
mod logged;
mod names;
mod one_line;
mod places;
mod setup;

use crate::support::{Jdk, Program, Recording, Report, list, number, text_of};
use account::Account;
use logged::{LogExpectation, ProgramLog};
use places::CodePlaces;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
};

/// What is recorded of a program, and since when.
#[derive(Clone, Copy)]
struct RecordingWay {
    mode: &'static str,
    attached: bool,
}

const WAYS: [RecordingWay; 4] = [
    RecordingWay { mode: "contention", attached: false },
    RecordingWay { mode: "contention", attached: true },
    RecordingWay { mode: "trace", attached: false },
    RecordingWay { mode: "trace", attached: true },
];

impl fmt::Debug for RecordingWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.mode, if self.attached { ", attached" } else { "" })
    }
}

impl RecordingWay {
    fn is_trace(self) -> bool {
        self.mode == "trace"
    }

    /// A program of `tyrion.identity` with all that is recorded kept apart.
    fn program(self, jdk: &Jdk, main: &str, classes: &Path) -> Program {
        let program = Program::class(jdk, &format!("tyrion.identity.{main}")).before(classes);
        let program = program.option(&format!("--mode={}", self.mode)).option("--threshold=0");
        let program = if self.is_trace() { program.option("--hold=all") } else { program };
        if self.attached { program.attached() } else { program }
    }
}

/// A program that was recorded, and what it knows.
struct IdentityProgram {
    recording: Recording,
    logged: ProgramLog,
    account: Account,
    places: CodePlaces,
    prefix: String,
    way: RecordingWay,
}

impl IdentityProgram {
    /// Records the program, from classes that are in this folder.
    fn record(jdk: &Jdk, way: RecordingWay, main: &str, classes: &Path) -> IdentityProgram {
        IdentityProgram::of(way.program(jdk, main, classes).record(), way, main, classes)
    }

    /// What was recorded of the program.
    fn of(recording: Recording, way: RecordingWay, main: &str, classes: &Path) -> IdentityProgram {
        let prefix = format!("tyrion/identity/{main}");
        let places = places::places(classes, &prefix);
        let (logged, account) = (ProgramLog::open(&recording.log), Account::of(&recording.said));
        IdentityProgram { recording, logged, account, places, prefix, way }
    }

    fn checked<'a>(&'a self, moved: &'a [u32]) -> LogExpectation<'a> {
        let IdentityProgram { logged, account, places, prefix, .. } = self;
        LogExpectation { logged, account, places, prefix, moved }
    }

    /// What differs between account and log.
    fn differences(&self, moved: &[u32]) -> Vec<String> {
        let checked = self.checked(moved);
        let mut wrong = checked.all(self.way.is_trace());
        wrong.extend(checked.ids(self.way.is_trace()));
        wrong.into_iter().map(|wrong| format!("{:?}: {wrong}", self.way)).collect()
    }

    /// What differs of the report: each lock has to have a row with all that was counted
    /// at its places, and with these texts in its label.
    fn wrong_rows(&self, expected: &[ExpectedRow]) -> Vec<String> {
        let report = Report::of(&self.recording.log);
        let rows: Vec<LockTableRow> =
            list(report.section("contended"), "locks").iter().map(row).collect();
        let ids = self.checked(&[]).lock_ids();
        let mut wrong = Vec::new();
        let mut labels = BTreeMap::new();
        for row in &rows {
            if let Some(other) = labels.insert(row.label(), row) {
                wrong.push(format!("one label for {row:?} and {other:?}"));
            }
        }
        for ExpectedRow { places, texts } in expected {
            let ids: BTreeSet<u32> = places.iter().flat_map(|place| &ids[place]).copied().collect();
            let waits: usize = places.iter().map(|&place| self.account.waits_at(place)).sum();
            let taken = self.account.taken();
            let taken: u64 = places.iter().map(|place| taken[place]).sum();
            let taken = self.way.is_trace().then_some(taken);
            let found: Vec<&LockTableRow> =
                rows.iter().filter(|row| !row.ids.is_disjoint(&ids)).collect();
            let is_right = |row: &LockTableRow| {
                row.ids == ids
                    && (row.contended, row.taken) == (waits as u64, taken)
                    && row.has_hold == self.way.is_trace()
                    && texts.iter().all(|text| row.label().contains(text))
            };
            if !matches!(found[..], [row] if is_right(row)) {
                let expected = format!("{texts:?}: {waits} of {taken:?} for {ids:?}");
                wrong.push(format!("{expected}: {found:?}"));
            }
        }
        wrong.into_iter().map(|wrong| format!("{:?}: {wrong}", self.way)).collect()
    }
}

/// A row that a report has to have.
struct ExpectedRow<'a> {
    /// The places at which the lock is taken, and no other one.
    places: &'a [u32],
    /// What stands in its label.
    texts: &'a [&'a str],
}

const fn labelled<'a>(places: &'a [u32], texts: &'a [&'a str]) -> ExpectedRow<'a> {
    ExpectedRow { places, texts }
}

/// A contended lock of a report.
#[derive(Debug)]
struct LockTableRow {
    class: String,
    name: String,
    contended: u64,
    /// `None` in contention mode, and where that is lost.
    taken: Option<u64>,
    has_hold: bool,
    /// The locks that it is about.
    ids: BTreeSet<u32>,
}

impl LockTableRow {
    fn label(&self) -> String {
        format!("{} {}", self.class, self.name)
    }
}

fn row(row: &Value) -> LockTableRow {
    let id = |instance: &Value| u32::try_from(number(instance, "id")).unwrap();
    LockTableRow {
        class: text_of(&row["lock"], "class").to_owned(),
        name: row["lock"]["name"].as_str().unwrap_or_default().to_owned(),
        contended: number(row, "contended"),
        taken: row["acquisitions"].as_u64(),
        has_hold: row["hold_ns"].as_u64().is_some_and(|hold| hold > 0),
        ids: list(row, "instances").iter().map(id).collect(),
    }
}

#[track_caller]
fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
