//! Who has a lock that others wait for: by threads, when waits begin; by code, as the
//! agent saw it at random moments; and at the end, where only those that will wait for ever
//! are in a deadlock.

use crate::support::{Jdk, Program, Recording, Report, Wait, list, number, on_jdks, text_of};
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

on_jdks!(owners_are_known: extremes, everywhere all);
on_jdks!(owners_are_known_attached: two, everywhere all);
on_jdks!(virtual_owners_are_known: since(21));
on_jdks!(waits_for_classes: ends, everywhere all);
on_jdks!(code_of_holders_of_monitors: one, everywhere since(11));
on_jdks!(code_of_holders_of_locks: everywhere since(11));
on_jdks!(only_deadlocks_are_deadlocks: one, everywhere all);
on_jdks!(only_deadlocks_are_deadlocks_of_virtual_threads: newest, everywhere since(21));

/// How long the program `Holders` runs, in ms.
const MILLIS: u64 = 2_500;

fn holders(jdk: &Jdk, kind: &str) -> Program {
    Program::class(jdk, &format!("tyrion.owners.Holders {kind}")).option("--threshold=0")
}

fn of_program(recording: &Recording) -> Vec<Wait> {
    recording.contentions().into_iter().filter(Wait::is_in_the_program).collect()
}

/// Of the time for which monitors were waited for, an owner is known of next to all: a
/// monitor may have none just when a thread begins to wait, but those waits are short.
fn check_known(waits: &[Wait], names: &[&str]) {
    let mut owned: BTreeMap<&str, u64> = BTreeMap::new();
    for wait in waits {
        *owned.entry(wait.owner.as_deref().unwrap_or_default()).or_default() += wait.wait_ns;
    }
    let all_ns: u64 = owned.values().sum();
    let unknown_ns = owned.remove("").unwrap_or(0);
    assert!(unknown_ns * 20 <= all_ns, "{unknown_ns} of {all_ns} ns have no owner: {owned:?}");
    assert!(owned.keys().all(|owner| names.contains(owner)), "{owned:?}");
    let most = owned.iter().max_by_key(|(_, ns)| **ns).map(|(owner, _)| *owner);
    assert_eq!(most, Some("long"), "{owned:?}");
}

const NAMES: [&str; 4] = ["long", "short", "brief", "other"];

fn owners_are_known(jdk: &Jdk) {
    let recording = holders(jdk, &format!("monitor {MILLIS}")).record();
    check_known(&of_program(&recording), &NAMES);
    assert_eq!(recording.info()["metadata"]["monitor-owners"], "true");
}

fn owners_are_known_attached(jdk: &Jdk) {
    let recording = holders(jdk, &format!("monitor {MILLIS}")).attached().record();
    check_known(&of_program(&recording), &NAMES);
}

fn virtual_owners_are_known(jdk: &Jdk) {
    let recording = holders(jdk, &format!("monitor {MILLIS} virtual")).record();
    let waits = of_program(&recording);
    let known: u64 =
        waits.iter().filter(|it| it.owner.as_deref() == Some("long")).map(|it| it.wait_ns).sum();
    let all: u64 = waits.iter().map(|it| it.wait_ns).sum();
    // Some waits for it begin while others have the lock, or while nobody is known to.
    let share = known as f64 / all as f64;
    let truth = share_of_long(&recording);
    assert!(share > 0.5 * truth, "{known} of {all} ns are for \"long\", which made {truth}");
}

/// What made others wait is told by the method that was running, though all take the lock
/// at one place. How often owners were looked at depends on the machine: there are runs until
/// that is often enough.
fn code_of_holders(jdk: &Jdk, kind: &str) {
    let mut runs: Vec<OwnerShares> = Vec::new();
    let error = |runs: &[OwnerShares]| {
        let squares: f64 = runs.iter().map(|run| run.error.powi(2)).sum();
        squares.sqrt() / runs.len() as f64
    };
    while runs.len() < 2 || error(&runs) > 0.12 && runs.len() < 6 {
        runs.push(OwnerShares::of(jdk, kind));
    }
    let mean = |of: fn(&OwnerShares) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    assert!(runs.iter().any(|run| run.sleeps), "{runs:?}");
    // What the program calls waiting is not quite the same: short waits are none.
    let most = 0.25 + 2.0 * error(&runs);
    let off = mean(|it| it.threads);
    assert!(off.abs() < most, "{kind}: {off} off, not {most}: {runs:?}");
    // One row has all who hold at its place, whatever they do there.
    assert!(mean(|it| it.code) > -most, "{kind}: not {most}: {runs:?}");
}

fn code_of_holders_of_monitors(jdk: &Jdk) {
    code_of_holders(jdk, "monitor");
}

fn code_of_holders_of_locks(jdk: &Jdk) {
    code_of_holders(jdk, "lock");
}

/// How much of what was waited the thread made that holds for long, as the program says.
fn share_of_long(recording: &Recording) -> f64 {
    let made = |name: &str| recording.number(&format!("{name}_made_wait_ns")) as f64;
    made("long") / NAMES.map(made).iter().sum::<f64>()
}

/// What a report says of the one thread that holds for long, less the truth, as shares of all
/// wait; and how far it may be off by chance.
#[derive(Debug)]
struct OwnerShares {
    threads: f64,
    code: f64,
    error: f64,
    /// Whether the verdict says what it does meanwhile.
    sleeps: bool,
}

impl OwnerShares {
    fn of(jdk: &Jdk, kind: &str) -> OwnerShares {
        let recording = holders(jdk, &format!("{kind} {}", 2 * MILLIS)).record();
        let report = Report::with(&[&recording.log], &["--top", "0"]);
        let blockers = report.section("blockers");
        assert_eq!(text_of(blockers, "source"), "asked");
        let truth = share_of_long(&recording);
        let known_ns = number(blockers, "known_ns") as f64;
        let sum = |rows: &[&Value], key: &str| -> f64 {
            rows.iter().map(|row| number(row, key) as f64 / known_ns).sum()
        };
        let is_long = |pair: &&Value| text_of(pair, "holders") == "long";
        let threads: Vec<_> = list(blockers, "threads").iter().filter(is_long).collect();
        let is_asleep = |pair: &&Value| {
            list(pair, "holder_stack").iter().any(|it| it.as_str().unwrap().contains("holdLong"))
        };
        let code: Vec<_> = list(blockers, "code").iter().filter(is_asleep).collect();
        let lock = &report.section("verdict")["lock"];
        assert_eq!(text_of(lock, "holder_known_by"), "asked", "{lock:#}");
        let is_sleep = |it: &Value| text_of(it, "frame").starts_with("java.lang.Thread.sleep");
        let seen = list(report.section("critical-sections"), "seen");
        let sleeps = text_of(lock, "meanwhile").starts_with("java.lang.Thread.sleep")
            && text_of(lock, "meanwhile_own").contains("holdLong")
            && seen.iter().any(|it| list(it, "meanwhile").iter().any(is_sleep));
        let squares = threads.iter().map(|it| (number(it, "wait_error_ns") as f64).powi(2));
        let error = squares.sum::<f64>().sqrt() / known_ns;
        assert!(error > 0.0, "{threads:?}");
        OwnerShares {
            threads: sum(&threads, "wait_ns") - truth,
            code: sum(&code, "wait_ns") - truth,
            error,
            sleeps,
        }
    }
}

/// How a program ends: its name, and whether threads wait for each other then.
#[derive(Clone, Copy, PartialEq, Eq)]
struct End(&'static str, bool);

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

const ENDS: [End; 20] = [
    End("nested", false),
    End("three", false),
    End("passed", false),
    End("tried", false),
    End("timed", false),
    End("locks", false),
    End("mixed", false),
    End("waits", false),
    End("read", false),
    End("taken-over", false),
    End("dead", true),
    End("dead-contended", true),
    End("dead-locks", true),
    End("dead-mixed", true),
    End("dead-waits", true),
    End("dead-timed-waits", true),
    End("slow-class", false),
    End("dead-classes", true),
    End("dead-superclass", true),
    End("dead-by-name", true),
];

/// A program that is halted after so many milliseconds.
fn check_end(jdk: &Jdk, End(name, is_deadlock): End, millis: u64, more: &str) {
    let main = format!("tyrion.owners.Circles {name} {millis}{more}");
    let recording = Program::class(jdk, &main).record();
    let report = Report::of(&recording.log);
    let found = report.section("still-waiting");
    let counts = ["deadlocks", "possible_deadlocks"].map(|key| list(found, key).len());
    assert_eq!(counts, [usize::from(is_deadlock), 0], "{main}: {found:#}");
    if is_deadlock {
        let threads = list(&found["deadlocks"][0], "threads");
        let mut names: Vec<&str> = threads.iter().map(|it| text_of(it, "thread")).collect();
        names.sort_unstable();
        assert_eq!(names, ["dead-0", "dead-1"], "{main}: {found:#}");
    }
}

fn only_deadlocks_are_deadlocks(jdk: &Jdk) {
    for (nth, end) in (0..).zip(ENDS) {
        check_end(jdk, end, 30 + 67 * nth % 400, "");
    }
}

fn only_deadlocks_are_deadlocks_of_virtual_threads(jdk: &Jdk) {
    // Of virtual threads in `Object.wait`, it is not known that they are to go on; nor,
    // once they have left their carriers, what they have that nobody waited for before.
    let is_seen =
        |end: &End| !["dead", "dead-mixed", "dead-waits", "dead-timed-waits"].contains(&end.0);
    for (nth, end) in (0..).zip(ENDS.into_iter().filter(is_seen)) {
        check_end(jdk, end, 30 + 67 * nth % 400, " virtual");
    }
}

/// Two threads need a class that a third one initializes, from the start and attached.
fn waits_for_classes(jdk: &Jdk) {
    let program = || Program::class(jdk, "tyrion.owners.Circles slow-class 2000");
    for recording in [program().record(), program().attached().record()] {
        let report = Report::of(&recording.log);
        let waits = list(report.section("still-waiting"), "waiting");
        let of_class: Vec<_> = waits
            .iter()
            .filter(|it| text_of(&it["lock"], "name").starts_with("initialization of "))
            .collect();
        assert_eq!(of_class.len(), 2, "{waits:#?}");
        for wait in of_class {
            assert_eq!(
                text_of(&wait["lock"], "name"),
                "initialization of tyrion.owners.Circles$Slow"
            );
            let others = ["dead-0", "dead-1", "dead-2"];
            assert!(others.contains(&text_of(wait, "owner")), "{wait:#}");
            assert_ne!(text_of(wait, "owner"), text_of(wait, "thread"), "{wait:#}");
        }
    }
}
