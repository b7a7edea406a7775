//! Two locks on one line, and in methods without lines.

use super::{IdentityProgram, WAYS, assert_none, labelled, setup};
use crate::support::{Jdk, on_jdks};
use std::path::Path;

on_jdks!(on_one_line: newest, everywhere all);
on_jdks!(without_lines: newest, everywhere all);

fn on_one_line(jdk: &Jdk) {
    check(jdk, &jdk.classes());
}

fn without_lines(jdk: &Jdk) {
    check(jdk, &setup::stripped());
}

/// Waits and acquisitions are apart, and so are the holds and the rows.
fn check(jdk: &Jdk, classes: &Path) {
    let mut wrong = Vec::new();
    for way in WAYS {
        let subject = IdentityProgram::record(jdk, way, "OneLine", classes);
        let waits: Vec<usize> = (1..=8).map(|place| subject.account.waits_at(place)).collect();
        assert_eq!(waits, [3, 2, 3, 2, 3, 2, 1, 2], "{:?}", subject.account);
        wrong.extend(subject.differences(&[]));
        for (place, name) in (1..).zip(["A", "B", "C", "D", "K", "L"]) {
            let field = format!("tyrion/identity/OneLine.{name}");
            wrong.extend(subject.checked(&[]).fields(&[(place, &field)]));
            let label = format!("OneLine.{name}");
            wrong.extend(subject.wrong_rows(&[labelled(&[place], &[&label])]));
        }
        if way.is_trace() {
            for (place, cell) in subject.logged.taken(&subject.prefix).values() {
                if cell.first_count + cell.sampled_count != cell.acquisitions {
                    wrong.push(format!("{way:?}: holds at {place:?}: {cell:?}"));
                }
            }
        }
    }
    assert_none(&wrong);
}
