//! Locks that a name does not tell apart, or that have two of them.

use super::{ExpectedRow, IdentityProgram, WAYS, assert_none, labelled, setup};
use crate::support::{Jdk, Report, list, number, on_jdks, redefiner, text, text_of};
use std::path::Path;

on_jdks!(from_elsewhere: extremes, everywhere all);
on_jdks!(from_elsewhere_without_variables: ends, everywhere all);
on_jdks!(while_other_classes_change: ends);
on_jdks!(classes_of_one_simple_name: ends, everywhere all);

fn from_elsewhere(jdk: &Jdk) {
    check_from_elsewhere(
        jdk,
        &jdk.classes(),
        &[
            labelled(&[1], &["ofMap in ", "FromElsewhere.ofMap"]),
            labelled(&[2], &["ofList in ", "FromElsewhere.ofList"]),
            labelled(&[3], &["given in ", "FromElsewhere.ofParameter"]),
            labelled(&[4], &["FromElsewhere.ofResult"]),
            labelled(&[5], &["found in ", "FromElsewhere.lockOfMap"]),
            labelled(&[6, 7], &["FromElsewhere.one", "FromElsewhere.other", ", "]),
        ],
    );
}

fn from_elsewhere_without_variables(jdk: &Jdk) {
    check_from_elsewhere(
        jdk,
        &setup::stripped(),
        &[
            labelled(&[1], &["FromElsewhere."]),
            labelled(&[2], &["FromElsewhere."]),
            labelled(&[3], &["parameter 1 in ", "FromElsewhere.ofParameter"]),
            labelled(&[4], &["FromElsewhere.ofResult"]),
            labelled(&[5], &["FromElsewhere."]),
            labelled(&[6, 7], &["FromElsewhere.one", "FromElsewhere.other", ", "]),
        ],
    );
}

/// Waits and acquisitions of each place are in one row, with its holds.
fn check_from_elsewhere(jdk: &Jdk, classes: &Path, rows: &[ExpectedRow]) {
    let mut wrong = Vec::new();
    for way in WAYS {
        let subject = IdentityProgram::record(jdk, way, "FromElsewhere", classes);
        let account = &subject.account;
        let waits: Vec<usize> = (1..=7).map(|place| account.waits_at(place)).collect();
        assert_eq!(waits, [4; 7], "{account:?}");
        let taken: Vec<u64> = account.taken().into_values().collect();
        // Each waits and has held; five once more; of the last two the first once more.
        assert_eq!(taken, [12, 12, 12, 12, 12, 12, 8], "{account:?}");
        wrong.extend(subject.differences(&[]));
        let field = |name: &str| format!("tyrion/identity/FromElsewhere.{name}");
        let fields = [(6, field("one")), (7, field("other"))];
        for (place, field) in &fields {
            wrong.extend(subject.checked(&[]).fields(&[(*place, field)]));
        }
        wrong.extend(subject.wrong_rows(rows));
    }
    assert_none(&wrong);
}

/// Another agent changes a class again and again: that is none of those that take locks. From
/// JDK 26 on, nothing tells that.
fn while_other_classes_change(jdk: &Jdk) {
    let folder = tempfile::tempdir().unwrap();
    let agent = format!("-javaagent:{}=tyrion.support.Json,0", text(&redefiner(folder.path())));
    let mut wrong = Vec::new();
    for way in WAYS.into_iter().filter(|way| !way.attached) {
        let program = way.program(jdk, "FromElsewhere", &jdk.classes()).flag(agent.clone());
        let subject = IdentityProgram::of(program.record(), way, "FromElsewhere", &jdk.classes());
        // A frame that is met just then may lack its line.
        let lacks_line = |it: &String| it.contains("stands at");
        wrong.extend(subject.differences(&[]).into_iter().filter(|it| !lacks_line(it)));
    }
    assert_none(&wrong);
}

fn classes_of_one_simple_name(jdk: &Jdk) {
    let mut wrong = Vec::new();
    for way in WAYS {
        let mut subject = IdentityProgram::record(jdk, way, "SimpleNames", &jdk.classes());
        for package in ["pa", "pb"] {
            let prefix = format!("tyrion/identity/{package}/");
            subject.places.extend(super::places::places(&jdk.classes(), &format!("{prefix}Cache")));
        }
        subject.prefix = "tyrion/identity/p".to_owned();
        wrong.extend(subject.differences(&[]));
        let fields = ["pa", "pb"].map(|package| format!("tyrion/identity/{package}/Cache.lock"));
        wrong.extend(subject.checked(&[]).fields(&[(1, &fields[0]), (2, &fields[1])]));
        wrong.extend(
            subject.wrong_rows(&[
                labelled(&[1], &["pa.Cache.lock"]),
                labelled(&[2], &["pb.Cache.lock"]),
            ]),
        );
        for (pattern, waits) in [(r"pa\.Cache", 4), (r"pb\.Cache", 3)] {
            let report = Report::with(&[&subject.recording.log], &["--top=0", "--lock", pattern]);
            let rows = list(report.section("contended"), "locks");
            let found: Vec<(u64, &str)> = rows
                .iter()
                .map(|row| (number(row, "contended"), text_of(&row["lock"], "name")))
                .collect();
            if !matches!(found[..], [(contended, _)] if contended == waits) {
                wrong.push(format!("{way:?}: --lock {pattern} finds {found:?}, not {waits} waits"));
            }
        }
    }
    assert_none(&wrong);
}
