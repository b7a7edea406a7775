//! Locks of classes, of classes of the program's own, and views of one lock.

use super::{IdentityProgram, WAYS, assert_none, labelled};
use crate::support::{Jdk, Report, list, number, on_jdks};

on_jdks!(class_locks: newest, everywhere all);
on_jdks!(own_locks: ends, everywhere all);

/// A lock is not called after what its method does first.
fn class_locks(jdk: &Jdk) {
    let mut wrong = Vec::new();
    for way in WAYS {
        let subject = IdentityProgram::record(jdk, way, "ClassLocks", &jdk.classes());
        wrong.extend(subject.differences(&[]));
        wrong.extend(subject.wrong_rows(&[
            labelled(&[1, 2, 3], &["tyrion.identity.ClassLocks"]),
            labelled(&[4, 5, 6], &["ClassLocks.class"]),
            labelled(&[7], &["ClassLocks$Other.class"]),
        ]));
        let report = Report::of(&subject.recording.log);
        for row in list(report.section("contended"), "locks") {
            let name = row["lock"]["name"].as_str().unwrap_or_default();
            let class = row["lock"]["class"].as_str().unwrap_or_default();
            let is_initialization = name.contains("initialization of");
            // Of the JDK's own, some wait for what is just initialized: for an empty `int[]`.
            let is_wrong =
                is_initialization && class != "int[]" && !name.contains("ClassLocks$Slow");
            if is_wrong || class.contains('#') {
                wrong.push(format!("{way:?}: {class} {name}"));
            }
        }
    }
    assert_none(&wrong);
}

/// Names are those of the fields that lead to the locks, and no hold is lost.
fn own_locks(jdk: &Jdk) {
    let mut wrong = Vec::new();
    for way in WAYS {
        let subject = IdentityProgram::record(jdk, way, "OwnLocks", &jdk.classes());
        let waits: Vec<usize> = (1..=6).map(|place| subject.account.waits_at(place)).collect();
        assert_eq!(waits, [3, 3, 3, 3, 6, 5], "{:?}", subject.account);
        // Taken in its own class, too: where is left open.
        wrong.extend(subject.differences(&[3]));
        let field = |name: &str| format!("tyrion/identity/OwnLocks.{name}");
        for (place, name) in [(2, "segments[]"), (4, "r"), (5, "w"), (6, "locks[]")] {
            wrong.extend(subject.checked(&[]).fields(&[(place, &field(name))]));
        }
        let report = Report::of(&subject.recording.log);
        let rows = list(report.section("contended"), "locks");
        let text = |row: &serde_json::Value, key: &str| {
            row["lock"][key].as_str().unwrap_or_default().to_owned()
        };
        // Readers and writers take the two sides of one lock, which has both names. The class is
        // the one that threads park on; which lock it is, its own class or a field says.
        let both = "OwnLocks.r, OwnLocks.w";
        for (name, class, kind, contended, taken) in [
            ("OwnLocks.segments[]", "ReentrantLock", "lock", 3, 6),
            ("OwnLocks$Segment", "ReentrantLock", "lock", 3, 6),
            ("OwnLocks.counting", "ReentrantLock", "lock", 3, 6),
            (both, "ReentrantReadWriteLock", "lock-read", 3, 6),
            (both, "ReentrantReadWriteLock", "lock-write", 6, 12),
            ("OwnLocks.locks[]", "java.lang.Object", "monitor", 5, 10),
        ] {
            let is_it = |row: &&&serde_json::Value| {
                let is_named = text(row, "name") == name && text(row, "class").ends_with(class);
                is_named && row["kind"] == kind
            };
            let found: Vec<_> = rows.iter().collect();
            let found: Vec<_> = found.iter().filter(is_it).collect();
            let is_right = |row: &serde_json::Value| {
                number(row, "contended") == contended
                    && row["acquisitions"].as_u64() == way.is_trace().then_some(taken)
            };
            if !matches!(found[..], [row] if is_right(row)) {
                let found: Vec<_> = rows
                    .iter()
                    .map(|row| {
                        (&row["lock"], &row["kind"], &row["contended"], &row["acquisitions"])
                    })
                    .collect();
                wrong.push(format!("{way:?}: {name} {kind} {contended} of {taken}: {found:?}"));
            }
        }
        // The bin's lock, whatever it is called: three waits, and what was held meanwhile. The
        // JDK has such maps of its own, which threads can meet at.
        let is_ours = |row: &&serde_json::Value| {
            let waiter = row["hottest_waiter"]["stack"][0].as_str().unwrap_or_default();
            text(row, "class").contains("ConcurrentHashMap$") && waiter.contains("Map.compute")
        };
        let bins: Vec<_> = rows.iter().filter(is_ours).collect();
        let [bin] = &bins[..] else {
            wrong.push(format!("{way:?}: not one bin: {bins:?}"));
            continue;
        };
        let has_hold = bin["hold_ns"].as_u64().is_some_and(|hold| hold > 0);
        // Those of the JDK are in the same row, if they have no name either.
        let is_bin = |it: &serde_json::Value| number(it, "contended") == 3;
        if !list(bin, "instances").iter().any(is_bin) || has_hold != way.is_trace() {
            wrong.push(format!("{way:?}: {bin}"));
        }
    }
    assert_none(&wrong);
}
